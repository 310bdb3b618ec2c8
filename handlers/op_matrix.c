/* Matrices made of vectors and of other matrices, and numbers made of matrices: diagonals, Kronecker and cross
 * products, covariances, norms. */
#include "elementwise_cost.h"
#include "form.h"
#include "gemm_cost.h"
#include "layout.h"
#include <math.h>
#include <string.h>

static bool overflows(adept_call *c, int64_t a, int64_t b, int64_t *product)
{
    return adept_call_refuse(c, __builtin_mul_overflow(a, b, product), "%lld times %lld elements", (long long)a,
                             (long long)b);
}

/* ---------------------------------------------------------------- diagonals ---------------- */

static void put_square(adept_call *c, const adept_tensor *x, int64_t n)
{
    int64_t offset = adept_arg_int(c, "diagonal", adept_arg_int(c, "offset", 0));
    if (adept_call_refuse(c, offset < -INT32_MAX || offset > INT32_MAX, "diagonal %lld", (long long)offset)) return;
    n += offset < 0 ? -offset : offset;
    adept_form_out(c, x->dtype, 2, (const int64_t[]){n, n});
}

static void diagflat(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (adept_call_ok(c)) put_square(c, x, adept_tensor_numel(x));
}

/* A vector gives a matrix, a matrix its diagonal. */
static void diag(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (adept_call_refuse(c, x->ndim != 1 && x->ndim != 2, "a vector or a matrix expected")) return;
    if (x->ndim == 1) {
        put_square(c, x, x->dims[0]);
        return;
    }
    int64_t offset = adept_arg_int(c, "diagonal", 0), rows = x->dims[0], cols = x->dims[1];
    if (adept_call_refuse(c, offset < -rows || offset > cols, "diagonal %lld", (long long)offset)) return;
    if (offset > 0) cols -= offset;
    if (offset < 0) rows += offset;
    adept_form_out(c, x->dtype, 1, (const int64_t[]){rows < cols ? rows : cols});
}

static void diag_embed(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t dims[ADEPT_MAX_DIMS], offset = adept_arg_int(c, "offset", 0);
    if (adept_call_refuse(c, x->ndim < 1 || x->ndim >= ADEPT_MAX_DIMS, "%d dimensions", x->ndim)) return;
    if (adept_call_refuse(c, offset < -INT32_MAX || offset > INT32_MAX, "diagonal %lld", (long long)offset)) return;
    int ndim = x->ndim + 1, a = adept_call_dim(c, adept_arg_int(c, "dim1", -2), ndim);
    int b = adept_call_dim(c, adept_arg_int(c, "dim2", -1), ndim);
    if (adept_call_refuse(c, a == b, "the two dimensions are the same")) return;
    int64_t size = x->dims[x->ndim - 1] + (offset < 0 ? -offset : offset);
    for (int d = 0, own = 0; d < ndim; d++)
        dims[d] = d == a || d == b ? size : x->dims[own++];
    adept_form_out(c, x->dtype, ndim, dims);
}

static void block_diag(adept_call *c)
{
    const adept_tensor *const *items;
    size_t n = adept_arg_tensors(c, "tensors", &items);
    int64_t dims[2] = {0, 0};
    adept_dtype dtype = n > 0 && items[0] ? items[0]->dtype : ADEPT_F32;
    for (size_t i = 0; i < n && adept_call_ok(c); i++) {
        const adept_tensor *t = items[i];
        if (adept_call_refuse(c, !t || t->ndim > 2, "matrices expected")) return;
        dtype = adept_dtype_promote(dtype, t->dtype);
        dims[0] += t->ndim == 2 ? t->dims[0] : 1;
        dims[1] += t->ndim > 0 ? t->dims[t->ndim - 1] : 1;
    }
    if (adept_call_ok(c)) adept_form_out(c, dtype, 2, dims);
}

/* ---------------------------------------------------------------- products ---------------- */

/* t with a dimension of size 1 behind each of its own, or before it. */
static adept_tensor spread(const adept_tensor *t, int ndim, int first)
{
    adept_tensor wide = {.ndim = 2 * ndim};
    adept_layout from = adept_layout_of(t);
    for (int d = 0; d < wide.ndim; d++)
        wide.dims[d] = 1;
    for (int d = 0; d < t->ndim; d++)
        wide.dims[2 * (ndim - t->ndim + d) + first] = t->dims[d];
    adept_layout_reshape(&from, wide.ndim, wide.dims, wide.strides);
    return wide;
}

