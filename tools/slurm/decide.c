/** @file decide.c  All placements that are open, predicted and compared. Calls: libadept, thrift. */
#include "adept_slurm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One placement, beside its request. */
typedef struct option {
    const adept_slurm_place *place;
    double limit_w;
} option;

typedef struct options {
    option *what;
    adept_request *requests;
    adept_estimate *estimates;
    adept_verdict *verdicts;
    size_t n;
} options;

/* ---- which are open ---- */

/* Whether `name` is in the list "a,b"; no list has all. */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list, *comma; at; at = comma ? comma + 1 : NULL) {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
        comma = strchr(at, ',');
    }
    return list == NULL || *list == '\0';
}

/* By how many GPUs the job may have there: bits; 0: the place is not open to it. */
static uint64_t open_gpus(const adept_slurm_place *p, const adept_slurm_wish *wish, const adept_slurm_fixed *fixed)
{
    uint64_t mask = p->gpus;
    if (!is_listed(fixed->partitions, p->partition)) return 0;
    if (fixed->gres_type[0] != '\0' && strcmp(fixed->gres_type, p->gres_type) != 0) return 0;
    if (wish->gpus) mask &= wish->gpus;
    if (fixed->gpus > 0) mask &= UINT64_C(1) << (fixed->gpus - 1);
    return mask;
}

/* No limit first: of equal options the first is taken, and a limit that changes nothing is none. */
static void add_place(options *o, const adept_slurm_place *p, const adept_oracle *oracle, uint64_t gpus)
{
    for (int n = 1; n <= ADEPT_SLURM_GPUS_MAX; n++) {
        if (!(gpus >> (n - 1) & 1)) continue;
        for (size_t i = 0; i <= p->n_limits; i++) {
            double limit_w = i == 0 ? 0 : p->limits_w[i - 1];
            o->what[o->n] = (option){p, limit_w};
            o->requests[o->n] = (adept_request){.oracle = oracle, .gpus = n, .power_limit_w = limit_w};
            o->n++;
        }
    }
}

/* Returns whether anything is open, predictable or not. */
static bool collect(options *o, const adept_slurm_config *config, const adept_slurm_plan *plan,
                    const adept_slurm_wish *wish, const adept_slurm_fixed *fixed)
{
    bool any = false;
    for (size_t i = 0; i < config->n_places; i++) {
        const adept_slurm_place *p = &config->places[i];
        uint64_t gpus = open_gpus(p, wish, fixed);
        any = any || gpus != 0;
        if (gpus && plan->oracles[i]) add_place(o, p, plan->oracles[i], gpus);
    }
    return any;
}

/* ---- which is best ---- */

static adept_goal goal_of(const adept_slurm_config *config, const adept_slurm_wish *wish,
                          const adept_slurm_fixed *fixed)
{
    adept_goal g = {.objective = wish->objective >= 0 ? wish->objective : config->objective,
                    .samples = wish->samples,
                    .steps = wish->steps,
                    .power_budget_w = wish->power_budget_w,
                    .energy_budget_j = wish->energy_budget_j,
                    .deadline_s = wish->deadline_s};
    bool sized = g.samples > 0 || g.steps > 0;
    if (sized && fixed->time_limit_s > 0 && !(g.deadline_s > 0 && g.deadline_s <= fixed->time_limit_s))
        g.deadline_s = fixed->time_limit_s; /* Slurm would end the job there */
    return g;
}

static const struct constraint {
    uint32_t bit;
    const char *text, *unit; /* unit NULL: a time */
    double scale;
} constraints[] = {
    {ADEPT_CONSTRAINT_DEADLINE, "the deadline", NULL, 1},
    {ADEPT_CONSTRAINT_POWER, "the power budget", "W", 1},
    {ADEPT_CONSTRAINT_ENERGY, "the energy budget", "kWh", 3.6e6},
    {ADEPT_CONSTRAINT_MEMORY, "the GPUs' memory", "GiB", 1073741824.0},
};

static void constraint_value(char out[48], const struct constraint *c, double value)
{
    if (c->unit)
        snprintf(out, 48, "%.4g %s", value / c->scale, c->unit);
    else
        adept_slurm_time_text(out, value);
}

static adept_status refuse(const options *o, const adept_choice *c, const adept_goal *g, bool own_time_limit,
                           const adept_error *inner, adept_error *err)
{
    char allowed[48], needed[48];
    adept_gpu_info gpu;
    const struct constraint *binding = constraints, *end = constraints + sizeof constraints / sizeof *constraints;
    while (binding < end && binding->bit != c->binding)
        binding++;
    if (binding == end || c->nearest >= o->n) return adept_error_set(err, ADEPT_E_INFEASIBLE, "%.900s", inner->message);
    const option *near = &o->what[c->nearest];
    const adept_estimate *e = &o->estimates[c->nearest];
    constraint_value(allowed, binding,
                     c->binding == ADEPT_CONSTRAINT_DEADLINE ? g->deadline_s
                     : c->binding == ADEPT_CONSTRAINT_POWER  ? g->power_budget_w
                     : c->binding == ADEPT_CONSTRAINT_ENERGY ? g->energy_budget_j
                                                             : e->capacity_bytes);
    constraint_value(needed, binding, c->needed);
    adept_gpu_describe(&gpu, near->place->gpu);
    return adept_error_set(err, ADEPT_E_INFEASIBLE,
                           "no placement keeps within %s of %s: the nearest of %zu, %d x %s in partition %s, needs %s",
                           own_time_limit && binding == constraints ? "the job's own time limit" : binding->text,
                           allowed, o->n, (int)o->requests[c->nearest].gpus, gpu.name, near->place->partition, needed);
}

