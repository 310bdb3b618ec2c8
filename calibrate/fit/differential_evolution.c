/** @file differential_evolution.c  Differential evolution with scipy's conventions; see differential_evolution.h. */
#define HAVE_INLINE /* of gsl_rng_uniform */
#include "differential_evolution.h"
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct adept_de {
    adept_de_problem problem;
    adept_de_settings settings;
    adept_pool *pool;
    double *start; /* copy; NULL: none */
    double *population, *losses;
    double *trials, *trial_losses;
    double *scratch; /* of all threads */
    size_t scratch_stride;
    gsl_rng **generators; /* one per thread, seeded anew for every individual; the last one for the main thread */
    int n_generators;
    double mutation; /* F of the generation under way */
    int generation;
    double evaluations;
    size_t best;
    double mean, std;
};

#define LINE_DOUBLES 8 /* of a cache line: threads do not share one */

/* splitmix64, the finaliser of java.util.SplittableRandom (public domain): every bit of the input moves every output
 * bit. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void reseed(gsl_rng *rng, uint64_t seed, int generation, size_t individual)
{
    uint64_t key = mix(mix(mix(seed) ^ (uint64_t)generation) ^ (uint64_t)individual);
    gsl_rng_set(rng, (unsigned long)(key >> 32)); /* 32 bits: as many as the generator takes */
}

static size_t draw_index(gsl_rng *rng, size_t n)
{
    size_t i = (size_t)(gsl_rng_uniform(rng) * (double)n);
    return i < n ? i : n - 1;
}

static void summarise(adept_de *de)
{
    size_t n = de->settings.n_population;
    double sum = 0.0, squares = 0.0;
    de->best = 0;
    for (size_t i = 0; i < n; i++) {
        sum += de->losses[i];
        if (de->losses[i] < de->losses[de->best]) de->best = i;
    }
    de->mean = sum / (double)n;
    if (!isfinite(de->mean)) {
        de->std = INFINITY;
        return;
    }
    for (size_t i = 0; i < n; i++)
        squares += (de->losses[i] - de->mean) * (de->losses[i] - de->mean);
    de->std = sqrt(squares / (double)n);
}

static double evaluate(const adept_de *de, const double *unit, int worker)
{
    double loss = de->problem.loss(de->problem.context, unit, de->scratch + (size_t)worker * de->scratch_stride);
    return isfinite(loss) ? loss : INFINITY;
}

/* ---- first population ---- */

static void evaluate_first(void *context, int worker, size_t begin, size_t end)
{
    adept_de *de = context;
    for (size_t i = begin; i < end; i++)
        de->losses[i] = evaluate(de, de->population + i * de->problem.n, worker);
}

/* Each gene's range in as many equal parts as there are individuals, one individual in each. */
static void latin_hypercube(adept_de *de)
{
    size_t n_population = de->settings.n_population, n = de->problem.n;
    gsl_rng *rng = de->generators[de->n_generators - 1];
    for (size_t j = 0; j < n; j++) {
        reseed(rng, ~de->settings.seed, 0, j);
        for (size_t i = 0; i < n_population; i++)
            de->population[i * n + j] = ((double)i + gsl_rng_uniform(rng)) / (double)n_population;
        for (size_t i = n_population - 1; i > 0; i--) { /* shuffle (Fisher and Yates) */
            size_t k = draw_index(rng, i + 1);
            double swap = de->population[i * n + j];
            de->population[i * n + j] = de->population[k * n + j];
            de->population[k * n + j] = swap;
        }
    }
}

void adept_de_start(adept_de *de)
{
    latin_hypercube(de);
    if (de->start) memcpy(de->population, de->start, de->problem.n * sizeof de->start[0]);
    adept_pool_run(de->pool, evaluate_first, de, de->settings.n_population);
    de->generation = 0;
    de->evaluations = (double)de->settings.n_population;
    summarise(de);
}

bool adept_de_restore(adept_de *de, int generation, double evaluations, const double *population, const double *losses)
{
    size_t n_population = de->settings.n_population, n_genes = n_population * de->problem.n;
    if (generation < 0 || !(evaluations >= 0.0)) return false;
    for (size_t i = 0; i < n_genes; i++)
        if (!(population[i] >= 0.0 && population[i] <= 1.0)) return false;
    for (size_t i = 0; i < n_population; i++)
        if (isnan(losses[i])) return false;
    memcpy(de->population, population, n_genes * sizeof *population);
    memcpy(de->losses, losses, n_population * sizeof *losses);
    de->generation = generation;
    de->evaluations = evaluations;
    summarise(de);
    return true;
}

/* ---- one generation ---- */

/* Indices unlike each other and unlike `self`. */
static void draw_others(gsl_rng *rng, size_t *others, int count, size_t self, size_t n_population)
{
    for (int k = 0; k < count; k++) {
        bool taken;
        do {
            others[k] = draw_index(rng, n_population);
            taken = others[k] == self;
            for (int l = 0; l < k; l++)
                taken = taken || others[k] == others[l];
        } while (taken);
    }
}

