/* New tensors: constants, ranges, tensors from Python numbers, random numbers, and filling existing ones. One kernel
 * writes the elements; empty ones need none. None of them has a gradient. */
#include "elementwise_cost.h"
#include "host_value.h"
#include "layout.h"
#include <math.h>
#include <string.h>

typedef enum source {
    SIZE,  /* argument 'size' */
    LIKE,  /* as 'self' */
    NEW,   /* argument 'size', type of 'self' */
    FILL,  /* 'self' is overwritten */
    RANGE, /* arange */
    STEPS, /* linspace */
    EYE,
    WINDOW,   /* argument 'window_length' */
    TRIANGLE, /* row and column indices of a triangle */
    DATA,     /* Python numbers */
    SHAPE,    /* the sizes of 'self' */
    DRAW,     /* 'self' is drawn anew, or normal() of tensors or of a size */
    PERMUTATION
} source;

typedef enum content { ZEROS, ONES, VALUE /* an argument */, NOTHING, COMPUTED, RANDOM } content;

typedef struct create_row {
    source source;
    content content;
    adept_dtype dtype; /* of random numbers, without argument dtype */
    double flops; /* on top of the generator, which is counted as one: uniform 1, normal a log, root, sine, product */
    adept_chain kernels; /* where there are several */
} create_row;

static const create_row range_row = {RANGE, .content = COMPUTED}; /* torch.range: its end takes part */
static const create_row full = {SIZE, .content = VALUE};
/* A range is scaled, its cosine scaled and shifted; of a triangle half is turned; kaiser's is one more kernel. */
static const create_row hann = {.source = WINDOW, .content = COMPUTED, .kernels = {6, 4, 5, 5}};
static const create_row tril_indices = {TRIANGLE, .content = COMPUTED};

static const adept_op ops[] = {
    {"aten::zeros aten::_efficientzerotensor", ADEPT_CAST_NONE, &(const create_row){SIZE, .content = ZEROS}},
    {"aten::ones", ADEPT_EXTENT_ONES, &(const create_row){SIZE, .content = ONES}},
    {"aten::full", ADEPT_CAST_NONE, &full},
    {"aten::empty aten::empty_strided", ADEPT_CAST_NONE, &(const create_row){SIZE, .content = NOTHING}},
    {"aten::zeros_like", ADEPT_SHARD_ELEMENTWISE, &(const create_row){LIKE, .content = ZEROS}},
    {"aten::ones_like", ADEPT_SHARD_ELEMENTWISE | ADEPT_EXTENT_ONES, &(const create_row){LIKE, .content = ONES}},
    {"aten::full_like", ADEPT_SHARD_ELEMENTWISE, &(const create_row){LIKE, .content = VALUE}},
    {"aten::empty_like", ADEPT_SHARD_ELEMENTWISE, &(const create_row){LIKE, .content = NOTHING}},
    {"aten::new_zeros", ADEPT_CAST_NONE, &(const create_row){NEW, .content = ZEROS}},
    {"aten::new_ones", ADEPT_EXTENT_ONES, &(const create_row){NEW, .content = ONES}},
    {"aten::new_full", ADEPT_CAST_NONE, &(const create_row){NEW, .content = VALUE}},
    {"aten::new_empty aten::new_empty_strided", ADEPT_CAST_NONE, &(const create_row){NEW, .content = NOTHING}},
    {"aten::fill", ADEPT_SHARD_ELEMENTWISE, &(const create_row){FILL, .content = VALUE}},
    {"aten::zero", ADEPT_SHARD_ELEMENTWISE, &(const create_row){FILL, .content = ZEROS}},
    {"aten::hann_window aten::hamming_window", ADEPT_CAST_NONE, &hann},
    {"aten::bartlett_window", ADEPT_CAST_NONE,
     &(const create_row){.source = WINDOW, .content = COMPUTED, .kernels = {4, 2, 3, 4}}},
    {"aten::blackman_window", ADEPT_CAST_NONE,
     &(const create_row){.source = WINDOW, .content = COMPUTED, .kernels = {11, 10, 10, 10}}},
    {"aten::kaiser_window", ADEPT_CAST_NONE,
     &(const create_row){.source = WINDOW, .content = COMPUTED, .kernels = {15, 1, 2, 2}}},
    {"aten::arange", ADEPT_EXTENT_RANGE, &(const create_row){RANGE, .content = COMPUTED}},
    {"aten::range", ADEPT_CAST_NONE, &range_row},
    {"aten::linspace", ADEPT_CAST_NONE, &(const create_row){STEPS, .content = COMPUTED}},
    {"aten::eye", ADEPT_CAST_NONE, &(const create_row){EYE, .content = COMPUTED}},
    {"aten::tril_indices", ADEPT_CAST_NONE, &tril_indices},
    {"aten::triu_indices", ADEPT_CAST_NONE, &(const create_row){TRIANGLE, .content = COMPUTED}},
    {"aten::tensor aten::as_tensor aten::scalar_tensor", ADEPT_CAST_NONE,
     &(const create_row){DATA, .content = COMPUTED}},
    {"aten::_shape_as_tensor", ADEPT_CAST_NONE, &(const create_row){SHAPE, .content = NOTHING}},
    {0},
};

