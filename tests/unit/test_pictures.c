/* What pictures show: roofs and dots by hand, room for labels, samples of large grids, contrast of the palette. */
#include "chart.h"
#include "palette.h"
#include "roofline_plot.h"
#include "sweep_picture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void close_to(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.17g instead of %.17g", got, expected);
}

static adept_hwprofile *a100(void)
{
    adept_hwprofile *hw = NULL;
    assert_int_equal(adept_hwprofile_open(&hw, "a100-sxm-40gb", NULL), ADEPT_OK);
    return hw;
}

/* Sheet of the A100-SXM-40GB: 19.5 TFLOP/s FP32, 312 TFLOP/s BF16 dense, 1555 GB/s. */
static void roofline_by_hand(void **state)
{
    (void)state;
    const adept_kernel product = {
        .unit = ADEPT_UNIT_GEMM, .dtype = ADEPT_BF16, .flops = 1e9, .bytes_read = 1.5e6, .bytes_written = 0.5e6};
    const adept_kernel sum = {
        .unit = ADEPT_UNIT_ALU, .dtype = ADEPT_F32, .flops = 1e6, .bytes_read = 8e6, .bytes_written = 4e6};
    const adept_kernel copy = {.unit = ADEPT_UNIT_ALU, .dtype = ADEPT_F32, .bytes_read = 1e6, .bytes_written = 1e6};
    const adept_profile_op ops[] = {
        {.path = "add", .kind = "arithmetic", .count = 1, .n_kernels = 1, .kernels = &sum},
        {.path = "fc", .kind = "linear", .count = 2, .n_kernels = 1, .kernels = &product},
        {.path = "copy", .kind = "copy", .count = 1, .n_kernels = 1, .kernels = &copy},
        {.path = "little", .kind = "linear", .count = 1, .n_kernels = 1, .kernels = &product},
    };
    const adept_profile profile = {.precision = ADEPT_AMP_BF16, .grad_accum = 3, .n_ops = 4, .ops = ops};
    const adept_op_prediction times[] = {{.time_s = 2e-4}, {.time_s = 6e-4}, {.time_s = 1e-4}, {.time_s = 1e-8}};
    adept_roofline_picture *p = malloc(sizeof *p);
    adept_hwprofile *hw = a100();
    assert_int_equal(adept_roofline_picture_of(p, &profile, hw, times, 1e-3, NULL), ADEPT_OK);
    assert_int_equal(p->n_dots, 2); /* most time first; what takes no time to speak of is left out */
    assert_string_equal(p->dots[0].name, "fc");
    close_to(p->dots[0].intensity_flops_per_byte, 500); /* 1e9 / 2e6 */
    close_to(p->dots[0].rate_flops_per_s, 1e13);        /* 1e9 * 2 * 3 / 6e-4 */
    close_to(p->dots[0].share, 0.6);
    assert_int_equal(p->dots[0].shade, ADEPT_SHADE_GEMM);
    close_to(p->dots[1].intensity_flops_per_byte, 1.0 / 12);
    close_to(p->dots[1].rate_flops_per_s, 1.5e10);
    assert_int_equal(p->dots[1].shade, ADEPT_SHADE_ALU);
    close_to(p->no_arithmetic_share, 0.1);
    close_to(p->left_out_share, 1e-5);
    assert_int_equal(p->n_ceilings, 2);
    close_to(p->ceilings[0].flops_per_s, 312e12);
    assert_string_equal(p->ceilings[0].name, "matrix units, BF16");
    close_to(p->ceilings[1].flops_per_s, 19.5e12);
    assert_string_equal(p->ceilings[1].name, "vector units, FP32");
    close_to(p->mem_bytes_per_s, 1.555e12);
    char *script = adept_roofline_script(p, "t");
    assert_non_null(strstr(script, "$gemm << EOD\n500 1e+13 "));
    assert_non_null(strstr(script, "$conv << EOD\nEOD\n"));
    assert_non_null(strstr(script, "\"matrix units, BF16: 312 TFLOP/s\""));
    assert_non_null(strstr(script, "\"fc 60.0 %\""));
    free(script);
    free(p);
    adept_hwprofile_free(hw);
}

static void names_in_charts_are_no_commands(void **state)
{
    (void)state;
    adept_roofline_picture *p = calloc(1, sizeof *p);
    p->n_dots = 1;
    p->dots[0] = (adept_roofline_dot){"x\"; system('id') `id` \nexit", "k\"", 1, 1e12, 0.5, ADEPT_SHADE_GEMM};
    p->mem_bytes_per_s = 1e12;
    char *script = adept_roofline_script(p, "\"\nexit");
    assert_null(strstr(script, "system('"));
    assert_null(strchr(script, '`'));
    assert_null(strstr(script, "\nexit"));
    free(script);
    free(p);
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

/* Relative luminance of WCAG 2. */
static double luminance(const char *color)
{
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    unsigned long rgb = strtoul(color + 1, NULL, 16);
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double c = (double)(rgb >> (16 - 8 * i) & 255) / 255;
        sum += weights[i] * (c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(const char *a, const char *b)
{
    double x = luminance(a), y = luminance(b);
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

/* Text at least 4.5 : 1 (WCAG AA); the two shades that most cells have far apart in grey. */
static void text_stands_out(void **state)
{
    (void)state;
    for (int shade = 0; shade < ADEPT_SHADE_COUNT; shade++) {
        double ratio = contrast(adept_shades[(adept_shade)shade].fill, adept_shades[(adept_shade)shade].ink);
        if (!(ratio >= 4.5)) fail_msg("%s: %.2f : 1", adept_shades[(adept_shade)shade].text, ratio);
    }
    assert_true(contrast(adept_shades[ADEPT_SHADE_COMPUTE].fill, adept_shades[ADEPT_SHADE_MEMORY].fill) >= 2.5);
    assert_true(contrast(ADEPT_QUIET, "#ffffff") >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roofline_by_hand),
        cmocka_unit_test(names_in_charts_are_no_commands),
        cmocka_unit_test(labels_keep_apart),
        cmocka_unit_test(charts_know_their_pixels),
        cmocka_unit_test(large_grids_are_sampled_evenly),
        cmocka_unit_test(text_stands_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
