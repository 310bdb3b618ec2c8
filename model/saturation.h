/** @file saturation.h  The saturation functions of thesis section 4.3.7.2 as inline arithmetic. Private to model/. */
#ifndef ADEPT_SATURATION_H
#define ADEPT_SATURATION_H
#include "adept_model.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

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

/* ---- exp(-x) for x >= 0 as plain arithmetic that compilers vectorise ---- */

/**
 * Bit-identical wherever doubles are IEEE 754 and products are not fused with sums (-ffp-contract=off). Relative error below 5e-16 (tests/unit/test_evaluate_exp.c). x above 700 counts as 700, where exp(-x) is 1e-304; so
 * does NAN.
 *
 * exp(-x) = 2^n * exp(r), |r| <= ln(2)/2, with n = round(-x / ln 2). Adding 1.5 * 2^52 rounds to an integer and leaves
 * it in the low bits of the sum. ln 2 is split so that n * LN2_HIGH is exact (fdlibm's constants). exp(r) is its Taylor
 * polynomial of degree 13: the remainder is below 4e-18.
 */
static inline double adept_exp_negative(double x)
{
    const double round_up = 6755399441055744.0, inverse_ln2 = 1.4426950408889634074;
    const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    double at = x < 700.0 ? x : 700.0;
    double shifted = round_up - at * inverse_ln2;
    double n = shifted - round_up;
    double r = (-at - n * ln2_high) - n * ln2_low;
    double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    /* Pairs instead of Horner's chain: the steps do not wait for each other. 1 + r is added last, for its rounding. */
    double p23 = 1.0 / 2 + r * (1.0 / 6), p45 = 1.0 / 24 + r * (1.0 / 120), p67 = 1.0 / 720 + r * (1.0 / 5040);
    double p89 = 1.0 / 40320 + r * (1.0 / 362880), p1011 = 1.0 / 3628800 + r * (1.0 / 39916800);
    double p1213 = 1.0 / 479001600 + r * (1.0 / 6227020800);
    double tail = (p23 + r2 * p45) + r4 * (p67 + r2 * p89) + r8 * (p1011 + r2 * p1213);
    double power = 1.0 + (r + r2 * tail);
    int64_t bits, zero_bits;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&zero_bits, &round_up, sizeof zero_bits);
    bits = (int64_t)((uint64_t)(bits - zero_bits + 1023) << 52);
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return power * scale;
}

/* ---- the functions ---- */

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