/* ---------------------------------------------------------------- element types ---------------- */

/* Argument dtype, else the one the operator takes without it. */
static adept_dtype type_or(adept_call *c, adept_dtype fallback)
{
    return adept_arg_given(c, "dtype") ? adept_arg_dtype(c, "dtype") : adept_call_dtype(c, fallback);
}

/* Of a Python number: torch.tensor(3) is i64, torch.tensor(0.5) is f32. */
static adept_dtype type_of_number(const adept_value *v)
{
    if (v && v->kind == ADEPT_VALUE_TENSOR) return v->u.t->dtype;
    if (v && v->kind == ADEPT_VALUE_BOOL) return ADEPT_BOOL;
    if (v && v->kind == ADEPT_VALUE_COMPLEX) return ADEPT_C64;
    return v && v->kind == ADEPT_VALUE_INT ? ADEPT_I64 : ADEPT_F32;
}

/* ---------------------------------------------------------------- constants ---------------- */

static void set_constant(adept_call *c, adept_tensor *out)
{
    const create_row *row = adept_call_data(c);
    const adept_value *v = row->source == FILL ? adept_arg(c, "value") : adept_arg(c, "fill_value");
    double value = row->content == ONES;
    out->n_values = 0;
    if (row->content == NOTHING || row->content == RANDOM || adept_dtype_is_complex(out->dtype)) return;
    if (row->content == VALUE && !adept_value_as_float(v, &value)) return;
    adept_tensor_set_spread(c, out, ADEPT_ALIKE, value);
}

static adept_tensor *out_sized(adept_call *c, adept_dtype dtype)
{
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "size", dims, ADEPT_MAX_DIMS);
    if (n < 0) adept_call_fail(c, "argument 'size' is missing");
    adept_tensor *out = adept_out_tensor(c, dtype, n, dims);
    out->requires_grad = false;
    return out;
}

static void shape_sized(adept_call *c, const create_row *row)
{
    /* PyTorch 1.13 computes shapes on device "meta" in Python: its tracer writes that down in place of the operator. */
    const adept_value *device = adept_arg(c, "device");
    bool on_meta = device && device->kind == ADEPT_VALUE_STRING && strncmp(device->u.s, "meta", 4) == 0;
    if (adept_call_refuse(
            c, on_meta && row->content == NOTHING,
            "an empty tensor on device \"meta\" stands where an operator ran: trace on another device, with zeros"))
        return;
    int64_t strides[ADEPT_MAX_DIMS];
    adept_dtype fallback = row == &full             ? type_of_number(adept_arg(c, "fill_value"))
                           : row->content == RANDOM ? row->dtype
                                                    : ADEPT_F32;
    if (row->source == NEW) fallback = adept_arg_tensor(c, "self")->dtype;
    adept_tensor *out = out_sized(c, type_or(c, fallback));
    if (row->content == NOTHING && adept_arg_ints(c, "stride", strides, ADEPT_MAX_DIMS) == out->ndim)
        for (int d = 0; d < out->ndim && adept_call_ok(c); d++)
            out->strides[d] = strides[d] >= 0 ? strides[d] : 0;
    if (adept_call_ok(c)) set_constant(c, out);
}

/* ---------------------------------------------------------------- ranges ---------------- */

static bool is_whole(const adept_value *v)
{
    return !v || v->kind == ADEPT_VALUE_NONE || v->kind == ADEPT_VALUE_INT || v->kind == ADEPT_VALUE_BOOL ||
           (v->kind == ADEPT_VALUE_TENSOR && !adept_dtype_is_float(v->u.t->dtype));
}

