/* Reading elements by index tensors. */
#include "advanced_index.h"
#include "chosen.h"
#include "elementwise_cost.h"
#include "host_value.h"
#include <string.h>

/* Advanced indexing, index_select, gather, take. */
static void shape_index(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    adept_index x = adept_index_read(c, self);
    if (adept_call_ok(c) && x.by_mask) adept_index_expand_masks(c, &x, self);
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, self->dtype, x.ndim, x.dims);
    if (adept_call_ok(c)) {
        /* Memory order of x[...]: that of x where its dimensions are kept, else of the index tensors. */
        adept_tensor shown[1 + ADEPT_MAX_DIMS];
        const adept_tensor *operands[1 + ADEPT_MAX_DIMS];
        int n = 1;
        shown[0] = *out;
        memcpy(shown[0].strides, x.strides, sizeof x.strides);
        for (size_t i = 0; i < x.n && n <= ADEPT_MAX_DIMS; i++) {
            const adept_tensor *t = x.items[i];
            if (!t || adept_index_is_mask(t) || t->ndim + x.n_behind > out->ndim) continue;
            adept_tensor *s = &shown[n++];
            *s = *t;
            for (int d = 0; d < x.n_behind; d++) {
                s->dims[s->ndim] = 1;
                s->strides[s->ndim++] = 0;
            }
        }
        for (int i = 0; i < n; i++)
            operands[i] = &shown[i];
        adept_elem_set_strides(out, operands, n);
    }
}

static void shape_select(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *index = adept_arg_tensor(c, "index");
    int64_t dims[ADEPT_MAX_DIMS];
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (index->ndim > 1) adept_call_fail(c, "a vector of indices expected");
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    if (self->ndim > 0) dims[dim] = adept_tensor_numel(index);
    adept_out_tensor(c, self->dtype, self->ndim, dims);
}

/* The result has the shape of the index. */
static void shape_take(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *index = adept_arg_tensor(c, "index");
    adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (adept_tensor_numel(self) == 0 && adept_tensor_numel(index) > 0) adept_call_fail(c, "nothing to take from");
    if (adept_call_ok(c)) adept_out_tensor(c, self->dtype, index->ndim, index->dims);
}

static void shape_gather(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *index = adept_arg_tensor(c, "index");
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (!adept_index_same_ndim(index, self) && adept_tensor_numel(index) > 0)
        adept_call_fail(c, "gather: an index of %d dimensions for a tensor of %d", index->ndim, self->ndim);
    for (int d = 0; adept_call_ok(c) && d < index->ndim && d < self->ndim; d++)
        if (d != dim && index->dims[d] > self->dims[d])
            adept_call_fail(c, "gather: the index is larger than the tensor");
    shape_take(c);
}

static void shape_take_along(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *indices = adept_arg_tensor(c, "indices");
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

typedef struct index_row {
    void (*shape)(adept_call *c);
    const char *index; /* argument of the one index tensor; NULL: a list of them */
} index_row;

static const index_row by_list = {shape_index, NULL}, select_row = {shape_select, "index"};

static const adept_op ops[] = {
    {"aten::index aten::_unsafe_index", ADEPT_CAST_NONE, &by_list},
    {"aten::index_select", ADEPT_CAST_NONE, &select_row},
    {"aten::gather", ADEPT_CAST_NONE, &(const index_row){shape_gather, "index"}},
    {"aten::take_along_dim", ADEPT_CAST_NONE, &(const index_row){shape_take_along, "indices"}},
    {"aten::take", ADEPT_CAST_NONE, &(const index_row){shape_take, "index"}},
    {0},
};

static void shape(adept_call *c)
{
    const index_row *row = adept_call_data(c);
    if (row == &by_list && adept_value_is_list(adept_arg_at(c, 0)))
        adept_list_find(c);
    else
        row->shape(c);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const index_row *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    if (!out || !self) return;
    if (row == &by_list) {
        adept_index x = adept_index_read(c, self);
        for (size_t i = 0; i < x.n; i++)
            if (x.items[i] && adept_index_is_mask(x.items[i]))
                adept_chosen_search(cost, x.items[i], (double)adept_call_true(c, x.items[i]));
        if (x.by_mask) adept_index_expand_masks(c, &x, self);
        adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){0, 1, 1, 1}, x.index_bytes);
        if (!adept_cost_wants_grad(cost, self)) return;
        adept_elem_fill(cost, ADEPT_BACKWARD, self);
        adept_index_accumulate(cost, ADEPT_BACKWARD, out, &x);
        adept_index_save(cost, &x);
        return;
    }
    const adept_tensor *index = adept_arg_tensor(c, row->index);
    double index_bytes = adept_elem_read(index);
    adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){0, 1, 1, 1}, index_bytes);
    if (!adept_cost_wants_grad(cost, self)) return;
    /* zeros, to which the gradient is added at the indices */
    adept_elem_fill(cost, ADEPT_BACKWARD, self);
    adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){1, 1, 1, 1}, index_bytes);
    adept_cost_save(cost, index);
    if (row != &select_row) adept_cost_save(cost, self); /* for its sizes only, but kept all the same */
}

const adept_handler adept_handler_index = {.kind = "index", .ops = ops, .shape = shape, .cost = cost};
