/* Peaks by precision and unit, and the parameters of granularity "model": defaults and bounds. */
#include "adept_model.h"
#include "peaks.h"
#include "cmocka_test.h"

/* cmocka's assert_float_equal compares floats, too coarse here. */
#define WITHIN(value, expected, tolerance) assert_true(fabs((double)(value) - (double)(expected)) <= (tolerance))
#define NEAR(value, expected) WITHIN(value, expected, 1e-12 * (1.0 + fabs((double)(expected))))

static adept_hwprofile blank_gpu(void)
{
    adept_hwprofile hw = {.name = "toy"};
#define X(field, required, text) hw.specs.field = NAN;
    ADEPT_SPEC_LIST(X)
#undef X
    hw.specs.vector_fp32_flops_per_s = 10e12;
    return hw;
}

static double peak(const adept_hwprofile *hw, adept_precision precision, adept_unit unit, adept_dtype dtype)
{
    double value = -1;
    adept_error err = {0};
    adept_status status = adept_peak_flops_per_s(&value, hw, precision, unit, dtype, &err);
    if (status != ADEPT_OK) assert_int_equal(status, ADEPT_E_USAGE);
    return value;
}

static void peaks_with_tensor_cores(void **state)
{
    (void)state;
    adept_hwprofile hw = blank_gpu();
    hw.specs.vector_fp64_flops_per_s = 5e12;
    hw.specs.tensor_tf32_flops_per_s = 80e12;
    hw.specs.tensor_bf16_flops_per_s = 160e12;
    hw.specs.tensor_fp16_flops_per_s = 161e12;
    NEAR(peak(&hw, ADEPT_FP32, ADEPT_UNIT_GEMM, ADEPT_F32), 10e12);
    NEAR(peak(&hw, ADEPT_TF32, ADEPT_UNIT_GEMM, ADEPT_F32), 80e12);
    NEAR(peak(&hw, ADEPT_TF32, ADEPT_UNIT_CONV, ADEPT_F32), 80e12);
    NEAR(peak(&hw, ADEPT_TF32, ADEPT_UNIT_ALU, ADEPT_F32), 10e12);
    NEAR(peak(&hw, ADEPT_AMP_BF16, ADEPT_UNIT_GEMM, ADEPT_BF16), 160e12);
    NEAR(peak(&hw, ADEPT_AMP_FP16, ADEPT_UNIT_CONV, ADEPT_F16), 161e12);
    /* Autocast leaves some kernels in fp32, and elementwise arithmetic is fp32 inside. */
    NEAR(peak(&hw, ADEPT_AMP_BF16, ADEPT_UNIT_GEMM, ADEPT_F32), 10e12);
    NEAR(peak(&hw, ADEPT_AMP_BF16, ADEPT_UNIT_ALU, ADEPT_BF16), 10e12);
    NEAR(peak(&hw, ADEPT_FP32, ADEPT_UNIT_GEMM, ADEPT_F64), 5e12);
    assert_false(adept_peak_tf32_ignored(&hw, ADEPT_TF32));
    /* AMD CDNA: matrix units on true fp32. */
    hw.specs.tensor_fp32_flops_per_s = 40e12;
    NEAR(peak(&hw, ADEPT_FP32, ADEPT_UNIT_GEMM, ADEPT_F32), 40e12);
    NEAR(peak(&hw, ADEPT_FP32, ADEPT_UNIT_CONV, ADEPT_F32), 40e12);
    NEAR(peak(&hw, ADEPT_FP32, ADEPT_UNIT_ALU, ADEPT_F32), 10e12);
    assert_true(peak(&hw, ADEPT_FP32, ADEPT_UNIT_GEMM, ADEPT_I64) == -1);
    assert_true(peak(&hw, ADEPT_FP32, ADEPT_UNIT_GEMM, ADEPT_F8E4M3) == -1);
    /* 8-bit integers: their own number, else that of floats of 8 bits, else of 16. */
    NEAR(peak(&hw, ADEPT_FP32, ADEPT_UNIT_GEMM, ADEPT_I8), 161e12);
    assert_string_equal(adept_peak_instead_of_int8(&hw.specs), "FP16");
    hw.specs.tensor_fp8_flops_per_s = 330e12;
    NEAR(peak(&hw, ADEPT_FP32, ADEPT_UNIT_CONV, ADEPT_U8), 330e12);
    assert_string_equal(adept_peak_instead_of_int8(&hw.specs), "FP8");
    hw.specs.tensor_int8_flops_per_s = 320e12;
    NEAR(peak(&hw, ADEPT_FP32, ADEPT_UNIT_GEMM, ADEPT_I8), 320e12);
    assert_null(adept_peak_instead_of_int8(&hw.specs));
}

