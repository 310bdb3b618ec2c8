/** @file calibrate.c  A fit from rows to result: scalars, parameters, stages, comparison of saturation functions. */
#include "adept_clock.h"
#include "adept_operator_model.h"
#include "fit_parts.h"
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What was asked for. */
typedef struct request {
    const adept_dataset_row *rows;
    size_t n;
    const adept_hwprofile *base;
    const adept_fit_options *options;
    adept_pool *pool;
} request;

/* ---- rows ---- */

/* Written so that NAN, "not measured", fails. */
static bool is_measured(double value)
{
    return value > 0.0 && isfinite(value);
}

static adept_status evaluator_of(adept_evaluator **out, const adept_dataset_row *rows, size_t n,
                                 adept_granularity granularity, const char *saturation, const adept_scalar *scalars,
                                 size_t n_scalars, adept_error *err)
{
    adept_placement *places = calloc(n > 0 ? n : 1, sizeof *places);
    if (!places) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", n);
    for (size_t i = 0; i < n; i++)
        places[i] = (adept_placement){rows[i].profile, rows[i].hw, rows[i].run};
    adept_status status = adept_evaluator_new(out, places, n, granularity, saturation, scalars, n_scalars, err);
    free(places);
    return status;
}

/* ---- a problem ---- */

/* One saturation function's problem. */
typedef struct problem {
    adept_arena *arena; /* its own memory */
    adept_arena *kept;  /* memory of what becomes the result: scalars, parameters, theta */
    const adept_fit_options *options;
    size_t n_rows;
    const adept_dataset_row *rows; /* copies */
    bool limited;                  /* one has a power limit of its own */
    size_t n_scalars;
    adept_scalar *scalars;
    adept_evaluator *evaluator;
    adept_objective objective;
    adept_fit_parameter *parameters;
    double *theta;  /* best so far */
    double *fixed;  /* the objective's */
    double *centre; /* of the prior: the base profile */
    bool *is_free;
    double *scratch; /* for gradients */
    double *spread;  /* of the parameters over GPUs, where the granularity knows it */
} problem;

static void problem_free(problem *p)
{
    adept_evaluator_free(p->evaluator);
    adept_arena_free(p->arena);
}

/* Those with use[i] (NULL: all) that tell something. */
static adept_status pick_rows(problem *p, const request *q, adept_error *err)
{
    const bool *use = q->options->use;
    adept_dataset_row *list = adept_arena_array(p->arena, q->n + 1, sizeof *list);
    if (!list) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", q->n);
    p->rows = list;
    for (size_t i = 0; i < q->n; i++) {
        const adept_dataset_row *row = &q->rows[i];
        if ((use && !use[i]) ||
            !(row->weight > 0.0 && (is_measured(row->step_time_s) || is_measured(row->power_avg_w))))
            continue;
        if (!row->profile || !row->hw)
            return adept_error_set(err, ADEPT_E_INTERNAL, "%s:%ld: the row has no workload profile", row->file,
                                   row->line);
        list[p->n_rows++] = *row;
        p->limited = p->limited || row->run.power_limit_w > 0.0;
    }
    if (p->n_rows > 0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_FIT, "no row to fit: none has a time or a power, and a weight above 0");
}

static adept_status allocate(problem *p, adept_error *err)
{
    size_t n = p->objective.n_parameters;
    p->parameters = adept_arena_array(p->kept, n, sizeof *p->parameters);
    p->theta = adept_arena_array(p->kept, n, sizeof *p->theta);
    p->fixed = adept_arena_array(p->arena, n, sizeof *p->fixed);
    p->centre = adept_arena_array(p->arena, n, sizeof *p->centre);
    p->is_free = adept_arena_array(p->arena, n, sizeof *p->is_free);
    p->spread = adept_arena_array(p->arena, n, sizeof *p->spread);
    p->scratch = adept_arena_array(p->arena, adept_objective_n_gradient_scratch(&p->objective), sizeof *p->scratch);
    if (p->parameters && p->theta && p->fixed && p->centre && p->is_free && p->scratch && p->spread) return ADEPT_OK;
    return adept_no_memory(err, "the fit");
}

