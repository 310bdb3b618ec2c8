/* Writing elements by index tensors. */
#include "advanced_index.h"
#include "elementwise_cost.h"
#include "layout.h"
#include <string.h>

/* index_put, index_add, index_copy, index_fill, scatter and its reductions, masked_scatter. Out of place, a
 * copy of self is made first. */
typedef struct scatter_row {
    void (*check)(adept_call *c, const adept_tensor *self);
    void (*cost)(adept_call *c, adept_cost *cost, const adept_tensor *self);
    const char *source; /* argument of what is written; NULL: a number */
    bool rows, adds;    /* along one dimension: whole rows, not elements; to what is there */
} scatter_row;

/* NULL if it is a number. */
static const adept_tensor *source_of(adept_call *c)
{
    const scatter_row *row = adept_call_data(c);
    return row->source ? adept_value_tensor(adept_arg(c, row->source)) : NULL;
}

static void check_put(adept_call *c, const adept_tensor *self)
{
    adept_index x = adept_index_read(c, self);
    const adept_tensor *values = adept_arg_tensor(c, "values");
    int64_t dims[ADEPT_MAX_DIMS];
    if (adept_call_ok(c) && !x.by_mask) adept_broadcast_dims(c, x.ndim, x.dims, values->ndim, values->dims, dims);
}

static void check_masked(adept_call *c, const adept_tensor *self)
{
    const adept_tensor *mask = adept_arg_tensor(c, "mask");
    int64_t dims[ADEPT_MAX_DIMS];
    adept_arg_tensor(c, "source");
    adept_broadcast(c, self, mask, dims);
}

/* The source has the sizes of the part of self that it replaces. */
static void check_part(adept_call *c, const adept_tensor *self, adept_layout_change *part)
{
    adept_layout l = adept_layout_of(self);
    const adept_tensor *source = adept_arg_tensor(c, "src");
    part(c, &l);
    if (!adept_call_ok(c)) return;
    bool fits = source->ndim == l.ndim && memcmp(source->dims, l.dims, (size_t)l.ndim * sizeof *l.dims) == 0;
    if (!fits) adept_call_fail(c, "%s does not fit where it goes", adept_call_shape(c, source));
}

static void check_select(adept_call *c, const adept_tensor *self)
{
    check_part(c, self, adept_layout_select);
}

static void check_slice(adept_call *c, const adept_tensor *self)
{
    bool unknown = adept_value_is_unknown(adept_arg(c, "start")) || adept_value_is_unknown(adept_arg(c, "end"));
    if (!unknown) check_part(c, self, adept_layout_slice); /* else its source tells how much it replaces */
}

static void check_diagonal(adept_call *c, const adept_tensor *self)
{
    check_part(c, self, adept_layout_diagonal);
}

static void check_strided(adept_call *c, const adept_tensor *self)
{
    check_part(c, self, adept_layout_as_strided);
}

static void check_elements(adept_call *c, const adept_tensor *self)
{
    (void)self;
    const adept_tensor *source = adept_arg_tensor(c, "source"), *index = adept_arg_tensor(c, "index");
    if (adept_call_ok(c) && adept_tensor_numel(source) != adept_tensor_numel(index))
        adept_call_fail(c, "%s does not fit where it goes", adept_call_shape(c, source));
}

/* Do both have the same dimensions beside `dim`? A number is a row of a vector. */
static bool same_rows(const adept_tensor *self, const adept_tensor *source, int dim)
{
    if (self->ndim < 2 && source->ndim < 2) return true;
    bool same = self->ndim == source->ndim;
    for (int d = 0; same && d < self->ndim; d++)
        same = d == dim || self->dims[d] == source->dims[d];
    return same;
}

/* PyTorch looks where both are dense. Where in their memory two parts begin is not known here: they overlap for certain
 * where it has no room for both. */
static bool overlap(adept_call *c, const adept_tensor *a, const adept_tensor *b)
{
    if (!b || a->storage < 0 || a->storage != b->storage) return false;
    bool dense = adept_tensor_is_contiguous(a) && adept_tensor_is_contiguous(b);
    return a == b || (dense && adept_tensor_bytes(a) + adept_tensor_bytes(b) > adept_call_memory_bytes(c, a));
}

