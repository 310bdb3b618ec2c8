/* tensordot: dimensions of the one tensor contracted with dimensions of the other, as one matrix product. */
#include "gemm_cost.h"

static const adept_op ops[] = {
    {"aten::tensordot", ADEPT_CAST_PROMOTE, NULL},
    {0},
};

/* A call read: which dimensions go, and the product of those that stay. */
typedef struct contraction {
    const adept_tensor *a, *b;
    bool a_gone[ADEPT_MAX_DIMS], b_gone[ADEPT_MAX_DIMS];
    double m, n, k;
} contraction;

static void mark(adept_call *c, const adept_tensor *t, int64_t dim, bool *gone, int *at)
{
    *at = adept_call_dim(c, dim, t->ndim);
    if (adept_call_ok(c) && (t->ndim == 0 || gone[*at])) adept_call_fail(c, "a dimension is contracted twice");
    if (adept_call_ok(c)) gone[*at] = true;
}

static contraction read_contraction(adept_call *c)
{
    contraction p = {.a = adept_arg_tensor(c, "self"), .b = adept_arg_tensor(c, "other"), .m = 1, .n = 1, .k = 1};
    int64_t a_dims[ADEPT_MAX_DIMS], b_dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "dims_self", a_dims, ADEPT_MAX_DIMS);
    if (adept_arg_ints(c, "dims_other", b_dims, ADEPT_MAX_DIMS) != n || n < 0)
        adept_call_fail(c, "dims_self and dims_other differ in length");
    for (int i = 0; i < n && adept_call_ok(c); i++) {
        int da, db;
        mark(c, p.a, a_dims[i], p.a_gone, &da);
        mark(c, p.b, b_dims[i], p.b_gone, &db);
        if (!adept_call_ok(c)) return p;
        if (p.a->dims[da] != p.b->dims[db])
            adept_call_fail(c, "contracted dimensions of %lld and %lld elements", (long long)p.a->dims[da],
                            (long long)p.b->dims[db]);
        p.k *= (double)p.a->dims[da];
    }
    for (int i = 0; i < p.a->ndim; i++)
        if (!p.a_gone[i]) p.m *= (double)p.a->dims[i];
    for (int i = 0; i < p.b->ndim; i++)
        if (!p.b_gone[i]) p.n *= (double)p.b->dims[i];
    return p;
}

static void shape(adept_call *c)
{
    contraction p = read_contraction(c);
    int64_t dims[2 * ADEPT_MAX_DIMS];
    int n = 0;
    if (!adept_call_ok(c)) return;
    for (int i = 0; i < p.a->ndim; i++)
        if (!p.a_gone[i]) dims[n++] = p.a->dims[i];
    for (int i = 0; i < p.b->ndim; i++)
        if (!p.b_gone[i]) dims[n++] = p.b->dims[i];
    adept_out_tensor(c, p.a->dtype, n, dims);
}

static void cost(adept_call *c, adept_cost *cost)
{
    contraction p = read_contraction(c);
    const adept_tensor *out = adept_result_tensor(c, 0);
    adept_gemm g = {.dtype = out->dtype,
                    .m = p.m,
                    .n = p.n,
                    .k = p.k,
                    .batch = 1,
                    .a = adept_gemm_side_of(cost, p.a),
                    .b = adept_gemm_side_of(cost, p.b),
                    .out_bytes = adept_tensor_bytes(out)};
    adept_gemm_cost(cost, &g);
}

static const adept_handler_case cases[] = {
    /* 2 of a and 5 of b stay, 3 * 4 are summed: 2*2*5*12 = 240; a 24, b 60, out 10 elements */
    {.name = "two dimensions contracted",
     .call = "aten::tensordot(self=f32:2x3x4*, other=f32:4x3x5*, dims_self=[1,2], dims_other=[1,0]) -> f32:2x5",
     .forward = {.gemm = 240, .read = 336, .written = 40, .product = {2, 5, 12, 1}},
     .backward = {.gemm = 480, .read = 4 * (10 + 60 + 10 + 24), .written = 336, .launches = 2, .saved = 336}},
    {.name = "no dimension: all products",
     .call = "aten::tensordot(self=f32:2x3, other=f32:4, dims_self=[], dims_other=[]) -> f32:2x3x4",
     .forward = {.gemm = 48, .read = 40, .written = 96, .product = {6, 4, 1, 1}}},
    {0},
};

const adept_handler adept_handler_tensordot = {
    .kind = "matmul", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
