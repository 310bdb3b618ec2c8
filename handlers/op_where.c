/* Elementwise operators of three operands: where, masked_fill, lerp, addcmul, addcdiv. */
#include "chosen.h"
#include "elementwise_cost.h"
#include "host_value.h"

typedef enum select_kind { WHERE, MASKED_FILL, LERP, ADDCMUL, ADDCDIV } select_kind;

static const adept_op ops[] = {
    {"aten::where", ADEPT_ROLE_SCORES, &(const select_kind){WHERE}},
    {"aten::masked_fill", ADEPT_ROLE_SCORES, &(const select_kind){MASKED_FILL}},
    {"aten::lerp", ADEPT_CAST_NONE, &(const select_kind){LERP}},
    {"aten::addcmul", ADEPT_CAST_PROMOTE, &(const select_kind){ADDCMUL}},
    {"aten::addcdiv", ADEPT_CAST_PROMOTE, &(const select_kind){ADDCDIV}},
    {0},
};

static select_kind kind_of(const adept_call *c)
{
    return *(const select_kind *)adept_call_data(c);
}

/* ---------------------------------------------------------------- shape ---------------- */

static int broadcast_one(adept_call *c, int ndim, int64_t *dims, const adept_tensor *t)
{
    return t ? adept_broadcast_dims(c, ndim, dims, t->ndim, t->dims, dims) : ndim;
}

static adept_dtype result_type(const adept_call *c, const adept_value *const v[3])
{
    adept_dtype dtype;
    switch (kind_of(c)) {
    case WHERE:
        return adept_promote(v + 1, 2); /* the condition does not count */
    case ADDCMUL:
        return adept_promote(v, 3);
    case ADDCDIV:
        dtype = adept_promote(v, 3);
        return adept_dtype_is_integer(dtype) || dtype == ADEPT_BOOL ? ADEPT_F32 : dtype;
    default:
        return v[0]->kind == ADEPT_VALUE_TENSOR ? v[0]->u.t->dtype : ADEPT_F32;
    }
}

static void shape(adept_call *c)
{
    const adept_value *v[3] = {adept_arg_at(c, 0), adept_arg_at(c, 1), adept_arg_at(c, 2)};
    const adept_tensor *t[3] = {adept_elem_tensor_at(c, 0), adept_elem_tensor_at(c, 1), adept_elem_tensor_at(c, 2)};
    int64_t dims[ADEPT_MAX_DIMS];
    if (kind_of(c) == WHERE && t[0] && !v[1]) {
        adept_chosen_list(c, t[0]);
        return;
    }
    if (adept_call_refuse(c, !t[0] || !v[1] || !v[2], "a tensor and two more operands expected")) return;
    if (adept_call_refuse(c,
                          kind_of(c) == ADDCDIV && t[1] && t[2] && !adept_dtype_has_fraction(t[1]->dtype) &&
                              !adept_dtype_has_fraction(t[2]->dtype),
                          "a division of whole numbers"))
        return;
    int ndim = broadcast_one(c, broadcast_one(c, broadcast_one(c, 0, dims, t[0]), dims, t[1]), dims, t[2]);
    bool fills = kind_of(c) == MASKED_FILL; /* a copy made in row-major order */
    adept_tensor *out = (fills ? adept_out_filled : adept_out_result)(c, t[0], result_type(c, v), ndim, dims);
    if (adept_call_ok(c) && !adept_call_inplace(c) && !fills) adept_elem_set_strides(out, t, 3);
    if (adept_call_inplace(c)) out->n_values = 0;
}

/* ---------------------------------------------------------------- cost ---------------- */

static double read_all(const adept_tensor *const t[3])
{
    return adept_elem_read(t[0]) + adept_elem_read(t[1]) + adept_elem_read(t[2]);
}

