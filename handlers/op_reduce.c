/* Reductions over some or all dimensions: sums, means, products, norms, variances, any and all; largest and smallest
 * elements; running sums, products and extrema. */
#include "elementwise_cost.h"
#include "form.h"
#include "host_value.h"
#include <math.h>
#include <string.h>

/* Argument `dim` (one, a list, or omitted and empty for all) and `keepdim` of a reduction of t: the result's shape.
 * Returns its number of dimensions. */
static int reduce_dims(adept_call *c, const adept_tensor *t, int64_t *dims)
{
    int64_t given[ADEPT_MAX_DIMS];
    unsigned removed = 0;
    int n = adept_arg_ints(c, "dim", given, ADEPT_MAX_DIMS), ndim = 0;
    bool keep = adept_arg_bool(c, "keepdim", false);
    for (int i = 0; i < n; i++) {
        unsigned bit = 1u << adept_call_dim(c, given[i], t->ndim);
        if (removed & bit) adept_call_fail(c, "dimension %lld occurs twice", (long long)given[i]);
        removed |= bit;
    }
    if (n <= 0) removed = ~0u;
    for (int d = 0; d < t->ndim; d++) {
        bool gone = removed >> d & 1;
        if (!gone || keep) dims[ndim++] = gone ? 1 : t->dims[d];
    }
    return ndim;
}

/* A single dimension, argument `dim`; fails the call on a tensor that is empty along it. */
static int reduce_dim(adept_call *c, const adept_tensor *t, int64_t fallback)
{
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", fallback), t->ndim);
    if (adept_call_ok(c) && t->ndim > 0 && t->dims[dim] == 0) adept_call_fail(c, "nothing along dimension %d", dim);
    return dim;
}

/* Argument dtype, else what sums use: i64 for integers and bool. */
static adept_dtype sum_type(adept_call *c, const adept_tensor *t)
{
    if (adept_arg_given(c, "dtype")) return adept_arg_dtype(c, "dtype");
    return adept_dtype_is_integer(t->dtype) || t->dtype == ADEPT_BOOL ? ADEPT_I64 : t->dtype;
}

/* Sums, means, products, norms, variances over some or all dimensions; any and all. */
typedef enum result_type {
    SUM_TYPE,
    SAME_TYPE,
    REAL_TYPE, /* SAME_TYPE, but of complex numbers the first result is real */
    BOOL_TYPE,
    COUNT_TYPE
} result_type;

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
static const reduction norm = {REAL_TYPE, 2, {0, 0, 0, 0}, {2, 1, 2, 4}, 1, 1, 1};
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
    /* zeros for what is not a number, sum, count of the others; backward grad / count, and that mask */
    {"aten::nanmean", ADEPT_CAST_NONE, &(const reduction){SAME_TYPE, 4, {0, 2, 2, 3}, {2, 1, 2, 2}, 1, 0, 1}},
    {"aten::prod", ADEPT_CAST_FP32, &prod},
    {"aten::norm aten::frobenius_norm aten::linalg_vector_norm", ADEPT_CAST_FP32, &norm},
    {"aten::linalg_norm", ADEPT_CAST_NONE, &norm},
    /* (x - mean)^2: a sum for the mean, subtraction, square, sum. Backward c * grad * (self - mean(self)) */
    {"aten::var", ADEPT_SHARD_ROWS, &(const reduction){REAL_TYPE, 4, {0, 0, 0, 0}, {3, 1, 2, 4}, 2, 0, 1}},
    {"aten::std", ADEPT_SHARD_ROWS, &(const reduction){REAL_TYPE, 4, {0, 0, 0, 0}, {3, 1, 2, 8}, 2, 1, 1}},
    /* and the mean's own gradient, added */
    {"aten::var_mean", ADEPT_SHARD_ROWS, &(const reduction){REAL_TYPE, 4, {0, 0, 0, 0}, {5, 3, 4, 6}, 2, 0, 2}},
    {"aten::std_mean", ADEPT_SHARD_ROWS, &(const reduction){REAL_TYPE, 4, {0, 0, 0, 0}, {5, 3, 4, 10}, 2, 1, 2}},
    {"aten::logsumexp", ADEPT_SHARD_ROWS | ADEPT_CAST_FP32, &logsumexp},
    {"aten::any", ADEPT_CAST_NONE, &any},
    {"aten::all", ADEPT_CAST_NONE, &all},
    {"aten::count_nonzero", ADEPT_CAST_NONE, &(const reduction){COUNT_TYPE, 2, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0, 1}},
    {0},
};

