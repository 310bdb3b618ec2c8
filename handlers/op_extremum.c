/* Largest and smallest elements: max, min (all, along a dimension with indices, of two tensors), amax, amin, argmax,
 * argmin, aminmax. One comparison per element. */
#include "elementwise_cost.h"
#include "host_value.h"
#include "reduce_shape.h"
#include <string.h>

typedef enum extremum_kind { VALUE /* max, min */, AMAX, ARG, BOTH } extremum_kind;

typedef struct extremum {
    extremum_kind kind;
    adept_fn fn;
} extremum;

static const extremum max = {VALUE, ADEPT_FN_MAX};

static const adept_op ops[] = {
    {"aten::max", ADEPT_ROLE_SCORES, &max},
    {"aten::min", ADEPT_CAST_NONE, &(const extremum){VALUE, ADEPT_FN_MIN}},
    {"aten::amax", ADEPT_CAST_NONE, &(const extremum){AMAX, ADEPT_FN_MAX}},
    {"aten::amin", ADEPT_CAST_NONE, &(const extremum){AMAX, ADEPT_FN_MIN}},
    {"aten::argmax", ADEPT_CAST_NONE, &(const extremum){ARG, ADEPT_FN_MAX}},
    {"aten::argmin", ADEPT_CAST_NONE, &(const extremum){ARG, ADEPT_FN_MIN}},
    {"aten::aminmax", ADEPT_CAST_NONE, &(const extremum){BOTH, ADEPT_FN_NONE}},
    {0},
};

/* The form of max and min: of two tensors, along a dimension (with indices), or of all elements. */
static const adept_value *other_of(const adept_call *c)
{
    const adept_value *other = adept_arg(c, "other");
    return other && other->kind == ADEPT_VALUE_TENSOR ? other : NULL;
}

static bool gives_indices(const adept_call *c)
{
    return ((const extremum *)adept_call_data(c))->kind == VALUE && adept_arg_given(c, "dim");
}

/* ---------------------------------------------------------------- shape ---------------- */

static void set_best(adept_call *c, adept_tensor *out, const extremum *row, const adept_tensor *self)
{
    if (self->n_values == 0 || adept_tensor_numel(out) != 1 || row->fn == ADEPT_FN_NONE) return;
    double best = self->values[0];
    for (int i = 1; i < self->n_values; i++)
        if (row->fn == ADEPT_FN_MAX ? self->values[i] > best : self->values[i] < best) best = self->values[i];
    adept_tensor_set_values(c, out, 1, &best);
}

static void shape_binary(adept_call *c, const extremum *row, const adept_value *self, const adept_value *other)
{
    adept_dtype dtype = adept_promote((const adept_value *[]){self, other}, 2);
    adept_host_set_binary(c, adept_elem_out_binary(c, self, other, dtype), row->fn, self, other);
}

static void shape(adept_call *c)
{
    const extremum *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0), *other = other_of(c);
    int64_t dims[ADEPT_MAX_DIMS];
    if (!v || v->kind != ADEPT_VALUE_TENSOR) {
        adept_call_fail(c, "a tensor expected");
        return;
    }
    const adept_tensor *self = v->u.t;
    if (row->kind == VALUE && other) {
        shape_binary(c, row, v, other);
        return;
    }
    int ndim = adept_reduce_dims(c, self, dims);
    if (gives_indices(c)) adept_reduce_dim(c, self, 0);
    if (adept_tensor_numel(self) == 0 && !adept_arg_given(c, "dim")) adept_call_fail(c, "no element to choose from");
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, row->kind == ARG ? ADEPT_I64 : self->dtype, ndim, dims);
    if (adept_call_ok(c) && row->kind != ARG) set_best(c, out, row, self);
    if (gives_indices(c)) adept_out_tensor(c, ADEPT_I64, ndim, dims);
    if (row->kind == BOTH) adept_out_tensor(c, self->dtype, ndim, dims);
}

/* ---------------------------------------------------------------- cost ---------------- */

