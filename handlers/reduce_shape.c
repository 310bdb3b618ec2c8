/* Shapes of reductions. */
#include "reduce_shape.h"

int adept_reduce_dims(adept_call *c, const adept_tensor *t, int64_t *dims)
{
    int64_t given[ADEPT_MAX_DIMS];
    unsigned removed = 0;
    int n = adept_arg_ints(c, "dim", given, ADEPT_MAX_DIMS), ndim = 0;
    bool keep = adept_arg_bool(c, "keepdim", false);
    for (int i = 0; i < n; i++) {
        unsigned bit = 1u << adept_call_dim(c, given[i], t->ndim);
        if (removed & bit) adept_call_fail(c, "dimension %lld occurs twice", (long long)given[i]);
        removed |= bit;
    }
    if (n <= 0) removed = ~0u;
    for (int d = 0; d < t->ndim; d++) {
        bool gone = removed >> d & 1;
        if (!gone || keep) dims[ndim++] = gone ? 1 : t->dims[d];
    }
    return ndim;
}

int adept_reduce_dim(adept_call *c, const adept_tensor *t, int64_t fallback)
{
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", fallback), t->ndim);
    if (adept_call_ok(c) && t->ndim > 0 && t->dims[dim] == 0) adept_call_fail(c, "nothing along dimension %d", dim);
    return dim;
}

adept_dtype adept_reduce_sum_type(adept_call *c, const adept_tensor *t)
{
    if (adept_arg_given(c, "dtype")) return adept_arg_dtype(c, "dtype");
    return adept_dtype_is_integer(t->dtype) || t->dtype == ADEPT_BOOL ? ADEPT_I64 : t->dtype;
}