static void shape_range(adept_call *c)
{
    bool whole = is_whole(adept_arg(c, "start")) && is_whole(adept_arg(c, "end")) && is_whole(adept_arg(c, "step"));
    double start = adept_arg_float(c, "start", 0), end = adept_arg_float(c, "end", 0),
           step = adept_arg_float(c, "step", 1);
    double values[ADEPT_MAX_KNOWN_VALUES], n = step != 0 ? ceil((end - start) / step) : -1;
    if (adept_call_data(c) == &range_row && step != 0) whole = false, n = floor((end - start) / step) + 1;
    if (step != 0 && (end - start) / step < 0) n = -1;
    adept_dtype dtype = type_or(c, whole ? ADEPT_I64 : ADEPT_F32);
    if (!(n >= 0 && n < 9007199254740992.0)) adept_call_fail(c, "arange from %g to %g by %g", start, end, step);
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, dtype, 1, (const int64_t[]){(int64_t)n});
    for (int i = 0; i < n && i < ADEPT_MAX_KNOWN_VALUES; i++)
        values[i] = start + i * step;
    if (n > 0 && n <= ADEPT_MAX_KNOWN_VALUES) adept_tensor_set_values(c, out, (int)n, values);
}

static void shape_vector(adept_call *c, const char *length, int64_t fallback, adept_dtype dtype)
{
    int64_t n = adept_arg_int(c, length, fallback);
    adept_out_tensor(c, type_or(c, dtype), 1, &n);
}

static void shape_window(adept_call *c)
{
    int64_t n = adept_arg_int(c, "window_length", 0);
    adept_dtype dtype = type_or(c, ADEPT_F32);
    if (!adept_dtype_is_float(dtype)) adept_call_fail(c, "a window of %s", adept_dtype_name(dtype));
    adept_out_tensor(c, dtype, 1, &n);
}

static void shape_eye(adept_call *c)
{
    int64_t n = adept_arg_int(c, "n", 0), dims[2] = {n, adept_arg_int(c, "m", n)};
    adept_dtype dtype = type_or(c, ADEPT_F32);
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, dtype, 2, dims);
    double values[ADEPT_MAX_KNOWN_VALUES] = {0};
    for (int64_t i = 0; i < n && i < dims[1] && i * dims[1] + i < ADEPT_MAX_KNOWN_VALUES; i++)
        values[i * dims[1] + i] = 1;
    if (adept_call_ok(c) && adept_tensor_numel(out) <= ADEPT_MAX_KNOWN_VALUES)
        adept_tensor_set_values(c, out, (int)adept_tensor_numel(out), values);
}

/* Elements on and below diagonal `offset` of rows x columns. */
static int64_t below_diagonal(int64_t rows, int64_t columns, int64_t offset)
{
    int64_t none = offset < 0 ? -offset : 0,
            some = columns - 1 - offset; /* the first row with any, the first full one */
    if (none > rows) none = rows;
    if (some < none) some = none;
    if (some > rows) some = rows;
    return (some - none) * (none + some + 1 + 2 * offset) / 2 + (rows - some) * columns;
}

static void shape_triangle(adept_call *c, const create_row *row)
{
    int64_t rows = adept_arg_int(c, "row", 0), columns = adept_arg_int(c, "col", 0),
            offset = adept_arg_int(c, "offset", 0);
    adept_dtype dtype = type_or(c, ADEPT_I64);
    const int64_t most = 1 << 20;
    if (rows < 0 || columns < 0 || rows > most || columns > most || offset < -most || offset > most)
        adept_call_fail(c, "a triangle of absurd size");
    if (!adept_call_ok(c)) return;
    int64_t n = row == &tril_indices ? below_diagonal(rows, columns, offset)
                                     : rows * columns - below_diagonal(rows, columns, offset - 1);
    adept_out_tensor(c, dtype, 2, (const int64_t[]){2, n});
}

/* ---------------------------------------------------------------- Python numbers ---------------- */

typedef struct numbers {
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS];
    bool known;
    int n;
    double values[ADEPT_MAX_KNOWN_VALUES];
    adept_dtype dtype;
} numbers;

