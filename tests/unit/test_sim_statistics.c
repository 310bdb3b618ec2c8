/** @file test_sim_statistics.c  The table of metrics, and paired differences with their bootstrap intervals. */
#include "adept_random.h"
#include "adept_sim_statistics.h"
#include "adept_statistics.h"
#include "cmocka_test.h"

/* ---------------------------------------------------------------- metrics ---------------------------------------- */

/* Every member of an outcome has one row, in its order, and a value goes there and comes back. */
static void test_every_member_is_a_metric(void **state)
{
    adept_outcome o;
    size_t end = 0, n = 0;

    (void)state;
    for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++, n++) {
        assert_int_equal(m->at, end); /* nothing of adept_outcome is left out */
        end = m->at + (m->kind == ADEPT_SIM_METRIC_NUMBER  ? sizeof(double)
                       : m->kind == ADEPT_SIM_METRIC_COUNT ? sizeof(size_t)
                                                           : sizeof(uint64_t));
        assert_ptr_equal(adept_sim_metric_by_name(m->name), m);
        adept_sim_metric_set(m, &o, (double)n + 3);
    }
    assert_int_equal(end, sizeof o);
    n = 0;
    for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++, n++)
        assert_true(adept_sim_metric_get(m, &o) == (double)n + 3);
    assert_true(o.n_jobs == 3 && o.n_finished == 4 && o.end_s == 6 && o.n_decisions == n + 2);
    assert_null(adept_sim_metric_by_name("energy"));
    o.makespan_s = INFINITY;
    assert_true(isnan(adept_sim_metric_get(adept_sim_metric_by_name("makespan_s"), &o)));
}

