/* Sums, means, products, norms, variances over some or all dimensions; any and all. */
#include "elementwise_cost.h"
#include "host_value.h"
#include "reduce_shape.h"
#include <math.h>
#include <string.h>

typedef enum result_type { SUM_TYPE, SAME_TYPE, BOOL_TYPE, COUNT_TYPE } result_type;

typedef struct reduction {
    result_type type;
    double flops;                          /* per element of self */
    adept_chain forward;                   /* further kernels over self (logsumexp); launches also of small ones */
    adept_chain backward;                  /* over self; launches 0: the gradient is an expanded view */
    int reads_self, reads_result, results; /* reads in the backward (read means kept); number of outputs */
} reduction;

/* Backward as in PyTorch's FunctionsManual.cpp, one kernel per operation. Kernels over the reduced shape are launches
 * only: they move next to nothing. */
static const reduction sum = {SUM_TYPE, 1, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0, 1};
/* grad * (result / self) where no element is zero, which is tested first */
static const reduction prod = {SUM_TYPE, 1, {0, 0, 0, 0}, {3, 1, 2, 3}, 2, 1, 1};
/* p = 2: self * (grad / norm), then zero where the norm is zero. Other p: see norm_backward */
static const reduction norm = {SAME_TYPE, 2, {0, 0, 0, 0}, {2, 1, 2, 4}, 1, 1, 1};
/* max, x - max, exp, sum over self; log, + max and three kernels that guard against infinity over the result.
 * Backward grad * exp(self - result) */
static const reduction logsumexp = {SAME_TYPE, 1, {3, 3, 2, 8}, {3, 2, 3, 3}, 1, 1, 1};
static const reduction any = {BOOL_TYPE, 1, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0, 1};
static const reduction all = {BOOL_TYPE, 1, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0, 1};

static const adept_op ops[] = {
    {"aten::sum", ADEPT_CAST_FP32, &sum},
    {"aten::nansum", ADEPT_CAST_NONE, &sum},
    {"aten::mean", ADEPT_CAST_NONE,
     &(const reduction){SAME_TYPE, 1, {0, 0, 0, 0}, {1, 0, 1, 1}, 0, 0, 1}}, /* expanded grad / n */
    {"aten::prod", ADEPT_CAST_FP32, &prod},
    {"aten::norm aten::frobenius_norm aten::linalg_vector_norm", ADEPT_CAST_FP32, &norm},
    {"aten::linalg_norm", ADEPT_CAST_NONE, &norm},
    /* (x - mean)^2: a sum for the mean, subtraction, square, sum. Backward c * grad * (self - mean(self)) */
    {"aten::var", ADEPT_CAST_NONE, &(const reduction){SAME_TYPE, 4, {0, 0, 0, 0}, {3, 1, 2, 4}, 2, 0, 1}},
    {"aten::std", ADEPT_CAST_NONE, &(const reduction){SAME_TYPE, 4, {0, 0, 0, 0}, {3, 1, 2, 8}, 2, 1, 1}},
    /* and the mean's own gradient, added */
    {"aten::var_mean", ADEPT_CAST_NONE, &(const reduction){SAME_TYPE, 4, {0, 0, 0, 0}, {5, 3, 4, 6}, 2, 0, 2}},
    {"aten::std_mean", ADEPT_CAST_NONE, &(const reduction){SAME_TYPE, 4, {0, 0, 0, 0}, {5, 3, 4, 10}, 2, 1, 2}},
    {"aten::logsumexp", ADEPT_CAST_FP32, &logsumexp},
    {"aten::any", ADEPT_CAST_NONE, &any},
    {"aten::all", ADEPT_CAST_NONE, &all},
    {"aten::count_nonzero", ADEPT_CAST_NONE, &(const reduction){COUNT_TYPE, 2, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0, 1}},
    {0},
};

/* ---------------------------------------------------------------- Python lists ---------------- */

