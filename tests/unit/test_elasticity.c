/* Elasticities: the rows are exact derivatives ranked, beside them real predictions; what a step waits for sums to its
 * time, also by the power limit's own derivatives. */
#include "adept_elasticity.h"
#include "adept_handlers.h"
#include "bundled_models.h"
#include "saved_models.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t n_points, n_limited, n_whole, n_hosts;

static adept_hwprofile *open_gpu(const char *name)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (adept_hwprofile_open(&hw, name, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return hw;
}

static adept_profile *read_mlp(void)
{
    return saved_profile(ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json", 0, 0);
}

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

/* Largest effect on time first, then on energy if that is known, then by kind and name. */
static bool in_order(const adept_elasticity *x, const adept_elasticity *y)
{
    double by_time = fabs(x->exact.time) - fabs(y->exact.time),
           by_energy = fabs(x->exact.energy) - fabs(y->exact.energy);
    if (by_time != 0) return by_time > 0;
    if (by_energy < 0 || by_energy > 0) return by_energy > 0;
    return x->kind != y->kind ? x->kind < y->kind : strcmp(x->key, y->key) < 0;
}

static bool acts(const adept_elasticity *x)
{
    const double changes[] = {x->exact.time, x->exact.power, x->more.time, x->more.power};
    for (int i = 0; i < 4; i++)
        if (fabs(changes[i]) > 0) return true;
    return false;
}

static adept_elasticities *find(const adept_profile *profile, const adept_hwprofile *hw, const adept_run *run)
{
    adept_elasticities *e = calloc(1, sizeof *e);
    adept_error err = {0};
    assert_non_null(e);
    if (adept_elasticities_of(e, profile, hw, run, &err) != ADEPT_OK) fail_msg("%s: %s", hw->name, err.message);
    for (size_t i = 0; i < e->n; i++) {
        if (!acts(&e->rows[i])) fail_msg("%s has no effect", e->rows[i].key);
        if (i > 0 && !in_order(&e->rows[i - 1], &e->rows[i]))
            fail_msg("%s before %s", e->rows[i - 1].key, e->rows[i].key);
    }
    return e;
}

static double exact_time(const adept_elasticities *e, adept_lever_kind kind, const char *key)
{
    const adept_elasticity *row = adept_elasticity_find(e, kind, key);
    return row ? row->exact.time : 0.0;
}

/* ---- one workload, number by number ---- */

static void effects_are_predictions(void **state)
{
    (void)state;
    adept_profile *profile = read_mlp();
    adept_hwprofile *hw = open_gpu("a100-sxm-40gb");
    adept_run run = {.power_limit_w = 300};
    adept_elasticities *e = find(profile, hw, &run);
    adept_prediction base, p;
    assert_int_equal(adept_predict(&base, profile, hw, &run, NULL), ADEPT_OK);
    assert_true(e->time_s == base.step_time_s && e->power_w == base.power_avg_w);

    const adept_elasticity *row = adept_elasticity_find(e, ADEPT_LEVER_SPEC, "mem_bytes_per_s");
    assert_non_null(row);
    assert_true(row->value == hw->specs.mem_bytes_per_s);
    hw->specs.mem_bytes_per_s *= 1.1;
    assert_int_equal(adept_predict(&p, profile, hw, &run, NULL), ADEPT_OK);
    hw->specs.mem_bytes_per_s = row->value;
    assert_true(is_near(row->more.time, p.step_time_s / base.step_time_s - 1, 1e-12));
    assert_true(is_near(row->more.power, p.power_avg_w / base.power_avg_w - 1, 1e-12));
    assert_true(is_near(row->more.energy, p.energy_step_j / base.energy_step_j - 1, 1e-12));
    assert_true(is_near(row->more.edp, p.edp_js / base.edp_js - 1, 1e-12));

    /* energy is power times time, and the product with time once more */
    for (size_t i = 0; i < e->n; i++) {
        const adept_relative_change *x = &e->rows[i].exact;
        assert_true(is_near(x->energy, x->power + x->time, 1e-15) && is_near(x->edp, x->energy + x->time, 1e-15));
    }
    /* what the host takes is four numbers, each with its part of the time */
    static const char *const of_host[] = {"t_host_s", "t_tensor_s", "t_sample_s", "t_kern_s"};
    double host = 0;
    for (size_t i = 0; i < sizeof of_host / sizeof *of_host; i++)
        host += exact_time(e, ADEPT_LEVER_PARAMETER, of_host[i]);
    double all = exact_time(e, ADEPT_LEVER_DESIGN, "host_time");
    if (!(host > 0) || !is_near(all, host, 1e-6)) fail_msg("host_time %.12g, its parts %.12g", all, host);
    adept_hwprofile_adopt(hw, ADEPT_GRANULARITY_OPERATOR, NULL); /* parameters of its own, to change one by hand */
    row = adept_elasticity_find(e, ADEPT_LEVER_PARAMETER, "t_host_s");
    assert_non_null(row);
    for (size_t i = 0; i < hw->n_parameters; i++)
        if (strcmp(hw->parameters[i].name, "t_host_s") == 0) ((adept_parameter *)hw->parameters)[i].value *= 1.1;
    assert_int_equal(adept_predict(&p, profile, hw, &run, NULL), ADEPT_OK);
    assert_true(is_near(row->more.time, p.step_time_s / base.step_time_s - 1, 1e-9));
    free(e);
    adept_hwprofile_free(hw);
    adept_profile_free(profile);
}

static void impossible_steps_are_unknown(void **state)
{
    (void)state;
    adept_profile *profile = read_mlp();
    adept_hwprofile *hw = open_gpu("a100-sxm-40gb");
    adept_run run = {.clock_hz = hw->specs.clock_boost_hz, .granularity = ADEPT_GRANULARITY_OPERATOR};
    adept_elasticities *e = find(profile, hw, &run);
    const adept_elasticity *clock = adept_elasticity_find(e, ADEPT_LEVER_RUN, "clock_hz");
    assert_non_null(clock); /* 10 % more than the highest */
    assert_true(isnan(clock->more.time) && isnan(clock->more.energy) && isfinite(clock->exact.time));
    free(e);

    adept_specs specs = hw->specs;
    hw->specs.tdp_w = hw->specs.idle_w = NAN; /* power is unknown, time is not */
    run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL};
    e = find(profile, hw, &run);
    assert_true(isnan(e->power_w) && e->n > 3);
    for (size_t i = 0; i < e->n; i++)
        assert_true(isfinite(e->rows[i].exact.time) && isnan(e->rows[i].exact.energy) && isnan(e->rows[i].more.edp));
    hw->specs = specs;
    free(e);
    adept_hwprofile_free(hw);
    adept_profile_free(profile);
}

static void tenths_of_an_sm_are_none(void **state)
{
    (void)state;
    adept_profile *profile = read_mlp();
    adept_hwprofile *hw = open_gpu("cpu-xeon-avx512-1core");
    const adept_run run = {0};
    adept_elasticities *e = find(profile, hw, &run);
    const adept_elasticity *sms = adept_elasticity_find(e, ADEPT_LEVER_SPEC, "sm_count");
    assert_true(hw->specs.sm_count == 1 && sms && sms->whole && isnan(sms->more.time));
    free(e);
    adept_hwprofile_free(hw);
    adept_profile_free(profile);
}

static void names_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < ADEPT_WAITS; i++)
        assert_non_null(adept_wait_name(i));
    assert_null(adept_wait_name(ADEPT_WAITS));
    assert_string_equal(adept_lever_kind_name(ADEPT_LEVER_PARAMETER), "parameter");
    assert_null(adept_lever_kind_name(ADEPT_LEVER_PARAMETER + 1));
}

