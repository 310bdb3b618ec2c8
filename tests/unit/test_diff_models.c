/* Differences between all bundled models, each against each: nothing is lost, and there and back is
 * nothing. */
#include "adept_diff.h"
#include "adept_handlers.h"
#include "bundled_models.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MODELS 64

typedef struct models {
    adept_profile *profiles[MAX_MODELS];
    size_t n;
} models;

static adept_hwprofile *gpu;
static const adept_run run = {.gpus = 2,
                              .power_limit_w = 150}; /* a shared clock: every module changes with the others */
static size_t n_renamed, n_changed, n_whole;

static void load(const char *path, void *context)
{
    models *m = context;
    adept_graph *graph = bundled_graph(path);
    adept_error err = {0};
    const adept_workload_config config = {.precision = ADEPT_AMP_FP16, .batch_size = 2};

    assert_true(m->n < MAX_MODELS);
    if (adept_profile_build(&m->profiles[m->n++], graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
        fail_msg("%s: %s", path, err.message);
    adept_graph_free(graph);
}

static adept_diff *diff(const adept_profile *old, const adept_profile *now, int64_t depth)
{
    const adept_diff_side a = {old, gpu, &run}, b = {now, gpu, &run};
    adept_diff *d = NULL;
    adept_error err = {0};

    if (adept_diff_new(&d, &a, &b, depth, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return d;
}

static void check_sums(const adept_diff *d)
{
    for (int k = 0; k < ADEPT_DIFF_AMOUNTS; k++) {
        double old = 0, now = 0;
        for (size_t i = 0; i < d->n_rows; i++) {
            old += d->rows[i].old.v[k];
            now += d->rows[i].now.v[k];
        }
        for (int i = 0; i < ADEPT_DIFF_PARTS; i++) {
            old += d->parts[i].old.v[k];
            now += d->parts[i].now.v[k];
        }
        assert_true(fabs(old - d->old_total.v[k]) <= 1e-9 * d->old_total.v[k]);
        assert_true(fabs(now - d->now_total.v[k]) <= 1e-9 * d->now_total.v[k]);
        /* no part takes away what a module has too much */
        for (int i = 0; i < ADEPT_DIFF_PARTS; i++)
            assert_true(d->parts[i].now.v[k] >= -1e-9 * d->now_total.v[k]);
    }
}

static int64_t count(const adept_diff *d, bool old)
{
    int64_t n = 0;

    for (size_t i = 0; i < d->n_rows; i++)
        n += old ? d->rows[i].old_count : d->rows[i].count;
    return n;
}

static int64_t executions(const adept_profile *p)
{
    int64_t n = 0;

    for (size_t i = 0; i < p->n_ops; i++)
        n += p->ops[i].count;
    return n;
}

static void check_self(const adept_profile *p)
{
    adept_diff *d = diff(p, p, 0);

    for (size_t i = 0; i < d->n_rows; i++) {
        assert_int_equal(d->rows[i].status, ADEPT_DIFF_SAME);
        for (int k = 0; k < ADEPT_DIFF_AMOUNTS; k++)
            assert_true(d->rows[i].old.v[k] == d->rows[i].now.v[k]);
        n_whole += d->rows[i].modules == 0;
    }
    assert_int_equal(count(d, false), executions(p));
    adept_diff_free(d);
}

static void check_pair(const adept_profile *a, const adept_profile *b, int64_t depth)
{
    adept_diff *d = diff(a, b, depth), *back = diff(b, a, depth);
    double sum = 0, back_sum = 0;

    check_sums(d);
    assert_int_equal(count(d, true), executions(a));
    assert_int_equal(count(d, false), executions(b));
    for (size_t i = 0; i < d->n_rows; i++) {
        sum += d->rows[i].now.v[ADEPT_DIFF_time_s] - d->rows[i].old.v[ADEPT_DIFF_time_s];
        n_renamed += d->rows[i].status == ADEPT_DIFF_RENAMED;
        n_changed += d->rows[i].status == ADEPT_DIFF_CHANGED;
    }
    for (size_t i = 0; i < back->n_rows; i++)
        back_sum += back->rows[i].now.v[ADEPT_DIFF_time_s] - back->rows[i].old.v[ADEPT_DIFF_time_s];
    assert_true(fabs(sum + back_sum) <= 1e-9 * (d->old_total.v[ADEPT_DIFF_time_s] + d->now_total.v[ADEPT_DIFF_time_s]));
    adept_diff_free(d);
    adept_diff_free(back);
}

static void all_bundled_models(void **state)
{
    (void)state;
    models m = {.n = 0};

    bundled_models_each(true, load, &m);
    for (size_t i = 0; i < m.n; i++) {
        check_self(m.profiles[i]);
        for (size_t k = 0; k < m.n; k++)
            check_pair(m.profiles[i], m.profiles[k], (int64_t)((i + k) % 4));
    }
    print_message("%zu models: %zu renamed, %zu changed, %zu not told apart\n", m.n, n_renamed, n_changed, n_whole);
    assert_true(m.n >= 20 && n_renamed > 10 && n_changed > 500 && n_whole > 5);
    for (size_t i = 0; i < m.n; i++)
        adept_profile_free(m.profiles[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bundled_models)};
    if (adept_hwprofile_open(&gpu, "v100-pcie-32gb", NULL) != ADEPT_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    adept_hwprofile_free(gpu);
    return failed;
}
