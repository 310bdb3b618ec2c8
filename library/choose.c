/** @file choose.c  The best of given options under constraints (thesis eq 5.1, algorithm 6): whatif/chooser.c for the
 * public records. Calls: whatif. */
#include "adept_chooser.h"
#include "handles.h"
#include <math.h>

/* The public numbers are those of the chooser. */
#define SAME(name) ADEPT_CONSTRAINT_##name == 1 << ADEPT_WITHIN_##name
_Static_assert(SAME(POWER) && SAME(DEADLINE) && SAME(ENERGY) && SAME(MEMORY) && SAME(PREDICTABLE), "constraints");
_Static_assert((int)ADEPT_LEAST_TIME == (int)ADEPT_AIM_TIME && (int)ADEPT_LEAST_ENERGY == (int)ADEPT_AIM_ENERGY &&
                   (int)ADEPT_LEAST_EDP == (int)ADEPT_AIM_EDP && (int)ADEPT_LEAST_ED2P == (int)ADEPT_AIM_ED2P,
               "objectives");

static adept_status set_up(adept_chooser *c, const adept_goal *g, adept_error *err)
{
    if (g->objective < ADEPT_LEAST_TIME || g->objective > ADEPT_LEAST_ED2P)
        return adept_error_set(err, ADEPT_E_USAGE, "goal: objective is %d, which is no ADEPT_LEAST_",
                               (int)g->objective);
    for (size_t i = 0; i < sizeof g->reserved / sizeof *g->reserved; i++)
        if (g->reserved[i] != 0.0)
            return adept_error_set(err, ADEPT_E_USAGE, "goal: reserved members must be 0 in this version");
    const adept_job job = {
        .aim = (adept_aim)g->objective,
        .ignore_memory = g->ignore_memory != 0,
        .samples = g->samples,
        .steps = g->steps,
        .power_budget_w = g->power_budget_w,
        .deadline_s = g->deadline_s,
        .energy_budget_j = g->energy_budget_j,
    };
    return adept_chooser_init(c, &job, err);
}

static adept_verdict verdict_of(const adept_judgement *v)
{
    return (adept_verdict){v->steps, v->time_s, v->energy_j, v->edp_js, v->power_w, v->violated, 0};
}

/* ---- when none is feasible ---- */

static adept_status infeasible(adept_choice *out, const adept_chooser *c, adept_error *err)
{
    char text[256];
    double allowed;
    if (c->n == 0) return adept_error_set(err, ADEPT_E_INFEASIBLE, "there are no options to choose from");
    if (!c->has_nearest)
        return adept_error_set(
            err, ADEPT_E_INFEASIBLE,
            "none of %zu options meets the constraints, nor would it if one of them were relaxed: %s", (size_t)c->n,
            adept_chooser_describe(text, sizeof text, c));
    adept_chooser_needs(&allowed, &out->needed, c, &c->nearest, c->binding);
    out->binding = 1u << c->binding;
    out->nearest = (size_t)c->nearest.id;
    out->verdict = verdict_of(&c->nearest.judged);
    const char *unit = adept_within_unit(c->binding);
    return adept_error_set(err, ADEPT_E_INFEASIBLE,
                           "no option keeps within the %s of %.6g %s: option %zu, the nearest, needs %.6g %s",
                           adept_within_text(c->binding), allowed, unit, out->nearest, out->needed, unit);
}

/* ---- all ---- */

adept_status adept_choose(adept_choice *out, adept_verdict *verdicts, const adept_estimate *estimates, size_t n,
                          const adept_goal *goal, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    static const adept_goal defaults = {0};
    const adept_goal *g = goal ? goal : &defaults;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!estimates && n > 0) return adept_library_missing(__func__, "estimates", err);
    adept_chooser chooser;
    adept_status status = set_up(&chooser, g, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < n; i++) {
        adept_judgement judged;
        const adept_option option = {.estimate = estimates[i]};
        adept_chooser_add(&chooser, i, &option, &judged);
        if (verdicts) verdicts[i] = verdict_of(&judged);
    }
    adept_choice c = {.best = n, .nearest = n, .needed = NAN, .n_feasible = (size_t)chooser.n_feasible};
    c.verdict = (adept_verdict){NAN, NAN, NAN, NAN, NAN, ADEPT_CONSTRAINT_PREDICTABLE, 0};
    if (c.n_feasible > 0) {
        c.best = (size_t)chooser.best.id;
        c.verdict = verdict_of(&chooser.best.judged);
    } else {
        status = infeasible(&c, &chooser, err);
    }
    *out = c;
    return status;
}