/* Nested lists of equal lengths. */
static void put_data(adept_call *c, numbers *out, const adept_value *v, int depth)
{
    if (!adept_value_is_list(v)) {
        if (adept_call_refuse(c, depth != out->ndim || (!adept_host_is_scalar(v) && v->kind != ADEPT_VALUE_TENSOR),
                              "lists of different depth, or elements that are not numbers"))
            return;
        out->dtype = adept_dtype_promote(out->dtype, type_of_number(v));
        if (out->n == ADEPT_MAX_KNOWN_VALUES || !adept_value_as_float(v, &out->values[out->n]))
            out->known = false;
        else
            out->n++;
        return;
    }
    if (adept_call_refuse(c, depth == out->ndim || out->dims[depth] != (int64_t)v->u.list->n,
                          "lists of different length"))
        return;
    for (size_t i = 0; i < v->u.list->n && adept_call_ok(c); i++)
        put_data(c, out, &v->u.list->items[i], depth + 1);
}

static void shape_data(adept_call *c)
{
    const adept_value *v = adept_arg_at(c, 0), *inner = v;
    numbers data = {.known = true, .dtype = ADEPT_DTYPE_NONE};
    int64_t numel = 1;
    if (adept_call_refuse(c, !v, "data expected")) return;
    if (v->kind == ADEPT_VALUE_TENSOR && !strcmp(adept_call_op(c), "aten::as_tensor")) {
        adept_out_alias(c, v->u.t);
        return;
    }
    while (adept_value_is_list(inner) && data.ndim < ADEPT_MAX_DIMS) {
        if (adept_call_refuse(c, __builtin_mul_overflow(numel, (int64_t)inner->u.list->n, &numel) || numel > 1000000,
                              "more than a million numbers"))
            return;
        data.dims[data.ndim++] = (int64_t)inner->u.list->n;
        if (inner->u.list->n == 0) break;
        inner = &inner->u.list->items[0];
    }
    put_data(c, &data, v, 0);
    bool is_scalar_tensor = !strcmp(adept_call_op(c), "aten::scalar_tensor");
    adept_dtype natural = data.dtype == ADEPT_DTYPE_NONE || is_scalar_tensor ? ADEPT_F32 : data.dtype;
    adept_dtype dtype = type_or(c, natural);
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, dtype, data.ndim, data.dims);
    out->requires_grad = false;
    if (data.known && adept_call_ok(c)) adept_tensor_set_values(c, out, data.n, data.values);
}

/* Tracing keeps what a model computes of sizes in tensors. */
static void shape_sizes(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    double values[ADEPT_MAX_DIMS];
    adept_tensor *out = adept_out_tensor(c, ADEPT_I64, 1, (const int64_t[]){self->ndim});
    out->requires_grad = false;
    for (int d = 0; d < self->ndim; d++)
        values[d] = (double)self->dims[d];
    if (adept_call_ok(c) && self->ndim > 0) adept_tensor_set_values(c, out, self->ndim, values);
}

/* ---------------------------------------------------------------- random numbers ---------------- */

/* self.uniform_(), or normal(mean, std) of tensors or with a size. */
static void shape_draw(adept_call *c)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0);
    if (!self && adept_arg_given(c, "size")) {
        out_sized(c, type_or(c, ADEPT_F32));
        return;
    }
    if (!self) self = adept_elem_tensor_at(c, 1); /* normal(0.0, std) */
    if (adept_call_refuse(c, !self, "a tensor expected")) return;
    adept_tensor *out = adept_out_result(c, self, self->dtype, self->ndim, self->dims);
    out->n_values = 0;
    if (!adept_call_inplace(c)) out->requires_grad = false;
}

/* ---------------------------------------------------------------- shape and cost ---------------- */