static void check_index(adept_call *c, const adept_tensor *self)
{
    const scatter_row *row = adept_call_data(c);
    const adept_tensor *index = adept_arg_tensor(c, "index"), *source = source_of(c);
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (row->rows ? index->ndim > 1 : !adept_index_same_ndim(index, self) && adept_tensor_numel(index) > 0)
        adept_call_fail(c, "an index of %d dimensions for a tensor of %d", index->ndim, self->ndim);
    if (source && !row->rows && index->ndim != source->ndim && index->ndim + source->ndim > 1)
        adept_call_fail(c, "an index of %d dimensions for a source of %d", index->ndim, source->ndim);
    if (adept_call_inplace(c) && (overlap(c, self, index) || overlap(c, self, source)))
        adept_call_fail(c, "what is written and what is read share memory");
    if (row->source && (row->rows || row->adds) && !source) adept_call_fail(c, "a tensor to write expected");
    if (!adept_call_ok(c) || !source) return;
    if (row->rows) {
        int64_t rows = source->ndim > 0 && source->ndim == self->ndim ? source->dims[dim] : 1;
        if (rows != adept_tensor_numel(index))
            adept_call_fail(c, "indices of other than the %lld rows", (long long)rows);
        if (!same_rows(self, source, dim))
            adept_call_fail(c, "%s has no rows of %s", adept_call_shape(c, source), adept_call_shape(c, self));
    }
    for (int d = 0; !row->rows && adept_tensor_numel(index) > 0 && d < index->ndim; d++)
        if ((d != dim && index->dims[d] > self->dims[d]) || index->dims[d] > (source->ndim > 0 ? source->dims[d] : 1))
            adept_call_fail(c, "the index is larger than what it writes or reads along dimension %d", d);
}

static void copy_self(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    if (!adept_call_inplace(c)) adept_elem_copy(cost, ADEPT_FORWARD, self, self->dtype);
}

/* n elements of self's type written (and read, if from a tensor), with the index read besides */
static void write_some(adept_cost *cost, adept_pass pass, const adept_tensor *self, double n, bool from_tensor,
                       double flops, double index_bytes)
{
    double bytes = n * adept_dtype_bytes(self->dtype);
    if (n > 0) adept_cost_alu(cost, pass, self->dtype, n, flops * n, (from_tensor ? bytes : 0) + index_bytes, bytes);
}

/* The gradient with zeros where something else was written: a copy and a write. */
static void zero_written(adept_cost *cost, const adept_tensor *self, double n, double index_bytes)
{
    adept_elem_copy(cost, ADEPT_BACKWARD, self, self->dtype);
    write_some(cost, ADEPT_BACKWARD, self, n, false, 0, index_bytes);
}

static void cost_put(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    adept_index x = adept_index_read(c, self);
    const adept_tensor *values = source_of(c);
    if (x.by_mask) {
        /* x[mask] = values */
        copy_self(c, cost, self);
        adept_elem_chain(cost, ADEPT_FORWARD, self, &(adept_chain){1, 1, 1, 1},
                         x.index_bytes + adept_elem_read(values));
        if (adept_cost_wants_grad(cost, self)) {
            adept_elem_chain(cost, ADEPT_BACKWARD, self, &(adept_chain){1, 2, 2, 2}, x.index_bytes);
            adept_index_save(cost, &x);
        }
        if (adept_cost_wants_grad(cost, values)) {
            adept_elem_chain(cost, ADEPT_BACKWARD, self, &(adept_chain){0, 1, 0, 1}, x.index_bytes);
            adept_elem_fill(cost, ADEPT_BACKWARD, values);
            adept_index_save(cost, &x);
        }
        return;
    }
    adept_tensor part = {.dtype = self->dtype, .ndim = x.ndim, .storage = -1, .param = -1};
    memcpy(part.dims, x.dims, sizeof part.dims);
    double n = (double)adept_tensor_numel(&part);
    bool accumulate = adept_arg_bool(c, "accumulate", false);
    copy_self(c, cost, self);
    if (accumulate)
        adept_index_accumulate(cost, ADEPT_FORWARD, &part, &x);
    else if (n > 0)
        adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, n, 0, adept_elem_read(values) + x.index_bytes,
                       adept_tensor_bytes(&part));
    if (adept_cost_wants_grad(cost, self) && !accumulate) zero_written(cost, self, n, x.index_bytes);
    if (adept_cost_wants_grad(cost, values)) {
        adept_elem_chain(cost, ADEPT_BACKWARD, &part, &(adept_chain){0, 1, 1, 1}, x.index_bytes);
        adept_elem_grad_to(cost, &part, values);
    }
    if (adept_cost_backward(cost)) adept_index_save(cost, &x);
}

