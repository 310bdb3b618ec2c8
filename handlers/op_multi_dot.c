/* linalg_multi_dot and chain_matmul: a chain of matrices, multiplied in the order of fewest FLOPs. */
#include "gemm_cost.h"

#define MAX_MATRICES 16

static const char chain; /* chain_matmul: matrices only */

static const adept_op ops[] = {
    {"aten::linalg_multi_dot", ADEPT_CAST_LOWER, NULL},
    {"aten::chain_matmul", ADEPT_CAST_LOWER, &chain},
    {0},
};

/* A call read: matrix i is size[i] x size[i + 1]; a vector at either end is a matrix of one row or column. */
typedef struct matrices {
    int n;
    const adept_tensor *matrix[MAX_MATRICES];
    double size[MAX_MATRICES + 1];
    int split[MAX_MATRICES][MAX_MATRICES]; /* matrices i..j are (i..split) (split + 1..j) */
} matrices;

static matrices read_matrices(adept_call *c)
{
    matrices m = {0};
    const adept_tensor *const *items;
    size_t n = adept_arg_tensors(c, adept_call_data(c) ? "matrices" : "tensors", &items);
    if (adept_call_ok(c) && (n < 2 || n > MAX_MATRICES))
        adept_call_fail(c, "%zu matrices; 2 to %d are supported", n, MAX_MATRICES);
    if (!adept_call_ok(c)) return m;
    m.n = (int)n;
    for (int i = 0; i < m.n; i++) {
        const adept_tensor *t = m.matrix[i] = items[i];
        bool end = (i == 0 || i == m.n - 1) && !adept_call_data(c);
        bool fits = t && (t->ndim == 2 || (t->ndim == 1 && end));
        int64_t rows = fits && (t->ndim == 2 || i > 0) ? t->dims[0] : 1;
        if (adept_call_refuse(c, !fits || (i > 0 && (double)rows != m.size[i]),
                              "matrix %d of the chain does not fit the one before it", i + 1))
            return m;
        m.size[i] = (double)rows;
        m.size[i + 1] = t->ndim == 2 ? (double)t->dims[1] : i == 0 ? (double)t->dims[0] : 1;
    }
    return m;
}

static void shape(adept_call *c)
{
    matrices m = read_matrices(c);
    int64_t dims[2];
    int n = 0;
    if (!adept_call_ok(c)) return;
    const adept_tensor *first = m.matrix[0], *last = m.matrix[m.n - 1];
    if (first->ndim == 2) dims[n++] = first->dims[0];
    if (last->ndim == 2) dims[n++] = last->dims[1];
    adept_out_tensor(c, first->dtype, n, dims);
}

/* Depth at most MAX_MATRICES. */
static adept_gemm_side multiply(adept_cost *cost, const matrices *m, int i, int j)
{
    if (i == j) return adept_gemm_side_of(cost, m->matrix[i]);
    int s = m->split[i][j];
    adept_gemm g = {.dtype = m->matrix[0]->dtype,
                    .m = m->size[i],
                    .n = m->size[j + 1],
                    .k = m->size[s + 1],
                    .batch = 1,
                    .a = multiply(cost, m, i, s),
                    .b = multiply(cost, m, s + 1, j)};
    g.out_bytes = g.m * g.n * g.a.size;
    adept_gemm_cost(cost, &g);
    return (adept_gemm_side){NULL, g.out_bytes, g.m * g.n, g.a.size, g.a.grad || g.b.grad};
}

static void cost(adept_call *c, adept_cost *cost)
{
    matrices m = read_matrices(c);
    /* The textbook dynamic programme over all ways to put parentheses. */
    double flops[MAX_MATRICES][MAX_MATRICES] = {{0}};
    for (int length = 2; length <= m.n; length++)
        for (int i = 0; i + length <= m.n; i++) {
            int j = i + length - 1;
            flops[i][j] = -1;
            for (int s = i; s < j; s++) {
                double all = flops[i][s] + flops[s + 1][j] + m.size[i] * m.size[s + 1] * m.size[j + 1];
                if (flops[i][j] >= 0 && all >= flops[i][j]) continue;
                flops[i][j] = all;
                m.split[i][j] = s;
            }
        }
    multiply(cost, &m, 0, m.n - 1);
}

const adept_handler adept_handler_multi_dot = {
    .kind = "matmul", .shard = ADEPT_SHARD_COLUMNS, .ops = ops, .shape = shape, .cost = cost};
