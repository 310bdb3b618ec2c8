/* Scaled dot-product attention. One fused kernel by default, the kernels of PyTorch's math path with --attention eager,
 * for inputs the fused kernels do not take (they want four dimensions), and where the attention weights are wanted. */
#include "attention_cost.h"

typedef enum results {
    ONE,       /* the attention only */
    WEIGHTS,   /* and the attention weights */
    FLASH,     /* and logsumexp, sequence starts (none), lengths, random state, debug mask */
    CUDNN,     /* the same, logsumexp with a dimension more */
    EFFICIENT, /* and logsumexp padded to 32 rows, random state */
    CPU        /* and logsumexp */
} results;

typedef struct form {
    results results;
    bool eager; /* whatever the option says */
} form;

static const adept_op ops[] = {
    {"aten::scaled_dot_product_attention", ADEPT_CAST_LOWER | ADEPT_ROLE_ATTENTION, &(const form){ONE, false}},
    {"aten::_scaled_dot_product_attention", ADEPT_CAST_LOWER, &(const form){WEIGHTS, false}},
    {"aten::_scaled_dot_product_attention_math", ADEPT_CAST_LOWER, &(const form){WEIGHTS, true}},
    {"aten::_scaled_dot_product_flash_attention aten::_scaled_dot_product_fused_attention_overrideable",
     ADEPT_CAST_LOWER, &(const form){FLASH, false}},
    {"aten::_scaled_dot_product_cudnn_attention", ADEPT_CAST_LOWER, &(const form){CUDNN, false}},
    {"aten::_scaled_dot_product_efficient_attention", ADEPT_CAST_LOWER, &(const form){EFFICIENT, false}},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", ADEPT_CAST_LOWER, &(const form){CPU, false}},
    {0},
};

/* A call read. */
typedef struct attention {
    const adept_tensor *q, *k, *v, *mask;
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS]; /* of the result */
    int64_t heads, kv_heads;
} attention;

static void misfit(adept_call *c, const attention *a)
{
    adept_call_fail(c, "query %s, key %s and value %s do not fit", adept_call_shape(c, a->q), adept_call_shape(c, a->k),
                    adept_call_shape(c, a->v));
}

/* Key and value heads that serve several query heads each: asked for, or native to the fused kernels. */
static bool is_grouped(adept_call *c, const attention *a)
{
    const form *f = adept_call_data(c);
    bool asked = adept_arg_bool(c, "enable_gqa", f->results != ONE && f->results != WEIGHTS);
    return asked && a->heads != a->kv_heads && a->kv_heads > 0 && a->heads % a->kv_heads == 0;
}

static void plan_dims(adept_call *c, attention *a)
{
    const adept_tensor *q = a->q, *k = a->k, *v = a->v;
    int64_t k_dims[ADEPT_MAX_DIMS], kv[ADEPT_MAX_DIMS];
    int n = q->ndim;
    for (int i = 0; i < k->ndim; i++)
        k_dims[i] = k->dims[i];
    if (n > 2) a->heads = q->dims[n - 3], a->kv_heads = k->dims[n - 3];
    if (n > 2 && is_grouped(c, a)) {
        if (v->dims[n - 3] != a->kv_heads) misfit(c, a);
        k_dims[n - 3] = a->heads;
    } else {
        a->kv_heads = a->heads;
        adept_broadcast_dims(c, n - 2, k->dims, n - 2, v->dims, kv);
    }
    a->ndim = adept_broadcast_dims(c, n - 2, q->dims, n - 2, k_dims, a->dims);
    a->dims[a->ndim++] = q->dims[n - 2];
    a->dims[a->ndim++] = v->dims[n - 1];
}

static void check_mask(adept_call *c, const attention *a)
{
    int64_t scores[ADEPT_MAX_DIMS];
    if (!a->mask || !adept_call_ok(c)) return;
    for (int i = 0; i < a->ndim; i++)
        scores[i] = a->dims[i];
    scores[a->ndim - 1] = a->k->dims[a->ndim - 2];
    if (!adept_broadcasts_to(c, a->mask, a->ndim, scores))
        adept_call_fail(c, "mask %s does not fit the scores", adept_call_shape(c, a->mask));
}