static void make_trial(const adept_de *de, gsl_rng *rng, size_t self, double *trial)
{
    const adept_de_settings *s = &de->settings;
    size_t n = de->problem.n, others[3] = {0};
    const double *old = de->population + self * n;
    bool from_best = s->strategy == ADEPT_DE_BEST1BIN;
    draw_others(rng, others, from_best ? 2 : 3, self, s->n_population);
    const double *base = de->population + (from_best ? de->best : others[2]) * n;
    const double *plus = de->population + others[0] * n, *minus = de->population + others[1] * n;
    size_t forced = draw_index(rng, n);
    for (size_t j = 0; j < n; j++) {
        if (gsl_rng_uniform(rng) >= s->crossover && j != forced) {
            trial[j] = old[j];
            continue;
        }
        double gene = base[j] + de->mutation * (plus[j] - minus[j]);
        if (gene < 0.0 || gene > 1.0)
            gene = s->bounds == ADEPT_DE_CLIP ? fmin(fmax(gene, 0.0), 1.0) : gsl_rng_uniform(rng);
        trial[j] = gene;
    }
}

static void evaluate_trials(void *context, int worker, size_t begin, size_t end)
{
    adept_de *de = context;
    gsl_rng *rng = de->generators[worker];
    for (size_t i = begin; i < end; i++) {
        double *trial = de->trials + i * de->problem.n;
        reseed(rng, de->settings.seed, de->generation + 1, i);
        make_trial(de, rng, i, trial);
        de->trial_losses[i] = evaluate(de, trial, worker);
    }
}

void adept_de_step(adept_de *de)
{
    const adept_de_settings *s = &de->settings;
    size_t n = de->problem.n;
    gsl_rng *rng = de->generators[de->n_generators - 1];
    reseed(rng, s->seed, de->generation + 1, s->n_population); /* no individual has this index */
    de->mutation = s->mutation_low + (s->mutation_high - s->mutation_low) * gsl_rng_uniform(rng);
    adept_pool_run(de->pool, evaluate_trials, de, s->n_population);
    for (size_t i = 0; i < s->n_population; i++) {
        if (!(de->trial_losses[i] <= de->losses[i])) continue;
        memcpy(de->population + i * n, de->trials + i * n, n * sizeof de->trials[0]);
        de->losses[i] = de->trial_losses[i];
    }
    de->generation++;
    de->evaluations += (double)s->n_population;
    summarise(de);
}

bool adept_de_converged(const adept_de *de)
{
    const adept_de_settings *s = &de->settings;
    if (!isfinite(de->std)) return false;
    return de->std <= s->atol + s->tol * fabs(de->mean) || de->losses[de->best] <= s->good_enough;
}

adept_de_view adept_de_look(const adept_de *de)
{
    return (adept_de_view){.generation = de->generation,
                           .evaluations = de->evaluations,
                           .n_population = de->settings.n_population,
                           .n = de->problem.n,
                           .population = de->population,
                           .losses = de->losses,
                           .best = de->best,
                           .mean = de->mean,
                           .std = de->std};
}

/* ---- memory ---- */

void adept_de_free(adept_de *de)
{
    if (!de) return;
    for (int i = 0; de->generators && i < de->n_generators; i++)
        if (de->generators[i]) gsl_rng_free(de->generators[i]);
    free(de->generators);
    free(de->start);
    free(de->population);
    free(de->losses);
    free(de->trials);
    free(de->trial_losses);
    free(de->scratch);
    free(de);
}

static bool allocate(adept_de *de)
{
    size_t n = de->problem.n, n_population = de->settings.n_population;
    size_t n_threads = (size_t)adept_pool_threads(de->pool);
    de->scratch_stride = (de->problem.n_scratch / LINE_DOUBLES + 2) * LINE_DOUBLES;
    de->start = de->problem.start ? calloc(n, sizeof(double)) : NULL;
    de->population = calloc(n_population, n * sizeof(double));
    de->losses = calloc(n_population, sizeof(double));
    de->trials = calloc(n_population, n * sizeof(double));
    de->trial_losses = calloc(n_population, sizeof(double));
    de->scratch = calloc(n_threads, de->scratch_stride * sizeof(double));
    de->n_generators = (int)n_threads + 1;
    de->generators = calloc(n_threads + 1, sizeof de->generators[0]);
    if ((de->problem.start && !de->start) || !de->population || !de->losses || !de->trials || !de->trial_losses ||
        !de->scratch || !de->generators)
        return false;
    for (int i = 0; i < de->n_generators; i++)
        if (!(de->generators[i] = gsl_rng_alloc(gsl_rng_taus2))) return false;
    if (de->start) memcpy(de->start, de->problem.start, n * sizeof(double));
    return true;
}

adept_status adept_de_new(adept_de **out, const adept_de_problem *problem, const adept_de_settings *settings,
                          adept_pool *pool, adept_error *err)
{
    adept_de *de = calloc(1, sizeof *de);
    if (de) *de = (adept_de){.problem = *problem, .settings = *settings, .pool = pool};
    if (!de || !allocate(de)) {
        adept_de_free(de);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a population of %zu", settings->n_population);
    }
    *out = de;
    return ADEPT_OK;
}