/* PyTorch multiplies both, spread out, and views the product, which a turned factor does not allow. */
static void order_kron(adept_call *c, const adept_tensor *a, const adept_tensor *b, adept_tensor *out)
{
    if (!adept_call_ok(c) || 2 * out->ndim > ADEPT_MAX_DIMS) return;
    const adept_tensor left = spread(a, out->ndim, 0), right = spread(b, out->ndim, 1);
    adept_tensor product = left;
    for (int d = 1; d < product.ndim; d += 2)
        product.dims[d] = right.dims[d];
    adept_strides_contiguous(product.ndim, product.dims, product.strides);
    adept_elem_set_strides(&product, (const adept_tensor *[]){&left, &right}, 2);
    adept_layout from = adept_layout_of(&product);
    if (adept_layout_reshape(&from, out->ndim, out->dims, out->strides)) return;
    adept_strides_contiguous(out->ndim, out->dims, out->strides);
    adept_call_refuse(c, adept_call_order_known(c, a) && adept_call_order_known(c, b),
                      "the order of %s and %s in memory does not allow it", adept_call_shape(c, a),
                      adept_call_shape(c, b));
}

static void kron(adept_call *c)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int d = 0; d < n && adept_call_ok(c); d++) {
        int i = d - (n - a->ndim), k = d - (n - b->ndim);
        overflows(c, i >= 0 ? a->dims[i] : 1, k >= 0 ? b->dims[k] : 1, &dims[d]);
    }
    if (adept_call_ok(c)) order_kron(c, a, b, adept_form_out(c, adept_form_common_type(c), n, dims));
}

/* Dimension `dim` from behind, which is not broadcast. */
static bool has_three(const adept_tensor *t, int dim)
{
    return t->ndim + dim >= 0 && t->dims[t->ndim + dim] == 3;
}

static void cross(adept_call *c)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_broadcast(c, a, b, dims), dim = n - 1;
    if (adept_arg_given(c, "dim")) {
        dim = adept_call_dim(c, adept_arg_int(c, "dim", -1), n);
    } else if (!strcmp(adept_call_op(c), "aten::cross")) { /* the first one that fits */
        for (dim = 0; dim + 1 < n && dims[dim] != 3;)
            dim++;
    }
    bool fits = n > 0 && has_three(a, dim - n) && has_three(b, dim - n);
    if (!adept_call_ok(c) || adept_call_refuse(c, !fits, "a dimension of 3 elements expected")) return;
    adept_form_out(c, a->dtype, n, dims);
}

/* Every column, or every row of a vector's powers. */
static void vander(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t dims[ADEPT_MAX_DIMS];
    if (adept_call_refuse(c, x->ndim >= ADEPT_MAX_DIMS, "%d dimensions", x->ndim)) return;
    memcpy(dims, x->dims, sizeof dims);
    dims[x->ndim] = adept_arg_int(c, "N", x->ndim > 0 ? x->dims[x->ndim - 1] : 1);
    if (adept_call_refuse(c, dims[x->ndim] < 0, "%lld powers", (long long)dims[x->ndim])) return;
    adept_form_out(c, adept_dtype_is_integer(x->dtype) ? ADEPT_I64 : x->dtype, x->ndim + 1, dims);
}

/* Of all vectors given, or of one with itself. */
static void cartesian(adept_call *c)
{
    const adept_tensor *const *items;
    size_t n = adept_arg_tensors(c, "tensors", &items);
    int64_t rows = 1;
    for (size_t i = 0; i < n && adept_call_ok(c); i++)
        if (!adept_call_refuse(c, !items[i] || items[i]->ndim > 1, "vectors expected"))
            overflows(c, rows, adept_tensor_numel(items[i]), &rows);
    if (adept_call_refuse(c, n == 0 || !items[0], "vectors expected")) return;
    adept_form_out(c, items[0]->dtype, n > 1 ? 2 : 1, (const int64_t[]){rows, (int64_t)n});
}

static void combinations(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t r = adept_arg_int(c, "r", 2), n = adept_tensor_numel(x);
    if (adept_call_refuse(c, r < 0 || r > 8, "combinations of %lld", (long long)r)) return;
    if (adept_arg_bool(c, "with_replacement", false)) n += r - 1;
    int64_t rows = 1;
    for (int64_t i = 0; i < r; i++) {
        if (n - i <= 0) rows = 0;
        if (overflows(c, rows, n - i, &rows)) return;
        rows /= i + 1;
    }
    adept_form_out(c, x->dtype, r == 0 ? 1 : 2, (const int64_t[]){r == 0 ? 0 : rows, r});
}

/* ---------------------------------------------------------------- to numbers ---------------- */

static void trace(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (adept_call_refuse(c, x->ndim != 2, "a matrix expected")) return;
    adept_form_out(c, adept_dtype_has_fraction(x->dtype) ? x->dtype : ADEPT_I64, 0, NULL);
}

static double trace_flops(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    return (double)(x->dims[0] < x->dims[1] ? x->dims[0] : x->dims[1]);
}

