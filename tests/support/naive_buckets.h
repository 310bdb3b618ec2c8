/** @file naive_buckets.h  All-reduces beside the backward pass operator by operator, as a plan has them in sums. */
#ifndef NAIVE_BUCKETS_H
#define NAIVE_BUCKETS_H
#include "communication.h"
#include "operator_step.h"

typedef struct naive_communication {
    double total_s, exposed_s;
    double buckets; /* all-reduces of a step */
} naive_communication;

/* What buckets are filled and sent with. */
typedef struct naive_bucket_rule {
    double first_bytes, bytes; /* a bucket is sent as soon as it holds that much */
    double l_hop_s, bw_bytes_per_s;
    const adept_network *net;
} naive_bucket_rule;

/**
 * All-reduces in buckets beside the backward pass: each starts when its last gradient is complete and the one before it
 * has ended; exposed is what remains after the pass.
 * @param op_backward_s  time of one execution's backward, one per operator of the profile
 */
naive_communication naive_communicate_buckets(const adept_profile *prof, const double *op_backward_s,
                                              const naive_bucket_rule *rule);

/** The same of a prediction by granularity "operator" that sends in buckets: every operator's backward timed by itself.
 *  @param clock_ratio  of the prediction; the run has several GPUs */
naive_communication naive_communication_of(const adept_profile *prof, const adept_hwprofile *hw, const adept_run *run,
                                           double clock_ratio);

#endif
