/** @file adept_operator_model.h  Parameters of granularity "operator": those of the kernel law (adept_kernel_law.h),
 * then those of a step. The equations are in docs/MODEL.md, section "operator". Calls: nothing. */
#ifndef ADEPT_OPERATOR_MODEL_H
#define ADEPT_OPERATOR_MODEL_H
#include "adept_kernel_law.h"
#include "adept_model.h"

/* X(name, low, high, default, log scale, prior, meaning). NAN default: derived from the sheet. Prior: standard
 * deviation of the logarithm, or of the value where the scale is not logarithmic. A GPU whose kernels need more power
 * than its limit throttles by itself. */
#define ADEPT_OPERATOR_STEP_LIST(X)                                                                                    \
    X(t_launch_s, 1e-8, 2e-5, 1.5e-6, 1, 0.5, "gap between two kernels on the GPU in s")                               \
    X(t_host_s, 1e-7, 1e-4, 3.2e-5, 1, 0.5, "host time per kernel launch in s")                                        \
    X(t_tensor_s, 1e-8, 1e-3, 2e-6, 1, 1.5, "time of the optimizer per parameter tensor in s, on host and GPU")        \
    X(t_wait_s, 1e-6, 1e-2, 1.5e-4, 1, 0.3,                                                                            \
      "the host waits for a result of the optimizer, and the GPU for the host, in s")                                  \
    X(t_sample_s, 0, 1e-2, 0, 0, 1e-4,                                                                                 \
      "host time per sample of the batch in s: what a program loads and copies eagerly")                               \
    X(t_fixed_s, 1e-6, 0.1, 1e-4, 1, 1.5, "constant time of a step in s")                                              \
    X(c_torch1, 1, 2, 1.1, 1, 0.05,                                                                                    \
      "time of arithmetic on matrix units by PyTorch 1 and its libraries, relative to PyTorch 2")                      \
    X(c_opt, 0.3, 5, 1, 1, 0.3, "time of the optimizer relative to streaming its bytes")                               \
    X(l_hop_s, 1e-7, 1e-3, 1e-6, 1, 1, "latency of one hop of an all-reduce in s")                                     \
    X(bw_eff_bytes_per_s, 1e9, 1e12, NAN, 1, 0.5, "all-reduce bus bandwidth of 8 GPUs in bytes/s")                     \
    X(overlap, 0, 1, 0.5, 0, 0.3, "share of the all-reduce hidden behind the backward pass")                           \
    X(p_static_w, 5, 800, NAN, 1, 0.6, "power of one idle GPU in W")                                                   \
    X(u_active, 0.01, 2, 0.5, 1, 0.5, "power while any kernel runs, relative to tdp_w - p_static_w")                   \
    X(u_wait, 0, 1, 1, 0, 0.2, "power while the GPU waits between kernels, relative to that of u_active")              \
    X(e_simt_j, 1e-13, 1e-10, 1e-11, 1, 0.4, "energy of one FLOP on the ALUs in J")                                    \
    X(e_tensor_j, 1e-14, 1e-10, 2e-12, 1, 0.4, "energy of one FLOP on 16 bits on the matrix units in J")               \
    X(e_mem_j, 1e-12, 1e-9, 7.7e-11, 1, 0.4, "energy of one byte from or to device memory in J")                       \
    X(mem_core_share, 0, 1, 0.35, 0, 0.2,                                                                              \
      "share of the time for memory that follows the core clock, of kernels that wait for each tile or row")           \
    X(clock_knee, 0.01, 1, 0.55, 0, 0.1,                                                                               \
      "core clock, relative to the highest, below which caches pass on less than memory delivers")                     \
    X(v_slope, 0, 2, 1.1, 0, 0.3, "relative core voltage falls by v_slope * (1 - f/f_max) with the clock")             \
    X(v_min, 0.4, 1, 0.74, 0, 0.08, "lowest relative core voltage")                                                    \
    X(p_host_idle_w, 0, 1e4, 0, 0, 1000, "what a node draws beside idle boards in W; 0: not known")                    \
    X(p_host_active_w, 0, 1e4, 0, 0, 3000, "what a node draws beside boards that all work in W; 0: not known")

