/** @file step.h  One run of one workload on one GPU, whichever granularity worked it out: what estimates and
 * predictions are made of. Private to model/. Calls: nothing. */
#ifndef ADEPT_STEP_H
#define ADEPT_STEP_H
#include "adept_model.h"

/* What runs one after the other: the host launches kernels in this order, and the GPU runs them in it. With gradient
 * accumulation forward and backward alternate. */
typedef enum adept_part {
    ADEPT_PART_FORWARD = ADEPT_FORWARD,
    ADEPT_PART_BACKWARD = ADEPT_BACKWARD,
    ADEPT_PART_OPTIMIZER,
    ADEPT_PARTS
} adept_part;

/* Times of one step; powers and energies of one GPU. */
typedef struct adept_step {
    double step_s; /* pass_s + optimizer_s + comm_s + launch_s + fixed_s */
    double pass_s, optimizer_s, comm_s, launch_s, fixed_s;
    double comm_hidden_s;                   /* runs beside the backward pass */
    double buckets;                         /* all-reduces of a step; 0: not in buckets */
    double gemm_s, conv_s, alu_s, memory_s; /* inside pass_s: what follows the core clock, by unit, and the rest */
    double hidden_s[ADEPT_PARTS]; /* of a part's kernels, the time in the shadow of the host */
    bool optimizer_computes;      /* its arithmetic takes longer than its traffic */
    /* inside launch_s: waiting for the host to load samples; granularity "operator" only */
    double samples_s;
    /* what the step waits for the host: launches, with the kernels that run in their shadow (hidden_s), tensors of the
     * optimizer, samples, fixed_s; granularity "operator" only, and 0 where gradients are waited for */
    double host_s;
    double energy_j;              /* above idle; granularity "operator" only */
    double power_w;               /* mean over step_s; NAN without tdp_w */
    double pass_w, optimizer_w, comm_w, idle_w;
    double clock_ratio; /* to the boost clock; of the pass where phases differ */
    /* of a generation: the prompt, and what tokens wait for the host and between kernels */
    double first_s, first_w, rest_waits_s;
    adept_bound first_bound, rest_bound;
    bool limited;       /* the limit leaves a lower clock than the highest, or than what it is locked to */
    bool floored;       /* even the lowest clock draws more than the limit */
} adept_step;

#endif
