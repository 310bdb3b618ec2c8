/* What pictures show: where values lie, samples of large grids. */
#include "chart.h"
#include "sweep_picture.h"
#include "cmocka_test.h"

static void close_to(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.17g instead of %.17g", got, expected);
}

static void charts_know_their_pixels(void **state)
{
    (void)state;
    char axis[64];
    adept_chart c = {.width = 500, .height = 400, .frame = {100, 50, 300, 200}};
    adept_chart_ranges(&c, 1, 101, 0, 10);
    close_to(adept_chart_x(&c, 51), 250);
    close_to(adept_chart_scale(axis, sizeof axis, "Step time", "s", 0.0136), 1e3);
    assert_string_equal(axis, "Step time (ms)");
    close_to(adept_chart_scale(axis, sizeof axis, "Power", "W", 999), 1);
    assert_string_equal(axis, "Power (W)");
    close_to(adept_chart_scale(axis, sizeof axis, "Energy", "J", 5e4), 1e-3);
    assert_string_equal(axis, "Energy (kJ)");
}

/* 100,000 points of which the inner axis has 8 values: every value keeps its part. */
static void large_grids_are_sampled_evenly(void **state)
{
    (void)state;
    enum { N = 100000 };
    adept_sweep_cloud cloud;
    size_t of_value[8] = {0}, of_eighth[8] = {0};
    assert_int_equal(adept_sweep_cloud_new(&cloud, NULL), ADEPT_OK);
    for (uint64_t i = 0; i < N; i++) {
        const adept_sweep_point point = {
            .index = i, .status = i % 2 ? ADEPT_OK : ADEPT_E_USAGE, .result = {.step_time_s = (double)i, .samples = 1}};
        adept_sweep_cloud_add(&cloud, &point);
    }
    assert_in_range(cloud.n, ADEPT_SWEEP_DOTS / 3, ADEPT_SWEEP_DOTS);
    assert_int_equal(cloud.stride, 16); /* 50,000 of them can run */
    for (size_t i = 0; i < cloud.n; i++) {
        assert_true(cloud.dots[i].found.index % 2 == 1 &&
                    cloud.dots[i].found.step_time_s == (double)cloud.dots[i].found.index);
        assert_true(i == 0 || cloud.dots[i].found.index > cloud.dots[i - 1].found.index);
        of_value[cloud.dots[i].found.index % 8]++;
        of_eighth[cloud.dots[i].found.index * 8 / N]++;
    }
    for (int i = 0; i < 8; i++) {
        if (i % 2) assert_in_range(of_value[i], cloud.n / 5, cloud.n / 3);
        assert_in_range(of_eighth[i], cloud.n / 10, cloud.n / 6);
    }
    adept_sweep_cloud_free(&cloud);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charts_know_their_pixels),
        cmocka_unit_test(large_grids_are_sampled_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
