/** @file fit_run.c  One sub-fit from start to polish; see fit_run.h. */
#include "adept_clock.h"
#include "fit_run.h"
#include "checkpoint.h"
#include "differential_evolution.h"
#include "polish.h"
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_INTERVAL_S 0.2
#define CHECKPOINT_INTERVAL_S 2.0
#define FIRST_CHECKPOINT_S 0.3

typedef struct run {
    const adept_objective *o;
    const adept_fit_options *options;
    adept_pool *pool;
    const char *name;
    char label[128];
    char key[65];
    double *start, *best, *trial; /* n_genes, on the unit cube */
    double *scratch;              /* for the gradient, of the calling thread */
    double best_loss;
    adept_run_result result;
    double begin_s, progress_s, checkpoint_s;
    double begin_ratio, begin_evaluations; /* std over its limit when the run began, to guess the time left */
} run;

static bool stopped(const run *r)
{
    return r->options->stop && *r->options->stop;
}

static adept_de_settings settings_of(const run *r)
{
    const adept_fit_options *f = r->options;
    size_t n = (size_t)f->population_per_parameter * r->o->n_genes;
    return (adept_de_settings){.strategy = f->strategy,
                               .bounds = f->bounds,
                               .n_population = n < ADEPT_DE_MIN_POPULATION ? ADEPT_DE_MIN_POPULATION : n,
                               .max_generations = f->max_generations,
                               .mutation_low = f->mutation_low,
                               .mutation_high = f->mutation_high,
                               .crossover = f->crossover,
                               .tol = f->tol,
                               .atol = f->atol,
                               .good_enough = f->good_enough,
                               .seed = f->seed};
}

/* Of everything that determines what this run finds. */
static adept_status make_key(run *r, adept_error *err)
{
    adept_de_settings s = settings_of(r);
    double numbers[] = {s.strategy,
                        s.bounds,
                        (double)s.n_population,
                        s.max_generations,
                        s.mutation_low,
                        s.mutation_high,
                        s.crossover,
                        s.tol,
                        s.atol,
                        s.good_enough,
                        r->options->polish,
                        r->options->restarts,
                        (double)(s.seed >> 32),
                        (double)(s.seed & 0xffffffffu)};
    adept_sha256 sha;
    adept_sha256_init(&sha);
    adept_digest_objective(&sha, r->o, r->scratch);
    adept_digest_numbers(&sha, numbers, sizeof numbers / sizeof numbers[0]);
    adept_digest_numbers(&sha, r->start, r->o->n_genes);
    return adept_sha256_hex(&sha, r->key, err);
}

/* ---- progress ---- */

/* The population's spread shrinks about exponentially towards the limit at which the run ends. */
static double left_s(const run *r, const adept_de_view *v, double elapsed_s)
{
    const adept_fit_options *f = r->options;
    double ratio = v->std / (f->atol + f->tol * fabs(v->mean));
    double per_generation_s = elapsed_s / fmax(1.0, (v->evaluations - r->begin_evaluations) / (double)v->n_population);
    double longest_s = per_generation_s * (double)(f->max_generations - v->generation);
    double guess_s = log(ratio) / log(r->begin_ratio / ratio) * elapsed_s;
    return isfinite(guess_s) && guess_s >= 0.0 ? fmin(guess_s, longest_s) : NAN;
}

static void report(run *r, const adept_de_view *v)
{
    double time_s = adept_clock_s(), elapsed_s = time_s - r->begin_s;
    if (!r->options->progress || time_s - r->progress_s < PROGRESS_INTERVAL_S) return;
    r->progress_s = time_s;
    if (!(r->begin_ratio > 0.0) || !isfinite(r->begin_ratio))
        r->begin_ratio = v->std / (r->options->atol + r->options->tol * fabs(v->mean));
    adept_fit_progress progress = {.part = r->label,
                                   .generation = v->generation,
                                   .max_generations = r->options->max_generations,
                                   .best_loss = v->losses[v->best],
                                   .evaluations = v->evaluations,
                                   .evaluations_per_s = (v->evaluations - r->begin_evaluations) / elapsed_s,
                                   .elapsed_s = elapsed_s,
                                   .left_s = left_s(r, v, elapsed_s)};
    r->options->progress(r->options->progress_context, &progress);
}

/* ---- checkpoint ---- */

static adept_status put_running(run *r, const adept_de *de, bool now, adept_error *err)
{
    adept_de_view v = adept_de_look(de);
    adept_part part = {.generation = v.generation,
                       .evaluations = v.evaluations,
                       .n = v.n,
                       .n_population = v.n_population,
                       .points = v.population,
                       .losses = v.losses};
    if (!r->options->checkpoint) return ADEPT_OK;
    memcpy(part.key, r->key, sizeof part.key);
    memcpy(part.name, r->label, sizeof part.name);
    r->checkpoint_s = adept_clock_s();
    return adept_checkpoint_put(r->options->checkpoint, &part, now, err);
}

