/** @file polish.c  Local descent from the best of the differential evolution; see polish.h. */
#include "polish.h"
#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

/* The loss has a corner wherever a row's error is zero, and at its minimum many are. Wide corners first, so that the
 * search sees which way the rows pull together. */
static const double smoothings[] = {0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6};
#define N_SMOOTHINGS (sizeof smoothings / sizeof smoothings[0])
#define MAX_ROUNDS 6
#define LBFGS_EVALUATIONS 600 /* per smoothing */
#define SIMPLEX_EVALUATIONS_PER_GENE 250
#define SIMPLEX_STEP 0.02        /* of the range */
#define WORTH_ANOTHER_ROUND 1e-4 /* relative gain */

typedef struct search {
    const adept_polish_problem *problem;
    nlopt_opt opt;
    double smoothing; /* 0: the loss itself */
    double *best;
    double best_loss;
    double evaluations;
} search;

static double objective(unsigned n, const double *unit, double *gradient, void *data)
{
    search *s = data;
    double exact = INFINITY;
    double smooth = s->problem->smooth(s->problem->context, unit, s->smoothing, gradient, &exact);
    s->evaluations += 1.0;
    if (exact < s->best_loss) {
        s->best_loss = exact;
        memcpy(s->best, unit, n * sizeof *unit);
    }
    if (s->problem->stop && *s->problem->stop) nlopt_force_stop(s->opt);
    return isfinite(smooth) ? smooth : HUGE_VAL;
}

/* From x, which becomes the best point by this search's own measure; objective() keeps the best by the exact loss. */
static adept_status descend(search *s, nlopt_algorithm algorithm, int max_evaluations, double *x, adept_error *err)
{
    size_t n = s->problem->n;
    double value;
    s->opt = nlopt_create(algorithm, (unsigned)n);
    if (!s->opt) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the polish");
    nlopt_set_min_objective(s->opt, objective, s);
    nlopt_set_lower_bounds1(s->opt, 0.0);
    nlopt_set_upper_bounds1(s->opt, 1.0);
    nlopt_set_ftol_rel(s->opt, s->problem->rounding > 0.0 ? 1e-7 : 1e-12);
    nlopt_set_xtol_rel(s->opt, s->problem->rounding > 0.0 ? 1e-7 : 1e-13);
    nlopt_set_maxeval(s->opt, max_evaluations);
    nlopt_result result = NLOPT_SUCCESS;
    if (algorithm == NLOPT_LN_SBPLX) result = nlopt_set_initial_step1(s->opt, SIMPLEX_STEP);
    if (result > 0) result = nlopt_optimize(s->opt, x, &value);
    nlopt_destroy(s->opt);
    s->opt = NULL;
    if (result == NLOPT_OUT_OF_MEMORY) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the polish");
    return ADEPT_OK;
}

static bool stopped(const search *s)
{
    return s->problem->stop && *s->problem->stop;
}

/* Each smoothing goes on from the point the one before ended at, which the smaller corners then pull to the minimum. */
static adept_status one_round(search *s, size_t first_smoothing, double *x, adept_error *err)
{
    adept_status status = ADEPT_OK;
    memcpy(x, s->best, s->problem->n * sizeof *x);
    for (size_t i = first_smoothing; i < N_SMOOTHINGS && status == ADEPT_OK && !stopped(s); i++) {
        s->smoothing = fmax(smoothings[i], s->problem->rounding);
        status = descend(s, NLOPT_LD_LBFGS, LBFGS_EVALUATIONS, x, err);
        if (smoothings[i] <= s->problem->rounding) break;
    }
    if (status != ADEPT_OK || stopped(s) || s->problem->rounding > 0.0) return status;
    s->smoothing = 0.0;
    memcpy(x, s->best, s->problem->n * sizeof *x);
    return descend(s, NLOPT_LN_SBPLX, SIMPLEX_EVALUATIONS_PER_GENE * (int)s->problem->n, x, err);
}

adept_status adept_polish(const adept_polish_problem *problem, double *unit, double *loss, double *evaluations,
                          adept_error *err)
{
    size_t n = problem->n;
    search s = {.problem = problem, .best_loss = *loss, .best = calloc(n, sizeof(double))};
    double *x = calloc(n, sizeof(double));
    adept_status status = ADEPT_OK;
    if (!s.best || !x) status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the polish");
    if (status == ADEPT_OK) {
        memcpy(s.best, unit, n * sizeof *unit);
        nlopt_srand(1); /* no algorithm used here draws numbers; should one ever, it draws the same */
        for (int round = 0; round < MAX_ROUNDS && status == ADEPT_OK && !stopped(&s); round++) {
            double before = s.best_loss;
            status = one_round(&s, round == 0 ? 0 : N_SMOOTHINGS / 2, x, err);
            if (!(s.best_loss < before * (1.0 - WORTH_ANOTHER_ROUND))) break;
        }
        memcpy(unit, s.best, n * sizeof *unit);
        *loss = s.best_loss;
        *evaluations += s.evaluations;
    }
    free(s.best);
    free(x);
    return status;
}