/* As V100 (fp16 tensor cores only) and P100 (packed fp16 arithmetic only). */
static void peaks_without_units(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_hwprofile hw = blank_gpu();
    NEAR(peak(&hw, ADEPT_TF32, ADEPT_UNIT_GEMM, ADEPT_F32), 10e12);
    assert_true(adept_peak_tf32_ignored(&hw, ADEPT_TF32));
    assert_false(adept_peak_tf32_ignored(&hw, ADEPT_FP32));
    assert_int_equal(adept_peak_check_precision(&hw, ADEPT_AMP_FP16, &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, "toy has no units for fp16: use --precision fp32");
    hw.specs.vector_fp16_flops_per_s = 20e12;
    NEAR(peak(&hw, ADEPT_AMP_FP16, ADEPT_UNIT_GEMM, ADEPT_F16), 20e12);
    assert_int_equal(adept_peak_check_precision(&hw, ADEPT_AMP_FP16, &err), ADEPT_OK);
    assert_int_equal(adept_peak_check_precision(&hw, ADEPT_AMP_BF16, &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, "toy has no units for bf16: use --precision fp16 or fp32");
    assert_int_equal(adept_peak_check_precision(&hw, ADEPT_TF32, &err), ADEPT_OK);
}

static void parameter_defaults(void **state)
{
    (void)state;
    adept_hwprofile hw = blank_gpu();
    adept_model_parameters p;
    hw.specs.tdp_w = 400;
    hw.specs.link_bytes_per_s = 600e9;
    assert_int_equal(adept_model_parameters_get(&p, &hw, NULL), ADEPT_OK);
    NEAR(p.p_static_w, 48.0);          /* 0.12 * 400 */
    NEAR(p.bw_eff_bytes_per_s, 219e9); /* 0.73 * 600e9 / 2; the thesis measured 220e9 */
    hw.specs.idle_w = 50;
    adept_parameter fitted = {"beta_gemm", 0.25};
    hw.parameters = &fitted;
    hw.n_parameters = 1;
    assert_int_equal(adept_model_parameters_get(&p, &hw, NULL), ADEPT_OK);
    NEAR(p.p_static_w, 50.0);
    NEAR(p.beta_gemm, 0.25);
    for (size_t i = 0; adept_model_parameter_info(i); i++) {
        const adept_parameter_info *info = adept_model_parameter_info(i);
        assert_true(info->low < info->high && (!info->log_scale || info->low > 0));
        if (!isnan(info->fallback)) assert_true(info->fallback >= info->low && info->fallback <= info->high);
    }
}

static void bad_parameters_are_refused(void **state)
{
    (void)state;
    static const adept_parameter bad[] = {{"beta_gemm", NAN},     {"beta_gemm", -0.5}, {"beta_gemm", 1.5},
                                          {"t_kern_s", INFINITY}, {"r_m", 0},          {"gamma", 1}};
    adept_hwprofile hw = blank_gpu();
    hw.specs.tdp_w = 400;
    hw.specs.link_bytes_per_s = 600e9;
    hw.n_parameters = 1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        adept_model_parameters p;
        adept_error err = {0};
        hw.parameters = &bad[i];
        assert_int_equal(adept_model_parameters_get(&p, &hw, &err), ADEPT_E_INVALID);
        assert_non_null(strstr(err.message, bad[i].name));
        assert_non_null(strstr(err.message, "toy"));
    }
    /* Neither a sheet number nor a fitted one. */
    hw.n_parameters = 0;
    hw.specs.link_bytes_per_s = NAN;
    adept_model_parameters p;
    assert_int_equal(adept_model_parameters_get(&p, &hw, NULL), ADEPT_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_with_tensor_cores),
        cmocka_unit_test(peaks_without_units),
        cmocka_unit_test(parameter_defaults),
        cmocka_unit_test(bad_parameters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