static attention read_attention(adept_call *c)
{
    attention a = {.q = adept_arg_tensor(c, "query"),
                   .k = adept_arg_tensor(c, "key"),
                   .v = adept_arg_tensor(c, "value"),
                   .mask = adept_arg_tensor_opt(c, adept_arg_given(c, "attn_bias") ? "attn_bias" : "attn_mask"),
                   .heads = 1,
                   .kv_heads = 1};
    const form *f = adept_call_data(c);
    if (!adept_call_ok(c)) return a;
    int n = a.q->ndim;
    bool ranks = n >= 2 && a.k->ndim == n && a.v->ndim == n && (n == 4 || f->results == ONE || f->results == WEIGHTS);
    if (!ranks || a.q->dims[n - 1] != a.k->dims[n - 1] || a.k->dims[n - 2] != a.v->dims[n - 2]) {
        misfit(c, &a);
        return a;
    }
    plan_dims(c, &a);
    check_mask(c, &a);
    return a;
}

static bool wants_weights(adept_call *c)
{
    const form *f = adept_call_data(c);
    return f->results == WEIGHTS && adept_arg_bool(c, "need_attn_weights", f->eager);
}

static bool is_eager(adept_call *c, const attention *a)
{
    const form *f = adept_call_data(c);
    return f->eager || adept_call_attention(c) == ADEPT_ATTENTION_EAGER || a->ndim != 4 || wants_weights(c);
}

static void statistics_outputs(adept_call *c, results which, const attention *a)
{
    int64_t rows = a->dims[2], none = 0;
    if (which == EFFICIENT) {
        int64_t padded = rows > INT64_MAX - 31 ? rows : (rows + 31) / 32 * 32;
        rows = adept_arg_bool(c, "compute_log_sumexp", true) ? padded : 0;
    }
    int64_t dims[4] = {a->dims[0], a->dims[1], rows, 1};
    adept_out_tensor(c, ADEPT_F32, which == CUDNN ? 4 : 3, dims);
    if (which == CPU) return;
    if (which != EFFICIENT) {
        adept_out_none(c);
        adept_out_none(c);
        adept_out_int(c, a->dims[2]);
        adept_out_int(c, a->k->dims[2]);
    }
    adept_out_tensor(c, ADEPT_I64, 0, dims);
    adept_out_tensor(c, ADEPT_I64, 0, dims);
    if (which != EFFICIENT) adept_out_tensor(c, a->q->dtype, 1, &none);
}

/* The fused kernels lay their result out as batch, query, head, width: what follows transposes it back for nothing. */
static void transpose_layout(adept_tensor *out)
{
    int64_t dims[4] = {out->dims[0], out->dims[2], out->dims[1], out->dims[3]}, strides[4];
    adept_strides_contiguous(4, dims, strides);
    out->strides[0] = strides[0], out->strides[1] = strides[2], out->strides[2] = strides[1],
    out->strides[3] = strides[3];
}

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    attention a = read_attention(c);
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, a.q->dtype, a.ndim, a.dims);
    if (!adept_call_ok(c)) return;
    if (!is_eager(c, &a)) transpose_layout(out);
    if (f->results == ONE) return;
    if (f->results != WEIGHTS) {
        statistics_outputs(c, f->results, &a);
    } else if (wants_weights(c)) {
        a.dims[a.ndim - 1] = a.k->dims[a.ndim - 2];
        adept_out_tensor(c, a.q->dtype, a.ndim, a.dims);
    } else {
        adept_out_none(c);
    }
}

static void cost(adept_call *c, adept_cost *cost)
{
    attention a = read_attention(c);
    int n = a.ndim;
    adept_attention_sizes sizes = {.dtype = a.q->dtype,
                                   .batch = adept_dims_elements(n - 3, a.dims),
                                   .heads = (double)a.heads,
                                   .kv_heads = (double)a.kv_heads,
                                   .queries = (double)a.dims[n - 2],
                                   .keys = (double)a.k->dims[n - 2],
                                   .width = (double)a.q->dims[n - 1],
                                   .value_width = (double)a.dims[n - 1],
                                   .q = a.q,
                                   .k = a.k,
                                   .v = a.v,
                                   .mask = a.mask,
                                   .causal = adept_arg_bool(c, "is_causal", false),
                                   .dropout = adept_call_training(c) && adept_arg_float(c, "dropout_p", 0) > 0};
    if (n > 2 && a.kv_heads == a.heads) sizes.heads = sizes.kv_heads = (double)a.dims[n - 3];
    if (is_eager(c, &a))
        adept_attention_eager(cost, &sizes);
    else
        adept_attention_fused(cost, &sizes, adept_result_tensor(c, 0), adept_result_tensor(c, 1));
}