typedef enum adept_operator_parameter {
    ADEPT_OP_BEFORE_FIRST = ADEPT_KP_COUNT - 1,
#define X(name, low, high, def, log, prior, text) ADEPT_OP_##name,
    ADEPT_OPERATOR_STEP_LIST(X)
#undef X
        ADEPT_OPERATOR_PARAMETERS
} adept_operator_parameter;

/** Name, bounds, default of theta[index], 0 <= index < ADEPT_OPERATOR_PARAMETERS; NULL past the end. */
ADEPT_API const adept_parameter_info *adept_operator_parameter_info(size_t index);
/** The same of either granularity. */
ADEPT_API const adept_parameter_info *adept_granularity_parameter_info(adept_granularity granularity, size_t index);
/** Of the power law of either granularity: it changes times only by way of the clock. */
ADEPT_API bool adept_is_power_parameter(const char *name);
/** Spread of theta[index] over GPUs: of its logarithm if log_scale, else of itself. */
ADEPT_API double adept_operator_parameter_prior(size_t index);
/** Defaults for this GPU, then the fitted values on top if its fit has granularity "operator".
 *  @return ADEPT_E_INVALID for an unknown, non-finite or out-of-bounds one. */
ADEPT_API adept_status adept_operator_parameters_get(double theta[ADEPT_OPERATOR_PARAMETERS], const adept_hwprofile *hw,
                                                     adept_error *err);

/** Parameters that several GPUs can share (`adept calibrate --gpu auto`): as above, but before the GPU's own numbers
 * are put in. Of a GPU whose profile is transferred the shared set's values, else the listed defaults; NAN where each
 * GPU has its own. */
ADEPT_API adept_status adept_operator_parameters_shared(double theta[ADEPT_OPERATOR_PARAMETERS],
                                                        const adept_hwprofile *hw, adept_error *err);
/** A shared set as it is on this GPU: idle power and links from its sheet, energies by its process and memory, active
 * power by its SMs and clock (docs/MODEL.md, section 8). */
ADEPT_API adept_status adept_operator_parameters_own(double own[ADEPT_OPERATOR_PARAMETERS],
                                                     const double shared[ADEPT_OPERATOR_PARAMETERS],
                                                     const adept_hwprofile *hw, adept_error *err);
/** Make a transferred set a GPU's own parameters, as base of a fit to its own measurements; for granularity "model",
 * which knows none of them, just forget it. Others are left as they are. */
ADEPT_API adept_status adept_hwprofile_adopt(adept_hwprofile *hw, adept_granularity granularity, adept_error *err);
/** A GPU's parameters as a framework's kernels have them: PyTorch 1 reaches less of the matrix units' peak. */
ADEPT_API void adept_operator_take_framework(double theta[ADEPT_OPERATOR_PARAMETERS], adept_framework framework);
/** Derivatives by the parameters taken so, which are `taken`, become those by the GPU's. */
ADEPT_API void adept_operator_framework_slopes(double slopes[ADEPT_OPERATOR_PARAMETERS],
                                               const double taken[ADEPT_OPERATOR_PARAMETERS],
                                               adept_framework framework);
/** SMs whose bytes in flight limit what a kernel streams: those of NVIDIA's GPUs. Of other vendors' units, which are as
 * large as several, and of a processor's cores nothing is known: 0. */
ADEPT_API double adept_streaming_sms(const adept_hwprofile *hw);
/** What a kernel's time asks of a GPU, but peaks. */
ADEPT_API adept_kernel_gpu adept_kernel_gpu_of(const adept_hwprofile *hw);
/** Whether each GPU has its own value whatever is shared. */
ADEPT_API bool adept_operator_is_own(size_t index);

/**
 * Peaks that a kernel on operands of one type runs at, as in a step: products, element-wise arithmetic.
 * @param tensor  whether products run on matrix units
 * @return ADEPT_E_USAGE if the GPU has no unit for products of that type
 */
ADEPT_API adept_status adept_operator_peaks(double *product_flops_per_s, double *alu_flops_per_s, bool *tensor,
                                            const adept_hwprofile *hw, adept_precision precision, adept_dtype dtype,
                                            adept_error *err);

#endif
