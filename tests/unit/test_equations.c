/* The thesis's equations against numbers worked out by hand; the arithmetic stands beside each. */
#include "adept_file.h"
#include "equations.h"
#include "peaks.h"
#include "power_cap.h"
#include "saturation.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* cmocka's assert_float_equal compares floats, too coarse here. */
#define WITHIN(value, expected, tolerance) assert_true(fabs((double)(value) - (double)(expected)) <= (tolerance))
#define NEAR(value, expected) WITHIN(value, expected, 1e-12 * (1.0 + fabs((double)(expected))))

static void saturation_functions(void **state)
{
    (void)state;
    /* 1/(1+e^-1) = 1/1.36787944117 ; (2/pi)(pi/4) ; 1/2 ; 1/sqrt(2) ; (e^2-1)/(e^2+1) = 6.38905609893/8.38905609893 */
    WITHIN(adept_saturate_sigmoid(1), 0.731058578630, 1e-11);
    NEAR(adept_saturate_arctan(1), 0.5);
    NEAR(adept_saturate_softsign(1), 0.5);
    NEAR(adept_saturate_softsign(3), 0.75);
    WITHIN(adept_saturate_algebraic(1), 0.707106781187, 1e-11);
    NEAR(adept_saturate_algebraic(0.75), 0.6); /* 0.75/sqrt(1.5625) = 0.75/1.25 */
    WITHIN(adept_saturate_tanh(1), 0.761594155956, 1e-11);
    /* At 0 only the sigmoid keeps a half: the thesis prints it unshifted. */
    NEAR(adept_saturate_sigmoid(0), 0.5);
}

static void saturation_common_properties(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double (*function)(double x);
    } functions[] = {
#define X(id, name, how) {#name, adept_saturate_##name},
        ADEPT_SATURATION_LIST(X)
#undef X
    };
    size_t n = 0;
    for (const char *name; (name = adept_saturation_name(n)); n++) {
        assert_true(n < sizeof functions / sizeof *functions);
        assert_string_equal(name, functions[n].name);
        double (*sat)(double) = functions[n].function;
        if (strcmp(name, "sigmoid") != 0) NEAR(sat(0), 0.0);
        NEAR(sat(INFINITY), 1.0);
        NEAR(sat(DBL_MAX), 1.0);
        for (double x = 1e-6, last = sat(0); x < 1e6; last = sat(x), x *= 3) {
            assert_true(sat(x) >= last && sat(x) <= 1.0);
            /* Concave from at least 0: twice the size never more than doubles the efficiency. */
            assert_true(sat(2 * x) <= 2 * sat(x) * (1 + 1e-12));
        }
    }
    assert_int_equal(n, 5);
    const adept_hwprofile hw = {.name = "toy"};
    adept_saturation_kind kind;
    assert_int_equal(adept_saturation_of(&kind, NULL, &hw, NULL), ADEPT_OK);
    assert_int_equal(kind, ADEPT_SATURATION_SIGMOID);
    assert_int_equal(adept_saturation_of(&kind, "tanh", &hw, NULL), ADEPT_OK);
    assert_int_equal(kind, ADEPT_SATURATION_TANH);
    assert_int_equal(adept_saturation_of(&kind, "Sigmoide", &hw, NULL), ADEPT_E_USAGE);
    assert_int_equal(adept_saturation_of(&kind, "", &hw, NULL), ADEPT_E_USAGE);
}

/* Eq 4.6: M/16, N/8 and K/8 with 16-bit operands, K/4 with 32-bit ones. */
static void gemm_tiles(void **state)
{
    (void)state;
    adept_profile_features f = {.gemm_m = 1024, .gemm_n = 512, .gemm_k = 256};
    adept_gemm_tiles t = adept_eq_gemm_tiles(&f, ADEPT_AMP_BF16);
    NEAR(t.m, 64);
    NEAR(t.n, 64);
    NEAR(t.k, 32);
    NEAR(adept_eq_gemm_tiles(&f, ADEPT_AMP_FP16).k, 32);
    NEAR(adept_eq_gemm_tiles(&f, ADEPT_TF32).k, 64);
    NEAR(adept_eq_gemm_tiles(&f, ADEPT_FP32).k, 64);
}

