/* Gains against a baseline, by the published tables of the thesis, chapters 3.4 and 3.5: what is printed there follows
 * from the powers and times that are printed there, but for the caps of NVIDIA's GPU. */
#include "adept_gain.h"
#include "cmocka_test.h"
#include "thesis_table.h"

#define N(list) (sizeof(list) / sizeof *(list))

static adept_taken of_one(double time_s, double energy_j)
{
    double scratch;

    return adept_taken_of(&time_s, &energy_j, 1, &scratch);
}

/* Of powers, and by how much the time changes, in percent: gains in percent. */
static adept_gain of_powers(double before_w, double after_w, double slower)
{
    const adept_taken baseline = of_one(10, 10 * before_w),
                      now = of_one(10 * (1 + slower / 100), 10 * (1 + slower / 100) * after_w);

    return adept_gain_of(&baseline, &now);
}

static void near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within)) fail_msg("%g instead of %g", value, expected);
}

/* Tables 3.25 to 3.27: watts of the device and of the rest, before and after; table 3.19 to 3.24: EDP and time, as
 * printed; what follows. */
typedef struct row {
    double before_w[2], after_w[2], time, printed, edp;
} row;

static double mean_of(const row *rows, size_t n, double within)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const row *r = &rows[i];
        const adept_gain g = of_powers(r->before_w[0] + r->before_w[1], r->after_w[0] + r->after_w[1], r->time);
        near(100 * g.edp.share, r->edp, within);
        near(100 * g.time.share, r->time, 1e-9);
        assert_true(isnan(g.edp.noise) && !adept_change_is_beyond_noise(&g.edp)); /* one run says nothing of noise */
        sum += 100 * g.edp.share;
    }
    return sum / (double)n;
}

static void clocks_of_amd_are_as_printed(void **state)
{
    static const row rows[] = {
        {{124.5, 32.2}, {125.0, 32.4}, -3.3, 6.1, 6.1},   {{161.5, 16.2}, {160.9, 16.0}, -1.8, 3.9, 3.9},
        {{133.3, 22.1}, {136.1, 22.2}, -6.4, 10.8, 10.8}, {{138.0, 28.6}, {139.9, 28.7}, -2.8, 4.5, 4.5},
        {{123.8, 28.7}, {121.7, 29.0}, -3.4, 7.9, 7.9},   {{137.9, 22.1}, {93.9, 23.5}, 2.8, 22.5, 22.5},
        {{155.9, 15.7}, {156.2, 15.6}, -1.3, 2.4, 2.4},   {{173.9, 22.3}, {172.2, 21.9}, 0, 1.0, 1.0},
        {{140.6, 18.3}, {105.5, 18.2}, 4.8, 14.6, 14.6},  {{142.0, 23.2}, {91.8, 23.3}, 3.4, 25.5, 25.5},
    };

    (void)state;
    near(mean_of(rows, 5, 0.3), 6.64, 0.1); /* the means of figure 6.6 */
    near(mean_of(rows + 5, 5, 0.3), 13.20, 0.1);
}

