#include "form.h"
#include "elementwise_cost.h"

/* ---------------------------------------------------------------- what a call reads and writes ---------------- */

typedef struct traffic {
    const adept_tensor *largest;
    double elements;      /* of the largest tensor */
    double read, written; /* forward */
    double gradients;     /* bytes of the gradients of the results */
    double wanted;        /* bytes of gradients that are asked for */
} traffic;

static void note_largest(traffic *t, const adept_tensor *tensor)
{
    double n = (double)adept_tensor_numel(tensor);
    if (t->largest && n <= t->elements) return;
    t->largest = tensor;
    t->elements = n;
}

/* @return their bytes */
static double keep(adept_cost *cost, adept_tensor_cursor at)
{
    double bytes = 0;
    for (const adept_tensor *tensor; (tensor = adept_next_tensor(&at));) {
        if (adept_elem_on_host(tensor)) continue;
        adept_cost_save(cost, tensor);
        bytes += adept_tensor_unique_bytes(tensor);
    }
    return bytes;
}

/* ---------------------------------------------------------------- shape, cost ---------------- */

void adept_form_shape(adept_call *c)
{
    ((const adept_form *)adept_call_data(c))->shape(c);
}

void adept_form_cost(adept_call *c, adept_cost *cost)
{
    const adept_form *f = adept_call_data(c);
    traffic t = {0};
    adept_tensor_cursor at = adept_call_arguments(c);
    for (const adept_tensor *tensor; (tensor = adept_next_tensor(&at));) {
        if (adept_elem_on_host(tensor)) continue;
        t.read += adept_tensor_unique_bytes(tensor);
        if (adept_cost_wants_grad(cost, tensor)) t.wanted += adept_tensor_bytes(tensor);
        note_largest(&t, tensor);
    }
    at = adept_call_results(c);
    for (const adept_tensor *tensor; (tensor = adept_next_tensor(&at));) {
        if (adept_elem_on_host(tensor)) continue;
        t.written += adept_tensor_bytes(tensor);
        if (adept_dtype_has_fraction(tensor->dtype)) t.gradients += adept_tensor_bytes(tensor);
        note_largest(&t, tensor);
    }
    if (!t.largest || t.elements == 0 || t.written == 0) return;
    double size = t.elements * adept_dtype_bytes(t.largest->dtype);
    double flops = f->work ? f->work(c) : f->forward.flops * t.elements;
    adept_dtype dtype = f->work ? adept_dtype_real(t.largest->dtype) : t.largest->dtype;
    const adept_form_pass *p = &f->forward, *b = &f->backward;
    adept_cost_stream(cost, ADEPT_FORWARD, dtype, t.elements * p->launches, flops, t.read + p->passes * size,
                      t.written + p->passes * size, p->launches);
    if (t.wanted == 0 || b->launches == 0) return;
    double kept = 0, mask = f->keeps & ADEPT_KEEPS_MASK ? t.elements : 0;
    if (f->keeps & ADEPT_KEEPS_ARGUMENTS) kept += keep(cost, adept_call_arguments(c));
    if (f->keeps & ADEPT_KEEPS_RESULTS) kept += keep(cost, adept_call_results(c));
    adept_cost_save_bytes(cost, mask);
    kept += mask;
    double back = f->work_backward ? f->work_backward(c) : b->flops * (f->work ? flops : t.elements);
    adept_cost_stream(cost, ADEPT_BACKWARD, dtype, t.elements * b->launches, back,
                      t.gradients + kept + b->passes * size, t.wanted + b->passes * size, b->launches);
}

adept_tensor *adept_form_out(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims)
{
    static const int64_t none;
    adept_tensor *out = adept_out_tensor(c, dtype, ndim, dims ? dims : &none);
    if (((const adept_form *)adept_call_data(c))->backward.launches == 0) out->requires_grad = false;
    return out;
}

/* ---------------------------------------------------------------- shapes ---------------- */

const adept_tensor *adept_form_tensor(adept_call *c, int position)
{
    static const adept_tensor none = {.dtype = ADEPT_F32};
    const adept_tensor *t = adept_elem_tensor_at(c, position);
    if (!t) adept_call_fail(c, "argument %d is not a tensor", position);
    return t ? t : &none;
}

adept_dtype adept_form_common_type(const adept_call *c)
{
    return adept_promote((const adept_value *[]){adept_arg_at(c, 0), adept_arg_at(c, 1)}, 2);
}

static void like(adept_call *c, int position)
{
    const adept_tensor *t = adept_form_tensor(c, position);
    if (adept_call_ok(c)) adept_form_out(c, t->dtype, t->ndim, t->dims);
}

void adept_form_like_first(adept_call *c)
{
    like(c, 0);
}

void adept_form_like_third(adept_call *c)
{
    like(c, 2);
}

void adept_form_reduced(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims)
{
    int64_t reduction = adept_arg_int(c, "reduction", 1);
    if (adept_call_refuse(c, reduction < 0 || reduction > 2, "reduction %lld is unknown", (long long)reduction)) return;
    if (adept_call_refuse(c, reduction == 1 && !adept_dtype_has_fraction(dtype), "a mean of %s",
                          adept_dtype_name(dtype)))
        return;
    if (adept_call_ok(c)) adept_form_out(c, dtype, reduction == 0 ? ndim : 0, dims);
}

double adept_form_singular_flops(const adept_tensor *x, int row_dim, int column_dim)
{
    double m = (double)x->dims[row_dim], n = (double)x->dims[column_dim], high = m > n ? m : n, low = m > n ? n : m;
    if (high * low == 0) return 0;
    return (double)adept_tensor_numel(x) / (high * low) * (2 * high * low * low + 2 * low * low * low);
}
