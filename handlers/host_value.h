/** @file host_value.h  Arithmetic on what the host knows: Python scalars, strings, lists, and the few elements of small
 *  tensors that carry sizes. Calls: workload. */
#ifndef ADEPT_HOST_VALUE_H
#define ADEPT_HOST_VALUE_H
#include "adept_handler.h"

/* X(name, of integers, of floats): functions of two numbers, a and b. That of integers stores its result with out and
 * says whether it has one: a true division or an angle is none, nor is what overflows or divides by zero. */
#define ADEPT_BINARY_FN_LIST(X)                                                                                        \
    X(ADD, !__builtin_add_overflow(a, b, out), a + b)                                                                  \
    X(SUB, !__builtin_sub_overflow(a, b, out), a - b)                                                                  \
    X(MUL, !__builtin_mul_overflow(a, b, out), a * b)                                                                  \
    X(DIV, false, a / b)                                                                                               \
    X(FLOORDIV, int_floordiv(a, b, out), floor(a / b))                /* rounded towards minus infinity */             \
    X(TRUNCDIV, int_divides(a, b) && store(out, a / b), trunc(a / b)) /* rounded towards zero */                       \
    X(REMAINDER, int_remainder(a, b, out), float_remainder(a, b))     /* sign of the divisor, as Python's % */         \
    X(FMOD, int_divides(a, b) && store(out, a % b), fmod(a, b))       /* sign of the dividend, as C's fmod */          \
    X(POW, int_pow(a, b, out), pow(a, b))                                                                              \
    X(MAX, store(out, a > b ? a : b), a > b ? a : b)                                                                   \
    X(MIN, store(out, a < b ? a : b), a < b ? a : b)                                                                   \
    X(ATAN2, false, atan2(a, b))                                                                                       \
    X(EQ, store(out, a == b), a == b)                                                                                  \
    X(NE, store(out, a != b), a != b)                                                                                  \
    X(LT, store(out, a < b), a < b)                                                                                    \
    X(LE, store(out, a <= b), a <= b)                                                                                  \
    X(GT, store(out, a > b), a > b)                                                                                    \
    X(GE, store(out, a >= b), a >= b)                                                                                  \
    X(LOGICAL_AND, store(out, a != 0 && b != 0), a != 0 && b != 0)                                                     \
    X(LOGICAL_OR, store(out, a != 0 || b != 0), a != 0 || b != 0)                                                      \
    X(LOGICAL_XOR, store(out, (a != 0) != (b != 0)), (a != 0) != (b != 0))

/* X(name, function): of two integers only. */
#define ADEPT_BITS_FN_LIST(X)                                                                                          \
    X(AND, store(out, a &b))                                                                                           \
    X(OR, store(out, a | b))                                                                                           \
    X(XOR, store(out, a ^ b))                                                                                          \
    X(LSHIFT, b >= 0 && b <= 62 && !__builtin_mul_overflow(a, (int64_t)1 << b, out))                                   \
    X(RSHIFT, b >= 0 && b <= 62 && store(out, a >= 0 ? a >> b : ~(~a >> b)))

/* X(name, function): of one number, a. FLOOR and CEIL of Python scalars give an integer. */
#define ADEPT_UNARY_FN_LIST(X)                                                                                         \
    X(NEG, -a)                                                                                                         \
    X(ABS, fabs(a))                                                                                                    \
    X(SIGN, (a > 0) - (a < 0))                                                                                         \
    X(SQRT, sqrt(a))                                                                                                   \
    X(RSQRT, 1 / sqrt(a))                                                                                              \
    X(RECIPROCAL, 1 / a)                                                                                               \
    X(EXP, exp(a))                                                                                                     \
    X(EXPM1, expm1(a))                                                                                                 \
    X(LOG, log(a))                                                                                                     \
    X(LOG2, log2(a))                                                                                                   \
    X(LOG10, log10(a))                                                                                                 \
    X(LOG1P, log1p(a))                                                                                                 \
    X(SIN, sin(a))                                                                                                     \
    X(COS, cos(a))                                                                                                     \
    X(TAN, tan(a))                                                                                                     \
    X(TANH, tanh(a))                                                                                                   \
    X(FLOOR, floor(a))                                                                                                 \
    X(CEIL, ceil(a))                                                                                                   \
    X(ROUND, round_half_even(a))                                                                                       \
    X(TRUNC, trunc(a))                                                                                                 \
    X(SQUARE, a *a)                                                                                                    \
    X(LOGICAL_NOT, a == 0)                                                                                             \
    X(ISNAN, isnan(a) != 0)

typedef enum adept_fn {
#define X(name, ...) ADEPT_FN_##name,
    ADEPT_BINARY_FN_LIST(X) ADEPT_BITS_FN_LIST(X) ADEPT_UNARY_FN_LIST(X)
#undef X
        ADEPT_FN_NOT, /* bitwise, of one integer; of bool logical */
    ADEPT_FN_NONE     /* nothing the host would compute */
} adept_fn;

bool adept_fn_is_comparison(adept_fn fn); /* EQ to GE and the LOGICAL ones: the result is a bool */

/** Result of fn on two scalars. False: overflow, division by zero or not defined for them. */
bool adept_fn_ints(adept_fn fn, int64_t a, int64_t b, int64_t *out);
bool adept_fn_floats(adept_fn fn, double a, double b, double *out);
bool adept_fn_float(adept_fn fn, double a, double *out);

/** Equality of two host values, lists and strings included; *known is false if it depends on data. */
bool adept_host_equal(const adept_value *a, const adept_value *b, bool *known);
/** Is it an int, float, bool or a scalar not known yet? */
bool adept_host_is_scalar(const adept_value *v);

/** Output of a binary operator none of whose arguments is a tensor: scalars, strings, lists. */
void adept_host_binary(adept_call *c, adept_fn fn, const adept_value *a, const adept_value *b);
/** Output of a unary operator on a scalar. */
void adept_host_unary(adept_call *c, adept_fn fn, const adept_value *a);

/** Give `out` the elements fn yields, when those of every operand are known; else mark them unknown. */
void adept_host_set_binary(adept_call *c, adept_tensor *out, adept_fn fn, const adept_value *a, const adept_value *b);
void adept_host_set_unary(adept_call *c, adept_tensor *out, adept_fn fn, const adept_tensor *a);
/** Element of operand v, broadcast to the shape of `out`, at row-major position i of that; false if not known. */
bool adept_host_element(const adept_value *v, const adept_tensor *out, int64_t i, double *value);
/** The same elements in the same order, if known (reshape, copy, conversion to an integer or wider type). */
void adept_host_set_same(adept_call *c, adept_tensor *out, const adept_tensor *from);

/** Text of a value as Python's str() prints it; false if it depends on data or does not fit. */
bool adept_host_print(const adept_value *v, char *text, size_t size);

/** list += more, which may be the same list. */
void adept_list_extend(adept_call *c, const adept_value *list, const adept_value *more);

/* Python's list methods whose operator names tensors use as well; argument 0 must be of that kind. */
void adept_list_slice(adept_call *c); /* aten::slice on a list or a string: (l, start, end, step) */
void adept_list_copy(adept_call *c);  /* aten::copy of a list or dict */
void adept_list_find(adept_call *c);  /* aten::index: position of an element */
#endif
