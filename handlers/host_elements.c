/* The elements of small tensors known on the host: sizes on their way through 0-dim tensors, arange, stack. */
#include "host_value.h"
#include <math.h>

#define MAX_KNOWN 64 /* as many as adept_tensor_set_values keeps */

/* Element of operand v at row-major position i of a result of shape `out`; false if not known. */
static bool element(const adept_value *v, const adept_tensor *out, int64_t i, double *value)
{
    if (v->kind != ADEPT_VALUE_TENSOR) return adept_value_as_float(v, value);
    const adept_tensor *t = v->u.t;
    if (t->n_values == 0) return false;
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

static void forget(adept_tensor *t)
{
    t->n_values = 0;
    t->values = NULL;
}

void adept_host_set_binary(adept_call *c, adept_tensor *out, adept_fn fn, const adept_value *a, const adept_value *b)
{
    double values[MAX_KNOWN], x, y;
    int64_t n = adept_tensor_numel(out);
    forget(out);
    if (n > MAX_KNOWN || !adept_call_ok(c) || adept_dtype_is_complex(out->dtype)) return;
    for (int64_t i = 0; i < n; i++)
        if (!element(a, out, i, &x) || !element(b, out, i, &y) || !computes(out->dtype, fn, x, y, &values[i])) return;
    adept_tensor_set_values(c, out, (int)n, values);
}

void adept_host_set_unary(adept_call *c, adept_tensor *out, adept_fn fn, const adept_tensor *a)
{
    double values[MAX_KNOWN];
    int n = a->n_values;
    bool same_size = adept_tensor_numel(out) == n;
    const double *from = a->values; /* `out` may be an alias of `a` */
    forget(out);
    if (n == 0 || n > MAX_KNOWN || !same_size || !adept_call_ok(c)) return;
    for (int i = 0; i < n; i++)
        if (!adept_fn_float(fn, from[i], &values[i])) return;
    adept_tensor_set_values(c, out, n, values);
}

void adept_host_set_same(adept_call *c, adept_tensor *out, const adept_tensor *from)
{
    double values[MAX_KNOWN];
    int n = from->n_values;
    if (n == 0 || n > MAX_KNOWN || adept_tensor_numel(out) != n) return;
    for (int i = 0; i < n; i++) {
        values[i] = from->values[i];
        if (out->dtype == ADEPT_BOOL) values[i] = values[i] != 0;
        if (adept_dtype_is_integer(out->dtype)) values[i] = trunc(values[i]);
    }
    adept_tensor_set_values(c, out, n, values);
}
