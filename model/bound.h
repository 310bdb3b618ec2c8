/** @file bound.h  What limits a step. Private to model/. Calls: nothing. */
#ifndef ADEPT_BOUND_H
#define ADEPT_BOUND_H
#include "adept_model.h"

typedef struct adept_bound_terms {
    double core_s, memory_s; /* of the pass: arithmetic, traffic */
    double pass_s, optimizer_s, launch_s /* with the constant time */, comm_s;
    double hidden_pass_s, hidden_optimizer_s; /* in the shadow of the host */
    bool optimizer_computes;                  /* its arithmetic takes longer than its traffic */
} adept_bound_terms;

/* The largest term. Pass and optimizer count for what they wait on; the constant time is the host's, like launches.
 * Where the GPU waits for the host (granularity "operator"), faster kernels would gain nothing: their time is the
 * launches'. */
static inline adept_bound adept_bound_of(const adept_bound_terms *t)
{
    double terms_s[] = {0.0, 0.0, t->launch_s, t->comm_s};
    adept_bound pass = t->core_s > t->memory_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    adept_bound optimizer = t->optimizer_computes ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    terms_s[ADEPT_BOUND_LAUNCH] += t->hidden_pass_s + t->hidden_optimizer_s;
    terms_s[pass] += t->pass_s - t->hidden_pass_s;
    terms_s[optimizer] += t->optimizer_s - t->hidden_optimizer_s;
    int largest = ADEPT_BOUND_COMPUTE;
    for (int i = ADEPT_BOUND_MEMORY; i <= ADEPT_BOUND_COMMUNICATION; i++)
        if (terms_s[i] > terms_s[largest]) largest = i;
    return (adept_bound)largest;
}

#endif