static int compare_models(const void *a, const void *b)
{
    const adept_dataset_row *x = *(const adept_dataset_row *const *)a, *y = *(const adept_dataset_row *const *)b;
    int order = strcmp(x->model_name, y->model_name);
    return order ? order : strcmp(x->hw->name, y->hw->name);
}

/* Of the rows, each GPU's by itself. @return 0: no memory */
static size_t count_models(const problem *p)
{
    const adept_dataset_row **sorted = adept_arena_array(p->arena, p->n_rows, sizeof *sorted);
    size_t n = 0;
    if (!sorted) return 0;
    for (size_t i = 0; i < p->n_rows; i++)
        sorted[i] = &p->rows[i];
    qsort(sorted, p->n_rows, sizeof *sorted, compare_models);
    for (size_t i = 0; i < p->n_rows; i++)
        n += i == 0 || compare_models(&sorted[i - 1], &sorted[i]) != 0;
    return n;
}

#define BASE_OF_OTHERS 0.25 /* a base that was not fitted to this GPU too may be further off */

/* Around the base profile: what other GPUs say of a parameter that the rows hardly touch. */
static adept_status set_priors(problem *p, const adept_hwprofile *base, adept_error *err)
{
    p->objective.prior_weight = p->options->prior_weight;
    p->objective.rounding = p->options->rounding;
    double share = p->options->prior_rows / (double)(p->objective.n_times + p->objective.n_powers);
    if (p->options->granularity != ADEPT_GRANULARITY_OPERATOR) return ADEPT_OK;
    if (!(share > 0.0)) {
        size_t n_models = count_models(p);
        if (n_models == 0) return adept_no_memory(err, "the fit");
        share = p->options->prior_models / (double)n_models * (base->among || base->calibrated ? 1.0 : BASE_OF_OTHERS);
    }
    if (!(share > 0.0)) return ADEPT_OK;
    for (size_t i = 0; i < p->objective.n_parameters; i++)
        p->spread[i] = adept_operator_parameter_prior(i);
    adept_objective_spread(&p->objective, p->spread, share);
    return ADEPT_OK;
}

static adept_status problem_init(problem *p, const request *q, adept_arena *kept, const char *saturation,
                                 adept_error *err)
{
    const adept_fit_options *options = q->options;
    *p = (problem){.arena = adept_arena_new(), .kept = kept, .options = options};
    if (!p->arena) return adept_no_memory(err, "the fit");
    adept_status status = pick_rows(p, q, err);
    if (status == ADEPT_OK) status = adept_fit_scalars(&p->scalars, &p->n_scalars, kept, q->base, options, err);
    if (status == ADEPT_OK)
        status = evaluator_of(&p->evaluator, p->rows, p->n_rows, options->granularity, saturation, p->scalars,
                              p->n_scalars, err);
    if (status == ADEPT_OK)
        status = adept_objective_init(&p->objective, p->arena, p->evaluator, p->rows, p->n_rows,
                                      options->weight_time, options->weight_power, err);
    if (status == ADEPT_OK) status = allocate(p, err);
    if (status == ADEPT_OK)
        status =
            adept_fit_parameters_choose(p->parameters, &p->objective, q->base, options, p->limited, p->arena, err);
    if (status == ADEPT_OK) status = set_priors(p, q->base, err);
    if (status != ADEPT_OK) return status;
    p->objective.fixed = p->fixed;
    size_t last = 0;
    if (p->options->stage && adept_stage_find(&last, p->options->stage, NULL) == ADEPT_OK) {
        for (size_t i = 0; i < p->objective.n_parameters; i++) {
            adept_fit_parameter *parameter = &p->parameters[i];
            if (parameter->state != ADEPT_FIT_FREE || adept_stage_of(parameter->info.name) <= last) continue;
            parameter->state = ADEPT_FIT_FIXED;
            parameter->reason = "a later stage";
        }
    }
    for (size_t i = 0; i < p->objective.n_parameters; i++)
        p->theta[i] = p->centre[i] = p->parameters[i].start;
    /* A number that cannot be predicted at the start can never be. */
    const adept_objective *o = &p->objective;
    adept_evaluate(o->evaluator, p->theta, p->scratch, p->scratch + o->n_rows);
    for (size_t k = 0; k < o->n_times + o->n_powers; k++) {
        size_t at = o->targets[k].at;
        const adept_dataset_row *m = &p->rows[at % o->n_rows];
        if (isfinite(p->scratch[at])) continue;
        if (k < o->n_times)
            return adept_error_set(err, ADEPT_E_FIT, "%s:%ld: the time of this row cannot be predicted", m->file,
                                   m->line);
        return adept_error_set(err, ADEPT_E_FIT, "%s:%ld: the power of this row cannot be predicted: %s has no tdp_w",
                               m->file, m->line, m->hw->name);
    }
    return ADEPT_OK;
}

