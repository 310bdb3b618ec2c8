/* What the host knows: operators whose arguments are Python scalars, strings or lists, and the elements of small
 * tensors.
 */
#include "host_value.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool adept_host_is_scalar(const adept_value *v)
{
    return v && (v->kind == ADEPT_VALUE_INT || v->kind == ADEPT_VALUE_FLOAT || v->kind == ADEPT_VALUE_BOOL ||
                 v->kind == ADEPT_VALUE_UNKNOWN || v->kind == ADEPT_VALUE_COMPLEX);
}

static void repeat(adept_call *c, const adept_value *list, int64_t times)
{
    size_t n = list->u.list->n, total;
    if (times < 0) times = 0;
    if (adept_call_refuse(c, __builtin_mul_overflow(n, (size_t)times, &total) || total > 1000000,
                          "a list of more than a million elements"))
        return;
    adept_list *out = adept_out_list(c, list->kind, total);
    if (!adept_call_ok(c)) return;
    for (size_t i = 0; i < total; i++)
        out->items[i] = list->u.list->items[i % n];
}

/* Lists and strings: +, *, ==, !=. Returns false if fn or the kinds are none of these. */
static bool sequence_binary(adept_call *c, adept_fn fn, const adept_value *a, const adept_value *b)
{
    int64_t times;
    if (fn == ADEPT_FN_EQ || fn == ADEPT_FN_NE) {
        bool known, equal = adept_host_equal(a, b, &known);
        if (known)
            adept_out_bool(c, equal == (fn == ADEPT_FN_EQ));
        else
            adept_out_unknown(c);
        return true;
    }
    if (fn == ADEPT_FN_ADD && adept_value_is_list(a) && adept_value_is_list(b)) {
        const adept_list *la = a->u.list, *lb = b->u.list;
        adept_list *out = adept_out_list(c, a->kind, la->n + lb->n);
        if (!adept_call_ok(c)) return true;
        if (la->n) memcpy(out->items, la->items, la->n * sizeof *out->items);
        if (lb->n) memcpy(out->items + la->n, lb->items, lb->n * sizeof *out->items);
        return true;
    }
    if (fn == ADEPT_FN_MUL && adept_value_is_list(a) && adept_value_as_int(b, &times)) {
        repeat(c, a, times);
        return true;
    }
    if (fn == ADEPT_FN_ADD && a->kind == ADEPT_VALUE_STRING && b->kind == ADEPT_VALUE_STRING) {
        char text[4096];
        if ((size_t)snprintf(text, sizeof text, "%s%s", a->u.s, b->u.s) >= sizeof text) return false;
        adept_out_string(c, text);
        return true;
    }
    return false;
}

static bool is_whole(const adept_value *v)
{
    return v->kind == ADEPT_VALUE_INT || v->kind == ADEPT_VALUE_BOOL;
}

static void int_binary(adept_call *c, adept_fn fn, const adept_value *a, const adept_value *b)
{
    int64_t ia = 0, ib = 0, result;
    double f;
    adept_value_as_int(a, &ia);
    adept_value_as_int(b, &ib);
    if (fn == ADEPT_FN_DIV || fn == ADEPT_FN_ATAN2 || (fn == ADEPT_FN_POW && ib < 0)) {
        if (adept_fn_floats(fn, (double)ia, (double)ib, &f))
            adept_out_float(c, f);
        else
            adept_call_fail(c, "division of %lld by zero", (long long)ia);
    } else if (!adept_fn_ints(fn, ia, ib, &result)) {
        adept_call_fail(c, "overflow, division by zero or no such operation: %lld, %lld", (long long)ia, (long long)ib);
    } else if (adept_fn_is_comparison(fn) || (fn >= ADEPT_FN_AND && fn <= ADEPT_FN_XOR && a->kind == ADEPT_VALUE_BOOL &&
                                              b->kind == ADEPT_VALUE_BOOL)) {
        adept_out_bool(c, result != 0);
    } else {
        adept_out_int(c, result);
    }
}

/* The more a is, the more the result: then that of the most is the most. */
static bool rises(adept_fn fn, double b)
{
    return fn == ADEPT_FN_ADD || fn == ADEPT_FN_SUB || fn == ADEPT_FN_MAX || fn == ADEPT_FN_MIN ||
           (fn == ADEPT_FN_MUL && b >= 0) ||
           ((fn == ADEPT_FN_DIV || fn == ADEPT_FN_FLOORDIV || fn == ADEPT_FN_TRUNCDIV) && b > 0);
}

