/* The roofline of an operator, by hand: the A100's sheet says 312e12 FLOP/s in BF16, 19.5e12 in FP32, 1555e9 bytes/s.
 */
#include "adept_model.h"
#include "cmocka_test.h"

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void sums_kernels_at_the_peaks(void **state)
{
    (void)state;
    /* 1 s of BF16 products while 0.5 s of bytes move, then 2 s of bytes beside 1 s of FP32 arithmetic; run 3 times */
    const adept_kernel kernels[] = {
        {.unit = ADEPT_UNIT_GEMM, .dtype = ADEPT_BF16, .flops = 312e12, .bytes_read = 777.5e9, .launches = 1},
        {.unit = ADEPT_UNIT_ALU,
         .dtype = ADEPT_F32,
         .flops = 19.5e12,
         .bytes_read = 1555e9,
         .bytes_written = 1555e9,
         .launches = 1},
    };
    const adept_profile_op op = {.count = 3, .n_kernels = 2, .kernels = kernels};
    adept_hwprofile *hw = NULL;
    adept_roofline r;
    adept_error err;
    assert_int_equal(adept_hwprofile_open(&hw, "a100", &err), ADEPT_OK);
    assert_int_equal(adept_roofline_op(&r, &op, ADEPT_AMP_BF16, hw, &err), ADEPT_OK);
    assert_true(near(r.compute_s, 3 * 2.0));
    assert_true(near(r.memory_s, 3 * 2.5));
    assert_true(near(r.least_s, 3 * (1.0 + 2.0)));
    adept_hwprofile_free(hw);
}

static void a_missing_unit_is_an_error(void **state)
{
    (void)state;
    const adept_kernel kernel = {.unit = ADEPT_UNIT_GEMM, .dtype = ADEPT_BF16, .flops = 1, .launches = 1};
    const adept_profile_op op = {.count = 1, .n_kernels = 1, .kernels = &kernel};
    adept_hwprofile *hw = NULL;
    adept_roofline r;
    adept_error err;
    assert_int_equal(adept_hwprofile_open(&hw, "v100", &err), ADEPT_OK);
    assert_int_equal(adept_roofline_op(&r, &op, ADEPT_AMP_BF16, hw, &err), ADEPT_E_USAGE);
    adept_hwprofile_free(hw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_kernels_at_the_peaks),
        cmocka_unit_test(a_missing_unit_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