/* ---- running ---- */

/* Everything free at this stage, from the best so far. */
static adept_status run_stage(adept_fit_run *out, problem *p, size_t stage, const char *name, adept_pool *pool,
                              adept_error *err)
{
    adept_objective *o = &p->objective;
    size_t n_free = adept_fit_parameters_in_stage(p->is_free, p->parameters, o->n_parameters, stage);
    if (n_free == 0)
        return adept_error_set(err, ADEPT_E_FIT, "nothing to fit: these rows determine no parameter that is free");
    memcpy(p->fixed, p->theta, o->n_parameters * sizeof *p->fixed);
    if (!adept_objective_free(o, p->arena, p->is_free, p->centre)) return adept_no_memory(err, "the fit");
    adept_status status = adept_run_solve(out, o, p->options, name, pool, p->theta, err);
    out->n_free = n_free;
    return status;
}

/* Each stage from the last one's result; one that frees nothing these rows determine has its numbers. */
static adept_status run_stages(problem *p, adept_fit *fit, size_t last, adept_pool *pool, adept_error *err)
{
    adept_status status = ADEPT_OK;
    adept_fit_run *stages = adept_arena_array(fit->arena, last + 1, sizeof *stages);
    size_t n = p->objective.n_parameters, n_before = 0;
    if (!stages) return adept_no_memory(err, "the fit");
    fit->stages = stages;
    for (size_t i = 0; i <= last && status == ADEPT_OK && (i == 0 || !stages[i - 1].interrupted); i++) {
        size_t n_free = adept_fit_parameters_in_stage(p->is_free, p->parameters, n, i);
        if (i == 0 || n_free > n_before) {
            status = run_stage(&stages[i], p, i, adept_stage_at(i)->name, pool, err);
            fit->generations += stages[i].generations;
            fit->evaluations += stages[i].evaluations;
        } else {
            stages[i] = stages[i - 1];
            stages[i].skipped = true;
            stages[i].generations = 0;
            stages[i].evaluations = 0.0;
        }
        stages[i].name = adept_stage_at(i)->name;
        stages[i].adds = adept_stage_at(i)->adds;
        n_before = n_free;
        fit->n_stages = i + 1;
    }
    return status;
}

static adept_status run_all(adept_fit_run *run, problem *p, adept_fit *fit, adept_pool *pool, adept_error *err)
{
    size_t last = 0;
    adept_status status = ADEPT_OK;
    if (p->options->stage) {
        status = adept_stage_find(&last, p->options->stage, err);
        if (status == ADEPT_OK) status = run_stages(p, fit, last, pool, err);
        if (status == ADEPT_OK) *run = fit->stages[fit->n_stages - 1];
    } else {
        status = run_stage(run, p, ADEPT_EVERY_STAGE, "fit", pool, err);
        fit->generations = run->generations;
        fit->evaluations = run->evaluations;
    }
    fit->converged = run->converged;
    fit->interrupted = run->interrupted;
    return status;
}

/* ---- saturation functions side by side ---- */

static adept_status run_saturation(adept_fit_run *out, const request *q, adept_arena *kept, const char *name,
                                   adept_error *err)
{
    problem p;
    adept_status status = problem_init(&p, q, kept, name, err);
    if (status == ADEPT_OK) status = run_stage(out, &p, ADEPT_EVERY_STAGE, name, q->pool, err);
    problem_free(&p);
    return status;
}

