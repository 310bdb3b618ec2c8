/* Reading elements by index tensors: advanced indexing, index_select, gather, take, bucketize. Operators whose result
 * has as many elements as the data says (nonzero, masked_select) cannot be predicted and say so. */
#include "elementwise_cost.h"
#include "host_value.h"
#include "index_shape.h"
#include <math.h>
#include <string.h>

typedef enum index_kind { INDEX, SELECT, GATHER, TAKE_ALONG, TAKE, BUCKETS, DATA_DEPENDENT } index_kind;

static const adept_op ops[] = {
    {"aten::index aten::_unsafe_index", ADEPT_CAST_NONE, &(const index_kind){INDEX}},
    {"aten::index_select", ADEPT_CAST_NONE, &(const index_kind){SELECT}},
    {"aten::gather", ADEPT_CAST_NONE, &(const index_kind){GATHER}},
    {"aten::take_along_dim", ADEPT_CAST_NONE, &(const index_kind){TAKE_ALONG}},
    {"aten::take", ADEPT_CAST_NONE, &(const index_kind){TAKE}},
    {"aten::bucketize aten::searchsorted", ADEPT_CAST_NONE, &(const index_kind){BUCKETS}},
    {"aten::nonzero aten::nonzero_numpy aten::argwhere aten::masked_select aten::bincount", ADEPT_CAST_NONE,
     &(const index_kind){DATA_DEPENDENT}},
    {0},
};

static index_kind kind_of(const adept_call *c)
{
    return *(const index_kind *)adept_call_data(c);
}

/* ---------------------------------------------------------------- shape ---------------- */

static void shape_index(adept_call *c, const adept_tensor *self)
{
    adept_index x = adept_index_of(c, self);
    if (adept_call_ok(c) && x.by_mask)
        adept_call_unsupported(c, "indexing by a mask: the size of the result depends on data");
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, self->dtype, x.ndim, x.dims);
    if (adept_call_ok(c)) adept_index_set_strides(out, &x);
}

static void shape_select(adept_call *c, const adept_tensor *self)
{
    const adept_tensor *index = adept_arg_tensor(c, "index");
    int64_t dims[ADEPT_MAX_DIMS];
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (index->ndim > 1) adept_call_fail(c, "a vector of indices expected");
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    if (self->ndim > 0) dims[dim] = adept_tensor_numel(index);
    adept_out_tensor(c, self->dtype, self->ndim, dims);
}

/* The result has the shape of the index. */
static void shape_gather(adept_call *c, const adept_tensor *self)
{
    const adept_tensor *index = adept_arg_tensor(c, "index");
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (kind_of(c) == GATHER && index->ndim != self->ndim && index->ndim > 0 && self->ndim > 0)
        adept_call_fail(c, "gather: an index of %d dimensions for a tensor of %d", index->ndim, self->ndim);
    for (int d = 0; kind_of(c) == GATHER && adept_call_ok(c) && d < index->ndim && d < self->ndim; d++)
        if (d != dim && index->dims[d] > self->dims[d])
            adept_call_fail(c, "gather: the index is larger than the tensor");
    if (adept_call_ok(c)) adept_out_tensor(c, self->dtype, index->ndim, index->dims);
}

static void shape_take_along(adept_call *c, const adept_tensor *self)
{
    const adept_tensor *indices = adept_arg_tensor(c, "indices");
    int64_t dims[ADEPT_MAX_DIMS], own[ADEPT_MAX_DIMS], along;
    if (!adept_arg_given(c, "dim")) { /* both flattened */
        along = adept_tensor_numel(indices);
        adept_out_tensor(c, self->dtype, 1, &along);
        return;
    }
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (indices->ndim != self->ndim || self->ndim == 0)
        adept_call_fail(c, "take_along_dim: as many dimensions in both expected");
    if (!adept_call_ok(c)) return;
    memcpy(own, self->dims, sizeof own);
    own[dim] = indices->dims[dim];
    int ndim = adept_broadcast_dims(c, self->ndim, own, indices->ndim, indices->dims, dims);
    adept_out_tensor(c, self->dtype, ndim, dims);
}

/* bucketize(self, boundaries), searchsorted(sorted_sequence, self): both arguments in this order or the other */
static void shape_buckets(adept_call *c)
{
    bool search = !strcmp(adept_call_op(c), "aten::searchsorted");
    const adept_tensor *self = adept_elem_tensor_at(c, search ? 1 : 0);
    adept_dtype dtype = adept_arg_bool(c, "out_int32", false) ? ADEPT_I32 : ADEPT_I64;
    if (!self || !adept_elem_tensor_at(c, search ? 0 : 1))
        adept_call_fail(c, "two tensors expected");
    else
        adept_out_tensor(c, dtype, self->ndim, self->dims);
}

