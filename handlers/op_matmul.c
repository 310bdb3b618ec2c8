/* Matrix products: linear, matmul and its named special cases from vectors to batches of matrices, and tensordot. */
#include "elementwise_cost.h"
#include "gemm_cost.h"
#include <math.h>
#include <string.h>

typedef enum kind {
    ANY,    /* numpy's matmul: ranks 1 and up, batch dimensions broadcast */
    RANKS,  /* the ranks of the form exactly */
    INNER,  /* contraction of both last dimensions */
    SUMMED, /* batch of products added up: addbmm */
    OUTER,  /* an elementwise product in PyTorch, no matrix product */
    LINEAR, /* by a transposed matrix; what is added may be left out */
    DIMS,   /* contraction of the dimensions that arguments name */
    GROUPED, /* rows of a matrix, cut where data says, each group by a matrix of its own: experts of a mixture */
    CHOSEN,  /* the same of tokens that chose so many experts each, at random: some matrices may have no rows */
    PACKED  /* by weights of 4 bits, eight in an i32 or two in a byte, whose number of rows the first dimension tells */
} kind;

typedef struct form {
    kind kind;
    int a_rank, b_rank;
    const char *a, *b, *added; /* argument names; added: what the product is added to, or NULL */
} form;

static const form int_mm = {RANKS, 2, 2, "self", "mat2", NULL}, scaled_mm = {RANKS, 2, 2, "self", "mat2", NULL};

static const adept_op ops[] = {
    {"aten::matmul", ADEPT_CAST_LOWER | ADEPT_ROLE_PRODUCT, &(const form){ANY, 0, 0, "self", "other", NULL}},
    {"aten::linalg_matmul", ADEPT_CAST_LOWER, &(const form){ANY, 0, 0, "input", "other", NULL}},
    {"aten::mm", ADEPT_CAST_LOWER, &(const form){RANKS, 2, 2, "self", "mat2", NULL}},
    {"aten::bmm", ADEPT_CAST_LOWER | ADEPT_ROLE_PRODUCT, &(const form){RANKS, 3, 3, "self", "mat2", NULL}},
    {"aten::mv", ADEPT_CAST_LOWER, &(const form){RANKS, 2, 1, "self", "vec", NULL}},
    {"aten::dot", ADEPT_CAST_PROMOTE, &(const form){RANKS, 1, 1, "self", "tensor", NULL}},
    {"aten::vdot", ADEPT_CAST_PROMOTE, &(const form){RANKS, 1, 1, "self", "other", NULL}},
    {"aten::inner", ADEPT_CAST_PROMOTE, &(const form){INNER, 0, 0, "self", "other", NULL}},
    {"aten::outer aten::ger", ADEPT_CAST_NONE, &(const form){OUTER, 1, 1, "self", "vec2", NULL}},
    {"aten::addr", ADEPT_CAST_LOWER, &(const form){OUTER, 1, 1, "vec1", "vec2", "self"}},
    {"aten::addmv", ADEPT_CAST_LOWER, &(const form){RANKS, 2, 1, "mat", "vec", "self"}},
    {"aten::baddbmm", ADEPT_CAST_LOWER | ADEPT_ROLE_ADDED_PRODUCT,
     &(const form){RANKS, 3, 3, "batch1", "batch2", "self"}},
    {"aten::addbmm", ADEPT_CAST_LOWER, &(const form){SUMMED, 3, 3, "batch1", "batch2", "self"}},
    {"aten::_grouped_mm", ADEPT_CAST_LOWER, &(const form){GROUPED, 2, 3, "self", "mat2", NULL}},
    {"adept::grouped_mm", ADEPT_CAST_LOWER, &(const form){CHOSEN, 2, 3, NULL, NULL, NULL}},
    {"aten::tensordot", ADEPT_CAST_PROMOTE, &(const form){DIMS, 0, 0, "self", "other", NULL}},
    {0},
};

