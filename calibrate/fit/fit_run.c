/** @file fit_run.c  One sub-fit from start to polish; see fit_parts.h. */
#include "adept_clock.h"
#include "checkpoint.h"
#include "differential_evolution.h"
#include "fit_parts.h"
#include "polish.h"
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A digest of everything that determines what a sub-fit finds; see fit_parts.h. */

#define N_PROBES 4

static void add_text(adept_sha256 *sha, const char *text)
{
    adept_sha256_update(sha, text, strlen(text) + 1);
}

static void add_numbers(adept_sha256 *sha, const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double number = isnan(numbers[i]) ? NAN : numbers[i]; /* one NAN of many */
        adept_sha256_update(sha, &number, sizeof number);
    }
}

static void add_objective(adept_sha256 *sha, const adept_objective *o, double *scratch)
{
    double sizes[] = {(double)o->n_rows, (double)o->n_times, (double)o->n_powers, (double)o->n_genes, o->weight_time,
                      o->weight_power,   o->prior_weight,    o->spread_weight,    o->rounding};
    add_text(sha, adept_evaluator_saturation(o->evaluator));
    add_numbers(sha, sizes, sizeof sizes / sizeof sizes[0]);
    adept_sha256_update(sha, o->targets, (o->n_times + o->n_powers) * sizeof *o->targets); /* no padding */
    double *theta = scratch, *time_s = theta + o->n_parameters, *power_w = time_s + o->n_rows;
    for (int probe = 0; probe < N_PROBES; probe++) {
        /* Points well inside the bounds, unlike each other in every parameter; which ones does not matter. */
        for (size_t i = 0; i < o->n_parameters; i++) {
            const adept_parameter_info *info = adept_evaluator_parameter(o->evaluator, i);
            double share = (double)((i * 7 + (size_t)probe * 5) % 13 + 1) / 14.0;
            double value = info->low + share * (info->high - info->low);
            theta[i] = info->log_scale ? fmin(info->high, info->low * exp(share * log(info->high / info->low))) : value;
        }
        adept_evaluate(o->evaluator, theta, time_s, power_w);
        add_numbers(sha, time_s, 2 * o->n_rows);
    }
    for (size_t j = 0; j < o->n_genes; j++) {
        const adept_gene *gene = &o->genes[j];
        double numbers[] = {(double)gene->parameter, gene->low, gene->high, gene->prior, gene->spreads};
        add_numbers(sha, numbers, sizeof numbers / sizeof numbers[0]);
    }
    add_numbers(sha, o->fixed, o->n_parameters);
}

#define PROGRESS_INTERVAL_S 0.2

/* Conventions of scipy's differential evolution (docs/CALIBRATION.md). */
#define MUTATION_LOW 0.5
#define MUTATION_HIGH 1.5
#define CROSSOVER 0.7
#define GOOD_ENOUGH 0.001 /* percent of loss: no measurement is that exact */

typedef struct run {
    const adept_objective *o;
    const adept_fit_options *options;
    adept_pool *pool;
    char label[128];
    double *start, *best, *trial; /* n_genes, on the unit cube */
    double *scratch;              /* for the gradient, of the calling thread */
    double best_loss;
    adept_fit_run result;
    double begin_s, progress_s;
} run;

static bool stopped(const run *r)
{
    return r->options->stop && *r->options->stop;
}

/* ---- differential evolution ---- */

static void take_if_better(run *r, const double *unit, double loss)
{
    if (!(loss <= r->best_loss)) return;
    r->best_loss = loss;
    memcpy(r->best, unit, r->o->n_genes * sizeof *r->best);
}

static bool watch(void *context, const adept_de_view *now)
{
    run *r = context;
    take_if_better(r, now->population + now->best * now->n, now->losses[now->best]);
    double time_s = adept_clock_s();
    if (now->generation > 0 && r->options->progress && time_s - r->progress_s >= PROGRESS_INTERVAL_S) {
        adept_fit_progress progress = {.part = r->label,
                                       .generation = now->generation,
                                       .best_loss = now->losses[now->best],
                                       .evaluations_per_s = now->evaluations / (time_s - r->begin_s)};
        r->progress_s = time_s;
        r->options->progress(r->options->progress_context, &progress);
    }
    r->result.generations = now->generation;
    r->result.evaluations = now->evaluations;
    r->result.converged = now->converged;
    r->result.interrupted = stopped(r);
    return !r->result.interrupted;
}

static adept_status evolve(run *r, adept_error *err)
{
    const adept_fit_options *f = r->options;
    size_t n = (size_t)f->population_per_parameter * r->o->n_genes;
    adept_de_settings settings =
        (adept_de_settings){.strategy = f->strategy,
                            .bounds = f->bounds,
                            .n_population = n < ADEPT_DE_MIN_POPULATION ? ADEPT_DE_MIN_POPULATION : n,
                            .max_generations = f->max_generations,
                            .mutation_low = MUTATION_LOW,
                            .mutation_high = MUTATION_HIGH,
                            .crossover = CROSSOVER,
                            .tol = f->tol,
                            .good_enough = GOOD_ENOUGH,
                            .seed = f->seed};
    adept_de_problem problem = {.n = r->o->n_genes,
                                .loss = adept_objective_loss,
                                .context = r->o,
                                .n_scratch = adept_objective_n_scratch(r->o),
                                .start = r->start,
                                .watch = watch,
                                .watch_context = r};
    r->begin_s = adept_clock_s();
    return adept_de_run(&problem, &settings, r->pool, err);
}

/* ---- polish ---- */

static double smooth(void *context, const double *unit, double smoothing, double *gradient, double *exact)
{
    run *r = context;
    return adept_objective_smooth(r->o, unit, smoothing, gradient, exact, r->scratch);
}

