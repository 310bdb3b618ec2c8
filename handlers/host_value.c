/* Operators whose arguments are Python scalars, strings or lists. */
#include "host_value.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

bool adept_host_is_scalar(const adept_value *v)
{
    return v && (v->kind == ADEPT_VALUE_INT || v->kind == ADEPT_VALUE_FLOAT || v->kind == ADEPT_VALUE_BOOL ||
                 v->kind == ADEPT_VALUE_UNKNOWN);
}

static void concatenate(adept_call *c, const adept_value *a, const adept_value *b)
{
    const adept_list *la = a->u.list, *lb = b->u.list;
    adept_list *out = adept_out_list(c, a->kind, la->n + lb->n);
    if (!adept_call_ok(c)) return;
    if (la->n) memcpy(out->items, la->items, la->n * sizeof *out->items);
    if (lb->n) memcpy(out->items + la->n, lb->items, lb->n * sizeof *out->items);
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
        concatenate(c, a, b);
        return true;
    }
    if (fn == ADEPT_FN_MUL && adept_value_is_list(a) && adept_value_as_int(b, &times)) {
        repeat(c, a, times);
        return true;
    }
    if (fn == ADEPT_FN_ADD && a->kind == ADEPT_VALUE_STRING && b->kind == ADEPT_VALUE_STRING) {
        char text[4096];
        if (strlen(a->u.s) + strlen(b->u.s) >= sizeof text) return false;
        strcpy(text, a->u.s);
        strcat(text, b->u.s);
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
        adept_out_unknown(c);
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
