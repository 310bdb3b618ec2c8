/** @file attention_cost.h  Kernels of softmax(Q K^T) V, fused or one by one. Private to handlers/. Calls:
 * adept_handler. */
#ifndef ADEPT_ATTENTION_COST_H
#define ADEPT_ATTENTION_COST_H
#include "adept_handler.h"

/* One attention: batch * heads score matrices of queries x keys. */
typedef struct adept_attention_sizes {
    adept_dtype dtype;
    double batch, heads, kv_heads; /* kv_heads < heads: grouped queries */
    double queries, keys;          /* L, S */
    double width, value_width;     /* columns of Q and K, and of V */
    const adept_tensor *q, *k, *v; /* for gradients and memory; NULL: intermediate results without gradient */
    const adept_tensor *mask;      /* NULL: none */
    double before;                 /* keys that a cache had before the queries' own: of causal ones */
    bool causal, dropout;
} adept_attention_sizes;

/** One kernel that never writes the scores; backward recomputes them: 5 products instead of 4.
 *  FLOPs of causal masks are not halved: the kernel says that it is causal, and its time is that of half the work.
 *  @param out, statistics what autograd keeps besides q, k, v; a NULL statistics is counted in bytes */
void adept_attention_fused(adept_cost *cost, const adept_attention_sizes *a, const adept_tensor *out,
                           const adept_tensor *statistics);
/** PyTorch's _scaled_dot_product_attention_math: scale Q and K, multiply, add mask, softmax, dropout, multiply. */
void adept_attention_eager(adept_cost *cost, const adept_attention_sizes *a);
#endif