/* ---------------------------------------------------------------- Python lists ---------------- */

/* ---------------------------------------------------------------- tensors ---------------- */

static adept_dtype type_of(adept_call *c, const reduction *row, const adept_tensor *self)
{
    adept_dtype dtype = sum_type(c, self);
    if (row->type == BOOL_TYPE) return self->dtype == ADEPT_U8 ? ADEPT_U8 : ADEPT_BOOL;
    if (row->type == COUNT_TYPE) return ADEPT_I64;
    bool number = adept_dtype_has_fraction(dtype);
    if (row == &logsumexp && !number) return ADEPT_F32;
    if ((row->type == SAME_TYPE || row->type == REAL_TYPE) && !number)
        adept_call_fail(c, "not defined for %s", adept_dtype_name(self->dtype));
    return dtype;
}

static void shape(adept_call *c)
{
    const reduction *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    int64_t dims[ADEPT_MAX_DIMS];
    if (adept_value_is_list(v)) {
        /* sum, any, all of a list of numbers */
        const adept_list *list = v->u.list;
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
        return;
    }
    const adept_tensor *self = adept_elem_self(c);
    if (!self) return;
    int ndim = reduce_dims(c, self, dims);
    const adept_value *dim = adept_arg(c, "dim");
    if (row == &logsumexp && ndim < self->ndim && adept_value_is_list(dim) && dim->u.list->n == 0)
        adept_call_fail(
            c, "over no dimension, but without them"); /* PyTorch adds the largest, with all dimensions, to it */
    adept_dtype dtype = type_of(c, row, self);
    if (!adept_call_ok(c)) return;
    adept_out_tensor(c, row->type == REAL_TYPE ? adept_dtype_real(dtype) : dtype, ndim, dims);
    for (int i = 1; i < row->results; i++)
        adept_out_tensor(c, dtype, ndim, dims);
}

static adept_chain norm_backward(adept_call *c)
{
    const char *name = adept_arg(c, "ord") ? "ord" : "p";
    const adept_value *v = adept_arg(c, name);
    double p = v && v->kind == ADEPT_VALUE_STRING ? 2 /* "fro" */ : adept_arg_float(c, name, 2);
    if (p == 2) return norm.backward;
    if (p == 1) return (adept_chain){2, 1, 2, 2};   /* sign(self) * grad */
    if (isinf(p)) return (adept_chain){5, 4, 4, 6}; /* sign(self) * (|self| == norm) * (grad / count) */
    return (adept_chain){6, 3, 4, 6};               /* self * |self| ** (p - 2) * (grad / norm ** (p - 1)) */
}

/* linalg_norm of matrices by their singular values: "nuc", 2 and -2 of two dimensions. */
static bool is_spectral(adept_call *c, const adept_tensor *self)
{
    const adept_value *ord = adept_arg(c, "ord");
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "dim", dims, ADEPT_MAX_DIMS);
    double order;
    if (strcmp(adept_call_op(c), "aten::linalg_norm") != 0 || !ord || (n >= 0 ? n : self->ndim) != 2) return false;
    if (ord->kind == ADEPT_VALUE_STRING) return !strcmp(ord->u.s, "nuc");
    return adept_value_as_float(ord, &order) && fabs(order) == 2;
}

