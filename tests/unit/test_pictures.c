/* What pictures show: room for labels, where values lie, samples of large grids. */
#include "chart.h"
#include "sweep_picture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void close_to(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.17g instead of %.17g", got, expected);
}

static bool apart(const adept_box *a, const adept_box *b)
{
    return a->x + a->width <= b->x || b->x + b->width <= a->x || a->y + a->height <= b->y || b->y + b->height <= a->y;
}

/* Twenty labels around one point: all inside, none on another, and in the end no room. */
static void labels_keep_apart(void **state)
{
    (void)state;
    adept_labels labels = {.frame = {0, 0, 400, 300, false}};
    adept_box boxes[40];
    size_t n = 0;
    while (n < 40 && adept_labels_place(&boxes[n], &labels, 200, 150, 5, 90, 16))
        n++;
    assert_in_range(n, 4, 39);
    for (size_t i = 0; i < n; i++) {
        assert_true(boxes[i].x >= 0 && boxes[i].y >= 0 && boxes[i].x + 90 <= 400 && boxes[i].y + 16 <= 300);
        for (size_t j = 0; j < i; j++)
            assert_true(apart(&boxes[i], &boxes[j]));
    }
    assert_true(boxes[0].x == 209 && boxes[0].y == 142); /* the first is right of it: radius 5, gap 4 */
    adept_box box;
    assert_false(adept_labels_place(&box, &labels, 200, 150, 5, 500, 16));
    adept_labels_free(&labels);
}

static void charts_know_their_pixels(void **state)
{
    (void)state;
    char axis[64];
    adept_chart c = {.width = 500, .height = 400, .frame = {100, 50, 300, 200, false}};
    adept_chart_ranges(&c, 1, 100, 0, 10);
    c.log_x = true;
    close_to(adept_chart_x(&c, 10), 250);
    close_to(adept_chart_y(&c, 10), 50);
    close_to(adept_chart_y(&c, 2.5), 200);
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
        assert_true(cloud.dots[i].found.index % 2 == 1 && cloud.dots[i].found.step_time_s == (double)cloud.dots[i].found.index);
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
        cmocka_unit_test(labels_keep_apart),
        cmocka_unit_test(charts_know_their_pixels),
        cmocka_unit_test(large_grids_are_sampled_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
