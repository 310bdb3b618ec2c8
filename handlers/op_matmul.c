/* Matrix products without a bias: matmul and its named special cases, from vectors to batches of matrices. */
#include "gemm_cost.h"
#include <string.h>

typedef enum kind {
    ANY,    /* numpy's matmul: ranks 1 and up, batch dimensions broadcast */
    RANKS,  /* the ranks of the form exactly */
    INNER,  /* contraction of both last dimensions */
    SUMMED, /* batch of products added up: addbmm */
    OUTER   /* an elementwise product in PyTorch, no matrix product */
} kind;

typedef struct form {
    kind kind;
    int a_rank, b_rank;
    const char *a, *b, *added; /* argument names; added: what the product is added to, or NULL */
} form;

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

static void plan_outer(product *p)
{
    p->ndim = 2;
    p->dims[0] = p->a->dims[0], p->dims[1] = p->b->dims[0];
    p->m = (double)p->dims[0], p->n = (double)p->dims[1], p->k = p->batch = 1;
}

/* bmm and its kin want equal batches; addbmm's sum over the batch leaves one matrix. */
static void check_batch(adept_call *c, product *p)
{
    if (p->a->ndim != 3 || p->b->ndim != 3) return;
    if (p->form->kind == ANY || p->form->kind == INNER) return;
    if (p->a->dims[0] != p->b->dims[0]) {
        misfit(c, p);
        return;
    }
    if (p->form->kind != SUMMED || p->ndim != 3) return;
    p->dims[0] = p->dims[1], p->dims[1] = p->dims[2];
    p->ndim = 2;
}

static void check_added(adept_call *c, const product *p)
{
    if (p->added && adept_call_ok(c) && !adept_broadcasts_to(c, p->added, p->ndim, p->dims))
        adept_call_fail(c, "%s does not broadcast to the product's shape", adept_call_shape(c, p->added));
}

static product plan(adept_call *c)
{
    product p = {.form = adept_call_data(c)};
    const form *f = p.form;
    p.a = adept_arg_tensor(c, f->a), p.b = adept_arg_tensor(c, f->b);
    if (f->added) p.added = adept_arg_tensor(c, f->added);
    if (!adept_call_ok(c)) return p;
    bool ranks = f->kind == ANY || f->kind == INNER ? p.a->ndim > 0 && p.b->ndim > 0
                                                    : p.a->ndim == f->a_rank && p.b->ndim == f->b_rank;
    if (!ranks)
        misfit(c, &p);
    else if (f->kind == OUTER)
        plan_outer(&p);
    else if (f->kind == INNER)
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
    if (p.added)
        adept_out_result(c, p.added, p.a->dtype, p.ndim, p.dims);
    else
        adept_out_tensor(c, p.a->dtype, p.ndim, p.dims);
}

/* An elementwise product of a column and a row, and each gradient a product of the full size summed to a vector. */
static void outer_cost(adept_cost *cost, const product *p, const adept_tensor *out, const adept_gemm *g)
{
    double n = p->m * p->n, bytes = adept_tensor_bytes(out), a_bytes = adept_tensor_unique_bytes(p->a);
    double b_bytes = adept_tensor_unique_bytes(p->b), added = p->added ? adept_tensor_unique_bytes(p->added) : 0;
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, n, p->added ? 2 * n : n, a_bytes + b_bytes + added, bytes);
    if (adept_cost_wants_grad(cost, p->a))
        adept_cost_stream(cost, ADEPT_BACKWARD, out->dtype, 2 * n, 2 * n, 2 * bytes + b_bytes, bytes + a_bytes, 2);
    if (adept_cost_wants_grad(cost, p->b))
        adept_cost_stream(cost, ADEPT_BACKWARD, out->dtype, 2 * n, 2 * n, 2 * bytes + a_bytes, bytes + b_bytes, 2);
    adept_gemm_save(cost, g);
}

/* addbmm: a chain of products, each accumulating into the one result. */
static void summed_cost(adept_cost *cost, const product *p, const adept_gemm *g)
{
    adept_gemm one = *g;
    double read = (g->a.bytes + g->b.bytes) / (p->batch > 0 ? p->batch : 1) + g->out_bytes;
    one.batch = 1;
    adept_gemm_kernel(cost, ADEPT_FORWARD, &one, p->batch, read, g->out_bytes, p->m * p->n);
    adept_gemm_backward(cost, g);
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
    if (p.form->kind == OUTER)
        outer_cost(cost, &p, out, &g);
    else if (p.form->kind == SUMMED)
        summed_cost(cost, &p, &g);
    else
        adept_gemm_cost(cost, &g);
    if (p.added && adept_tensor_numel(p.added) < adept_tensor_numel(out))
        adept_bias_gradient(cost, p.added, out, g.b.grad && p.form->kind != OUTER);
}

