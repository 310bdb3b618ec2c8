/** @file adept_plan.h  One workload on one GPU, compiled once and then predicted for many runs: what a scheduler asks
 * thousands of times a second. Time of kernels at full clock depends on neither GPUs nor limits nor clocks, so all sums
 * over kernels are taken when a plan is made, and a prediction is left with the run: its clock, the host,
 * communication. Calls: model. */
#ifndef ADEPT_PLAN_H
#define ADEPT_PLAN_H
#include "adept_model.h"

/** Immutable once made: any number of threads may predict from it at the same time. */
typedef struct adept_plan adept_plan;

/**
 * @param out  set on ADEPT_OK; caller frees with adept_plan_free()
 * @param prof borrowed during the call only
 * @param hw   borrowed: must outlive the plan
 * @param how  `granularity` and `saturation` of all runs; the rest is not used. NULL: those of the fit
 * @return as adept_predict(); ADEPT_E_NOMEM. Thread-safe.
 */
ADEPT_API adept_status adept_plan_new(adept_plan **out, const adept_profile *prof, const adept_hwprofile *hw,
                                      const adept_run *how, adept_error *err);
ADEPT_API void adept_plan_free(adept_plan *plan); /* NULL allowed */

/**
 * Predict one step: the numbers of adept_predict(), to the last bit, but for intervals (adept_plan_interval()).
 * @param out written only on ADEPT_OK
 * @param run as of adept_predict(), but for `granularity` and `saturation`, which are the plan's; NULL: one GPU,
 * nothing set
 * @return as adept_predict()
 * No allocation, no locks. Thread-safe on a shared plan, deterministic.
 */
ADEPT_API adept_status adept_plan_predict(adept_estimate *out, const adept_plan *plan, const adept_run *run,
                                          adept_error *err);

/* Parameters of the granularity that has more. */
#define ADEPT_MOST_PARAMETERS 80
/** The parameters that a GPU is predicted with in a run, a power or an energy that its sheet implies among them.
 *  @param theta  room for ADEPT_MOST_PARAMETERS; *n of them, in the order of adept_granularity_parameter_info() */
ADEPT_API adept_status adept_parameters_of(double *theta, size_t *n, const adept_hwprofile *hw, const adept_run *run,
                                           adept_error *err);
/**
 * Time and power of a step as adept_predict() has them, with other parameters than the GPU's.
 * @param theta  as many as adept_parameters_of() gives; out of their bounds they are used as they are
 * @return as adept_predict()
 */
ADEPT_API adept_status adept_predict_with(double *time_s, double *power_w, const adept_profile *prof,
                                          const adept_hwprofile *hw, const adept_run *run, const double *theta,
                                          adept_error *err);

/** All numbers of an estimate that could not be made. */
ADEPT_API void adept_estimate_none(adept_estimate *out, adept_status status);

/** One workload on many GPUs, one after the other: what does not depend on the GPU is kept from one plan to the next.
 * For walks over hardware numbers. Belongs to one thread. */
typedef struct adept_plan_family adept_plan_family;
/**
 * @param prof     borrowed: must outlive the family
 * @param several  will runs have several GPUs? Else the order of the backward pass is not looked at
 * @return ADEPT_E_INVALID for a profile that no GPU can run; ADEPT_E_NOMEM
 */
ADEPT_API adept_status adept_plan_family_new(adept_plan_family **out, const adept_profile *prof, bool several,
                                             adept_error *err);
ADEPT_API void adept_plan_family_free(adept_plan_family *family); /* NULL allowed */
/**
 * The plan of a GPU, with the bits of adept_plan_new().
 * @param out   borrowed: until the next call
 * @param hw    borrowed: until the next call, its tiles until the family is freed; may be the same address with other
 *              numbers
 * @return as adept_plan_new()
 */
ADEPT_API adept_status adept_plan_family_at(const adept_plan **out, adept_plan_family *family,
                                            const adept_hwprofile *hw, const adept_run *how, adept_error *err);

/** Where the measurement of a predicted run would lie: fills the interval of an estimate, as adept_prediction has it;
 * NAN without a fit that says so. @param estimate  of this plan and run. No allocation, thread-safe. */
ADEPT_API void adept_plan_interval(adept_estimate *estimate, const adept_plan *plan, const adept_run *run);

#endif