static const adept_op linear_ops[] = {
    {"aten::linear", ADEPT_CAST_LOWER, &(const form){LINEAR, 0, 0, "input", "weight", "bias"}},
    {"quantized::linear quantized::linear_relu quantized::linear_dynamic quantized::linear_relu_dynamic",
     ADEPT_CAST_NONE, &(const form){LINEAR, 0, 0, "X", "weight", "bias"}},
    {"aten::addmm", ADEPT_CAST_LOWER, &(const form){RANKS, 2, 2, "mat1", "mat2", "self"}},
    /* of 8 bits, accumulated in more; no gradient */
    {"aten::_int_mm", ADEPT_CAST_NONE, &int_mm},
    {"aten::_scaled_mm", ADEPT_CAST_NONE, &scaled_mm},
    /* of activations of 16 bits by weights of 8 or 4, which the kernel widens */
    {"aten::_weight_int8pack_mm", ADEPT_CAST_NONE, &(const form){LINEAR, 0, 0, "self", "mat2", NULL}},
    {"aten::_weight_int4pack_mm aten::_weight_int4pack_mm_for_cpu", ADEPT_CAST_NONE,
     &(const form){PACKED, 2, 0, "self", "mat2", NULL}},
    {0},
};

/* A call read: its operands, the shape of its result and the product's sizes. */
typedef struct product {
    const form *form;
    const adept_tensor *a, *b, *added;
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS];
    double m, n, k, batch;
    bool a_copied, b_copied; /* into contiguous memory first */
} product;

static void misfit(adept_call *c, const product *p)
{
    adept_call_fail(c, "cannot multiply %s by %s", adept_call_shape(c, p->a), adept_call_shape(c, p->b));
}

/* Can the batch dimensions of an operand, expanded to those of the result, be seen as one, together with its own
 * dimension `own` if that is not -1? */
static bool batch_merges(const product *p, int n_batch, const adept_tensor *t, int own)
{
    int64_t sizes[ADEPT_MAX_DIMS + 1], strides[ADEPT_MAX_DIMS + 1];
    int missing = n_batch - (t->ndim > 2 ? t->ndim - 2 : 0), n = n_batch;
    for (int i = 0; i < n_batch; i++) {
        sizes[i] = p->dims[i];
        strides[i] = i < missing || t->dims[i - missing] != p->dims[i] ? 0 : t->strides[i - missing];
    }
    if (own >= 0) sizes[n] = t->dims[own], strides[n] = t->strides[own], n++;
    return adept_gemm_dims_merge(n, sizes, strides);
}

/* How PyTorch brings many matrices to one kernel (at::native::matmul, should_fold): a single matrix on the right meets
 * all rows at once if they lie at one stride, or if the matrix wants a gradient, after copying the rows if they do not;
 * on the left it meets all columns. Otherwise the products are a batch, and an operand whose batch dimensions,
 * broadcast, do not merge into one is copied. */
static void fold(product *p, int n_batch)
{
    const adept_tensor *a = p->a, *b = p->b;
    if (n_batch == 0) return;
    if (b->ndim <= 2) {
        bool merges = batch_merges(p, n_batch, a, a->ndim - 2);
        if (merges || b->requires_grad) {
            p->a_copied = !merges;
            p->m *= p->batch, p->batch = 1;
            return;
        }
    } else if (a->ndim <= 2) {
        bool merges = batch_merges(p, n_batch, b, b->ndim - 1);
        if (a->requires_grad || (a->ndim == 1 && merges)) {
            p->b_copied = !merges;
            p->n *= p->batch, p->batch = 1;
            return;
        }
    }
    p->a_copied = a->ndim > 2 && !batch_merges(p, n_batch, a, -1);
    p->b_copied = b->ndim > 2 && !batch_merges(p, n_batch, b, -1);
}