static adept_status polish(run *r, double *unit, double *loss, adept_error *err)
{
    adept_polish_problem problem = {
        .n = r->o->n_genes, .smooth = smooth, .context = r, .rounding = r->o->rounding, .stop = r->options->stop};
    return adept_polish(&problem, unit, loss, &r->result.evaluations, err);
}

static adept_status polish_others(run *r, adept_error *err)
{
    adept_status status = ADEPT_OK;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    if (!rng) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the fit");
    gsl_rng_set(rng, (unsigned long)r->options->seed);
    for (int i = 0; i < r->options->restarts && status == ADEPT_OK && !stopped(r); i++) {
        /* Ever wider around the prior: the first stay where other GPUs are, the last find one unlike them. */
        for (size_t j = 0; j < r->o->n_genes; j++) {
            const adept_gene *gene = &r->o->genes[j];
            double unit = gene->spreads > 0.0 ? gene->prior + gsl_ran_gaussian(rng, 1.0 + i) / gene->spreads
                                              : gsl_rng_uniform(rng);
            r->trial[j] = fmin(fmax(unit, 0.0), 1.0);
        }
        double loss = adept_objective_loss(r->o, r->trial, r->scratch);
        if (!isfinite(loss)) continue;
        status = polish(r, r->trial, &loss, err);
        if (loss < r->best_loss) take_if_better(r, r->trial, loss);
    }
    gsl_rng_free(rng);
    return status;
}

/* ---- all of it ---- */

static adept_status search(run *r, adept_error *err)
{
    adept_status status = ADEPT_OK;
    bool evolves = r->options->max_generations > 0;
    r->best_loss = adept_objective_loss(r->o, r->start, r->scratch);
    if (!isfinite(r->best_loss)) r->best_loss = INFINITY;
    memcpy(r->best, r->start, r->o->n_genes * sizeof *r->best);
    r->result.evaluations = 1.0;
    r->result.converged = true;
    if (evolves) status = evolve(r, err);
    if (status == ADEPT_OK && r->options->polish && !stopped(r)) {
        status = polish(r, r->best, &r->best_loss, err);
        r->result.converged = true; /* a descent ends where there is none */
    }
    if (status == ADEPT_OK && r->options->polish && !evolves) status = polish_others(r, err);
    r->result.interrupted = r->result.interrupted || stopped(r);
    if (status != ADEPT_OK || isfinite(r->best_loss)) return status;
    return adept_error_set(err, ADEPT_E_FIT, "%s: no parameters were found that give finite predictions", r->label);
}

/* An interrupted run leaves no trace in the checkpoint: when it is resumed, it is repeated. */
static adept_status solve(run *r, adept_error *err)
{
    adept_checkpoint *checkpoint = r->options->checkpoint;
    adept_sub_fit sub_fit = {.n = r->o->n_genes};
    bool found = false;
    adept_status status = ADEPT_OK;
    memcpy(sub_fit.name, r->label, sizeof sub_fit.name);
    if (checkpoint) {
        /* A digest of everything that determines what a sub-fit finds. Rows enter by what the evaluator predicts for
         * them at some points, so that this need not know how it predicts. */
        const double search[] = {r->options->strategy,
                                 r->options->bounds,
                                 r->options->population_per_parameter,
                                 r->options->max_generations,
                                 r->options->tol,
                                 r->options->polish,
                                 r->options->restarts,
                                 (double)(r->options->seed >> 32),
                                 (double)(r->options->seed & 0xffffffffu)};
        adept_sha256 sha;
        adept_sha256_init(&sha);
        add_text(&sha, ADEPT_VERSION);
        add_objective(&sha, r->o, r->scratch);
        add_numbers(&sha, search, sizeof search / sizeof search[0]);
        add_numbers(&sha, r->start, r->o->n_genes);
        status = adept_sha256_hex(&sha, sub_fit.key, err);
    }
    if (checkpoint && status == ADEPT_OK) status = adept_checkpoint_find(checkpoint, &sub_fit, &found, err);
    if (status != ADEPT_OK) return status;
    if (found) {
        memcpy(r->best, sub_fit.unit, sub_fit.n * sizeof *r->best);
        r->best_loss = sub_fit.loss;
        r->result.generations = sub_fit.generations;
        r->result.evaluations = sub_fit.evaluations;
        r->result.converged = sub_fit.converged;
        return ADEPT_OK;
    }
    status = search(r, err);
    if (status != ADEPT_OK || !checkpoint) return status;
    if (r->result.interrupted) return adept_checkpoint_save(checkpoint, err);
    sub_fit.unit = r->best;
    sub_fit.loss = r->best_loss;
    sub_fit.generations = r->result.generations;
    sub_fit.evaluations = r->result.evaluations;
    sub_fit.converged = r->result.converged;
    return adept_checkpoint_put(checkpoint, &sub_fit, err);
}

adept_status adept_run_solve(adept_fit_run *out, const adept_objective *o, const adept_fit_options *options,
                             const char *name, adept_pool *pool, double *theta, adept_error *err)
{
    size_t n = o->n_genes;
    run r = {.o = o, .options = options, .pool = pool, .result = {.name = name, .adds = ""}};
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
        /* Through genes and back a value may move by a rounding error: the start itself stays unless something better
         * was found. */
        double *found = memory + 3 * n;
        adept_objective_theta(r.o, r.best, found);
        adept_fit_loss loss = adept_objective_parts(r.o, found, r.scratch);
        r.result.loss = adept_objective_parts(r.o, theta, r.scratch);
        if (!(r.result.loss.total <= loss.total)) {
            r.result.loss = loss;
            memcpy(theta, found, r.o->n_parameters * sizeof *theta);
        }
        *out = r.result;
    }
    free(memory);
    return status;
}
