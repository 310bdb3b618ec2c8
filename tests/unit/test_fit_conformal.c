/* Split-conformal intervals: which order statistics, what happens with few residuals, and that a row's interval never
 * comes from its own fold. */
#include "adept_fit_report.h"
#include "fit_report.h"
#include "fit_toy.h"

/* Of rows that are each by themselves. */
static void bounds_of(double bounds[2], const double *values, size_t n, double level)
{
    adept_residual residuals[64];
    for (size_t i = 0; i < n; i++)
        residuals[i] = (adept_residual){.value = values[i], .group = i};
    adept_conformal_bounds(bounds, residuals, n, level);
}

/* Nine residuals, level 0.8: (9 + 1) * 0.1 = the 1st and (9 + 1) * 0.9 = the 9th. */
static void nine_residuals_give_both_tails(void **state)
{
    (void)state;
    double r[] = {0.3, -0.2, 0.1, 0.05, -0.4, 0.2, 0.6, -0.1, 0}, bounds[2];
    bounds_of(bounds, r, 9, 0.8);
    assert_true(bounds[0] == -0.4);
    assert_true(bounds[1] == 0.6);
}

/* Nineteen: the 2nd and the 18th of -9 .. 9. */
static void nineteen_residuals(void **state)
{
    (void)state;
    double r[19], bounds[2];
    for (int i = 0; i < 19; i++)
        r[i] = (i * 7) % 19 - 9; /* each of -9 .. 9 once */
    bounds_of(bounds, r, 19, 0.8);
    assert_true(bounds[0] == -8);
    assert_true(bounds[1] == 8);
}

/* Four: too few for tails of a tenth; of the sizes the (4 + 1) * 0.8 = 4th. Three: too few for anything. */
static void few_residuals(void **state)
{
    (void)state;
    double r[] = {0.1, -0.5, 0.2, 0.3}, bounds[2];
    bounds_of(bounds, r, 4, 0.8);
    assert_true(bounds[0] == -0.5 && bounds[1] == 0.5);
    bounds_of(bounds, r, 3, 0.8);
    assert_true(isnan(bounds[0]) && isnan(bounds[1]));
    bounds_of(bounds, r, 0, 0.8);
    assert_true(isnan(bounds[0]) && isnan(bounds[1]));
    /* level 0.5 of three: the 1st and the 3rd */
    double q[] = {0.1, -0.5, 0.2};
    bounds_of(bounds, q, 3, 0.5);
    assert_true(bounds[0] == -0.5 && bounds[1] == 0.2);
}

static void bounds_include_the_prediction(void **state)
{
    (void)state;
    double r[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}, bounds[2];
    bounds_of(bounds, r, 9, 0.8);
    assert_true(bounds[0] == 0 && bounds[1] == 0.9);
}

/* Coverage is at least the level whatever the distribution: a skewed one, 2000 draws of 20 residuals and one more. */
static void coverage_is_at_least_the_level(void **state)
{
    (void)state;
    srand(1);
    int inside = 0, n = 2000;
    for (int trial = 0; trial < n; trial++) {
        double r[20], bounds[2], next = 0;
        for (int i = 0; i <= 20; i++) {
            double u = (rand() + 1.0) / (RAND_MAX + 2.0), x = -log(u) - 1; /* exponential, mean 0 */
            if (i < 20)
                r[i] = x;
            else
                next = x;
        }
        bounds_of(bounds, r, 20, 0.8);
        inside += next >= bounds[0] && next <= bounds[1];
    }
    /* (18..19)/21 of all: 0.857; three standard deviations of 0.0078 below the level would be 0.777 */
    assert_true(inside >= 0.8 * n);
    assert_true(inside <= 0.95 * n);
}

/* Two folds of five rows. In fold 0 the measured time is e^0.1 times the predicted, in fold 1 e^-0.3: each fold gets
 * the other's bound, symmetric because five are few. */
static void intervals_come_from_other_folds(void **state)
{
    (void)state;
    adept_dataset_row measured[10];
    adept_scored rows[10];
    for (size_t i = 0; i < 10; i++) {
        measured[i] = (adept_dataset_row){.step_time_s = 2 * exp(i < 5 ? 0.1 : -0.3), .power_avg_w = NAN};
        rows[i] = (adept_scored){&measured[i], 2, 100, 0, 0, 0, 0, .fold = i / 5};
    }
    assert_int_equal(adept_conformal_cross(rows, 10, false, NULL), ADEPT_OK);
    assert_float_equal(rows[0].time_low_s, 2 * exp(-0.3), 1e-12);
    assert_float_equal(rows[0].time_high_s, 2 * exp(0.3), 1e-12);
    assert_float_equal(rows[9].time_low_s, 2 * exp(-0.1), 1e-12);
    assert_float_equal(rows[9].time_high_s, 2 * exp(0.1), 1e-12);
    assert_true(isnan(rows[0].power_low_w) && isnan(rows[0].power_high_w));
    adept_conformal c;
    assert_int_equal(adept_conformal_fit(&c, rows, 10, false, "test", NULL), ADEPT_OK);
    assert_int_equal(c.n_time, 10);
    assert_int_equal(c.n_power, 0);
    assert_float_equal(c.intervals.time_log[0], -0.3, 1e-12); /* the 1st and 10th of 10 */
    assert_float_equal(c.intervals.time_log[1], 0.1, 1e-12);
    assert_true(isnan(c.intervals.power_log[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_residuals_give_both_tails),
        cmocka_unit_test(nineteen_residuals),
        cmocka_unit_test(few_residuals),
        cmocka_unit_test(bounds_include_the_prediction),
        cmocka_unit_test(coverage_is_at_least_the_level),
        cmocka_unit_test(intervals_come_from_other_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
