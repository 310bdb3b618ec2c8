/** @file buckets.h  All-reduces in buckets beside the backward pass. Private to model/. Calls: workload. */
#ifndef ADEPT_BUCKETS_H
#define ADEPT_BUCKETS_H
#include "kernel_set.h"
#include "schedule.h"

/* Gradients that are complete at some point of the backward pass. */
typedef struct adept_ready_gradient {
    adept_backward_span before; /* what has run of it */
    double bytes;
    double more; /* like it, one in each of so many repeats that stand for themselves: adept_buckets_cut() */
} adept_ready_gradient;

typedef struct adept_buckets {
    size_t n;
    adept_ready_gradient *gradients; /* owned; in the order of the backward pass */
    adept_backward_span backward;    /* all of one pass */
    double rest_bytes;               /* sent with the last bucket */
} adept_buckets;

/** Does the profile say where gradients are complete? */
static inline bool adept_gradients_known(const adept_profile *prof)
{
    return prof->program.n_gradients > 0;
}

/** Bytes of gradients that no operator completes: they are sent last. */
double adept_gradients_left(const adept_profile *prof);

/** @param prof   whose program the backward pass is, from its end
 *  @param set    its kernels with uses
 *  @param timed  of the set
 *  @return ADEPT_E_NOMEM; adept_buckets_free() whatever it is */
adept_status adept_buckets_new(adept_buckets *out, const adept_profile *prof, const adept_kernel_set *set,
                               const adept_timed_kernel *timed, adept_error *err);
/** Those of that many bytes, each as one gradient which is complete where the bucket is. Of buckets that repeat evenly,
 * as those of equal layers do, the first and the last repeat are kept: sent, all end at the same time but for the
 * rounding of sums. Their sends are not to be kept as tasks.
 *  @return ADEPT_E_NOMEM; adept_buckets_free() whatever it is */
adept_status adept_buckets_cut(adept_buckets *out, const adept_buckets *buckets, double bucket_bytes, adept_error *err);
void adept_buckets_free(adept_buckets *buckets); /* zeroed is fine */

/** Does the next bucket close at gradient `i`? Then its bytes are `filled`, and the caller begins the next at 0.
 *  @param sent  buckets closed before */
static inline bool adept_bucket_closes(double filled, double bucket_bytes, double sent)
{
    double first = bucket_bytes < ADEPT_FIRST_BUCKET_BYTES ? bucket_bytes : ADEPT_FIRST_BUCKET_BYTES;
    return filled >= (sent > 0.0 ? bucket_bytes : first);
}

/* An all-reduce by the fastest law, linear in the bytes, inside a node and between nodes. */
typedef struct adept_linear_laws {
    size_t n;
    struct {
        const adept_allreduce_law *law;
        double at_0_s, per_byte_s;
    } of[ADEPT_NETWORK_LAWS];
} adept_linear_laws;
/** @param net  borrowed */
adept_linear_laws adept_linear_laws_of(const adept_network *net, const double *theta);

/* The last backward pass of a step as it runs: seconds per second of each at full clock, and per launch. */
typedef struct adept_pace {
    double clocked, memory, launch_s;
} adept_pace;
static inline double adept_backward_span_s(const adept_backward_span *span, const adept_pace *at)
{
    return span->kernels.clocked_s * at->clocked + span->kernels.memory_s * at->memory + span->launches * at->launch_s;
}

/** Send every bucket as soon as it is full of complete gradients and the one before it has been sent.
 *  @param pass  the beginning of the last backward pass, in which gradients become complete at that pace
 *  @return the end of the last; *all_s: time of all of them, *n: how many */
adept_done adept_buckets_send(adept_schedule *s, double *all_s, double *n, const adept_buckets *buckets,
                              const adept_linear_laws *laws, double bucket_bytes, adept_done pass,
                              const adept_pace *at);

/** Bytes of the buckets that gradients are sent in; 0: in none. @param places_known  adept_gradients_known() of the
 *  profile
 *  @return ADEPT_E_USAGE if they are asked for but cannot be */
adept_status adept_buckets_bytes(double *bucket_bytes, bool places_known, const adept_hwprofile *hw,
                                 const adept_run *run, const adept_network *net, adept_error *err);

#endif
