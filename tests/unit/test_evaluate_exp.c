/* The exponential of the vectorised sigmoid against the C library's, and elasticities against differences. */
#include "adept_model.h"
#include "saturation.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void check(double x, double *worst)
{
    /* expl has 64 bits of mantissa: the reference's own error does not show. */
    long double exact = expl(-(long double)x);
    double error = (double)fabsl((long double)adept_exp_negative(x) - exact) / (double)exact;
    if (error > *worst) *worst = error;
    if (!(error < 5e-16)) fail_msg("exp(-%.17g) is off by %g", x, error);
}

static void exponential_is_exact_to_the_last_bits(void **state)
{
    (void)state;
    double worst = 0;
    for (double x = 0; x < 2; x += 1.37e-5)
        check(x, &worst);
    for (double x = 2; x < 700; x += 3.17e-3)
        check(x, &worst);
    for (double x = 1e-300; x < 700; x *= 1.01)
        check(x, &worst);
    /* Next to where the rounding of x / ln 2 changes. */
    for (int n = 0; n < 1000; n++) {
        double edge = (n + 0.5) * M_LN2;
        check(nextafter(edge, 0), &worst);
        check(edge, &worst);
        check(nextafter(edge, 1e9), &worst);
    }
    assert_true(worst > 0);
}

static void exponential_at_the_ends(void **state)
{
    (void)state;
    assert_true(adept_exp_negative(0) == 1.0);
    double least = adept_exp_negative(700);
    assert_true(least > 9e-305 && least < 1e-304);
    assert_true(adept_exp_negative(1e308) == least);
    assert_true(adept_exp_negative(INFINITY) == least);
    assert_true(adept_exp_negative(NAN) == least);
}

static void sigmoid_is_monotone(void **state)
{
    (void)state;
    for (double x = 0, last = 0.5; x < 50; last = adept_saturate_sigmoid(x), x += 1e-3)
        assert_true(adept_saturate_sigmoid(x) >= last);
}

/* d log sat / d log x, by central differences of the C library's functions where there is cancellation. */
static void elasticities_are_the_slopes(void **state)
{
    (void)state;
    static double (*const functions[])(double x) = {
#define X(id, name, how) adept_saturate_##name,
        ADEPT_SATURATION_LIST(X)
#undef X
    };
    for (int kind = 0; kind < ADEPT_SATURATIONS; kind++) {
        double (*sat)(double) = functions[kind];
        for (double x = 1e-6; x < 1e4; x *= 1.3) {
            double h = 1e-5, difference = (log(sat(x * exp(h))) - log(sat(x * exp(-h)))) / (2 * h);
            double elasticity = adept_saturation_elasticity((adept_saturation_kind)kind, x);
            if (fabs(elasticity - difference) > 1e-9) fail_msg("%d at %g: %g, %g", kind, x, elasticity, difference);
            assert_true(elasticity >= 0 && elasticity <= 1);
        }
        assert_true(adept_saturation_elasticity((adept_saturation_kind)kind, 0) ==
                    (kind == ADEPT_SATURATION_SIGMOID ? 0.0 : 1.0));
        assert_true(adept_saturation_elasticity((adept_saturation_kind)kind, INFINITY) == 0.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential_is_exact_to_the_last_bits),
        cmocka_unit_test(exponential_at_the_ends),
        cmocka_unit_test(sigmoid_is_monotone),
        cmocka_unit_test(elasticities_are_the_slopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
