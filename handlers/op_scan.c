/* Running sums, products and extrema along a dimension: one kernel, one operation per element. */
#include "elementwise_cost.h"
#include "reduce_shape.h"

typedef struct scan {
    bool sum_type; /* integers give i64, argument dtype */
    bool indices;  /* second result */
    double flops;
    adept_chain backward; /* over self */
    int reads_self, reads_result;
} scan;

static const adept_op ops[] = {
    /* flip, cumsum, flip */
    {"aten::cumsum", ADEPT_CAST_FP32 | ADEPT_EXTENT_COUNTED, &(const scan){true, false, 1, {1, 3, 3, 3}, 0, 0}},
    /* flip(cumsum(flip(result * grad))) / self, where no element is zero, which is tested first */
    {"aten::cumprod", ADEPT_CAST_FP32, &(const scan){true, false, 1, {4, 5, 5, 6}, 2, 1}},
    /* zeros, to which gradients are added at the indices: see cost */
    {"aten::cummax aten::cummin", ADEPT_CAST_NONE, &(const scan){false, true, 1, {1, 2, 1, 1}, 0, 0}},
    {0},
};

static void shape(adept_call *c)
{
    const scan *row = adept_call_data(c);
    const adept_tensor *self = adept_arg_tensor(c, "self");
    adept_dtype dtype = row->sum_type ? adept_reduce_sum_type(c, self) : self->dtype;
    adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (!adept_call_ok(c)) return;
    adept_out_result(c, self, dtype, self->ndim, self->dims)->n_values = 0;
    if (row->indices) adept_out_tensor(c, ADEPT_I64, self->ndim, self->dims);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const scan *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    const adept_tensor *indices = row->indices ? adept_result_tensor(c, 1) : NULL;
    double n = (double)adept_tensor_numel(self), index_bytes = indices ? adept_tensor_bytes(indices) : 0;
    if (n == 0) return;
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, n, row->flops * n, adept_elem_read(self),
                   adept_tensor_bytes(out) + index_bytes);
    if (!adept_cost_wants_grad(cost, self)) return;
    if (indices) {
        adept_elem_fill(cost, ADEPT_BACKWARD, self);
        adept_cost_save(cost, self); /* for its sizes only, but kept all the same */
        adept_cost_save(cost, indices);
    }
    adept_elem_chain(cost, ADEPT_BACKWARD, out, &row->backward,
                     index_bytes + row->reads_self * adept_elem_read(self) +
                         row->reads_result * adept_tensor_bytes(out));
    if (row->reads_self) adept_elem_save_input(c, cost, self);
    if (row->reads_result) adept_cost_save(cost, out);
    adept_elem_grad_to(cost, out, self);
}

static const adept_handler_case cases[] = {
    {.name = "running sum: backward is flip, sum, flip",
     .call = "aten::cumsum(self=f32:4x8*, dim=1, dtype=none) -> f32:4x8",
     .forward = {.alu = 32, .read = 128, .written = 128, .launches = 1},
     .backward = {.alu = 32, .read = 3 * 128, .written = 3 * 128, .launches = 3}},
    {.name = "bools are counted as i64",
     .call = "aten::cumsum(self=bool:8, dim=0, dtype=none) -> i64:8",
     .forward = {.alu = 8, .read = 8, .written = 64, .launches = 1}},
    {.name = "running maximum with positions: zeros of 8, then 8 gradients added at 8 indices",
     .call = "aten::cummax(self=f32:8*, dim=0) -> f32:8, i64:8",
     .forward = {.alu = 8, .read = 32, .written = 32 + 64, .launches = 1},
     .backward = {.alu = 8, .read = 64 + 64, .written = 32 + 32, .launches = 2},
     .saved_bytes = 32 + 64},
    {.name = "running product: == 0, result * grad, flip, sum, flip, division",
     .call = "aten::cumprod(self=f32:8*, dim=0, dtype=none) -> f32:8",
     .forward = {.alu = 8, .read = 32, .written = 32, .launches = 1},
     .backward = {.alu = 32, .read = 2 * 32 + 32 + 5 * 32, .written = 5 * 32, .launches = 6},
     .saved_bytes = 64},
    {0},
};

const adept_handler adept_handler_scan = {.kind = "scan", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
