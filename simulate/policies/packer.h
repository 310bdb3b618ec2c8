/** @file packer.h  The batch packer that most policies are: every queued job is scored in its best placement that fits;
 * best first, they start while they still fit. Calls: adept_policy, score. */
#ifndef ADEPT_PACKER_H
#define ADEPT_PACKER_H
#include "adept_policy.h"

/** What a placement, or an order of jobs, has least of. */
typedef enum adept_rule {
    ADEPT_BY_SUBMISSION, /* orders only */
    ADEPT_BY_TIME,
    ADEPT_BY_EDP,
    ADEPT_BY_ENERGY,
    /* Placements: what the cluster draws more, weighed by how scarce GPUs are. Orders: energy times time, weighed by
     * how much slower the job is on such GPUs than on others. */
    ADEPT_BY_THRIFT
} adept_rule;

/** "fcfs", "sjf" or "time", "edp", "energy". @return false: none of them */
bool adept_rule_by_name(adept_rule *out, const char *name);

/** A policy as a row. */
typedef struct adept_packing {
    adept_rule placement;
    adept_rule ordering; /* by ADEPT_BY_TIME a second of age counts 0.1 s; others are divided by 1 + 0.001 a second */
    /* a job ends no later than in its unlimited placement of least EDP, times 1 + this; INFINITY: whenever */
    double slowdown;
    bool is_fair;        /* the use of the cluster by users counts, not the ages of jobs */
    /* urgent jobs by slack before all others, placed so that they keep their deadlines if that can be */
    bool urgent_first;
    bool keeps_cap;      /* nothing starts that would exceed the cap */
    bool sees_cap;       /* nor is it chosen */
    bool looks_ahead;    /* a job may wait for a placement that will fit later, if it ends in time and is better */
} adept_packing;

/** Decide as a row says, but for what the options replace. @return false: out of memory */
bool adept_pack(adept_view *view, const adept_policy_options *options, const adept_packing *own);

/** How many GPUs of each type a job could get: asked once, and again for a type that one was started on. */
typedef struct adept_room {
    int *idle;
    size_t n_types;
} adept_room;

/** @return false: out of memory */
bool adept_room_begin(adept_room *room, const adept_view *view);
/** Is there nothing? */
bool adept_room_is_none(const adept_room *room);
bool adept_room_fits(const adept_room *room, const adept_job_option *option);
/** Start a job that fits. */
void adept_room_start(adept_room *room, adept_view *view, size_t queued, size_t option);
void adept_room_end(adept_room *room);

/** May a job run as an option: any, or if jobs are rigid one of its only numbers of GPUs and samples? */
bool adept_may_run_as(const adept_policy_options *options, const adept_candidate *job, size_t option);

/** What the first job that waits is promised. */
typedef struct adept_reservation {
    const adept_job_option *option;
    double start_s;
    /* Does a job on so many GPUs of that type leave room for it, however long it takes? Asked once, until one is
     * started. */
    struct {
        int gpus; /* 0: not asked */
        bool leaves_room;
    } asked[32];
} adept_reservation;

/** The fastest option of queued[i] that fits. @param kept  it does not delay this; NULL: nothing is promised.
 * @return whether there is one */
bool adept_fastest(const adept_view *view, const adept_policy_options *options, const adept_room *room,
                   adept_reservation *kept, size_t queued, size_t *option);
/** Start jobs as they came, each as fast as it can be. @return the first that does not fit; n_queued: all did */
size_t adept_start_in_order(adept_view *view, const adept_policy_options *options, adept_room *room);

#endif