/* Processors' clocks, caps and governors, with the means of figure 6.6. */
static void processors_are_as_printed(void **state)
{
    static const row intel_clocks[] =
        {{{259.2, 54.6}, {238.7, 53.3}, 0, 6.9, 6.9},   {{482.4, 68.7}, {456.8, 68.9}, -6.4, 16.7, 16.7},
         {{262, 56.3}, {239.2, 54.6}, 3.7, 0.7, 0.7},   {{265.7, 44.7}, {266.6, 44.9}, 1.3, -2.9, -2.9},
         {{261.1, 56.6}, {235.8, 56.3}, 1.2, 5.9, 5.9}, {{457.8, 85.7}, {280.7, 84.5}, 0.5, 32.3, 32.3},
         {{472.6, 52.3}, {468.5, 52.2}, 0, 0.8, 0.8},   {{493.3, 60.6}, {492, 60.4}, 0.9, -1.5, -1.5},
         {{364, 65.3}, {257.9, 60.3}, 8.5, 12.7, 12.7}, {{479.9, 90.4}, {289, 89.4}, 1.5, 31.8, 31.8}},
                     intel_caps[] = {{{259.2, 54.6}, {252.5, 54.9}, -4.4, 10.5, 10.5},
                                     {{482.4, 68.7}, {481.5, 69.1}, -4.1, 8.4, 8.4},
                                     {{262, 56.3}, {246.6, 55.5}, 3.1, -0.8, -0.8},
                                     {{265.7, 44.7}, {265.8, 44.6}, 2.3, -4.3, -4.3},
                                     {{261.1, 56.6}, {246.3, 55.3}, 1.3, 2.6, 2.6},
                                     {{457.8, 85.7}, {355.6, 87.3}, 0.3, 18.1, 18.1},
                                     {{472.6, 52.3}, {477.7, 53.4}, 0.3, -1.5, -1.5},
                                     {{493.3, 60.6}, {482.9, 59.5}, 3.4, -4.7, -4.7},
                                     {{364, 65.3}, {322.2, 64.9}, 0, 9.8, 9.8},
                                     {{479.9, 90.4}, {372, 89}, 5, 10.9, 10.9}},
                     amd_governors[] = {
                         {{124.5, 32.2}, {127, 32.5}, -6.6, 11.1, 11.1}, {{161.5, 16.2}, {163.7, 16.1}, -2.2, 3.1, 3.1},
                         {{133.3, 22.1}, {132.8, 22}, -0.6, 1.7, 1.7},   {{138, 28.6}, {138, 28.6}, 0, 0, 0},
                         {{123.8, 28.7}, {96.7, 28.7}, 8.3, 3.7, 3.7},   {{137.9, 22.1}, {92.5, 23}, 2.3, 24.5, 24.5},
                         {{155.9, 15.7}, {155.3, 15.8}, -0.6, 1.6, 1.6}, {{173.9, 22.3}, {171.2, 21.7}, 0.2, 1.4, 1.4},
                         {{140.6, 18.3}, {99.1, 18.4}, 9.8, 10.9, 10.9}, {{142, 23.2}, {92.9, 23.1}, 4.5, 23.3, 23.3}};

    (void)state;
    near(mean_of(intel_clocks, 5, 0.3), 5.46, 0.1);
    near(mean_of(intel_clocks + 5, 5, 0.3), 15.22, 0.1);
    near(mean_of(intel_caps, 5, 0.36), 3.28, 0.2);
    near(mean_of(intel_caps + 5, 5, 0.36), 6.52, 0.1);
    near(mean_of(amd_governors, 5, 0.2), 3.92, 0.1);
    near(mean_of(amd_governors + 5, 5, 0.2), 12.34, 0.1);
}

/* The thesis prints 37.4, 34.2, 37.4, 34.1, 37.3, 41.8 and 32.5, 16.3, 32.4, 24.2, 29.9, 23.9: no such gains follow. */
static void caps_of_nvidia_are_not_as_printed(void **state)
{
    static const row rows[] = {
        {{254.8, 71.9}, {182.7, 72.9}, 0.9, 37.4, 20.3},  {{413.5, 64.7}, {303.3, 72.5}, 0, 34.2, 21.4},
        {{255.6, 70.0}, {188.7, 72.7}, 1.1, 37.4, 17.9},  {{108.7, 69.4}, {104.0, 72.2}, 0.4, 34.1, 0.3},
        {{54.1, 58.5}, {52.5, 60.2}, 2.3, 37.3, -4.7},    {{46.8, 57.8}, {44.2, 59.2}, -0.9, 41.8, 2.9},
        {{229.8, 69.5}, {192.8, 71.9}, -0.9, 32.5, 13.1}, {{407.3, 68.0}, {291.7, 71.4}, 14.5, 16.3, -0.2},
        {{268.4, 71.2}, {186.9, 73.0}, 8.1, 32.4, 10.6},  {{188.2, 68.4}, {173.9, 72.7}, 0.3, 24.2, 3.3},
        {{232.8, 71.1}, {185.7, 72.9}, 3.2, 29.9, 9.4},   {{234.9, 66.4}, {208.5, 70.1}, 0.6, 23.9, 6.4},
    };
    double printed = 0;

    (void)state;
    for (size_t i = 0; i < N(rows); i++)
        printed += rows[i].printed / N(rows);
    near(printed, 31.8, 0.05);
    near(mean_of(rows, N(rows), 0.11), 8.4, 0.05);
}