/* Batch dimensions of a and b broadcast, then rows of a, then columns of b; vectors have no rows or columns. */
static void plan_matmul(adept_call *c, product *p)
{
    const adept_tensor *a = p->a, *b = p->b;
    int a_batch = a->ndim > 2 ? a->ndim - 2 : 0, b_batch = b->ndim > 2 ? b->ndim - 2 : 0;
    int64_t k = a->dims[a->ndim - 1];
    if (k != b->dims[b->ndim > 1 ? b->ndim - 2 : 0]) {
        misfit(c, p);
        return;
    }
    int n_batch = p->ndim = adept_broadcast_dims(c, a_batch, a->dims, b_batch, b->dims, p->dims);
    p->batch = adept_dims_elements(p->ndim, p->dims);
    if (a->ndim > 1) p->dims[p->ndim++] = a->dims[a->ndim - 2];
    if (b->ndim > 1) p->dims[p->ndim++] = b->dims[b->ndim - 1];
    p->m = a->ndim > 1 ? (double)a->dims[a->ndim - 2] : 1;
    p->n = b->ndim > 1 ? (double)b->dims[b->ndim - 1] : 1;
    p->k = (double)k;
    fold(p, n_batch);
}

/* result[i.., j..] = sum over k of a[i.., k] b[j.., k] */
static void plan_inner(adept_call *c, product *p)
{
    const adept_tensor *a = p->a, *b = p->b;
    if (a->dims[a->ndim - 1] != b->dims[b->ndim - 1]) {
        misfit(c, p);
        return;
    }
    if (a->ndim + b->ndim - 2 > ADEPT_MAX_DIMS) {
        adept_call_fail(c, "result of %d dimensions; at most %d are supported", a->ndim + b->ndim - 2, ADEPT_MAX_DIMS);
        return;
    }
    for (int i = 0; i + 1 < a->ndim; i++)
        p->dims[p->ndim++] = a->dims[i];
    for (int i = 0; i + 1 < b->ndim; i++)
        p->dims[p->ndim++] = b->dims[i];
    p->m = adept_dims_elements(a->ndim - 1, a->dims);
    p->n = adept_dims_elements(b->ndim - 1, b->dims);
    p->k = (double)a->dims[a->ndim - 1];
    p->batch = 1;
}

/* inner by a number scales. */
static bool is_scaling(const product *p)
{
    return p->form->kind == INNER && (p->a->ndim == 0 || p->b->ndim == 0);
}

static bool is_elementwise(const product *p)
{
    return p->form->kind == OUTER || is_scaling(p);
}

/* y = x A^T + b. Rows of an input of three or more dimensions that do not lie at one stride are copied first. Without a
 * gradient of the weight PyTorch multiplies in batches instead. */
static void plan_linear(adept_call *c, product *p)
{
    const adept_tensor *x = p->a, *w = p->b;
    if (adept_call_refuse(c, x->ndim < 1 || w->ndim < 1 || w->ndim > 2,
                          "input has %d and weight %d dimensions, at least 1 and 1 or 2 are needed", x->ndim, w->ndim))
        return;
    int64_t features = x->dims[x->ndim - 1], wanted = w->dims[w->ndim - 1];
    if (adept_call_refuse(c, features != wanted, "input has %lld features, weight wants %lld", (long long)features,
                          (long long)wanted))
        return;
    for (int i = 0; i + 1 < x->ndim; i++)
        p->dims[p->ndim++] = x->dims[i];
    if (w->ndim == 2) p->dims[p->ndim++] = w->dims[0];
    p->m = adept_dims_elements(x->ndim - 1, x->dims);
    p->n = w->ndim == 2 ? (double)w->dims[0] : 1;
    p->k = (double)features, p->batch = 1;
    p->a_copied = w->requires_grad && x->ndim > 2 && !adept_gemm_dims_merge(x->ndim - 1, x->dims, x->strides);
}

static void mark(adept_call *c, const adept_tensor *t, int64_t dim, bool *gone, int *at)
{
    *at = adept_call_dim(c, dim, t->ndim);
    if (adept_call_ok(c) && (t->ndim == 0 || gone[*at])) adept_call_fail(c, "a dimension is contracted twice");
    if (adept_call_ok(c)) gone[*at] = true;
}

/* The dimensions that stay are part of the result. @return their elements */
static double keep(adept_call *c, product *p, const adept_tensor *t, const bool *gone)
{
    double elements = 1;
    for (int i = 0; i < t->ndim; i++) {
        if (gone[i]) continue;
        elements *= (double)t->dims[i];
        if (adept_call_refuse(c, p->ndim == ADEPT_MAX_DIMS, "result of more than %d dimensions", ADEPT_MAX_DIMS))
            return elements;
        p->dims[p->ndim++] = t->dims[i];
    }
    return elements;
}

