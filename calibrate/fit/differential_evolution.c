/** @file differential_evolution.c  Differential evolution with scipy's conventions; see differential_evolution.h. */
#define HAVE_INLINE /* of gsl_rng_uniform */
#include "differential_evolution.h"
#include "adept_random.h"
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

#define CHUNK 32 /* individuals that a thread takes at a time */

typedef struct evolution {
    const adept_de_problem *problem;
    const adept_de_settings *settings;
    adept_pool *pool;
    adept_de_view now;
    double *trials, *trial_losses;
    double *scratch; /* of all threads */
    size_t scratch_stride;
    gsl_rng **generators; /* one per thread, seeded anew for every individual; the last one for the main thread */
    double mutation;      /* F of the generation under way */
} evolution;

#define LINE_DOUBLES 8 /* of a cache line: threads do not share one */

static void reseed(gsl_rng *rng, uint64_t seed, int generation, size_t individual)
{
    uint64_t key = adept_random_mix(adept_random_mix(seed) ^ (uint64_t)generation);
    key = adept_random_mix(key ^ (uint64_t)individual);
    gsl_rng_set(rng, (unsigned long)(key >> 32)); /* 32 bits: as many as the generator takes */
}

static size_t draw_index(gsl_rng *rng, size_t n)
{
    size_t i = (size_t)(gsl_rng_uniform(rng) * (double)n);
    return i < n ? i : n - 1;
}

static void summarise(adept_de_view *now, const adept_de_settings *s)
{
    size_t n = now->n_population;
    double sum = 0.0, squares = 0.0;
    now->best = 0;
    now->std = INFINITY;
    for (size_t i = 0; i < n; i++) {
        sum += now->losses[i];
        if (now->losses[i] < now->losses[now->best]) now->best = i;
    }
    now->mean = sum / (double)n;
    if (!isfinite(now->mean)) return;
    for (size_t i = 0; i < n; i++)
        squares += (now->losses[i] - now->mean) * (now->losses[i] - now->mean);
    now->std = sqrt(squares / (double)n);
    now->converged = now->std <= s->atol + s->tol * fabs(now->mean) || now->losses[now->best] <= s->good_enough;
}

static double evaluate(const evolution *e, const double *unit, int worker)
{
    double loss = e->problem->loss(e->problem->context, unit, e->scratch + (size_t)worker * e->scratch_stride);
    return isfinite(loss) ? loss : INFINITY;
}

static gsl_rng *main_generator(const evolution *e)
{
    return e->generators[adept_pool_threads(e->pool)];
}

/* ---- first population ---- */

static void evaluate_first(void *context, int worker, size_t begin, size_t end)
{
    evolution *e = context;
    for (size_t i = begin; i < end; i++)
        e->now.losses[i] = evaluate(e, e->now.population + i * e->now.n, worker);
}

/* ---- one generation ---- */

static void evaluate_trials(void *context, int worker, size_t begin, size_t end)
{
    evolution *e = context;
    gsl_rng *rng = e->generators[worker];
    for (size_t i = begin; i < end; i++) {
        double *trial = e->trials + i * e->now.n;
        reseed(rng, e->settings->seed, e->now.generation + 1, i);
        const adept_de_settings *s = e->settings;
        const double *population = e->now.population, *old = population + i * e->now.n;
        size_t n = e->now.n, others[3] = {0};
        bool from_best = s->strategy == ADEPT_DE_BEST1BIN;
        /* Indices unlike each other and unlike `self`. */
        int count = from_best ? 2 : 3;
        size_t n_population = s->n_population;
        for (int k = 0; k < count; k++) {
            bool taken;
            do {
                others[k] = draw_index(rng, n_population);
                taken = others[k] == i;
                for (int l = 0; l < k; l++)
                    taken = taken || others[k] == others[l];
            } while (taken);
        }
        const double *base = population + (from_best ? e->now.best : others[2]) * n;
        const double *plus = population + others[0] * n, *minus = population + others[1] * n;
        size_t forced = draw_index(rng, n);
        for (size_t j = 0; j < n; j++) {
            if (gsl_rng_uniform(rng) >= s->crossover && j != forced) {
                trial[j] = old[j];
                continue;
            }
            double gene = base[j] + e->mutation * (plus[j] - minus[j]);
            if (gene < 0.0 || gene > 1.0)
                gene = s->bounds == ADEPT_DE_CLIP ? fmin(fmax(gene, 0.0), 1.0) : gsl_rng_uniform(rng);
            trial[j] = gene;
        }
        e->trial_losses[i] = evaluate(e, trial, worker);
    }
}