static adept_status compare_saturations(adept_fit *fit, const adept_fit_run *main_run, const request *q,
                                        adept_error *err)
{
    size_t n = 0;
    adept_status status = ADEPT_OK;
    while (adept_saturation_name(n))
        n++;
    adept_fit_run *runs = adept_arena_array(fit->arena, n, sizeof *runs);
    if (!runs) return adept_no_memory(err, "the fit");
    fit->saturations = runs;
    for (size_t i = 0; i < n && status == ADEPT_OK && !fit->interrupted; i++) {
        const char *name = adept_saturation_name(i);
        if (strcmp(name, fit->saturation) == 0)
            runs[i] = *main_run;
        else
            status = run_saturation(&runs[i], q, fit->arena, name, err);
        runs[i].name = name;
        runs[i].adds = "";
        fit->interrupted = runs[i].interrupted;
        if (!fit->interrupted) fit->n_saturations = i + 1;
    }
    return status;
}

/* ---- result ---- */

/* Texts of the base and of the options go with them. */
static bool keep_scalars(adept_fit *fit, const problem *p)
{
    for (size_t i = 0; i < p->n_scalars; i++) {
        adept_scalar *s = &p->scalars[i];
        adept_fit_parameter *parameter = &p->parameters[fit->n_parameters - p->n_scalars + i];
        s->value = parameter->value;
        s->name = parameter->info.name = adept_arena_strdup(fit->arena, s->name);
        s->pattern = adept_arena_strdup(fit->arena, s->pattern);
        if (!s->name || !s->pattern) return false;
    }
    fit->n_scalars = p->n_scalars;
    fit->scalars = p->scalars;
    return true;
}

/* ---- public ---- */

void adept_fit_free(adept_fit *fit)
{
    if (fit) adept_arena_free(fit->arena); /* which holds the fit itself */
}

adept_status adept_calibrate(adept_fit **out, const adept_dataset_row *rows, size_t n, const adept_hwprofile *base,
                             const adept_fit_options *options, adept_error *err)
{
    double begin_s = adept_clock_s();
    adept_status status = adept_fit_options_check(options, err);
    if (status != ADEPT_OK) return status;
    adept_arena *arena = adept_arena_new();
    adept_fit *fit = arena ? adept_arena_alloc(arena, sizeof *fit) : NULL;
    const request q = {rows, n, base, options, adept_pool_new(options->threads)};
    gsl_set_error_handler_off();
    if (fit && q.pool) {
        *fit = (adept_fit){.arena = arena, .granularity = options->granularity, .seed = options->seed};
        problem p;
        adept_fit_run run = {.name = "fit"};
        const char *saturation = q.options->saturation;
        if (!saturation && adept_fit_base_is_alike(q.base, q.options)) saturation = q.base->saturation;
        status = problem_init(&p, &q, fit->arena, saturation, err);
        if (status == ADEPT_OK) status = run_all(&run, &p, fit, q.pool, err);
        if (status == ADEPT_OK) {
            adept_fit_parameters_settle(p.parameters, &p.objective, p.theta, p.options, p.is_free, p.scratch);
            fit->loss = adept_objective_parts(&p.objective, p.theta, p.scratch);
            fit->saturation = adept_arena_strdup(fit->arena, adept_evaluator_saturation(p.evaluator));
            fit->n_parameters = p.objective.n_parameters;
            fit->parameters = p.parameters;
            fit->theta = p.theta;
            for (size_t i = 0; i < fit->n_parameters; i++) {
                p.parameters[i].value = p.theta[i];
                p.parameters[i].info.meaning = NULL; /* of a scalar it goes with the evaluator */
                fit->n_free += p.parameters[i].state == ADEPT_FIT_FREE;
            }
            status = fit->saturation && keep_scalars(fit, &p) ? ADEPT_OK : adept_no_memory(err, "the fit");
        }
        problem_free(&p);
        if (status == ADEPT_OK && q.options->compare_saturations) status = compare_saturations(fit, &run, &q, err);
        fit->wall_s = adept_clock_s() - begin_s;
    } else {
        status = adept_no_memory(err, "the fit");
    }
    adept_pool_free(q.pool);
    if (status == ADEPT_OK)
        *out = fit;
    else
        adept_arena_free(arena);
    return status;
}

adept_status adept_fit_evaluator(adept_evaluator **out, const adept_fit *fit, const adept_dataset_row *rows, size_t n,
                                 adept_error *err)
{
    return evaluator_of(out, rows, n, fit->granularity, fit->saturation, fit->scalars, fit->n_scalars, err);
}