static double complex as_complex(const adept_value *v)
{
    double f = 0;
    if (v->kind == ADEPT_VALUE_COMPLEX) return v->u.z[0] + v->u.z[1] * I;
    adept_value_as_float(v, &f);
    return f;
}

static void complex_binary(adept_call *c, adept_fn fn, double complex a, double complex b)
{
    double complex result;
    switch (fn) {
    case ADEPT_FN_ADD:
        result = a + b;
        break;
    case ADEPT_FN_SUB:
        result = a - b;
        break;
    case ADEPT_FN_MUL:
        result = a * b;
        break;
    case ADEPT_FN_DIV:
        result = a / b;
        break;
    case ADEPT_FN_POW:
        result = cpow(a, b);
        break;
    default:
        adept_call_unsupported(c, "not defined here for complex numbers");
        return;
    }
    adept_out_complex(c, creal(result), cimag(result));
}

void adept_host_binary(adept_call *c, adept_fn fn, const adept_value *a, const adept_value *b)
{
    double fa, fb, result;
    if (!a || !b) {
        adept_call_fail(c, "two operands expected");
    } else if (!adept_host_is_scalar(a) || !adept_host_is_scalar(b)) {
        if (!sequence_binary(c, fn, a, b))
            adept_call_unsupported(c, "not defined here for %s and %s", adept_value_kind_name(a->kind),
                                   adept_value_kind_name(b->kind));
    } else if (a->kind == ADEPT_VALUE_UNKNOWN || b->kind == ADEPT_VALUE_UNKNOWN) {
        int64_t most = 0, other;
        bool bounded = a->kind == ADEPT_VALUE_UNKNOWN && a->u.i > 0 && is_whole(b) && adept_value_as_int(b, &other) &&
                       rises(fn, (double)other) && adept_fn_ints(fn, a->u.i, other, &most);
        adept_out_value(c, &(adept_value){ADEPT_VALUE_UNKNOWN, {.i = bounded ? most : 0}});
    } else if ((a->kind == ADEPT_VALUE_COMPLEX || b->kind == ADEPT_VALUE_COMPLEX) && fn != ADEPT_FN_EQ &&
               fn != ADEPT_FN_NE) {
        complex_binary(c, fn, as_complex(a), as_complex(b));
    } else if (a->kind == ADEPT_VALUE_COMPLEX || b->kind == ADEPT_VALUE_COMPLEX) {
        adept_out_bool(c, (as_complex(a) == as_complex(b)) == (fn == ADEPT_FN_EQ));
    } else if (is_whole(a) && is_whole(b)) {
        int_binary(c, fn, a, b);
    } else {
        adept_value_as_float(a, &fa);
        adept_value_as_float(b, &fb);
        if (!adept_fn_floats(fn, fa, fb, &result))
            adept_call_fail(c, "division by zero or no such operation: %g, %g", fa, fb);
        else if (adept_fn_is_comparison(fn))
            adept_out_bool(c, result != 0);
        else
            adept_out_float(c, result);
    }
}

static bool stays_whole(adept_fn fn)
{
    return fn == ADEPT_FN_NEG || fn == ADEPT_FN_ABS || fn == ADEPT_FN_SIGN || fn == ADEPT_FN_SQUARE;
}

static void float_unary(adept_call *c, adept_fn fn, double a)
{
    double result;
    if (!adept_fn_float(fn, a, &result))
        adept_call_unsupported(c, "not defined here for a number");
    else if (adept_fn_is_comparison(fn))
        adept_out_bool(c, result != 0);
    else if ((fn == ADEPT_FN_FLOOR || fn == ADEPT_FN_CEIL) && fabs(result) <= 9007199254740992.0)
        adept_out_int(c, (int64_t)result); /* math.floor and math.ceil give an int */
    else
        adept_out_float(c, result);
}