/* tensordot: dimensions of the one tensor contracted with dimensions of the other. */
static void plan_dims(adept_call *c, product *p)
{
    bool a_gone[ADEPT_MAX_DIMS] = {false}, b_gone[ADEPT_MAX_DIMS] = {false};
    int64_t a_dims[ADEPT_MAX_DIMS], b_dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "dims_self", a_dims, ADEPT_MAX_DIMS);
    if (adept_arg_ints(c, "dims_other", b_dims, ADEPT_MAX_DIMS) != n || n < 0)
        adept_call_fail(c, "dims_self and dims_other differ in length");
    p->k = p->batch = 1;
    for (int i = 0; i < n && adept_call_ok(c); i++) {
        int da, db;
        mark(c, p->a, a_dims[i], a_gone, &da);
        mark(c, p->b, b_dims[i], b_gone, &db);
        if (!adept_call_ok(c)) return;
        int64_t na = p->a->dims[da], nb = p->b->dims[db];
        if (na != nb && na != 1 && nb != 1) /* against a single one, the others are summed up before */
            adept_call_fail(c, "contracted dimensions of %lld and %lld elements", (long long)na, (long long)nb);
        p->k *= (double)(na < nb ? na : nb);
    }
    p->m = keep(c, p, p->a, a_gone);
    p->n = keep(c, p, p->b, b_gone);
}

/* A token goes to k of E experts, any k alike: one of them meets none of n tokens with probability (1 - k / E)^n. */
static double chosen_groups(adept_call *c, int64_t rows, int64_t groups)
{
    int64_t k = 0;
    const adept_value *v = adept_arg_at(c, 3);
    if (adept_call_refuse(c, !v || !adept_value_as_int(v, &k) || k < 1 || k > groups || rows % k != 0,
                          "no number of experts that a token goes to"))
        return 1;
    return (double)groups * -expm1((double)(rows / k) * log1p(-(double)k / (double)groups));
}

/* How long the groups are is data: each is taken to have as many rows. Fewer rows than groups have one each. */
static void plan_grouped(adept_call *c, product *p)
{
    const int64_t rows = p->a->dims[0], groups = p->b->dims[0];
    if (p->a->dims[1] != p->b->dims[1] || groups == 0) {
        misfit(c, p);
        return;
    }
    p->ndim = 2;
    p->dims[0] = rows, p->dims[1] = p->b->dims[2];
    p->batch = (double)(rows < groups ? rows : groups);
    if (p->form->kind == CHOSEN) p->batch = chosen_groups(c, rows, groups);
    p->m = p->batch > 0 ? (double)rows / p->batch : 0;
    p->n = (double)p->dims[1], p->k = (double)p->a->dims[1];
}

/* bmm and its kin want equal batches; addbmm's sum over the batch leaves one matrix. */
static void check_batch(adept_call *c, product *p)
{
    if (p->a->ndim != 3 || p->b->ndim != 3) return;
    if (p->form->kind != RANKS && p->form->kind != SUMMED) return;
    if (p->a->dims[0] != p->b->dims[0]) {
        misfit(c, p);
        return;
    }
    if (p->form->kind != SUMMED || p->ndim != 3) return;
    p->dims[0] = p->dims[1], p->dims[1] = p->dims[2];
    p->ndim = 2;
}

/* Rows of a matrix, and all rows of a contiguous input, meet bias and weight in one addmm, which wants a matrix. */
static bool bias_wants_matrix(adept_call *c, const adept_tensor *x, const adept_tensor *bias)
{
    if (x->ndim < 3) return x->ndim == 2;
    return (x->ndim == 3 || bias->ndim == 1) && adept_tensor_is_contiguous(x) && adept_call_order_known(c, x);
}

