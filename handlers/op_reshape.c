/* Other sizes for the same elements in the same order: a view where the strides allow it, else a copy. */
#include "elementwise_cost.h"
#include "host_value.h"
#include "layout.h"
#include <string.h>

typedef enum reshape_kind {
    TO_SIZE, /* an argument gives the sizes */
    LIKE,    /* another tensor gives them */
    FLATTEN,
    UNFLATTEN,
    RAVEL,
    CONTIGUOUS
} reshape_kind;

typedef struct reshape_row {
    reshape_kind kind;
    const char *sizes; /* argument that holds the sizes or the other tensor */
} reshape_row;

static const reshape_row view = {TO_SIZE, "size"};

static const adept_op ops[] = {
    {"aten::view", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &view},
    {"aten::_unsafe_view", ADEPT_ROLE_SCORES, &view},
    {"aten::reshape", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &(const reshape_row){TO_SIZE, "shape"}},
    {"aten::_reshape_alias", ADEPT_CAST_NONE, &view},
    {"aten::view_as aten::reshape_as", ADEPT_READS_FIRST, &(const reshape_row){LIKE, "other"}},
    {"aten::flatten", ADEPT_CAST_NONE, &(const reshape_row){FLATTEN, NULL}},
    {"aten::unflatten", ADEPT_CAST_NONE, &(const reshape_row){UNFLATTEN, "sizes"}},
    {"aten::ravel", ADEPT_CAST_NONE, &(const reshape_row){RAVEL, NULL}},
    {"aten::contiguous", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &(const reshape_row){CONTIGUOUS, NULL}},
    {0},
};

/* ---------------------------------------------------------------- the new sizes ---------------- */

static int flatten_dims(adept_call *c, const adept_tensor *self, int64_t *dims)
{
    int first = adept_call_dim(c, adept_arg_int(c, "start_dim", 0), self->ndim);
    int last = adept_call_dim(c, adept_arg_int(c, "end_dim", -1), self->ndim), n = 0;
    if (first > last) adept_call_fail(c, "flatten: the first dimension comes behind the last");
    if (!adept_call_ok(c)) return 0;
    for (int d = 0; d < first; d++)
        dims[n++] = self->dims[d];
    dims[n] = 1;
    for (int d = first; d <= last && d < self->ndim; d++)
        if (__builtin_mul_overflow(dims[n], self->dims[d], &dims[n])) /* of an empty tensor, by its other dimensions */
            adept_call_fail(c, "flatten: more elements than can be counted");
    n++;
    for (int d = last + 1; d < self->ndim; d++)
        dims[n++] = self->dims[d];
    return n;
}

static int unflatten_dims(adept_call *c, const adept_tensor *self, int64_t *dims)
{
    int64_t sizes[ADEPT_MAX_DIMS];
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    int n = adept_arg_ints(c, "sizes", sizes, ADEPT_MAX_DIMS);
    if (n < 0 || self->ndim == 0 || n + self->ndim - 1 > ADEPT_MAX_DIMS)
        adept_call_fail(c, "unflatten: sizes for one dimension expected");
    if (!adept_call_ok(c)) return 0;
    adept_layout_infer(c, self->dims[dim], n, sizes);
    memcpy(dims, self->dims, (size_t)dim * sizeof *dims);
    memcpy(dims + dim, sizes, (size_t)n * sizeof *dims);
    memcpy(dims + dim + n, self->dims + dim + 1, (size_t)(self->ndim - dim - 1) * sizeof *dims);
    return self->ndim - 1 + n;
}