static void failures_are_those_of_predict(void **state)
{
    (void)state;
    adept_profile *profile = read_mlp();
    adept_hwprofile *hw = open_gpu("a100-sxm-40gb");
    static adept_elasticities e;
    adept_error err = {0};
    const adept_run run = {.power_limit_w = 5000};
    assert_int_equal(adept_elasticities_of(&e, profile, hw, &run, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "5000"));
    assert_true(e.n == 0);
    adept_hwprofile_free(hw);
    adept_profile_free(profile);
}

/* ---- every bundled model ---- */

/* The limit's share, from its own derivatives: limit, static power, and dynamic power by way of P_TDP. */
static double power_share(const adept_elasticities *e, const adept_run *run, const adept_hwprofile *hw)
{
    bool by_operator = adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR;
    const adept_elasticity *static_w = adept_elasticity_find(e, ADEPT_LEVER_PARAMETER, "p_static_w");
    double above = static_w ? hw->specs.tdp_w / (hw->specs.tdp_w - static_w->value) : 0;
    return -(exact_time(e, ADEPT_LEVER_RUN, "power_limit_w") + (static_w ? static_w->exact.time : 0) +
             above * exact_time(e, ADEPT_LEVER_PARAMETER, by_operator ? "u_active" : "c_power"));
}

