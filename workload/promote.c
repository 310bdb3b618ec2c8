/* Broadcasting of shapes and promotion of element types, by PyTorch's rules. */
#include "call.h"
#include <stdio.h>
#include <string.h>

static void print_dims(char *text, size_t size, int n, const int64_t *dims)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "", (long long)dims[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}

int adept_broadcast_dims(adept_call *c, int na, const int64_t *a, int nb, const int64_t *b, int64_t *dims)
{
    int n = na > nb ? na : nb;
    for (int i = 0; i < n; i++) {
        int64_t da = i < na ? a[na - 1 - i] : 1, db = i < nb ? b[nb - 1 - i] : 1;
        if (da != db && da != 1 && db != 1) {
            char ta[160], tb[160];
            print_dims(ta, sizeof ta, na, a);
            print_dims(tb, sizeof tb, nb, b);
            adept_call_fail(c, "shapes %s and %s do not broadcast", ta, tb);
            return 0;
        }
        dims[n - 1 - i] = da == 1 ? db : da;
    }
    return n;
}

int adept_broadcast(adept_call *c, const adept_tensor *a, const adept_tensor *b, int64_t *dims)
{
    return adept_broadcast_dims(c, a->ndim, a->dims, b->ndim, b->dims, dims);
}

bool adept_broadcasts_to(adept_call *c, const adept_tensor *t, int ndim, const int64_t *dims)
{
    int64_t wide[ADEPT_MAX_DIMS];
    int n = adept_broadcast_dims(c, t->ndim, t->dims, ndim, dims, wide);
    return adept_call_ok(c) && n == ndim && !memcmp(wide, dims, (size_t)n * sizeof *wide);
}

static const char *autocast_for(adept_dtype a, adept_dtype b)
{
    if (a == ADEPT_BF16 || b == ADEPT_BF16) return ", or ask for autocast (--precision bf16)";
    return a == ADEPT_F16 || b == ADEPT_F16 ? ", or ask for autocast (--precision fp16)" : "";
}

void adept_call_same_type(adept_call *c, const adept_tensor *a, const adept_tensor *b)
{
    if (!b || a->dtype == b->dtype) return;
    bool product = adept_op_cast(c->row) == ADEPT_CAST_LOWER;
    adept_call_fail(c, "%s and %s have different types, which PyTorch refuses%s%s", adept_call_shape(c, a),
                    adept_call_shape(c, b),
                    product ? "; give the inputs the type of the weights (--input DTYPE:SHAPE)" : "",
                    product ? autocast_for(a->dtype, b->dtype) : "");
}

adept_dtype adept_dtype_promote(adept_dtype a, adept_dtype b)
{
    if (a == ADEPT_DTYPE_NONE || a == b) return b;
    if (b == ADEPT_DTYPE_NONE) return a;
    int ca = adept_dtype_category(a), cb = adept_dtype_category(b);
    if (ca + cb == 5) return adept_dtype_promote(adept_dtype_complex(a), adept_dtype_complex(b)); /* float, complex */
    if (ca != cb) return ca > cb ? a : b;
    if (adept_dtype_bytes(a) != adept_dtype_bytes(b)) return adept_dtype_bytes(a) > adept_dtype_bytes(b) ? a : b;
    if (ca == 2) return ADEPT_F32; /* f16 with bf16 */
    return ADEPT_I16;              /* u8 with i8 */
}

/* A lower priority decides only if its category is higher; a complex one leaves a floating one its width
 * (torch.result_type). */
static adept_dtype with_lower(adept_dtype dtype, adept_dtype lower)
{
    if (lower == ADEPT_DTYPE_NONE) return dtype;
    if (adept_dtype_is_float(dtype) && adept_dtype_is_complex(lower)) return adept_dtype_complex(dtype);
    return dtype == ADEPT_DTYPE_NONE || adept_dtype_category(lower) > adept_dtype_category(dtype) ? lower : dtype;
}

static adept_dtype scalar_type(const adept_value *v)
{
    switch (v->kind) {
    case ADEPT_VALUE_BOOL: return ADEPT_BOOL;
    case ADEPT_VALUE_INT: return ADEPT_I64;
    case ADEPT_VALUE_FLOAT: return ADEPT_F32; /* torch.get_default_dtype() */
    case ADEPT_VALUE_COMPLEX: return ADEPT_C64;
    case ADEPT_VALUE_UNKNOWN: return ADEPT_BOOL; /* kind unknown: must not widen anything */
    default: return ADEPT_DTYPE_NONE;
    }
}

adept_dtype adept_promote(const adept_value *const *values, int n)
{
    adept_dtype dims = ADEPT_DTYPE_NONE, zero = ADEPT_DTYPE_NONE, scalar = ADEPT_DTYPE_NONE;
    bool number = false;
    for (int i = 0; i < n; i++) {
        const adept_value *v = values[i];
        if (!v || v->kind == ADEPT_VALUE_NONE) continue;
        if (v->kind == ADEPT_VALUE_TENSOR && v->u.t->ndim > 0)
            dims = adept_dtype_promote(dims, v->u.t->dtype);
        else if (v->kind == ADEPT_VALUE_TENSOR && v->u.t->dtype == ADEPT_F64 && v->u.t->n_values == 1)
            number = true; /* a trace writes a number of Python as a constant of 64 bits */
        else if (v->kind == ADEPT_VALUE_TENSOR)
            zero = adept_dtype_promote(zero, v->u.t->dtype);
        else
            scalar = adept_dtype_promote(scalar, scalar_type(v));
    }
    if (number && dims == ADEPT_DTYPE_NONE && zero == ADEPT_DTYPE_NONE)
        zero = ADEPT_F64;
    else if (number)
        scalar = adept_dtype_promote(scalar, ADEPT_F32);
    return with_lower(with_lower(dims, zero), scalar);
}