void adept_host_unary(adept_call *c, adept_fn fn, const adept_value *a)
{
    if (!a || !adept_host_is_scalar(a)) {
        adept_call_unsupported(c, "not defined here for %s", a ? adept_value_kind_name(a->kind) : "a missing argument");
    } else if (a->kind == ADEPT_VALUE_UNKNOWN) {
        adept_out_unknown(c);
    } else if (a->kind == ADEPT_VALUE_FLOAT) {
        float_unary(c, fn, a->u.f);
    } else if (a->kind == ADEPT_VALUE_COMPLEX && fn == ADEPT_FN_NEG) {
        adept_out_complex(c, -a->u.z[0], -a->u.z[1]);
    } else if (a->kind == ADEPT_VALUE_COMPLEX && fn == ADEPT_FN_ABS) {
        adept_out_float(c, cabs(as_complex(a)));
    } else if (a->kind == ADEPT_VALUE_COMPLEX) {
        adept_call_unsupported(c, "not defined here for a complex number");
    } else {
        int64_t i = 0;
        adept_value_as_int(a, &i);
        if (fn == ADEPT_FN_NOT)
            adept_out_int(c, ~i);
        else if (!stays_whole(fn))
            float_unary(c, fn, (double)i);
        else if (fn == ADEPT_FN_SQUARE ? !adept_fn_ints(ADEPT_FN_MUL, i, i, &i) : i == INT64_MIN)
            adept_call_fail(c, "integer overflow");
        else
            adept_out_int(c, fn == ADEPT_FN_NEG            ? -i
                             : fn == ADEPT_FN_SIGN         ? (i > 0) - (i < 0)
                             : fn == ADEPT_FN_ABS && i < 0 ? -i
                                                           : i);
    }
}

bool adept_host_equal(const adept_value *a, const adept_value *b, bool *known)
{
    double fa, fb;
    int64_t ia, ib;
    *known = a->kind != ADEPT_VALUE_UNKNOWN && b->kind != ADEPT_VALUE_UNKNOWN && a->kind != ADEPT_VALUE_TENSOR &&
             b->kind != ADEPT_VALUE_TENSOR;
    if (!*known) return false;
    if (adept_value_as_int(a, &ia) && adept_value_as_int(b, &ib)) return ia == ib;
    if (adept_value_as_float(a, &fa) && adept_value_as_float(b, &fb)) return fa == fb;
    if (a->kind == ADEPT_VALUE_COMPLEX || b->kind == ADEPT_VALUE_COMPLEX)
        return adept_host_is_scalar(a) && adept_host_is_scalar(b) && as_complex(a) == as_complex(b);
    if (a->kind == ADEPT_VALUE_STRING && b->kind == ADEPT_VALUE_STRING) return !strcmp(a->u.s, b->u.s);
    if (adept_value_is_list(a) && adept_value_is_list(b)) {
        if (a->u.list == b->u.list) return true; /* also ends the comparison of a list that contains itself */
        if (a->u.list->n != b->u.list->n) return false;
        for (size_t i = 0; i < a->u.list->n; i++) {
            const adept_value *ea = &a->u.list->items[i], *eb = &b->u.list->items[i];
            if (adept_value_is_list(ea) || adept_value_is_list(eb)) *known = false; /* nested lists are not compared */
            if (!*known || !adept_host_equal(ea, eb, known)) return false;
        }
        return true;
    }
    return a->kind == ADEPT_VALUE_NONE && b->kind == ADEPT_VALUE_NONE;
}

/* ---------------------------------------------------------------- text ---------------- */

static bool print_list(const adept_value *v, char *text, size_t size)
{
    const adept_list *list = v->u.list;
    size_t used = 0;
    bool tuple = v->kind == ADEPT_VALUE_TUPLE;
    if (size < 4) return false;
    text[used++] = tuple ? '(' : '[';
    for (size_t i = 0; i < list->n; i++) {
        const adept_value *item = &list->items[i];
        if (adept_value_is_list(item)) return false; /* bounds the recursion */
        if (i > 0) {
            if (size - used < 4) return false;
            memcpy(text + used, ", ", 2);
            used += 2;
        }
        if (!adept_host_print(item, text + used, size - used)) return false;
        used += strlen(text + used);
    }
    if (size - used < 2) return false;
    text[used++] = tuple ? ')' : ']';
    text[used] = 0;
    return true;
}