static adept_status put_done(run *r, adept_error *err)
{
    adept_part part = {.done = true,
                       .converged = r->result.converged,
                       .generation = r->result.generations,
                       .evaluations = r->result.evaluations,
                       .n = r->o->n_genes,
                       .n_population = 1,
                       .points = r->best,
                       .losses = &r->best_loss};
    if (!r->options->checkpoint) return ADEPT_OK;
    memcpy(part.key, r->key, sizeof part.key);
    memcpy(part.name, r->label, sizeof part.name);
    return adept_checkpoint_put(r->options->checkpoint, &part, false, err);
}

static adept_status damaged(const run *r, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_INVALID, "the checkpoint's part \"%s\" is damaged", r->label);
}

static bool in_cube(const double *unit, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(unit[i] >= 0.0 && unit[i] <= 1.0)) return false;
    return true;
}

/* @return ADEPT_OK with part->n_population == 0 if there is nothing to go on from */
static adept_status look_up(run *r, adept_part *part, adept_error *err)
{
    *part = (adept_part){.n_population = 0};
    if (!r->options->checkpoint) return ADEPT_OK;
    adept_status status = adept_checkpoint_find(r->options->checkpoint, r->key, part, err);
    if (status != ADEPT_OK || part->n_population == 0) return status;
    bool fits = part->n == r->o->n_genes && part->n_population == (part->done ? 1 : settings_of(r).n_population);
    if (fits && (!part->done || in_cube(part->points, part->n))) return ADEPT_OK;
    return damaged(r, err);
}

static void take_done(run *r, const adept_part *part)
{
    memcpy(r->best, part->points, part->n * sizeof *r->best);
    r->best_loss = part->losses[0];
    r->result = (adept_run_result){part->generation, part->evaluations, part->converged, false};
}

/* ---- differential evolution ---- */

static adept_status begin(run *r, adept_de *de, const adept_part *part, adept_error *err)
{
    if (part->n_population == 0)
        adept_de_start(de);
    else if (!adept_de_restore(de, part->generation, part->evaluations, part->points, part->losses))
        return damaged(r, err);
    adept_de_view v = adept_de_look(de);
    r->begin_evaluations = v.evaluations;
    return ADEPT_OK;
}

static adept_status evolve(run *r, adept_de *de, adept_error *err)
{
    adept_status status = ADEPT_OK;
    r->begin_s = adept_clock_s();
    r->checkpoint_s = r->begin_s - CHECKPOINT_INTERVAL_S + FIRST_CHECKPOINT_S;
    r->progress_s = 0.0;
    while (status == ADEPT_OK && !stopped(r) && !adept_de_converged(de) &&
           adept_de_look(de).generation < r->options->max_generations) {
        adept_de_step(de);
        adept_de_view v = adept_de_look(de);
        report(r, &v);
        if (r->options->checkpoint && adept_clock_s() - r->checkpoint_s > CHECKPOINT_INTERVAL_S)
            status = put_running(r, de, false, err);
    }
    adept_de_view v = adept_de_look(de);
    r->result = (adept_run_result){v.generation, v.evaluations, adept_de_converged(de), stopped(r)};
    if (v.losses[v.best] <= r->best_loss) {
        r->best_loss = v.losses[v.best];
        memcpy(r->best, v.population + v.best * v.n, v.n * sizeof *r->best);
    }
    if (status == ADEPT_OK && stopped(r)) status = put_running(r, de, true, err);
    return status;
}

static adept_status search(run *r, adept_de **de, const adept_part *part, adept_error *err)
{
    adept_de_settings settings = settings_of(r);
    adept_de_problem problem = {.n = r->o->n_genes,
                                .loss = adept_objective_loss,
                                .context = r->o,
                                .n_scratch = adept_objective_n_scratch(r->o),
                                .start = r->start};
    adept_status status = adept_de_new(de, &problem, &settings, r->pool, err);
    if (status == ADEPT_OK) status = begin(r, *de, part, err);
    if (status == ADEPT_OK) status = evolve(r, *de, err);
    return status;
}

/* ---- polish ---- */

static double smooth(void *context, const double *unit, double smoothing, double *gradient, double *exact)
{
    run *r = context;
    return adept_objective_smooth(r->o, unit, smoothing, gradient, exact, r->scratch);
}

static adept_status polish_from(run *r, double *unit, double *loss, adept_error *err)
{
    adept_polish_problem problem = {
        .n = r->o->n_genes, .smooth = smooth, .context = r, .rounding = r->o->rounding, .stop = r->options->stop};
    double evaluations = 0.0;
    adept_status status = adept_polish(&problem, unit, loss, &evaluations, err);
    r->result.evaluations += evaluations;
    return status;
}

