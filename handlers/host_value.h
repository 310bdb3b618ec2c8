/** @file host_value.h  Arithmetic on what the host knows: Python scalars, strings, lists, and the few elements of small
 *  tensors that carry sizes. Calls: workload. */
#ifndef ADEPT_HOST_VALUE_H
#define ADEPT_HOST_VALUE_H
#include "adept_handler.h"

typedef enum adept_fn {
    /* two arguments */
    ADEPT_FN_ADD,
    ADEPT_FN_SUB,
    ADEPT_FN_MUL,
    ADEPT_FN_DIV,       /* true division: integers give a float */
    ADEPT_FN_FLOORDIV,  /* rounded towards minus infinity */
    ADEPT_FN_TRUNCDIV,  /* rounded towards zero */
    ADEPT_FN_REMAINDER, /* sign of the divisor, as Python's % */
    ADEPT_FN_FMOD,      /* sign of the dividend, as C's fmod */
    ADEPT_FN_POW,
    ADEPT_FN_MAX,
    ADEPT_FN_MIN,
    ADEPT_FN_ATAN2,
    ADEPT_FN_EQ,
    ADEPT_FN_NE,
    ADEPT_FN_LT,
    ADEPT_FN_LE,
    ADEPT_FN_GT,
    ADEPT_FN_GE,
    ADEPT_FN_AND,
    ADEPT_FN_OR,
    ADEPT_FN_XOR,
    ADEPT_FN_LSHIFT,
    ADEPT_FN_RSHIFT,
    ADEPT_FN_LOGICAL_AND,
    ADEPT_FN_LOGICAL_OR,
    ADEPT_FN_LOGICAL_XOR,
    /* one argument */
    ADEPT_FN_NEG,
    ADEPT_FN_ABS,
    ADEPT_FN_SIGN,
    ADEPT_FN_SQRT,
    ADEPT_FN_RSQRT,
    ADEPT_FN_RECIPROCAL,
    ADEPT_FN_EXP,
    ADEPT_FN_EXPM1,
    ADEPT_FN_LOG,
    ADEPT_FN_LOG2,
    ADEPT_FN_LOG10,
    ADEPT_FN_LOG1P,
    ADEPT_FN_SIN,
    ADEPT_FN_COS,
    ADEPT_FN_TAN,
    ADEPT_FN_TANH,
    ADEPT_FN_FLOOR, /* of Python scalars: an integer */
    ADEPT_FN_CEIL,
    ADEPT_FN_ROUND,
    ADEPT_FN_TRUNC,
    ADEPT_FN_SQUARE,
    ADEPT_FN_NOT, /* bitwise; of bool logical */
    ADEPT_FN_LOGICAL_NOT,
    ADEPT_FN_ISNAN,
    ADEPT_FN_NONE /* nothing the host would compute */
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
bool adept_host_is_list(const adept_value *v); /* list or tuple */

/** Output of a binary operator none of whose arguments is a tensor: scalars, strings, lists. */
void adept_host_binary(adept_call *c, adept_fn fn, const adept_value *a, const adept_value *b);
/** Output of a unary operator on a scalar. */
void adept_host_unary(adept_call *c, adept_fn fn, const adept_value *a);

/** Give `out` the elements fn yields, when those of every operand are known; else mark them unknown. */
void adept_host_set_binary(adept_call *c, adept_tensor *out, adept_fn fn, const adept_value *a, const adept_value *b);
void adept_host_set_unary(adept_call *c, adept_tensor *out, adept_fn fn, const adept_tensor *a);
/** The same elements in the same order, if known (reshape, copy, conversion to an integer or wider type). */
void adept_host_set_same(adept_call *c, adept_tensor *out, const adept_tensor *from);

/** Text of a value as Python's str() prints it; false if it depends on data or does not fit. */
bool adept_host_print(const adept_value *v, char *text, size_t size);

/* Python's list methods whose operator names tensors use as well; argument 0 must be of that kind. */
void adept_list_slice(adept_call *c); /* aten::slice on a list or a string: (l, start, end, step) */
void adept_list_copy(adept_call *c);  /* aten::copy of a list or dict */
void adept_list_find(adept_call *c);  /* aten::index: position of an element */
#endif