/* One gradient: a chain of kernels, the tensors it reads besides (bit i: operand i, kept by autograd), its sum. */
static void gradient(adept_call *c, adept_cost *cost, int of, adept_chain chain, unsigned reads)
{
    const adept_tensor *wanted = adept_elem_tensor_at(c, of), *out = adept_result_tensor(c, 0);
    double read = 0;
    if (!adept_cost_wants_grad(cost, wanted)) return;
    for (int i = 0; i < 3; i++) {
        if (!(reads >> i & 1)) continue;
        read += adept_elem_read(adept_elem_tensor_at(c, i));
        adept_elem_save_input(c, cost, adept_elem_tensor_at(c, i));
    }
    adept_elem_chain(cost, ADEPT_BACKWARD, out, &chain, read);
    adept_elem_grad_to(cost, out, wanted);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *t[3] = {adept_elem_tensor_at(c, 0), adept_elem_tensor_at(c, 1), adept_elem_tensor_at(c, 2)};
    const adept_tensor *out = adept_result_tensor(c, 0);
    const adept_value *list = adept_result_at(c, 0);
    if (adept_value_is_list(list)) {
        adept_chosen_search(cost, t[0], (double)adept_value_tensor(&list->u.list->items[0])->dims[0]);
        return;
    }
    double product = adept_elem_product(out->dtype);
    switch (kind_of(c)) {
    case WHERE: /* where(condition, grad, 0) and where(condition, 0, grad) */
        adept_elem_forward(cost, out, 1, read_all(t));
        gradient(c, cost, 1, (adept_chain){1, 1, 1, 1}, 1u << 0);
        gradient(c, cost, 2, (adept_chain){1, 1, 1, 1}, 1u << 0);
        break;
    case MASKED_FILL: { /* out of place a copy of self, which the fill then goes over; grad.masked_fill(mask, 0) */
        int copies = !adept_call_inplace(c);
        adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){1, copies, 1 + copies, 1 + copies},
                         adept_elem_read(t[0]) + adept_elem_read(t[1]));
        gradient(c, cost, 0, (adept_chain){1, 2, 2, 2}, 1u << 1);
        if (adept_cost_wants_grad(cost, t[2])) /* where(mask, grad, 0), summed */
            gradient(c, cost, 2, (adept_chain){1, 1, 1, 1}, 1u << 1);
        break;
    }
    case LERP: /* self + weight * (end - self): grad * (1 - weight), grad * weight, grad * (end - self) */
        adept_elem_forward(cost, out, 2 + product, read_all(t));
        gradient(c, cost, 0, t[2] ? (adept_chain){1 + product, 2, 2, 2} : (adept_chain){product, 1, 1, 1},
                 t[2] ? 1u << 2 : 0);
        gradient(c, cost, 1, (adept_chain){product, 1, 1, 1}, t[2] ? 1u << 2 : 0);
        gradient(c, cost, 2, (adept_chain){1 + product, 2, 2, 2}, 1u << 0 | 1u << 1);
        break;
    case ADDCMUL: /* self + value * t1 * t2: grad, grad * (t2 * value), grad * (t1 * value) */
        adept_elem_forward(cost, out, 1 + 2 * product, read_all(t));
        gradient(c, cost, 0, (adept_chain){0, 0, 0, 0}, 0);
        gradient(c, cost, 1, (adept_chain){2 * product, 2, 2, 2}, 1u << 2);
        gradient(c, cost, 2, (adept_chain){2 * product, 2, 2, 2}, 1u << 1);
        break;
    case ADDCDIV: /* self + value * t1 / t2: grad, grad * (value / t2), -grad * value * t1 / (t2 * t2) */
        adept_elem_forward(cost, out, 1 + 2 * product, read_all(t));
        gradient(c, cost, 0, (adept_chain){0, 0, 0, 0}, 0);
        gradient(c, cost, 1, (adept_chain){2 * product, 2, 2, 2}, 1u << 2);
        gradient(c, cost, 2, (adept_chain){5 * product, 5, 5, 5}, 1u << 1 | 1u << 2);
        break;
    }
}

const adept_handler adept_handler_where = {
    .kind = "where", .shard = ADEPT_SHARD_ELEMENTWISE, .ops = ops, .shape = shape, .cost = cost};
