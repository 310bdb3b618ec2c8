/* Functions of one and two numbers with Python's rules. */
#include "host_value.h"
#include <math.h>

bool adept_fn_is_comparison(adept_fn fn)
{
    return (fn >= ADEPT_FN_EQ && fn <= ADEPT_FN_GE) || (fn >= ADEPT_FN_LOGICAL_AND && fn <= ADEPT_FN_LOGICAL_XOR) ||
           fn == ADEPT_FN_LOGICAL_NOT || fn == ADEPT_FN_ISNAN;
}

/* ---------------------------------------------------------------- integers ---------------- */

static bool int_floordiv(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
    *out = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
    return true;
}

static bool int_remainder(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || b == -1) {
        *out = 0;
        return b != 0;
    }
    int64_t r = a % b;
    *out = r != 0 && (r < 0) != (b < 0) ? r + b : r;
    return true;
}

static bool int_pow(int64_t base, int64_t exponent, int64_t *out)
{
    int64_t result = 1;
    if (exponent < 0) return false;
    for (int bit = 62; bit >= 0; bit--) {
        if (__builtin_mul_overflow(result, result, &result)) return false;
        if ((exponent >> bit & 1) && __builtin_mul_overflow(result, base, &result)) return false;
    }
    *out = result;
    return true;
}

static bool int_shift(adept_fn fn, int64_t a, int64_t b, int64_t *out)
{
    if (b < 0 || b > 62) return false;
    if (fn == ADEPT_FN_LSHIFT) return !__builtin_mul_overflow(a, (int64_t)1 << b, out);
    *out = a >= 0 ? a >> b : ~(~a >> b);
    return true;
}

/* What a comparison says of numbers of which it is known how they compare; of logic, which of them are not zero. */
static bool compare(adept_fn fn, bool less, bool equal, bool greater, bool a, bool b, bool *out)
{
    const bool results[] = {
        [ADEPT_FN_EQ] = equal,           [ADEPT_FN_NE] = !equal,         [ADEPT_FN_LT] = less,
        [ADEPT_FN_LE] = less || equal,   [ADEPT_FN_GT] = greater,        [ADEPT_FN_GE] = greater || equal,
        [ADEPT_FN_LOGICAL_AND] = a && b, [ADEPT_FN_LOGICAL_OR] = a || b, [ADEPT_FN_LOGICAL_XOR] = a != b};
    if (!adept_fn_is_comparison(fn) || (size_t)fn >= sizeof results) return false;
    *out = results[fn];
    return true;
}

bool adept_fn_ints(adept_fn fn, int64_t a, int64_t b, int64_t *out)
{
    bool is = false;
    switch (fn) {
    case ADEPT_FN_ADD:
        return !__builtin_add_overflow(a, b, out);
    case ADEPT_FN_SUB:
        return !__builtin_sub_overflow(a, b, out);
    case ADEPT_FN_MUL:
        return !__builtin_mul_overflow(a, b, out);
    case ADEPT_FN_FLOORDIV:
        return int_floordiv(a, b, out);
    case ADEPT_FN_REMAINDER:
        return int_remainder(a, b, out);
    case ADEPT_FN_TRUNCDIV:
    case ADEPT_FN_FMOD:
        if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
        *out = fn == ADEPT_FN_TRUNCDIV ? a / b : a % b;
        return true;
    case ADEPT_FN_POW:
        return int_pow(a, b, out);
    case ADEPT_FN_MAX:
        *out = a > b ? a : b;
        return true;
    case ADEPT_FN_MIN:
        *out = a < b ? a : b;
        return true;
    case ADEPT_FN_AND:
        *out = a & b;
        return true;
    case ADEPT_FN_OR:
        *out = a | b;
        return true;
    case ADEPT_FN_XOR:
        *out = a ^ b;
        return true;
    case ADEPT_FN_LSHIFT:
    case ADEPT_FN_RSHIFT:
        return int_shift(fn, a, b, out);
    default:
        if (!compare(fn, a<b, a == b, a> b, a != 0, b != 0, &is)) return false;
        *out = is;
        return true;
    }
}