/* Of three dimensions: contiguous rows are those of one matrix, and a bias is added to that. @return all is asked */
static bool fits_rows(adept_call *c, const product *p)
{
    const adept_tensor *t = p->added;
    double columns = t->ndim > 0 ? (double)t->dims[t->ndim - 1] : 1, rows = t->ndim > 1 ? (double)t->dims[0] : 1;
    bool fits = t->ndim < 3 && (columns == 1 || columns == p->n) && (rows == 1 || rows == p->m);
    if (!adept_call_order_known(c, p->a)) return fits;
    bool matrix = adept_tensor_is_contiguous(p->a);
    if (matrix && !fits) adept_call_fail(c, "bias %s of %.0f rows", adept_call_shape(c, t), p->m);
    return matrix;
}

static void check_added(adept_call *c, const product *p)
{
    if (adept_call_ok(c) && p->added && p->form->kind == LINEAR && p->b->ndim == 1 &&
        bias_wants_matrix(c, p->a, p->added))
        adept_call_fail(c, "with a bias, weight %s is no matrix", adept_call_shape(c, p->b));
    bool fused = p->form->kind == LINEAR && (p->a->ndim == 2 || p->a->ndim == 3); /* elsewhere added by itself */
    if (fused && !strcmp(adept_call_op(c), "aten::linear")) adept_call_same_type(c, p->a, p->added);
    if (p->form->kind == LINEAR && p->added && p->a->ndim == 3 && p->b->ndim == 2 && fits_rows(c, p)) return;
    if (p->added && adept_call_ok(c) && !adept_broadcasts_to(c, p->added, p->ndim, p->dims))
        adept_call_fail(c, "%s does not broadcast to the product's shape", adept_call_shape(c, p->added));
}

/* Tiles of 8 rows on a GPU; rows of bytes on a CPU. */
static void plan_packed(adept_call *c, product *p)
{
    int64_t rows = p->b->ndim == 4 ? 8 * p->b->dims[0] : p->b->dims[0], k = p->a->dims[1];
    if (adept_call_refuse(c, p->b->ndim != 4 && p->b->ndim != 2, "%s are no packed weights", adept_call_shape(c, p->b)))
        return;
    double held = (double)adept_tensor_numel(p->b) * adept_dtype_bytes(p->b->dtype) * 2;
    if (held != (double)rows * (double)k) misfit(c, p);
    p->ndim = 2;
    p->dims[0] = p->a->dims[0], p->dims[1] = rows;
    p->m = (double)p->dims[0], p->n = (double)rows, p->k = (double)k, p->batch = 1;
}

static product plan(adept_call *c)
{
    product p = {.form = adept_call_data(c)};
    const form *f = p.form;
    if (f->kind == CHOSEN) { /* adept's own: no schema names its arguments */
        p.a = adept_elem_tensor_at(c, 0), p.b = adept_elem_tensor_at(c, 1);
        if (adept_call_refuse(c, !p.a || !p.b, "two tensors expected")) return p;
    } else {
        p.a = adept_arg_tensor(c, f->a), p.b = adept_arg_tensor(c, f->b);
    }
    if (f->added) p.added = (f->kind == LINEAR ? adept_arg_tensor_opt : adept_arg_tensor)(c, f->added);
    if (!adept_call_ok(c)) return p;
    if (f->kind == INNER && !is_scaling(&p)) adept_call_same_type(c, p.a, p.b);
    bool any = f->kind == ANY || f->kind == INNER;
    bool ranks = any ? p.a->ndim > 0 && p.b->ndim > 0 : p.a->ndim == f->a_rank && p.b->ndim == f->b_rank;
    if (f->kind == PACKED) {
        if (p.a->ndim == 2)
            plan_packed(c, &p);
        else
            misfit(c, &p);
    } else if (f->kind == LINEAR)
        plan_linear(c, &p);
    else if (f->kind == DIMS)
        plan_dims(c, &p);
    else if (is_scaling(&p)) {
        const adept_tensor *scaled = p.a->ndim > 0 ? p.a : p.b;
        p.ndim = scaled->ndim;
        memcpy(p.dims, scaled->dims, sizeof scaled->dims);
        p.m = (double)adept_tensor_numel(scaled), p.n = p.k = p.batch = 1;
    } else if (!ranks)
        misfit(c, &p);
    else if (f->kind == GROUPED || f->kind == CHOSEN)
        plan_grouped(c, &p);
    else if (f->kind == OUTER) {
        p.ndim = 2;
        p.dims[0] = p.a->dims[0], p.dims[1] = p.b->dims[0];
        p.m = (double)p.dims[0], p.n = (double)p.dims[1], p.k = p.batch = 1;
    } else if (f->kind == INNER)
        plan_inner(c, &p);
    else
        plan_matmul(c, &p);
    if (adept_call_ok(c)) check_batch(c, &p);
    check_added(c, &p);
    return p;
}

