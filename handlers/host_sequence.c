/* Python's list and string methods whose operator names tensors use as well. */
#include "host_value.h"
#include <string.h>

/* Python's rules for one bound of a slice of n elements. */
static int64_t slice_bound(adept_call *c, const char *name, int64_t fallback, int64_t n)
{
    int64_t bound = adept_arg_int(c, name, fallback);
    if (bound < 0) bound = bound < -n ? 0 : bound + n;
    return bound > n ? n : bound;
}

static void slice_string(adept_call *c, const char *text, int64_t start, int64_t end, int64_t step)
{
    char part[4096];
    size_t n = 0;
    for (int64_t i = start; i < end && n < sizeof part - 1; i += step)
        part[n++] = text[i];
    part[n] = 0;
    if (n == sizeof part - 1)
        adept_out_unknown(c);
    else
        adept_out_string(c, part);
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
        slice_string(c, v->u.s, start, end, step);
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