/* ---------------------------------------------------------------- floats ---------------- */

static double float_remainder(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double float_binary(adept_fn fn, double a, double b)
{
    switch (fn) {
    case ADEPT_FN_ADD:
        return a + b;
    case ADEPT_FN_SUB:
        return a - b;
    case ADEPT_FN_MUL:
        return a * b;
    case ADEPT_FN_DIV:
        return a / b;
    case ADEPT_FN_FLOORDIV:
        return floor(a / b);
    case ADEPT_FN_TRUNCDIV:
        return trunc(a / b);
    case ADEPT_FN_REMAINDER:
        return float_remainder(a, b);
    case ADEPT_FN_FMOD:
        return fmod(a, b);
    case ADEPT_FN_POW:
        return pow(a, b);
    case ADEPT_FN_MAX:
        return a > b ? a : b;
    case ADEPT_FN_MIN:
        return a < b ? a : b;
    default:
        return atan2(a, b);
    }
}

bool adept_fn_floats(adept_fn fn, double a, double b, double *out)
{
    bool is = false, divides = fn >= ADEPT_FN_DIV && fn <= ADEPT_FN_FMOD;
    if (fn <= ADEPT_FN_ATAN2) {
        *out = divides && b == 0 ? 0 : float_binary(fn, a, b);
        return !divides || b != 0;
    }
    if (!compare(fn, a<b, a == b, a> b, a != 0, b != 0, &is)) return false;
    *out = is;
    return true;
}

/* Python and PyTorch round halves to the even neighbour, whatever the C rounding mode is. */
static double round_half_even(double a)
{
    return fabs(a - trunc(a)) == 0.5 ? 2 * round(a / 2) : round(a);
}

static double negative(double a)
{
    return -a;
}

static double sign(double a)
{
    return (a > 0) - (a < 0);
}

static double reciprocal(double a)
{
    return 1 / a;
}

static double reciprocal_root(double a)
{
    return 1 / sqrt(a);
}

static double square(double a)
{
    return a * a;
}

static double is_zero(double a)
{
    return a == 0;
}

static double is_nan(double a)
{
    return isnan(a) != 0;
}

bool adept_fn_float(adept_fn fn, double a, double *out)
{
    static double (*const functions[])(double) = {
        [ADEPT_FN_NEG] = negative,
        [ADEPT_FN_ABS] = fabs,
        [ADEPT_FN_SIGN] = sign,
        [ADEPT_FN_SQRT] = sqrt,
        [ADEPT_FN_RSQRT] = reciprocal_root,
        [ADEPT_FN_RECIPROCAL] = reciprocal,
        [ADEPT_FN_EXP] = exp,
        [ADEPT_FN_EXPM1] = expm1,
        [ADEPT_FN_LOG] = log,
        [ADEPT_FN_LOG2] = log2,
        [ADEPT_FN_LOG10] = log10,
        [ADEPT_FN_LOG1P] = log1p,
        [ADEPT_FN_SIN] = sin,
        [ADEPT_FN_COS] = cos,
        [ADEPT_FN_TAN] = tan,
        [ADEPT_FN_TANH] = tanh,
        [ADEPT_FN_FLOOR] = floor,
        [ADEPT_FN_CEIL] = ceil,
        [ADEPT_FN_ROUND] = round_half_even,
        [ADEPT_FN_TRUNC] = trunc,
        [ADEPT_FN_SQUARE] = square,
        [ADEPT_FN_LOGICAL_NOT] = is_zero,
        [ADEPT_FN_ISNAN] = is_nan,
        [ADEPT_FN_NONE] = NULL,
    };
    size_t i = (size_t)fn;
    if (i >= sizeof functions / sizeof *functions || !functions[i]) return false;
    *out = functions[i](a);
    return true;
}