/* Which of the feasible ones thrift takes. */
static adept_status choose_by_thrift(size_t *best, const adept_slurm_config *config, const options *o, int64_t batch,
                                     adept_error *err)
{
    adept_job_option *as = calloc(o->n, sizeof *as);
    adept_forecast *forecasts = calloc(o->n, sizeof *forecasts);
    size_t *index = calloc(o->n, sizeof *index), n = 0, chosen = 0;
    adept_status status = ADEPT_E_NOMEM;
    for (size_t i = 0; as && forecasts && index && i < o->n; i++) {
        const adept_verdict *v = &o->verdicts[i];
        if (v->violated) continue;
        as[n] = (adept_job_option){.type = (size_t)(o->what[i].place - config->places),
                                   .gpus = (int)o->requests[i].gpus,
                                   .batch = batch,
                                   .limit_w = o->what[i].limit_w,
                                   .step_time_s = o->estimates[i].step_time_s,
                                   .power_w = v->power_w};
        forecasts[n] = (adept_forecast){v->time_s, v->power_w};
        index[n++] = i;
    }
    if (as && forecasts && index)
        status = adept_slurm_thrift(&chosen, config, as, forecasts, n, err);
    else
        adept_error_set(err, status, "out of memory");
    if (status == ADEPT_OK) *best = index[chosen];
    free(as);
    free(forecasts);
    free(index);
    return status;
}

static adept_status choose(adept_slurm_decision *out, const adept_slurm_config *config, const options *o,
                           const adept_goal *wanted, bool own_time_limit, adept_error *err)
{
    adept_choice c = {0};
    adept_error inner = {0};
    adept_goal g = *wanted;
    bool is_thrift = g.objective == ADEPT_SLURM_THRIFT;
    if (is_thrift) g.objective = ADEPT_LEAST_EDP; /* says what is feasible; thrift chooses among that */
    adept_status status = adept_choose(&c, o->verdicts, o->estimates, o->n, &g, &inner);
    if (status == ADEPT_E_INFEASIBLE) return refuse(o, &c, &g, own_time_limit, &inner, err);
    if (status != ADEPT_OK) return adept_error_set(err, status, "%s", inner.message);
    if (is_thrift) status = choose_by_thrift(&c.best, config, o, out->batch, err);
    if (status != ADEPT_OK) return status;
    out->place = o->what[c.best].place;
    out->limit_w = o->what[c.best].limit_w;
    out->gpus = o->requests[c.best].gpus;
    out->estimate = o->estimates[c.best];
    out->verdict = o->verdicts[c.best];
    out->n_options = o->n;
    out->n_feasible = c.n_feasible;
    return ADEPT_OK;
}

adept_status adept_slurm_decide(adept_slurm_decision *out, const adept_slurm_config *config,
                                const adept_slurm_plan *plan, const adept_slurm_wish *wish,
                                const adept_slurm_fixed *fixed, adept_error *err)
{
    options o = {.what = calloc(ADEPT_SLURM_OPTIONS_MAX, sizeof *o.what),
                 .requests = calloc(ADEPT_SLURM_OPTIONS_MAX, sizeof *o.requests),
                 .estimates = calloc(ADEPT_SLURM_OPTIONS_MAX, sizeof *o.estimates),
                 .verdicts = calloc(ADEPT_SLURM_OPTIONS_MAX, sizeof *o.verdicts)};
    adept_status status = ADEPT_E_NOMEM;
    adept_slurm_decision d = {.batch = plan->batch, .whole_job = wish->samples > 0 || wish->steps > 0};
    if (!o.what || !o.requests || !o.estimates || !o.verdicts) {
        adept_error_set(err, status, "out of memory");
    } else {
        bool any = collect(&o, config, plan, wish, fixed);
        adept_goal goal = goal_of(config, wish, fixed);
        d.objective = goal.objective;
        (void)adept_predict_many(o.estimates, o.requests, o.n, NULL); /* each has its status */
        /* A board cannot keep a limit that its lowest clock exceeds: that is no option. */
        for (size_t i = 0; i < o.n; i++)
            if (o.what[i].limit_w > 0 && (o.estimates[i].notes & ADEPT_NOTE_ABOVE_LIMIT))
                o.estimates[i].status = ADEPT_E_INFEASIBLE;
        if (o.n > 0)
            status = choose(&d, config, &o, &goal, goal.deadline_s != wish->deadline_s, err);
        else if (any)
            status = adept_error_set(err, ADEPT_E_INFEASIBLE, "nothing can be predicted: %.900s", plan->why.message);
        else
            status = adept_error_set(
                err, ADEPT_E_INFEASIBLE,
                "no placement agrees with the partition, type and number of GPUs that the job asks for");
    }
    free(o.what);
    free(o.requests);
    free(o.estimates);
    free(o.verdicts);
    if (status == ADEPT_OK) *out = d;
    return status;
}

uint32_t adept_slurm_time_limit_min(const adept_slurm_config *config, const adept_slurm_decision *decision)
{
    double step_s = decision->estimate.interval_time_s[1];
    if (!(config->time_margin > 0) || !decision->whole_job) return 0;
    if (!isfinite(step_s)) step_s = decision->estimate.step_time_s;
    double minutes = ceil((decision->verdict.steps * step_s * config->time_margin + config->time_extra_s) / 60);
    return minutes >= 1 && minutes < 1e9 ? (uint32_t)minutes : 0;
}
