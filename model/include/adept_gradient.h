/** @file adept_gradient.h  Exact derivatives of a prediction by parameters, by the sheet and by the run, and predictions with other
 *  parameters. Calls: model. */
#ifndef ADEPT_GRADIENT_H
#define ADEPT_GRADIENT_H
#include "adept_model.h"
#include "adept_operator_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Change of time in s and of power in W (all GPUs; NAN where it is unknown) for each relative change of a quantity: x * d / dx. It
 * is 0 of a quantity that is 0 or has no part in the prediction. */
typedef struct adept_slope {
    double time_s, power_w;
} adept_slope;

/* X(field of adept_run, meaning): numbers of the run that have a derivative. */
#define ADEPT_RUN_NUMBER_LIST(X)                                        \
    X(power_limit_w, "power limit that is set, per GPU")                \
    X(clock_hz, "core clock it is locked to")                           \
    X(internode_bytes_per_s, "bandwidth between nodes, of one of them") \
    X(internode_latency_s, "latency of one hop between nodes")
typedef enum adept_run_number {
#define X(name, text) ADEPT_RUN_##name,
    ADEPT_RUN_NUMBER_LIST(X)
#undef X
        ADEPT_RUN_NUMBERS
} adept_run_number;

#define ADEPT_GRADIENT_PARAMETERS ADEPT_OPERATOR_PARAMETERS /* of the granularity that has more */

typedef struct adept_gradient {
    adept_granularity granularity;
    double time_s, power_w; /* as adept_predict() */
    size_t n_parameters;    /* of the granularity */
    double theta[ADEPT_GRADIENT_PARAMETERS]; /* the GPU's own: a power or energy that the sheet implies is among them */
    adept_slope by_theta[ADEPT_GRADIENT_PARAMETERS];
    adept_slope by_spec[ADEPT_SPECS]; /* by way of theta too, where no fit has set it */
    adept_slope by_run[ADEPT_RUN_NUMBERS];
} adept_gradient;

/**
 * At a kink (a maximum, a whole number of tiles or waves, the edge of a limit) the derivative is that of the branch that the value
 * was taken from: what comes in whole numbers has the derivative 0, though a larger step may change it. All-reduces in buckets
 * are included. The fit's targeted scalars are constants.
 * @return as adept_predict(). Thread-safe, deterministic. Takes some 30 times what a prediction does.
 */
ADEPT_API adept_status adept_predict_gradient(adept_gradient *out, const adept_profile *prof, const adept_hwprofile *hw,
                                              const adept_run *run, adept_error *err);

/** Name, bounds, meaning of parameter `index` of a granularity; NULL past the end. */
ADEPT_API const adept_parameter_info *adept_granularity_parameter_info(adept_granularity granularity, size_t index);

/**
 * Time and power of a step as adept_predict() has them, with other parameters than the GPU's.
 * @param theta  as many as adept_gradient has of this GPU and run; out of their bounds they are used as they are
 * @return as adept_predict()
 */
ADEPT_API adept_status adept_predict_with(double *time_s, double *power_w, const adept_profile *prof,
                                          const adept_hwprofile *hw, const adept_run *run, const double *theta,
                                          adept_error *err);

#ifdef __cplusplus
}
#endif
#endif
