/* How often an interval of a share holds the truth: 80 % of the time is what it says. Shares of one recording lean on
 * one another, so the bounds are loose. */
#include "adept_attribution.h"
#include "attribution_truth.h"
#include "cmocka_test.h"

#define SETS 100
#define PROCESSES 10

/* @return how many of the shares' intervals hold the truth */
static size_t count(uint64_t seed, size_t seconds, bool counts)
{
    attribution_truth t = {.n_processes = PROCESSES,
                           .n_intervals = seconds,
                           .noise = 0.05,
                           .lag_s = 1,
                           .jitter_s = 0.02,
                           .seed = 1000 + seed,
                           .counts = counts};
    const adept_attribution_view view = {.top = PROCESSES};
    adept_attribution_options o = adept_attribution_defaults();
    adept_attribution_model *m = NULL;
    adept_attribution_report *r = NULL;
    adept_error err;
    size_t n = 0;

    attribution_truth_make(&t);
    adept_attribution_source source = {&t.log, "made"};
    if (adept_attribution_fit(&m, &source, 1, &o, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_attribution_report_make(&r, m, &source, 1, &view, &err) != ADEPT_OK) fail_msg("%s", err.message);
    for (size_t g = 0; g < r->n_top; g++) {
        unsigned process = 0;
        assert_int_equal(sscanf(r->groups[g].label, "p%u", &process), 1);
        double truth = t.process_j[process] / t.all_j;
        n += r->groups[g].low <= truth && truth <= r->groups[g].high;
    }
    adept_attribution_report_free(r);
    adept_attribution_model_free(m);
    attribution_truth_free(&t);
    return n;
}

static double coverage(bool counts)
{
    const size_t seconds = 600;
    size_t n = 0;

    for (uint64_t seed = 0; seed < SETS; seed++)
        n += count(seed, seconds, counts);
    double share = (double)n / (SETS * PROCESSES);
    print_message("%zu s, a meter that %s: %.1f %% of the 80 %% intervals hold the truth\n", seconds,
                  counts ? "counts joules" : "reads watts", 100 * share);
    return share;
}

static void intervals_hold(void **state)
{
    (void)state;
    double counted = coverage(true), read = coverage(false); /* 78.7 % and 78.8 % */

    assert_true(counted > 0.7 && counted < 0.9);
    assert_true(read > 0.7 && read < 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(intervals_hold)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
