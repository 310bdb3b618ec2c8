/** @file fit_parts.h  The parts of a fit of steps: its options, stages, parameters, sub-fits and their names in a
 *  checkpoint. Private to fit/. Calls: objective, SHA-256, worker_pool, GSL (random numbers). */
#ifndef ADEPT_FIT_PARTS_H
#define ADEPT_FIT_PARTS_H
#include "objective.h"
#include "sha256.h"
#include "worker_pool.h"

/* ---- options ---- */

/** @return ADEPT_E_USAGE for numbers that make no sense */
adept_status adept_fit_options_check(const adept_fit_options *options, adept_error *err);

/* ---- the stages of table 4.2 as data ---- */

typedef struct adept_stage {
    const char *name;
    const char *adds;           /* for people */
    const char *frees;          /* parameter or scalar; NULL: everything that no later stage names */
    const adept_scalar *scalar; /* what `frees` is, if it is a targeted scalar */
} adept_stage;

/** NULL past the end. */
const adept_stage *adept_stage_at(size_t index);
/** Index of a stage by name. @return ADEPT_E_USAGE listing the names */
adept_status adept_stage_find(size_t *index, const char *name, adept_error *err);
/** The first stage in which a parameter is free: 0 unless a stage names it. */
size_t adept_stage_of(const char *parameter);

/* ---- parameters: what the user, the stage, convention and the rows say ---- */

#define ADEPT_EVERY_STAGE ((size_t)-1)

/** Whether the base profile's fitted numbers mean the same in this fit: parameters of another granularity do not. */
bool adept_fit_base_is_alike(const adept_hwprofile *base, const adept_fit_options *options);

/**
 * Targeted scalars of a fit: the base profile's, then the options' (a name already there is replaced), then those of
 * the stages, less --without.
 */
adept_status adept_fit_scalars(adept_scalar **out, size_t *n, adept_arena *arena, const adept_hwprofile *base,
                               const adept_fit_options *options, adept_error *err);

/**
 * State and start value of every parameter of the objective's evaluator.
 * @param limited  some row has a power limit of its own: then time tells of the power law as well
 * @return ADEPT_E_USAGE for an unknown name or a value outside its bounds
 */
adept_status adept_fit_parameters_choose(adept_fit_parameter *out, const adept_objective *o,
                                         const adept_hwprofile *base, const adept_fit_options *options, bool limited,
                                         adept_arena *arena, adept_error *err);

/** Parameters that are free in a stage: those with state ADEPT_FIT_FREE that no later stage names. @return how many */
size_t adept_fit_parameters_in_stage(bool *is_free, const adept_fit_parameter *parameters, size_t n, size_t stage);

/** After the fit: what changes nothing at theta goes back to its start value, if the loss stays, and is undetermined.
 *  @param touched, scratch  room for n_parameters, and adept_objective_n_gradient_scratch() */
void adept_fit_parameters_settle(adept_fit_parameter *parameters, const adept_objective *o, double *theta,
                                 const adept_fit_options *options, bool *touched, double *scratch);

/* ---- one sub-fit: differential evolution, checkpoints, progress, polish ---- */

/**
 * @param out    everything but what a stage adds and its number of free parameters
 * @param o      its genes and fixed values are set
 * @param name   of the sub-fit, for progress
 * @param theta  in: where to start; out: the best found, whose loss is not above the start's
 */
adept_status adept_run_solve(adept_fit_run *out, const adept_objective *o, const adept_fit_options *options,
                             const char *name, adept_pool *pool, double *theta, adept_error *err);

/* ---- its name in a checkpoint ---- */


#endif
