/* linear and addmm: y = x A^T + b, one matrix product and a row added to it. */
#include "gemm_cost.h"

/* The two operators as one product: out (m x n) = a (m x k) b (k x n) + c. */
typedef struct product {
    const adept_tensor *a, *b, *c;
    double m, n, k;
} product;

static bool is_addmm(const adept_call *c)
{
    return adept_call_data(c) != NULL;
}

static bool fit(adept_call *c, const adept_tensor *added, int ndim, const int64_t *dims)
{
    if (!added || adept_broadcasts_to(c, added, ndim, dims)) return true;
    adept_call_fail(c, "bias %s does not fit the result", adept_call_shape(c, added));
    return false;
}

static void linear_shape(adept_call *c)
{
    const adept_tensor *x = adept_arg_tensor(c, "input"), *w = adept_arg_tensor(c, "weight");
    const adept_tensor *bias = adept_arg_tensor_opt(c, "bias");
    int64_t dims[ADEPT_MAX_DIMS] = {0};
    if (!adept_call_ok(c)) return;
    if (x->ndim < 1 || w->ndim < 1 || w->ndim > 2) {
        adept_call_fail(c, "input has %d and weight %d dimensions, at least 1 and 1 or 2 are needed", x->ndim, w->ndim);
        return;
    }
    int64_t features = x->dims[x->ndim - 1], wanted = w->dims[w->ndim - 1];
    if (adept_call_refuse(c, features != wanted, "input has %lld features, weight wants %lld", (long long)features,
                          (long long)wanted))
        return;
    int n = x->ndim - 1;
    for (int i = 0; i < n; i++)
        dims[i] = x->dims[i];
    if (w->ndim == 2) dims[n++] = w->dims[0];
    if (fit(c, bias, n, dims)) adept_out_tensor(c, x->dtype, n, dims);
}

static void addmm_shape(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    const adept_tensor *a = adept_arg_tensor(c, "mat1"), *b = adept_arg_tensor(c, "mat2");
    if (!adept_call_ok(c)) return;
    if (a->ndim != 2 || b->ndim != 2 || a->dims[1] != b->dims[0]) {
        adept_call_fail(c, "cannot multiply the matrices %s and %s", adept_call_shape(c, a), adept_call_shape(c, b));
        return;
    }
    int64_t dims[2] = {a->dims[0], b->dims[1]};
    if (fit(c, self, 2, dims)) adept_out_result(c, self, a->dtype, 2, dims);
}

static void shape(adept_call *c)
{
    if (is_addmm(c))
        addmm_shape(c);
    else
        linear_shape(c);
}

static product read_product(adept_call *c)
{
    product p = {0};
    if (is_addmm(c)) {
        p.a = adept_arg_tensor(c, "mat1"), p.b = adept_arg_tensor(c, "mat2"), p.c = adept_arg_tensor(c, "self");
        p.m = (double)p.a->dims[0], p.k = (double)p.a->dims[1], p.n = (double)p.b->dims[1];
        return p;
    }
    p.a = adept_arg_tensor(c, "input"), p.b = adept_arg_tensor(c, "weight"), p.c = adept_arg_tensor_opt(c, "bias");
    p.m = adept_dims_elements(p.a->ndim - 1, p.a->dims);
    p.k = (double)p.a->dims[p.a->ndim - 1];
    p.n = p.b->ndim == 2 ? (double)p.b->dims[0] : 1;
    return p;
}

/* Rows of an input of three or more dimensions that do not lie at one stride are copied first. Without a gradient of
 * the weight PyTorch multiplies in batches instead. */
static bool is_copied(const product *p)
{
    return p->b->requires_grad && p->a->ndim > 2 && !adept_gemm_dims_merge(p->a->ndim - 1, p->a->dims, p->a->strides);
}

