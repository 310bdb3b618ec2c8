/** @file adept_diff.h  What changed between two predicted steps, module by module. Calls: model. */
#ifndef ADEPT_DIFF_H
#define ADEPT_DIFF_H
#include "adept_model.h"

/* X(field, name, meaning): what is compared of a module. NAN: not known. */
#define ADEPT_DIFF_AMOUNT_LIST(X)                                                                                      \
    X(time_s, "time", "of one step")                                                                                   \
    X(energy_j, "energy", "of one step, all GPUs")                                                                     \
    X(flops, "flops", "of one step on one GPU")                                                                        \
    X(bytes, "bytes", "read and written in one step on one GPU")                                                       \
    X(activations_bytes, "activations", "memory kept for the backward pass on one GPU")                                \
    X(parameters_bytes, "parameters", "parameters; of a module, trainable ones that nothing before it uses")

typedef enum adept_diff_amount {
#define X(field, name, meaning) ADEPT_DIFF_##field,
    ADEPT_DIFF_AMOUNT_LIST(X)
#undef X
        ADEPT_DIFF_AMOUNTS
} adept_diff_amount;

typedef struct adept_diff_amounts {
    double v[ADEPT_DIFF_AMOUNTS];
} adept_diff_amounts;

/** "time", "energy", ...; NULL past the end. */
const char *adept_diff_amount_name(size_t amount);

typedef enum adept_diff_status {
    ADEPT_DIFF_SAME,    /* the same operators, and all amounts equal within rounding */
    ADEPT_DIFF_CHANGED, /* in both */
    ADEPT_DIFF_ADDED,
    ADEPT_DIFF_REMOVED,
    ADEPT_DIFF_RENAMED /* another path, the same operators on the same shapes; its amounts may have changed too */
} adept_diff_status;
/** "same", "changed", ...; NULL past the end. */
const char *adept_diff_status_name(size_t status);

/** A module, or several that differ in list indices only and changed alike. Operators directly in it, none of its
 * children. */
typedef struct adept_diff_row {
    adept_diff_status status;
    const char
        *path; /* "layers.{22,23}.mlp"; "" is the model itself; "layers.*.relu": several that cannot be told apart */
    const char *old_path;                 /* where it was; differs from path only if renamed */
    const char *module_class, *old_class; /* "" if several, or where there is none */
    int64_t modules;                      /* how many; 0: not known ("*" in the path) */
    int64_t count, old_count;             /* operator executions per pass */
    adept_diff_amounts now, old;
} adept_diff_row;

/** A part of the step that belongs to no module; the parts and all rows sum to the totals. */
typedef struct adept_diff_part {
    const char *name; /* "optimizer", "communication", "kernel launches", "rest" */
    adept_diff_amounts now, old;
} adept_diff_part;
#define ADEPT_DIFF_PARTS 4

typedef struct adept_diff_side {
    const adept_profile *profile; /* borrowed, also by the result */
    const adept_hwprofile *hw;
    const adept_run *run; /* not NULL */
} adept_diff_side;

typedef struct adept_diff {
    adept_arena *arena;
    adept_prediction old, now;
    adept_diff_amounts old_total, now_total;
    adept_diff_part parts[ADEPT_DIFF_PARTS];
    adept_diff_row *rows; /* all modules; SAME ones too */
    size_t n_rows;
    size_t n_warnings; /* of what makes the two hard to compare */
    const char *warnings[8];
} adept_diff;

/**
 * Predict both and compare. Modules are matched by path; list indices that the profile has merged are told apart where
 * executions divide evenly among them. What then has no partner and runs the same operators on the same shapes is
 * renamed: first those whose paths end alike, most components first; then, where as many are left on both sides, in the
 * order in which they run.
 * @param out    set on ADEPT_OK; caller frees
 * @param depth  components of a path to keep; 0: all
 * @return as adept_predict(). Thread-safe, deterministic.
 */
adept_status adept_diff_new(adept_diff **out, const adept_diff_side *old, const adept_diff_side *now, int64_t depth,
                            adept_error *err);
void adept_diff_free(adept_diff *diff); /* NULL allowed */

/** Largest change of an amount first; ties by the other amounts, then by path. */
void adept_diff_sort(adept_diff *diff, adept_diff_amount by);

/* What a check may look at. */
typedef enum adept_diff_quantity {
    ADEPT_DIFF_OF_TIME,   /* step_time_s */
    ADEPT_DIFF_OF_ENERGY, /* energy_step_j */
    ADEPT_DIFF_OF_MEMORY, /* peak memory of a GPU */
    ADEPT_DIFF_OF_FLOPS,  /* of the step */
    ADEPT_DIFF_QUANTITIES
} adept_diff_quantity;
/** "time", "energy", "memory", "flops"; NULL past the end. */
const char *adept_diff_quantity_name(size_t quantity);
/** Its value in a prediction, in SI units. */
double adept_diff_value(const adept_prediction *p, adept_diff_quantity quantity);
/** Share by which it grew: 0.05 is 5 % more. 0 if both are 0, infinite from 0 to more, NAN if either is not known. */
double adept_diff_growth(const adept_diff *diff, adept_diff_quantity quantity);

#endif
