/** @file adept_simulate.h  A cluster, a stream of jobs, and what a policy makes of them: discrete events, exact energy.
 * SI units; times are seconds since the simulation began. Structures are plain: tests and other programs fill them by
 * hand. Calls: adept_policy, adept_random. */
#ifndef ADEPT_SIMULATE_H
#define ADEPT_SIMULATE_H
#include "adept_error.h"
#include "adept_policy.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---------------------------------------------------------------- the cluster ------------------------------------- */

typedef struct adept_cluster_node {
    char name[64];
    size_t type;       /* of its GPUs: an index of cluster.types */
    int gpus;
    double host_idle_w; /* drawn by the rest of the node while no GPU of it works */
    double host_busy_w; /* and what comes on top when all of them work; between, in proportion */
} adept_cluster_node;

typedef struct adept_gpu_type {
    char name[64]; /* as `adept gpus` knows it, or as a table of step times names it */
    double idle_w; /* of a GPU that does nothing */
    double tdp_w;  /* of one board: noise of the oracle never claims more. INFINITY: not known */
} adept_gpu_type;

typedef struct adept_cluster {
    adept_gpu_type *types;
    size_t n_types;
    adept_cluster_node *nodes; /* grouped by type is not needed */
    size_t n_nodes;
    /* an idle node sleeps after so long, draws sleep_w, and takes wake_s to come back. INFINITY: never */
    double sleep_after_s, sleep_w, wake_s;
    /* mean time between failures of a node, exponential; INFINITY: none fails. How long it is away */
    double mtbf_s, repair_s;
} adept_cluster;

/* ---------------------------------------------------------------- jobs -------------------------------------------- */

/** What a kind of job can run as: the placements that an oracle predicted, or that somebody measured. */
typedef struct adept_template {
    char name[64];
    adept_job_option *options; /* adept_policy.h */
    size_t n_options;
} adept_template;

typedef struct adept_stream_job {
    int64_t id;
    double submit_s;
    size_t template_index;
    size_t user; /* an index of stream.users */
    double samples;
    int gpus;          /* it runs on so many only; 0: on any number that its template has */
    int64_t batch;     /* likewise per GPU; 0: any */
    bool is_urgent;
    double deadline_s; /* INFINITY: none */
} adept_stream_job;

/** Jobs by the time they are submitted. */
typedef struct adept_job_stream {
    adept_template *templates;
    size_t n_templates;
    char (*users)[64];
    size_t n_users;
    adept_stream_job *jobs;
    size_t n_jobs;
} adept_job_stream;

/* ---------------------------------------------------------------- a run ------------------------------------------- */

typedef enum adept_job_state { ADEPT_JOB_COMING, ADEPT_JOB_QUEUED, ADEPT_JOB_RUNNING, ADEPT_JOB_DONE } adept_job_state;

typedef struct adept_job_record {
    adept_job_state state;
    double first_start_s, start_s, finish_s; /* NAN: has not happened; start_s of the last run */
    size_t option;                           /* of the template, of the last run; SIZE_MAX: it never ran */
    double energy_j;                         /* of all its runs, GPUs only */
    double gpu_s;                            /* GPUs times seconds, of all its runs */
    double lost_gpu_s, lost_energy_j;        /* of that, what was done in vain */
    double samples_done;                     /* that are safe */
    int preemptions, failures;
} adept_job_record;

/** What an observer sees: the state between two events. */
typedef struct adept_observed {
    double now_s;
    const int *idle_gpus;   /* of each node */
    double power_w;         /* of the cluster now */
    double energy_j;        /* of the cluster so far */
    double jobs_energy_j;   /* of that, what jobs drew, running ones too */
    double idle_energy_j;   /* and what idle GPUs, hosts and sleeping nodes drew */
    size_t n_queued, n_running, n_finished;
    const adept_job_record *records; /* of all jobs of the stream */
} adept_observed;

typedef enum adept_loss { ADEPT_LOSS_ALL, ADEPT_LOSS_ITERATION, ADEPT_LOSS_CHECKPOINT } adept_loss;

