/** @file fit_run.h  One sub-fit: differential evolution on an objective, checkpoints, progress, polish. Private to fit/.
 *  Calls: objective, differential_evolution, polish, checkpoint. */
#ifndef ADEPT_FIT_RUN_H
#define ADEPT_FIT_RUN_H
#include "objective.h"
#include "worker_pool.h"

/**
 * @param out    everything but what a stage adds and its number of free parameters
 * @param o      its genes and fixed values are set
 * @param name   of the sub-fit, for progress
 * @param theta  in: where to start; out: the best found, whose loss is not above the start's
 */
adept_status adept_run_solve(adept_fit_run *out, const adept_objective *o, const adept_fit_options *options,
                             const char *name, adept_pool *pool, double *theta, adept_error *err);

#endif