static void cost_masked(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    const adept_tensor *mask = adept_arg_tensor(c, "mask"), *source = source_of(c);
    double n = (double)adept_tensor_numel(self);
    copy_self(c, cost, self);
    /* how many elements of the source come before each position, then the selection */
    if (n > 0) adept_cost_alu(cost, ADEPT_FORWARD, ADEPT_I64, n, n, adept_elem_read(mask), 8 * n);
    adept_elem_chain(cost, ADEPT_FORWARD, self, &(adept_chain){1, 1, 1, 1}, 8 * n + adept_elem_read(mask));
    if (adept_cost_wants_grad(cost, self)) /* grad.masked_fill(mask, 0) */
        adept_elem_chain(cost, ADEPT_BACKWARD, self, &(adept_chain){1, 2, 2, 2}, adept_elem_read(mask));
    if (adept_cost_wants_grad(cost, source)) { /* grad.masked_select(mask) into zeros */
        adept_elem_fill(cost, ADEPT_BACKWARD, source);
        adept_elem_chain(cost, ADEPT_BACKWARD, self, &(adept_chain){0, 1, 1, 1}, adept_elem_read(mask));
    }
    adept_cost_save(cost, mask);
}

/* scatter_reduce, index_reduce: as argument `reduce` says */
static bool reduces(const adept_call *c)
{
    return strstr(adept_call_op(c), "_reduce") != NULL;
}

/* Of products, means and extrema: passes over self and over the n elements of the source that were written, as
 * scatter_reduce_backward and index_reduce_backward make them (PyTorch, FunctionsManual.cpp). Extrema share the
 * gradient between equal elements, which are counted; means divide by a count; products divide what the others made. */
static void reduction_gradient(adept_call *c, adept_cost *cost, const adept_tensor *self, double n, double index_bytes)
{
    static const adept_chain extrema[2] = {{4, 6, 5, 5}, {4, 7, 5, 5}};
    static const adept_chain means[2] = {{2, 2, 3, 3}, {2, 4, 5, 5}};
    static const adept_chain products[2] = {{5, 7, 6, 6}, {6, 9, 8, 8}};
    const char *reduce = adept_arg_string(c, "reduce", "");
    const adept_chain *chain = !strncmp(reduce, "am", 2) ? extrema : !strcmp(reduce, "mean") ? means : products;
    const adept_tensor *source = source_of(c), *out = adept_result_tensor(c, 0);
    double size = adept_dtype_bytes(self->dtype);
    if (!adept_cost_wants_grad(cost, self) && !adept_cost_wants_grad(cost, source)) return;
    adept_elem_chain(cost, ADEPT_BACKWARD, self, &chain[0], 0);
    if (n > 0)
        adept_cost_stream(cost, ADEPT_BACKWARD, self->dtype, n * chain[1].launches, n * chain[1].flops,
                          n * size * chain[1].reads + 2 * index_bytes, n * size * chain[1].writes, chain[1].launches);
    adept_cost_save(cost, adept_arg_tensor(c, "index"));
    adept_cost_save(cost, self);
    adept_cost_save(cost, source);
    adept_cost_save(cost, out);
}

/* Along one dimension by `index`: rows (index_add, ...) or elements (scatter, ...). */
static void cost_indexed(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    const scatter_row *row = adept_call_data(c);
    const adept_tensor *index = adept_arg_tensor(c, "index"), *source = source_of(c);
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    bool rows = row->rows, adds = row->adds;
    double n = (double)adept_tensor_numel(index), index_bytes = adept_elem_read(index);
    if (rows && self->ndim > 0) n *= self->dims[dim] ? (double)adept_tensor_numel(self) / (double)self->dims[dim] : 0;
    copy_self(c, cost, self);
    write_some(cost, ADEPT_FORWARD, self, n, source != NULL, adds, index_bytes);
    if (!adept_cost_backward(cost)) return;
    if (reduces(c) && strcmp(adept_arg_string(c, "reduce", "sum"), "sum") != 0) {
        reduction_gradient(c, cost, self, n, index_bytes);
        return;
    }
    if (adept_cost_wants_grad(cost, self) && !adds) zero_written(cost, self, n, index_bytes);
    if (adept_cost_wants_grad(cost, source)) {
        write_some(cost, ADEPT_BACKWARD, source, n, true, 0, index_bytes); /* the gradient is gathered */
        if (rows || reduces(c)) adept_cost_save(cost, source);
    }
    adept_cost_save(cost, index);
    if (reduces(c)) {
        adept_cost_save(cost, self);
        adept_cost_save(cost, adept_result_tensor(c, 0));
    }
}