bool adept_host_print(const adept_value *v, char *text, size_t size)
{
    int n;
    switch (v->kind) {
    case ADEPT_VALUE_NONE:
        n = snprintf(text, size, "None");
        break;
    case ADEPT_VALUE_INT:
        n = snprintf(text, size, "%lld", (long long)v->u.i);
        break;
    case ADEPT_VALUE_BOOL:
        n = snprintf(text, size, "%s", v->u.b ? "True" : "False");
        break;
    case ADEPT_VALUE_STRING:
        n = snprintf(text, size, "%s", v->u.s);
        break;
    case ADEPT_VALUE_FLOAT:
        n = snprintf(text, size, floor(v->u.f) == v->u.f && fabs(v->u.f) < 1e15 ? "%.1f" : "%.12g", v->u.f);
        break;
    case ADEPT_VALUE_LIST:
    case ADEPT_VALUE_TUPLE:
        return print_list(v, text, size);
    default:
        return false;
    }
    return n >= 0 && (size_t)n < size;
}

/* ---------------------------------------------------------------- functions of one and two numbers, with Python's
 * rules ---------------- */

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

/* ---------------------------------------------------------------- elements of small tensors: sizes on their way
 * ---------------- */

bool adept_host_element(const adept_value *v, const adept_tensor *out, int64_t i, double *value)
{
    if (v->kind != ADEPT_VALUE_TENSOR) return adept_value_as_float(v, value);
    const adept_tensor *t = v->u.t;
    if (t->n_values == 0) {
        *value = t->each;
        return t->spread == ADEPT_ALIKE;
    }
    int64_t position = 0, stride = 1;
    for (int d = out->ndim - 1; d >= 0; d--) {
        int own = d - (out->ndim - t->ndim);
        int64_t index = i % out->dims[d];
        i /= out->dims[d];
        if (own < 0) continue;
        if (t->dims[own] != 1) position += index * stride;
        stride *= t->dims[own];
    }
    if (position >= t->n_values) return false;
    *value = t->values[position];
    return true;
}

static bool computes(adept_dtype dtype, adept_fn fn, double a, double b, double *out)
{
    int64_t result;
    if (adept_dtype_is_float(dtype) || a != floor(a) || b != floor(b)) return adept_fn_floats(fn, a, b, out);
    if (fabs(a) > 9007199254740992.0 || fabs(b) > 9007199254740992.0) return false;
    if (!adept_fn_ints(fn, (int64_t)a, (int64_t)b, &result)) return adept_fn_floats(fn, a, b, out);
    *out = (double)result;
    return true;
}

/* What is known of an operand as a whole. */
static adept_spread spread_of(const adept_value *v, double *each)
{
    const adept_tensor *t = adept_value_tensor(v);
    if (t && t->n_values == 0) {
        *each = t->each;
        return t->spread;
    }
    return adept_value_as_float(v, each) ? ADEPT_ALIKE : ADEPT_UNLIKE;
}

static void forget(adept_tensor *t)
{
    t->spread = ADEPT_UNLIKE;
    t->n_values = 0;
    t->values = NULL;
}

void adept_host_set_binary(adept_call *c, adept_tensor *out, adept_fn fn, const adept_value *a, const adept_value *b)
{
    double values[ADEPT_MAX_KNOWN_VALUES], x, y;
    int64_t n = adept_tensor_numel(out);
    forget(out);
    if (!adept_call_ok(c) || adept_dtype_is_complex(out->dtype)) return;
    adept_spread of_a = spread_of(a, &x), of_b = spread_of(b, &y);
    bool alike = of_a == ADEPT_ALIKE && of_b == ADEPT_ALIKE && n > ADEPT_MAX_KNOWN_VALUES;
    bool most = of_a == ADEPT_AT_MOST && of_b == ADEPT_ALIKE && rises(fn, y);
    if ((alike || most) && computes(out->dtype, fn, x, y, &values[0])) {
        adept_tensor_set_spread(c, out, alike ? ADEPT_ALIKE : ADEPT_AT_MOST, values[0]);
        return;
    }
    if (n > ADEPT_MAX_KNOWN_VALUES) return;
    for (int64_t i = 0; i < n; i++)
        if (!adept_host_element(a, out, i, &x) || !adept_host_element(b, out, i, &y) ||
            !computes(out->dtype, fn, x, y, &values[i]))
            return;
    adept_tensor_set_values(c, out, (int)n, values);
}

