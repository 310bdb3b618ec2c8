/* Writing elements by index tensors: index_put, index_add, index_copy, index_fill, scatter and its reductions,
 * masked_scatter, one_hot. Out of place, a copy of self is made first. */
#include "elementwise_cost.h"
#include "index_shape.h"
#include <string.h>

typedef enum scatter_kind {
    PUT,
    ADD_ROWS,
    COPY_ROWS,
    FILL_ROWS,
    SCATTER,
    SCATTER_ADD,
    SCATTER_REDUCE,
    MASKED,
    ONE_HOT,
    PART
} scatter_kind;

static const scatter_kind put = PUT;

static const adept_op ops[] = {
    {"aten::index_put", ADEPT_CAST_PROMOTE, &put},
    {"aten::_unsafe_index_put aten::_index_put_impl", ADEPT_CAST_NONE, &put},
    {"aten::index_add", ADEPT_CAST_NONE, &(const scatter_kind){ADD_ROWS}},
    {"aten::index_copy", ADEPT_CAST_NONE, &(const scatter_kind){COPY_ROWS}},
    {"aten::index_fill", ADEPT_CAST_NONE, &(const scatter_kind){FILL_ROWS}},
    {"aten::scatter", ADEPT_CAST_NONE, &(const scatter_kind){SCATTER}},
    {"aten::scatter_add", ADEPT_CAST_PROMOTE, &(const scatter_kind){SCATTER_ADD}},
    {"aten::scatter_reduce", ADEPT_CAST_NONE, &(const scatter_kind){SCATTER_REDUCE}},
    {"aten::masked_scatter", ADEPT_CAST_NONE, &(const scatter_kind){MASKED}},
    {"aten::one_hot", ADEPT_CAST_NONE, &(const scatter_kind){ONE_HOT}},
    {"aten::slice_scatter aten::select_scatter", ADEPT_CAST_NONE, &(const scatter_kind){PART}},
    {0},
};

static scatter_kind kind_of(const adept_call *c)
{
    return *(const scatter_kind *)adept_call_data(c);
}

/* What is written: `values`, `source` or `src`; NULL if it is a number. */
static const adept_tensor *source_of(adept_call *c)
{
    static const char *const names[] = {
        [PUT] = "values",      [ADD_ROWS] = "source",    [COPY_ROWS] = "source", [FILL_ROWS] = NULL, [SCATTER] = "src",
        [SCATTER_ADD] = "src", [SCATTER_REDUCE] = "src", [MASKED] = "source",    [ONE_HOT] = NULL,   [PART] = "src"};
    const char *name = names[kind_of(c)];
    return name ? adept_value_tensor(adept_arg(c, name)) : NULL;
}

/* ---------------------------------------------------------------- shape ---------------- */

static void shape_one_hot(adept_call *c, const adept_tensor *self)
{
    int64_t dims[ADEPT_MAX_DIMS], classes = adept_arg_int(c, "num_classes", -1);
    if (classes < 0) {
        adept_call_unsupported(c, "without num_classes the size of the result depends on data");
        return;
    }
    if (self->ndim == ADEPT_MAX_DIMS) adept_call_fail(c, "a result of more than %d dimensions", ADEPT_MAX_DIMS);
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    dims[self->ndim] = classes;
    adept_out_tensor(c, ADEPT_I64, self->ndim + 1, dims);
}

static void check_index(adept_call *c, const adept_tensor *self)
{
    const adept_tensor *index = adept_arg_tensor(c, "index"), *source = source_of(c);
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    bool rows = kind_of(c) == ADD_ROWS || kind_of(c) == COPY_ROWS || kind_of(c) == FILL_ROWS;
    if (rows ? index->ndim > 1 : index->ndim != self->ndim && index->ndim > 0 && self->ndim > 0)
        adept_call_fail(c, "an index of %d dimensions for a tensor of %d", index->ndim, self->ndim);
    if (kind_of(c) != FILL_ROWS && kind_of(c) != SCATTER && !source) adept_call_fail(c, "a tensor to write expected");
    if (!adept_call_ok(c) || !source || rows || self->ndim == 0) return;
    for (int d = 0; d < index->ndim; d++)
        if ((d != dim && index->dims[d] > self->dims[d]) || (d < source->ndim && index->dims[d] > source->dims[d]))
            adept_call_fail(c, "the index is larger than what it writes or reads along dimension %d", d);
}

