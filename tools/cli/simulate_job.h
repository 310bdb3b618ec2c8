/** @file simulate_job.h  `adept simulate`: its inputs, its runs over policies and seeds. Calls: simulate. */
#ifndef ADEPT_SIMULATE_JOB_H
#define ADEPT_SIMULATE_JOB_H
#include "adept_inputs.h"
#include "adept_sim_results.h"
#include "cli.h"

typedef struct adept_simulate_options {
    adept_words words; /* CLUSTER.json and JOBS, or files of --merge */
    adept_words policies;
    const char *templates; /* a jobs file, where JOBS is a trace */
    const char *trace_format;
    int64_t seeds, seed, threads;
    int64_t windows; /* of a trace, which take the place of seeds; 0: it is met as one */
    double horizon_s, tick_s; /* horizon 0: the jobs file's */
    double noise, reality_noise, interference;
    adept_loss loss;
    double checkpoint_s;
    bool is_malleable, drops_impossible, no_idle, merge, json, recommend, never_skips;
    enum { ADEPT_FAIRNESS_FAIR, ADEPT_FAIRNESS_PRINTED } fairness;
    adept_policy_options policy;
    adept_shard shard;
    const char *output, *baseline, *jobs_csv, *power_csv, *html;
} adept_simulate_options;

/** What was read, and what came of it. */
typedef struct adept_simulate_job {
    const adept_simulate_options *options;
    adept_scenario scenario;
    adept_jobs *jobs;
    adept_notes notes;
    adept_job_stream *streams;  /* one for each seed, or one of a trace */
    size_t n_streams;
    adept_run_result *results;  /* as comparison.outcomes, where they are kept; of windows the first one is the run */
    adept_drawn_run *drawn;
    adept_comparison comparison;
} adept_simulate_job;

/** Read cluster and jobs, and run every policy on every seed of the shard. */
adept_status adept_simulate_make(adept_cli *cli, adept_simulate_job *job);
void adept_simulate_job_free(adept_simulate_job *job);

#endif