/* Eq 4.11 and 4.10 with softsign x/(1+x). */
static void efficiency(void **state)
{
    (void)state;
    /* Tiles 2, 12, 9 over references 2, 4, 1: 1/(1+1) * 3/(1+3) * 9/(1+9) = 0.5 * 0.75 * 0.9 */
    double s = adept_eq_saturation_gemm(adept_saturate_softsign(1), adept_saturate_softsign(3), adept_saturate_softsign(9));
    NEAR(s, 0.3375);
    NEAR(adept_eq_efficiency(0.7, s), 0.23625);
    /* 64 blocks over 64 and 588 pixels over 196: 1/2 * 3/4 */
    NEAR(adept_eq_saturation_conv(adept_saturate_softsign(1), adept_saturate_softsign(3)), 0.375);
    /* The learned reference of 2840 blocks switches the sigmoid off: sat(64/2840) = 0.5056, spec section 7 no. 3. */
    WITHIN(adept_eq_saturation_conv(adept_saturate_sigmoid(64.0 / 2840), adept_saturate_sigmoid(1e9)), 0.5056, 5e-5);
}

static void operation_time(void **state)
{
    (void)state;
    NEAR(adept_eq_operation_s(1e12, 1e14, 0.5, 2), 0.04); /* 1e12 / 5e13 * 2 */
    NEAR(adept_eq_operation_s(0, 1e14, 0, 1), 0.0);       /* no work, even where the efficiency is 0 */
    assert_true(isinf(adept_eq_operation_s(1, 1e14, 0, 1)));
}

static void memory_time(void **state)
{
    (void)state;
    NEAR(adept_eq_l2_factor(20e6, 40e6, 0.1), 0.5);
    NEAR(adept_eq_l2_factor(20e6, 40e6, 0.7), 0.7);
    NEAR(adept_eq_l2_factor(0, 40e6, 0.25), 0.25);
    assert_true(adept_eq_l2_factor(40e6, 40e6, 0.1) == 1.0);
    assert_true(adept_eq_l2_factor(80e6, 40e6, 0.1) == 1.0);
    NEAR(adept_eq_memory_s(3.11e12, 1.555e12, 0.5, 1.2), 1.2); /* 2 s * 0.5 * 1.2 */
}

/* AdamW on 1e9 parameters in fp32: 28 bytes and 18 FLOPs each (eq 4.4, 4.5). */
static void optimizer_time(void **state)
{
    (void)state;
    NEAR(adept_eq_optimizer_memory_s(28e9, 1e12, 1.5), 0.042);
    NEAR(adept_eq_optimizer_compute_s(18e9, 10e12, 0.5, 2), 0.0072); /* 18e9 / 5e12 * 2 */
}

static void step_time(void **state)
{
    (void)state;
    NEAR(adept_eq_launch_s(8, 100, 12, 2e-6), 1.624e-3); /* (800 + 12) * 2e-6 */
    adept_phase_times t = {.pass_s = 0.6, .optimizer_s = 0.2, .comm_s = 0.1, .launch_s = 0.06, .fixed_s = 0.04};
    NEAR(adept_eq_step_s(&t), 1.0);
    /* 300*0.6 + 200*0.2 + 100*0.1 + 50*(0.06+0.04) = 180 + 40 + 10 + 5 J in 1 s */
    adept_phase_powers p = {.pass_w = 300, .optimizer_w = 200, .comm_w = 100, .idle_w = 50};
    NEAR(adept_eq_mean_power_w(&t, &p), 235.0);
}

static void utilisation_and_power(void **state)
{
    (void)state;
    NEAR(adept_eq_pass_utilisation(0.3, 0.6), 0.5);
    NEAR(adept_eq_pass_utilisation(0.9, 0.6), 1.0); /* clipped */
    NEAR(adept_eq_pass_utilisation(0.9, 0.0), 1.0);
    NEAR(adept_eq_pass_utilisation(0.0, 0.6), 0.0);
    NEAR(adept_eq_pass_utilisation(0.0, 0.0), 0.0);
    NEAR(adept_eq_dynamic_w(0.5, 50, 400, 1.1), 192.5); /* 0.5 * 350 * 1.1 */
}

static const adept_power_demand demand = {
    .compute_s = 1.0, .memory_s = 1.5, .static_w = 50, .dynamic_w = 350, .mem_power_share = 0.3, .v_slope = 0.5};