/* Only sums have a gradient here: the others share it between equal elements in ways that depend on data. */
static void check_reduction(adept_call *c, const adept_tensor *self)
{
    const char *reduce = adept_arg_string(c, "reduce", "");
    const adept_tensor *source = source_of(c);
    bool wants = self->requires_grad || (source && source->requires_grad);
    if (kind_of(c) == SCATTER_REDUCE && wants && strcmp(reduce, "sum"))
        adept_call_unsupported(c, "the gradient of a reduction by '%s'", reduce);
}

static void shape(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    if (!adept_call_ok(c)) return;
    if (kind_of(c) == ONE_HOT) {
        shape_one_hot(c, self);
        return;
    }
    if (kind_of(c) == PUT) {
        adept_index x = adept_index_of(c, self);
        const adept_tensor *values = adept_arg_tensor(c, "values");
        int64_t dims[ADEPT_MAX_DIMS];
        if (adept_call_ok(c) && !x.by_mask) adept_broadcast_dims(c, x.ndim, x.dims, values->ndim, values->dims, dims);
    } else if (kind_of(c) == MASKED) {
        const adept_tensor *mask = adept_arg_tensor(c, "mask");
        int64_t dims[ADEPT_MAX_DIMS];
        adept_arg_tensor(c, "source");
        adept_broadcast(c, self, mask, dims);
    } else if (kind_of(c) == PART) {
        adept_arg_tensor(c, "src");
    } else {
        check_index(c, self);
        check_reduction(c, self);
    }
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_result(c, self, self->dtype, self->ndim, self->dims);
    bool clones = kind_of(c) == PUT || kind_of(c) == FILL_ROWS; /* the others write row-major memory */
    if (adept_call_ok(c) && !adept_call_inplace(c) && clones) adept_elem_set_strides(out, &self, 1);
    out->n_values = 0;
}

/* ---------------------------------------------------------------- cost ---------------- */

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

/* x[mask] = values */
static void cost_put_by_mask(adept_call *c, adept_cost *cost, const adept_tensor *self, const adept_index *x)
{
    const adept_tensor *values = source_of(c);
    copy_self(c, cost, self);
    adept_elem_chain(cost, ADEPT_FORWARD, self, &(adept_chain){1, 1, 1, 1}, x->index_bytes + adept_elem_read(values));
    if (adept_cost_wants_grad(cost, self)) {
        adept_elem_chain(cost, ADEPT_BACKWARD, self, &(adept_chain){1, 2, 2, 2}, x->index_bytes);
        adept_index_save(cost, x);
    }
    if (adept_cost_wants_grad(cost, values)) {
        adept_elem_chain(cost, ADEPT_BACKWARD, self, &(adept_chain){0, 1, 0, 1}, x->index_bytes);
        adept_elem_fill(cost, ADEPT_BACKWARD, values);
        adept_index_save(cost, x);
    }
}

