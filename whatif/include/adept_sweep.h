/** @file adept_sweep.h  Predictions over a grid of workloads, GPUs, hardware numbers and runs: every point has the bits
 * that adept_predict() gives for it alone. docs/TUTORIAL.md. Calls: model. */
#ifndef ADEPT_SWEEP_H
#define ADEPT_SWEEP_H
#include "adept_plan.h"
#include "adept_shard.h"

/* ------------------------------------------------------------------ what varies --------------------------------- */

/* X(id, key, level): keys beside the words of workloads and runs (adept_fields.h), which all are keys. In the order of
 * levels: what is outer is varied more slowly, so that a profile, a GPU and a plan serve all points inside. */
#define ADEPT_SWEEP_KEY_LIST(X)                                                                                        \
    X(GPU, "gpu", GPU)                                                                                                 \
    X(MEMORY_CLOCK, "memory_clock_hz", MACHINE)                                                                        \
    X(SMS, "sms", HARDWARE)                                                                                            \
    X(CORE_CLOCK, "core_clock", HARDWARE)                                                                              \
    X(PEAKS, "peaks", HARDWARE)                                                                                        \
    X(RATE, "rate", TRAFFIC)                                                                                           \
    X(GOVERNOR, "governor", MACHINE)                                                                                   \
    X(CPU_POWER_LIMIT, "cpu_power_limit_w", MACHINE)                                                                   \
    X(CPU_CLOCK_MAX, "cpu_clock_max_hz", MACHINE)                                                                      \
    X(CPU_CLOCK_MIN, "cpu_clock_min_hz", MACHINE)
typedef enum adept_sweep_level {
    ADEPT_SWEEP_WORKLOAD,
    ADEPT_SWEEP_GPU,
    ADEPT_SWEEP_HARDWARE,
    ADEPT_SWEEP_RUN,
    ADEPT_SWEEP_TRAFFIC, /* of a mix: no pass depends on it */
    ADEPT_SWEEP_MACHINE, /* nothing that is predicted: adept sweep --drive sets it */
    ADEPT_SWEEP_LEVELS
} adept_sweep_level;
typedef enum adept_sweep_kind {
    ADEPT_VARY_WORKLOAD, /* the axis says which word */
    ADEPT_VARY_RUN,
#define X(id, key, level) ADEPT_VARY_##id,
    ADEPT_SWEEP_KEY_LIST(X)
#undef X
        ADEPT_VARY_SPEC, /* "specs.l2_bytes" */
    ADEPT_VARY_PARAMETER /* "fit.parameters.beta_mem" */
} adept_sweep_kind;

/* Counts (batch, gpus, ...) stay below: exact as doubles, also times a few. */
#define ADEPT_SWEEP_MOST_COUNT 9e15

/* One key and its values. */
typedef struct adept_sweep_axis {
    char key[80];
    adept_sweep_kind kind;
    adept_sweep_level level;
    const adept_field *field; /* of a workload or a run; NULL: of neither */
    size_t spec;   /* which of adept_specs */
    /* numbers multiply what is there: the sheet's number, the option given; of a limit the board's own */
    bool relative;
    size_t n, capacity;
    double *numbers; /* n; of words (precision, ...) which of them, of sets their bits; NULL for GPUs and governors */
    char **words;    /* n GPUs, names or files, or n governors; NULL else */
} adept_sweep_axis;

/* Values of power_limit_w that are worked out for each point: the limits of least energy and of least energy times
 * time. */
#define ADEPT_SWEEP_LIMIT_ENERGY (-1.0) /* "energy-optimal" */
#define ADEPT_SWEEP_LIMIT_EDP (-2.0)    /* "edp-optimal" */
/** Is it the run's number of that row, ADEPT_RUN_FIELD_...? */
static inline bool adept_sweep_varies_run(const adept_sweep_axis *axis, size_t field)
{
    return axis->kind == ADEPT_VARY_RUN && axis->field == adept_run_field(field);
}
/** The word for such a value; NULL for others. */
ADEPT_API const char *adept_sweep_best_limit_name(const adept_sweep_axis *axis, size_t value);

/** Keys that can be varied on any GPU, for messages: "mode", ..., "specs.l2_bytes"; NULL past the end. */
ADEPT_API const char *adept_sweep_key_name(size_t index);

/**
 * Read "KEY=V1,V2,..." or "KEY=FROM:TO:STEP"; a list may mix both. "clock" and "memory_clock" are those in Hz; numbers
 * of clocks and powers may have a unit: 1.2GHz, 1kW. Numbers that are not of the workload may be relative, all of an
 * axis or none: "x0.5,x1,x2", "x0.8:x1.4:x0.1". Both ends of a range are exact: value i is FROM + i * STEP, in decimal,
 * as people write it, and TO is hit if it is a whole number of steps away.
 * @param out  adept_sweep_axis_free() it after ADEPT_OK
 * @return ADEPT_E_USAGE with what is wrong; ADEPT_E_NOMEM
 */
ADEPT_API adept_status adept_sweep_axis_parse(adept_sweep_axis *out, const char *text, adept_error *err);
ADEPT_API void adept_sweep_axis_free(adept_sweep_axis *axis); /* zeroed is fine */