typedef struct adept_simulation {
    const adept_cluster *cluster;
    const adept_job_stream *stream;
    const adept_policy *policy;
    adept_policy_options policy_options;
    uint64_t seed;
    double horizon_s;      /* INFINITY: until the last job has ended */
    double tick_s;         /* the scheduler wakes at multiples of it; 0: at every event */
    /* of the oracle: it says U(1 - noise, 1 + noise) of the truth, drawn once for a job and a placement */
    double noise;
    double reality_noise;  /* of the truth, likewise and independent */
    double interference;   /* a job's steps take 1 + this longer while its node has other jobs */
    adept_loss loss;       /* what a preempted or failed job has to do again */
    double checkpoint_s;   /* ADEPT_LOSS_CHECKPOINT: it saved every so often */
    /* the policy is asked at every tick, whether or not anything can have changed: for the test of skipping */
    bool never_skips;
    /* cut what happened into so many parts of equal length, from the first submission to the last; 0: none */
    size_t n_windows;
    bool keeps_series;     /* the power curve, and what ran where */
    /** Called after every event, for tests of invariants; NULL: not at all. */
    void (*observe)(void *context, const adept_observed *now);
    void *context;
} adept_simulation;

typedef struct adept_power_point {
    double time_s, power_w; /* from this time on */
} adept_power_point;

/** A job on a node, for pictures. */
typedef struct adept_job_span {
    size_t job, node, option;
    int gpus;
    double start_s, end_s; /* NAN: it still runs in the end */
} adept_job_span;

/** What came of it. NAN: there is no such number, as the mean of nothing. */
typedef struct adept_outcome {
    size_t n_jobs, n_finished, n_unfinished; /* of those submitted within the horizon */
    double end_s;                            /* the horizon, or when the last job ended */
    double throughput_per_h;                 /* jobs finished */
    double samples_done;
    double energy_j, jobs_energy_j, idle_energy_j, lost_energy_j;
    double energy_per_job_j;   /* energy_j over jobs finished */
    /* of finished jobs: finish - submit; NAN, as p50 to p99 and the wait, where a kind of them starves */
    double mean_completion_s;
    double censored_completion_s; /* of all, where an unfinished one counts as end - submit */
    double p50_completion_s, p95_completion_s, p99_completion_s;
    double mean_wait_s;        /* until the first start, of those that started */
    double makespan_s;
    double jain;               /* of the mean completion times of users */
    size_t n_deadlines, n_missed;
    double miss_rate;
    double utilisation;        /* GPU-seconds used over GPU-seconds there were */
    double mean_power_w, p95_power_w, peak_power_w;
    double over_cap_s;         /* time above the policy's cap */
    size_t n_preemptions, n_failures;
    double lost_gpu_s;
    uint64_t n_decisions;      /* how often the policy was asked */
} adept_outcome;

/** What nodes of one type of GPU came to. Energies of all types sum to the outcome's. */
typedef struct adept_type_outcome {
    double utilisation;   /* GPU-seconds used over GPU-seconds there were */
    double energy_j;      /* jobs, idle GPUs and hosts */
    double jobs_energy_j; /* of that, jobs */
    size_t n_starts;      /* of jobs; a preempted one starts again */
    double gpus_per_job;  /* mean over these; NAN: none */
} adept_type_outcome;

typedef struct adept_run_result {
    adept_outcome outcome;
    adept_type_outcome *types; /* one for each type of the cluster; of the run, then of each window */
    adept_job_record *records; /* one for each job of the stream */
    bool *starves;             /* of each template: it has jobs, and none of them ever started */
    /* Of each window: completion, waits, deadlines and fairness of the jobs submitted in it, all else by what happened
     * in its time. The last one lasts until the end, so that energies and finished jobs sum to the run's. end_s is how
     * long it lasts. */
    adept_outcome *windows;
    adept_power_point *series; /* where it was asked for */
    size_t n_series;
    adept_job_span
        *spans; /* likewise; each time a job was placed, one for each of its nodes; in the order in which they ended */
    size_t n_spans;
} adept_run_result;

/**
 * Run. The same arguments give the same bits, on any machine and from any thread.
 * @param out  adept_run_result_free(); set only on ADEPT_OK
 * @return ADEPT_E_USAGE: a job that no node can ever run, a policy that breaks its contract; ADEPT_E_NOMEM
 */
adept_status adept_simulate(adept_run_result *out, const adept_simulation *simulation, adept_error *err);
void adept_run_result_free(adept_run_result *result);

#endif
