/** @file attention_cost.c  Kernels of softmax(Q K^T) V, fused or one by one. Calls: gemm_cost, elementwise_cost. */
#include "attention_cost.h"
#include "gemm_cost.h"
#include "elementwise_cost.h"

/* FLOPs per score beside the softmax's (spec 2.1): scale 1, mask 1, dropout 2. */
#define SCALE 1
#define MASK 1
#define DROPOUT 2
#define STATISTIC_BYTES 4 /* logarithm of a row's sum: fp32 */
#define RNG_BYTES 16      /* seed and offset of the dropout's random numbers */

/* Bytes of the matrices, all heads. */
typedef struct traffic {
    double matrices; /* score matrices: batch * heads */
    double scores;   /* their elements */
    double score_bytes, rows;
    double q, k, v, out;     /* k and v with as many heads as q */
    double k_given, v_given; /* k and v as they come */
    double mask;
} traffic;

/* Of what the matrix's type says, what lies in memory: a cache may hold fewer bytes than its kernel computes with. */
static double stored_share(const adept_cost *cost, const adept_tensor *t)
{
    const double bytes = t ? adept_tensor_unique_bytes(t) : 0;
    return bytes > 0 ? adept_cost_stored_bytes(cost, t) / bytes : 1;
}

static traffic measure(const adept_cost *cost, const adept_attention_sizes *a)
{
    double size = adept_dtype_bytes(a->dtype), matrices = a->batch * a->heads, given = a->batch * a->kv_heads;
    return (traffic){.matrices = matrices,
                     .scores = matrices * a->queries * a->keys,
                     .score_bytes = matrices * a->queries * a->keys * size,
                     .rows = matrices * a->queries,
                     .q = matrices * a->queries * a->width * size,
                     .k = matrices * a->keys * a->width * size,
                     .v = matrices * a->keys * a->value_width * size,
                     .out = matrices * a->queries * a->value_width * size,
                     .k_given = given * a->keys * a->width * size * stored_share(cost, a->k),
                     /* values that are a part of the keys are read with them: the latent of DeepSeek's cache */
                     .v_given = a->v && a->k && a->v->storage >= 0 && a->v->storage == a->k->storage
                                    ? 0
                                    : given * a->keys * a->value_width * size * stored_share(cost, a->v),
                     .mask = a->mask ? adept_tensor_unique_bytes(a->mask) : 0};
}

static void alu(adept_cost *cost, adept_pass pass, const adept_attention_sizes *a, double elements, double flops,
                double read, double written)
{
    adept_cost_alu(cost, pass, a->dtype, elements, flops, read, written);
}

/* Sum of the gradients of the heads that share one key or value head. */
static void group_sum(adept_cost *cost, const adept_attention_sizes *a, double full_bytes, double given_bytes)
{
    double n = full_bytes / adept_dtype_bytes(a->dtype);
    if (a->kv_heads < a->heads) alu(cost, ADEPT_BACKWARD, a, n, n, full_bytes, given_bytes);
}

/* The mask's gradient is that of the scores, summed where the mask was broadcast. */
static void mask_gradient(adept_cost *cost, const adept_attention_sizes *a, const traffic *t)
{
    if (adept_cost_wants_grad(cost, a->mask) && (double)adept_tensor_numel(a->mask) < t->scores)
        alu(cost, ADEPT_BACKWARD, a, t->scores, t->scores, t->score_bytes, adept_tensor_bytes(a->mask));
}

