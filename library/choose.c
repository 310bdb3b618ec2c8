/** @file choose.c  The best of given options under constraints (thesis eq 5.1, algorithm 6). Calls: nothing. */
#include "handles.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- one option ---- */

static const adept_verdict unknown = {NAN, NAN, NAN, NAN, NAN, ADEPT_CONSTRAINT_PREDICTABLE, 0};

static bool exceeds(double value, double allowed)
{
    return allowed > 0.0 && !(value <= allowed); /* what is not known is no reason to hope */
}

static adept_verdict judge(const adept_estimate *e, const adept_goal *g)
{
    adept_verdict v = unknown;
    if (e->status != ADEPT_OK) return v;
    v.violated = 0;
    v.steps = g->samples > 0.0 ? ceil(g->samples / e->samples) : g->steps > 0.0 ? g->steps : 1.0;
    v.time_s = v.steps * e->step_time_s;
    v.energy_j = v.steps * e->energy_step_j;
    v.edp_js = v.energy_j * v.time_s;
    v.power_w = e->power_avg_w;
    if (exceeds(v.power_w, g->power_budget_w)) v.violated |= ADEPT_CONSTRAINT_POWER;
    if (exceeds(v.time_s, g->deadline_s)) v.violated |= ADEPT_CONSTRAINT_DEADLINE;
    if (exceeds(v.energy_j, g->energy_budget_j)) v.violated |= ADEPT_CONSTRAINT_ENERGY;
    if ((e->notes & ADEPT_NOTE_NO_ROOM) && !g->ignore_memory) v.violated |= ADEPT_CONSTRAINT_MEMORY;
    if (!isfinite(v.time_s) || (g->objective != ADEPT_LEAST_TIME && !isfinite(v.edp_js)))
        v.violated |= ADEPT_CONSTRAINT_PREDICTABLE;
    return v;
}

/* -1, 0, 1; what is not known comes last. */
static int compare(double a, double b)
{
    if (isnan(a) || isnan(b)) return (int)isnan(a) - (int)isnan(b);
    return (a > b) - (a < b);
}

static double objective_of(const adept_verdict *v, int32_t objective)
{
    switch (objective) {
    case ADEPT_LEAST_TIME:
        return v->time_s;
    case ADEPT_LEAST_ENERGY:
        return v->energy_j;
    default:
        return v->edp_js;
    }
}

/* By the objective, then time, energy, power: equal in all of them, the earlier option stays. */
static bool is_better(const adept_verdict *a, const adept_verdict *b, int32_t objective)
{
    int order = compare(objective_of(a, objective), objective_of(b, objective));
    if (order == 0) order = compare(a->time_s, b->time_s);
    if (order == 0) order = compare(a->energy_j, b->energy_j);
    if (order == 0) order = compare(a->power_w, b->power_w);
    return order < 0;
}

/* ---- when none is feasible ---- */

/* What a constraint allows, and what an option needs of it. NAN: it cannot be relaxed. */
typedef struct excess {
    double allowed, needed;
} excess;

static excess excess_of(const adept_verdict *v, const adept_estimate *e, const adept_goal *g, uint32_t constraint)
{
    switch (constraint) {
    case ADEPT_CONSTRAINT_POWER:
        return (excess){g->power_budget_w, v->power_w};
    case ADEPT_CONSTRAINT_DEADLINE:
        return (excess){g->deadline_s, v->time_s};
    case ADEPT_CONSTRAINT_ENERGY:
        return (excess){g->energy_budget_j, v->energy_j};
    case ADEPT_CONSTRAINT_MEMORY:
        return (excess){e->capacity_bytes, e->peak_bytes};
    default: /* several at once, or no prediction */
        return (excess){NAN, NAN};
    }
}

static void find_binding(adept_choice *out, const adept_estimate *estimates, size_t n, const adept_goal *g)
{
    double least = NAN;
    for (size_t i = 0; i < n; i++) {
        adept_verdict v = judge(&estimates[i], g);
        excess x = excess_of(&v, &estimates[i], g, v.violated);
        double factor = x.needed / x.allowed;
        int order = compare(factor, least);
        if (isnan(factor) || order > 0 || (order == 0 && !is_better(&v, &out->verdict, g->objective))) continue;
        least = factor;
        out->binding = v.violated;
        out->needed = x.needed;
        out->nearest = i;
        out->verdict = v;
    }
}

static const char *constraint_name(uint32_t constraint)
{
    switch (constraint) {
#define X(name, bit, text)                                                                                             \
    case ADEPT_CONSTRAINT_##name:                                                                                      \
        return text;
        ADEPT_CONSTRAINT_LIST(X)
#undef X
    default:
        return "constraints";
    }
}