/* slice_scatter, select_scatter, ..., put: self with one part replaced, whose gradient is that part of the gradient */
static void cost_part(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    const adept_tensor *source = source_of(c);
    double n = (double)adept_tensor_numel(source),
           index_bytes = adept_elem_read(adept_value_tensor(adept_arg(c, "index")));
    copy_self(c, cost, self);
    write_some(cost, ADEPT_FORWARD, self, n, true, 0, index_bytes);
    if (adept_cost_wants_grad(cost, self)) zero_written(cost, self, n, index_bytes);
}

static const scatter_row put = {check_put, cost_put, "values", false, false};
static const scatter_row fill_rows = {check_index, cost_indexed, NULL, true, false};

static const adept_op ops[] = {
    {"aten::index_put", ADEPT_CAST_PROMOTE, &put},
    {"aten::_unsafe_index_put aten::_index_put_impl", ADEPT_CAST_NONE, &put},
    {"aten::index_add", ADEPT_CAST_NONE, &(const scatter_row){check_index, cost_indexed, "source", true, true}},
    {"aten::index_copy", ADEPT_CAST_NONE, &(const scatter_row){check_index, cost_indexed, "source", true, false}},
    {"aten::index_fill", ADEPT_CAST_NONE, &fill_rows},
    {"aten::scatter", ADEPT_CAST_NONE, &(const scatter_row){check_index, cost_indexed, "src", false, false}},
    {"aten::scatter_add", ADEPT_CAST_PROMOTE, &(const scatter_row){check_index, cost_indexed, "src", false, true}},
    {"aten::scatter_reduce", ADEPT_CAST_NONE, &(const scatter_row){check_index, cost_indexed, "src", false, true}},
    {"aten::index_reduce", ADEPT_CAST_NONE, &(const scatter_row){check_index, cost_indexed, "source", true, true}},
    {"aten::masked_scatter", ADEPT_CAST_NONE, &(const scatter_row){check_masked, cost_masked, "source", false, false}},
    {"aten::slice_scatter", ADEPT_CAST_NONE, &(const scatter_row){check_slice, cost_part, "src", false, false}},
    {"aten::select_scatter", ADEPT_CAST_NONE, &(const scatter_row){check_select, cost_part, "src", false, false}},
    {"aten::diagonal_scatter", ADEPT_CAST_NONE, &(const scatter_row){check_diagonal, cost_part, "src", false, false}},
    {"aten::as_strided_scatter", ADEPT_CAST_NONE, &(const scatter_row){check_strided, cost_part, "src", false, false}},
    {"aten::put", ADEPT_CAST_NONE, &(const scatter_row){check_elements, cost_part, "source", false, false}},
    {0},
};

static void shape(adept_call *c)
{
    const scatter_row *row = adept_call_data(c);
    const adept_tensor *self = adept_arg_tensor(c, "self");
    if (!adept_call_ok(c)) return;
    row->check(c, self);
    if (!adept_call_ok(c)) return;
    bool clones = row == &put || row == &fill_rows; /* the others write row-major memory, and no expanded tensor */
    adept_tensor *out = (clones ? adept_out_filled : adept_out_result)(c, self, self->dtype, self->ndim, self->dims);
    if (adept_call_ok(c) && !adept_call_inplace(c) && clones) adept_elem_set_strides(out, &self, 1);
    out->n_values = 0;
}

static void cost(adept_call *c, adept_cost *cost)
{
    const scatter_row *row = adept_call_data(c);
    row->cost(c, cost, adept_arg_tensor(c, "self"));
}

const adept_handler adept_handler_scatter = {.kind = "scatter", .ops = ops, .shape = shape, .cost = cost};