static int new_dims(adept_call *c, const reshape_row *row, const adept_tensor *self, int64_t *dims)
{
    const adept_tensor *other;
    int n;
    switch (row->kind) {
    case TO_SIZE:
        n = adept_arg_ints(c, row->sizes, dims, ADEPT_MAX_DIMS);
        if (n < 0) adept_call_fail(c, "argument '%s' is missing", row->sizes);
        break;
    case LIKE:
        other = adept_arg_tensor(c, row->sizes);
        memcpy(dims, other->dims, sizeof other->dims);
        n = other->ndim;
        break;
    case FLATTEN:
        return flatten_dims(c, self, dims);
    case UNFLATTEN:
        return unflatten_dims(c, self, dims);
    default:
        dims[0] = adept_tensor_numel(self);
        return 1; /* RAVEL */
    }
    if (adept_call_ok(c)) adept_layout_infer(c, adept_tensor_numel(self), n, dims);
    return n;
}

/* ---------------------------------------------------------------- shape and cost ---------------- */

static void shape_contiguous(adept_call *c, const adept_tensor *self)
{
    int64_t format = adept_layout_format(c, ADEPT_FORMAT_ROW_MAJOR);
    if (adept_layout_has_format(self, format)) {
        adept_out_alias(c, self);
        return;
    }
    adept_tensor *out = adept_out_like(c, self);
    adept_layout_set_format(out, format, self);
    adept_host_set_same(c, out, self);
}

static void shape(adept_call *c)
{
    const reshape_row *row = adept_call_data(c);
    const adept_tensor *self = adept_arg_tensor(c, "self");
    int64_t dims[ADEPT_MAX_DIMS], strides[ADEPT_MAX_DIMS];
    if (row->kind == CONTIGUOUS) {
        shape_contiguous(c, self);
        return;
    }
    if (row == &view && adept_arg_given(c, "dtype")) {
        /* The same bytes read as another element type. */
        adept_dtype dtype = adept_dtype_from_c10(adept_arg_int(c, "dtype", -1));
        adept_layout l = adept_layout_of(self);
        int from = adept_dtype_bytes(self->dtype), to = adept_dtype_bytes(dtype), last = self->ndim - 1;
        bool fits = to > 0 && (from == to || (last >= 0 && l.strides[last] == 1 && l.dims[last] < INT64_MAX / 16 &&
                                              l.dims[last] * from % to == 0));
        if (!fits) adept_call_fail(c, "view of %s as %s", adept_dtype_name(self->dtype), adept_dtype_name(dtype));
        if (!adept_call_ok(c)) return;
        if (from != to) {
            l.dims[last] = l.dims[last] * from / to;
            for (int d = 0; d < last; d++)
                if (__builtin_mul_overflow(l.strides[d], from, &l.strides[d])) l.strides[d] = INT64_MAX;
            for (int d = 0; d < last; d++)
                l.strides[d] /= to;
        }
        adept_out_view(c, self, l.ndim, l.dims, l.strides)->dtype = dtype;
        return;
    }
    int ndim = new_dims(c, row, self, dims);
    if (!adept_call_ok(c)) return;
    adept_layout from = adept_layout_of(self);
    bool fits = adept_layout_reshape(&from, ndim, dims, strides) &&
                (row->kind != RAVEL || adept_tensor_is_contiguous(self)); /* ravel promises dense memory */
    /* aten::view never copies, and a view that the model takes is legal. If our strides do not allow it and may not be
     * PyTorch's, a copy was made before that the file does not show. */
    if (!fits && row == &view && adept_call_order_known(c, self))
        adept_call_fail(c, "view: the order of %s in memory does not allow it", adept_call_shape(c, self));
    if (!fits) adept_strides_contiguous(ndim, dims, strides);
    adept_tensor *out =
        fits ? adept_out_view(c, self, ndim, dims, strides) : adept_out_tensor(c, self->dtype, ndim, dims);
    if (adept_call_ok(c)) adept_host_set_same(c, out, self);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    if (out->storage != self->storage) adept_elem_copy(cost, ADEPT_FORWARD, self, out->dtype);
}

const adept_handler adept_handler_reshape = {
    .kind = "reshape", .shard = ADEPT_SHARD_VIEW, .ops = ops, .shape = shape, .cost = cost};
