/** @file adept_attribution.h  Energy of processes, learnt from what they did and what a meter of the machine said: the
 * regression of Bader et al. ("energy process mapping", equations 1 and 2), its model as a file, and what it says of a
 * recording. docs/MEASURE.md has the equations and every choice. Calls: adept_activity. */
#ifndef ADEPT_ATTRIBUTION_H
#define ADEPT_ATTRIBUTION_H
#include "adept_activity.h"
#include "adept_arena.h"

#define ADEPT_ATTRIBUTION_LEVEL 0.8 /* of all intervals */

/** A recording and the file that it is of. */
typedef struct adept_attribution_source {
    const adept_activity_log *log;
    const char *path;
} adept_attribution_source;

/* ---------------------------------------------------------------- the fit ---------------------------------------- */

typedef struct adept_attribution_options {
    const char *meter; /* the sensor whose energy is learnt; NULL: the node's, else the sum of cpu, dram and gpu */
    bool learn_gpu;    /* energy of GPUs is learnt with the rest, also where it is known who used them */
    bool has_features; /* only `features`; else all that were counted but memory and network */
    bool features[ADEPT_ACTIVITIES];
    bool centre;         /* features are z-scores, as the paper has it; else they are scaled only */
    bool free_sign;      /* weights may be below 0 */
    bool keep_shrinkage; /* weights as the price lambda left them; else least squares of the features that it left */
    double lambda2;      /* price of the static energy, in the objective of scaled features */
    double lag_s;        /* of the meter behind the processes; NAN: found */
    double interval_s;   /* intervals that follow one another are put together until they are so long; 0: as they are */
    size_t replicates;   /* of the bootstrap */
    uint64_t seed;
} adept_attribution_options;

adept_attribution_options adept_attribution_defaults(void);
#define ADEPT_MOST_REPLICATES 10000

/** How near predictions of intervals are; NAN where it cannot be said. */
typedef struct adept_attribution_figures {
    size_t n;
    double r2, mae_j, mae_share /* of the mean energy of an interval */, rmse_j;
    double spearman; /* rank correlation of predicted and measured */
} adept_attribution_figures;

typedef struct adept_attribution_feature {
    adept_activity_kind kind;
    double weight_j, low_j, high_j; /* joules per unit: per second of CPU time, per byte, ... */
    double mean;                    /* taken off every record's number first; 0 unless z-scores are used */
    double scale;                   /* of a unit of the objective */
    double spearman;                /* with the energy of intervals */
    double inflation; /* of the variance of its weight by the other features; INFINITY: they say the same */
} adept_attribution_feature;

/** X(name, word) of what is recorded of an interval beside the sums of processes. Words are published. */
#define ADEPT_MONITORED_LIST(X)                                                                                        \
    X(MACHINE_CPU_S, "machine_cpu_s") X(PROCESSES, "processes") X(GPU_USE, "gpu_utilization")
enum {
#define X(name, word) ADEPT_MONITORED_##name,
    ADEPT_MONITORED_LIST(X)
#undef X
        ADEPT_MONITORED
};

/** How the energy of intervals goes with something that was recorded, whether or not it was learnt from. */
typedef struct adept_attribution_correlation {
    const char *name;
    double spearman; /* NAN: it never varies */
    size_t n;        /* intervals in which both are known */
} adept_attribution_correlation;

/** What was learnt. All texts are in its arena. */
typedef struct adept_attribution_model {
    adept_arena *arena;
    const char *path; /* of the file it was read from; NULL: it was just fitted */
    const char *host;
    int n_cpus;
    const char *const *sources; /* paths of the recordings */
    size_t n_sources;
    const char *const *meters; /* whose sum was learnt */
    size_t n_meters;
    bool gpu_by_use;      /* energy of GPUs goes to who used them; where meters see it as well it is not learnt */
    bool meters_hold_gpu; /* "node" does: then GPUs are taken off it */
    bool centred, is_free, is_refitted;
    double interval_s, lag_s, lag_r2;
    adept_attribution_feature features[ADEPT_ACTIVITIES];
    size_t n_features;
    adept_attribution_correlation correlations[ADEPT_ACTIVITIES + ADEPT_MONITORED]; /* of all that was recorded */
    size_t n_correlations;
    double static_w, static_low_w, static_high_w;
    double lambda1, lambda2, kkt;
    double condition; /* number of the features' correlations, its root; INFINITY */
    size_t n_intervals, n_used;
    adept_attribution_figures test, train; /* of the last fifth of the intervals by the others; of those themselves */
    adept_attribution_figures constant, cpu_only; /* what is learnt without, on the last fifth */
    size_t n_draws, block;                        /* of the bootstrap, and how many intervals it moves together */
    uint64_t seed;
    const double *draws;      /* n_features weights and the static watts of each */
    const char *const *notes; /* what was left out, and what to beware of */
    size_t n_notes;
} adept_attribution_model;