static void next_generation(evolution *e)
{
    const adept_de_settings *s = e->settings;
    size_t n = e->now.n;
    gsl_rng *rng = main_generator(e);
    reseed(rng, s->seed, e->now.generation + 1, s->n_population); /* no individual has this index */
    e->mutation = s->mutation_low + (s->mutation_high - s->mutation_low) * gsl_rng_uniform(rng);
    adept_pool_run(e->pool, evaluate_trials, e, s->n_population, CHUNK);
    for (size_t i = 0; i < s->n_population; i++) {
        if (!(e->trial_losses[i] <= e->now.losses[i])) continue;
        memcpy(e->now.population + i * n, e->trials + i * n, n * sizeof e->trials[0]);
        e->now.losses[i] = e->trial_losses[i];
    }
    e->now.generation++;
    e->now.evaluations += (double)s->n_population;
    summarise(&e->now, s);
}

/* ---- the run ---- */

static bool allocate(evolution *e, adept_arena *arena)
{
    size_t n = e->now.n, n_population = e->now.n_population, n_threads = (size_t)adept_pool_threads(e->pool);
    e->scratch_stride = (e->problem->n_scratch / LINE_DOUBLES + 2) * LINE_DOUBLES;
    e->now.population = adept_arena_array(arena, n_population, n * sizeof(double));
    e->now.losses = adept_arena_array(arena, n_population, sizeof(double));
    e->trials = adept_arena_array(arena, n_population, n * sizeof(double));
    e->trial_losses = adept_arena_array(arena, n_population, sizeof(double));
    e->scratch = adept_arena_array(arena, n_threads, e->scratch_stride * sizeof(double));
    e->generators = adept_arena_array(arena, n_threads + 1, sizeof(gsl_rng *));
    bool ok = e->now.population && e->now.losses && e->trials && e->trial_losses && e->scratch && e->generators;
    for (size_t i = 0; i <= n_threads && ok; i++)
        ok = (e->generators[i] = gsl_rng_alloc(gsl_rng_taus2)) != NULL;
    return ok;
}

adept_status adept_de_run(const adept_de_problem *problem, const adept_de_settings *settings, adept_pool *pool,
                          adept_error *err)
{
    adept_arena *arena = adept_arena_new();
    evolution e = {.problem = problem,
                   .settings = settings,
                   .pool = pool,
                   .now = {.n = problem->n, .n_population = settings->n_population}};
    adept_status status = ADEPT_OK;
    if (arena && allocate(&e, arena)) {
        /* Each gene's range in as many equal parts as there are individuals, one individual in each. */
        size_t n_population = e.now.n_population, n = e.now.n;
        double *population = e.now.population;
        gsl_rng *rng = main_generator(&e);
        for (size_t j = 0; j < n; j++) {
            reseed(rng, ~e.settings->seed, 0, j);
            for (size_t i = 0; i < n_population; i++)
                population[i * n + j] = ((double)i + gsl_rng_uniform(rng)) / (double)n_population;
            for (size_t i = n_population - 1; i > 0; i--) { /* shuffle (Fisher and Yates) */
                size_t k = draw_index(rng, i + 1);
                double swap = population[i * n + j];
                population[i * n + j] = population[k * n + j];
                population[k * n + j] = swap;
            }
        }
        if (e.problem->start) memcpy(e.now.population, e.problem->start, e.now.n * sizeof *e.now.population);
        adept_pool_run(e.pool, evaluate_first, &e, e.now.n_population, CHUNK);
        e.now.evaluations = (double)e.now.n_population;
        summarise(&e.now, e.settings);
        while (problem->watch(problem->watch_context, &e.now) && !e.now.converged &&
               e.now.generation < settings->max_generations)
            next_generation(&e);
    } else {
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a population of %zu", settings->n_population);
    }
    for (int i = 0; e.generators && i <= adept_pool_threads(e.pool) && e.generators[i]; i++)
        gsl_rng_free(e.generators[i]);
    adept_arena_free(arena);
    return status;
}