static const char *unit_of(uint32_t constraint)
{
    switch (constraint) {
    case ADEPT_CONSTRAINT_POWER:
        return "W";
    case ADEPT_CONSTRAINT_DEADLINE:
        return "s";
    case ADEPT_CONSTRAINT_ENERGY:
        return "J";
    default:
        return "bytes";
    }
}

static adept_status describe_several(const adept_estimate *estimates, size_t n, const adept_goal *g, adept_error *err)
{
    char text[256] = "";
    size_t used = 0;
    for (uint32_t bit = 1; bit <= ADEPT_CONSTRAINT_PREDICTABLE; bit <<= 1) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            count += (judge(&estimates[i], g).violated & bit) != 0;
        if (count == 0 || used >= sizeof text) continue;
        int length = snprintf(text + used, sizeof text - used, "%s%zu miss %s", used ? ", " : "", count,
                              bit == ADEPT_CONSTRAINT_PREDICTABLE ? "a prediction" : constraint_name(bit));
        used += length > 0 ? (size_t)length : 0;
    }
    return adept_error_set(err, ADEPT_E_INFEASIBLE,
                           "none of %zu options meets the constraints, nor would it if one of them were relaxed: %s", n,
                           text);
}

static adept_status infeasible(adept_choice *out, const adept_estimate *estimates, size_t n, const adept_goal *g,
                               adept_error *err)
{
    if (n == 0) return adept_error_set(err, ADEPT_E_INFEASIBLE, "there are no options to choose from");
    find_binding(out, estimates, n, g);
    if (out->binding == 0) return describe_several(estimates, n, g, err);
    excess x = excess_of(&out->verdict, &estimates[out->nearest], g, out->binding);
    const char *unit = unit_of(out->binding);
    return adept_error_set(err, ADEPT_E_INFEASIBLE,
                           "no option keeps within the %s of %.6g %s: option %zu, the nearest, needs %.6g %s",
                           constraint_name(out->binding), x.allowed, unit, out->nearest, x.needed, unit);
}

/* ---- all ---- */

static adept_status check_number(const char *name, double value, adept_error *err)
{
    if (value >= 0.0 && isfinite(value)) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "goal: %s is %g", name, value);
}

static adept_status check_goal(const adept_goal *g, adept_error *err)
{
    if (g->objective < ADEPT_LEAST_TIME || g->objective > ADEPT_LEAST_EDP)
        return adept_error_set(err, ADEPT_E_USAGE, "goal: objective is %d, which is no ADEPT_LEAST_",
                               (int)g->objective);
    if (g->samples > 0.0 && g->steps > 0.0)
        return adept_error_set(err, ADEPT_E_USAGE, "goal: samples and steps exclude each other");
    for (size_t i = 0; i < sizeof g->reserved / sizeof *g->reserved; i++)
        if (g->reserved[i] != 0.0)
            return adept_error_set(err, ADEPT_E_USAGE, "goal: reserved members must be 0 in this version");
    adept_status status = check_number("samples", g->samples, err);
    if (status == ADEPT_OK) status = check_number("steps", g->steps, err);
    if (status == ADEPT_OK) status = check_number("power_budget_w", g->power_budget_w, err);
    if (status == ADEPT_OK) status = check_number("deadline_s", g->deadline_s, err);
    return status == ADEPT_OK ? check_number("energy_budget_j", g->energy_budget_j, err) : status;
}

adept_status adept_choose(adept_choice *out, adept_verdict *verdicts, const adept_estimate *estimates, size_t n,
                          const adept_goal *goal, adept_error *err)
{
    static const adept_goal defaults = {0};
    const adept_goal *g = goal ? goal : &defaults;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!estimates && n > 0) return adept_library_missing(__func__, "estimates", err);
    adept_status status = check_goal(g, err);
    if (status != ADEPT_OK) return status;
    adept_choice c = {.best = n, .nearest = n, .needed = NAN, .verdict = unknown};
    for (size_t i = 0; i < n; i++) {
        adept_verdict v = judge(&estimates[i], g);
        if (verdicts) verdicts[i] = v;
        if (v.violated) continue;
        if (c.n_feasible++ > 0 && !is_better(&v, &c.verdict, g->objective)) continue;
        c.best = i;
        c.verdict = v;
    }
    if (c.n_feasible == 0) status = infeasible(&c, estimates, n, g, err);
    *out = c;
    return status;
}
