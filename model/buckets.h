/** @file buckets.h  All-reduces in buckets beside the backward pass. Private to model/. Calls: workload. */
#ifndef ADEPT_BUCKETS_H
#define ADEPT_BUCKETS_H
#include "communication.h"
#include "kernel_list.h"
#include "kernel_set.h"

/* The backward pass at full clock up to some point: its kernels, and how many launches they are. */
typedef struct adept_backward_span {
    adept_span kernels;
    double launches;
} adept_backward_span;

/* Gradients that are complete at some point. */
typedef struct adept_ready_gradient {
    adept_backward_span before;
    double bytes;
} adept_ready_gradient;

typedef struct adept_buckets {
    size_t n;
    adept_ready_gradient *gradients; /* owned; in the order of the backward pass */
    adept_backward_span backward;    /* all of one pass */
    double rest_bytes;               /* sent with the last bucket */
} adept_buckets;

/** @param set    ordered
 *  @param timed  its kernels
 *  @return ADEPT_E_NOMEM; adept_buckets_free() whatever it is */
adept_status adept_buckets_new(adept_buckets *out, const adept_kernel_set *set, const adept_timed_kernel *timed,
                               adept_error *err);
void adept_buckets_free(adept_buckets *buckets); /* zeroed is fine */

/** Time of all-reduces in s: what is exposed after the pass, and what runs beside it.
 *  @param host_launch_s  0: the GPU does not wait for the host at the end of the pass; else its timeline is the host's
 *  @return how many they are */
double adept_buckets_send(double *exposed_s, double *hidden_s, const adept_buckets *buckets, const adept_network *net,
                          const double *theta, const adept_board *board, double clock, double host_launch_s,
                          double bucket_bytes);

/** Are gradients sent in buckets? @param places_known  adept_backward_plan_known() of the profile
 *  @return ADEPT_E_USAGE if they are asked for but cannot be */
adept_status adept_buckets_wanted(bool *wanted, bool places_known, const adept_hwprofile *hw, const adept_run *run,
                                  const adept_network *net, adept_error *err);

#endif