static void power_cap_by_hand(void **state)
{
    (void)state;
    NEAR(adept_power_at_clock_w(&demand, 1.0), 400.0);
    /* f 1/2: V = 0.75, f V^2 = 0.28125, 50 + 350 * (0.3 + 0.7 * 0.28125) = 50 + 350 * 0.496875 */
    NEAR(adept_power_at_clock_w(&demand, 0.5), 223.90625);
    adept_power_state s = adept_power_cap(&demand, 223.90625, 0.1, 1.0);
    NEAR(s.clock_ratio, 0.5);
    NEAR(s.time_s, 2.0); /* max(1/0.5, 1.5) */
    NEAR(s.power_w, 223.90625);
    assert_false(s.floored);
    /* Not limited: 400 W or more changes nothing at all. */
    s = adept_power_cap(&demand, 400.0, 0.1, 1.0);
    assert_true(s.clock_ratio == 1.0 && s.time_s == 1.5 && s.power_w == 400.0 && !s.floored);
    /* Floor 0.6: V = 0.8, f V^2 = 0.384, 50 + 350 * (0.3 + 0.7 * 0.384) = 50 + 350 * 0.5688 */
    s = adept_power_cap(&demand, 200.0, 0.6, 1.0);
    assert_true(s.floored && s.clock_ratio == 0.6);
    NEAR(s.power_w, 249.08);
    NEAR(s.time_s, 1.0 / 0.6);
    /* Locked to 1/2: as above without a limit, or with one that allows more; a lower one counts. */
    s = adept_power_cap(&demand, NAN, 0.1, 0.5);
    assert_true(s.clock_ratio == 0.5 && !s.limited);
    NEAR(s.power_w, 223.90625);
    s = adept_power_cap(&demand, 230, 0.1, 0.5);
    assert_true(s.clock_ratio == 0.5 && !s.limited);
    s = adept_power_cap(&demand, 200, 0.1, 0.5);
    assert_true(s.clock_ratio < 0.5 && s.limited && !s.floored);
    NEAR(s.power_w, 200);
}

static void power_cap_is_monotone(void **state)
{
    (void)state;
    adept_power_state last = adept_power_cap(&demand, 60, 0.2, 1.0);
    assert_true(last.floored);
    for (double limit_w = 61; limit_w < 450; limit_w += 0.5) {
        adept_power_state s = adept_power_cap(&demand, limit_w, 0.2, 1.0);
        assert_true(s.time_s <= last.time_s);
        assert_true(s.clock_ratio >= last.clock_ratio && s.clock_ratio <= 1.0);
        assert_true(s.power_w >= last.power_w);
        assert_true(s.floored || s.power_w <= limit_w);
        /* The limit is used up, not just respected. */
        if (!s.floored && s.clock_ratio < 1.0) assert_true(s.power_w > limit_w - 1e-9);
        last = s;
    }
    assert_true(last.clock_ratio == 1.0);
}

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

/* docs/MODEL.md carries the list of parameters with bounds and defaults; "sheet" where the sheet gives the default. */
static void documentation_lists_every_parameter(void **state)
{
    (void)state;
    static const struct {
        const char *row, *fallback;
    } rows[] = {
#define X(name, low, high, fallback, log_scale, text) {"| `" #name "` | " #low " to " #high " | ", #fallback},
        ADEPT_MODEL_PARAMETER_LIST(X)
#undef X
    };
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(adept_file_read(&text, &size, ADEPT_SOURCE_DIR "/docs/MODEL.md", 1 << 20, NULL), ADEPT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* NAN is a macro, and comes here written out. */
        bool number = rows[i].fallback[0] >= '0' && rows[i].fallback[0] <= '9';
        char row[256];
        snprintf(row, sizeof row, "%s%s | ", rows[i].row, number ? rows[i].fallback : "sheet");
        if (!strstr(text, row)) fail_msg("docs/MODEL.md has no row \"%s\"", row);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saturation_functions),
        cmocka_unit_test(saturation_common_properties),
        cmocka_unit_test(gemm_tiles),
        cmocka_unit_test(efficiency),
        cmocka_unit_test(operation_time),
        cmocka_unit_test(memory_time),
        cmocka_unit_test(optimizer_time),
        cmocka_unit_test(step_time),
        cmocka_unit_test(utilisation_and_power),
        cmocka_unit_test(power_cap_by_hand),
        cmocka_unit_test(power_cap_is_monotone),
        cmocka_unit_test(peaks_with_tensor_cores),
        cmocka_unit_test(peaks_without_units),
        cmocka_unit_test(parameter_defaults),
        cmocka_unit_test(bad_parameters_are_refused),
        cmocka_unit_test(documentation_lists_every_parameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
