/** @file naive_step.h  The equations of docs/MODEL.md written down once more, kernel by kernel and with the C library's
 *  functions: what the flat and vectorised implementation is compared with. */
#ifndef NAIVE_STEP_H
#define NAIVE_STEP_H
#include "adept_evaluate.h"

typedef struct naive_step {
    double time_s, power_w;
    double clock_ratio; /* of the pass */
} naive_step;

/** @param theta  the model granularity's parameters, then one value per scalar */
naive_step naive_predict(const adept_placement *at, const double *theta, const char *saturation,
                         const adept_scalar *scalars, size_t n_scalars);

/** Seconds of an all-reduce as docs/MODEL.md has it: ring or tree, inside a node and between nodes. */
double naive_allreduce_s(const adept_run *run, double bytes, double l_hop_s, double bytes_per_s);
bool naive_switch_adds(const adept_hwprofile *hw, const adept_run *run);
/** The same as NCCL does it, which granularity "operator" counts on. */
double naive_nccl_s(const adept_run *run, const adept_hwprofile *hw, double bytes, double l_hop_s, double bytes_per_s);

#endif