static void cost(adept_call *c, adept_cost *cost)
{
    product p = read_product(c);
    const adept_tensor *out = adept_result_tensor(c, 0);
    adept_gemm g = {.dtype = out->dtype,
                    .m = p.m,
                    .n = p.n,
                    .k = p.k,
                    .batch = 1,
                    .a = is_copied(&p) ? adept_gemm_side_copied(cost, p.a, p.m * p.k) : adept_gemm_side_of(cost, p.a),
                    .b = adept_gemm_side_of(cost, p.b),
                    .out_bytes = adept_tensor_bytes(out),
                    .extra_bytes = p.c ? adept_tensor_unique_bytes(p.c) : 0,
                    .extra_flops = p.c ? p.m * p.n : 0};
    adept_gemm_cost(cost, &g);
    /* what is added without being broadcast passes its gradient on as it is */
    if (p.c && adept_tensor_numel(p.c) < adept_tensor_numel(out)) adept_bias_gradient(cost, p.c, out, g.b.grad);
}

static const char addmm;

static const adept_op ops[] = {
    {"aten::linear", ADEPT_CAST_LOWER, NULL},
    {"aten::addmm", ADEPT_CAST_LOWER, &addmm},
    {0},
};

static const adept_handler_case cases[] = {
    /* B = 32, K = 768, N = 3072: 2BKN = 150994944; B N = 98304 elements.
     * reads 4 (BK + KN + N) = 4 (24576 + 2359296 + 3072); backward reads 4 (2BN + KN + BK), writes 4 (BK + KN + N).
     * saves x for dA and A for dx: 4 (24576 + 2359296) */
    {.name = "all gradients",
     .call = "aten::linear(input=f32:32x768*, weight=f32:3072x768*, bias=f32:3072*) -> f32:32x3072",
     .forward = {.gemm = 150994944, .alu = 98304, .read = 9547776, .written = 393216, .product = {32, 3072, 768, 1}},
     .backward =
         {.gemm = 301989888, .alu = 98304, .read = 10321920, .written = 9547776, .launches = 3, .saved = 9535488}},
    /* the input of the model needs no gradient: only the weight product and the bias sum, and the weight is not kept.
     * 2x5 rows fold into B = 10; K = 6, N = 7: 2BKN = 840; backward reads 4 (BN + BK) = 4 (70 + 60) */
    {.name = "first layer, three dimensions",
     .call = "aten::linear(input=f32:2x5x6, weight=f32:7x6*, bias=f32:7*) -> f32:2x5x7",
     .forward = {.gemm = 840, .alu = 70, .read = 4 * (60 + 42 + 7), .written = 280, .product = {10, 7, 6, 1}},
     .backward = {.gemm = 840, .alu = 70, .read = 520, .written = 4 * (42 + 7), .launches = 2, .saved = 240}},
    /* frozen weight, bf16: only dx = dy A; the bias sum has to read dy itself. 2BKN = 2*10*6*7 */
    {.name = "frozen weight, trained bias",
     .call = "aten::linear(input=bf16:10x6*, weight=bf16:7x6, bias=bf16:7*) -> bf16:10x7",
     .forward = {.gemm = 840, .alu = 70, .read = 2 * (60 + 42 + 7), .written = 140, .product = {10, 7, 6, 1}},
     .backward =
         {.gemm = 840, .alu = 70, .read = 2 * (70 + 42) + 140, .written = 2 * (60 + 7), .launches = 2, .saved = 84}},
    {.name = "one vector, one output",
     .call = "aten::linear(input=f32:6, weight=f32:6) @infer -> f32:",
     .forward = {.gemm = 12, .read = 48, .written = 4, .product = {1, 1, 6, 1}}},
    /* the matrix added has the result's size: its gradient is the result's, no kernel. 2*4*5*6 = 240 */
    {.name = "addmm with a full matrix",
     .call = "aten::addmm(self=f32:4x6*, mat1=f32:4x5*, mat2=f32:5x6*, beta=1, alpha=1) -> f32:4x6",
     .forward = {.gemm = 240, .alu = 24, .read = 4 * (24 + 20 + 30), .written = 96, .product = {4, 6, 5, 1}},
     .backward = {.gemm = 480, .read = 4 * (24 + 30 + 24 + 20), .written = 4 * (20 + 30), .launches = 2, .saved = 200}},
    {0},
};

const adept_handler adept_handler_linear = {.kind = "linear", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
