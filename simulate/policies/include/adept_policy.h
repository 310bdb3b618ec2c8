/** @file adept_policy.h  What a scheduling policy sees and may do. A policy knows jobs, what an oracle says of their
 * placements, and which of these fit now: the simulator offers that, and so can a real scheduler. One file
 * policy_NAME.c each. Calls: nothing. */
#ifndef ADEPT_POLICY_H
#define ADEPT_POLICY_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A placement of a kind of job. */
typedef struct adept_job_option {
    size_t type;         /* of GPU: an index of cluster.types */
    int gpus;            /* all on one node, or on as few whole nodes as hold them */
    int64_t batch;       /* samples per GPU and step */
    double limit_w;      /* of each board; 0: as it is set */
    double step_time_s;  /* as the oracle says, or as it was measured */
    double power_w;      /* of all its GPUs together while it runs */
} adept_job_option;

/** A job as a policy sees it. */
typedef struct adept_candidate {
    size_t job;        /* its number; in order of submission */
    size_t user;
    double submit_s;
    bool is_urgent;
    double deadline_s; /* INFINITY: none */
    int preemptions;
    const adept_job_option *options; /* all that it can run as */
    size_t n_options;
} adept_candidate;

/** A job that runs. */
typedef struct adept_running {
    size_t job, user, option;
    bool is_urgent;
    int preemptions;
    double start_s, expected_end_s; /* by the oracle */
} adept_running;

/** What the oracle says of a job in a placement: until it has ended, and meanwhile. */
typedef struct adept_forecast {
    double time_s, power_w;
} adept_forecast;

/**
 * The state at a decision. Everything changes with start() and preempt(), which act at once. Arrays stay valid until
 * then. Functions take the view itself; `self` is their owner's.
 */
typedef struct adept_view {
    double now_s;
    size_t n_types;
    /* by submission; a preempted job stands where it stood; one without options has been started */
    const adept_candidate *queued;
    size_t n_queued;
    const adept_running *running;
    size_t n_running;
    double power_w;             /* of the cluster now, idle parts too, as the oracle says */
    const double *user_gpu_s;   /* what each user has used, running jobs too */
    size_t n_users;
    void *self;
    /** What the oracle says of queued[i] as options[option], whether or not it fits. */
    adept_forecast (*forecast)(const struct adept_view *view, size_t queued, size_t option);
    /** How many GPUs of a type a job could get at once now, on one node or on whole idle nodes: what wants no more
     * fits. */
    int (*most_idle)(const struct adept_view *view, size_t type);
    /** Does a placement fit now? */
    bool (*fits)(const struct adept_view *view, const adept_job_option *option);
    /** Would it fit on a cluster with nothing on it? */
    bool (*ever_fits)(const struct adept_view *view, const adept_job_option *option);
    /** When would it fit if running jobs ended as expected and nothing else started? For backfilling. INFINITY: never
     */
    double (*fits_at)(const struct adept_view *view, const adept_job_option *option);
    /** Would a placement that fits at at_s, as fits_at() has it, still do so if another one started now and went on
     * after that? */
    bool (*fits_beside)(const struct adept_view *view, const adept_job_option *option, double at_s,
                        const adept_job_option *started);
    /** What the cluster draws if it starts now, beyond what it draws. */
    double (*added_power_w)(const struct adept_view *view, size_t queued, size_t option);
    /** Start queued[i]; it must fit. Afterwards queued[i] has no options and is passed over. */
    void (*start)(struct adept_view *view, size_t queued, size_t option);
    /** Stop running[i] and queue it again, where it stood; it can be started from the next decision on. Indices of
     * running[] change. */
    void (*preempt)(struct adept_view *view, size_t running);
    /** GPU-seconds of running[i] that would be in vain if it were stopped now. */
    double (*lost_gpu_s)(const struct adept_view *view, size_t running);
    /** Would the placement fit if these n of the running jobs, indices of running[], were stopped? */
    bool (*frees_for)(const struct adept_view *view, const size_t *running, size_t n, const adept_job_option *option);
    /** Be asked again at a time, though nothing has happened: not before the next tick. The earliest one counts. */
    void (*wake_at)(struct adept_view *view, double time_s);
} adept_view;

typedef struct adept_policy_options {
    double age_weight;      /* W_age; NAN: the policy's own */
    bool printed_fairness;  /* the sign error of the papers' fair shares, for comparison */
    double cap_w;           /* INFINITY: none */
    double cap_margin;      /* share of the cap that is kept free */
    double risk;            /* rho of AuraChronos; NAN: 0.5 */
    int most_preemptions;   /* of one job; 0: 3 */
    /* a job runs on as many GPUs, with as many samples each, as its first option says; on any type */
    bool is_rigid;
    /* how much later than in its placement of least EDP a job may end for the sake of energy; NAN: the policy's own */
    double slowdown;
    double scarcity;        /* of GPUs, as adept_score_scarcity() has it; NAN: by the jobs of the view */
    const char *placement;  /* of the ablation: "time", "edp", "energy"; NULL or "own": the policy's own */
    const char *ordering;   /* likewise "fcfs", "sjf", "edp", "energy"; NULL or "own" */
    const char *limits;     /* does it see options with power limits? "yes", "no"; NULL or "own" */
} adept_policy_options;

typedef struct adept_policy {
    const char *name;     /* "zeus" */
    const char *alias;    /* "edp"; NULL: none */
    const char *what;     /* one line */
    bool uses_limits;     /* it chooses power limits; others see options without one only: adept_policy_sees_limits() */
    /* A row of packer.h: it is a packer, which takes a placement and an ordering from the options. NULL: it is none */
    const struct adept_packing *packing;
    /* Asked when it started nothing, it would start nothing later with the same queue, idle GPUs and power: it need not
     * be asked again before what it named by wake_at(). Others are asked at every tick while a placement of a queued
     * job fits. */
    bool is_time_blind;
    /** Decide. Keeps nothing between calls. NULL: as its row says. @return false: out of memory */
    bool (*decide)(adept_view *view, const adept_policy_options *options);
} adept_policy;

/** The table that CMake makes of the files policy_*.c, by name; ends with NULL. */
const adept_policy *const *adept_policies(void);
/** By name or alias; NULL: there is none. */
const adept_policy *adept_policy_by_name(const char *name);
/** Let it decide. Called while jobs are queued. @return false: out of memory */
bool adept_policy_decide(const adept_policy *policy, adept_view *view, const adept_policy_options *options);
/** Does the policy see options with power limits? */
bool adept_policy_sees_limits(const adept_policy *policy, const adept_policy_options *options);
/** Every option the policy's own; no cap. */
adept_policy_options adept_policy_options_default(void);
/** @return ADEPT_E_USAGE: a number out of range, a name that is none, or one that this policy has no use for */
adept_status adept_policy_options_check(const adept_policy *policy, const adept_policy_options *options,
                                        adept_error *err);

#endif
