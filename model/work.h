/** @file work.h  A profile reduced to what the step-level equations need, and the cost of a unit of it on one GPU.
 *  Private to model/. Calls: workload, handlers (optimizers). */
#ifndef ADEPT_WORK_H
#define ADEPT_WORK_H
#include "adept_model.h"
#include "adept_optimizer.h"

#define ADEPT_UNIT_COUNT 3

/* One forward and backward pass, and the optimizer's step, of one GPU. */
typedef struct adept_work {
    double flops[ADEPT_UNIT_COUNT][ADEPT_DTYPE_COUNT];
    double bytes_read, bytes_written;
    double kernels;
    double gradient_bytes; /* what the all-reduce sends; 0 in infer mode */
    adept_optimizer_cost optimizer;
} adept_work;

/** @return ADEPT_E_INVALID if the profile is inconsistent (names what). */
adept_status adept_work_sum(adept_work *out, const adept_profile *prof, const adept_model_parameters *p,
                            adept_error *err);

/* Eq 4.9 and 4.13 are linear in FLOPs and bytes: these are their slopes. 0 where the workload has no such work. */
typedef struct adept_rates {
    double flop_s[ADEPT_UNIT_COUNT][ADEPT_DTYPE_COUNT]; /* seconds per FLOP */
    double peak[ADEPT_UNIT_COUNT][ADEPT_DTYPE_COUNT];   /* FLOP/s */
    double byte_s;                                      /* seconds per byte */
} adept_rates;

/** @return ADEPT_E_USAGE if the GPU has no unit for some arithmetic of the workload. */
adept_status adept_rates_get(adept_rates *out, const adept_work *work, const adept_profile *prof,
                             const adept_hwprofile *hw, const adept_model_parameters *p, adept_saturation sat,
                             adept_error *err);

/** Seconds of compute of one kernel, its ALU epilogue included. */
double adept_rates_kernel_s(const adept_rates *rates, const adept_kernel *kernel);

#endif
