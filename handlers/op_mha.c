/* _native_multi_head_attention: the inference fast path of nn.MultiheadAttention. It has no derivative in PyTorch. */
#include "attention_cost.h"
#include "gemm_cost.h"

static const adept_op ops[] = {
    {"aten::_native_multi_head_attention", ADEPT_CAST_NONE, NULL},
    {0},
};

typedef struct mha {
    const adept_tensor *q, *k, *v, *qkv_weight, *qkv_bias, *out_weight, *out_bias, *mask;
    int64_t width, heads;
    bool weights, averaged;
} mha;

static bool is_input(const adept_tensor *t, int64_t width)
{
    return t->ndim == 3 && t->dims[2] == width;
}

static void check(adept_call *c, const mha *m)
{
    if (adept_call_refuse(c, m->heads < 1 || m->width < 1 || m->width % m->heads != 0 || m->width > INT64_MAX / 3,
                          "width %lld does not divide into %lld heads", (long long)m->width, (long long)m->heads))
        return;
    if (!is_input(m->q, m->width) || !is_input(m->k, m->width) || !adept_tensor_same_shape(m->k, m->v) ||
        m->k->dims[0] != m->q->dims[0]) {
        adept_call_fail(c, "query %s, key and value do not fit a width of %lld", adept_call_shape(c, m->q),
                        (long long)m->width);
        return;
    }
    bool fits =
        m->qkv_weight->ndim == 2 && m->qkv_weight->dims[0] == 3 * m->width && m->qkv_weight->dims[1] == m->width;
    fits = fits && m->out_weight->ndim == 2 && m->out_weight->dims[0] == m->width && m->out_weight->dims[1] == m->width;
    if (!fits) adept_call_fail(c, "the weights do not fit a width of %lld", (long long)m->width);
}

static mha read_mha(adept_call *c)
{
    mha m = {.q = adept_arg_tensor(c, "query"),
             .k = adept_arg_tensor(c, "key"),
             .v = adept_arg_tensor(c, "value"),
             .qkv_weight = adept_arg_tensor(c, "qkv_weight"),
             .qkv_bias = adept_arg_tensor(c, "qkv_bias"),
             .out_weight = adept_arg_tensor(c, "proj_weight"),
             .out_bias = adept_arg_tensor(c, "proj_bias"),
             .mask = adept_arg_tensor_opt(c, "mask"),
             .width = adept_arg_int(c, "embed_dim", 0),
             .heads = adept_arg_int(c, "num_head", 0),
             .weights = adept_arg_bool(c, "need_weights", true),
             .averaged = adept_arg_bool(c, "average_attn_weights", true)};
    if (adept_call_ok(c)) check(c, &m);
    return m;
}

static void note_gradient(const adept_tensor *t, bool *any)
{
    if (t && t->requires_grad) *any = true;
}

static void shape(adept_call *c)
{
    mha m = read_mha(c);
    bool gradient = false;
    if (!adept_call_ok(c)) return;
    note_gradient(m.q, &gradient), note_gradient(m.k, &gradient), note_gradient(m.v, &gradient);
    note_gradient(m.qkv_weight, &gradient), note_gradient(m.out_weight, &gradient);
    if (adept_call_training(c) && gradient) {
        adept_call_unsupported(c, "the fast path of inference has no backward; trace the model in train mode");
        return;
    }
    adept_out_tensor(c, m.q->dtype, 3, m.q->dims);
    if (!m.weights) {
        adept_out_none(c);
        return;
    }
    int64_t scores[4] = {m.q->dims[0], m.heads, m.q->dims[1], m.k->dims[1]};
    if (m.averaged) scores[1] = m.q->dims[1], scores[2] = m.k->dims[1];
    adept_out_tensor(c, m.q->dtype, m.averaged ? 3 : 4, scores);
}

/* rows x width times width x (parts * width); the bias is added by the kernel that follows, or here if `bias`. */
static void project(adept_cost *cost, const mha *m, double rows, double parts, const adept_tensor *bias)
{
    double size = adept_dtype_bytes(m->q->dtype), width = (double)m->width;
    adept_gemm g = {.dtype = m->q->dtype, .m = rows, .n = parts * width, .k = width, .batch = 1};
    double read = rows * width * size + parts * width * width * size + (bias ? adept_tensor_bytes(bias) : 0);
    adept_gemm_kernel(cost, ADEPT_FORWARD, &g, 1, read, rows * parts * width * size, bias ? rows * width : 0);
}

