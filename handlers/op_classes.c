/* Numbers to the class that they belong to: bucketize, searchsorted, one_hot. */
#include "elementwise_cost.h"
#include "form.h"
#include <math.h>
#include <string.h>

/* bucketize(self, boundaries), searchsorted(sorted_sequence, self): both arguments in this order or the other */
static bool is_search(const adept_call *c)
{
    return !strcmp(adept_call_op(c), "aten::searchsorted");
}

static void buckets(adept_call *c)
{
    const adept_tensor *self = adept_elem_tensor_at(c, is_search(c));
    adept_dtype dtype = adept_arg_bool(c, "out_int32", false) ? ADEPT_I32 : ADEPT_I64;
    if (!self || !adept_elem_tensor_at(c, !is_search(c)))
        adept_call_fail(c, "two tensors expected");
    else
        adept_form_out(c, dtype, self->ndim, self->dims);
}

/* A binary search of each element among the boundaries. */
static double search_flops(adept_call *c)
{
    const adept_tensor *bounds = adept_elem_tensor_at(c, !is_search(c));
    double length = bounds->ndim > 0 ? (double)bounds->dims[bounds->ndim - 1] : 1;
    return ceil(log2(length + 1)) * (double)adept_tensor_numel(adept_result_tensor(c, 0));
}

/* The size is one more than the largest number. */
static void bincount(adept_call *c)
{
    adept_call_unsupported(c, "the size of the result depends on data");
}

static const adept_op ops[] = {
    {"aten::bucketize aten::searchsorted", ADEPT_CAST_NONE,
     &(const adept_form){buckets, {0, 0, 1}, {0, 0, 0}, ADEPT_FORM_KEEPS_NOTHING, search_flops, NULL}},
    {"aten::bincount", ADEPT_CAST_NONE,
     &(const adept_form){bincount, {0, 0, 0}, {0, 0, 0}, ADEPT_FORM_KEEPS_NOTHING, NULL, NULL}},
    {0},
};

static const adept_handler_case cases[] = {
    {.name = "position buckets: binary search among 15 boundaries, 4 comparisons",
     .call = "aten::bucketize(self=f32:8, boundaries=f32:15) -> i64:8",
     .forward = {.alu = 32, .read = 32 + 60, .written = 64}},
    {0},
};

const adept_handler adept_handler_classes = {
    .kind = "index", .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost, .cases = cases};

/* ---------------------------------------------------------------- one_hot ---------------- */

static const adept_op one_hot_ops[] = {
    {"aten::one_hot", ADEPT_CAST_NONE, NULL},
    {0},
};

static void one_hot_shape(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    int64_t dims[ADEPT_MAX_DIMS], classes = adept_arg_int(c, "num_classes", -1);
    if (classes < 0) adept_call_unsupported(c, "without num_classes the size of the result depends on data");
    if (self->ndim == ADEPT_MAX_DIMS) adept_call_fail(c, "a result of more than %d dimensions", ADEPT_MAX_DIMS);
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    dims[self->ndim] = classes;
    adept_out_tensor(c, ADEPT_I64, self->ndim + 1, dims);
}

/* Zeros, then a one for each index. */
static void one_hot_cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *out = adept_result_tensor(c, 0);
    double n = (double)adept_tensor_numel(self);
    adept_elem_fill(cost, ADEPT_FORWARD, out);
    if (n > 0)
        adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, n, 0, adept_elem_read(self), n * adept_dtype_bytes(out->dtype));
}

static const adept_handler_case one_hot_cases[] = {
    {.name = "one-hot: 12 zeros, 4 ones",
     .call = "aten::one_hot(self=i64:4, num_classes=3) -> i64:4x3",
     .forward = {.read = 32, .written = 96 + 32, .launches = 2}},
    {0},
};

const adept_handler adept_handler_one_hot = {
    .kind = "scatter", .ops = one_hot_ops, .shape = one_hot_shape, .cost = one_hot_cost, .cases = one_hot_cases};