static double spectral_flops(adept_call *c, const adept_tensor *self)
{
    int64_t dims[ADEPT_MAX_DIMS] = {0, 1};
    adept_arg_ints(c, "dim", dims, ADEPT_MAX_DIMS);
    return adept_form_singular_flops(self, adept_call_dim(c, dims[0], self->ndim),
                                     adept_call_dim(c, dims[1], self->ndim));
}

static void cost(adept_call *c, adept_cost *cost)
{
    const reduction *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    if (!self || !out || adept_elem_all_on_host(c) || adept_tensor_numel(self) == 0) return;
    double n = (double)adept_tensor_numel(self), out_bytes = adept_tensor_bytes(out);
    double kernels_over_self = row == &logsumexp ? 4 : 1;
    double product = row == &prod ? adept_elem_product(self->dtype) : 1;
    double flops = is_spectral(c, self) ? spectral_flops(c, self) : n * (product * row->flops + row->forward.flops);
    adept_cost_stream(cost, ADEPT_FORWARD, self->dtype, n * kernels_over_self, flops,
                      adept_elem_read(self) + row->forward.reads * adept_tensor_bytes(self),
                      row->results * out_bytes + row->forward.writes * adept_tensor_bytes(self),
                      1 + row->forward.launches);
    if (!adept_cost_wants_grad(cost, self)) return;
    adept_chain chain = row == &norm ? norm_backward(c) : row->backward;
    chain.flops *= adept_elem_product(self->dtype);
    double grad = chain.launches > 0 ? out_bytes : 0;
    adept_elem_chain(cost, ADEPT_BACKWARD, self, &chain,
                     grad + row->reads_self * adept_elem_read(self) + row->reads_result * out_bytes);
    if (row->reads_self) adept_cost_save(cost, self);
    if (row->reads_result) adept_cost_save(cost, out);
}

const adept_handler adept_handler_reduce = {
    .kind = "reduce", .shard = ADEPT_SHARD_REDUCED, .ops = ops, .shape = shape, .cost = cost};

/* ---------------------------------------------------------------- extrema ---------------- */

/* Largest and smallest elements: max, min (all, along a dimension with indices, of two tensors), amax, amin, argmax,
 * argmin, aminmax. One comparison per element. */

typedef enum extremum_kind { VALUE /* max, min */, AMAX, ARG, BOTH } extremum_kind;

typedef struct extremum {
    extremum_kind kind;
    adept_fn fn;
} extremum;

static const extremum max = {VALUE, ADEPT_FN_MAX};

static const adept_op extremum_ops[] = {
    {"aten::max", ADEPT_ROLE_SCORES, &max},
    {"aten::min", ADEPT_CAST_NONE, &(const extremum){VALUE, ADEPT_FN_MIN}},
    {"aten::amax", ADEPT_SHARD_REDUCED, &(const extremum){AMAX, ADEPT_FN_MAX}},
    {"aten::amin", ADEPT_SHARD_REDUCED, &(const extremum){AMAX, ADEPT_FN_MIN}},
    {"aten::argmax", ADEPT_CAST_NONE, &(const extremum){ARG, ADEPT_FN_MAX}},
    {"aten::argmin", ADEPT_CAST_NONE, &(const extremum){ARG, ADEPT_FN_MIN}},
    {"aten::aminmax", ADEPT_CAST_NONE, &(const extremum){BOTH, ADEPT_FN_NONE}},
    {0},
};

/* The form of max and min: of two tensors, along a dimension (with indices), or of all elements. */
static const adept_value *other_of(const adept_call *c)
{
    const adept_value *other = adept_arg(c, "other");
    return other && other->kind == ADEPT_VALUE_TENSOR ? other : NULL;
}

static bool gives_indices(const adept_call *c)
{
    return ((const extremum *)adept_call_data(c))->kind == VALUE && adept_arg_given(c, "dim");
}

/* ---------------------------------------------------------------- shape ---------------- */