static void clocks_of_nvidia_are_as_printed(void **state)
{
    static const row rows[] = {
        {{254.8, 71.9}, {177.4, 72.1}, 0.8, 21.4, 21.4},  {{413.5, 64.7}, {257.1, 67.9}, 0.1, 30.6, 30.6},
        {{255.6, 70.0}, {177.7, 70.4}, 0.6, 21.6, 21.6},  {{229.8, 69.5}, {166.8, 70.4}, -7.2, 30.8, 30.8},
        {{407.3, 68.0}, {238.4, 69.4}, 15.0, 12.8, 12.8}, {{268.4, 71.2}, {193.5, 71.1}, 7.6, 8.6, 8.6},
        {{232.8, 71.1}, {168.0, 71.4}, 7.7, 6.5, 6.5},    {{234.9, 66.4}, {172.1, 67.7}, -14.2, 40.5, 40.5},
    };

    (void)state;
    mean_of(rows, N(rows), 2.5);
}

/* Tables 3.15 and 3.16, every line: seconds, joules of the packages and those above idle, how many times less each is
 * than the sequential program's; of AMD, then of Intel, then joules of Intel's memory. */
static void accelerations_are_as_printed(void **state)
{
    /* clang-format off */
    static const double rows[][16] = {
        {14.26, 1, 1108.5, 328.5, 1, 1, 9.91, 1, 991.37, 476.01, 1, 1, 164.17, 70.02, 1, 1},  /* table 3.15, SPMV_COO */
        {15.22, 0.94, 1157.1, 307.77, 0.96, 1.07, 10.74, 0.92, 1070.3, 511.83, 0.93, 0.93, 175.74, 73.72, 0.93, 0.95},
        {11.32, 1.26, 897.72, 259.14, 1.23, 1.27, 9.17, 1.08, 920.92, 443.84, 1.08, 1.08, 153.05, 65.89, 1.07, 1.06},
        {7.17, 1, 547.18, 144.32, 1, 1, 5.43, 1, 544.94, 273.55, 1, 1, 85.12, 33.56, 1, 1},  /* table 3.15, TRIAD */
        {5.84, 1.23, 433.66, 106.94, 1.26, 1.35, 3.38, 1.61, 342.35, 173.2, 1.59, 1.58, 55.58, 23.44, 1.53, 1.43},
        {3.19, 2.25, 251.31, 71.77, 2.18, 2.01, 2.3, 2.36, 237.01, 122.15, 2.3, 2.24, 39.79, 17.97, 2.14, 1.87},
        /* table 3.15, GEMM */
        {124.83, 1, 9160.88, 2201.11, 1, 1, 116.56, 1, 11943.8, 6116.03, 1, 1, 1606.94, 499.66, 1, 1},
        {46.95, 2.66, 3469.8, 841.02, 2.64, 2.62, 56.08, 2.08, 5662.58, 2858.58, 2.11, 2.14,
         774.71, 241.95, 2.07, 2.07},
        {29.02, 4.3, 2151.76, 518.8, 4.26, 4.24, 29.14, 4, 2920.22, 1463.07, 4.09, 4.18, 401.29, 124.44, 4, 4.02},
        {3.44, 1, 289.16, 92.74, 1, 1, 6.45, 1, 663.17, 340.64, 1, 1, 94.83, 33.55, 1, 1},  /* table 3.15, DIST */
        {2.96, 1.16, 268.7, 100.46, 1.08, 0.92, 4.52, 1.43, 453.75, 227.94, 1.46, 1.49, 66.98, 24.08, 1.42, 1.39},
        {1.7, 2.03, 161.99, 64.63, 1.79, 1.43, 2.49, 2.59, 253.93, 129.32, 2.61, 2.63, 38.16, 14.49, 2.48, 2.32},
        {14.26, 1, 1108.5, 328.5, 1, 1, 9.91, 1, 991.37, 476.01, 1, 1, 164.17, 70.02, 1, 1},  /* table 3.16, SPMV_COO */
        {5.78, 2.47, 544.11, 214.29, 2.04, 1.53, 5.63, 1.76, 597.85, 305.27, 1.66, 1.57, 105.59, 52.14, 1.55, 1.34},
        {3.22, 4.43, 338.55, 157.49, 3.27, 2.09, 2.96, 3.35, 349.97, 196.12, 2.83, 2.44, 66.35, 38.24, 2.47, 1.83},
        {3.07, 4.64, 327.58, 156.87, 3.38, 2.09, 1.66, 5.97, 230.2, 143.83, 4.31, 3.32, 46.37, 30.59, 3.54, 2.29},
        {1.87, 7.65, 227.27, 122.29, 4.88, 2.69, 0.99, 9.98, 175.81, 124.16, 5.64, 3.85, 34.74, 24.81, 4.73, 2.82},
        {1.63, 8.72, 229.85, 122.81, 4.82, 2.67, 0.71, 14.03, 159.36, 115.57, 6.22, 4.14, 29.4, 22.33, 5.58, 3.14},
        {7.17, 1, 547.18, 144.32, 1, 1, 5.43, 1, 544.94, 273.55, 1, 1, 85.12, 33.56, 1, 1},  /* table 3.16, TRIAD */
        {3.87, 1.85, 334.74, 114.63, 1.63, 1.26, 2.94, 1.85, 313.14, 166.28, 1.74, 1.65, 49.97, 22.06, 1.7, 1.52},
        {2.13, 3.36, 215.68, 97.38, 2.54, 1.48, 1.5, 3.63, 185.5, 110.67, 2.94, 2.47, 29.8, 15.58, 2.86, 2.15},
        {1.82, 3.93, 200.93, 97.04, 2.72, 1.49, 0.8, 6.8, 120.49, 80.54, 4.52, 3.4, 19.48, 11.49, 4.37, 2.92},
        {0.99, 7.26, 135.64, 74.24, 4.03, 1.94, 0.49, 11.03, 95.21, 69.64, 5.72, 3.93, 15.05, 10.13, 5.65, 3.31},
        {0.68, 10.6, 110.45, 71.09, 4.95, 2.03, 0.48, 11.23, 96.2, 66.22, 5.66, 4.13, 14.63, 9.79, 5.82, 3.43},
        /* table 3.16, GEMM */
        {124.83, 1, 9160.88, 2201.11, 1, 1, 116.56, 1, 11943.8, 6116.03, 1, 1, 1606.94, 499.66, 1, 1},
        {64.15, 1.95, 5248.3, 1658.71, 1.75, 1.33, 56.84, 2.05, 6162.93, 3320.87, 1.94, 1.84,
         786.53, 246.54, 2.04, 2.03},
        {32.22, 3.87, 3039.53, 1232.53, 3.01, 1.79, 34.26, 3.4, 4092.08, 2378.91, 2.92, 2.57,
         473.73, 148.22, 3.39, 3.37},
        {25.44, 4.91, 2468.35, 1049.06, 3.71, 2.1, 17.14, 6.8, 2471.08, 1614.09, 4.83, 3.79, 236.93, 74.1, 6.78, 6.74},
        {12.98, 9.62, 1562.17, 849.76, 5.86, 2.59, 8.61, 13.54, 1670.17, 1239.89, 7.15, 4.93,
         119.88, 38.12, 13.41, 13.11},
        {7.14, 17.49, 1136.23, 732.24, 8.06, 3.01, 5.56, 20.97, 1330.47, 1052.57, 8.98, 5.81,
         77.29, 24.49, 20.79, 20.4},
        {3.44, 1, 289.16, 92.74, 1, 1, 6.45, 1, 663.17, 340.64, 1, 1, 94.83, 33.55, 1, 1},  /* table 3.16, DIST */
        {2.03, 1.7, 177.53, 75.66, 1.63, 1.23, 3.34, 1.93, 370.88, 203.91, 1.79, 1.67, 51.59, 19.86, 1.84, 1.69},
        {1.33, 2.59, 142.91, 69.05, 2.02, 1.34, 1.69, 3.82, 219.11, 134.72, 3.03, 2.53, 28.37, 12.33, 3.34, 2.72},
        {1.15, 2.99, 136.36, 66.27, 2.12, 1.4, 0.88, 7.34, 144.69, 100.76, 4.58, 3.38, 16.51, 7.72, 5.75, 4.35},
        {0.9, 3.81, 118.28, 62.61, 2.44, 1.48, 0.5, 12.86, 111.27, 85.2, 5.96, 4, 10.99, 5.98, 8.63, 5.61},
        {0.98, 3.5, 132.67, 77.22, 2.18, 1.2, 0.41, 15.72, 95.19, 69.8, 6.97, 4.88, 10.14, 6.03, 9.36, 5.56},
    };
    /* clang-format on */
    static const struct { /* which column has the seconds, the joules, and how many times less these are */
        int time, energy, faster, less;
    } columns[] = {{0, 2, 1, 4}, {0, 3, 1, 5}, {6, 8, 7, 10}, {6, 9, 7, 11}, {6, 12, 7, 14}, {6, 13, 7, 15}};
    const double *before = NULL;

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        if (rows[i][1] == 1 && rows[i][4] == 1) before = rows[i]; /* the sequential program */
        assert_non_null(before);
        for (size_t k = 0; k < N(columns); k++) {
            const adept_taken a = of_one(before[columns[k].time], before[columns[k].energy]),
                              b = of_one(rows[i][columns[k].time], rows[i][columns[k].energy]);
            const adept_gain g = adept_gain_of(&a, &b);
            near(1 / (1 + g.time.share), rows[i][columns[k].faster], 0.09); /* seconds are printed with two digits */
            near(1 / (1 - g.energy.share), rows[i][columns[k].less],
                 0.022); /* one line's were rounded before: SpMV's */
            near(1 - g.edp.share, (1 - g.energy.share) * (1 + g.time.share), 1e-12);
            near(1 - g.ed2p.share, (1 - g.energy.share) * (1 + g.time.share) * (1 + g.time.share), 1e-12);
        }
    }
}