void adept_host_set_unary(adept_call *c, adept_tensor *out, adept_fn fn, const adept_tensor *a)
{
    double values[ADEPT_MAX_KNOWN_VALUES];
    int n = a->n_values;
    bool same_size = adept_tensor_numel(out) == n;
    const double *from = a->values; /* `out` may be an alias of `a` */
    adept_spread spread = a->spread;
    double each = a->each;
    bool rounds = fn == ADEPT_FN_FLOOR || fn == ADEPT_FN_CEIL || fn == ADEPT_FN_ROUND || fn == ADEPT_FN_TRUNC;
    forget(out);
    if (n == 0 && (spread == ADEPT_ALIKE || (spread && rounds)) && adept_fn_float(fn, each, &each))
        adept_tensor_set_spread(c, out, spread, each);
    if (n == 0 || n > ADEPT_MAX_KNOWN_VALUES || !same_size || !adept_call_ok(c)) return;
    for (int i = 0; i < n; i++)
        if (fn == ADEPT_FN_NOT)
            values[i] = out->dtype == ADEPT_BOOL ? from[i] == 0 : -from[i] - 1;
        else if (!adept_fn_float(fn, from[i], &values[i]))
            return;
    adept_tensor_set_values(c, out, n, values);
}

void adept_host_set_same(adept_call *c, adept_tensor *out, const adept_tensor *from)
{
    bool number = out->dtype != ADEPT_BOOL && !adept_dtype_is_complex(out->dtype);
    if (from->n_values > 0 && from->n_values == adept_tensor_numel(out))
        adept_tensor_set_values(c, out, from->n_values, from->values);
    else if (from->n_values == 0 && from->spread && number)
        adept_tensor_set_spread(c, out, from->spread, from->each);
    else if (from->n_values == 0 && from->dtype == ADEPT_BOOL && number)
        adept_tensor_set_spread(c, out, ADEPT_AT_MOST, 1);
}

/* ---------------------------------------------------------------- methods of lists and strings that tensors have as
 * well ---------------- */

/* Python's rules for one bound of a slice of n elements. */
static int64_t slice_bound(adept_call *c, const char *name, int64_t fallback, int64_t n)
{
    int64_t bound = adept_arg_int(c, name, fallback);
    if (bound < 0) bound = bound < -n ? 0 : bound + n;
    return bound > n ? n : bound;
}

void adept_list_slice(adept_call *c)
{
    const adept_value *v = adept_arg_at(c, 0);
    bool is_string = v->kind == ADEPT_VALUE_STRING;
    int64_t n = is_string ? (int64_t)strlen(v->u.s) : (int64_t)v->u.list->n;
    int64_t start = slice_bound(c, "start", 0, n), end = slice_bound(c, "end", n, n),
            step = adept_arg_int(c, "step", 1);
    if (!adept_call_ok(c)) return;
    if (step <= 0) {
        adept_call_unsupported(c, "slice of a list with step %lld", (long long)step);
        return;
    }
    if (step > n + 1) step = n + 1; /* one element all the same; keeps the index in range */
    if (is_string) {
        char part[4096];
        size_t count = 0;
        for (int64_t i = start; i < end && count < sizeof part - 1; i += step)
            part[count++] = v->u.s[i];
        part[count] = 0;
        if (count == sizeof part - 1)
            adept_out_unknown(c);
        else
            adept_out_string(c, part);
        return;
    }
    adept_list *out = adept_out_list(c, v->kind, end > start ? (size_t)((end - start + step - 1) / step) : 0);
    if (!adept_call_ok(c)) return;
    for (size_t i = 0; i < out->n; i++)
        out->items[i] = v->u.list->items[start + (int64_t)i * step];
}

void adept_list_copy(adept_call *c)
{
    const adept_value *v = adept_arg_at(c, 0);
    adept_list *out = adept_out_list(c, v->kind, v->u.list->n);
    if (adept_call_ok(c) && out->n) memcpy(out->items, v->u.list->items, out->n * sizeof *out->items);
}

void adept_list_extend(adept_call *c, const adept_value *list, const adept_value *more)
{
    size_t n = more->u.list->n; /* may be the same list */
    for (size_t i = 0; i < n; i++)
        adept_list_append(c, list->u.list, &more->u.list->items[i]);
}

void adept_list_find(adept_call *c)
{
    const adept_value *v = adept_arg_at(c, 0), *wanted = adept_arg_at(c, 1);
    if (adept_call_refuse(c, !wanted, "element to look for expected")) return;
    for (size_t i = 0; i < v->u.list->n; i++) {
        bool known, equal = adept_host_equal(&v->u.list->items[i], wanted, &known);
        if (!known) {
            adept_out_unknown(c);
            return;
        }
        if (equal) {
            adept_out_int(c, (int64_t)i);
            return;
        }
    }
    adept_call_fail(c, "the list has no such element");
}
