/** @file chooser.c  The best option, and which constraint stands in the way of a better one; see adept_chooser.h. */
#include "adept_chooser.h"
#include "nearest.h"
#include <math.h>
#include <stdio.h>

/* ---- names ---- */

#define NAME(id, name, text, field) name,
#define TEXT(id, name, text, field) text,
ADEPT_NAMES(adept_aim_name, ADEPT_AIM_LIST(NAME))
ADEPT_NAMES(adept_aim_text, ADEPT_AIM_LIST(TEXT))
#undef TEXT
#define TEXT(id, text, unit) text,
#define UNIT(id, text, unit) unit,
ADEPT_NAMES(adept_within_text, ADEPT_WITHIN_LIST(TEXT))
ADEPT_NAMES(adept_within_unit, ADEPT_WITHIN_LIST(UNIT))

/* ---- one option ---- */

static const adept_judgement unknown = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 1u << ADEPT_WITHIN_PREDICTABLE};

static uint32_t exceeds(double value, double allowed, adept_within within)
{
    return allowed > 0.0 && !(value <= allowed) ? 1u << within : 0; /* what is not known is no reason to hope */
}

static double aim_of(const adept_judgement *v, adept_aim aim)
{
    const double of[] = {
#define X(id, name, text, field) v->field,
        ADEPT_AIM_LIST(X)
#undef X
    };
    return of[aim];
}

/* Nothing is paid for what has no price, even if it is not known how much of it there is. */
static double paid(double amount, double price)
{
    return price == 0.0 ? 0.0 : amount * price;
}

static adept_judgement judge(const adept_option *o, const adept_job *g)
{
    const adept_estimate *e = &o->estimate;
    adept_judgement v = unknown;
    if (e->status != ADEPT_OK) return v;
    v.steps = g->samples > 0.0 ? ceil(g->samples / e->samples) : g->steps > 0.0 ? g->steps : 1.0;
    v.time_s = v.steps * e->step_time_s;
    v.energy_j = v.steps * e->energy_step_j;
    v.edp_js = v.energy_j * v.time_s;
    v.ed2p_js2 = v.edp_js * v.time_s;
    v.power_w = e->power_avg_w;
    v.energy_per_token_j = o->energy_per_token_j;
    v.cost = paid(v.time_s, o->cost_per_s) + paid(v.energy_j, o->cost_per_j);
    v.violated = exceeds(v.power_w, g->power_budget_w, ADEPT_WITHIN_POWER) |
                 exceeds(v.time_s, g->deadline_s, ADEPT_WITHIN_DEADLINE) |
                 exceeds(v.energy_j, g->energy_budget_j, ADEPT_WITHIN_ENERGY) |
                 exceeds(v.cost, g->cost_budget, ADEPT_WITHIN_COST) |
                 exceeds(e->ttft_s, g->ttft_limit_s, ADEPT_WITHIN_TTFT) |
                 exceeds(e->tpot_s, g->tpot_limit_s, ADEPT_WITHIN_TPOT);
    if (!adept_estimate_fits(e) && !g->ignore_memory) v.violated |= 1u << ADEPT_WITHIN_MEMORY;
    double needed = g->aim == ADEPT_AIM_TIME ? 0.0 : g->aim == ADEPT_AIM_ENERGY ? v.edp_js : aim_of(&v, g->aim);
    if (!isfinite(v.time_s) || !isfinite(needed)) v.violated |= 1u << ADEPT_WITHIN_PREDICTABLE;
    return v;
}

/* -1, 0, 1; what is not known comes last. */
static int compare(double a, double b)
{
    if (isnan(a) || isnan(b)) return (int)isnan(a) - (int)isnan(b);
    return (a > b) - (a < b);
}

/* By the aim, then time, energy, power: equal in all of them, the earlier option stays. */
static bool is_better(const adept_judgement *a, const adept_judgement *b, adept_aim aim)
{
    int order = compare(aim_of(a, aim), aim_of(b, aim));
    if (order == 0) order = compare(a->time_s, b->time_s);
    if (order == 0) order = compare(a->energy_j, b->energy_j);
    if (order == 0) order = compare(a->power_w, b->power_w);
    return order < 0;
}

/* ---- constraints ---- */

