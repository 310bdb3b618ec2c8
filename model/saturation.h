/** @file saturation.h  The saturation functions of thesis section 4.3.7.2 as inline arithmetic. Private to model/. */
#ifndef ADEPT_SATURATION_H
#define ADEPT_SATURATION_H
#include "adept_model.h"
#include "exp.h"
#include <math.h>

/* X(id, name, EACH or ONCE): ONCE, a function of the C library, which takes long and is no part of a vectorised loop */
#define ADEPT_SATURATION_LIST(X)                                                                                       \
    X(SIGMOID, sigmoid, EACH)                                                                                          \
    X(ARCTAN, arctan, ONCE) X(SOFTSIGN, softsign, EACH) X(ALGEBRAIC, algebraic, EACH) X(TANH, tanh, ONCE)
typedef enum adept_saturation_kind {
#define X(id, name, how) ADEPT_SATURATION_##id,
    ADEPT_SATURATION_LIST(X)
#undef X
        ADEPT_SATURATIONS
} adept_saturation_kind;

/** What is asked for (NULL: nothing), else what the fit has. @return ADEPT_E_USAGE, ADEPT_E_INVALID if there is no such one */
adept_status adept_saturation_of(adept_saturation_kind *out, const char *asked, const adept_hwprofile *hw,
                                 adept_error *err);

#define ADEPT_TWO_OVER_PI 0.63661977236758134308

/* Each takes x in [0, inf] to [0, 1] (thesis section 4.3.7.2). */

static inline double adept_saturate_sigmoid(double x)
{
    return 1.0 / (1.0 + adept_exp_negative(x));
}

/* Normalised by 2/pi so that it reaches 1 like the others (resolution 4). */
static inline double adept_saturate_arctan(double x)
{
    return ADEPT_TWO_OVER_PI * atan(x);
}

/* An infinite x must give 1 and not NaN. */
static inline double adept_saturate_softsign(double x)
{
    double at = x < 1e300 ? x : 1e300;
    return at / (1.0 + at);
}

/* x^2 must not overflow: from 1e9 on the result is 1 to the last bit. */
static inline double adept_saturate_algebraic(double x)
{
    double at = x < 1e9 ? x : 1e9;
    return at / sqrt(1.0 + at * at);
}

static inline double adept_saturate_tanh(double x)
{
    return tanh(x);
}

/** Elasticity x sat'(x) / sat(x), in [0, 1]: by how many percent sat rises when x does by one. */
double adept_saturation_elasticity(adept_saturation_kind kind, double x);

#endif
