/** @file peaks.c  Peak by unit, element type and precision; see peaks.h. Calls: nothing. */
#include "peaks.h"
#include <math.h>
#include <string.h>

static double number(const adept_specs *specs, adept_spec spec)
{
    return spec < ADEPT_SPECS ? ((const double *)specs)[spec] : NAN;
}

/* The first number that the sheet has. */
static adept_spec first_known(const adept_specs *specs, adept_spec a, adept_spec b)
{
    return isnan(number(specs, a)) ? b : a;
}

/* PyTorch's elementwise, reduction and normalisation kernels convert 16-bit operands and compute in FP32 ("opmath"),
 * and integers run at most at the FP32 rate; only double precision has its own. */
static adept_spec alu_peak(adept_dtype dtype)
{
    return dtype == ADEPT_F64 || dtype == ADEPT_C128 ? ADEPT_SPEC_vector_fp64_flops_per_s
                                                     : ADEPT_SPEC_vector_fp32_flops_per_s;
}

/* Where the sheet says nothing of integers: units for floats of 8 bits multiply them as fast, others at least as fast
 * as floats of 16 bits. */
static adept_spec instead_of_int8(const adept_specs *s)
{
    return first_known(s, ADEPT_SPEC_tensor_fp8_flops_per_s,
                       first_known(s, ADEPT_SPEC_tensor_fp16_flops_per_s, ADEPT_SPEC_vector_fp16_flops_per_s));
}

/* Matrix products and convolutions: the matrix units where the GPU has them for the type, else the ALUs. */
static adept_spec matrix_peak(const adept_specs *s, adept_precision precision, adept_dtype dtype)
{
    adept_spec fp32 = first_known(s, ADEPT_SPEC_tensor_fp32_flops_per_s, ADEPT_SPEC_vector_fp32_flops_per_s);
    switch (dtype) {
    case ADEPT_F32:
    case ADEPT_C64:
        return precision == ADEPT_TF32 ? first_known(s, ADEPT_SPEC_tensor_tf32_flops_per_s, fp32) : fp32;
    case ADEPT_BF16:
        return first_known(s, ADEPT_SPEC_tensor_bf16_flops_per_s, ADEPT_SPEC_vector_bf16_flops_per_s);
    case ADEPT_F16:
    case ADEPT_C32:
        return first_known(s, ADEPT_SPEC_tensor_fp16_flops_per_s, ADEPT_SPEC_vector_fp16_flops_per_s);
    case ADEPT_F64:
    case ADEPT_C128:
        return first_known(s, ADEPT_SPEC_tensor_fp64_flops_per_s, ADEPT_SPEC_vector_fp64_flops_per_s);
    case ADEPT_F8E4M3:
    case ADEPT_F8E5M2:
        /* Where products with weights are scaled, those of 8 bits are they. */
        return precision == ADEPT_NVFP4 || precision == ADEPT_PURE_NVFP4 ? ADEPT_SPEC_tensor_fp4_flops_per_s
                                                                         : ADEPT_SPEC_tensor_fp8_flops_per_s;
    case ADEPT_I8:
    case ADEPT_U8:
        return first_known(s, ADEPT_SPEC_tensor_int8_flops_per_s, instead_of_int8(s));
    default:
        return ADEPT_SPECS; /* CUDA PyTorch has no matrix product of larger integers */
    }
}

adept_spec adept_peak_spec(const adept_specs *specs, adept_precision precision, adept_unit unit, adept_dtype dtype)
{
    return unit == ADEPT_UNIT_ALU ? alu_peak(dtype) : matrix_peak(specs, precision, dtype);
}

adept_status adept_peak_flops_per_s(double *out, const adept_hwprofile *hw, adept_precision precision, adept_unit unit,
                                    adept_dtype dtype, adept_error *err)
{
    double peak = number(&hw->specs, adept_peak_spec(&hw->specs, precision, unit, dtype));
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
    const adept_specs *s = &hw->specs;
    const bool scaled = adept_precision_is_scaled(precision), in_blocks = precision >= ADEPT_MXFP8;
    /* NVIDIA's format of 4 bits is nobody else's; units that take one form of block scales take MXFP8 */
    const bool blocks =
        s->tensor_fp4_flops_per_s > 0.0 && (precision < ADEPT_NVFP4 || strcmp(hw->vendor, "NVIDIA") == 0);
    const bool has = number(s, matrix_peak(s, precision, scaled ? ADEPT_F8E4M3 : dtype)) > 0.0;
    if (has && (!in_blocks || blocks)) return ADEPT_OK;
    if (scaled && number(s, matrix_peak(s, precision, dtype)) > 0.0) /* pure or not */
        return adept_error_set(err, ADEPT_E_USAGE, "%s has no units for %s: use --precision %s", hw->name,
                               adept_precision_name(precision - adept_precision_is_pure(precision)),
                               s->tensor_fp8_flops_per_s > 0.0 ? "fp8" : "bf16");
    bool has_fp16 = number(s, matrix_peak(s, precision, ADEPT_F16)) > 0.0;
    return adept_error_set(err, ADEPT_E_USAGE, "%s has no units for %s: use --precision %s", hw->name,
                           adept_precision_name(precision), has_fp16 ? "fp16 or fp32" : "fp32");
}

const char *adept_peak_instead_of_int8(const adept_specs *specs)
{
    if (isfinite(specs->tensor_int8_flops_per_s)) return NULL;
    return instead_of_int8(specs) == ADEPT_SPEC_tensor_fp8_flops_per_s ? "FP8" : "FP16";
}

bool adept_peak_tf32_ignored(const adept_hwprofile *hw, adept_precision precision)
{
    return precision == ADEPT_TF32 && isnan(hw->specs.tensor_tf32_flops_per_s);
}