void adept_chooser_needs(double *allowed, double *needed, const adept_chooser *c, const adept_chosen *chosen,
                         adept_within within)
{
    const adept_judgement *v = &chosen->judged;
    const struct {
        double allowed, needed;
    } of[ADEPT_WITHINS] = {
        [ADEPT_WITHIN_POWER] = {c->job.power_budget_w, v->power_w},
        [ADEPT_WITHIN_DEADLINE] = {c->job.deadline_s, v->time_s},
        [ADEPT_WITHIN_ENERGY] = {c->job.energy_budget_j, v->energy_j},
        [ADEPT_WITHIN_MEMORY] = {chosen->option.estimate.capacity_bytes, chosen->option.estimate.peak_bytes},
        [ADEPT_WITHIN_PREDICTABLE] = {NAN, NAN},
        [ADEPT_WITHIN_COST] = {c->job.cost_budget, v->cost},
        [ADEPT_WITHIN_TTFT] = {c->job.ttft_limit_s, chosen->option.estimate.ttft_s},
        [ADEPT_WITHIN_TPOT] = {c->job.tpot_limit_s, chosen->option.estimate.tpot_s},
    };
    *allowed = of[within].allowed;
    *needed = of[within].needed;
}

/* An option that one constraint alone keeps out. */
static void remember_kept_out(adept_chooser *c, const adept_chosen *option, adept_within within)
{
    double allowed, needed;
    if (within == ADEPT_WITHIN_PREDICTABLE) return;
    if (!c->has_without[within] || is_better(&option->judged, &c->without[within].judged, c->job.aim)) {
        c->has_without[within] = true;
        c->without[within] = *option;
    }
    adept_chooser_needs(&allowed, &needed, c, option, within);
    double factor = needed / allowed;
    if (isnan(factor)) return;
    int order = c->has_nearest ? compare(factor, c->factor) : -1;
    if (order > 0 || (order == 0 && !is_better(&option->judged, &c->nearest.judged, c->job.aim))) return;
    c->has_nearest = true;
    c->factor = factor;
    c->binding = within;
    c->nearest = *option;
}

/* ---- all ---- */

adept_status adept_chooser_init(adept_chooser *c, const adept_job *job, adept_error *err)
{
    if (job->samples > 0.0 && job->steps > 0.0)
        return adept_error_set(err, ADEPT_E_USAGE, "goal: samples and steps exclude each other");
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"samples", job->samples},       {"steps", job->steps},
                   {"power_budget_w", job->power_budget_w}, {"deadline_s", job->deadline_s},
                   {"energy_budget_j", job->energy_budget_j}, {"cost_budget", job->cost_budget},
                   {"ttft_limit_s", job->ttft_limit_s}, {"tpot_limit_s", job->tpot_limit_s}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= 0.0 && isfinite(numbers[i].value)))
            return adept_error_set(err, ADEPT_E_USAGE, "goal: %s is %g", numbers[i].name, numbers[i].value);
    *c = (adept_chooser){.job = *job};
    return ADEPT_OK;
}

void adept_chooser_add(adept_chooser *c, uint64_t id, const adept_option *option, adept_judgement *out)
{
    const adept_chosen chosen = {.id = id, .judged = judge(option, &c->job), .option = *option};
    uint32_t violated = chosen.judged.violated;
    if (out) *out = chosen.judged;
    c->n++;
    if (violated == 0) {
        if (c->n_feasible++ == 0 || is_better(&chosen.judged, &c->best.judged, c->job.aim)) c->best = chosen;
        return;
    }
    for (int i = 0; i < ADEPT_WITHINS; i++) {
        c->n_violating[i] += violated >> i & 1;
        if (violated == 1u << i) remember_kept_out(c, &chosen, (adept_within)i);
    }
}

bool adept_chooser_held_back(adept_within *out, const adept_chooser *c)
{
    const adept_judgement *best = c->n_feasible ? &c->best.judged : NULL;
    for (int i = 0; i < ADEPT_WITHINS; i++) {
        if (!c->has_without[i] || (best && !is_better(&c->without[i].judged, best, c->job.aim))) continue;
        best = &c->without[i].judged;
        *out = (adept_within)i;
    }
    return best && best != &c->best.judged;
}

char *adept_chooser_describe(char *text, size_t size, const adept_chooser *c)
{
    text[0] = '\0';
    for (size_t i = 0, used = 0; i < ADEPT_WITHINS && used < size; i++) {
        const char *name = i == ADEPT_WITHIN_PREDICTABLE ? "a prediction" : adept_within_text(i);
        if (c->n_violating[i] == 0) continue;
        int n = snprintf(text + used, size - used, "%s%llu miss %s", used ? ", " : "",
                         (unsigned long long)c->n_violating[i], name);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}
