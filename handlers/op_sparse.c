/* Sparse tensors: values and their coordinates (COO), or those of the values with where each row begins (CSR).
 *
 * An operator on a sparse tensor goes by the name "sparse::NAME" here, where "aten::NAME" is the one on dense ones.
 * Products read each operand once; of a dense one that is what caches leave of a row for each value. */
#include "chosen.h"
#include "elementwise_cost.h"
#include "form.h"
#include "gemm_cost.h"
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- arguments ---------------- */

static const adept_tensor *sparse_at(adept_call *c, int position)
{
    const adept_tensor *t = adept_form_tensor(c, position);
    adept_call_refuse(c, !t->sparse, "%s is not sparse", adept_call_shape(c, t));
    return t;
}

/* add + a b, or a b. */
typedef struct product {
    const adept_tensor *add, *a, *b;
    double a_values;         /* how many of them a has */
    double pairs;            /* of a value of a and one of b that meet */
    double a_bytes, b_bytes; /* as they are stored */
} product;

static bool is_matrix(const adept_tensor *t)
{
    return t->ndim == 2;
}

static double values_of(const adept_tensor *t)
{
    return (double)(t->sparse ? t->stored : adept_tensor_numel(t));
}

/* The matrix of a product that is sparse by its name alone is an input of the model, which is written as dense. */
static bool is_input(const product *p)
{
    return !p->a->sparse && !p->b->sparse;
}

static bool both_sparse(const product *p)
{
    return p->a->sparse && p->b->sparse;
}

static product read_product(adept_call *c)
{
    bool added = strstr(adept_call_op(c), "addmm") != NULL;
    product p = {.add = added ? adept_form_tensor(c, 0) : NULL,
                 .a = adept_form_tensor(c, added),
                 .b = adept_form_tensor(c, added + 1)};
    bool fits = is_matrix(p.a) && is_matrix(p.b) && p.a->dims[1] == p.b->dims[0];
    if (adept_call_refuse(c, !fits, "%s and %s do not fit", adept_call_shape(c, p.a), adept_call_shape(c, p.b)))
        return p;
    if (p.add && (both_sparse(&p) || p.add->sparse)) adept_call_unsupported(c, "a sum that is sparse");
    p.a_values = is_input(&p) ? (double)adept_call_chosen(c, adept_tensor_numel(p.a)) : values_of(p.a);
    p.pairs = p.a_values * values_of(p.b) / fmax(1, (double)p.a->dims[1]);
    p.a_bytes =
        is_input(&p) ? p.a_values * (adept_dtype_bytes(p.a->dtype) + 2 * sizeof(int64_t)) : adept_elem_read(p.a);
    p.b_bytes = adept_elem_read(p.b);
    return p;
}

/* Values of the product of two sparse matrices, at most all of it. */
static int64_t made_of(double pairs, const int64_t *dims)
{
    return (int64_t)fmin(ceil(pairs), (double)dims[0] * (double)dims[1]);
}

static const char all_stored[] = "all elements are taken for values of the sparse tensor (--assume-fraction F takes a "
                                 "share)";
static const char spread[] = "values are taken for evenly spread, and each product of two for a value of its own";

/* ---------------------------------------------------------------- shapes ---------------- */

static void shape_make(adept_call *c)
{
    bool rows = adept_arg_given(c, "crow_indices");
    const adept_tensor *values = adept_arg_tensor(c, "values"),
                       *indices = adept_arg_tensor(c, rows ? "col_indices" : "indices");
    int64_t size[ADEPT_MAX_DIMS];
    int ndim = adept_arg_ints(c, "size", size, ADEPT_MAX_DIMS);
    if (!adept_call_ok(c)) return;
    if (ndim < 0) {
        adept_call_unsupported(c, "its size depends on the indices; give it, as sparse_coo_tensor(..., size=...)");
        return;
    }
    bool fits = values->ndim == 1 && indices->ndim == (rows ? 1 : 2) &&
                indices->dims[indices->ndim - 1] == values->dims[0] && (rows ? ndim == 2 : indices->dims[0] == ndim);
    if (adept_call_refuse(c, !fits, "indices %s, values %s and %d sizes do not fit", adept_call_shape(c, indices),
                          adept_call_shape(c, values), ndim))
        return;
    adept_out_sparse(c, rows ? ADEPT_CSR : ADEPT_COO, values->dtype, ndim, size, values->dims[0]);
}