static void shape(adept_call *c)
{
    product p = plan(c);
    if (!adept_call_ok(c)) return;
    const char *added = p.form->added;
    const adept_value *all[3] = {NULL};
    if (p.form->kind != CHOSEN) all[0] = adept_arg(c, p.form->a), all[1] = adept_arg(c, p.form->b);
    if (added) all[2] = adept_arg(c, added);
    adept_dtype dtype = is_elementwise(&p) ? adept_promote(all, 3) : p.form == &int_mm ? ADEPT_I32 : p.a->dtype;
    if (adept_arg_given(c, "out_dtype")) dtype = adept_arg_dtype(c, "out_dtype");
    if (p.added && p.form->kind != LINEAR)
        adept_out_result(c, p.added, dtype, p.ndim, p.dims);
    else
        adept_out_tensor(c, dtype, p.ndim, p.dims);
    if (p.form == &scaled_mm) adept_out_tensor(c, ADEPT_F32, 0, p.dims); /* before PyTorch 2.5: the largest element */
}

/* A product of the full size, summed to what was broadcast. */
static void factor_gradient(adept_cost *cost, const adept_tensor *out, const adept_tensor *factor,
                            const adept_tensor *other)
{
    double n = (double)adept_tensor_numel(out), bytes = adept_tensor_bytes(out);
    bool summed = (double)adept_tensor_numel(factor) < n;
    double kernels = 1 + summed, sum_bytes = summed ? adept_tensor_unique_bytes(factor) : 0;
    if (adept_cost_wants_grad(cost, factor))
        adept_cost_stream(cost, ADEPT_BACKWARD, out->dtype, kernels * n, (adept_elem_product(out->dtype) + summed) * n,
                          kernels * bytes + adept_tensor_unique_bytes(other), bytes + sum_bytes, kernels);
}

/* A column by a row, or a tensor by a number. Of addr each gradient is a product of matrix and vector. */
static void elementwise_cost(adept_cost *cost, const product *p, const adept_tensor *out, const adept_gemm *g)
{
    double n = p->m * p->n, read = adept_tensor_unique_bytes(p->a) + adept_tensor_unique_bytes(p->b);
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, n, (adept_elem_product(out->dtype) + (p->added != NULL)) * n,
                   read + (p->added ? adept_tensor_unique_bytes(p->added) : 0), adept_tensor_bytes(out));
    if (p->added)
        adept_gemm_backward(cost, g);
    else {
        factor_gradient(cost, out, p->a, p->b);
        factor_gradient(cost, out, p->b, p->a);
    }
    adept_gemm_save(cost, g);
}

/* Gradient of one operand as an elementwise product of the output gradient and the other. */
static void elementwise_gradient(adept_cost *cost, const adept_gemm *g, const adept_gemm_side *operand,
                                 double other_bytes)
{
    double n = operand->elements;
    if (operand->grad && n > 0)
        adept_cost_alu(cost, ADEPT_BACKWARD, g->dtype, n, adept_elem_product(g->dtype) * n, g->out_bytes + other_bytes,
                       n * operand->size);
}

/* mv, dot: a vector on the right, or on the left of a batch. The gradient of the other operand is an outer product, of
 * two vectors a scaled one: PyTorch has no matrix product of them. */
static bool takes_vector(const product *p)
{
    bool right = p->b->ndim == 1, left = p->a->ndim == 1 && p->b->ndim > 2;
    return p->form->kind != OUTER && p->form->kind != INNER && p->form->kind != DIMS && (right || left);
}