static adept_status polish(run *r, const adept_de *de, adept_error *err)
{
    adept_status status = polish_from(r, r->best, &r->best_loss, err);
    if (status != ADEPT_OK || !stopped(r)) return status;
    r->result.interrupted = true; /* the polish is short: a resumed run repeats it from the population */
    return de ? put_running(r, de, true, err) : ADEPT_OK;
}

/* ---- polishes from other points ---- */

/* Ever wider around the prior: the first stay where other GPUs are, the last find one unlike them. */
static void draw_trial(run *r, gsl_rng *rng, double width)
{
    for (size_t j = 0; j < r->o->n_genes; j++) {
        const adept_gene *gene = &r->o->genes[j];
        double unit =
            gene->spreads > 0.0 ? gene->prior + gsl_ran_gaussian(rng, width) / gene->spreads : gsl_rng_uniform(rng);
        r->trial[j] = fmin(fmax(unit, 0.0), 1.0);
    }
}

static adept_status restart(run *r, adept_error *err)
{
    adept_status status = ADEPT_OK;
    gsl_rng *rng = r->options->restarts > 0 ? gsl_rng_alloc(gsl_rng_mt19937) : NULL;
    if (r->options->restarts > 0 && !rng) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the fit");
    if (rng) gsl_rng_set(rng, (unsigned long)r->options->seed);
    for (int i = 0; i < r->options->restarts && status == ADEPT_OK && !stopped(r); i++) {
        draw_trial(r, rng, 1.0 + i);
        double loss = adept_objective_loss(r->o, r->trial, r->scratch);
        if (!isfinite(loss)) continue;
        status = polish_from(r, r->trial, &loss, err);
        if (!(loss < r->best_loss)) continue;
        r->best_loss = loss;
        memcpy(r->best, r->trial, r->o->n_genes * sizeof *r->best);
    }
    if (rng) gsl_rng_free(rng);
    r->result.interrupted = r->result.interrupted || stopped(r);
    return status;
}

/* ---- all of it ---- */

static adept_status solve(run *r, adept_error *err)
{
    adept_part part;
    adept_de *de = NULL;
    r->best_loss = adept_objective_loss(r->o, r->start, r->scratch);
    if (!isfinite(r->best_loss)) r->best_loss = INFINITY;
    memcpy(r->best, r->start, r->o->n_genes * sizeof *r->best);
    adept_status status = make_key(r, err);
    if (status == ADEPT_OK) status = look_up(r, &part, err);
    bool done = status == ADEPT_OK && part.n_population > 0 && part.done;
    if (done) {
        take_done(r, &part);
    } else if (status == ADEPT_OK) {
        if (r->options->max_generations > 0)
            status = search(r, &de, &part, err);
        else
            r->result = (adept_run_result){0, 1.0, true, stopped(r)};
        if (status == ADEPT_OK && r->options->polish && !r->result.interrupted) status = polish(r, de, err);
        if (status == ADEPT_OK && r->options->polish && !de && !r->result.interrupted) status = restart(r, err);
        if (status == ADEPT_OK && !de && r->result.interrupted && r->options->checkpoint)
            status = adept_checkpoint_save(r->options->checkpoint, err); /* what --resume reads, if only its identity */
        if (status == ADEPT_OK && !r->result.interrupted) status = put_done(r, err);
    }
    adept_de_free(de);
    adept_part_clear(&part);
    if (status == ADEPT_OK && !isfinite(r->best_loss))
        status =
            adept_error_set(err, ADEPT_E_FIT, "%s: no parameters were found that give finite predictions", r->label);
    return status;
}

/* Through genes and back a value may move by a rounding error: the start itself stays unless something better was
 * found. */
static void take_better(run *r, double *theta, double *found)
{
    adept_objective_theta(r->o, r->best, found);
    double loss = adept_objective_parts(r->o, found, r->scratch).total;
    if (!(adept_objective_parts(r->o, theta, r->scratch).total <= loss))
        memcpy(theta, found, r->o->n_parameters * sizeof *theta);
}

adept_status adept_run_solve(adept_run_result *out, const adept_objective *o, const adept_fit_options *options,
                             const char *name, adept_pool *pool, double *theta, adept_error *err)
{
    size_t n = o->n_genes;
    run r = {.o = o, .options = options, .pool = pool, .name = name, .begin_ratio = NAN};
    double *memory = calloc(3 * n + o->n_parameters + adept_objective_n_gradient_scratch(o), sizeof *memory);
    if (!memory) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the fit");
    r.start = memory;
    r.best = memory + n;
    r.trial = memory + 2 * n;
    r.scratch = memory + 3 * n + o->n_parameters;
    snprintf(r.label, sizeof r.label, "%s%s%s", options->label ? options->label : "", options->label ? ": " : "", name);
    adept_objective_unit(o, theta, r.start);
    adept_status status = solve(&r, err);
    if (status == ADEPT_OK) {
        take_better(&r, theta, memory + 3 * n);
        *out = r.result;
    }
    free(memory);
    return status;
}