static void shape_from_dense(adept_call *c)
{
    const adept_tensor *self = adept_form_tensor(c, 0);
    if (adept_call_refuse(c, self->ndim < 1 || self->sparse, "%s is not dense", adept_call_shape(c, self))) return;
    bool rows = strstr(adept_call_op(c), "csr") != NULL;
    if (adept_call_refuse(c, rows && !is_matrix(self), "%s is no matrix", adept_call_shape(c, self))) return;
    adept_call_assumes(c, all_stored);
    adept_out_sparse(c, rows ? ADEPT_CSR : ADEPT_COO, self->dtype, self->ndim, self->dims,
                     adept_call_chosen(c, adept_tensor_numel(self)));
}

static void shape_to_dense(adept_call *c)
{
    const adept_tensor *self = sparse_at(c, 0);
    if (adept_call_ok(c)) adept_out_like(c, self);
}

/* Of `like`, with as many values. */
static void out_like(adept_call *c, const adept_tensor *like)
{
    adept_out_sparse(c, like->sparse, like->dtype, like->ndim, like->dims, like->stored);
}

static void shape_same(adept_call *c)
{
    const adept_tensor *self = sparse_at(c, 0);
    if (adept_call_ok(c)) out_like(c, self);
}

static void shape_values(adept_call *c)
{
    const adept_tensor *self = sparse_at(c, 0);
    if (adept_call_ok(c)) adept_out_tensor(c, self->dtype, 1, &self->stored)->storage = self->storage;
}

static void shape_indices(adept_call *c)
{
    const adept_tensor *self = sparse_at(c, 0);
    const int64_t dims[2] = {self->ndim, self->stored};
    if (adept_call_refuse(c, self->sparse != ADEPT_COO, "%s has no indices", adept_call_shape(c, self))) return;
    adept_out_tensor(c, ADEPT_I64, 2, dims)->storage = self->storage;
}

static void shape_rows(adept_call *c)
{
    const adept_tensor *self = sparse_at(c, 0);
    const int64_t n = strstr(adept_call_op(c), "crow") ? self->dims[0] + 1 : self->stored;
    if (adept_call_refuse(c, self->sparse != ADEPT_CSR, "%s has no rows", adept_call_shape(c, self))) return;
    adept_out_tensor(c, ADEPT_I64, 1, &n)->storage = self->storage;
}

static void shape_count(adept_call *c)
{
    const adept_tensor *self = sparse_at(c, 0);
    if (adept_call_ok(c)) adept_out_int(c, self->stored);
}

/* Dimensions change places, the first two where none are given. */
static void shape_transpose(adept_call *c)
{
    const adept_tensor *self = sparse_at(c, 0);
    int a = adept_call_dim(c, adept_arg_int(c, "dim0", 0), self->ndim);
    int b = adept_call_dim(c, adept_arg_int(c, "dim1", 1), self->ndim);
    if (!adept_call_ok(c)) return;
    adept_tensor turned = *self;
    turned.dims[a] = self->dims[b], turned.dims[b] = self->dims[a];
    out_like(c, &turned);
}

static void shape_product(adept_call *c)
{
    product p = read_product(c);
    const int64_t dims[2] = {p.a->dims[0], p.b->dims[1]};
    if (!adept_call_ok(c)) return;
    if (both_sparse(&p)) {
        adept_call_assumes(c, spread);
        adept_out_sparse(c, p.a->sparse, p.b->dtype, 2, dims, made_of(p.pairs, dims));
        return;
    }
    if (is_input(&p)) adept_call_assumes(c, all_stored);
    if (adept_call_refuse(c, p.add && !adept_broadcasts_to(c, p.add, 2, dims), "the sum does not fit")) return;
    adept_out_tensor(c, p.b->dtype, 2, dims);
}