static const adept_handler_case cases[] = {
    /* 2*2*5*6*3 = 360 in two products; da (5x3)(3x6) and db (6x5)(5x3) the same each */
    {.name = "batch of two",
     .call = "aten::bmm(self=f32:2x5x6*, mat2=f32:2x6x3*) -> f32:2x5x3",
     .forward = {.gemm = 360, .read = 4 * (60 + 36), .written = 120, .product = {5, 3, 6, 2}},
     .backward = {.gemm = 720, .read = 4 * (30 + 36 + 30 + 60), .written = 4 * (60 + 36), .launches = 2, .saved = 384}},
    /* attention scores: batch and heads are both batch dimensions. 2 * 8*12*197*197*64; 3725664 scores of two bytes */
    {.name = "four dimensions",
     .call = "aten::matmul(self=f16:8x12x197x64*, other=f16:8x12x64x197*) -> f16:8x12x197x197",
     .forward = {.gemm = 476884992, .read = 4841472, .written = 7451328, .product = {197, 197, 64, 96}},
     .backward = {.gemm = 953769984,
                  .read = 2 * (2 * 3725664 + 2420736.0),
                  .written = 4841472,
                  .launches = 2,
                  .saved = 4841472}},
    /* one matrix on the right: 2x5 rows fold into m = 10; 2*10*6*3 = 360 */
    {.name = "a batch by one matrix",
     .call = "aten::matmul(self=f32:2x5x6*, other=f32:6x3*) -> f32:2x5x3",
     .forward = {.gemm = 360, .read = 4 * (60 + 18), .written = 120, .product = {10, 3, 6, 1}},
     .backward = {.gemm = 720, .read = 4 * (30 + 18 + 30 + 60), .written = 4 * (60 + 18), .launches = 2, .saved = 312}},
    {.name = "a batch by one constant matrix",
     .call = "aten::matmul(self=f32:2x5x6*, other=f32:6x3) -> f32:2x5x3",
     .forward = {.gemm = 360, .read = 4 * (60 + 18), .written = 120, .product = {10, 3, 6, 1}},
     .backward = {.gemm = 360, .read = 4 * (30 + 18), .written = 240, .saved = 72}},
    /* 1 broadcasts to 4 products: its gradient is 4 matrices of 30, then one sum of 120 elements into 30 */
    {.name = "broadcast batch",
     .call = "aten::matmul(self=f32:1x5x6*, other=f32:4x6x3) -> f32:4x5x3",
     .forward = {.gemm = 720, .read = 4 * (30 + 72), .written = 240, .product = {5, 3, 6, 4}},
     .backward =
         {.gemm = 720, .alu = 120, .read = 4 * (60 + 72) + 480, .written = 480 + 120, .launches = 2, .saved = 288}},
    /* one key head broadcast to 3 query heads of 2 images: no single stride shows 6 matrices, so b's 60 elements are
     * copied to 180, which are kept, and whose gradient is summed back into 60. a 144, result 120 elements; 2*6*4*5*6 =
     * 1440 */
    {.name = "broadcast between batch dimensions copies",
     .call = "aten::matmul(self=f32:2x3x4x6*, other=f32:2x1x6x5*) -> f32:2x3x4x5",
     .forward =
         {.gemm = 1440, .read = 240 + 4 * (144 + 180), .written = 720 + 480, .launches = 2, .product = {4, 5, 6, 6}},
     .backward = {.gemm = 2880,
                  .alu = 180,
                  .read = 4 * (120 + 180) + 4 * (120 + 144) + 720,
                  .written = 576 + 720 + 240,
                  .launches = 3,
                  .saved = 576 + 720}},
    /* the left matrix wants a gradient: columns of both matrices side by side, copied for that; 2*5*6*(2*3) = 360 */
    {.name = "one matrix by a batch",
     .call = "aten::matmul(self=f32:5x6*, other=f32:2x6x3) -> f32:2x5x3",
     .forward =
         {.gemm = 360, .read = 144 + 4 * (30 + 36), .written = 144 + 120, .launches = 2, .product = {5, 6, 6, 1}},
     .backward = {.gemm = 360, .read = 4 * (30 + 36), .written = 120, .saved = 144}},
    {.name = "one constant matrix by a batch stays a batch",
     .call = "aten::matmul(self=f32:5x6, other=f32:2x6x3) -> f32:2x5x3",
     .forward = {.gemm = 360, .read = 4 * (30 + 36), .written = 120, .product = {5, 3, 6, 2}}},
    {.name = "vector by matrix, nothing wants a gradient",
     .call = "aten::matmul(self=f32:6, other=f32:6x3) -> f32:3",
     .forward = {.gemm = 36, .read = 4 * (6 + 18), .written = 12, .product = {1, 3, 6, 1}}},
    {.name = "two vectors",
     .call = "aten::dot(self=f32:6, tensor=f32:6) -> f32:",
     .forward = {.gemm = 12, .read = 48, .written = 4, .product = {1, 1, 6, 1}}},
    /* 2*2*5*6*3 = 360; the 30 sums are added to a 5x3 that is broadcast over the batch: its gradient sums 30 into 15 */
    {.name = "batch added to a matrix",
     .call = "aten::baddbmm(self=f32:5x3*, batch1=f32:2x5x6, batch2=f32:2x6x3, beta=1, alpha=0.125) -> f32:2x5x3",
     .forward = {.gemm = 360, .alu = 30, .read = 4 * (15 + 60 + 36), .written = 120, .product = {5, 3, 6, 2}},
     .backward = {.alu = 30, .read = 120, .written = 60}},
    /* two products of 5x6 by 6x3, each accumulating into the 15 results: 2*2*90 = 360; reads 2 * (30 + 18 + 15) */
    {.name = "sum of a batch",
     .call = "aten::addbmm(self=f32:5x3, batch1=f32:2x5x6, batch2=f32:2x6x3) -> f32:5x3",
     .forward = {.gemm = 360, .alu = 15, .read = 4 * 126, .written = 120, .launches = 2, .product = {5, 3, 6, 1}}},
    /* 6x5 products; da = sum over columns of dy * b: multiply (reads dy and b, writes 30), sum (reads 30, writes 6) */
    {.name = "outer product is elementwise",
     .call = "aten::outer(self=f32:6*, vec2=f32:5) -> f32:6x5",
     .forward = {.alu = 30, .read = 44, .written = 120},
     .backward = {.alu = 60, .read = 2 * 120 + 20, .written = 120 + 24, .launches = 2, .saved = 20}},
    {0},
};

const adept_handler adept_handler_matmul = {.kind = "matmul", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
