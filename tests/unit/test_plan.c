/* Plans on small workloads: every number of adept_predict(), at the edges too, and from many threads at once. */
#include "operator_toy.h"
#include "plan_compare.h"
#include "saved_models.h"
#include <pthread.h>

static adept_plan *plan_of(const fixture *f)
{
    adept_plan *plan = NULL;
    adept_error err = {0};
    if (adept_plan_new(&plan, &f->prof, &f->gpu.hw, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return plan;
}

/* A GPU that no plan can be made of leaves nothing behind for the next. */
static void a_family_forgets_what_failed(void **state)
{
    (void)state;
    fixture f;
    adept_plan_family *family = NULL;
    const adept_plan *plan = NULL;
    adept_estimate first, again;
    adept_error err = {0};
    fresh(&f, 500, 1);
    set(&f, "p_static_w", 50);
    assert_int_equal(adept_plan_family_new(&family, &f.prof, false, &err), ADEPT_OK);
    assert_int_equal(adept_plan_family_at(&plan, family, &f.gpu.hw, NULL, &err), ADEPT_OK);
    assert_int_equal(adept_plan_predict(&first, plan, NULL, &err), ADEPT_OK);
    set(&f, "p_static_w", 2 * f.gpu.hw.specs.tdp_w);
    assert_int_equal(adept_plan_family_at(&plan, family, &f.gpu.hw, NULL, &err), ADEPT_E_INVALID);
    set(&f, "p_static_w", 50);
    assert_int_equal(adept_plan_family_at(&plan, family, &f.gpu.hw, NULL, &err), ADEPT_OK);
    assert_int_equal(adept_plan_predict(&again, plan, NULL, &err), ADEPT_OK);
    assert_memory_equal(&again, &first, sizeof first);
    adept_plan_family_free(family);
}

/* Every mixture of hot products and cool streams, voltage floors anywhere or nowhere. */
static void toys_agree(void **state)
{
    (void)state;
    uint64_t seed = 3;
    fixture f;
    for (int i = 0; i < 300; i++) {
        fresh(&f, 1 + choose(&seed, 2000), 1 + choose(&seed, 100));
        set(&f, "v_slope", i % 5 ? 1.5 * draw(&seed) : 0.0);
        set(&f, "v_min", 0.4 + 0.6 * draw(&seed));
        set(&f, "mem_core_share", draw(&seed));
        set(&f, "clock_knee", 0.01 + 0.99 * draw(&seed));
        set(&f, "e_simt_j", 1e-12 * exp(4 * draw(&seed)));
        set(&f, "e_mem_j", 1e-11 * exp(3 * draw(&seed)));
        set(&f, "t_host_s", 1e-7 * exp(6 * draw(&seed)));
        compare_runs(&f.prof, &f.gpu.hw, 30, &seed, "toy");
    }
    assert_true(seen.limited > 500 && seen.floored > 20);
}

static void saved_profile_agrees_on_all_gpus(void **state)
{
    (void)state;
    adept_profile *profile = saved_profile(ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json", 0, 0);
    adept_error err = {0};
    uint64_t seed = 5;
    for (size_t i = 0; adept_hwprofile_builtin_name(i); i++) {
        adept_hwprofile *hw = NULL;
        assert_int_equal(adept_hwprofile_open(&hw, adept_hwprofile_builtin_name(i), &err), ADEPT_OK);
        compare_runs(profile, hw, 30, &seed, adept_hwprofile_builtin_name(i));
        adept_hwprofile_free(hw);
    }
    adept_profile_free(profile);
}

/* At every clock that the table has a node at or near, the limit leaves just that clock. */
static void limits_at_nodes(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 500, 1);
    set(&f, "v_slope", 1.0);
    set(&f, "v_min", 0.6);
    set(&f, "e_simt_j", 4e-11);
    f.gpu.hw.specs.power_limit_min_w = NAN; /* any limit up to the board's */
    f.gpu.hw.specs.power_limit_max_w = 5000;
    adept_plan *plan = plan_of(&f);
    for (int i = 0; i <= 80; i++) {
        adept_estimate r;
        adept_prediction p;
        adept_run run = {.clock_hz = f.gpu.hw.specs.clock_boost_hz * (0.2 + 0.01 * i), .power_limit_w = 5000};
        assert_int_equal(adept_plan_predict(&r, plan, &run, NULL), ADEPT_OK);
        assert_false(r.notes & ADEPT_NOTE_LIMITED);
        run.power_limit_w = r.power_avg_w;
        assert_int_equal(adept_plan_predict(&r, plan, &run, NULL), ADEPT_OK);
        assert_int_equal(adept_predict(&p, &f.prof, &f.gpu.hw, &run, NULL), ADEPT_OK);
        compare_result(&r, &p, &run, "node");
    }
    adept_plan_free(plan);
}

static void without_tdp_power_is_unknown(void **state)
{
    (void)state;
    uint64_t seed = 11;
    fixture f;
    adept_estimate r;
    fresh(&f, 10, 10);
    f.gpu.hw.specs.tdp_w = NAN;
    adept_plan *plan = plan_of(&f);
    assert_int_equal(adept_plan_predict(&r, plan, NULL, NULL), ADEPT_OK);
    assert_true(isnan(r.power_avg_w) && isnan(r.energy_step_j) && r.step_time_s > 0 && !(r.notes & ADEPT_NOTE_LIMITED));
    adept_plan_free(plan);
    compare_runs(&f.prof, &f.gpu.hw, 20, &seed, "without tdp_w");
}

static void nothing_to_run_is_refused(void **state)
{
    (void)state;
    fixture f;
    adept_plan *plan = NULL;
    adept_prediction p;
    adept_error err = {0}, predict_err = {0};
    fresh(&f, 10, 10);
    f.kernels[0].flops = NAN;
    adept_status status = adept_predict(&p, &f.prof, &f.gpu.hw, NULL, &predict_err);
    assert_int_not_equal(status, ADEPT_OK);
    assert_int_equal(adept_plan_new(&plan, &f.prof, &f.gpu.hw, NULL, &err), status);
    assert_string_equal(err.message, predict_err.message);
    assert_null(plan);
    adept_plan_free(NULL);
}

/* ---- threads ---- */

#define N_THREADS 8
#define N_SHARED_RUNS 500

typedef struct job {
    const adept_plan *plan;
    const adept_run *runs;
    adept_estimate *results;
} job;

static void *predict_all(void *argument)
{
    job *j = argument;
    for (int i = 0; i < N_SHARED_RUNS; i++)
        if (adept_plan_predict(&j->results[i], j->plan, &j->runs[i], NULL) != ADEPT_OK) j->results[i].step_time_s = -1;
    return NULL;
}

static bool same_bits(const adept_estimate *a, const adept_estimate *b)
{
    return a->step_time_s == b->step_time_s &&
           (a->step_time_s < 0 || (a->power_avg_w == b->power_avg_w && a->bound == b->bound));
}

/* One plan, eight threads: the bits of one thread. Also what is run under ThreadSanitizer (docs/PLANS.md). */
static void threads_share_a_plan(void **state)
{
    (void)state;
    static adept_estimate results[N_THREADS][N_SHARED_RUNS];
    static adept_run runs[N_SHARED_RUNS];
    uint64_t seed = 17;
    fixture f;
    pthread_t threads[N_THREADS];
    job jobs[N_THREADS];
    fresh(&f, 800, 20);
    set(&f, "e_simt_j", 4e-11);
    adept_plan *plan = plan_of(&f);
    for (int i = 0; i < N_SHARED_RUNS; i++)
        runs[i] = random_run(&f.gpu.hw.specs, ADEPT_GRANULARITY_OF_FIT, &seed);
    for (int t = 0; t < N_THREADS; t++) {
        jobs[t] = (job){plan, runs, results[t]};
        assert_int_equal(pthread_create(&threads[t], NULL, predict_all, &jobs[t]), 0);
    }
    for (int t = 0; t < N_THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    size_t n_done = 0;
    for (int i = 0; i < N_SHARED_RUNS; i++) {
        n_done += results[0][i].step_time_s > 0;
        for (int t = 1; t < N_THREADS; t++)
            assert_true(same_bits(&results[t][i], &results[0][i]));
    }
    assert_true(n_done > N_SHARED_RUNS / 4);
    adept_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toys_agree),
        cmocka_unit_test(a_family_forgets_what_failed),
        cmocka_unit_test(saved_profile_agrees_on_all_gpus),
        cmocka_unit_test(limits_at_nodes),
        cmocka_unit_test(without_tdp_power_is_unknown),
        cmocka_unit_test(nothing_to_run_is_refused),
        cmocka_unit_test(threads_share_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
