/* Gains against a baseline, by the published tables of the thesis, chapters 3.4 and 3.5: what is printed there follows
 * from the powers and times that are printed there, but for the caps of NVIDIA's GPU. */
#include "adept_gain.h"
#include "cmocka_test.h"

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

/* The thesis prints 37.4, 34.2, 37.4, 34.1, 37.3, 41.8 and 32.5, 16.3, 32.4, 24.2, 29.9, 23.9: no such gains follow. */
static void caps_of_nvidia_are_not_as_printed(void **state)
{
    static const row rows[] = {
        {{254.8, 71.9}, {182.7, 72.9}, 0.9, 37.4, 20.3}, {{413.5, 64.7}, {303.3, 72.5}, 0, 34.2, 21.4},
        {{255.6, 70.0}, {188.7, 72.7}, 1.1, 37.4, 17.9}, {{108.7, 69.4}, {104.0, 72.2}, 0.4, 34.1, 0.3},
        {{54.1, 58.5}, {52.5, 60.2}, 2.3, 37.3, -4.7},   {{46.8, 57.8}, {44.2, 59.2}, -0.9, 41.8, 2.9},
        {{229.8, 69.5}, {192.8, 71.9}, -0.9, 32.5, 13.1}, {{407.3, 68.0}, {291.7, 71.4}, 14.5, 16.3, -0.2},
        {{268.4, 71.2}, {186.9, 73.0}, 8.1, 32.4, 10.6}, {{188.2, 68.4}, {173.9, 72.7}, 0.3, 24.2, 3.3},
        {{232.8, 71.1}, {185.7, 72.9}, 3.2, 29.9, 9.4},  {{234.9, 66.4}, {208.5, 70.1}, 0.6, 23.9, 6.4},
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
        {{254.8, 71.9}, {177.4, 72.1}, 0.8, 21.4, 21.4}, {{413.5, 64.7}, {257.1, 67.9}, 0.1, 30.6, 30.6},
        {{255.6, 70.0}, {177.7, 70.4}, 0.6, 21.6, 21.6}, {{229.8, 69.5}, {166.8, 70.4}, -7.2, 30.8, 30.8},
        {{407.3, 68.0}, {238.4, 69.4}, 15.0, 12.8, 12.8}, {{268.4, 71.2}, {193.5, 71.1}, 7.6, 8.6, 8.6},
        {{232.8, 71.1}, {168.0, 71.4}, 7.7, 6.5, 6.5},   {{234.9, 66.4}, {172.1, 67.7}, -14.2, 40.5, 40.5},
    };

    (void)state;
    mean_of(rows, N(rows), 2.5);
}

/* Tables 3.15 and 3.16: time and joules of a package, before and after, and how many times less, as printed. */
static void accelerations_are_as_printed(void **state)
{
    static const struct {
        double before_s, before_j, after_s, after_j, faster, less;
    } rows[] = {
        {14.26, 1108.50, 15.22, 1157.10, 0.94, 0.96},   {14.26, 1108.50, 11.32, 897.72, 1.26, 1.23},
        {7.17, 547.18, 3.19, 251.31, 2.25, 2.18},       {124.83, 9160.88, 29.02, 2151.76, 4.30, 4.26},
        {3.44, 289.16, 1.70, 161.99, 2.03, 1.79},       {5.43, 544.94, 2.30, 237.01, 2.36, 2.30},
        {116.56, 11943.84, 29.14, 2920.22, 4.00, 4.09}, {6.45, 663.17, 2.49, 253.93, 2.59, 2.61},
        {124.83, 9160.88, 7.14, 1136.23, 17.49, 8.06},  {116.56, 11943.84, 5.56, 1330.47, 20.97, 8.98},
        {14.26, 1108.50, 1.63, 229.85, 8.72, 4.82},     {9.91, 991.37, 0.71, 159.36, 14.03, 6.22},
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        const adept_taken before = of_one(rows[i].before_s, rows[i].before_j),
                          after = of_one(rows[i].after_s, rows[i].after_j);
        const adept_gain g = adept_gain_of(&before, &after);
        near(1 / (1 + g.time.share), rows[i].faster, 0.08); /* seconds are printed with two digits */
        near(1 / (1 - g.energy.share), rows[i].less, 0.006);
        near(1 - g.edp.share, (1 - g.energy.share) * (1 + g.time.share), 1e-12);
        near(1 - g.ed2p.share, (1 - g.energy.share) * (1 + g.time.share) * (1 + g.time.share), 1e-12);
    }
}

/* Table 3.17, JAX on an A100: seconds, joules and watts of the GPU. */
static void energy_is_power_times_time(void **state)
{
    static const double rows[][3] = {{22.707, 1019.163, 44.883},  {2.868, 1124.698, 392.185},
                                     {16.405, 4199.758, 256.004}, {20.468, 1139.352, 55.665},
                                     {4.507, 496.708, 110.197},   {5.761, 1409.745, 244.721}};

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        const adept_taken t = of_one(rows[i][0], rows[i][1]);
        near(t.energy_j.mean / t.time_s.mean / rows[i][2], 1, 1.1e-4);
        near(t.edp_js.mean, rows[i][1] * rows[i][0], 1e-9 * t.edp_js.mean);
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
        cmocka_unit_test(noise_is_what_runs_differ_by),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