static void extremum_shape(adept_call *c)
{
    const extremum *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0), *other = other_of(c);
    int64_t dims[ADEPT_MAX_DIMS];
    const adept_tensor *self = adept_elem_self(c);
    if (!self) return;
    if (row->kind == VALUE && other) {
        adept_dtype dtype = adept_promote((const adept_value *[]){v, other}, 2);
        adept_host_set_binary(c, adept_elem_out_binary(c, v, other, dtype), row->fn, v, other);
        return;
    }
    int ndim = reduce_dims(c, self, dims);
    if (gives_indices(c)) reduce_dim(c, self, 0);
    if (adept_tensor_numel(self) == 0 && !adept_arg_given(c, "dim")) adept_call_fail(c, "no element to choose from");
    if (adept_tensor_numel(self) == 0 && row->kind == AMAX && adept_call_ok(c)) {
        /* Along none of these dimensions there may be nothing. */
        int64_t list[ADEPT_MAX_DIMS];
        int n = adept_arg_ints(c, "dim", list, ADEPT_MAX_DIMS);
        bool none = n <= 0;
        for (int i = 0; i < n && !none; i++)
            none = self->dims[adept_call_dim(c, list[i], self->ndim)] == 0;
        if (adept_call_ok(c) && none) adept_call_fail(c, "no element to choose from");
    }
    if (!adept_call_ok(c)) return;
    adept_out_tensor(c, row->kind == ARG ? ADEPT_I64 : self->dtype, ndim, dims);
    if (gives_indices(c)) adept_out_tensor(c, ADEPT_I64, ndim, dims);
    if (row->kind == BOTH) adept_out_tensor(c, self->dtype, ndim, dims);
}

/* ---------------------------------------------------------------- cost ---------------- */

/* of two tensors: where(self == other, grad / 2, grad).masked_fill_(self < other, 0), for each */
static void cost_binary(adept_call *c, adept_cost *cost, const adept_tensor *self, const adept_tensor *other)
{
    const adept_tensor *out = adept_result_tensor(c, 0), *operands[2] = {self, other};
    if (adept_elem_all_on_host(c)) return;
    double read = adept_elem_read(self) + adept_elem_read(other);
    adept_elem_forward(cost, out, 1, read);
    for (int i = 0; i < 2; i++) {
        if (!adept_cost_wants_grad(cost, operands[i])) continue;
        adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){5, 4, 3, 5}, 2 * read);
        adept_elem_grad_to(cost, out, operands[i]);
        adept_cost_save(cost, self);
        adept_cost_save(cost, other);
    }
}

static void extremum_backward(adept_call *c, adept_cost *cost, const adept_tensor *self)
{
    const adept_tensor *out = adept_result_tensor(c, 0), *indices = adept_result_tensor(c, 1);
    double out_bytes = adept_tensor_bytes(out), read = adept_elem_read(self) + 2 * out_bytes;
    if (gives_indices(c)) {
        adept_elem_scatter_chosen(cost, self, out, indices);
        return;
    }
    /* shared by equal elements: mask = self == result; mask * grad / sum(mask). All: the division is of one number. */
    bool whole = adept_tensor_numel(out) == 1;
    adept_elem_chain(cost, ADEPT_BACKWARD, self, whole ? &(adept_chain){3, 0, 1, 4} : &(adept_chain){4, 1, 2, 4}, read);
    adept_cost_save(cost, self);
    adept_cost_save(cost, out);
}

static void extremum_cost(adept_call *c, adept_cost *cost)
{
    const extremum *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    const adept_tensor *second = adept_result_tensor(c, 1);
    const adept_value *other = other_of(c);
    if (row->kind == VALUE && other) {
        cost_binary(c, cost, self, other->u.t);
        return;
    }
    double n = (double)adept_tensor_numel(self);
    if (n == 0 || adept_elem_all_on_host(c)) return;
    double written = adept_tensor_bytes(out) + (second ? adept_tensor_bytes(second) : 0);
    adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, n, row->kind == BOTH ? 2 * n : n, adept_elem_read(self), written);
    if (row->kind != ARG && adept_cost_wants_grad(cost, self)) extremum_backward(c, cost, self);
}