static void copy(adept_cost *cost, const mha *m, double elements, double flops, double extra)
{
    double bytes = elements * adept_dtype_bytes(m->q->dtype);
    adept_cost_alu(cost, ADEPT_FORWARD, m->q->dtype, elements, flops, bytes + extra, bytes);
}

static void cost(adept_call *c, adept_cost *cost)
{
    mha m = read_mha(c);
    double batch = (double)m.q->dims[0], queries = (double)m.q->dims[1], keys = (double)m.k->dims[1];
    double heads = (double)m.heads, width = (double)m.width, scores = batch * heads * queries * keys;
    adept_attention_sizes sizes = {.dtype = m.q->dtype,
                                   .batch = batch,
                                   .heads = heads,
                                   .kv_heads = heads,
                                   .queries = queries,
                                   .keys = keys,
                                   .width = width / heads,
                                   .value_width = width / heads,
                                   .mask = m.mask};
    if (m.q->storage == m.k->storage && m.k->storage == m.v->storage) {
        project(cost, &m, batch * queries, 3, NULL); /* self-attention: Q, K and V in one product */
    } else {
        project(cost, &m, batch * queries, 1, NULL);
        project(cost, &m, batch * keys, m.k->storage == m.v->storage ? 2 : 1, NULL);
        if (m.k->storage != m.v->storage) project(cost, &m, batch * keys, 1, NULL);
    }
    /* one kernel adds the biases and splits into heads, another joins the heads */
    double qkv = batch * (queries + 2 * keys) * width;
    copy(cost, &m, qkv, qkv, adept_tensor_bytes(m.qkv_bias));
    if (m.weights || adept_call_attention(c) == ADEPT_ATTENTION_EAGER)
        adept_attention_eager(cost, &sizes);
    else
        adept_attention_fused(cost, &sizes, NULL, NULL);
    copy(cost, &m, batch * queries * width, 0, 0);
    project(cost, &m, batch * queries, 1, m.out_bias);
    if (m.weights && m.averaged) {
        double size = adept_dtype_bytes(m.q->dtype);
        adept_cost_alu(cost, ADEPT_FORWARD, m.q->dtype, scores, scores, scores * size, scores / heads * size);
    }
}

static const adept_handler_case cases[] = {
    /* Query and key are different tensors here: three products 2*10*8*8 of 1280 FLOPs and their 240 bias additions;
     * 2 heads of 5x5 in 2 images: 100 scores, 4 * 100 * 4 = 1600; 600 for scale and softmax; output product 1280 + 80
     */
    {.name = "fused",
     .call = "aten::_native_multi_head_attention(query=f32:2x5x8, key=f32:2x5x8, value=f32:2x5x8, embed_dim=8, "
             "num_head=2, qkv_weight=f32:24x8, qkv_bias=f32:24, proj_weight=f32:8x8, proj_bias=f32:8, mask=none, "
             "need_weights=false, average_attn_weights=true, mask_type=none) @infer -> f32:2x5x8, none",
     .forward = {.gemm = 3840 + 1600 + 1280,
                 .alu = 240 + 600 + 80,
                 .read = 3 * (320 + 256) + (960 + 96) + 960 + 320 + (320 + 256 + 32),
                 .written = 960 + 960 + 320 + 320 + 320,
                 .launches = 7,
                 .product = {10, 8, 8, 1}}},
    /* With weights: scale q and k (160), softmax 500, and 100 scores averaged over the heads into 50 */
    {.name = "weights wanted",
     .call = "aten::_native_multi_head_attention(query=f32:2x5x8, key=f32:2x5x8, value=f32:2x5x8, embed_dim=8, "
             "num_head=2, qkv_weight=f32:24x8, qkv_bias=f32:24, proj_weight=f32:8x8, proj_bias=f32:8, mask=none, "
             "need_weights=true, average_attn_weights=true, mask_type=none) @infer -> f32:2x5x8, f32:2x5x5",
     .forward = {.gemm = 3840 + 1600 + 1280,
                 .alu = 240 + 160 + 500 + 80 + 100,
                 .read = 3 * 576 + 1056 + (320 + 320 + 640 + 400 + 720) + 320 + 608 + 400,
                 .written = 960 + 960 + (320 + 320 + 400 + 400 + 320) + 320 + 320 + 200,
                 .launches = 12,
                 .product = {10, 8, 8, 1},
                 .row_elements = 5}},
    {0},
};

const adept_handler adept_handler_mha = {.kind = "attention", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
