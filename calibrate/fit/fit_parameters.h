/** @file fit_parameters.h  Which parameters a fit may change: what the user, the stage, convention and the rows say.
 *  Private to fit/. Calls: adept_evaluate, objective, stages, GSL (random numbers). */
#ifndef ADEPT_FIT_PARAMETERS_H
#define ADEPT_FIT_PARAMETERS_H
#include "objective.h"

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

#endif
