/** @file adept_sim_results.h  Policies compared over seeds: the table of outcomes, written as JSON, read again, put
 * together from shards; jobs and power as CSV. Calls: adept_sim_statistics, adept_json. */
#ifndef ADEPT_SIM_RESULTS_H
#define ADEPT_SIM_RESULTS_H
#include "adept_grow.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include "adept_shard.h"
#include "adept_sim_statistics.h"
#include "adept_statistics.h"

/** What a page draws: a run of the first seed. All are borrowed. */
typedef struct adept_drawn_run {
    const adept_job_stream *stream;
    const adept_run_result *result; /* with its series; NULL: it is not drawn */
} adept_drawn_run;

/**
 * Policies over seeds. The program that simulates fills it, or a file.
 * Two of the same setup, cap, policies and seeds are shards of the same whole.
 */
typedef struct adept_comparison {
    cJSON *setup; /* an object: what was simulated, in members "cluster", "jobs", "options", each any JSON */
    double cap_w; /* INFINITY: none */
    char **policies;
    size_t n_policies;
    uint64_t *seeds; /* below 2^53, for JSON has no more */
    size_t n_seeds;
    adept_shard shard;       /* of all runs */
    adept_outcome *outcomes; /* of policy p and seed s at [p * n_seeds + s], where adept_comparison_has() it */
    char **gpus;             /* types of them, by adept_comparison_gpus() */
    size_t n_gpus;
    adept_type_outcome *by_gpu; /* of type t at [(p * n_seeds + s) * n_gpus + t] */
    /* of policy p over all windows as one run; NULL where there are none, or a file was read */
    adept_outcome *uncut;
    char **warnings;         /* by adept_comparison_warn() */
    size_t n_warnings, warning_capacity;
    const adept_cluster *cluster; /* for pictures; these two are NULL where a file was read */
    const adept_drawn_run *drawn; /* one for each policy */
} adept_comparison;

/**
 * Room for outcomes.
 * @param setup  taken, also after an error; NULL: memory was out
 * @param out    adept_comparison_free(), also after an error
 */
adept_status adept_comparison_begin(adept_comparison *out, cJSON *setup, const char *const *policies, size_t n_policies,
                                    const uint64_t *seeds, size_t n_seeds, adept_error *err);
void adept_comparison_free(adept_comparison *comparison);
/** Room for what nodes of each type of GPU come to; none before. @return ADEPT_E_NOMEM */
adept_status adept_comparison_gpus(adept_comparison *c, const char *const *gpus, size_t n, adept_error *err);

/** Is the run of the shard? Neighbours are of different ones, so that a slow policy is shared out. */
bool adept_comparison_has(const adept_comparison *c, size_t policy, size_t seed);
/** What its seeds are: "seed", or "window" of a trace. */
const char *adept_comparison_repeat(const adept_comparison *c);
/** Are all runs there? */
bool adept_comparison_is_whole(const adept_comparison *c);
/** Keep a warning, once and by the alphabet, so that the order in which runs end does not matter. @return ADEPT_E_NOMEM
 */
adept_status adept_comparison_warn(adept_comparison *c, const char *text, adept_error *err);

/** A metric of a policy over all seeds. @param values  room for n_seeds; NAN: not known, or not of this shard */
void adept_comparison_values(double *values, const adept_comparison *c, size_t policy, const adept_sim_metric *metric);
/** The same of a type of GPU. @param metric  of adept_sim_type_metrics */
void adept_comparison_gpu_values(double *values, const adept_comparison *c, size_t policy, size_t gpu,
                                 const adept_sim_metric *metric);
/** @return ADEPT_E_NOMEM */
adept_status adept_comparison_statistics(adept_statistics *out, const adept_comparison *c, size_t policy,
                                         const adept_sim_metric *metric, adept_error *err);
/** b less a. @param resamples  as of adept_paired_differences(). @return ADEPT_E_NOMEM */
adept_status adept_comparison_paired(adept_paired *out, const adept_comparison *c, size_t a, size_t b,
                                     const adept_sim_metric *metric, const adept_resamples *resamples,
                                     adept_error *err);

/** The document of `adept simulate --json`. A shard has neither means nor pairs. @return ADEPT_E_NOMEM */
adept_status adept_comparison_write(adept_json_writer *w, const adept_comparison *c, adept_error *err);
/**
 * Read it again.
 * @param name  of the file, for messages
 * @param out   adept_comparison_free(), also after an error
 * @return ADEPT_E_INVALID, ADEPT_E_NOMEM
 */
adept_status adept_comparison_read(adept_comparison *out, const cJSON *tree, const char *name, adept_error *err);
/**
 * Put all shards of a whole together: what one run would have made, to the last bit.
 * @param out  adept_comparison_free(), also after an error
 * @return ADEPT_E_INVALID: shards are missing, twice there, or not of the same whole; ADEPT_E_NOMEM
 */
adept_status adept_comparison_merge(adept_comparison *out, const cJSON *const *trees, const char *const *names,
                                    size_t n, adept_error *err);

/** The title lines of the CSV files, and rows of a run. A failure stays in the buffer. */
extern const char adept_sim_jobs_title[], adept_sim_power_title[];
void adept_sim_put_jobs(adept_buffer *csv, uint64_t seed, const char *policy, const adept_cluster *cluster,
                        const adept_job_stream *stream, const adept_run_result *result);
void adept_sim_put_power(adept_buffer *csv, uint64_t seed, const char *policy, const adept_run_result *result);

/* ---------------------------------------------------------------- recommendations --------------------------------- */

typedef enum adept_sim_aim {
    ADEPT_SIM_AIM_PERFORMANCE, /* least energy at a throughput that is not lower than the first policy's */
    ADEPT_SIM_AIM_FAIRNESS,    /* least energy where users fare alike */
    ADEPT_SIM_AIM_DEADLINES,   /* least energy where deadlines are met */
    ADEPT_SIM_AIM_BUDGET,      /* most throughput below the cap */
    ADEPT_SIM_AIMS
} adept_sim_aim;
/** "energy-performance", "energy-fairness", "strict-sla", "power-budget"; NULL behind the last. */
const char *adept_sim_aim_name(size_t aim);

/** What a policy has to keep to. */
typedef struct adept_sim_aim_limits {
    double throughput_sigma; /* it may be lower by so many deviations of the first policy's over seeds */
    double least_jain;
    double most_missed; /* a share of the deadlines */
} adept_sim_aim_limits;
extern const adept_sim_aim_limits adept_sim_aim_usual; /* 1 sigma, 0.9, 1 % */

typedef struct adept_recommendation {
    size_t policy, second; /* SIZE_MAX: none keeps to the limit; no other one does */
    size_t n_kept;         /* policies that keep to the limit */
    char why[512];
} adept_recommendation;

/** The best of the policies for an aim by what came out. @param c  whole. @return ADEPT_E_NOMEM */
adept_status adept_recommend(adept_recommendation *out, const adept_comparison *c, adept_sim_aim aim,
                             const adept_sim_aim_limits *limits, adept_error *err);

#endif
