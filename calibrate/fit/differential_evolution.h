/** @file differential_evolution.h  Differential evolution on the unit cube, with scipy's conventions. Knows nothing of
 *  GPUs: the objective is a function pointer. Private to fit/. Calls: GSL, worker_pool.
 *
 *  Every random number comes from a generator seeded by (seed, generation, individual), so the result does not depend
 *  on the number of threads. */
#ifndef ADEPT_DIFFERENTIAL_EVOLUTION_H
#define ADEPT_DIFFERENTIAL_EVOLUTION_H
#include "adept_calibrate.h"
#include "worker_pool.h"

/** Loss of one point of the unit cube; not finite: worse than anything. `scratch` is the calling thread's own. */
typedef double adept_loss_fn(const void *context, const double *unit, double *scratch);

/** Everything a run is. */
typedef struct adept_de_view {
    int generation; /* 0: first population */
    double evaluations;
    size_t n_population, n;
    double *population; /* n_population * n, in [0, 1] */
    double *losses;     /* n_population */
    size_t best;        /* the first of the lowest */
    double mean, std;   /* of the losses; std is infinite while one of them is */
    bool converged;     /* std <= atol + tol * |mean|, or the best loss is good enough */
} adept_de_view;

/** Called with the first population, with that of each generation, and so with the last. @return false: stop here */
typedef bool adept_de_watch(void *context, const adept_de_view *now);

typedef struct adept_de_problem {
    size_t n; /* genes, at least 1 */
    adept_loss_fn *loss;
    const void *context;
    size_t n_scratch;    /* doubles that loss wants */
    const double *start; /* n genes: one individual of the first population; NULL: none */
    adept_de_watch *watch;
    void *watch_context;
} adept_de_problem;

typedef struct adept_de_settings {
    adept_de_strategy strategy;
    adept_de_bounds bounds;
    size_t n_population; /* at least ADEPT_DE_MIN_POPULATION */
    int max_generations;
    double mutation_low, mutation_high, crossover, tol, atol, good_enough;
    uint64_t seed;
} adept_de_settings;

#define ADEPT_DE_MIN_POPULATION 5 /* rand1bin needs four different individuals */

/**
 * From a Latin hypercube, with `start` in place of its first point, until it converges, max_generations are over or
 * problem->watch stops it. A generation is all trial vectors from the old population, then all replacements.
 * @return ADEPT_E_NOMEM
 */
adept_status adept_de_run(const adept_de_problem *problem, const adept_de_settings *settings, adept_pool *pool,
                          adept_error *err);

#endif