const adept_handler adept_handler_extremum = {
    .kind = "extremum", .shard = ADEPT_SHARD_ROWS, .ops = extremum_ops, .shape = extremum_shape, .cost = extremum_cost};

/* ---------------------------------------------------------------- running ---------------- */

/* Running sums, products and extrema along a dimension: one kernel, one operation per element. */

typedef struct scan {
    bool sum_type; /* integers give i64, argument dtype */
    bool indices;  /* second result */
    double flops;
    adept_chain backward; /* over self */
    int reads_self, reads_result;
} scan;

static const adept_op scan_ops[] = {
    /* flip, cumsum, flip */
    {"aten::cumsum", ADEPT_CAST_FP32 | ADEPT_EXTENT_COUNTED, &(const scan){true, false, 1, {1, 3, 3, 3}, 0, 0}},
    /* flip(cumsum(flip(result * grad))) / self, where no element is zero, which is tested first */
    {"aten::cumprod", ADEPT_CAST_FP32, &(const scan){true, false, 1, {4, 5, 5, 6}, 2, 1}},
    /* log(exp(a - max) + exp(b - max)) + max: 6; backward by the same scan of log(grad) - result, both signs */
    {"aten::logcumsumexp", ADEPT_CAST_NONE, &(const scan){false, false, 6, {20, 8, 8, 10}, 1, 1}},
    /* zeros, to which gradients are added at the indices: see cost */
    {"aten::cummax aten::cummin", ADEPT_CAST_NONE, &(const scan){false, true, 1, {1, 2, 1, 1}, 0, 0}},
    {0},
};

static void scan_shape(adept_call *c)
{
    const scan *row = adept_call_data(c);
    const adept_tensor *self = adept_arg_tensor(c, "self");
    adept_dtype dtype = row->sum_type ? sum_type(c, self) : self->dtype;
    bool looks =
        !row->indices || (self->ndim > 0 && adept_tensor_numel(self) > 0); /* cummax takes any of what has none */
    if (looks) adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    adept_out_result(c, self, dtype, self->ndim, self->dims)->n_values = 0;
    if (row->indices) adept_out_tensor(c, ADEPT_I64, self->ndim, self->dims);
}

static void scan_cost(adept_call *c, adept_cost *cost)
{
    const scan *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    const adept_tensor *indices = row->indices ? adept_result_tensor(c, 1) : NULL;
    double n = (double)adept_tensor_numel(self), index_bytes = indices ? adept_tensor_bytes(indices) : 0;
    if (n == 0) return;
    double product = row->reads_result ? adept_elem_product(out->dtype) : 1; /* a running sum needs none */
    adept_chain back = row->backward;
    back.flops *= product;
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, n, product * row->flops * n, adept_elem_read(self),
                   adept_tensor_bytes(out) + index_bytes);
    if (!adept_cost_wants_grad(cost, self)) return;
    if (indices) {
        adept_elem_fill(cost, ADEPT_BACKWARD, self);
        adept_cost_save(cost, self); /* for its sizes only, but kept all the same */
        adept_cost_save(cost, indices);
    }
    adept_elem_chain(cost, ADEPT_BACKWARD, out, &back,
                     index_bytes + row->reads_self * adept_elem_read(self) +
                         row->reads_result * adept_tensor_bytes(out));
    if (row->reads_self) adept_elem_save_input(c, cost, self);
    if (row->reads_result) adept_cost_save(cost, out);
    adept_elem_grad_to(cost, out, self);
}

const adept_handler adept_handler_scan = {
    .kind = "scan", .shard = ADEPT_SHARD_ROWS, .ops = scan_ops, .shape = scan_shape, .cost = scan_cost};
