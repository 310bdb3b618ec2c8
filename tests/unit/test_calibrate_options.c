/* Options of a fit to measurements made up from known parameters: what is fixed, freed and left out, stages, saturation
 * functions, progress. */
#include "adept_calibrate.h"
#include "adept_clock.h"
#include "synthetic_fit.h"

/* ---- options that fix and free ---- */

static void fixing_freeing_and_leaving_out(void **state)
{
    (void)state;
    synthetic *s = made(0.0, 1);
    adept_fit_options o = small_options();
    o.max_generations = 60;
    const adept_parameter fixed[] = {{"beta_gemm", 0.5}, {"c_mem", NAN}}; /* where the fit starts */
    const char *const freed[] = {"c_gemm", "lambda_miss"};
    const char *const without[] = {"albert_alu", "c_conv_lowp"};
    o.fixed = fixed;
    o.n_fixed = 2;
    o.freed = freed;
    o.n_freed = 2;
    o.without = without;
    o.n_without = 2;
    adept_fit *fit = fit_of(s, &o);
    expect(fit, "beta_gemm", ADEPT_FIT_FIXED);
    assert_true(parameter(fit, "beta_gemm")->value == 0.5);
    expect(fit, "c_mem", ADEPT_FIT_FIXED);
    assert_true(parameter(fit, "c_mem")->value == parameter(fit, "c_mem")->start);
    expect(fit, "c_gemm", ADEPT_FIT_FREE);
    expect(fit, "lambda_miss", ADEPT_FIT_FREE);
    expect(fit, "c_conv_lowp", ADEPT_FIT_FIXED);
    assert_true(parameter(fit, "c_conv_lowp")->value == 1.0);
    assert_int_equal(fit->n_scalars, 2);
    assert_string_equal(fit->scalars[0].name, "albert_gemm");
    assert_string_equal(fit->scalars[1].name, "albert_mem");
    assert_true(fit->scalars[1].value == parameter(fit, "albert_mem")->value);
    size_t n_free = 0;
    for (size_t i = 0; i < fit->n_parameters; i++) {
        const adept_fit_parameter *p = &fit->parameters[i];
        n_free += p->state == ADEPT_FIT_FREE;
        assert_true(fit->theta[i] == p->value && p->value >= p->info.low && p->value <= p->info.high);
    }
    assert_int_equal(fit->n_free, n_free);
    adept_fit_free(fit);
    synthetic_free(s);
}

static void options_that_make_no_sense(void **state)
{
    (void)state;
    synthetic *s = made(0.0, 1);
    const adept_parameter outside[] = {{"beta_gemm", 2.0}}, unknown[] = {{"beta", 0.5}}, fine[] = {{"beta_gemm", 0.5}};
    const char *const names[] = {"beta_gemm"}, *const bad_names[] = {"nothing"};
    adept_fit_options o = small_options();
    o.n_fixed = 1;
    o.fixed = outside;
    refuse(s, &o, ADEPT_E_USAGE, "--fix beta_gemm=2: outside [0.001, 1]");
    o.fixed = unknown;
    refuse(s, &o, ADEPT_E_USAGE, "--fix beta");
    o.fixed = fine;
    o.n_freed = 1;
    o.freed = names;
    refuse(s, &o, ADEPT_E_USAGE, "--free beta_gemm contradicts --fix");
    o.n_fixed = 0;
    o.freed = bad_names;
    refuse(s, &o, ADEPT_E_USAGE, "--free nothing");
    o.n_freed = 0;
    o.n_without = 1;
    o.without = names;
    refuse(s, &o, ADEPT_E_USAGE, "--without beta_gemm: not a scalar");
    o.without = bad_names;
    refuse(s, &o, ADEPT_E_USAGE, "--without nothing");
    o.n_without = 0;
    o.stage = "S8";
    refuse(s, &o, ADEPT_E_USAGE, "no stage \"S8\": the stages are S1 to S7");
    o.stage = NULL;
    o.saturation = "step";
    refuse(s, &o, ADEPT_E_USAGE, "step");
    o.saturation = NULL;
    o.max_generations = -1;
    refuse(s, &o, ADEPT_E_USAGE, "generations");
    o.max_generations = 0;
    o.polish = false;
    refuse(s, &o, ADEPT_E_USAGE, "nothing to do");
    o = small_options();
    o.tol = NAN;
    refuse(s, &o, ADEPT_E_USAGE, "tolerance");
    o = small_options();
    o.prior_weight = -1;
    refuse(s, &o, ADEPT_E_USAGE, "prior");
    synthetic_free(s);
}

/* ---- stages and saturation functions ---- */

