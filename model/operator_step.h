/** @file operator_step.h  One step by granularity "operator": every kernel by the kernel law, summed; the host's launches,
 *  communication, the energy law and the clock under a power limit. Private to model/. Calls: workload, handlers.
 *
 *  Of one GPU, f the core clock relative to the highest:
 *      T_dev(f) = passes * (core_s / f + other_s * r(f)) + launches * t_launch + T_opt * r(f)
 *      r(f)     = 1 + mem_core_share * (1/f - 1): caches and crossbar run on the core clock
 *      T(f)     = max(T_dev(f), launches * t_host) + T_comm * (1 - overlap) + t_fixed
 *      P(f)     = P_static + (v(f)^2 * (e_simt * F_simt + e_tensor * F_tensor + u_active * (P_TDP - P_static) * f * T_dev(f))
 *                 + e_mem * V) / T(f),      v(f) = 1 - v_slope * (1 - f)
 *  F and V: the step's FLOPs and bytes, optimizer included. f is the highest clock at which P(f)
 *  keeps within the limit (the board's own if none is set). */
#ifndef ADEPT_OPERATOR_STEP_H
#define ADEPT_OPERATOR_STEP_H
#include "adept_evaluate.h"
#include "adept_operator_model.h"
#include "step.h"

/* One kernel of a pass. */
typedef struct adept_operator_kernel {
    adept_kernel_case work;
    double count; /* executions per pass */
    bool tensor;  /* on matrix units */
} adept_operator_kernel;

/* What a step needs besides its kernels. */
typedef struct adept_operator_numbers {
    double passes, launches; /* launches of the whole step */
    double optimizer_bytes, bytes_per_s;
    double simt_flops, tensor_flops, mem_bytes; /* of the step, optimizer included */
    double gpus, ring, gradient_bytes;
    double tdp_w, limit_w, min_clock;
} adept_operator_numbers;

/* Sums over the kernels of one pass at full clock. */
typedef struct adept_operator_sums {
    double time_s, core_s;
    double core_by_unit_s[ADEPT_UNIT_COUNT]; /* gemm conv alu */
} adept_operator_sums;
typedef struct adept_operator_sums_gradient {
    double time_s[ADEPT_OPERATOR_PARAMETERS], core_s[ADEPT_OPERATOR_PARAMETERS];
} adept_operator_sums_gradient;

/* The step at the clock found. */
typedef struct adept_operator_state {
    double clock_ratio, step_s, device_s, host_s, comm_s, optimizer_s, launch_s;
    double power_w;      /* of one GPU, average over the step; NAN without tdp_w */
    double busy_power_w; /* while kernels run */
    bool floored;        /* even the lowest clock draws more than the limit */
} adept_operator_state;

/** Matrix arithmetic at this peak runs on matrix units, not on ALUs of that peak. */
bool adept_operator_is_tensor(double peak_flops_per_s, double alu_flops_per_s);

/** The law's view of one kernel. @return ADEPT_E_USAGE if the GPU has no unit for it */
adept_status adept_operator_kernel_of(adept_operator_kernel *out, const adept_profile_op *op, const adept_kernel *k,
                                      const adept_profile *prof, const adept_hwprofile *hw, adept_error *err);

/** Everything but the kernels, of a step that adept_step_compile() has checked. */
adept_operator_numbers adept_operator_numbers_of(const adept_step *step, const adept_specs *specs);

/** Add one kernel; gradient may be NULL. */
void adept_operator_sums_add(adept_operator_sums *sums, adept_operator_sums_gradient *gradient,
                             const adept_operator_kernel *k, const double *theta, const adept_tile_menu *menus);

/** Time and power of the step. */
adept_operator_state adept_operator_solve(const adept_operator_numbers *n, const adept_operator_sums *sums,
                                          const double *theta);

/** r(f): of memory-bound time at a clock. */
double adept_operator_memory_stretch(double clock, const double *theta);

/** d step_s / d theta and d power_w / d theta at the state found, exact, the clock's own dependence included. */
void adept_operator_gradient(double dtime_s[ADEPT_OPERATOR_PARAMETERS], double dpower_w[ADEPT_OPERATOR_PARAMETERS],
                             const adept_operator_numbers *n, const adept_operator_sums *sums,
                             const adept_operator_sums_gradient *by_theta, const adept_operator_state *state,
                             const double *theta);
#endif