/* of two tensors: where(self == other, grad / 2, grad).masked_fill_(self < other, 0), for each */
static void cost_binary(adept_call *c, adept_cost *cost, const adept_tensor *self, const adept_tensor *other)
{
    const adept_tensor *out = adept_result_tensor(c, 0), *operands[2] = {self, other};
    if (adept_elem_all_on_host(c)) return;
    double read = adept_elem_read(self) + adept_elem_read(other);
    adept_elem_forward(cost, out, 1, read);
    for (int i = 0; i < 2; i++) {
        if (!adept_cost_wants_grad(cost, operands[i])) continue;
        adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){5, 4, 3, 5}, 2 * read);
        adept_elem_grad_to(cost, out, operands[i]);
        adept_cost_save(cost, self);
        adept_cost_save(cost, other);
    }
}

static void backward(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    const adept_tensor *out = adept_result_tensor(c, 0), *indices = adept_result_tensor(c, 1);
    double out_bytes = adept_tensor_bytes(out), read = adept_elem_read(self) + 2 * out_bytes;
    if (gives_indices(c)) { /* zeros, into which the gradient is scattered */
        adept_elem_fill(cost, ADEPT_BACKWARD, self);
        adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){0, 1, 1, 1}, adept_tensor_bytes(indices));
        adept_cost_save(cost, indices);
        return;
    }
    /* shared by equal elements: mask = self == result; mask * grad / sum(mask). All: the division is of one number. */
    bool all = adept_tensor_numel(out) == 1;
    adept_elem_chain(cost, ADEPT_BACKWARD, self, all ? &(adept_chain){3, 0, 1, 4} : &(adept_chain){4, 1, 2, 4}, read);
    adept_cost_save(cost, self);
    adept_cost_save(cost, out);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const extremum *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    const adept_tensor *second = adept_result_tensor(c, 1);
    const adept_value *other = other_of(c);
    if (row->kind == VALUE && other) {
        cost_binary(c, cost, self, other->u.t);
        return;
    }
    double n = (double)adept_tensor_numel(self);
    if (n == 0 || adept_elem_all_on_host(c)) return;
    double written = adept_tensor_bytes(out) + (second ? adept_tensor_bytes(second) : 0);
    adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, n, row->kind == BOTH ? 2 * n : n, adept_elem_read(self), written);
    if (row->kind != ARG && adept_cost_wants_grad(cost, self)) backward(c, cost, self);
}

static const adept_handler_case cases[] = {
    {.name = "of all: backward self == max, sum, grad / sum, product",
     .call = "aten::max(self=f32:4x8*) -> f32:",
     .forward = {.alu = 32, .read = 128, .written = 4, .launches = 1},
     .backward = {.alu = 96, .read = 128 + 8, .written = 128, .launches = 4},
     .saved_bytes = 128 + 4},
    {.name = "along a dimension, with indices: zeros of 32, 4 gradients to 4 indices",
     .call = "aten::max(self=f32:4x8*, dim=1, keepdim=false) -> f32:4, i64:4",
     .forward = {.alu = 32, .read = 128, .written = 16 + 32, .launches = 1},
     .backward = {.read = 16 + 32, .written = 128 + 16, .launches = 2},
     .saved_bytes = 32},
    {.name = "of two tensors: as maximum, five kernels for the gradient",
     .call = "aten::min(self=f32:8*, other=f32:8) -> f32:8",
     .forward = {.alu = 8, .read = 64, .written = 32, .launches = 1},
     .backward = {.alu = 40, .read = 2 * 64 + 4 * 32, .written = 3 * 32, .launches = 5},
     .saved_bytes = 64},
    {.name = "amax: mask, mask * grad, sum(mask), division",
     .call = "aten::amax(self=f32:4x8*, dim=[1], keepdim=true) -> f32:4x1",
     .forward = {.alu = 32, .read = 128, .written = 16, .launches = 1},
     .backward = {.alu = 128, .read = 128 + 2 * 16 + 128, .written = 256, .launches = 4},
     .saved_bytes = 128 + 16},
    {.name = "positions have no gradient",
     .call = "aten::argmax(self=f32:4x8*, dim=-1, keepdim=false) -> i64:4",
     .forward = {.alu = 32, .read = 128, .written = 32, .launches = 1}},
    {0},
};

const adept_handler adept_handler_extremum = {
    .kind = "extremum", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