static void check(const adept_profile *profile, const adept_hwprofile *hw, const adept_run *run, const char *path)
{
    adept_elasticities *e = find(profile, hw, run);
    double sum = 0;
    for (int i = 0; i < ADEPT_WAITS; i++) {
        /* a step takes no less when something takes longer, unless the clock rises with it */
        double beyond = e->wait[ADEPT_WAIT_power] != 0 ? 0.5 : 1e-6; /* differences, not derivatives */
        if (!isfinite(e->wait[i]) || e->wait[i] < -beyond || e->wait[i] > 1 + beyond)
            fail_msg("%s on %s: %s has the share %g", path, hw->name, adept_wait_name((size_t)i), e->wait[i]);
        sum += e->wait[i];
    }
    if (!is_near(sum, 1, 1e-6)) fail_msg("%s on %s: shares sum to %.12g", path, hw->name, sum);
    if (run->power_limit_w > 0 && !is_near(e->wait[ADEPT_WAIT_power], power_share(e, run, hw), 1e-5))
        fail_msg("%s on %s: the limit's share is %.12g, by its derivatives %.12g", path, hw->name,
                 e->wait[ADEPT_WAIT_power], power_share(e, run, hw));
    /* a prediction says the same of the host, where no limit makes its time one of clocks */
    adept_prediction *p = calloc(1, sizeof *p);
    assert_non_null(p);
    assert_int_equal(adept_predict(p, profile, hw, run, NULL), ADEPT_OK);
    if (p->host_s > 0 && e->wait[ADEPT_WAIT_power] == 0 &&
        !is_near(e->wait[ADEPT_WAIT_host], p->host_s / p->step_time_s, 1e-6))
        fail_msg("%s on %s: the host's share is %.12g, of the prediction %.12g", path, hw->name,
                 e->wait[ADEPT_WAIT_host], p->host_s / p->step_time_s);
    n_hosts += p->host_s > 0 && e->wait[ADEPT_WAIT_power] == 0;
    free(p);
    for (size_t i = 0; i < e->n; i++) {
        n_whole += e->rows[i].whole && e->rows[i].more.time * e->rows[i].exact.time < 0;
        if (e->rows[i].kind != ADEPT_LEVER_DESIGN) continue;
        if (strcmp(e->rows[i].key, "peaks") == 0 && e->wait[ADEPT_WAIT_power] == 0 && e->rows[i].exact.time > 1e-6)
            fail_msg("%s on %s: by higher peaks %g", path, hw->name, e->rows[i].exact.time);
    }
    n_points++;
    n_limited += e->wait[ADEPT_WAIT_power] > 0;
    free(e);
}

static void check_model(const char *path, void *context)
{
    adept_hwprofile **gpus = context;
    adept_graph *graph = bundled_graph(path);
    adept_error err = {0};
    for (int i = 0; i < 2; i++) {
        const adept_workload_config config = {.precision = i ? ADEPT_AMP_FP16 : ADEPT_FP32};
        adept_profile *profile = NULL;
        if (adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
            fail_msg("%s: %s", path, err.message);
        for (int j = 0; gpus[j]; j++) {
            adept_run run = {.gpus = j == 1 ? 4 : 1,
                             .granularity = i && j == 2 ? ADEPT_GRANULARITY_MODEL : ADEPT_GRANULARITY_OPERATOR};
            check(profile, gpus[j], &run, path);
            run.power_limit_w = fmax(0.7 * gpus[j]->specs.tdp_w, gpus[j]->specs.power_limit_min_w);
            check(profile, gpus[j], &run, path);
        }
        adept_profile_free(profile);
    }
    adept_graph_free(graph);
}

static void all_bundled_models(void **state)
{
    (void)state;
    adept_hwprofile *gpus[] = {open_gpu("a100-sxm-40gb"), open_gpu("h100-sxm-80gb"), open_gpu("t4"), NULL};
    size_t n_models = bundled_models_each(false, check_model, gpus);
    print_message("%zu models, %zu points, %zu limited; %zu finite steps the other way than the derivative\n", n_models,
                  n_points, n_limited, n_whole);
    assert_true(n_models == 20 && n_limited > 30 && n_hosts > 30);
    for (int i = 0; gpus[i]; i++)
        adept_hwprofile_free(gpus[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_are_predictions),
        cmocka_unit_test(impossible_steps_are_unknown),
        cmocka_unit_test(names_are_complete),
        cmocka_unit_test(tenths_of_an_sm_are_none),
        cmocka_unit_test(failures_are_those_of_predict),
        cmocka_unit_test(all_bundled_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
