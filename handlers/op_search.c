/* Binary search among sorted boundaries: bucketize(self, boundaries), searchsorted(sorted_sequence, self). */
#include "elementwise_cost.h"
#include <math.h>
#include <string.h>

/* Arguments stand in either order. */
typedef struct search_row {
    int self, bounds;
} search_row;

static const adept_op ops[] = {
    {"aten::bucketize", ADEPT_CAST_NONE, &(const search_row){0, 1}},
    {"aten::searchsorted", ADEPT_CAST_NONE, &(const search_row){1, 0}},
    {0},
};

static void shape(adept_call *c)
{
    const search_row *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, row->self);
    adept_dtype dtype = adept_arg_bool(c, "out_int32", false) ? ADEPT_I32 : ADEPT_I64;
    const adept_tensor *bounds = adept_elem_tensor_at(c, row->bounds);
    bool one = bounds && bounds->ndim == 1;
    if (!self || !bounds)
        adept_call_fail(c, "two tensors expected");
    else if (!one && (row->self == 0 || bounds->ndim < 1 || bounds->ndim != self->ndim ||
                      memcmp(bounds->dims, self->dims, (size_t)(self->ndim - 1) * sizeof *self->dims) != 0))
        adept_call_fail(c, "%s among the boundaries %s", adept_call_shape(c, self), adept_call_shape(c, bounds));
    else
        adept_out_tensor(c, dtype, self->ndim, self->dims);
}

/* One kernel: binary search of each element among the boundaries. */
static void cost(adept_call *c, adept_cost *cost)
{
    const search_row *row = adept_call_data(c);
    const adept_tensor *bounds = adept_elem_tensor_at(c, row->bounds), *self = adept_elem_tensor_at(c, row->self);
    double length = bounds->ndim > 0 ? (double)bounds->dims[bounds->ndim - 1] : 1;
    adept_elem_forward(cost, adept_result_tensor(c, 0), ceil(log2(length + 1)),
                       adept_elem_read(self) + adept_elem_read(bounds));
}

const adept_handler adept_handler_search = {
    .kind = "index", .shard = ADEPT_SHARD_ROWS, .ops = ops, .shape = shape, .cost = cost};