/* sum, any, all of a list of numbers */
static void shape_list(adept_call *c, const reduction *row, const adept_list *list)
{
    double f, total = row == &all;
    bool whole = true;
    for (size_t i = 0; i < list->n; i++) {
        if (!adept_value_as_float(&list->items[i], &f)) {
            adept_out_unknown(c);
            return;
        }
        whole = whole && list->items[i].kind != ADEPT_VALUE_FLOAT;
        if (row == &all)
            total = total != 0 && f != 0;
        else
            total = row == &any ? total != 0 || f != 0 : total + f;
    }
    if (row == &any || row == &all)
        adept_out_bool(c, total != 0);
    else if (row != &sum)
        adept_call_unsupported(c, "not defined here for a list");
    else if (whole && fabs(total) <= 9007199254740992.0)
        adept_out_int(c, (int64_t)total);
    else
        adept_out_float(c, total);
}

/* ---------------------------------------------------------------- tensors ---------------- */

static adept_dtype type_of(adept_call *c, const reduction *row, const adept_tensor *self)
{
    adept_dtype sum_type = adept_reduce_sum_type(c, self);
    if (row->type == BOOL_TYPE) return self->dtype == ADEPT_U8 ? ADEPT_U8 : ADEPT_BOOL;
    if (row->type == COUNT_TYPE) return ADEPT_I64;
    if (row->type == SAME_TYPE && !adept_dtype_is_float(sum_type) && !adept_dtype_is_complex(sum_type))
        adept_call_fail(c, "not defined for %s", adept_dtype_name(self->dtype));
    return sum_type;
}

/* The sum or product of sizes is a size. */
static void set_total(adept_call *c, adept_tensor *out, const reduction *row, const adept_tensor *self)
{
    double total = row == &prod;
    if (self->n_values == 0 || adept_tensor_numel(out) != 1 || (row != &sum && row != &prod)) return;
    for (int i = 0; i < self->n_values; i++)
        total = row == &sum ? total + self->values[i] : total * self->values[i];
    adept_tensor_set_values(c, out, 1, &total);
}

static void shape(adept_call *c)
{
    const reduction *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    int64_t dims[ADEPT_MAX_DIMS];
    if (adept_host_is_list(v)) {
        shape_list(c, row, v->u.list);
        return;
    }
    if (!v || v->kind != ADEPT_VALUE_TENSOR) {
        adept_call_fail(c, "a tensor expected");
        return;
    }
    const adept_tensor *self = v->u.t;
    int ndim = adept_reduce_dims(c, self, dims);
    adept_dtype dtype = type_of(c, row, self);
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, dtype, ndim, dims);
    if (adept_call_ok(c)) set_total(c, out, row, self);
    for (int i = 1; i < row->results; i++)
        adept_out_tensor(c, dtype, ndim, dims);
}

/* Exponent of a norm: 2 unless given as p or ord. */
static double exponent(adept_call *c)
{
    const char *name = adept_arg(c, "ord") ? "ord" : "p";
    const adept_value *v = adept_arg(c, name);
    return v && v->kind == ADEPT_VALUE_STRING ? 2 : adept_arg_float(c, name, 2); /* "fro" */
}

static adept_chain norm_backward(double p)
{
    if (p == 2) return norm.backward;
    if (p == 1) return (adept_chain){2, 1, 2, 2};   /* sign(self) * grad */
    if (isinf(p)) return (adept_chain){5, 4, 4, 6}; /* sign(self) * (|self| == norm) * (grad / count) */
    return (adept_chain){6, 3, 4, 6};               /* self * |self| ** (p - 2) * (grad / norm ** (p - 1)) */
}

