/* What rows determine: the linear algebra on examples worked out by hand, then fits whose unknown directions are known
 * from the equations. No fit is run: the parameters are set. */
#include "adept_fit_report.h"
#include "fit_report.h"
#include "fit_toy.h"

/* ---- linear algebra ---- */

static adept_information solve(adept_arena *arena, size_t n, const double *jacobian, size_t m)
{
    adept_information info = {.n = n};
    adept_error err = {0};
    if (adept_information_solve(&info, arena, jacobian, m, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return info;
}

/* Lines 3 and 4: information 25, with the prior's 1 the variance is 1/26. */
static void one_parameter(void **state)
{
    (void)state;
    adept_arena *arena = adept_arena_new();
    static const double jacobian[] = {3, 4};
    adept_information info = solve(arena, 1, jacobian, 2);
    assert_float_equal(info.sensitivity[0], 5, 1e-12);
    assert_float_equal(info.covariance[0], 1.0 / 26, 1e-12);
    assert_float_equal(info.deviation[0], 1 / sqrt(26), 1e-12);
    adept_arena_free(arena);
}

/* One line (10, -10): only the difference is known. The information is [101 -100; -100 101], its inverse
 * [101 100; 100 101] / 201. The sum keeps its prior. */
static void two_parameters_of_which_only_the_difference_is_known(void **state)
{
    (void)state;
    adept_arena *arena = adept_arena_new();
    static const double jacobian[] = {10, -10};
    adept_information info = solve(arena, 2, jacobian, 1);
    assert_float_equal(info.covariance[0], 101.0 / 201, 1e-12);
    assert_float_equal(info.covariance[1], 100.0 / 201, 1e-12);
    assert_float_equal(info.covariance[3], 101.0 / 201, 1e-12);
    assert_float_equal(info.deviation[0], 1 / sqrt(201), 1e-12);
    assert_float_equal(info.deviation[1], 1, 1e-12);
    /* the unknown direction has equal parts of both */
    assert_float_equal(info.directions[0 * 2 + 1], info.directions[1 * 2 + 1], 1e-12);
    adept_arena_free(arena);
}

static void without_rows_the_bounds_are_all_there_is(void **state)
{
    (void)state;
    adept_arena *arena = adept_arena_new();
    adept_information info = solve(arena, 2, NULL, 0);
    assert_float_equal(info.covariance[0], 1, 1e-12);
    assert_float_equal(info.covariance[1], 0, 1e-12);
    assert_true(info.sensitivity[0] == 0);
    info = solve(arena, 0, NULL, 0);
    assert_int_equal(info.n, 0);
    adept_arena_free(arena);
}

/* ---- fits ---- */

/* A fit whose parameters are those of the toy GPU; `free_names` says which were fitted. Its rows are what they predict,
 * with `factor` on all measured times. */
typedef struct scene {
    toy_world world;
    adept_dataset *d;
    adept_arena *arena;
    adept_fit fit;
    adept_fit_parameter parameters[64];
    double theta[64];
    adept_scored scored[64];
} scene;

static void set_parameters(scene *s, const adept_evaluator *e, const char *const *free_names, size_t n_free)
{
    s->fit = (adept_fit){.granularity = ADEPT_GRANULARITY_MODEL,
                         .saturation = s->world.gpu.hw.saturation,
                         .n_parameters = adept_evaluator_n_parameters(e),
                         .parameters = s->parameters,
                         .theta = s->theta};
    assert_true(s->fit.n_parameters <= 64);
    for (size_t i = 0; i < s->fit.n_parameters; i++) {
        adept_fit_parameter *p = &s->parameters[i];
        *p = (adept_fit_parameter){.info = *adept_evaluator_parameter(e, i), .state = ADEPT_FIT_UNDETERMINED};
        p->value = s->theta[i] = adept_evaluator_default(e, i);
        p->reason = "not in this test";
        for (size_t k = 0; k < n_free; k++)
            if (strcmp(free_names[k], p->info.name) == 0) p->state = ADEPT_FIT_FREE;
        s->fit.n_free += p->state == ADEPT_FIT_FREE;
    }
    assert_int_equal(s->fit.n_free, n_free);
}

/* Rows of the CSV; cells of time and power say only whether they were measured. */
static scene *scene_new(const char *csv, double factor, const char *const *free_names, size_t n_free)
{
    scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    toy_world_init(&s->world);
    s->arena = adept_arena_new();
    s->d = toy_dataset(csv);
    toy_world_join(&s->world, s->d);
    adept_placement placements[64];
    double time_s[64], power_w[64];
    assert_true(s->d->n <= 64);
    for (size_t i = 0; i < s->d->n; i++)
        placements[i] = (adept_placement){s->d->rows[i].profile, s->d->rows[i].hw, s->d->rows[i].run};
    adept_evaluator *e;
    adept_error err = {0};
    if (adept_evaluator_new(&e, placements, s->d->n, ADEPT_GRANULARITY_MODEL, NULL, NULL, 0, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    set_parameters(s, e, free_names, n_free);
    adept_evaluate(e, s->theta, time_s, power_w);
    for (size_t i = 0; i < s->d->n; i++) {
        adept_dataset_row *m = &s->d->rows[i];
        if (!isnan(m->step_time_s)) m->step_time_s = time_s[i] * factor;
        if (!isnan(m->power_avg_w)) m->power_avg_w = power_w[i];
        s->scored[i] = (adept_scored){.measured = m, .time_s = time_s[i], .power_w = power_w[i]};
    }
    adept_evaluator_free(e);
    return s;
}

static void scene_free(scene *s)
{
    adept_arena_free(s->arena);
    adept_dataset_free(s->d);
    free(s);
}

static adept_identifiability identify(scene *s)
{
    adept_identifiability id;
    adept_error err = {0};
    if (adept_identify(&id, s->arena, s->d->rows, s->scored, s->d->n, &s->fit, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(id.n, s->fit.n_parameters);
    assert_int_equal(id.n_free, s->fit.n_free);
    return id;
}

static const adept_parameter_report *named(const adept_identifiability *id, const char *name)
{
    for (size_t i = 0; i < id->n; i++)
        if (strcmp(id->parameters[i].name, name) == 0) return &id->parameters[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

static const char time_only[] = "model,gpus,step_time_s\nm0,1,1\nm1,1,1\nm2,1,1\nm3,1,1\nm4,1,1\nm5,1,1\n";

/* One row of T seconds, noise 1 % (the least assumed): d ln T / d t_fixed = 1/T. In parts of the range's deviation
 * u = 0.1/sqrt(12) that is x = u/(0.01 T), and the standard error u/sqrt(1 + x^2). */
static void standard_error_of_a_linear_parameter(void **state)
{
    (void)state;
    const char *free_names[] = {"t_fixed_s"};
    scene *s = scene_new("model,gpus,step_time_s\nm3,1,1\n", 1, free_names, 1);
    adept_identifiability id = identify(s);
    double u = 0.1 / sqrt(12), x = u / (0.01 * s->scored[0].time_s);
    const adept_parameter_report *p = named(&id, "t_fixed_s");
    assert_float_equal(p->std_error, u / sqrt(1 + x * x), 1e-9);
    assert_true(p->free && p->determined);
    assert_float_equal(id.noise_time, 0.01, 1e-12);
    assert_true(isnan(id.noise_power));
    assert_false(named(&id, "c_mem")->free);
    assert_string_equal(named(&id, "c_mem")->kept, "not in this test");
    assert_true(isnan(named(&id, "c_mem")->std_error));
    scene_free(s);
}

/* A weight of 4 on all rows changes nothing: weights are relative. Residuals of e^0.2 with one parameter
 * fitted to six times: noise 0.2 * sqrt(6/5). */
static void noise_comes_from_the_residuals(void **state)
{
    (void)state;
    const char *free_names[] = {"c_mem"};
    scene *s = scene_new(time_only, exp(0.2), free_names, 1);
    adept_identifiability id = identify(s);
    assert_float_equal(id.noise_time, 0.2 * sqrt(6.0 / 5), 1e-9);
    double error = named(&id, "c_mem")->std_error;
    for (size_t i = 0; i < s->d->n; i++)
        s->d->rows[i].weight = 4;
    id = identify(s);
    assert_float_equal(named(&id, "c_mem")->std_error, error, 1e-12);
    for (size_t i = 0; i < s->d->n; i++)
        s->d->rows[i].weight = i == 3; /* the others teach nothing */
    id = identify(s);
    scene *alone = scene_new("model,gpus,step_time_s\nm3,1,1\n", exp(0.2), free_names, 1);
    adept_identifiability of_one = identify(alone);
    assert_float_equal(named(&id, "c_mem")->std_error, named(&of_one, "c_mem")->std_error, 1e-12);
    scene_free(alone);
    for (size_t i = 0; i < s->d->n; i++)
        s->d->rows[i].weight = i == 3 ? 3 : i == 4;
    id = identify(s);
    double doubled = named(&id, "c_mem")->std_error;
    s->d->rows[3].weight = 1;
    s->d->rows[4].weight = 3;
    id = identify(s);
    assert_true(fabs(named(&id, "c_mem")->std_error - doubled) > 1e-6);
    scene_free(s);
}

static void weights_of_powers(void **state)
{
    (void)state;
    const char *free_names[] = {"p_static_w"};
    scene *two = scene_new("model,gpus,step_time_s,avg_power_w\nm3,1,,1\nm4,1,,1\n", 1, free_names, 1);
    scene *one = scene_new("model,gpus,step_time_s,avg_power_w\nm3,1,,1\n", 1, free_names, 1);
    adept_identifiability of_two = identify(two), of_one = identify(one);
    assert_true(named(&of_two, "p_static_w")->std_error < named(&of_one, "p_static_w")->std_error);
    two->d->rows[1].weight = 0;
    of_two = identify(two);
    assert_float_equal(named(&of_two, "p_static_w")->std_error, named(&of_one, "p_static_w")->std_error, 1e-12);
    assert_true(isnan(of_one.noise_time));
    scene_free(two);
    scene_free(one);
}

/* A step of 2 s says little of a constant time within 0.1 s: 1 % of it is 20 ms, more than half of the 29 ms that the
 * bounds alone leave. */
static void linear_parameters_can_be_unknown(void **state)
{
    (void)state;
    const char *free_names[] = {"t_fixed_s"};
    scene *s = scene_new("model,gpus,step_time_s\nm2,1,1\n", 1, free_names, 1);
    assert_true(s->scored[0].time_s > 2);
    adept_identifiability id = identify(s);
    assert_false(named(&id, "t_fixed_s")->determined);
    assert_non_null(strstr(named(&id, "t_fixed_s")->why_not, "known only to +- 0.02"));
    scene_free(s);
}

/* Eq 4.9 and 4.10: only c_gemm / beta_gemm is in any prediction. */
static void only_the_quotient_is_determined(void **state)
{
    (void)state;
    const char *free_names[] = {"beta_gemm", "c_gemm", "c_conv", "t_fixed_s", "bw_eff_bytes_per_s"};
    scene *s = scene_new(time_only, 1, free_names, 5);
    adept_identifiability id = identify(s);
    assert_false(named(&id, "beta_gemm")->determined);
    assert_false(named(&id, "c_gemm")->determined);
    assert_non_null(strstr(named(&id, "c_gemm")->why_not, "known only to a factor of"));
    assert_int_equal(id.n_groups, 1);
    assert_int_equal(id.groups[0].n, 2);
    assert_string_equal(id.groups[0].text, "beta_gemm / c_gemm");
    assert_true(id.groups[0].std_error < 0.1); /* the quotient itself is known well */
    assert_true(named(&id, "beta_gemm")->std_error > 1);
    assert_int_equal(id.n_correlations, 1);
    assert_string_equal(id.parameters[id.correlations[0].a].name, "beta_gemm");
    assert_string_equal(id.parameters[id.correlations[0].b].name, "c_gemm");
    assert_true(id.correlations[0].value > 0.95);
    /* one GPU sends nothing */
    assert_false(named(&id, "bw_eff_bytes_per_s")->determined);
    assert_string_equal(named(&id, "bw_eff_bytes_per_s")->why_not,
                        "no row's prediction depends on it at the fitted values");
    assert_true(named(&id, "t_fixed_s")->determined && named(&id, "c_conv")->determined);
    assert_int_equal(id.n_determined, 2);
    scene_free(s);
}

/* Of one step only the sum of its launches and its constant time is known. The one counts by its logarithm and the
 * other by its value, so that no product of powers says which sum. */
static void groups_that_do_not_scale_are_listed(void **state)
{
    (void)state;
    const char *free_names[] = {"t_kern_s", "t_fixed_s"};
    scene *s = scene_new("model,gpus,step_time_s\nm3,1,1\n", 1, free_names, 2);
    adept_identifiability id = identify(s);
    assert_int_equal(id.n_determined, 0);
    assert_int_equal(id.n_groups, 1);
    assert_int_equal(id.groups[0].n, 2);
    assert_string_equal(id.groups[0].text, "t_kern_s with t_fixed_s");
    assert_true(isnan(id.groups[0].std_error));
    scene_free(s);
}

static void bounds_are_noticed(void **state)
{
    (void)state;
    const char *free_names[] = {"beta_gemm", "t_fixed_s", "c_mem"};
    scene *s = scene_new(time_only, 1, free_names, 3);
    for (size_t i = 0; i < s->fit.n_parameters; i++) {
        adept_fit_parameter *p = &s->parameters[i];
        if (strcmp(p->info.name, "beta_gemm") == 0) p->value = 0.9999; /* 1e-4/ln(1000) of the range */
        if (strcmp(p->info.name, "t_fixed_s") == 0) p->value = 0;
    }
    adept_identifiability id = identify(s);
    assert_true(named(&id, "beta_gemm")->at_high && !named(&id, "beta_gemm")->at_low);
    assert_true(named(&id, "t_fixed_s")->at_low && !named(&id, "t_fixed_s")->at_high);
    assert_false(named(&id, "c_mem")->at_low || named(&id, "c_mem")->at_high);
    assert_int_equal(id.n_at_bound, 2);
    scene_free(s);
}

static size_t index_of(const scene *s, const char *name)
{
    size_t i = 0;
    while (i < s->fit.n_parameters && strcmp(s->parameters[i].info.name, name) != 0)
        i++;
    assert_true(i < s->fit.n_parameters);
    return i;
}

/* Three refits find t_fixed_s = 0.01, 0.02, 0.03: squares about the mean 2e-4, jackknife sqrt(2/3 * 2e-4). And c_mem =
 * 1, e, e^2: sqrt(2/3 * 2) in the logarithm, far more than the curvature says. A fourth had both kept at some default.
 */
static void refits_show_what_the_curvature_does_not(void **state)
{
    (void)state;
    const char *free_names[] = {"t_fixed_s", "c_mem"};
    scene *s = scene_new(time_only, 1, free_names, 2);
    double theta[4][64] = {{0}};
    adept_fit_parameter was_free[64], was_kept[64];
    adept_fit fits[4];
    adept_fold folds[4];
    adept_held_out refits = {.n_folds = 4, .folds = folds};
    for (size_t i = 0; i < 64; i++) {
        was_free[i] = (adept_fit_parameter){.state = ADEPT_FIT_FREE};
        was_kept[i] = (adept_fit_parameter){.state = ADEPT_FIT_FIXED};
    }
    size_t t_fixed = index_of(s, "t_fixed_s"), c_mem = index_of(s, "c_mem");
    for (int k = 0; k < 4; k++) {
        theta[k][t_fixed] = k == 3 ? 0.1 : 0.01 * (k + 1);
        theta[k][c_mem] = k == 3 ? 20 : exp(k);
        fits[k] = (adept_fit){.theta = theta[k], .parameters = k == 3 ? was_kept : was_free};
        folds[k] = (adept_fold){.fit = &fits[k]};
    }
    adept_identifiability id;
    assert_int_equal(adept_identify(&id, s->arena, s->d->rows, s->scored, s->d->n, &s->fit, &refits, NULL), ADEPT_OK);
    assert_float_equal(id.parameters[t_fixed].std_error, sqrt(2.0 / 3 * 2e-4), 1e-9);
    assert_float_equal(id.parameters[t_fixed].refit_low, 0.01, 1e-12);
    assert_float_equal(id.parameters[t_fixed].refit_high, 0.03, 1e-12);
    assert_float_equal(id.parameters[c_mem].std_error, sqrt(2.0 / 3 * 2), 1e-9);
    assert_false(id.parameters[c_mem].determined);
    assert_string_equal(id.parameters[c_mem].why_not, "known only to a factor of 3.2"); /* e^1.1547 */
    /* two say nothing */
    refits.n_folds = 2;
    assert_int_equal(adept_identify(&id, s->arena, s->d->rows, s->scored, s->d->n, &s->fit, &refits, NULL), ADEPT_OK);
    assert_true(isnan(id.parameters[c_mem].refit_low));
    assert_true(id.parameters[c_mem].determined);
    scene_free(s);
}

/* ---- what to measure ---- */

static adept_suggestion *suggest(scene *s, size_t *n, size_t wanted)
{
    adept_suggestion *list;
    adept_error err = {0};
    if (adept_suggest(&list, n, s->arena, s->d, s->scored, &s->fit, wanted, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    return list;
}

/* Everything about the pass is known; how GPUs talk is not. */
static void several_gpus_are_suggested(void **state)
{
    (void)state;
    const char *free_names[] = {"c_mem", "t_fixed_s"};
    scene *s = scene_new(time_only, exp(0.3), free_names, 2); /* noisy: one more is not enough */
    size_t n;
    adept_suggestion *list = suggest(s, &n, 5);
    assert_true(n >= 1);
    assert_true(list[0].gpus > 1);
    assert_non_null(strstr(list[0].reason, "bw_eff_bytes_per_s known to a factor of"));
    assert_non_null(strstr(list[0].text, "GPUs"));
    assert_non_null(strstr(list[0].text, "batch 16, fp32, train"));
    for (size_t i = 1; i < n; i++) {
        assert_true(list[i].gain <= list[i - 1].gain + 1e-9); /* each tells less, given those before */
        assert_string_not_equal(list[i].text, list[0].text);
        for (size_t j = 0; j < i; j++) /* a model's second number of GPUs would tell much the same */
            assert_true(list[j].gpus == 1 || strcmp(list[i].like->model, list[j].like->model) != 0);
    }
    assert_true(n >= 2);
    scene_free(s);
}

/* Of the first parameter of a fit, too, it is known how well it was known before. */
static void the_reason_names_the_first(void **state)
{
    (void)state;
    const char *name = "c_mem";
    scene *s = scene_new(time_only, exp(0.3), &name, 1);
    for (size_t i = 0; i < s->fit.n_parameters; i++)
        if (s->parameters[i].state == ADEPT_FIT_UNDETERMINED) s->parameters[i].state = ADEPT_FIT_FIXED;
    size_t n;
    adept_suggestion *list = suggest(s, &n, 1);
    assert_int_equal(n, 1);
    double now = 0, before = 0;
    if (sscanf(list[0].reason, "c_mem known to a factor of %lf instead of %lf", &now, &before) != 2 || !(now < before))
        fail_msg("%s", list[0].reason);
    scene_free(s);
}

/* m0 has no power yet, and only p_static_w is open: its power is suggested, without a new run's time. */
static void missing_power_is_suggested(void **state)
{
    (void)state;
    const char *free_names[] = {"p_static_w"};
    scene *s = scene_new("model,gpus,step_time_s,avg_power_w\nm0,1,1,\nm3,1,1,1\n", 1, free_names, 1);
    for (size_t i = 0; i < s->fit.n_parameters; i++)
        if (s->parameters[i].state == ADEPT_FIT_UNDETERMINED) s->parameters[i].state = ADEPT_FIT_FIXED;
    s->world.gpu.hw.specs.mem_bytes = 1e9; /* no new run would fit */
    size_t n;
    adept_suggestion *list = suggest(s, &n, 20);
    bool found = false;
    for (size_t i = 0; i < n; i++)
        if (list[i].power_only) {
            found = true;
            assert_string_equal(list[i].like->model, "m0");
            assert_non_null(strstr(list[i].text, ": power"));
            assert_non_null(strstr(list[i].reason, "p_static_w"));
        }
    assert_true(found);
    scene_free(s);
}

/* One number, known to less than 2 % of itself, or of its range of 0.1 s: there is nothing worth measuring. */
static void what_is_known_well_is_not_measured_again(void **state)
{
    (void)state;
    static const char *const names[] = {"c_mem", "t_fixed_s"};
    static const char *const csv[] = {time_only, "model,gpus,step_time_s\nm3,1,1\nm3,1,1\nm3,1,1\nm3,1,1\n"};
    for (size_t k = 0; k < 2; k++) {
        scene *s = scene_new(csv[k], 1, &names[k], 1);
        for (size_t i = 0; i < s->fit.n_parameters; i++)
            if (s->parameters[i].state == ADEPT_FIT_UNDETERMINED) s->parameters[i].state = ADEPT_FIT_FIXED;
        adept_identifiability id = identify(s);
        assert_true(named(&id, names[k])->std_error < (k == 0 ? 0.02 : 0.02 * 0.1));
        size_t n;
        suggest(s, &n, 5);
        assert_int_equal(n, 0);
        scene_free(s);
    }
}

/* Nothing is suggested that was measured, or that needs more memory than there is. */
static void what_cannot_run_is_not_suggested(void **state)
{
    (void)state;
    const char *free_names[] = {"c_mem"};
    scene *s = scene_new(time_only, 1, free_names, 1);
    s->world.gpu.hw.specs.mem_bytes = 1e9; /* nothing fits any more */
    size_t n;
    suggest(s, &n, 5);
    assert_int_equal(n, 0);
    scene_free(s);
    s = scene_new("model,gpus,step_time_s\nm0,1,1\nm0,2,1\nm0,4,1\nm0,8,1\n", 1, free_names, 1);
    suggest(s, &n, 5);
    assert_int_equal(n, 0);
    scene_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_parameter),
        cmocka_unit_test(two_parameters_of_which_only_the_difference_is_known),
        cmocka_unit_test(without_rows_the_bounds_are_all_there_is),
        cmocka_unit_test(standard_error_of_a_linear_parameter),
        cmocka_unit_test(noise_comes_from_the_residuals),
        cmocka_unit_test(weights_of_powers),
        cmocka_unit_test(linear_parameters_can_be_unknown),
        cmocka_unit_test(only_the_quotient_is_determined),
        cmocka_unit_test(groups_that_do_not_scale_are_listed),
        cmocka_unit_test(bounds_are_noticed),
        cmocka_unit_test(refits_show_what_the_curvature_does_not),
        cmocka_unit_test(several_gpus_are_suggested),
        cmocka_unit_test(the_reason_names_the_first),
        cmocka_unit_test(missing_power_is_suggested),
        cmocka_unit_test(what_is_known_well_is_not_measured_again),
        cmocka_unit_test(what_cannot_run_is_not_suggested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
