/** @file fake_view.h  A tiny cluster as a policy sees it: one node of each type, and closed forms. A job of work w
 * takes w / (speed k^a) seconds on k GPUs, which draw k p watts. */
#ifndef ADEPT_FAKE_VIEW_H
#define ADEPT_FAKE_VIEW_H
#include "adept_policy.h"

#define FAKE_MOST 16

typedef struct fake_view {
    adept_view view;
    int idle[FAKE_MOST];      /* GPUs of each type */
    double idle_w[FAKE_MOST]; /* of one of them */
    double work[FAKE_MOST];   /* of each job: in the order they were added */
    adept_candidate queue[FAKE_MOST];
    bool started[FAKE_MOST];  /* of the queue */
    adept_running running[FAKE_MOST];
    adept_job_option runs_as[FAKE_MOST];
    double lost_gpu_s[FAKE_MOST]; /* of running[] */
    double user_gpu_s[FAKE_MOST];
    adept_job_option options[128];
    size_t n_options;
    double wake_s; /* what the policy asked for last; INFINITY: nothing */
    /* what it did: "2:0x4 " starts job 2 on 4 GPUs of type 0, "2:0x4@300 " at most 300 W each, "-3 " preempts job 3 */
    char log[256];
} fake_view;

/** A cluster of nothing. */
void fake_view_begin(fake_view *f, double now_s);
/** A node. @return its type */
size_t fake_view_node(fake_view *f, int gpus, double idle_w);
/** An option of all jobs: step_time_s is for a work of 1. */
void fake_view_option(fake_view *f, size_t type, int gpus, double speed, double exponent, double gpu_w);
/** The last option again, under a power limit: so much slower, so much power. */
void fake_view_limit(fake_view *f, double limit_w, double slower, double power);
/** A job, best effort and without a deadline, of user 0, which runs as any option. @return what can be changed */
adept_candidate *fake_view_job(fake_view *f, double work, double submit_s);
/** A job that runs, best effort, of the same numbers as queued ones. */
adept_running *fake_view_run(fake_view *f, size_t type, int gpus, double gpu_w, double end_s, double lost_gpu_s);
/** Let a policy decide. @return the log */
const char *fake_view_decide(fake_view *f, const char *policy, const adept_policy_options *options);

#endif