/* Table 3.17, every line. */
static void energy_is_power_times_time(void **state)
{
    (void)state;
    assert_int_equal(N(table_3_17), 24);
    for (size_t i = 0; i < N(table_3_17); i++)
        for (int part = 0; part < 2; part++) {
            const adept_taken t = of_one(table_3_17[i][0], table_3_17[i][1 + part]);
            near(t.energy_j.mean / t.time_s.mean / table_3_17[i][3 + part], 1, 1.5e-4);
            near(t.edp_js.mean, table_3_17[i][1 + part] * table_3_17[i][0], 1e-9 * t.edp_js.mean);
        }
}

/* The V100's power limits of Zeus's published profile (specs/methodology.md, section 5): 175 W has the least EDP. */
static void limits_of_a_v100(void **state)
{
    const adept_taken at_250 = of_one(26.6745, 6065.03), at_175 = of_one(29.4542, 5059.21),
                      at_150 = of_one(32.4129, 4830.30);
    const adept_gain a = adept_gain_of(&at_250, &at_175), b = adept_gain_of(&at_250, &at_150);

    (void)state;
    near(at_175.edp_js.mean, 149015, 1);
    near(100 * a.edp.share, 7.9, 0.05);
    near(100 * a.time.share, 10.4, 0.05);
    near(100 * b.energy.share, 20.4, 0.05);
    near(b.edp.share - a.edp.share, -0.047, 0.001);
}

