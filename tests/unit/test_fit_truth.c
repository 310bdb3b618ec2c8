/* What the report says of parameters whose truth is known: the thesis's 32 configurations, made up with 0 and 2 %
 * noise. */
#include "adept_fit_report.h"
#include "synthetic_rows.h"
#include "cmocka_test.h"

typedef struct scene {
    synthetic *s;
    adept_dataset *d; /* its rows are the synthetic ones */
    adept_fit *fit;
    adept_fit_report *report;
    double truth[SYNTHETIC_MAX_PARAMETERS]; /* in the order of the fit's parameters */
} scene;

static void scene_init(scene *c, double noise, uint64_t seed)
{
    static const char *const schemes[] = {"k-fold:5"};
    adept_fit_options o = adept_fit_options_default();
    adept_fit_report_options r = {.held_out = {.n_schemes = 1, .schemes = schemes, .seed = 1}};
    adept_error err = {0};
    c->s = synthetic_new("a100-sxm-40gb", noise, seed);
    c->d = adept_dataset_new();
    assert_true(c->s && c->d);
    c->d->rows = c->s->rows;
    c->d->n = THESIS_N_POINTS;
    o.scalars = synthetic_scalars;
    o.n_scalars = SYNTHETIC_N_SCALARS;
    o.population_per_parameter = 8;
    o.max_generations = 3000;
    if (adept_calibrate(&c->fit, c->d->rows, c->d->n, c->s->hw, &o, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_fit_report_new(&c->report, c->d, c->s->hw, c->fit, &o, &r, &err) != ADEPT_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < c->fit->n_parameters; i++)
        for (size_t k = 0; k < adept_evaluator_n_parameters(c->s->evaluator); k++)
            if (strcmp(adept_evaluator_parameter(c->s->evaluator, k)->name, c->fit->parameters[i].info.name) == 0)
                c->truth[i] = c->s->truth[k];
}

static void scene_end(scene *c)
{
    adept_fit_report_free(c->report);
    adept_fit_free(c->fit);
    adept_dataset_free(c->d);
    synthetic_free(c->s);
}

static double error_of(const adept_parameter_report *p, double truth)
{
    return p->log_scale ? fabs(log(p->value / truth)) : fabs(p->value - truth);
}

static const adept_parameter_report *named(const adept_identifiability *id, const char *name)
{
    for (size_t i = 0; i < id->n; i++)
        if (strcmp(id->parameters[i].name, name) == 0) return &id->parameters[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

/* Whatever is said to be determined is near its truth: within 5 %, or three of the standard errors given for it. */
static void check_promises(const scene *c)
{
    const adept_identifiability *id = &c->report->identifiability;
    for (size_t i = 0; i < id->n; i++) {
        const adept_parameter_report *p = &id->parameters[i];
        if (p->determined && !(error_of(p, c->truth[i]) <= fmax(0.05, 3 * p->std_error)))
            fail_msg("%s = %g is said to be known to %g; the truth is %g", p->name, p->value, p->std_error,
                     c->truth[i]);
        if (p->free && !p->determined && !p->why_not) fail_msg("%s: no reason", p->name);
        if (!p->free && !(p->kept && *p->kept)) fail_msg("%s: kept for no reason", p->name);
    }
}

/* In these 32 configurations only ALBERT's pass waits for memory, so c_mem and its own multiplier are one number; and
 * saturation of convolutions can come from channels or from pixels. Both are compensated at other values by a perfect
 * fit, as the refits show. */
static void without_noise(void **state)
{
    (void)state;
    scene c;
    scene_init(&c, 0, 11);
    const adept_identifiability *id = &c.report->identifiability;
    check_promises(&c);
    assert_true(c.report->in_sample->overall.mape_combined < 0.1);
    assert_true(id->n_determined >= 12 && id->n_determined < id->n_free);
    static const char *const unknown[] = {"r_c", "r_s", "c_mem", "albert_mem"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_true(named(id, unknown[i])->free);
        assert_false(named(id, unknown[i])->determined);
    }
    static const char *const known[] = {"beta_alu", "t_fixed_s", "c_power", "bw_eff_bytes_per_s", "c_gemm_lowp"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_true(named(id, known[i])->determined);
    bool together = false;
    for (size_t i = 0; i < id->n_groups; i++)
        together = together || strcmp(id->groups[i].text, "c_mem * albert_mem") == 0;
    assert_true(together);
    assert_true(named(id, "r_s")->refit_low < named(id, "r_s")->refit_high);
    scene_end(&c);
}

/* The scalars travel too. */
static void check_profile(const scene *c)
{
    char *text = NULL;
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (adept_fit_report_to_hwprofile(&text, c->report, "2026-11-21", &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_int_equal(adept_hwprofile_from_json(&hw, "fitted.json", text, strlen(text), NULL), ADEPT_OK);
    assert_int_equal(hw->n_scalars, SYNTHETIC_N_SCALARS);
    assert_string_equal(hw->scalars[0].name, "albert_gemm");
    assert_true(hw->scalars[0].value != 1.0 && hw->scalars[0].value == c->fit->scalars[0].value);
    for (size_t i = 0; i < c->d->n; i++) {
        adept_prediction p;
        const adept_dataset_row *m = &c->d->rows[i];
        assert_int_equal(adept_predict(&p, m->profile, hw, &m->run, NULL), ADEPT_OK);
        assert_float_equal(p.step_time_s / c->report->in_sample->rows[i].time_s, 1, 1e-12);
        assert_float_equal(p.power_avg_w / c->report->in_sample->rows[i].power_w, 1, 1e-12);
    }
    adept_hwprofile_free(hw);
    free(text);
}

static void with_noise(void **state)
{
    (void)state;
    scene c;
    scene_init(&c, 0.02, 12);
    const adept_evaluation *held_out = c.report->held_out[0].evaluation;
    check_promises(&c);
    check_profile(&c);
    /* the noise it infers from 64 residuals of a fit of 24 numbers is the noise there was, to a factor of 2 */
    assert_true(c.report->identifiability.noise_time > 0.01 && c.report->identifiability.noise_time < 0.04);
    assert_true(c.report->identifiability.noise_power > 0.01 && c.report->identifiability.noise_power < 0.04);
    assert_int_equal(held_out->n, THESIS_N_POINTS);
    assert_true(held_out->overall.mape_combined >= c.report->in_sample->overall.mape_combined);
    scene_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_noise),
        cmocka_unit_test(with_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