static void vecdot(adept_call *c)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_broadcast(c, a, b, dims), dim = adept_call_dim(c, adept_arg_int(c, "dim", -1), n);
    if (adept_call_refuse(c, n < 1, "vectors expected")) return;
    memmove(dims + dim, dims + dim + 1, (size_t)(n - dim - 1) * sizeof *dims);
    adept_form_out(c, a->dtype, n - 1, dims);
}

/* Of the two dimensions `dim`; those after singular values ("nuc", 2, -2) cost a decomposition. */
static void matrix_norm(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t pair[2] = {-2, -1}, dims[ADEPT_MAX_DIMS];
    if (adept_arg_given(c, "dim") && adept_arg_ints(c, "dim", pair, 2) != 2)
        adept_call_fail(c, "two dimensions expected");
    if (adept_call_refuse(c, x->ndim < 2, "a matrix expected")) return;
    int a = adept_call_dim(c, pair[0], x->ndim), b = adept_call_dim(c, pair[1], x->ndim), n = 0;
    if (adept_call_refuse(c, a == b, "the two dimensions are the same")) return;
    for (int d = 0; d < x->ndim; d++)
        if ((d != a && d != b) || adept_arg_bool(c, "keepdim", false)) dims[n++] = d == a || d == b ? 1 : x->dims[d];
    adept_form_out(c, adept_dtype_real(x->dtype), n, dims);
}

static double matrix_norm_flops(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    const adept_value *ord = adept_arg(c, "ord");
    int64_t pair[2] = {-2, -1};
    double order = 0;
    bool nuclear = ord && ord->kind == ADEPT_VALUE_STRING && !strcmp(ord->u.s, "nuc");
    bool spectral = ord && adept_value_as_float(ord, &order) && fabs(order) == 2;
    if (!nuclear && !spectral) return 2 * (double)adept_tensor_numel(x);
    if (adept_arg_given(c, "dim")) adept_arg_ints(c, "dim", pair, 2);
    return adept_form_singular_flops(x, adept_call_dim(c, pair[0], x->ndim), adept_call_dim(c, pair[1], x->ndim));
}

/* ---------------------------------------------------------------- inverse of a tensor ---------------- */

/* The first `ind` dimensions are the rows, the others the columns. */
static void tensorinv(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t ind = adept_arg_int(c, "ind", 2), dims[ADEPT_MAX_DIMS];
    if (adept_call_refuse(c, ind < 1 || ind >= x->ndim, "%lld of %d dimensions", (long long)ind, x->ndim)) return;
    for (int d = 0; d < x->ndim; d++)
        dims[d] = x->dims[(d + ind) % x->ndim];
    adept_form_out(c, x->dtype, x->ndim, dims);
}

/* The solution has the dimensions of A that follow those of B; `dims` of A are moved to its end before. */
static void tensorsolve(adept_call *c)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t moved[ADEPT_MAX_DIMS], order[ADEPT_MAX_DIMS], dims[ADEPT_MAX_DIMS];
    unsigned last = 0;
    int n_moved = adept_arg_ints(c, "dims", moved, ADEPT_MAX_DIMS), n = 0;
    for (int i = 0; i < n_moved; i++)
        last |= 1u << adept_call_dim(c, moved[i], a->ndim);
    if (adept_call_refuse(c, b->ndim > a->ndim, "%d of %d dimensions", b->ndim, a->ndim)) return;
    for (int d = 0; d < a->ndim; d++)
        if (!(last >> d & 1)) order[n++] = a->dims[d];
    for (int i = 0; i < n_moved && n < a->ndim; i++)
        order[n++] = a->dims[adept_call_dim(c, moved[i], a->ndim)];
    n = a->ndim - b->ndim;
    for (int d = 0; d < n; d++)
        dims[d] = order[d + b->ndim];
    adept_form_out(c, b->dtype, n, dims);
}

static double side(adept_call *c)
{
    return sqrt((double)adept_tensor_numel(adept_form_tensor(c, 0)));
}

static double tensorinv_flops(adept_call *c)
{
    double n = side(c);
    return 2 * n * n * n;
}

static double tensorsolve_flops(adept_call *c)
{
    double n = side(c);
    return 2 * n * n * n / 3 + 2 * n * n;
}

/* ---------------------------------------------------------------- table ---------------- */

