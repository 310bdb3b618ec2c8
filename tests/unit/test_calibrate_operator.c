/** @file test_calibrate_operator.c  Fits of granularity "operator": what is free, the prior of known spread, the
 * rounded loss, a base of measured kernels, threads and checkpoints. */
#include "adept_calibrate.h"
#include "checkpoint.h"
#include "adept_fit_report.h"
#include "adept_kernels.h"
#include "adept_operator_model.h"
#include "objective.h"
#include "synthetic_rows.h"
#include "cmocka_test.h"
#include <unistd.h>

#define N THESIS_N_POINTS

/* Within two spreads of the defaults, as a real GPU would be. */
static const adept_parameter truth[] = {
    {"beta_gemm", 0.8},   {"beta_conv", 0.7},    {"beta_mem", 0.72},    {"beta_tensor", 0.5},
    {"t_host_s", 7e-6},  {"t_fixed_s", 0.0015}, {"c_opt", 1.4},        {"p_static_w", 70},
    {"e_simt_j", 2e-11},  {"e_mem_j", 9e-11},    {"e_tensor_j", 2e-12},
};
#define N_TRUTH (sizeof truth / sizeof truth[0])

/* The 32 configurations, measured on a GPU of that truth; `kernels`: NULL, or whose tiles and defaults it has. */
static synthetic *made(double noise, const adept_kernel_fit *kernels)
{
    synthetic *s = synthetic_new("a100-sxm-40gb", 0, 1);
    adept_error err = {0};
    assert_non_null(s);
    if (kernels) assert_int_equal(adept_kernel_fit_apply(s->hw, kernels, NULL, 0, 1, &err), ADEPT_OK);
    thesis_suite_give_dimensions(&s->suite);
    adept_evaluator_free(s->evaluator);
    s->evaluator = NULL;
    if (adept_evaluator_new(&s->evaluator, s->suite.points, N, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err) !=
        ADEPT_OK)
        fail_msg("%s", err.message);
    assert_true(adept_evaluator_n_parameters(s->evaluator) <= SYNTHETIC_MAX_PARAMETERS);
    for (size_t i = 0; i < adept_evaluator_n_parameters(s->evaluator); i++)
        s->truth[i] = adept_evaluator_default(s->evaluator, i);
    synthetic_set(s, truth, N_TRUTH);
    synthetic_measure(s, noise, 5);
    return s;
}