/* One query of several heads that share their keys meets them as several queries of one head. */
static void fused_kernel(adept_cost *cost, adept_pass pass, const adept_attention_sizes *a, const traffic *t,
                         double width, double flops_alu, double read, double written)
{
    bool attends = t->scores * (a->width + a->value_width) > 0; /* to nothing: no product */
    double together = a->queries == 1 && !a->causal && pass == ADEPT_FORWARD ? a->heads / a->kv_heads : 1;
    adept_cost_kernel(cost, &(adept_kernel){.pass = pass,
                                            .unit = ADEPT_UNIT_GEMM,
                                            .family = attends ? ADEPT_FAMILY_ATTENTION : ADEPT_FAMILY_STREAM,
                                            .dtype = a->dtype,
                                            .flops = 2 * t->scores * width,
                                            .flops_alu = flops_alu,
                                            .bytes_read = read,
                                            .bytes_written = written,
                                            .launches = 1,
                                            .m = a->queries * together,
                                            .n = a->keys,
                                            .k = a->width,
                                            .batch = t->matrices / together,
                                            .causal = a->causal ? 1 + a->before : 0});
}

void adept_attention_fused(adept_cost *cost, const adept_attention_sizes *a, const adept_tensor *out,
                           const adept_tensor *statistics)
{
    traffic t = measure(cost, a);
    double flops_per_score = SCALE + ADEPT_SOFTMAX_FLOPS + (a->mask ? MASK : 0) + (a->dropout ? DROPOUT : 0);
    double row_bytes = adept_cost_backward(cost) ? t.rows * STATISTIC_BYTES : 0;
    fused_kernel(cost, ADEPT_FORWARD, a, &t, a->width + a->value_width, flops_per_score * t.scores,
                 t.q + t.k_given + t.v_given + t.mask, t.out + row_bytes);
    if (a->causal) adept_cost_note_causal(cost);
    if (!adept_cost_backward(cost)) return;
    double out_elements = t.rows * a->value_width;
    /* row sums of dO * O, then one kernel: Q K^T again, dP = dO V^T, dV = P^T dO, dQ = dS K, dK = dS^T Q */
    alu(cost, ADEPT_BACKWARD, a, out_elements, 2 * out_elements, 2 * t.out, row_bytes);
    double written = t.q + t.k + t.v;
    if (adept_cost_wants_grad(cost, a->mask)) written += t.score_bytes;
    fused_kernel(cost, ADEPT_BACKWARD, a, &t, 3 * a->width + 2 * a->value_width, 2 * flops_per_score * t.scores,
                 t.q + t.k_given + t.v_given + t.out + 2 * row_bytes + t.mask, written);
    group_sum(cost, a, t.k, t.k_given);
    group_sum(cost, a, t.v, t.v_given);
    mask_gradient(cost, a, &t);
    adept_cost_save(cost, a->q);
    adept_cost_save(cost, a->k);
    adept_cost_save(cost, a->v);
    adept_cost_save(cost, a->mask);
    adept_cost_save(cost, out);
    if (statistics)
        adept_cost_save(cost, statistics);
    else
        adept_cost_save_bytes(cost, row_bytes);
    adept_cost_save_bytes(cost, RNG_BYTES);
}

/* ---------------------------------------------------------------- one kernel after another ---------------- */

static void product(adept_cost *cost, adept_pass pass, const adept_attention_sizes *a, double m, double n, double k,
                    double read, double written)
{
    adept_gemm g = {.dtype = a->dtype, .m = m, .n = n, .k = k, .batch = a->batch * a->heads};
    adept_gemm_kernel(cost, pass, &g, 1, read, written, 0);
}

static void eager_backward(adept_cost *cost, const adept_attention_sizes *a, const traffic *t, bool want_q, bool want_k,
                           bool want_v)
{
    double size = adept_dtype_bytes(a->dtype);
    if (want_v) {
        product(cost, ADEPT_BACKWARD, a, a->keys, a->value_width, a->queries, t->score_bytes + t->out, t->v);
        group_sum(cost, a, t->v, t->v_given);
    }
    if (!want_q && !want_k && !adept_cost_wants_grad(cost, a->mask)) return;
    product(cost, ADEPT_BACKWARD, a, a->queries, a->keys, a->value_width, t->out + t->v, t->score_bytes);
    if (a->dropout)
        alu(cost, ADEPT_BACKWARD, a, t->scores, 2 * DROPOUT * t->scores, t->score_bytes + t->scores, t->score_bytes);
    adept_softmax_kernel(cost, ADEPT_BACKWARD, a->dtype, t->scores, a->keys, 2 * t->score_bytes, t->score_bytes);
    mask_gradient(cost, a, t);
    if (want_q) {
        product(cost, ADEPT_BACKWARD, a, a->queries, a->width, a->keys, t->score_bytes + t->k, t->q);
        alu(cost, ADEPT_BACKWARD, a, t->q / size, SCALE * t->q / size, t->q, t->q);
    }
    if (want_k) {
        product(cost, ADEPT_BACKWARD, a, a->keys, a->width, a->queries, t->score_bytes + t->q, t->k);
        alu(cost, ADEPT_BACKWARD, a, t->k / size, SCALE * t->k / size, t->k, t->k);
        group_sum(cost, a, t->k, t->k_given);
    }
}

