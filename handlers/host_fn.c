/* Functions of one and two numbers with Python's rules. */
#include "host_value.h"
#include <math.h>

bool adept_fn_is_comparison(adept_fn fn)
{
    return (fn >= ADEPT_FN_EQ && fn <= ADEPT_FN_LOGICAL_XOR) || fn == ADEPT_FN_LOGICAL_NOT || fn == ADEPT_FN_ISNAN;
}

/* ---------------------------------------------------------------- integers ---------------- */

static bool store(int64_t *out, int64_t value)
{
    *out = value;
    return true;
}

static bool int_divides(int64_t a, int64_t b)
{
    return b != 0 && (b != -1 || a != INT64_MIN);
}

static bool int_floordiv(int64_t a, int64_t b, int64_t *out)
{
    return int_divides(a, b) && store(out, a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
}

static bool int_remainder(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0) return false;
    int64_t r = b == -1 ? 0 : a % b;
    return store(out, r != 0 && (r < 0) != (b < 0) ? r + b : r);
}

static bool int_pow(int64_t base, int64_t exponent, int64_t *out)
{
    int64_t result = 1;
    if (exponent < 0) return false;
    for (int bit = 62; bit >= 0; bit--) {
        if (__builtin_mul_overflow(result, result, &result)) return false;
        if ((exponent >> bit & 1) && __builtin_mul_overflow(result, base, &result)) return false;
    }
    return store(out, result);
}

bool adept_fn_ints(adept_fn fn, int64_t a, int64_t b, int64_t *out)
{
    switch (fn) {
#define X(name, of_integers, ...)                                                                                      \
    case ADEPT_FN_##name:                                                                                              \
        return of_integers;
        ADEPT_BINARY_FN_LIST(X)
        ADEPT_BITS_FN_LIST(X)
#undef X
    default:
        return false;
    }
}

/* ---------------------------------------------------------------- floats ---------------- */

static double float_remainder(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool adept_fn_floats(adept_fn fn, double a, double b, double *out)
{
    if (fn >= ADEPT_FN_DIV && fn <= ADEPT_FN_FMOD && b == 0) return false;
    switch (fn) {
#define X(name, of_integers, of_floats)                                                                                \
    case ADEPT_FN_##name:                                                                                              \
        *out = of_floats;                                                                                              \
        return true;
        ADEPT_BINARY_FN_LIST(X)
#undef X
    default:
        return false;
    }
}

/* Python and PyTorch round halves to the even neighbour, whatever the C rounding mode is. */
static double round_half_even(double a)
{
    return fabs(a - trunc(a)) == 0.5 ? 2 * round(a / 2) : round(a);
}

bool adept_fn_float(adept_fn fn, double a, double *out)
{
    switch (fn) {
#define X(name, of_float)                                                                                              \
    case ADEPT_FN_##name:                                                                                              \
        *out = of_float;                                                                                               \
        return true;
        ADEPT_UNARY_FN_LIST(X)
#undef X
    default:
        return false;
    }
}
