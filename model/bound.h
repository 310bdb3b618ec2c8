/** @file bound.h  What limits a step. Private to model/. Calls: nothing. */
#ifndef ADEPT_BOUND_H
#define ADEPT_BOUND_H
#include "step.h"

/* The largest term. Pass and optimizer count for what they wait on; the constant time is the host's, like launches.
 * Where the GPU waits for the host (granularity "operator"), faster kernels would gain nothing: their time is the
 * launches'. */
static inline adept_bound adept_bound_of(const adept_step *s)
{
    double hidden_pass_s = s->hidden_s[ADEPT_PART_FORWARD] + s->hidden_s[ADEPT_PART_BACKWARD];
    double hidden_optimizer_s = s->hidden_s[ADEPT_PART_OPTIMIZER];
    double terms_s[] = {0.0, 0.0, s->launch_s + s->fixed_s, s->comm_s};
    adept_bound pass = s->gemm_s + s->conv_s + s->alu_s > s->memory_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    adept_bound optimizer = s->optimizer_computes ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    terms_s[ADEPT_BOUND_LAUNCH] += hidden_pass_s + hidden_optimizer_s;
    terms_s[pass] += s->pass_s - hidden_pass_s;
    terms_s[optimizer] += s->optimizer_s - hidden_optimizer_s;
    int largest = ADEPT_BOUND_COMPUTE;
    for (int i = ADEPT_BOUND_MEMORY; i <= ADEPT_BOUND_COMMUNICATION; i++)
        if (terms_s[i] > terms_s[largest]) largest = i;
    return (adept_bound)largest;
}

#endif
