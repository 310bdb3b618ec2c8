/** @file synthetic_fit.h  Fits to measurements made up from known parameters, and what tests ask of them. Header only,
 * as synthetic_rows.h is. */
#ifndef SYNTHETIC_FIT_H
#define SYNTHETIC_FIT_H
#include "cmocka_test.h"
#include "synthetic_rows.h"

#define GPU "a100-sxm-40gb"
#define N THESIS_N_POINTS

static inline adept_fit_options small_options(void)
{
    adept_fit_options o = adept_fit_options_default();
    o.population_per_parameter = 5; /* the tests need not find the very best */
    o.max_generations = 1500;
    o.n_scalars = SYNTHETIC_N_SCALARS;
    o.scalars = synthetic_scalars;
    return o;
}

static inline adept_fit *fit_rows(const adept_dataset_row *rows, size_t n, const adept_hwprofile *base,
                                  const adept_fit_options *options)
{
    adept_fit *fit = NULL;
    adept_error err = {0};
    if (adept_calibrate(&fit, rows, n, base, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_true(fit->arena && isfinite(fit->loss.total) && fit->n_parameters > 0);
    return fit;
}

static inline adept_fit *fit_of(const synthetic *s, const adept_fit_options *options)
{
    return fit_rows(s->rows, N, s->hw, options);
}

static inline void refuse(const synthetic *s, const adept_fit_options *options, adept_status expected, const char *part)
{
    adept_fit *fit = NULL;
    adept_error err = {0};
    assert_int_equal(adept_calibrate(&fit, s->rows, N, s->hw, options, &err), expected);
    assert_null(fit);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static inline synthetic *made(double noise, uint64_t seed)
{
    synthetic *s = synthetic_new(GPU, noise, seed);
    assert_non_null(s);
    return s;
}

static inline const adept_fit_parameter *parameter(const adept_fit *fit, const char *name)
{
    for (size_t i = 0; i < fit->n_parameters; i++)
        if (strcmp(fit->parameters[i].info.name, name) == 0) return &fit->parameters[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

static inline void expect(const adept_fit *fit, const char *name, adept_fit_state state)
{
    const adept_fit_parameter *p = parameter(fit, name);
    if (p->state != state) fail_msg("%s is %d (%s)", name, (int)p->state, p->reason);
    assert_true((p->state == ADEPT_FIT_FREE) == (p->reason[0] == '\0'));
    if (p->state != ADEPT_FIT_FREE && p->state != ADEPT_FIT_FIXED) assert_true(p->value == p->start);
}

static inline double truth_of(const synthetic *s, const char *name)
{
    for (size_t i = 0; i < adept_evaluator_n_parameters(s->evaluator); i++)
        if (strcmp(adept_evaluator_parameter(s->evaluator, i)->name, name) == 0) return s->truth[i];
    fail_msg("no parameter %s", name);
    return NAN;
}

#endif
