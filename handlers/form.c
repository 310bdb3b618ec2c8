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

typedef void visit(const adept_cost *cost, const adept_tensor *t, void *to);

/* A tensor, or those of a list. */
static void each_tensor(const adept_value *v, const adept_cost *cost, visit *f, void *to)
{
    if (adept_value_tensor(v)) f(cost, v->u.t, to);
    for (size_t k = 0; adept_value_is_list(v) && k < v->u.list->n; k++)
        if (adept_value_tensor(&v->u.list->items[k])) f(cost, v->u.list->items[k].u.t, to);
}

static void each_argument(const adept_call *c, const adept_cost *cost, visit *f, void *to)
{
    for (int i = 0; i < adept_arg_count(c); i++)
        each_tensor(adept_arg_at(c, i), cost, f, to);
}

static void each_result(const adept_call *c, const adept_cost *cost, visit *f, void *to)
{
    for (int i = 0; i < adept_result_count(c); i++)
        each_tensor(adept_result_at(c, i), cost, f, to);
}

static void add_argument(const adept_cost *cost, const adept_tensor *tensor, void *to)
{
    traffic *t = to;
    if (adept_elem_on_host(tensor)) return;
    t->read += adept_tensor_unique_bytes(tensor);
    if (adept_cost_wants_grad(cost, tensor)) t->wanted += adept_tensor_bytes(tensor);
    note_largest(t, tensor);
}

static void add_result(const adept_cost *cost, const adept_tensor *tensor, void *to)
{
    traffic *t = to;
    (void)cost;
    if (adept_elem_on_host(tensor)) return;
    t->written += adept_tensor_bytes(tensor);
    bool number = adept_dtype_is_float(tensor->dtype) || adept_dtype_is_complex(tensor->dtype);
    if (number) t->gradients += adept_tensor_bytes(tensor);
    note_largest(t, tensor);
}

typedef struct keeper {
    adept_cost *cost;
    double bytes;
} keeper;

static void keep(const adept_cost *cost, const adept_tensor *tensor, void *to)
{
    keeper *k = to;
    (void)cost;
    if (adept_elem_on_host(tensor)) return;
    adept_cost_save(k->cost, tensor);
    k->bytes += adept_tensor_unique_bytes(tensor);
}

static traffic measure(const adept_call *c, const adept_cost *cost)
{
    traffic t = {0};
    each_argument(c, cost, add_argument, &t);
    each_result(c, cost, add_result, &t);
    return t;
}

static double keep_all(adept_call *c, adept_cost *cost, const adept_form *f, double elements)
{
    keeper k = {cost, 0};
    if (f->keeps & ADEPT_FORM_KEEPS_ARGUMENTS) each_argument(c, cost, keep, &k);
    if (f->keeps & ADEPT_FORM_KEEPS_RESULTS) each_result(c, cost, keep, &k);
    double mask = f->keeps & ADEPT_FORM_KEEPS_MASK ? elements : 0;
    adept_cost_save_bytes(cost, mask);
    return k.bytes + mask;
}

/* ---------------------------------------------------------------- shape, cost ---------------- */

void adept_form_shape(adept_call *c)
{
    ((const adept_form *)adept_call_data(c))->shape(c);
}

void adept_form_cost(adept_call *c, adept_cost *cost)
{
    const adept_form *f = adept_call_data(c);
    traffic t = measure(c, cost);
    if (!t.largest || t.elements == 0 || t.written == 0) return;
    adept_dtype dtype = t.largest->dtype;
    double size = t.elements * adept_dtype_bytes(dtype), flops = f->work ? f->work(c) : f->forward.flops * t.elements;
    const adept_form_pass *p = &f->forward, *b = &f->backward;
    adept_cost_stream(cost, ADEPT_FORWARD, dtype, t.elements * p->launches, flops, t.read + p->passes * size,
                      t.written + p->passes * size, p->launches);
    if (t.wanted == 0 || b->launches == 0) return;
    double kept = keep_all(c, cost, f, t.elements);
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

static void like(adept_call *c, int position)
{
    const adept_tensor *t = adept_form_tensor(c, position);
    if (adept_call_ok(c)) adept_form_out(c, t->dtype, t->ndim, t->dims);
}

void adept_form_like_first(adept_call *c)
{
    like(c, 0);
}

void adept_form_like_second(adept_call *c)
{
    like(c, 1);
}

void adept_form_like_third(adept_call *c)
{
    like(c, 2);
}

void adept_form_reduced(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims)
{
    int64_t reduction = adept_arg_int(c, "reduction", 1);
    if (adept_call_refuse(c, reduction < 0 || reduction > 2, "reduction %lld is unknown", (long long)reduction)) return;
    if (adept_call_ok(c)) adept_form_out(c, dtype, reduction == 0 ? ndim : 0, dims);
}

double adept_form_singular_flops(const adept_tensor *x, int row_dim, int column_dim)
{
    double m = (double)x->dims[row_dim], n = (double)x->dims[column_dim], high = m > n ? m : n, low = m > n ? n : m;
    if (high * low == 0) return 0;
    return (double)adept_tensor_numel(x) / (high * low) * (2 * high * low * low + 2 * low * low * low);
}