static void shape_sampled(adept_call *c)
{
    const adept_tensor *self = sparse_at(c, 0), *a = adept_form_tensor(c, 1), *b = adept_form_tensor(c, 2);
    if (!adept_call_ok(c)) return;
    bool fits = is_matrix(self) && is_matrix(a) && is_matrix(b) && a->dims[1] == b->dims[0] &&
                self->dims[0] == a->dims[0] && self->dims[1] == b->dims[1];
    if (!adept_call_refuse(c, !fits, "%s and %s do not make %s", adept_call_shape(c, a), adept_call_shape(c, b),
                           adept_call_shape(c, self)))
        out_like(c, self);
}

/* ---------------------------------------------------------------- cost ---------------- */

/* n values moved, with their coordinates read. */
static void move(adept_cost *cost, adept_pass pass, const adept_tensor *sparse, double flops, double reads)
{
    double n = (double)sparse->stored, values = n * adept_dtype_bytes(sparse->dtype);
    adept_cost_alu(cost, pass, sparse->dtype, n, flops * n, reads * values + adept_tensor_coordinate_bytes(sparse),
                   values);
}

/* Found, then read; their gradients go into zeros. */
static void cost_from_dense(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_form_tensor(c, 0), *out = adept_result_tensor(c, 0);
    adept_chosen_search(cost, self, (double)out->stored);
    move(cost, ADEPT_FORWARD, out, 0, 1);
    if (!adept_cost_wants_grad(cost, self)) return;
    adept_elem_fill(cost, ADEPT_BACKWARD, self);
    move(cost, ADEPT_BACKWARD, out, 0, 1);
}

/* Added into zeros; the gradient is what stands at the coordinates. */
static void cost_to_dense(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = sparse_at(c, 0);
    adept_elem_fill(cost, ADEPT_FORWARD, adept_result_tensor(c, 0));
    move(cost, ADEPT_FORWARD, self, 1, 2);
    if (!adept_cost_wants_grad(cost, self)) return;
    move(cost, ADEPT_BACKWARD, self, 0, 1);
    adept_cost_save(cost, self);
}

/* Coordinates are checked for their least and largest. */
static void cost_make(adept_call *c, adept_cost *cost)
{
    const adept_tensor *out = adept_result_tensor(c, 0);
    double bytes = adept_tensor_coordinate_bytes(out), n = bytes / 8;
    if (!strstr(adept_call_op(c), "unsafe"))
        adept_cost_stream(cost, ADEPT_FORWARD, ADEPT_I64, 2 * n, 2 * n, 2 * bytes, 0, 2);
    if (!adept_cost_wants_grad(cost, adept_arg_tensor(c, "values"))) return;
    move(cost, ADEPT_BACKWARD, out, 0, 1);
    adept_cost_save_bytes(cost, bytes);
}

/* Coordinates made numbers, sorted with their places; values of equal ones added. */
static void cost_coalesce(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = sparse_at(c, 0);
    double n = (double)self->stored, bytes = adept_tensor_bytes(self);
    if (n == 0) return;
    adept_cost_alu(cost, ADEPT_FORWARD, ADEPT_I64, n, n * self->ndim, 8 * n * self->ndim, 8 * n);
    adept_cost_alu(cost, ADEPT_FORWARD, ADEPT_I64, n, n * ceil(log2(n + 1)), 16 * n, 16 * n);
    adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, n, n, bytes + 8 * n, bytes);
}

/* That of compressed rows is turned without moving them: they are columns then. */
static void cost_copy(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = sparse_at(c, 0);
    if (self->sparse == ADEPT_CSR && !strstr(adept_call_op(c), "clone")) return;
    double bytes = adept_tensor_bytes(self);
    adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, (double)self->stored, 0, bytes, bytes);
    if (adept_cost_wants_grad(cost, self))
        adept_cost_alu(cost, ADEPT_BACKWARD, self->dtype, (double)self->stored, 0, bytes, bytes);
}