static void test_which_is_better(void **state)
{
    static const struct {
        const char *name;
        int better;
    } rows[] = {{"throughput_per_h", 1}, {"energy_j", -1}, {"jain", 1},
                {"miss_rate", -1},       {"n_jobs", 0},    {"n_unfinished", -1}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(adept_sim_metric_by_name(rows[i].name)->better, rows[i].better);
}

/* ---------------------------------------------------------------- pairs ------------------------------------------ */

static adept_paired paired(const double *a, const double *b, size_t n, int better)
{
    adept_paired p;

    assert_int_equal(adept_paired_differences(&p, a, b, n, better, NULL, NULL), ADEPT_OK);
    return p;
}

/* Differences -1, -3, 0, -4: mean -2 of a mean of 10. Two seeds alone would hardly differ; pairs do. */
static void test_differences_by_hand(void **state)
{
    const double a[] = {8, 12, 6, 14}, b[] = {7, 9, 6, 10};
    adept_paired p = paired(a, b, 4, -1);

    (void)state;
    assert_true(p.n == 4 && p.wins == 3);
    assert_float_equal(p.difference, -2, 1e-12);
    assert_float_equal(p.share, -0.2, 1e-12);
    /* resampled means lie between those of one seed alone; both tails beyond -3.75 and -0.25 have less than 2.5 % */
    assert_true(p.low >= -3.75 && p.low <= -3.25 && p.high <= -0.25 && p.high >= -0.75);
    /* of the share: a seed alone says -1/8, -3/12, 0 or -4/14 */
    assert_true(p.share_low >= -4. / 14 && p.share_low <= -0.26 && p.share_high <= -0.03 && p.share_high >= -0.08);
    assert_int_equal(paired(a, b, 4, 1).wins, 0);
    assert_int_equal(paired(a, b, 4, 0).wins, 0);
    adept_paired again = paired(a, b, 4, -1);
    assert_memory_equal(&again, &p, sizeof p);
}

/* Drawn for many metrics, or for each: the same. */
static void test_shared_resamples(void **state)
{
    const double a[] = {8, 12, 6, 14, 9}, b[] = {7, 9, 6, 10, 3}, holes[] = {7, NAN, 6, 10, 3};
    adept_resamples resamples;
    adept_paired p, q;

    (void)state;
    assert_int_equal(adept_resamples_draw(&resamples, 5, NULL), ADEPT_OK);
    assert_int_equal(adept_paired_differences(&p, a, b, 5, -1, &resamples, NULL), ADEPT_OK);
    q = paired(a, b, 5, -1);
    assert_memory_equal(&p, &q, sizeof p);
    assert_int_equal(adept_paired_differences(&p, a, holes, 5, -1, &resamples, NULL), ADEPT_OK); /* four are known */
    q = paired(a, holes, 5, -1);
    assert_memory_equal(&p, &q, sizeof p);
    adept_resamples_free(&resamples);
}

static void test_what_is_not_known(void **state)
{
    const double a[] = {1, NAN, 3}, b[] = {2, 5, NAN}, zero[] = {0, 0, 0};
    adept_paired p = paired(a, b, 3, 1);

    (void)state;
    assert_true(p.n == 1 && p.wins == 1 && p.difference == 1 && p.share == 1 && isnan(p.low) && isnan(p.high));
    p = paired(a, b, 0, 1);
    assert_true(p.n == 0 && isnan(p.difference) && isnan(p.share));
    p = paired(zero, zero, 3, 1);
    assert_true(p.difference == 0 && p.share == 0 && p.low == 0 && p.high == 0 && p.wins == 0);
    p = paired(zero, (const double[]){1, 1, 1}, 3, 1);
    assert_true(p.difference == 1 && isnan(p.share) && p.low == 1 && p.high == 1 && isnan(p.share_low));
    /* what vanishes in every seed is gone by 100 %, surely, however much there was */
    p = paired((const double[]){1, 5, 9}, zero, 3, -1);
    assert_true(p.share == -1 && p.share_low == -1 && p.share_high == -1 && p.low < p.high);
}

/* By Box and Muller, of a stream that the bootstrap does not use. */
static double normal(uint64_t seed, uint64_t index)
{
    double u = adept_random(seed, ADEPT_RANDOM_SIZES, 2 * index),
           v = adept_random(seed, ADEPT_RANDOM_SIZES, 2 * index + 1);

    return sqrt(-2 * log1p(-u)) * cos(2 * acos(-1) * v);
}

#define SAMPLES 300
#define SEEDS 30

/* 95 % intervals of 300 samples, each 30 normal differences around 5, hold the 5 in 91 to 98 % of them: percentiles are
 * a little narrow, and 300 have a deviation of 1.3 %. */
static void test_intervals_cover(void **state)
{
    size_t covered = 0;

    (void)state;
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        double a[SEEDS], b[SEEDS];
        for (uint64_t i = 0; i < SEEDS; i++) {
            a[i] = 100 * adept_random(sample, ADEPT_RANDOM_USERS, i); /* what both meet cancels out */
            b[i] = a[i] + 5 + normal(sample, i);
        }
        adept_paired p = paired(a, b, SEEDS, 1);
        double half = (p.high - p.low) / 2;
        assert_true(half > 0.15 && half < 0.65); /* 1.96 / sqrt(30) = 0.36 */
        covered += p.low <= 5 && 5 <= p.high;
    }
    assert_in_range(covered, 273, 294);
}

/* 100,000 seeds: an interval in bounded time and memory, as wide as the theory has it: 2 * 1.96 / sqrt(100,000) =
 * 0.0124. */
static void test_many_seeds(void **state)
{
    enum { MANY = 100000 };
    double *values = malloc(2 * MANY * sizeof *values);

    (void)state;
    assert_non_null(values);
    for (uint64_t i = 0; i < MANY; i++) {
        values[i] = 10;
        values[MANY + i] = 11 + normal(1, i);
    }
    adept_paired p = paired(values, values + MANY, MANY, 1);
    assert_true(p.low < 1.01 && p.high > 0.99 && p.high - p.low > 0.011 && p.high - p.low < 0.014);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_member_is_a_metric),
        cmocka_unit_test(test_which_is_better),
        cmocka_unit_test(test_differences_by_hand),
        cmocka_unit_test(test_shared_resamples),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_intervals_cover),
        cmocka_unit_test(test_many_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