static void vector_cost(adept_cost *cost, const product *p, const adept_gemm *g)
{
    adept_gemm products = *g;
    bool right = p->b->ndim == 1, left = p->a->ndim == 1;
    if (right) products.a.grad = false;
    if (left) products.b.grad = false;
    adept_gemm_kernel(cost, ADEPT_FORWARD, g, 1, g->a.bytes + g->b.bytes + g->extra_bytes, g->out_bytes,
                      g->extra_flops);
    if (right) elementwise_gradient(cost, g, &g->a, g->b.bytes);
    if (left) elementwise_gradient(cost, g, &g->b, g->a.bytes);
    adept_gemm_backward(cost, &products);
    adept_gemm_save(cost, g);
}

static adept_gemm_side side(adept_cost *cost, const adept_tensor *t, bool copied, double elements)
{
    return copied ? adept_gemm_side_copied(cost, t, elements) : adept_gemm_side_of(cost, t);
}

static void cost(adept_call *c, adept_cost *cost)
{
    product p = plan(c);
    const adept_tensor *out = adept_result_tensor(c, 0);
    adept_gemm g = {.dtype = out->dtype,
                    .m = p.m,
                    .n = p.n,
                    .k = p.k,
                    .batch = p.batch,
                    .a = side(cost, p.a, p.a_copied, p.m * p.k * p.batch),
                    .b = side(cost, p.b, p.b_copied, p.k * p.n * p.batch),
                    .out_bytes = adept_tensor_bytes(out),
                    .extra_bytes = p.added ? adept_tensor_unique_bytes(p.added) : 0,
                    .extra_flops = p.added ? (double)adept_tensor_numel(out) : 0};
    if (p.form->kind == GROUPED || p.form->kind == CHOSEN) g.b.bytes *= p.batch / (double)p.b->dims[0];
    bool packs = !strncmp(adept_call_op(c), "aten::_weight", strlen("aten::_weight"));
    if (p.b->dtype == ADEPT_I8 && p.form->kind == LINEAR && !packs) {
        g.dtype = ADEPT_I8; /* quantized::linear_dynamic brings floats to it before, range and all */
        if (adept_dtype_is_float(p.a->dtype)) {
            double n = (double)adept_tensor_numel(p.a);
            adept_cost_alu(cost, ADEPT_FORWARD, p.a->dtype, n, 5 * n, adept_tensor_unique_bytes(p.a), n);
            g.a = (adept_gemm_side){NULL, n, n, 1, false};
        }
    }
    if (p.form == &int_mm || p.form == &scaled_mm) g.dtype = p.a->dtype;
    static const char *const beside[] = {"scales", "qScaleAndZeros", "scale_a", "scale_b"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        g.extra_bytes += adept_elem_read(adept_value_tensor(adept_arg(c, beside[i])));
    if (is_elementwise(&p))
        elementwise_cost(cost, &p, out, &g);
    else if (p.form->kind == SUMMED) { /* addbmm: a chain of products, each accumulating into the one result */
        adept_gemm one = g;
        double read = (g.a.bytes + g.b.bytes) / (p.batch > 0 ? p.batch : 1) + g.out_bytes;
        one.batch = 1;
        adept_gemm_kernel(cost, ADEPT_FORWARD, &one, p.batch, read, g.out_bytes, p.m * p.n);
        adept_gemm_backward(cost, &g);
        adept_gemm_save(cost, &g);
    } else if (takes_vector(&p))
        vector_cost(cost, &p, &g);
    else
        adept_gemm_cost(cost, &g);
    if (p.added && adept_tensor_numel(p.added) < adept_tensor_numel(out))
        adept_bias_gradient(cost, p.added, out, g.b.grad && p.form->kind != OUTER);
}

const adept_handler adept_handler_matmul = {
    .kind = "matmul", .shard = ADEPT_SHARD_COLUMNS, .ops = ops, .shape = shape, .cost = cost};

const adept_handler adept_handler_linear = {
    .kind = "linear", .shard = ADEPT_SHARD_COLUMNS, .ops = linear_ops, .shape = shape, .cost = cost};
