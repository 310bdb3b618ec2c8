/* A plan against adept_predict(): random runs of one profile on one GPU, every number and every refusal. */
#ifndef PLAN_COMPARE_H
#define PLAN_COMPARE_H
#include "cmocka_test.h"
#include "adept_plan.h"
#include "naive_buckets.h"

static struct {
    size_t runs, refused, limited, floored, bucketed, bound[4];
} seen;

static inline double draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

static inline int64_t choose(uint64_t *seed, int64_t n)
{
    return (int64_t)(draw(seed) * (double)n);
}

/* Seldom impossible: then plan and prediction must say the same. */
static inline adept_run random_run(const adept_specs *specs, adept_granularity equations, uint64_t *seed)
{
    static const int64_t counts[] = {0, 1, 2, 3, 4, 8, 16, 64};
    double low_w = isnan(specs->power_limit_min_w) ? 0.35 * specs->tdp_w : specs->power_limit_min_w;
    adept_run run = {.gpus = counts[choose(seed, 8)], .granularity = equations};
    if (choose(seed, 4)) run.power_limit_w = low_w + (specs->tdp_w - low_w) * (1.02 * draw(seed) - 0.01);
    if (choose(seed, 3) == 0) run.clock_hz = specs->clock_boost_hz * (0.1 + 0.92 * draw(seed));
    if (choose(seed, 3) == 0) {
        run.nodes = 1 + choose(seed, 2);
        run.internode_bytes_per_s = choose(seed, 9) ? 1e9 + 1e11 * draw(seed) : 0;
    }
    run.allreduce = (adept_allreduce)choose(seed, 3);
    run.overlap = (adept_overlap)choose(seed, 3);
    if (choose(seed, 3) == 0) run.bucket_bytes = exp(draw(seed) * 20);
    return run;
}

static inline void same(double got, double wanted, const char *name, const char *what, const adept_run *run)
{
    if ((isnan(got) && isnan(wanted)) || got == wanted) return;
    fail_msg("%s, %lld GPUs, %g W, %g Hz: %s is %.17g in the plan, %.17g predicted", what, (long long)run->gpus,
             run->power_limit_w, run->clock_hz, name, got, wanted);
}

static inline void compare_result(const adept_estimate *r, const adept_prediction *p, const adept_run *run,
                                  const char *what)
{
#define X(name) same(r->name, p->name, #name, what, run);
    X(step_time_s) X(power_avg_w) X(energy_step_j) X(edp_js) X(samples_per_s) X(energy_per_sample_j) X(pass_s)
    X(optimizer_s) X(fixed_s) X(clock_ratio) X(clock_hz) X(comm_s) X(comm_hidden_s) X(kernel_launch_s)
#undef X
    assert_true(r->energy_step_j == r->power_avg_w * r->step_time_s || isnan(r->energy_step_j));
    assert_true(r->peak_bytes == p->memory.peak_bytes && r->capacity_bytes == p->memory.capacity_bytes);
    assert_int_equal(adept_estimate_fits(r), p->memory.fits);
    assert_int_equal(r->bound, p->bound);
    seen.limited += (r->notes & ADEPT_NOTE_LIMITED) != 0;
    seen.floored += (r->notes & ADEPT_NOTE_ABOVE_LIMIT) != 0;
    seen.bucketed += p->comm_buckets > 0;
    seen.bound[r->bound]++;
}

/* Every operator's backward timed by itself, to rounding. */
static inline void compare_buckets(const adept_prediction *p, const adept_profile *profile, const adept_hwprofile *hw,
                                   const adept_run *run, const char *what)
{
    if (!(p->comm_buckets > 0)) return;
    naive_communication c = naive_communication_of(profile, hw, run, p->clock_ratio);
    double near_s = 1e-9 * p->step_time_s;
    if (!(c.buckets == p->comm_buckets && fabs(c.exposed_s - p->comm_s) <= near_s &&
          fabs(c.total_s - c.exposed_s - p->comm_hidden_s) <= near_s))
        fail_msg("%s: %g buckets, %.17g s exposed, %.17g s hidden; one by one %g, %.17g, %.17g", what, p->comm_buckets,
                 p->comm_s, p->comm_hidden_s, c.buckets, c.exposed_s, c.total_s - c.exposed_s);
}

static inline void compare_interval(const adept_plan *plan, const adept_run *run, const adept_estimate *r,
                                    const adept_prediction *p, const char *what)
{
    adept_estimate e = *r;
    adept_plan_interval(&e, plan, run);
    same(e.interval_level, p->interval_level, "interval_level", what, run);
    for (int i = 0; i < 2; i++) {
        same(e.interval_time_s[i], p->interval_time_s[i], "interval_time_s", what, run);
        same(e.interval_power_w[i], p->interval_power_w[i], "interval_power_w", what, run);
    }
    bool outside = false;
    for (size_t i = 0; i < p->n_warnings; i++)
        outside = outside || strstr(p->warnings[i], "calibrated with (");
    assert_int_equal((e.notes & ADEPT_NOTE_OUTSIDE) != 0, outside);
}

static inline void compare_runs(const adept_profile *profile, const adept_hwprofile *hw, int n_runs, uint64_t *seed,
                                const char *what)
{
    for (int e = ADEPT_GRANULARITY_OF_FIT; e <= ADEPT_GRANULARITY_OPERATOR; e++) {
        const adept_run how = {.granularity = (adept_granularity)e};
        adept_plan *plan = NULL;
        adept_prediction p;
        adept_error err = {0}, plan_err = {0};
        adept_status status = adept_predict(&p, profile, hw, &how, &err);
        assert_int_equal(adept_plan_new(&plan, profile, hw, &how, &plan_err), status);
        assert_string_equal(plan_err.message, err.message);
        for (int i = 0; i < n_runs && plan; i++) {
            const adept_run run = random_run(&hw->specs, how.granularity, seed);
            adept_estimate r;
            err = plan_err = (adept_error){0};
            status = adept_predict(&p, profile, hw, &run, &err);
            assert_int_equal(adept_plan_predict(&r, plan, &run, &plan_err), status);
            assert_string_equal(plan_err.message, err.message);
            seen.runs++;
            seen.refused += status != ADEPT_OK;
            if (status != ADEPT_OK) continue;
            compare_result(&r, &p, &run, what);
            compare_buckets(&p, profile, hw, &run, what);
            compare_interval(plan, &run, &r, &p, what);
        }
        adept_plan_free(plan);
    }
}

#endif