static void cost_softmax(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = sparse_at(c, 0);
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", -1), self->ndim);
    double n = (double)self->stored, values = n * adept_dtype_bytes(self->dtype), bytes = adept_tensor_bytes(self);
    double rows = (double)adept_tensor_numel(self) / fmax(1, (double)self->dims[dim]);
    double row = fmax(1, n / fmax(1, rows));
    if (n == 0) return;
    adept_softmax_kernel(cost, ADEPT_FORWARD, self->dtype, n, row, bytes, values);
    if (!adept_cost_wants_grad(cost, self)) return;
    adept_softmax_kernel(cost, ADEPT_BACKWARD, self->dtype, n, row, bytes + values, values);
    adept_cost_save(cost, adept_result_tensor(c, 0));
}

/* What is a product of `pairs`, 2 FLOPs each. */
static void multiply(adept_cost *cost, adept_pass pass, adept_dtype dtype, double pairs, double read, double written)
{
    adept_cost_alu(cost, pass, dtype, pairs, 2 * pairs, read, written);
}

/* Of a sparse operand: a dense product. What stands at the coordinates of COO is picked out of it; torch.sparse.mm of
 * CSR computes only that; mm of CSR keeps it all. */
static void gradient_of_sparse(adept_call *c, adept_cost *cost, const product *p, bool left, double out_bytes)
{
    const adept_tensor *sparse = left ? p->a : p->b, *dense = left ? p->b : p->a;
    double values = left ? p->a_values : values_of(p->b), size = adept_dtype_bytes(sparse->dtype);
    double bytes = left ? p->a_bytes : p->b_bytes, read = out_bytes + (left ? p->b_bytes : p->a_bytes);
    bool by_rows = sparse->sparse == ADEPT_CSR;
    adept_cost_save(cost, sparse);
    adept_cost_save(cost, dense);
    if (by_rows && strstr(adept_call_op(c), "_sparse_")) {
        multiply(cost, ADEPT_BACKWARD, sparse->dtype, p->pairs, bytes + read, values * size);
        return;
    }
    double m = (double)sparse->dims[0], n = (double)sparse->dims[1];
    const adept_gemm whole = {
        .dtype = sparse->dtype, .m = m, .n = n, .k = (double)(left ? dense->dims[1] : dense->dims[0]), .batch = 1};
    adept_gemm_kernel(cost, ADEPT_BACKWARD, &whole, 1, read, m * n * size, 0);
    if (!by_rows) adept_cost_alu(cost, ADEPT_BACKWARD, sparse->dtype, values, 0, bytes, values * size);
}

static void cost_product(adept_call *c, adept_cost *cost)
{
    product p = read_product(c);
    const adept_tensor *out = adept_result_tensor(c, 0);
    double sums = p.add ? (double)adept_tensor_numel(out) : 0, out_bytes = adept_tensor_bytes(out);
    if (p.pairs == 0) return;
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, p.pairs, 2 * p.pairs + sums,
                   p.a_bytes + p.b_bytes + adept_elem_read(p.add), out_bytes);
    if (both_sparse(&p)) {
        /* Both are sparse: each gradient is a sparse product with the other turned, of which what stands at the
         * coordinates is kept. */
        const adept_tensor *sides[2] = {p.a, p.b};
        for (int i = 0; i < 2; i++) {
            const adept_tensor *side = sides[i], *other = sides[1 - i];
            if (!adept_cost_wants_grad(cost, side)) continue;
            double pairs = values_of(out) * values_of(other) / fmax(1, (double)out->dims[1 - i]);
            adept_tensor made = *side;
            made.stored = made_of(pairs, side->dims);
            move(cost, ADEPT_BACKWARD, other, 0, 1);
            multiply(cost, ADEPT_BACKWARD, out->dtype, pairs, adept_tensor_bytes(out) + adept_tensor_bytes(other),
                     adept_tensor_bytes(&made));
            move(cost, ADEPT_BACKWARD, side, 0, 1);
            adept_cost_save(cost, p.a);
            adept_cost_save(cost, p.b);
        }
        return;
    }
    if (adept_cost_wants_grad(cost, p.add)) adept_elem_grad_to(cost, out, p.add);
    for (int left = 0; left < 2; left++) {
        const adept_tensor *side = left ? p.a : p.b;
        bool sparse = side->sparse || (left && is_input(&p));
        if (!adept_cost_wants_grad(cost, side)) continue;
        if (sparse)
            gradient_of_sparse(c, cost, &p, left, out_bytes);
        else {
            /* Of a dense operand: the same product with the sparse one turned, of which COO makes a copy. */
            const adept_tensor *other = left ? p.b : p.a;
            double values = left ? values_of(p.b) : p.a_values, bytes = left ? p.b_bytes : p.a_bytes;
            if (other->sparse != ADEPT_CSR) adept_cost_alu(cost, ADEPT_BACKWARD, side->dtype, values, 0, bytes, bytes);
            multiply(cost, ADEPT_BACKWARD, side->dtype, p.pairs, bytes + out_bytes, adept_tensor_bytes(side));
            adept_cost_save(cost, other);
        }
    }
}