static void shape(adept_call *c)
{
    const adept_value *v = adept_arg_at(c, 0);
    if (kind_of(c) == DATA_DEPENDENT) {
        adept_call_unsupported(c, "the size of the result depends on data");
        return;
    }
    if (kind_of(c) == INDEX && adept_value_is_list(v)) {
        adept_list_find(c);
        return;
    }
    if (kind_of(c) == BUCKETS) {
        shape_buckets(c);
        return;
    }
    const adept_tensor *self = adept_arg_tensor(c, "self");
    if (!adept_call_ok(c)) return;
    switch (kind_of(c)) {
    case INDEX:
        shape_index(c, self);
        break;
    case SELECT:
        shape_select(c, self);
        break;
    case TAKE_ALONG:
        shape_take_along(c, self);
        break;
    default:
        shape_gather(c, self);
        break;
    }
}

/* ---------------------------------------------------------------- cost ---------------- */

static void cost_index(adept_call *c, adept_cost *cost, const adept_tensor *self, const adept_tensor *out)
{
    adept_index x = adept_index_of(c, self);
    adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){0, 1, 1, 1}, x.index_bytes);
    if (!adept_cost_wants_grad(cost, self)) return;
    adept_elem_fill(cost, ADEPT_BACKWARD, self);
    adept_index_accumulate(cost, ADEPT_BACKWARD, out, &x);
    adept_index_save(cost, &x);
}

/* One kernel: binary search of each element among the boundaries. */
static void cost_buckets(adept_call *c, adept_cost *cost, const adept_tensor *out)
{
    bool search = !strcmp(adept_call_op(c), "aten::searchsorted");
    const adept_tensor *bounds = adept_elem_tensor_at(c, search ? 0 : 1),
                       *self = adept_elem_tensor_at(c, search ? 1 : 0);
    double length = bounds->ndim > 0 ? (double)bounds->dims[bounds->ndim - 1] : 1;
    adept_elem_forward(cost, out, ceil(log2(length + 1)), adept_elem_read(self) + adept_elem_read(bounds));
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    if (!out || !self) return;
    if (kind_of(c) == BUCKETS) {
        cost_buckets(c, cost, out);
        return;
    }
    if (kind_of(c) == INDEX) {
        cost_index(c, cost, self, out);
        return;
    }
    const adept_tensor *index = adept_arg_tensor(c, kind_of(c) == TAKE_ALONG ? "indices" : "index");
    double index_bytes = adept_elem_read(index);
    adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){0, 1, 1, 1}, index_bytes);
    if (!adept_cost_wants_grad(cost, self)) return;
    /* zeros, to which the gradient is added at the indices */
    adept_elem_fill(cost, ADEPT_BACKWARD, self);
    adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){1, 1, 1, 1}, index_bytes);
    adept_cost_save(cost, index);
    if (kind_of(c) != SELECT) adept_cost_save(cost, self); /* for its sizes only, but kept all the same */
}

static const adept_handler_case cases[] = {
    {.name = "relative position bias: 9 rows of 4; backward zeros 20, 9 positions, their sort (9 x 4), 36 additions",
     .call = "aten::index(self=f32:5x4*, indices=[i64:9]) -> f32:9x4",
     .forward = {.read = 144 + 72, .written = 144},
     .backward = {.alu = 9 + 36 + 36,
                  .read = 72 + 144 + 2 * 144 + 144,
                  .written = 80 + 144 + 144 + 144,
                  .launches = 4,
                  .saved = 72}},
    {.name = "neighbouring indices: their shape at their place",
     .call = "aten::index(self=f32:2x3x4x5, indices=[none, i64:7x1, i64:6]) -> f32:2x7x6x5",
     .forward = {.read = 1680 + 56 + 48, .written = 1680}},
    {.name = "indices apart: their shape in front",
     .call = "aten::index(self=f32:2x3x4, indices=[i64:7, none, i64:7]) -> f32:7x3",
     .forward = {.read = 84 + 112, .written = 84}},
    {.name = "index_select: zeros of 20, 12 gradients added",
     .call = "aten::index_select(self=f32:5x4*, dim=0, index=i64:3) -> f32:3x4",
     .forward = {.read = 48 + 24, .written = 48},
     .backward = {.alu = 12, .read = 48 + 24, .written = 80 + 48, .launches = 2, .saved = 24}},
    {.name = "gather keeps its input as well",
     .call = "aten::gather(self=f32:4x8*, dim=1, index=i64:4x2) -> f32:4x2",
     .forward = {.read = 32 + 64, .written = 32},
     .backward = {.alu = 8, .read = 32 + 64, .written = 128 + 32, .launches = 2, .saved = 64 + 128}},
    {.name = "along a dimension, the others broadcast",
     .call = "aten::take_along_dim(self=f32:4x8, indices=i64:1x2, dim=1) -> f32:4x2",
     .forward = {.read = 32 + 16, .written = 32}},
    {.name = "position buckets: binary search among 15 boundaries, 4 comparisons",
     .call = "aten::bucketize(self=f32:8, boundaries=f32:15) -> i64:8",
     .forward = {.alu = 32, .read = 32 + 60, .written = 64}},
    {.name = "position in a list", .call = "aten::index(self=[4,5,6], el=6) -> i:2"},
    {0},
};

const adept_handler adept_handler_index = {.kind = "index", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