static void cost_put(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    adept_index x = adept_index_of(c, self);
    const adept_tensor *values = source_of(c);
    if (x.by_mask) {
        cost_put_by_mask(c, cost, self, &x);
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

/* Along one dimension by `index`: rows (index_add, ...) or elements (scatter, ...). */
static void cost_indexed(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    scatter_kind kind = kind_of(c);
    const adept_tensor *index = adept_arg_tensor(c, "index"), *source = source_of(c);
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    bool rows = kind == ADD_ROWS || kind == COPY_ROWS || kind == FILL_ROWS;
    bool adds = kind == ADD_ROWS || kind == SCATTER_ADD || kind == SCATTER_REDUCE;
    double n = (double)adept_tensor_numel(index), index_bytes = adept_elem_read(index);
    if (rows && self->ndim > 0) n *= self->dims[dim] ? (double)adept_tensor_numel(self) / (double)self->dims[dim] : 0;
    copy_self(c, cost, self);
    write_some(cost, ADEPT_FORWARD, self, n, source != NULL, adds, index_bytes);
    if (!adept_cost_backward(cost)) return;
    if (adept_cost_wants_grad(cost, self) && !adds) zero_written(cost, self, n, index_bytes);
    if (adept_cost_wants_grad(cost, source)) {
        write_some(cost, ADEPT_BACKWARD, source, n, true, 0, index_bytes); /* the gradient is gathered */
        if (rows || kind == SCATTER_REDUCE) adept_cost_save(cost, source);
    }
    adept_cost_save(cost, index);
    if (kind == SCATTER_REDUCE) {
        adept_cost_save(cost, self);
        adept_cost_save(cost, adept_result_tensor(c, 0));
    }
}

/* slice_scatter, select_scatter: self with one part replaced, whose gradient is that part of the gradient */
static void cost_part(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    const adept_tensor *source = source_of(c);
    copy_self(c, cost, self);
    write_some(cost, ADEPT_FORWARD, self, (double)adept_tensor_numel(source), true, 0, 0);
    if (adept_cost_wants_grad(cost, self)) zero_written(cost, self, (double)adept_tensor_numel(source), 0);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *out = adept_result_tensor(c, 0);
    switch (kind_of(c)) {
    case PUT:
        cost_put(c, cost, self);
        break;
    case PART:
        cost_part(c, cost, self);
        break;
    case MASKED:
        cost_masked(c, cost, self);
        break;
    case ONE_HOT: /* zeros, then a one for each index */
        adept_elem_fill(cost, ADEPT_FORWARD, out);
        write_some(cost, ADEPT_FORWARD, out, (double)adept_tensor_numel(self), false, 0, adept_elem_read(self));
        break;
    default:
        cost_indexed(c, cost, self);
        break;
    }
}

static const adept_handler_case cases[] = {
    {.name = "x[i] = v in place: 3 rows of 4 are read and written; self's gradient is copied and zeroed there, v's "
             "gathered",
     .call = "aten::index_put_(self=f32:5x4*, indices=[i64:3], values=f32:3x4*, accumulate=false) -> f32:5x4",
     .forward = {.read = 48 + 24, .written = 48},
     .backward = {.read = 80 + 24 + 48 + 24, .written = 80 + 48 + 48, .launches = 3, .saved = 24}},
    {.name = "x[mask] = 0: as a fill by mask",
     .call = "aten::index_put_(self=f32:5x4, indices=[bool:5x4], values=f32:, accumulate=false) -> f32:5x4",
     .forward = {.alu = 20, .read = 80 + 20 + 4, .written = 80}},
    {.name = "scatter_add out of place: copy 32, then add 8; the source's gradient is gathered",
     .call = "aten::scatter_add(self=f32:4x8, dim=1, index=i64:4x2, src=f32:4x2*) -> f32:4x8",
     .forward = {.alu = 8, .read = 128 + 32 + 64, .written = 128 + 32, .launches = 2},
     .backward = {.read = 32 + 64, .written = 32, .saved = 64}},
    {.name = "scatter of a number: 8 elements in place",
     .call = "aten::scatter_(self=f32:4x8, dim=1, index=i64:4x2, value=1.0) -> f32:4x8",
     .forward = {.read = 64, .written = 32}},
    {.name = "rows added: 3 rows of 4; the source is kept, for its shape",
     .call = "aten::index_add_(self=f32:5x4, dim=0, index=i64:3, source=f32:3x4*, alpha=1) -> f32:5x4",
     .forward = {.alu = 12, .read = 48 + 24, .written = 48},
     .backward = {.read = 48 + 24, .written = 48, .saved = 24 + 48}},
    {.name = "masked_scatter: copy, 8 offsets, selection; backward grad is copied and filled (mask read once)",
     .call = "aten::masked_scatter(self=f32:8*, mask=bool:8, source=f32:8) -> f32:8",
     .forward = {.alu = 16, .read = 32 + 8 + 32 + 64 + 8, .written = 32 + 64 + 32, .launches = 3},
     .backward = {.alu = 8, .read = 64 + 8, .written = 64, .launches = 2, .saved = 8}},
    {.name = "one row of 4 replaced out of place: copy 20, write 4; backward copies 20 gradients and zeroes 4",
     .call = "aten::select_scatter(self=f32:5x4*, src=f32:4*, dim=0, index=2) -> f32:5x4",
     .forward = {.read = 80 + 16, .written = 80 + 16, .launches = 2},
     .backward = {.read = 80, .written = 80 + 16, .launches = 2}},
    {.name = "one-hot: 12 zeros, 4 ones",
     .call = "aten::one_hot(self=i64:4, num_classes=3) -> i64:4x3",
     .forward = {.read = 32, .written = 96 + 32, .launches = 2}},
    {0},
};

const adept_handler adept_handler_scatter = {
    .kind = "scatter", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