/* A dot product for each value; the gradients of the dense operands are sparse products. */
static void cost_sampled(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = sparse_at(c, 0), *side[2] = {adept_form_tensor(c, 1), adept_form_tensor(c, 2)};
    double stored = (double)self->stored, pairs = stored * (double)side[0]->dims[1];
    double bytes = adept_tensor_bytes(self), values = stored * adept_dtype_bytes(self->dtype);
    if (pairs == 0) return;
    adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, pairs, 2 * pairs + stored,
                   bytes + adept_elem_read(side[0]) + adept_elem_read(side[1]), values);
    for (int i = 0; i < 2; i++) {
        if (!adept_cost_wants_grad(cost, side[i])) continue;
        adept_cost_alu(cost, ADEPT_BACKWARD, self->dtype, pairs, 2 * pairs, bytes + adept_elem_read(side[1 - i]),
                       adept_tensor_bytes(side[i]));
        adept_cost_save(cost, self);
        adept_cost_save(cost, side[1 - i]);
    }
}

/* ---------------------------------------------------------------- table ---------------- */

typedef struct task {
    void (*shape)(adept_call *c);
    void (*cost)(adept_call *c, adept_cost *cost); /* NULL: nothing runs */
} task;

static const adept_op ops[] = {
    {"aten::sparse_coo_tensor aten::_sparse_coo_tensor_unsafe aten::sparse_csr_tensor", ADEPT_CAST_NONE,
     &(const task){shape_make, cost_make}},
    {"aten::to_sparse aten::_to_sparse aten::to_sparse_csr", ADEPT_CAST_NONE,
     &(const task){shape_from_dense, cost_from_dense}},
    {"sparse::to_dense sparse::_to_dense", ADEPT_CAST_NONE, &(const task){shape_to_dense, cost_to_dense}},
    {"sparse::coalesce sparse::_coalesce", ADEPT_CAST_NONE, &(const task){shape_same, cost_coalesce}},
    {"sparse::clone", ADEPT_CAST_NONE, &(const task){shape_same, cost_copy}},
    {"sparse::t sparse::transpose", ADEPT_CAST_NONE, &(const task){shape_transpose, cost_copy}},
    {"sparse::values sparse::_values", ADEPT_CAST_NONE, &(const task){shape_values, NULL}},
    {"sparse::indices sparse::_indices", ADEPT_CAST_NONE, &(const task){shape_indices, NULL}},
    {"sparse::crow_indices sparse::col_indices", ADEPT_CAST_NONE, &(const task){shape_rows, NULL}},
    {"sparse::_nnz", ADEPT_CAST_NONE, &(const task){shape_count, NULL}},
    {"sparse::_sparse_softmax sparse::_sparse_log_softmax", ADEPT_CAST_NONE, &(const task){shape_same, cost_softmax}},
    {"aten::_sparse_mm sparse::_sparse_mm sparse::mm sparse::matmul aten::_sparse_addmm sparse::_sparse_addmm "
     "sparse::addmm",
     ADEPT_CAST_NONE, &(const task){shape_product, cost_product}},
    {"sparse::sparse_sampled_addmm", ADEPT_CAST_NONE, &(const task){shape_sampled, cost_sampled}},
    {0},
};

static void shape(adept_call *c)
{
    ((const task *)adept_call_data(c))->shape(c);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const task *row = adept_call_data(c);
    if (row->cost) row->cost(c, cost);
}

const adept_handler adept_handler_sparse = {.kind = "sparse", .ops = ops, .shape = shape, .cost = cost};
