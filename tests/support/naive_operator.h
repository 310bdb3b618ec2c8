/** @file naive_operator.h  Granularity "operator" as docs/MODEL.md, section 8, has it, written down once more: kernel
 * by kernel, nothing merged, nothing shared. Rows and windows come from the calls themselves (call_facts.h), if the
 * profile was built with call_facts_handlers(). What the evaluator and adept_predict() are compared with. */
#ifndef NAIVE_OPERATOR_H
#define NAIVE_OPERATOR_H
#include "adept_evaluate.h"
#include "adept_operator_model.h"

typedef struct naive_operator {
    double time_s, power_w, clock_ratio;
    double launch_s[3];             /* of the host, for one kernel: forward, backward, optimizer */
    double host_s, device_s, end_s; /* of the step without communication: each alone, and both */
    bool host_bound; /* the GPU waits for the host at the end of the last backward pass or later */
    bool floored;
} naive_operator;

naive_operator naive_operator_predict(const adept_placement *at, const double *theta);

/** One kernel at full clock: its time, and the part that follows the clock. */
void naive_operator_kernel(double *time_s, double *core_s, const adept_profile_op *op, const adept_kernel *k,
                           const adept_placement *at, const double *theta);
#endif