/**
 * Learn from recordings of one machine.
 * @param out  adept_attribution_model_free(); set only on ADEPT_OK
 * @return ADEPT_E_INVALID: recordings of several machines, or without such a meter; ADEPT_E_FIT: too little to learn
 * from, or the search does not settle; ADEPT_E_NOMEM Deterministic: the same recordings and options give the same bits.
 */
adept_status adept_attribution_fit(adept_attribution_model **out, const adept_attribution_source *sources,
                                   size_t n_sources, const adept_attribution_options *options, adept_error *err);
void adept_attribution_model_free(adept_attribution_model *model);

/** The model as JSON, malloc'ed; NULL when memory is out. */
char *adept_attribution_model_text(const adept_attribution_model *model);
/** Read what that wrote, whoever wrote it. @return ADEPT_E_INVALID naming file and place; ADEPT_E_NOMEM */
adept_status adept_attribution_model_read(adept_attribution_model **out, const char *path, adept_error *err);

/* ---------------------------------------------------------------- the report ------------------------------------- */

/* X(name, word) of what energy is summed by. */
#define ADEPT_ATTRIBUTION_BY_LIST(X)                                                                                   \
    X(PROCESS, "process") X(COMMAND, "command") X(USER, "user") X(CGROUP, "cgroup") X(JOB, "job")
typedef enum adept_attribution_by {
#define X(name, word) ADEPT_BY_##name,
    ADEPT_ATTRIBUTION_BY_LIST(X)
#undef X
} adept_attribution_by;
const char *adept_attribution_by_name(size_t by);

/* X(name, word) of whose the static energy is: nobody's; of processes by their CPU time; of all processes of an
 * interval alike. */
#define ADEPT_STATIC_LIST(X) X(SEPARATE, "separate") X(CPU_SHARE, "cpu-share") X(EQUAL, "equal")
typedef enum adept_static_policy {
#define X(name, word) ADEPT_STATIC_##name,
    ADEPT_STATIC_LIST(X)
#undef X
} adept_static_policy;
const char *adept_static_policy_name(size_t policy);

typedef struct adept_attribution_view {
    adept_attribution_by by;
    adept_static_policy policy;
    bool scale;    /* what processes and static get is multiplied by measured / predicted in every interval */
    size_t top;    /* series of their own */
    double step_s; /* of the series; 0: the fewest whole intervals that make ADEPT_MOST_STEPS of them or fewer */
} adept_attribution_view;
#define ADEPT_MOST_STEPS 600

/** Energy of a process, a command, ..., "Other" or "static". */
typedef struct adept_attribution_group {
    const char *label;
    const char *key; /* what makes it one: two processes may have one label */
    size_t n_processes;
    double energy_j;
    double share, low, high; /* of all energy; the interval is NAN without draws */
    double gpu_j;            /* of it, by use */
    double cpu_time_s;
    double features[ADEPT_ACTIVITIES]; /* sums, less the means */
    double static_s;                   /* how many seconds of the static power are its */
} adept_attribution_group;

typedef struct adept_attribution_report {
    adept_arena *arena;
    adept_attribution_group
        *groups; /* the top ones, most energy first; then "Other", "static", "idle GPUs", where there are any */
    size_t n_groups, n_top;         /* series are in the order of groups */
    double total_j;                 /* of all groups */
    double predicted_j, measured_j; /* of the intervals that the meters cover */
    double covered_s, all_s, begin_s, step_s;
    size_t n_steps;
    const double *series_j;   /* n_groups x n_steps */
    const double *measured;   /* n_steps: joules where the meters cover all of a step; else NAN */
    const double *recorded_s; /* n_steps: how long it was recorded in a step */
    double known_cpu;         /* share of the machine's CPU time that processes account for; NAN: not known */
    const char *const *notes;
    size_t n_notes;
} adept_attribution_report;

/**
 * What a model says of recordings.
 * @param out  adept_attribution_report_free(); set only on ADEPT_OK
 * @return ADEPT_E_INVALID: nothing was recorded; ADEPT_E_NOMEM
 */
adept_status adept_attribution_report_make(adept_attribution_report **out, const adept_attribution_model *model,
                                           const adept_attribution_source *sources, size_t n_sources,
                                           const adept_attribution_view *view, adept_error *err);
void adept_attribution_report_free(adept_attribution_report *report);

#endif
