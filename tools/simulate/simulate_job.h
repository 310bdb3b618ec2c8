/** @file simulate_job.h  `adept simulate`: its inputs, its runs over policies and seeds. Calls: simulate. */
#ifndef ADEPT_SIMULATE_JOB_H
#define ADEPT_SIMULATE_JOB_H
#include "adept_inputs.h"
#include "adept_sim_results.h"
#include "cli.h"

#define ADEPT_MOST_VARIED 64

/** What --vary gives: NULL or 0 of a number that it does not. */
typedef struct adept_simulate_varied {
    const char *clusters[ADEPT_MOST_VARIED];
    double rates_per_s[ADEPT_MOST_VARIED], caps_w[ADEPT_MOST_VARIED];
    size_t n_clusters, n_rates, n_caps;
} adept_simulate_varied;

typedef struct adept_simulate_options {
    adept_words words; /* CLUSTER.json, unless that is varied, and JOBS; or files of --merge */
    adept_simulate_varied vary;
    adept_words policies;
    const char *templates; /* a jobs file, where JOBS is a trace */
    const char *trace_format;
    int64_t seeds, seed, threads;
    int64_t windows; /* of a trace, which take the place of seeds; 0: it is met as one */
    double horizon_s, tick_s; /* horizon 0: the jobs file's */
    double noise, reality_noise, interference;
    adept_loss loss;
    double checkpoint_s;
    bool is_malleable, drops_impossible, no_idle, merge, json, csv, recommend, never_skips;
    enum { ADEPT_FAIRNESS_FAIR, ADEPT_FAIRNESS_PRINTED } fairness;
    adept_policy_options policy;
    adept_shard shard;
    const char *output, *baseline, *jobs_csv, *power_csv, *html;
} adept_simulate_options;

/** What was read, and what came of it. */
typedef struct adept_simulate_job {
    const adept_simulate_options *options;
    const char *cluster, *jobs_path;
    double cap_w, rate_per_s; /* NAN: the jobs file's */
    adept_scenario scenario;
    adept_jobs *jobs;
    adept_notes notes;
    adept_job_stream *streams;  /* one for each seed, or one of a trace */
    size_t n_streams;
    adept_run_result *results;  /* as comparison.outcomes, where they are kept; of windows the first one is the run */
    adept_drawn_run *drawn;
    adept_comparison comparison;
} adept_simulate_job;

/** Read cluster and jobs. @param cluster  of several; NULL: the command line's */
adept_status adept_simulate_read(adept_cli *cli, adept_simulate_job *job, const adept_simulate_options *options,
                                 const char *cluster);
/** Run every policy on every seed of the shard; at another rate or cap once more, in place of what came of it before.
 */
adept_status adept_simulate_make(adept_cli *cli, adept_simulate_job *job);
void adept_simulate_job_free(adept_simulate_job *job);

/** Run each combination of --vary, and print a row for each policy of each, or all documents as JSON. */
adept_status adept_simulate_vary(adept_cli *cli, FILE *out, const adept_simulate_options *options);

#endif
