/** @file adept_evaluate.h  Many predictions under changing parameters: what a fit evaluates millions of times.
 *
 *  Workloads, GPUs and runs are compiled once into flat arrays; a parameter vector theta then gives time and power of
 *  all rows at once, by the very arithmetic of adept_predict() (which compiles a single row). Work that rows share
 *  (the same model at another number of GPUs or another power limit) is done once. Calls: model. */
#ifndef ADEPT_EVALUATE_H
#define ADEPT_EVALUATE_H
#include "adept_model.h"

/** One row: what runs, where, and how. `run.saturation` is not used: an evaluator has one function for all rows. Of
 * communication the share `overlap` is hidden unless it is said otherwise (ADEPT_OVERLAP_AUTO means that here).
 * Granularity "model" refuses all else, and ADEPT_ALLREDUCE_AUTO; "operator" takes buckets, up to 1023 a step. */
typedef struct adept_placement {
    const adept_profile *profile;
    const adept_hwprofile *hw; /* its sheet; its fit gives defaults only, and its fitted scalars are not applied */
    adept_run run;
} adept_placement;

/** Immutable once made: any number of threads may use it at the same time. */
typedef struct adept_evaluator adept_evaluator;

/**
 * Compile rows. Nothing of the arguments is kept: profiles and sheets may be freed afterwards.
 * @param out         set on ADEPT_OK; caller frees with adept_evaluator_free()
 * @param rows        n_rows >= 1
 * @param granularity whose equations and parameters; "operator" has neither scalars nor a saturation but the sigmoid
 * @param saturation  one name for all rows; NULL: that of the first row's fit, else "sigmoid"
 * @param scalars     targeted scalars that become parameters after the granularity's own, in this order; values are
 *                    their defaults; n_scalars <= ADEPT_MAX_SCALARS, names unlike each other and every parameter
 * @return as adept_predict(), naming the row ("row 3: ..."); ADEPT_E_USAGE for a bad scalar or saturation name;
 *         ADEPT_E_INVALID if a row has nothing to run or a count that is not finite; ADEPT_E_NOMEM
 * Thread-safe. Takes O(kernels of all profiles * scalars).
 */
ADEPT_API adept_status adept_evaluator_new(adept_evaluator **out, const adept_placement *rows, size_t n_rows,
                                           adept_granularity granularity, const char *saturation,
                                           const adept_scalar *scalars, size_t n_scalars, adept_error *err);
ADEPT_API void adept_evaluator_free(adept_evaluator *e); /* NULL allowed */

ADEPT_API size_t adept_evaluator_n_rows(const adept_evaluator *e);
/** Length of theta: the granularity's parameters, then the scalars (bounds ADEPT_SCALAR_LOW and _HIGH). */
ADEPT_API size_t adept_evaluator_n_parameters(const adept_evaluator *e);
/** Name, bounds and scale of theta[index]; `fallback` is NAN where the default comes from the sheet: use
 *  adept_evaluator_default(). Borrowed from the evaluator; NULL past the end. */
ADEPT_API const adept_parameter_info *adept_evaluator_parameter(const adept_evaluator *e, size_t index);
/** theta[index] of the first row's GPU: its fit's value, else the default of its sheet; a scalar's own value. Always
 *  within the bounds; NAN past the end. */
ADEPT_API double adept_evaluator_default(const adept_evaluator *e, size_t index);
/** Name of the saturation function in use. */
ADEPT_API const char *adept_evaluator_saturation(const adept_evaluator *e);

/**
 * Time of one step in s and average power of all GPUs together in W, or of their nodes where a row's power_scope says
 * so, of every row. A host that neither a row nor theta knows draws nothing.
 * @param theta    n_parameters finite values within the bounds; outside them the result is unspecified (not undefined)
 * @param time_s   n_rows outputs, or NULL
 * @param power_w  n_rows outputs, or NULL; NAN where the sheet has no tdp_w
 * No allocation, no locks, no globals: reentrant. Deterministic: the same bits in every thread, and on every machine
 * where the C library's exp(), atan() and tanh() give the same.
 * O(rows). On a shared core of an AMD EPYC, 32 rows of 16 workloads take 0.6 us; where all boards throttle, 5 us
 * (tests/bench/bench_evaluate.c). By granularity "operator" O(distinct kernels of all workloads): ResNet-50 takes 17
 * us, and 3 us more per row under a limit; with derivatives 50 us and 13 us more per row
 * (tests/bench/bench_operator.c).
 */
ADEPT_API void adept_evaluate(const adept_evaluator *e, const double *theta, double *time_s, double *power_w);

/**
 * The same with exact derivatives. At a kink (a maximum, the edge of a limit) it is the derivative of the branch that
 * the value was taken from.
 * @param time_s, power_w  as adept_evaluate(), the same bits
 * @param dtime_s  n_rows * n_parameters, row-major: dtime_s[row * n_parameters + i] = d time_s[row] / d theta[i]
 * @param dpower_w likewise; each of the four may be NULL
 * No allocation, reentrant. O(rows * parameters); the same 32 rows take 9 us, throttled 17 us.
 */
ADEPT_API void adept_evaluate_gradient(const adept_evaluator *e, const double *theta, double *time_s, double *power_w,
                                       double *dtime_s, double *dpower_w);

#endif