/** Set a hardware number of a GPU: specs, or parameters of its fit, which must be the caller's to write. "sms" and
 * "core_clock" take all peaks with them, and "peaks" is all of them, by the FP32 ALUs'.
 *  @param axis  of level ADEPT_SWEEP_HARDWARE
 *  @return ADEPT_E_USAGE if the GPU does not have it, or the result is impossible */
ADEPT_API adept_status adept_sweep_set_number(adept_hwprofile *hw, const adept_sweep_axis *axis, size_t value,
                                              adept_error *err);

/* ------------------------------------------------------------------ the grid ------------------------------------ */

/** Put a value of an axis into what is given over the sweep's own workload (adept_workload_config_over()), or into a
 * run on a GPU: relative ones multiply what is there, or stands for it.
 *  @return false: relative to something that is not known, or no whole number */
bool adept_sweep_set_workload(adept_workload_config *out, const adept_sweep_axis *axis, size_t value);
bool adept_sweep_set_run(adept_run *run, const adept_sweep_axis *axis, size_t value, const adept_specs *specs);

/** The profile of the sweep's workload with what is given over it. @param out borrowed: until the next call. @return
 * what a point without a profile says of itself; ADEPT_E_NOMEM and ADEPT_E_INTERNAL end the sweep */
typedef adept_status (*adept_sweep_profile_of)(const adept_profile **out, const adept_workload_config *given,
                                               void *context, adept_error *err);

typedef struct adept_sweep {
    size_t n_axes;
    const adept_sweep_axis *axes; /* of distinct keys */
    size_t n_fixed;
    const adept_sweep_axis *fixed; /* hardware numbers with one value each, set on every GPU before any varies */
    bool one_at_a_time;        /* each axis alone, with everything else as it is without it; else all combinations */
    adept_shard shard;         /* only these of all points: contiguous parts, whose sizes differ by 1 at most */
    const adept_hwprofile *hw; /* where no axis is of GPUs, or with one_at_a_time */
    adept_run run;
    bool generates; /* without its axes it is of mode generate: rows and tables have what its tokens take */
    adept_sweep_profile_of profile_of;
    void *context;
    const struct adept_mix *mix; /* points are such queries as they arrive, by adept_mix_estimate(); NULL: steps */
    void *mix_context;           /* for profile_of: profiles of its passes, beside those of points */
} adept_sweep;

#define ADEPT_SWEEP_MAX_AXES 16
#define ADEPT_SWEEP_UNVARIED ((size_t)-1) /* in a point's `at`: this axis is not what varies here */

/** One point. Borrowed during the call. */
typedef struct adept_sweep_point {
    uint64_t index;
    const size_t *at;    /* of each axis, which of its values */
    adept_status status; /* not ADEPT_OK: the point cannot run, for this reason */
    const char *reason;
    adept_estimate result;
    const adept_profile *profile; /* NULL: there is none */
    const adept_hwprofile *hw;    /* with its numbers changed */
    const adept_run *run;
    const struct adept_mix_prediction *mix; /* NULL: it is a step */
} adept_sweep_point;

/** @return false: stop here */
typedef bool (*adept_sweep_sink)(const adept_sweep_point *point, void *context);

/** Number of points, of the shard if it is one. @return ADEPT_E_USAGE if there are too many to number, or two axes have
 * one key */
ADEPT_API adept_status adept_sweep_size(uint64_t *out, const adept_sweep *sweep, adept_error *err);

/**
 * Hand every point of the shard to `sink`, in the order of their index: workloads vary slowest, then GPUs, hardware
 * numbers, and runs; of one level the axis given first. Memory does not grow with the number of points.
 * @return ADEPT_OK also when the sink stops it; ADEPT_E_UNKNOWN_GPU or ADEPT_E_INVALID for a GPU of an axis;
 * ADEPT_E_NOMEM
 */
ADEPT_API adept_status adept_sweep_run(const adept_sweep *sweep, adept_sweep_sink sink, void *sink_context,
                                       adept_error *err);

/** Which values a point has, from its index. */
ADEPT_API void adept_sweep_at(size_t *at, const adept_sweep *sweep, uint64_t index);

/** Does the axis have words for values? */
ADEPT_API bool adept_sweep_has_words(const adept_sweep_axis *axis);
/** The number that a point has for an axis, made absolute; NAN where it is a word or not known. @param value  the
 * point's at[] of the axis */
ADEPT_API double adept_sweep_number_at(const adept_sweep_axis *axis, size_t value, const adept_sweep_point *point);
/** The word, or the text that holds it; NULL where it is a number or not known. */
ADEPT_API const char *adept_sweep_word_at(char text[ADEPT_FIELD_TEXT_BYTES], const adept_sweep_axis *axis, size_t value,
                                          const adept_sweep_point *point);
/** A value of an axis as people write it: "64", "x0.5", "h100"; "-" where the axis does not vary. */
ADEPT_API void adept_sweep_print_value(char *text, size_t size, const adept_sweep_axis *axis, size_t at);

#endif