static void cost(adept_call *c, adept_cost *cost)
{
    const reduction *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    if (!self || !out || adept_elem_all_on_host(c) || adept_tensor_numel(self) == 0) return;
    double n = (double)adept_tensor_numel(self), out_bytes = adept_tensor_bytes(out);
    double kernels_over_self = row == &logsumexp ? 4 : 1;
    adept_kernel kernel = {.pass = ADEPT_FORWARD,
                           .unit = ADEPT_UNIT_ALU,
                           .family = ADEPT_FAMILY_STREAM,
                           .dtype = self->dtype,
                           .flops = n * (row->flops + row->forward.flops),
                           .bytes_read = adept_elem_read(self) + row->forward.reads * adept_tensor_bytes(self),
                           .bytes_written = row->results * out_bytes + row->forward.writes * adept_tensor_bytes(self),
                           .launches = 1 + row->forward.launches,
                           .elements = n * kernels_over_self};
    adept_cost_kernel(cost, &kernel);
    if (!adept_cost_wants_grad(cost, self)) return;
    adept_chain chain = row == &norm ? norm_backward(exponent(c)) : row->backward;
    double grad = chain.launches > 0 ? out_bytes : 0;
    adept_elem_chain(cost, ADEPT_BACKWARD, self, &chain,
                     grad + row->reads_self * adept_elem_read(self) + row->reads_result * out_bytes);
    if (row->reads_self) adept_cost_save(cost, self);
    if (row->reads_result) adept_cost_save(cost, out);
}

static const adept_handler_case cases[] = {
    {.name = "sum over rows: one addition per element; the gradient is an expanded view",
     .call = "aten::sum(self=f32:4x8*, dim=[1], keepdim=false, dtype=none) -> f32:4",
     .forward = {.alu = 32, .read = 128, .written = 16, .launches = 1}},
    {.name = "bools are counted as i64",
     .call = "aten::sum(self=bool:4x8, dtype=none) -> i64:",
     .forward = {.alu = 32, .read = 32, .written = 8, .launches = 1}},
    {.name = "mean: the expanded gradient is divided, which writes all 32 elements",
     .call = "aten::mean(self=f32:4x8*, dim=[-1], keepdim=true, dtype=none) -> f32:4x1",
     .forward = {.alu = 32, .read = 128, .written = 16, .launches = 1},
     .backward = {.alu = 32, .read = 16, .written = 128, .launches = 1}},
    {.name =
         "2-norm: self * (grad / norm): division, product, comparison, fill; grad 16, norm 16, self and fill 128 each",
     .call = "aten::norm(self=f32:4x8*, p=2, dim=[1], keepdim=true) -> f32:4x1",
     .forward = {.alu = 64, .read = 128, .written = 16, .launches = 1},
     .backward = {.alu = 64, .read = 16 + 16 + 128 + 128, .written = 256, .launches = 4},
     .saved_bytes = 128 + 16},
    {.name = "variance: mean(self), self - mean, c * grad, product; self is read twice, the difference once",
     .call = "aten::var(self=f32:4x8*, dim=[1], unbiased=false, keepdim=false) -> f32:4",
     .forward = {.alu = 128, .read = 128, .written = 16, .launches = 1},
     .backward = {.alu = 96, .read = 16 + 2 * 128 + 128, .written = 256, .launches = 4},
     .saved_bytes = 128},
    {.name = "two results",
     .call = "aten::var_mean(self=f32:4x8, dim=[1]) -> f32:4, f32:4",
     .forward = {.alu = 128, .read = 128, .written = 32, .launches = 1}},
    {.name = "logsumexp: max, x - max, exp, sum over 32 elements (4 reads, 2 writes) and five kernels over the result",
     .call = "aten::logsumexp(self=f32:4x8*, dim=[1], keepdim=false) -> f32:4",
     .forward = {.alu = 128, .read = 4 * 128, .written = 2 * 128 + 16, .launches = 9},
     /* self - result, exp, grad *: reads self, result, twice an intermediate, grad */
     .backward = {.alu = 96, .read = 128 + 16 + 2 * 128 + 16, .written = 3 * 128, .launches = 3},
     .saved_bytes = 128 + 16},
    {.name = "a number of elements, known on the host", .call = "aten::prod(self=i64:=6, dtype=none) -> i64:"},
    {.name = "any of a list", .call = "aten::any(self=[false,true]) -> b:true"},
    {.name = "all of a list", .call = "aten::all(self=[1,0]) -> b:false"},
    {.name = "sum of a list", .call = "aten::sum(self=[1,2,3]) -> i:6"},
    {0},
};

const adept_handler adept_handler_reduce = {.kind = "reduce", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
