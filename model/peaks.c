/** @file peaks.c  Peak by unit, element type and precision; see peaks.h. Calls: nothing. */
#include "peaks.h"
#include <math.h>

/* The first number the sheet has; NAN if it has neither. */
static double first_known(double a, double b)
{
    return isnan(a) ? b : a;
}

/* PyTorch's elementwise, reduction and normalisation kernels convert 16-bit operands and compute in FP32 ("opmath"),
 * and integers run at most at the FP32 rate; only double precision has its own. */
static double alu_peak(const adept_specs *s, adept_dtype dtype)
{
    return dtype == ADEPT_F64 || dtype == ADEPT_C128 ? s->vector_fp64_flops_per_s : s->vector_fp32_flops_per_s;
}

/* Matrix products and convolutions: the matrix units where the GPU has them for the type, else the ALUs. */
static double matrix_peak(const adept_specs *s, adept_precision precision, adept_dtype dtype)
{
    double fp32 = first_known(s->tensor_fp32_flops_per_s, s->vector_fp32_flops_per_s);
    switch (dtype) {
    case ADEPT_F32:
    case ADEPT_C64:
        return precision == ADEPT_TF32 ? first_known(s->tensor_tf32_flops_per_s, fp32) : fp32;
    case ADEPT_BF16:
        return first_known(s->tensor_bf16_flops_per_s, s->vector_bf16_flops_per_s);
    case ADEPT_F16:
    case ADEPT_C32:
        return first_known(s->tensor_fp16_flops_per_s, s->vector_fp16_flops_per_s);
    case ADEPT_F64:
    case ADEPT_C128:
        return first_known(s->tensor_fp64_flops_per_s, s->vector_fp64_flops_per_s);
    case ADEPT_F8E4M3:
    case ADEPT_F8E5M2:
        return s->tensor_fp8_flops_per_s;
    default:
        return NAN; /* CUDA PyTorch has no matrix product of integers */
    }
}

adept_status adept_peak_flops_per_s(double *out, const adept_hwprofile *hw, adept_precision precision, adept_unit unit,
                                    adept_dtype dtype, adept_error *err)
{
    double peak = unit == ADEPT_UNIT_ALU ? alu_peak(&hw->specs, dtype) : matrix_peak(&hw->specs, precision, dtype);
    if (!(peak > 0.0))
        return adept_error_set(err, ADEPT_E_USAGE, "%s has no unit for %s in %s", hw->name,
                               unit == ADEPT_UNIT_ALU ? "arithmetic" : "matrix products", adept_dtype_name(dtype));
    *out = peak;
    return ADEPT_OK;
}

adept_status adept_peak_check_precision(const adept_hwprofile *hw, adept_precision precision, adept_error *err)
{
    adept_dtype dtype = adept_precision_low_dtype(precision);
    if (dtype == ADEPT_DTYPE_NONE) return ADEPT_OK;
    if (matrix_peak(&hw->specs, precision, dtype) > 0.0) return ADEPT_OK;
    bool has_fp16 = matrix_peak(&hw->specs, precision, ADEPT_F16) > 0.0;
    return adept_error_set(err, ADEPT_E_USAGE, "%s has no units for %s: use --precision %s", hw->name,
                           adept_precision_name(precision), has_fp16 ? "fp16 or fp32" : "fp32");
}

bool adept_peak_tf32_ignored(const adept_hwprofile *hw, adept_precision precision)
{
    return precision == ADEPT_TF32 && isnan(hw->specs.tensor_tf32_flops_per_s);
}