static const adept_handler_case cases[] = {
    /* ViT-B/16, one image: 12 heads of 197 x 197 = 465708 scores; q, k, v and the result 12*197*64 = 151296 elements.
     * 2 products forward: 4 * 465708 * 64 = 119221248; 5 backward: 2.5 times that. ALU 6 per score (scale, softmax),
     * backward 12 per score and 2 per result element. bf16: 302592 bytes each; 12*197 row sums of 4 bytes = 9456. */
    {.name = "fused",
     .call = "aten::scaled_dot_product_attention(query=bf16:1x12x197x64*, key=bf16:1x12x197x64*, "
             "value=bf16:1x12x197x64*, attn_mask=none, dropout_p=0.0, is_causal=false) -> bf16:1x12x197x64",
     .forward =
         {.gemm = 119221248, .alu = 2794248, .read = 907776, .written = 302592 + 9456, .product = {197, 197, 64, 12}},
     .backward = {.gemm = 298053120,
                  .alu = 5588496 + 302592,
                  .read = 605184 + 4 * 302592 + 2 * 9456,
                  .written = 9456 + 907776,
                  .launches = 2,
                  .saved = 4 * 302592 + 9456 + 16}},
    /* The same kernel by kernel: scale q and k (151296 each), softmax (5 per score): 302592 + 2328540 FLOPs. Scores are
     * 931416 bytes. read: q, k, (q + k), scores, (scores + v). backward: dV, dP, softmax, dQ, dK and the two scales;
     * keeps scaled q and k, the softmax and v. */
    {.name = "eager",
     .call = "aten::scaled_dot_product_attention(query=bf16:1x12x197x64*, key=bf16:1x12x197x64*, "
             "value=bf16:1x12x197x64*, attn_mask=none, dropout_p=0.0, is_causal=false) @eager -> bf16:1x12x197x64",
     .forward = {.gemm = 119221248,
                 .alu = 302592 + 2328540,
                 .read = 5 * 302592 + 2 * 931416,
                 .written = 3 * 302592 + 2 * 931416,
                 .launches = 5,
                 .product = {197, 197, 64, 12},
                 .row_elements = 197},
     .backward = {.gemm = 238442496,
                  .alu = 302592 + 4657080,
                  .read = (1 + 2 + 1 + 1 + 1 + 1) * 302592 + (1 + 2 + 1 + 1) * 931416,
                  .written = (1 + 1 + 1 + 1 + 1) * 302592 + 2 * 931416,
                  .launches = 7,
                  .saved = 3 * 302592 + 931416}},
    /* 8 query heads share 2 key heads; 4 queries, 6 keys, width 16: 192 scores, q and out 512, k and v 192 elements
     * (768 with 8 heads). 4 * 192 * 16 = 12288. Backward writes dk and dv for 8 heads and then sums each 768 into 192.
     */
    {.name = "grouped queries",
     .call = "aten::scaled_dot_product_attention(query=f16:1x8x4x16*, key=f16:1x2x6x16*, value=f16:1x2x6x16*, "
             "attn_mask=none, dropout_p=0.0, is_causal=true, scale=none, enable_gqa=true) -> f16:1x8x4x16",
     .forward = {.gemm = 12288, .alu = 1152, .read = 2 * (512 + 384), .written = 1024 + 128, .product = {4, 6, 16, 8}},
     .backward = {.gemm = 30720,
                  .alu = 2304 + 1024 + 2 * 768,
                  .read = 2 * 1024 + 2 * (512 + 384 + 512) + 256 + 2 * 1536,
                  .written = 128 + 2 * (512 + 768 + 768) + 2 * 384,
                  .launches = 4,
                  .saved = 2 * (512 + 384 + 512) + 128 + 16}},
    /* The same in eager form, values without gradient: k and v are repeated first. 128 mask entries made of 24
     * booleans: 4x6 causal mask, 24 bytes to 48. FLOPs: scale 512 + 768, mask 24 + 192, softmax 960. */
    {.name = "grouped queries, eager, causal, frozen values",
     .call = "aten::scaled_dot_product_attention(query=f16:1x8x4x16*, key=f16:1x2x6x16*, value=f16:1x2x6x16, "
             "attn_mask=none, dropout_p=0.0, is_causal=true, scale=none, enable_gqa=true) @eager -> f16:1x8x4x16",
     .forward = {.gemm = 12288,
                 .alu = 512 + 768 + 24 + 192 + 960,
                 .read = 1024 + 2 * 384 + 1536 + (1024 + 1536) + 24 + (384 + 48) + 384 + (384 + 1536),
                 .written = 1024 + 2 * 1536 + 1536 + 384 + 48 + 384 + 384 + 1024,
                 .launches = 9,
                 .product = {4, 6, 16, 8},
                 .row_elements = 6},
     /* dP, softmax, dQ and its scale, dK and its scale, sum of dk over the groups */
     .backward = {.gemm = 18432,
                  .alu = 1920 + 512 + 768 + 768,
                  .read = (1024 + 1536) + 768 + (384 + 1536) + 1024 + (384 + 1024) + 1536 + 1536,
                  .written = 384 + 384 + 1024 + 1024 + 1536 + 1536 + 384,
                  .launches = 7,
                  .saved = 1024 + 1536 + 384 + 1536}},
    /* boolean mask of 6 keys, dropout: 6 + 1 + 2 = 9 FLOPs per score of 2*3*4*6 = 144; k wider than v */
    {.name = "fused, mask and dropout, value width of its own, frozen inputs",
     .call = "aten::scaled_dot_product_attention(query=f32:2x3x4x8, key=f32:2x3x6x8, value=f32:2x3x6x5, "
             "attn_mask=bool:2x1x1x6, dropout_p=0.1, is_causal=false) -> f32:2x3x4x5",
     .forward =
         {.gemm = 3744, .alu = 1296, .read = 4 * (192 + 288 + 180) + 12, .written = 480, .product = {4, 6, 8, 6}}},
    {.name = "flash results",
     .call = "aten::_scaled_dot_product_flash_attention(query=bf16:2x3x4x8, key=bf16:2x3x6x8, value=bf16:2x3x6x8, "
             "dropout_p=0.0, is_causal=false, return_debug_mask=false, scale=none) @infer -> bf16:2x3x4x8, f32:2x3x4, "
             "none, none, i:4, i:6, i64:, i64:, bf16:0",
     .forward = {.gemm = 4608, .alu = 864, .read = 2 * (192 + 288 + 288), .written = 384, .product = {4, 6, 8, 6}}},
    {.name = "memory-efficient results",
     .call = "aten::_scaled_dot_product_efficient_attention(query=f32:2x3x4x8, key=f32:2x3x6x8, value=f32:2x3x6x8, "
             "attn_bias=none, compute_log_sumexp=true, dropout_p=0.0, is_causal=false) @infer -> f32:2x3x4x8, "
             "f32:2x3x32, i64:, i64:",
     .forward = {.gemm = 4608, .alu = 864, .read = 4 * (192 + 288 + 288), .written = 768, .product = {4, 6, 8, 6}}},
    /* 3 dimensions are the math path's; dropout 2 per score of 2*4*6 = 48: q 64, k 96, v 96, out 64 elements */
    {.name = "math with dropout, weights returned",
     .call = "aten::_scaled_dot_product_attention_math(query=f32:2x4x8, key=f32:2x6x8, value=f32:2x6x8*, "
             "attn_mask=none, dropout_p=0.5, is_causal=false) -> f32:2x4x8, f32:2x4x6",
     .forward = {.gemm = 1536,
                 .alu = 64 + 96 + 240 + 96,
                 .read = 4 * (64 + 96 + 160 + 48 + 48 + 144),
                 .written = 4 * (64 + 96 + 48 + 48 + 48 + 64) + 48,
                 .launches = 6,
                 .product = {4, 6, 8, 2},
                 .row_elements = 6},
     .backward = {.gemm = 768, .read = 4 * (48 + 64), .written = 4 * 96, .saved = 192}},
    {0},
};

const adept_handler adept_handler_attention = {
    .kind = "attention", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