static void shape(adept_call *c)
{
    const create_row *row = adept_call_data(c);
    switch (row->source) {
    case SIZE:
    case NEW:
        shape_sized(c, row);
        break;
    case LIKE: {
        const adept_tensor *self = adept_arg_tensor(c, "self");
        int64_t format = adept_arg_int(c, "memory_format", ADEPT_FORMAT_PRESERVE);
        adept_tensor *out = adept_out_tensor(c, type_or(c, self->dtype), self->ndim, self->dims);
        out->requires_grad = false;
        if (adept_call_ok(c)) adept_layout_set_format(out, format, self);
        if (adept_call_ok(c)) set_constant(c, out);
        break;
    }
    case FILL: {
        const adept_tensor *self = adept_arg_tensor(c, "self"), *value = adept_elem_tensor_at(c, 1);
        if (value && value->ndim > 0)
            adept_call_fail(c, "a value of no dimensions is needed, not %s", adept_call_shape(c, value));
        /* in place, an expanded one, too */
        adept_tensor *out = adept_call_inplace(c) ? adept_out_alias(c, self) : adept_out_like(c, self);
        if (adept_call_ok(c)) set_constant(c, out);
        break;
    }
    case RANGE:
        shape_range(c);
        break;
    case STEPS:
        shape_vector(c, "steps", 100, ADEPT_F32);
        break;
    case WINDOW:
        shape_window(c);
        break;
    case EYE:
        shape_eye(c);
        break;
    case TRIANGLE:
        shape_triangle(c, row);
        break;
    case DATA:
        shape_data(c);
        break;
    case SHAPE:
        shape_sizes(c);
        break;
    case DRAW:
        shape_draw(c);
        break;
    case PERMUTATION:
        shape_vector(c, "n", 0, ADEPT_I64);
        break;
    }
}

static void cost(adept_call *c, adept_cost *cost)
{
    const create_row *row = adept_call_data(c);
    const adept_tensor *out = adept_result_tensor(c, 0);
    if (row->content == NOTHING || adept_elem_on_host(out)) return;
    if (row->source == DATA && adept_elem_tensor_at(c, 0)) return; /* as_tensor of a tensor */
    if (row->kernels.launches > 0) {
        adept_elem_chain(cost, ADEPT_FORWARD, out, &row->kernels, 0);
        return;
    }
    /* start + i * step; constants take no arithmetic */
    double flops = row->source == RANGE || row->source == STEPS ? 2 : row->flops;
    adept_elem_forward(cost, out, flops, 0);
    bool overwrites = row->source == FILL || (row->source == DRAW && adept_call_inplace(c));
    const adept_tensor *self = overwrites ? adept_elem_tensor_at(c, 0) : NULL;
    if (adept_cost_wants_grad(cost, self)) adept_elem_fill(cost, ADEPT_BACKWARD, out); /* overwritten: zeros */
    const adept_tensor *value = row->source == FILL ? adept_elem_tensor_at(c, 1) : NULL;
    if (adept_cost_wants_grad(cost, value)) adept_elem_grad_to(cost, out, value);
}

const adept_handler adept_handler_create = {
    .kind = "create", .shard = ADEPT_SHARD_REPLICATE, .ops = ops, .shape = shape, .cost = cost};

/* ---------------------------------------------------------------- random numbers ---------------- */

static const adept_op random_ops[] = {
    {"aten::rand", ADEPT_CAST_NONE, &(const create_row){SIZE, RANDOM, ADEPT_F32, .flops = 1}},
    {"aten::randn", ADEPT_CAST_NONE, &(const create_row){SIZE, RANDOM, ADEPT_F32, .flops = 5}},
    {"aten::randint", ADEPT_CAST_NONE, &(const create_row){SIZE, RANDOM, ADEPT_I64, .flops = 2}},
    {"aten::rand_like", ADEPT_SHARD_ELEMENTWISE, &(const create_row){LIKE, RANDOM, .flops = 1}},
    {"aten::randn_like", ADEPT_SHARD_ELEMENTWISE, &(const create_row){LIKE, RANDOM, .flops = 5}},
    {"aten::randint_like", ADEPT_SHARD_ELEMENTWISE, &(const create_row){LIKE, RANDOM, .flops = 2}},
    {"aten::uniform", ADEPT_SHARD_ELEMENTWISE, &(const create_row){DRAW, RANDOM, .flops = 3}},
    {"aten::normal", ADEPT_SHARD_ELEMENTWISE, &(const create_row){DRAW, RANDOM, .flops = 7}},
    {"aten::exponential", ADEPT_SHARD_ELEMENTWISE, &(const create_row){DRAW, RANDOM, .flops = 3}},
    {"aten::random", ADEPT_SHARD_ELEMENTWISE, &(const create_row){DRAW, RANDOM, .flops = 2}},
    {"aten::randperm", ADEPT_CAST_NONE, &(const create_row){PERMUTATION, RANDOM, .flops = 1}},
    {0},
};

const adept_handler adept_handler_random = {
    .kind = "random", .shard = ADEPT_SHARD_REPLICATE, .ops = random_ops, .shape = shape, .cost = cost};