static void stages_never_get_worse(void **state)
{
    (void)state;
    synthetic *s = made(0.02, 5);
    adept_fit_options o = small_options();
    o.n_scalars = 0; /* the stages bring theirs */
    o.stage = "S7";
    o.max_generations = 400;
    adept_fit *fit = fit_of(s, &o);
    assert_int_equal(fit->n_stages, 7);
    for (size_t i = 0; i < 7; i++) {
        const char *name, *adds;
        assert_true(adept_fit_stage(i, &name, &adds));
        assert_string_equal(fit->stages[i].name, name);
        assert_string_equal(fit->stages[i].adds, adds);
        if (i == 0) continue;
        assert_int_equal(fit->stages[i].n_free, fit->stages[i - 1].n_free + 1);
        if (!(fit->stages[i].loss.total <= fit->stages[i - 1].loss.total))
            fail_msg("%s: %.17g after %.17g", name, fit->stages[i].loss.total, fit->stages[i - 1].loss.total);
    }
    const char *name, *adds;
    assert_false(adept_fit_stage(7, &name, &adds));
    /* ALBERT's memory and bf16's matrix products do differ in the truth: the stages must show it. */
    assert_true(fit->stages[6].loss.total < 0.6 * fit->stages[0].loss.total);
    assert_true(fit->loss.total <= fit->stages[6].loss.total);
    assert_int_equal(fit->n_scalars, 3);
    adept_fit_free(fit);
    o.stage = "S2";
    fit = fit_of(s, &o);
    assert_int_equal(fit->n_stages, 2);
    expect(fit, "c_gemm_lowp", ADEPT_FIT_FIXED);
    assert_int_equal(fit->n_scalars, 1);
    adept_fit_free(fit);
    synthetic_free(s);
}

static void stages_without_their_rows_are_skipped(void **state)
{
    (void)state;
    synthetic *s = made(0.02, 5);
    adept_fit_options o = small_options();
    o.n_scalars = 0;
    o.stage = "S5";
    o.max_generations = 60;
    bool use[N];
    for (size_t i = 0; i < N; i++)
        use[i] = strncmp(s->rows[i].model, "albert", 6) != 0;
    o.use = use;
    adept_fit *fit = fit_of(s, &o);
    assert_int_equal(fit->n_stages, 5);
    for (size_t i = 1; i < 4; i++) {
        assert_true(fit->stages[i].skipped && fit->stages[i].generations == 0);
        assert_true(fit->stages[i].loss.total == fit->stages[0].loss.total);
    }
    assert_true(!fit->stages[0].skipped && !fit->stages[4].skipped);
    expect(fit, "albert_gemm", ADEPT_FIT_UNDETERMINED);
    adept_fit_free(fit);
    synthetic_free(s);
}

static void all_saturation_functions_in_one_run(void **state)
{
    (void)state;
    synthetic *s = made(0.02, 5);
    adept_fit_options o = small_options();
    o.compare_saturations = true;
    o.max_generations = 60;
    o.saturation = "tanh";
    adept_fit *fit = fit_of(s, &o);
    assert_string_equal(fit->saturation, "tanh");
    assert_int_equal(fit->n_saturations, 5);
    for (size_t i = 0; i < 5; i++) {
        const adept_fit_run *run = &fit->saturations[i];
        assert_string_equal(run->name, adept_saturation_name(i));
        assert_true(isfinite(run->loss.total) && run->generations > 0 && run->n_free > 0);
    }
    adept_fit_free(fit);
    synthetic_free(s);
}

/* ---- progress ---- */

static double began_s;

static void progress_is_told(void *context, const adept_fit_progress *p)
{
    assert_true(p->evaluations_per_s * (adept_clock_s() - began_s) >= p->generation); /* each takes one at least */
    assert_string_equal(p->part, "held out: albert: fit");
    assert_true(p->generation > 0 && isfinite(p->best_loss) && p->evaluations_per_s > 0.0);
    ++*(int *)context;
}

static void progress_has_all_it_promises(void **state)
{
    (void)state;
    synthetic *s = made(0.02, 5);
    adept_fit_options o = small_options();
    int calls = 0;
    began_s = adept_clock_s();
    o.progress = progress_is_told;
    o.progress_context = &calls;
    o.label = "held out: albert";
    adept_fit *fit = fit_of(s, &o);
    assert_true(calls > 0 && fit->wall_s > 0.0 && fit->evaluations > 0.0);
    adept_fit_free(fit);
    synthetic_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixing_freeing_and_leaving_out),
        cmocka_unit_test(options_that_make_no_sense),
        cmocka_unit_test(stages_never_get_worse),
        cmocka_unit_test(stages_without_their_rows_are_skipped),
        cmocka_unit_test(all_saturation_functions_in_one_run),
        cmocka_unit_test(progress_has_all_it_promises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