static adept_fit *fit_of(const synthetic *s, const adept_fit_options *options)
{
    adept_fit *fit = NULL;
    adept_error err = {0};
    if (adept_calibrate(&fit, s->rows, N, s->hw, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return fit;
}

static const adept_fit_parameter *parameter(const adept_fit *fit, const char *name)
{
    for (size_t i = 0; i < fit->n_parameters; i++)
        if (strcmp(fit->parameters[i].info.name, name) == 0) return &fit->parameters[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

static adept_fit_options operator_options(void)
{
    adept_fit_options o = adept_fit_options_for(ADEPT_GRANULARITY_OPERATOR);
    o.max_generations = 0; /* descents alone */
    o.prior_rows = 0.05;   /* the truth is two spreads away, further than most boards */
    return o;
}

/* ---- what is found ---- */

static void test_recovers_truth(void **state)
{
    (void)state;
    synthetic *s = made(0, NULL);
    adept_fit_options o = operator_options();
    o.prior_rows = 1e-4; /* exact rows: the prior only holds what they do not tell */
    adept_fit *fit = fit_of(s, &o);
    assert_true(fit->loss.time < 0.3 && fit->loss.power < 0.5);
    for (size_t k = 0; k < 4; k++) {
        const adept_fit_parameter *p = parameter(fit, truth[k].name);
        if (fabs(p->value / truth[k].value - 1.0) > 0.05)
            fail_msg("%s = %g instead of %g", p->info.name, p->value, truth[k].value);
    }
    adept_fit_free(fit);
    o.prior_rows = 0.0; /* as it is used: still close */
    fit = fit_of(s, &o);
    assert_true(fit->loss.time < 6 && fit->loss.power < 2);
    adept_fit_free(fit);
    synthetic_free(s);
}

static void test_noise_is_not_met(void **state)
{
    (void)state;
    synthetic *s = made(0.05, NULL);
    adept_fit_options o = operator_options();
    adept_fit *fit = fit_of(s, &o);
    double off = 0.0, time_s[N], power_w[N];
    adept_evaluate(s->evaluator, fit->theta, time_s, power_w);
    for (size_t i = 0; i < N; i++) /* against the times without noise */
        off += fabs(time_s[i] / s->time_s[i] - 1.0) * 100.0 / N;
    /* normal noise of 5 % has a mean size of 4 % */
    assert_true(fit->loss.time < 1.2 * 4.0);
    assert_true(off < 4.0);
    adept_fit_free(fit);
    synthetic_free(s);
}

/* ---- what is free ---- */

static void test_free_parameters(void **state)
{
    (void)state;
    static const char *const freed[] = {"r_tile_gemm"};
    synthetic *s = made(0, NULL);
    adept_fit_options o = operator_options();
    o.restarts = 0;
    adept_fit *fit = fit_of(s, &o);
    assert_int_equal(parameter(fit, "beta_gemm")->state, ADEPT_FIT_FREE);
    assert_int_equal(parameter(fit, "e_mem_j")->state, ADEPT_FIT_FREE);
    assert_int_equal(parameter(fit, "r_tile_gemm")->state, ADEPT_FIT_CONVENTION);
    assert_true(strstr(parameter(fit, "r_tile_gemm")->reason, "kernels") != NULL);
    assert_int_equal(parameter(fit, "overlap")->state, ADEPT_FIT_CONVENTION);
    adept_fit_free(fit);
    o.freed = freed;
    o.n_freed = 1;
    fit = fit_of(s, &o);
    assert_int_equal(parameter(fit, "r_tile_gemm")->state, ADEPT_FIT_FREE);
    adept_fit_free(fit);
    /* Times alone: of the power law, only the energy of arithmetic is tried, since a board may throttle by itself. */
    for (size_t i = 0; i < N; i++)
        s->rows[i].power_avg_w = NAN;
    fit = fit_of(s, &o);
    assert_int_equal(parameter(fit, "e_mem_j")->state, ADEPT_FIT_UNDETERMINED);
    assert_non_null(strstr(parameter(fit, "e_mem_j")->reason, "power limit"));
    assert_null(strstr(parameter(fit, "e_simt_j")->reason, "power limit"));
    adept_fit_free(fit);
    synthetic_free(s);
}

static void test_refused(void **state)
{
    (void)state;
    synthetic *s = made(0, NULL);
    adept_fit *fit = NULL;
    adept_error err = {0};
    adept_fit_options o = operator_options(), scalars = o, stage = o, all = o, rows = o, models = o;
    scalars.scalars = synthetic_scalars;
    scalars.n_scalars = 1;
    stage.stage = "S1";
    all.compare_saturations = true;
    rows.prior_rows = NAN;
    models.prior_models = -1;
    const adept_fit_options *const bad[] = {&scalars, &stage, &all, &rows, &models};
    static const char *const messages[] = {"targeted scalars", "stages", "saturation functions", "prior of nan rows",
                                           "prior of -1 models"};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(adept_calibrate(&fit, s->rows, N, s->hw, bad[i], &err), ADEPT_E_USAGE);
        assert_null(fit);
        if (!strstr(err.message, messages[i])) fail_msg("\"%s\" lacks \"%s\"", err.message, messages[i]);
    }
    synthetic_free(s);
}

/* beta_gemm of granularity "model" is another number: it must not become the start. */
static void test_base_of_other_granularity(void **state)
{
    (void)state;
    static const adept_parameter fitted[] = {{"beta_gemm", 0.31}};
    static const adept_scalar scalar = {"x_gemm", ADEPT_TARGET_MODEL, "*", ADEPT_TERM_GEMM, 1.5};
    synthetic *s = made(0, NULL);
    s->hw->calibrated = true;
    s->hw->granularity = ADEPT_GRANULARITY_MODEL;
    s->hw->saturation = "tanh";
    s->hw->parameters = fitted;
    s->hw->n_parameters = 1;
    s->hw->scalars = &scalar;
    s->hw->n_scalars = 1;
    adept_fit_options o = operator_options();
    o.restarts = 0;
    adept_fit *fit = fit_of(s, &o);
    assert_true(parameter(fit, "beta_gemm")->start == adept_operator_parameter_info(ADEPT_KP_beta_gemm)->fallback);
    assert_int_equal(fit->n_scalars, 0);
    assert_string_equal(fit->saturation, "sigmoid");
    adept_fit_free(fit);
    s->hw->granularity = ADEPT_GRANULARITY_OPERATOR; /* and the other way round */
    adept_fit_options model = adept_fit_options_default();
    model.max_generations = 1;
    model.polish = false;
    fit = fit_of(s, &model);
    assert_true(parameter(fit, "beta_gemm")->start != 0.31);
    adept_fit_free(fit);
    synthetic_free(s);
}

/* ---- prior and loss ---- */

/* Written out: percent * weight of what was measured * models / all models, a quarter of it where nothing was fitted to
 * the GPU before, or rows / numbers, * half the squared distance in spreads. */
static void test_prior(void **state)
{
    (void)state;
    synthetic *s = made(0.05, NULL);
    adept_fit_options o = operator_options();
    o.restarts = 0;
    static const char *const names[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < N; i++)
        s->rows[i].model_name = names[i % 4];
    adept_fit *fit = NULL;
    double time_s[N], power_w[N], time = 0.0, power = 0.0, prior = 0.0;
    for (int by_models = 1; by_models >= 0; by_models--) {
        double sum = 0.0;
        o.prior_models = by_models ? 0.3 : 0.0;
        o.prior_rows = by_models ? 0.0 : 0.7;
        adept_fit_free(fit);
        fit = fit_of(s, &o);
        for (size_t i = 0; i < fit->n_parameters; i++) {
            const adept_fit_parameter *p = &fit->parameters[i];
            double spread = adept_operator_parameter_prior(i);
            double z = (p->info.log_scale ? log(p->value / p->start) : p->value - p->start) / spread;
            if (p->state == ADEPT_FIT_FREE) sum += 0.5 * z * z;
        }
        prior = 100.0 * (0.6 + 0.4) * (by_models ? 0.25 * 0.3 / 4 : 0.7 / (2 * N)) * sum;
        assert_true(prior > 0.0);
        assert_float_equal(fit->loss.prior / prior, 1, 1e-9);
    }
    adept_evaluate(s->evaluator, fit->theta, time_s, power_w);
    for (size_t i = 0; i < N; i++) {
        double t = time_s[i] / s->rows[i].step_time_s - 1.0, p = power_w[i] / s->rows[i].power_avg_w - 1.0;
        time += (sqrt(t * t + 1e-4) - 0.01) * 100.0 / N;
        power += (sqrt(p * p + 1e-4) - 0.01) * 100.0 / N;
    }
    assert_float_equal(fit->loss.total, 0.6 * time + 0.4 * power + prior, 1e-9);
    adept_fit_free(fit);
    o.prior_rows = 1e7; /* nothing else counts */
    fit = fit_of(s, &o);
    for (size_t i = 0; i < fit->n_parameters; i++)
        assert_float_equal(fit->parameters[i].value / fit->parameters[i].start, 1, 1e-4);
    adept_fit_free(fit);
    synthetic_free(s);
}

/* Times alone, of which each counts 60 / N percent: a weight like 3 of them, and nothing for power. */
static void test_prior_of_times_alone(void **state)
{
    (void)state;
    synthetic *s = made(0.05, NULL);
    adept_arena *arena = adept_arena_new();
    adept_objective o;
    for (size_t i = 0; i < N; i++)
        s->rows[i].power_avg_w = NAN;
    assert_int_equal(adept_objective_init(&o, arena, s->evaluator, s->rows, N, 0.6, 0.4, NULL), ADEPT_OK);
    adept_objective_spread(&o, NULL, 3.0 / N);
    assert_float_equal(o.spread_weight, 3.0 * 60 / N, 1e-12);
    adept_arena_free(arena);
    synthetic_free(s);
}

static void test_gradient(void **state)
{
    (void)state;
    synthetic *s = made(0.1, NULL);
    adept_arena *arena = adept_arena_new();
    adept_objective o;
    double spread[SYNTHETIC_MAX_PARAMETERS], fixed[SYNTHETIC_MAX_PARAMETERS], unit[32], gradient[32], exact;
    bool is_free[SYNTHETIC_MAX_PARAMETERS] = {false};
    assert_int_equal(adept_objective_init(&o, arena, s->evaluator, s->rows, N, 0.6, 0.4, NULL), ADEPT_OK);
    for (size_t i = 0; i < o.n_parameters; i++) {
        spread[i] = adept_operator_parameter_prior(i);
        fixed[i] = adept_evaluator_default(s->evaluator, i);
        for (size_t k = 0; k < N_TRUTH; k++)
            is_free[i] = is_free[i] || strcmp(adept_evaluator_parameter(s->evaluator, i)->name, truth[k].name) == 0;
    }
    o.fixed = fixed;
    o.rounding = 0.01;
    adept_objective_spread(&o, spread, 3.0 / (2 * N));
    assert_true(adept_objective_free(&o, arena, is_free, fixed));
    assert_int_equal(o.n_genes, N_TRUTH);
    double *scratch = adept_arena_array(arena, adept_objective_n_gradient_scratch(&o), sizeof *scratch);
    adept_objective_unit(&o, fixed, unit);
    for (size_t j = 0; j < o.n_genes; j++)
        unit[j] += 0.03 * (double)(j % 3 + 1);
    double value = adept_objective_smooth(&o, unit, 1e-6, gradient, &exact, scratch);
    assert_float_equal(value / exact, 1, 1e-12); /* the loss is rounded itself */
    assert_float_equal(value / adept_objective_loss(&o, unit, scratch), 1, 1e-12);
    for (size_t j = 0; j < o.n_genes; j++) {
        double at = unit[j], step = 1e-6;
        unit[j] = at + step;
        double above = adept_objective_loss(&o, unit, scratch);
        unit[j] = at - step;
        double below = adept_objective_loss(&o, unit, scratch);
        unit[j] = at;
        assert_float_equal(gradient[j], (above - below) / (2 * step), 1e-4 * (1.0 + fabs(gradient[j])));
    }
    adept_arena_free(arena);
    synthetic_free(s);
}

/* ---- a base of kernels ---- */

static void some_kernels(adept_kernel_fit *fit)
{
    memset(fit, 0, sizeof *fit);
    for (int i = 0; i < ADEPT_KP_COUNT; i++)
        fit->theta[i] = adept_operator_parameter_info((size_t)i)->fallback;
    memcpy(fit->menus, adept_tile_menu_default, sizeof fit->menus);
    fit->menus[ADEPT_FAMILY_GEMM] = (adept_tile_menu){2, {{0, 256, 64}, {0, 32, 32}}};
    fit->theta[ADEPT_KP_r_tile_gemm] = 33;
    fit->theta[ADEPT_KP_beta_mem] = 0.77;
    fit->fitted[ADEPT_KP_r_tile_gemm] = fit->fitted[ADEPT_KP_beta_mem] = true;
    fit->held_out[ADEPT_FAMILY_GEMM] = (adept_kernel_error){80, 5.5, 4, 11, -1, 20};
    fit->in_sample[ADEPT_FAMILY_GEMM] = (adept_kernel_error){320, 5, 4, 11, -1, 20};
}

static void check_has_kernels(const adept_hwprofile *hw)
{
    assert_non_null(hw->tiles);
    assert_int_equal(hw->tiles[ADEPT_FAMILY_GEMM].n, 2);
    assert_true(hw->tiles[ADEPT_FAMILY_GEMM].tiles[0].m == 256 && hw->tiles[ADEPT_FAMILY_GEMM].tiles[1].n == 32);
    assert_non_null(strstr(hw->fit_json, "\"kernels\""));
    assert_non_null(strstr(hw->fit_json, "\"roofline_mape\":20"));
    assert_non_null(strstr(hw->fit_json, "kernels.csv"));
}

static bool is_of_kernels(const adept_hwprofile *hw)
{
    bool is;
    assert_int_equal(adept_fit_is_of_kernels(&is, hw, NULL), ADEPT_OK);
    return is;
}

static void test_profile_of_kernels(void **state)
{
    (void)state;
    adept_kernel_fit kernels;
    adept_kernel_file file = {.name = "kernels.csv", .sha256 = "00", .n_rows = 400};
    adept_hwprofile *hw = NULL, *again = NULL;
    adept_error err = {0};
    char *text = NULL;
    some_kernels(&kernels);
    assert_int_equal(adept_hwprofile_open(&hw, "a100-sxm-40gb", &err), ADEPT_OK);
    assert_false(is_of_kernels(hw));
    assert_int_equal(adept_hwprofile_adopt(hw, ADEPT_GRANULARITY_OPERATOR, &err), ADEPT_OK);
    size_t n_adopted = hw->n_parameters;
    assert_int_equal(adept_kernel_fit_apply(hw, &kernels, &file, 1, 1, &err), ADEPT_OK);
    assert_true(is_of_kernels(hw));
    assert_int_equal(adept_kernel_fit_to_hwprofile(&text, hw, "2026-11-21", &err), ADEPT_OK);
    assert_int_equal(adept_hwprofile_from_json(&again, "k.json", text, strlen(text), &err), ADEPT_OK);
    check_has_kernels(again);
    assert_true(again->calibrated && again->granularity == ADEPT_GRANULARITY_OPERATOR && !again->intervals);
    assert_int_equal(again->n_parameters, n_adopted); /* what kernels do not tell stays transferred */
    assert_true(is_of_kernels(again));
    adept_hwprofile_free(again);
    adept_hwprofile_free(hw);
    free(text);
}

/* Steps on top of kernels: theirs is the start and what stays fixed, and the profile keeps their record. */
static void test_steps_on_kernels(void **state)
{
    (void)state;
    static const char *const schemes[] = {"k-fold:4"};
    adept_kernel_fit kernels;
    adept_kernel_file file = {.name = "kernels.csv", .sha256 = "00", .n_rows = 400};
    adept_error err = {0};
    some_kernels(&kernels);
    synthetic *s = made(0.01, &kernels);
    assert_int_equal(adept_kernel_fit_apply(s->hw, &kernels, &file, 1, 1, &err), ADEPT_OK);
    adept_fit_options o = operator_options();
    o.restarts = 1;
    adept_fit *fit = fit_of(s, &o);
    assert_true(parameter(fit, "r_tile_gemm")->value == 33);
    assert_true(parameter(fit, "beta_mem")->start == 0.77);
    assert_true(fit->loss.time < 2);
    adept_fit_report_options r = {.held_out = {.n_schemes = 1, .schemes = schemes, .seed = 1}};
    adept_dataset *d = adept_dataset_new();
    adept_fit_report *report = NULL;
    char *text = NULL;
    adept_hwprofile *hw = NULL;
    d->rows = s->rows;
    d->n = N;
    if (adept_fit_report_new(&report, d, s->hw, fit, &o, &r, &err) != ADEPT_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < report->n_warnings; i++)
        assert_null(strstr(report->warnings[i], "is itself fitted"));
    assert_int_equal(adept_fit_report_to_hwprofile(&text, report, "2026-11-21", &err), ADEPT_OK);
    assert_int_equal(adept_hwprofile_from_json(&hw, "s.json", text, strlen(text), &err), ADEPT_OK);
    check_has_kernels(hw);
    assert_false(is_of_kernels(hw));
    for (size_t i = 0; i < N; i++) {
        adept_prediction p;
        assert_int_equal(adept_predict(&p, s->rows[i].profile, hw, &s->rows[i].run, NULL), ADEPT_OK);
        assert_float_equal(p.step_time_s / report->in_sample->rows[i].time_s, 1, 1e-9);
    }
    adept_hwprofile_free(hw);
    free(text);
    adept_fit_report_free(report);
    adept_dataset_free(d);
    adept_fit_free(fit);
    synthetic_free(s);
}

/* ---- threads and checkpoints ---- */

static void test_same_bits(void **state)
{
    (void)state;
    char path[] = "/tmp/adept_operator_XXXXXX";
    volatile sig_atomic_t stop = 1;
    synthetic *s = made(0.02, NULL);
    adept_error err = {0};
    adept_fit_options o = operator_options();
    o.threads = 1;
    adept_fit *one = fit_of(s, &o);
    o.threads = 2;
    adept_fit *two = fit_of(s, &o);
    assert_memory_equal(one->theta, two->theta, one->n_parameters * sizeof *one->theta);
    close(mkstemp(path));
    assert_int_equal(adept_checkpoint_open(&o.checkpoint, path, false, &err), ADEPT_OK);
    o.stop = &stop;
    adept_fit *stopped = fit_of(s, &o);
    assert_true(stopped->interrupted);
    adept_checkpoint_free(o.checkpoint);
    stop = 0;
    for (int times = 0; times < 2; times++) { /* the second finds the first's result */
        assert_int_equal(adept_checkpoint_open(&o.checkpoint, path, true, &err), ADEPT_OK);
        assert_int_equal(o.checkpoint->n_sub_fits, times);
        adept_fit *resumed = fit_of(s, &o);
        assert_memory_equal(one->theta, resumed->theta, one->n_parameters * sizeof *one->theta);
        assert_int_equal(adept_checkpoint_save(o.checkpoint, &err), ADEPT_OK);
        adept_fit_free(resumed);
        adept_checkpoint_free(o.checkpoint);
    }
    o.prior_rows = 0.1; /* of another fit */
    adept_fit *other = NULL;
    assert_int_equal(adept_checkpoint_open(&o.checkpoint, path, true, &err), ADEPT_OK);
    assert_int_equal(adept_calibrate(&other, s->rows, N, s->hw, &o, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "other options"));
    adept_checkpoint_free(o.checkpoint);
    unlink(path);
    adept_fit_free(stopped);
    adept_fit_free(one);
    adept_fit_free(two);
    synthetic_free(s);
}

/* A start from which no descent finds the way: steps that seem host-bound say nothing of the kernels. */
static void test_restarts(void **state)
{
    (void)state;
    static const adept_parameter start[] = {{"t_host_s", 1e-4}, {"t_launch_s", 2e-5}};
    synthetic *s = made(0, NULL);
    adept_fit_options o = operator_options();
    s->hw->calibrated = true;
    s->hw->granularity = ADEPT_GRANULARITY_OPERATOR;
    s->hw->parameters = start;
    s->hw->n_parameters = 2;
    o.restarts = 0;
    adept_fit *alone = fit_of(s, &o);
    o.restarts = 4;
    adept_fit *more = fit_of(s, &o);
    assert_true(more->loss.total <= alone->loss.total);
    assert_true(more->evaluations > alone->evaluations);
    assert_true(more->loss.time < 2);
    adept_fit_free(alone);
    adept_fit_free(more);
    synthetic_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recovers_truth),
        cmocka_unit_test(test_noise_is_not_met),
        cmocka_unit_test(test_free_parameters),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_base_of_other_granularity),
        cmocka_unit_test(test_prior),
        cmocka_unit_test(test_prior_of_times_alone),
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_profile_of_kernels),
        cmocka_unit_test(test_steps_on_kernels),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