/* elements that are placed: a copy each way */
#define PLACED(shape)                                                                                                  \
    &(const adept_form)                                                                                                \
    {                                                                                                                  \
        shape, {0, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL                                                   \
    }

static const adept_form cross_row = {cross, {3, 0, 1}, {6, 0, 2}, ADEPT_KEEPS_ARGUMENTS,
                                     NULL,  NULL}; /* two products, a difference */

static const adept_op ops[] = {
    {"aten::diag", ADEPT_CAST_NONE, PLACED(diag)},
    {"aten::diagflat", ADEPT_CAST_NONE, PLACED(diagflat)},
    {"aten::diag_embed", ADEPT_CAST_NONE, PLACED(diag_embed)},
    {"aten::block_diag", ADEPT_CAST_NONE, PLACED(block_diag)},
    {"aten::cartesian_prod", ADEPT_CAST_NONE, PLACED(cartesian)},
    {"aten::combinations", ADEPT_CAST_NONE, PLACED(combinations)},
    {"aten::trace", ADEPT_CAST_NONE,
     &(const adept_form){trace, {0, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, trace_flops, NULL}},
    {"aten::kron", ADEPT_CAST_NONE, &(const adept_form){kron, {1, 0, 1}, {4, 2, 4}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    {"aten::cross aten::linalg_cross", ADEPT_CAST_FP32, &cross_row},
    {"aten::vander", ADEPT_CAST_NONE,
     &(const adept_form){
         vander, {1, 3, 5}, {5, 7, 9}, ADEPT_KEEPS_BOTH, NULL, NULL}}, /* written in parts, then flipped */
    {"aten::linalg_vander", ADEPT_CAST_NONE,
     &(const adept_form){vander, {1, 1, 2}, {5, 5, 6}, ADEPT_KEEPS_BOTH, NULL, NULL}},
    {"aten::linalg_vecdot", ADEPT_CAST_FP32,
     &(const adept_form){vecdot, {2, 1, 2}, {2, 0, 2}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    {"aten::linalg_matrix_norm", ADEPT_CAST_FP32,
     &(const adept_form){matrix_norm, {0, 0, 1}, {1, 1, 3}, ADEPT_KEEPS_BOTH, matrix_norm_flops, NULL}},
    /* backward two products; of the solution two for each right-hand side */
    {"aten::linalg_tensorinv", ADEPT_CAST_FP32,
     &(const adept_form){tensorinv, {0, 0, 1}, {2, 0, 1}, ADEPT_KEEPS_RESULTS, tensorinv_flops, NULL}},
    {"aten::linalg_tensorsolve", ADEPT_CAST_FP32,
     &(const adept_form){tensorsolve, {0, 0, 1}, {1, 0, 1}, ADEPT_KEEPS_BOTH, tensorsolve_flops, NULL}},
    {0},
};

const adept_handler adept_handler_matrix = {
    .kind = "matrix", .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost};

/* ---------------------------------------------------------------- covariances ---------------- */

static const adept_op covariance_ops[] = {
    {"aten::cov aten::corrcoef", ADEPT_CAST_FP32, NULL},
    {0},
};

static void covariance_shape(adept_call *c)
{
    const adept_tensor *x = adept_arg_tensor(c, adept_arg(c, "input") ? "input" : "self");
    if (adept_call_refuse(c, x->ndim > 2, "a matrix expected") || !adept_call_ok(c)) return;
    int64_t n = x->ndim == 2 ? x->dims[0] : 1;
    adept_dtype dtype = adept_dtype_has_fraction(x->dtype) ? x->dtype : ADEPT_F32;
    adept_out_tensor(c, dtype, n == 1 ? 0 : 2, (const int64_t[]){n, n});
}

/* The rows less their means, their product with themselves, a division; of correlations two more by the deviations. */
static void covariance_cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *x = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    double n = (double)adept_tensor_numel(x), rows = x->ndim == 2 ? (double)x->dims[0] : 1;
    double size = adept_dtype_bytes(x->dtype), divisions = strcmp(adept_call_op(c), "aten::corrcoef") ? 1 : 3;
    if (n == 0) return;
    bool wanted = adept_cost_wants_grad(cost, x);
    adept_cost_stream(cost, ADEPT_FORWARD, x->dtype, 2 * n, 2 * n, 2 * n * size, n * size + rows * size, 2);
    adept_gemm_side centred = {NULL, n * size, n, size, wanted};
    adept_gemm_cost(cost, &(adept_gemm){.dtype = x->dtype,
                                        .m = rows,
                                        .n = rows,
                                        .k = n / rows,
                                        .batch = 1,
                                        .a = centred,
                                        .b = centred,
                                        .out_bytes = rows * rows * size});
    adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){divisions, divisions, divisions, divisions}, 0);
    if (!wanted) return;
    adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){divisions, divisions, divisions, divisions}, 0);
    adept_cost_stream(cost, ADEPT_BACKWARD, x->dtype, 3 * n, 3 * n, 4 * n * size, 2 * n * size + rows * size, 3);
}

const adept_handler adept_handler_covariance = {
    .kind = "matmul", .ops = covariance_ops, .shape = covariance_shape, .cost = covariance_cost};