void adept_attention_eager(adept_cost *cost, const adept_attention_sizes *a)
{
    traffic t = measure(cost, a);
    bool want_q = adept_cost_wants_grad(cost, a->q), want_k = adept_cost_wants_grad(cost, a->k);
    bool want_v = adept_cost_wants_grad(cost, a->v);
    bool want_scores = want_q || want_k || adept_cost_wants_grad(cost, a->mask);
    double size = adept_dtype_bytes(a->dtype);
    alu(cost, ADEPT_FORWARD, a, t.q / size, SCALE * t.q / size, t.q, t.q);
    if (a->kv_heads < a->heads) { /* repeat_interleave */
        alu(cost, ADEPT_FORWARD, a, t.k / size, 0, t.k_given, t.k);
        alu(cost, ADEPT_FORWARD, a, t.v / size, 0, t.v_given, t.v);
    }
    alu(cost, ADEPT_FORWARD, a, t.k / size, SCALE * t.k / size, t.k, t.k);
    product(cost, ADEPT_FORWARD, a, a->queries, a->keys, a->width, t.q + t.k, t.score_bytes);
    /* A causal mask is made as a matrix, a boolean one turned into numbers; both are then added to the scores. */
    bool boolean = a->causal || (a->mask && a->mask->dtype == ADEPT_BOOL);
    double elements = a->causal ? a->queries * a->keys : a->mask ? (double)adept_tensor_numel(a->mask) : 0;
    double bytes = boolean ? elements * adept_dtype_bytes(a->dtype) : t.mask;
    if (a->causal || a->mask) {
        if (boolean) alu(cost, ADEPT_FORWARD, a, elements, elements, elements * adept_dtype_bytes(ADEPT_BOOL), bytes);
        alu(cost, ADEPT_FORWARD, a, t.scores, MASK * t.scores, t.score_bytes + bytes, t.score_bytes);
    }
    adept_softmax_kernel(cost, ADEPT_FORWARD, a->dtype, t.scores, a->keys, t.score_bytes, t.score_bytes);
    if (a->dropout) alu(cost, ADEPT_FORWARD, a, t.scores, DROPOUT * t.scores, t.score_bytes, t.score_bytes + t.scores);
    product(cost, ADEPT_FORWARD, a, a->queries, a->value_width, a->keys, t.score_bytes + t.v, t.out);
    eager_backward(cost, a, &t, want_q, want_k, want_v);
    /* products keep what they multiplied: the scaled copies of Q and K, the softmax or what dropout made of it, and V
     */
    if (want_k) adept_cost_save_bytes(cost, t.q);
    if (want_q) adept_cost_save_bytes(cost, t.k);
    if (want_scores || (want_v && !a->dropout)) adept_cost_save_bytes(cost, t.score_bytes);
    if (a->dropout && want_scores) adept_cost_save_bytes(cost, t.scores);
    if (a->dropout && want_v) adept_cost_save_bytes(cost, t.score_bytes);
    if (want_scores && a->kv_heads < a->heads)
        adept_cost_save_bytes(cost, t.v);
    else if (want_scores)
        adept_cost_save(cost, a->v);
}