static void noise_is_what_runs_differ_by(void **state)
{
    const double times_s[] = {10, 10.1, 9.9, 10.05, 9.95}, energies_j[] = {100, 101, 99, 100.5, 99.5};
    const double same_s[] = {10.02, 10.08, 9.94, 10.0, 9.97}, less_j[] = {80, 81, 79, 80.5, 79.5};
    double scratch[5];
    const adept_taken before = adept_taken_of(times_s, energies_j, 5, scratch),
                      after = adept_taken_of(same_s, less_j, 5, scratch);
    const adept_gain g = adept_gain_of(&before, &after), none = adept_gain_of(&before, &before);

    (void)state;
    /* sd of the times 0.0790569; t of 4 degrees 2.7764: half an interval is 0.098162 s, 0.98162 %, of both 1.3882 % */
    near(none.time.noise, 0.013882, 1e-5);
    near(none.time.share, 0, 0);
    near(g.energy.share, 0.2, 1e-12);
    assert_true(adept_change_is_beyond_noise(&g.energy) && adept_change_is_beyond_noise(&g.edp));
    assert_false(adept_change_is_beyond_noise(&g.time));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_of_amd_are_as_printed),    cmocka_unit_test(caps_of_nvidia_are_not_as_printed),
        cmocka_unit_test(clocks_of_nvidia_are_as_printed), cmocka_unit_test(accelerations_are_as_printed),
        cmocka_unit_test(energy_is_power_times_time),      cmocka_unit_test(limits_of_a_v100),
        cmocka_unit_test(noise_is_what_runs_differ_by),    cmocka_unit_test(processors_are_as_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
