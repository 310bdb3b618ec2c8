/** @file attribution_truth.h  Recordings of processes whose energy is known: they work in bursts, each with its own mix
 * of work, on a machine of known watts per work, behind a meter that is late, jitters and errs. */
#ifndef ATTRIBUTION_TRUTH_H
#define ATTRIBUTION_TRUTH_H
#include "adept_activity.h"

#define TRUTH_STATIC_W 60.0

typedef struct attribution_truth {
    /* what is asked for */
    size_t n_processes, n_intervals;
    double noise; /* of the machine's power in an interval: standard deviation, a share */
    double lag_s, jitter_s;
    uint64_t seed;
    bool counts;  /* the meter counts joules; else it reads watts now */
    bool in_step; /* two processes only: one computes while the other switches, always at once, so that no meter tells
                     them apart */
    /* what comes of it */
    adept_activity_log log;
    double *process_j; /* true energy of each */
    double static_j, all_j;
    double weights[ADEPT_ACTIVITIES]; /* joules per unit */
    adept_process *processes;
    adept_activity_interval *intervals;
    adept_activity *activities;
    adept_sample *samples;
    adept_meter_log meter;
} attribution_truth;

/** Aborts where memory is out. Free with attribution_truth_free(). */
void attribution_truth_make(attribution_truth *t);
void attribution_truth_free(attribution_truth *t);

#endif
