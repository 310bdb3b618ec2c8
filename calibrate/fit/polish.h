/** @file polish.h  Local descent on the unit cube from a good point: L-BFGS on a smoothed loss with exact gradients,
 * its smoothing shrinking, then a simplex on the loss itself. Knows nothing of GPUs. Private to fit/. Calls:
 * NLopt. */
#ifndef ADEPT_POLISH_H
#define ADEPT_POLISH_H
#include "adept_calibrate.h"

/**
 * Smoothed loss of one point, with its gradient, and the loss itself beside it.
 * @param smoothing  width of the rounded corner at each row's zero error, relative
 * @param gradient   n outputs, or NULL
 * @param exact      the loss without smoothing
 */
typedef double adept_smooth_fn(void *context, const double *unit, double smoothing, double *gradient, double *exact);

typedef struct adept_polish_problem {
    size_t n;
    adept_smooth_fn *smooth;
    void *context;
    double rounding; /* the loss has no corners narrower than this: no smoothing below it and no simplex; 0: it has */
    const volatile sig_atomic_t *stop; /* may be NULL */
} adept_polish_problem;

/**
 * @param unit         in: where to start; out: the best point seen, never worse than the start
 * @param loss         in and out: its exact loss
 * @param evaluations  increased by the number of calls
 * @return ADEPT_E_NOMEM; a search that stops early is no error, since the best point seen is kept
 */
adept_status adept_polish(const adept_polish_problem *problem, double *unit, double *loss, double *evaluations,
                          adept_error *err);

#endif
