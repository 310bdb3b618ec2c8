/* The fast paths that PyTorch traces in evaluation mode: _native_multi_head_attention of nn.MultiheadAttention and
 * _transformer_encoder_layer_fwd of nn.TransformerEncoderLayer, with the nested tensors between them. They have no
 * derivative in PyTorch: a model traced so and trained takes the ordinary path, whose products these count. */
#include "adept_profile.h"
#include "attention_cost.h"
#include "elementwise_cost.h"
#include "form.h"
#include "gemm_cost.h"

static const char encoder; /* a whole layer */

static const adept_op ops[] = {
    {"aten::_native_multi_head_attention", ADEPT_CAST_LOWER, NULL},
    {"aten::_transformer_encoder_layer_fwd", ADEPT_CAST_LOWER, &encoder},
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
    bool layer = adept_call_data(c) == &encoder;
    mha m = {.q = adept_arg_tensor(c, layer ? "src" : "query"),
             .k = adept_arg_tensor(c, layer ? "src" : "key"),
             .v = adept_arg_tensor(c, layer ? "src" : "value"),
             .qkv_weight = adept_arg_tensor(c, "qkv_weight"),
             .qkv_bias = adept_arg_tensor(c, "qkv_bias"),
             .out_weight = adept_arg_tensor(c, "proj_weight"),
             .out_bias = adept_arg_tensor(c, "proj_bias"),
             .mask = adept_arg_tensor_opt(c, "mask"),
             .width = adept_arg_int(c, "embed_dim", 0),
             .heads = adept_arg_int(c, layer ? "num_heads" : "num_head", 0),
             .weights = !layer && adept_arg_bool(c, "need_weights", true),
             .averaged = adept_arg_bool(c, "average_attn_weights", true)};
    if (adept_call_ok(c)) check(c, &m);
    return m;
}

static bool is_matrix(const adept_tensor *t, int64_t rows, int64_t columns)
{
    return t->ndim == 2 && t->dims[0] == rows && t->dims[1] == columns;
}

static void shape(adept_call *c)
{
    mha m = read_mha(c);
    if (!adept_call_ok(c)) return;
    if (adept_call_data(c) == &encoder) {
        const adept_tensor *up = adept_arg_tensor(c, "ffn_weight_1"), *down = adept_arg_tensor(c, "ffn_weight_2");
        bool fits = up->ndim == 2 && is_matrix(up, up->dims[0], m.width) && is_matrix(down, m.width, up->dims[0]);
        if (!adept_call_refuse(c, !fits, "the weights do not fit a width of %lld", (long long)m.width))
            adept_out_tensor(c, m.q->dtype, 3, m.q->dims);
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

/* rows x in times in x out, a part of `weight`; the bias is added by the kernel that follows, or here if `bias`.
 *  @param input what autograd keeps of the rows; NULL: an intermediate result */
static void project(adept_cost *cost, const adept_tensor *input, double rows, double in, double out,
                    const adept_tensor *weight, const adept_tensor *bias)
{
    double size = adept_dtype_bytes(weight->dtype), n = rows * out;
    bool wanted = input ? adept_cost_wants_grad(cost, input) : adept_cost_backward(cost);
    adept_gemm_cost(cost,
                    &(adept_gemm){.dtype = weight->dtype,
                                  .m = rows,
                                  .n = out,
                                  .k = in,
                                  .batch = 1,
                                  .a = {input, rows * in * size, rows * in, size, wanted},
                                  .b = {weight, in * out * size, in * out, size, adept_cost_wants_grad(cost, weight)},
                                  .out_bytes = n * size,
                                  .extra_bytes = bias ? adept_tensor_bytes(bias) : 0,
                                  .extra_flops = bias ? n : 0});
    if (adept_cost_wants_grad(cost, bias))
        adept_cost_alu(cost, ADEPT_BACKWARD, weight->dtype, n, n, 0, adept_tensor_bytes(bias));
}

/* One kernel over so many elements, and one for its gradient. */
static void each(adept_cost *cost, const mha *m, double elements, double flops, double reads, double extra)
{
    double bytes = elements * adept_dtype_bytes(m->q->dtype);
    adept_cost_alu(cost, ADEPT_FORWARD, m->q->dtype, elements, flops * elements, reads * bytes + extra, bytes);
    adept_cost_alu(cost, ADEPT_BACKWARD, m->q->dtype, elements, 2 * flops * elements, bytes, bytes);
}

static void attend(adept_call *c, adept_cost *cost, const mha *m, const adept_attention_sizes *given)
{
    adept_attention_sizes sizes = *given;
    if (!m->weights && adept_call_words(c)->attention != ADEPT_ATTENTION_EAGER) {
        double kept =
            given->batch * (2 * given->queries + 2 * given->keys) * (double)m->width; /* Q, K, V, the result */
        adept_attention_fused(cost, &sizes, NULL, NULL);
        adept_cost_save_bytes(cost, kept * adept_dtype_bytes(m->q->dtype));
        return;
    }
    /* heads of the projected input, which no tensor of the call is */
    const adept_tensor heads = {
        .dtype = m->q->dtype, .requires_grad = adept_cost_backward(cost), .storage = -1, .param = -1};
    sizes.q = sizes.k = sizes.v = &heads;
    adept_attention_eager(cost, &sizes);
    adept_cost_save_bytes(cost, given->batch * given->keys * (double)m->width * adept_dtype_bytes(m->q->dtype)); /* V */
}

static void attention_cost(adept_call *c, adept_cost *cost, const mha *m)
{
    double batch = (double)m->q->dims[0], queries = (double)m->q->dims[1], keys = (double)m->k->dims[1];
    double heads = (double)m->heads, width = (double)m->width, scores = batch * heads * queries * keys;
    adept_attention_sizes sizes = {.dtype = m->q->dtype,
                                   .batch = batch,
                                   .heads = heads,
                                   .kv_heads = heads,
                                   .queries = queries,
                                   .keys = keys,
                                   .width = width / heads,
                                   .value_width = width / heads,
                                   .mask = m->mask};
    bool same = m->k->storage == m->v->storage;
    if (m->q->storage == m->k->storage && same) {
        project(cost, m->q, batch * queries, width, 3 * width, m->qkv_weight, NULL); /* Q, K and V in one product */
    } else {
        project(cost, m->q, batch * queries, width, width, m->qkv_weight, NULL);
        project(cost, m->k, batch * keys, width, (same ? 2 : 1) * width, m->qkv_weight, NULL);
        if (!same) project(cost, m->v, batch * keys, width, width, m->qkv_weight, NULL);
    }
    /* one kernel adds the biases and splits into heads, another joins the heads */
    each(cost, m, batch * (queries + 2 * keys) * width, 1, 1, adept_tensor_bytes(m->qkv_bias));
    attend(c, cost, m, &sizes);
    each(cost, m, batch * queries * width, 0, 1, 0);
    project(cost, NULL, batch * queries, width, width, m->out_weight, m->out_bias);
    if (m->weights && m->averaged) {
        double size = adept_dtype_bytes(m->q->dtype);
        adept_cost_alu(cost, ADEPT_FORWARD, m->q->dtype, scores, scores, scores * size, scores / heads * size);
    }
}

static void normalise(adept_cost *cost, const mha *m, double rows)
{
    double width = (double)m->width, n = rows * width, bytes = n * adept_dtype_bytes(m->q->dtype);
    for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++) /* 7 FLOPs as in op_norm.c */
        adept_cost_rows(cost, pass, ADEPT_FAMILY_NORM, m->q->dtype, n, width, (pass == ADEPT_BACKWARD ? 14 : 7) * n,
                        (pass == ADEPT_BACKWARD ? 2 : 1) * bytes, bytes, 1);
    adept_cost_save_bytes(cost, bytes);
}

static void cost(adept_call *c, adept_cost *cost)
{
    mha m = read_mha(c);
    attention_cost(c, cost, &m);
    if (adept_call_data(c) != &encoder) return;
    /* The feed-forward products with their activation, and for each half a residual sum and a normalisation. */
    const adept_tensor *up = adept_arg_tensor(c, "ffn_weight_1"), *down = adept_arg_tensor(c, "ffn_weight_2");
    double rows = (double)m.q->dims[0] * (double)m.q->dims[1], width = (double)m.width, inner = (double)up->dims[0];
    double activation = adept_arg_bool(c, "use_gelu", false) ? 8 : 1; /* op_activation.c */
    each(cost, &m, rows * width, 1, 2, 0);
    normalise(cost, &m, rows);
    project(cost, NULL, rows, width, inner, up, adept_arg_tensor(c, "ffn_bias_1"));
    each(cost, &m, rows * inner, activation, 1, 0);
    project(cost, NULL, rows, inner, width, down, adept_arg_tensor(c, "ffn_bias_2"));
    each(cost, &m, rows * width, 1, 2, 0);
    normalise(cost, &m, rows);
}

const adept_handler adept_handler_mha = {
    .kind = "attention", .shard = ADEPT_SHARD_HEADS, .ops = ops, .shape = shape, .cost = cost};

/* ---------------------------------------------------------------- nested tensors ---------------- */

/* Sequences without their padding. How much of it there is depends on data: all of it is counted, so that these keep
 * their shape. */
static void from_mask(adept_call *c)
{
    adept_form_like_first(c);
    adept_call_assumes(c, "padding is counted as if it were data (--seq-length at the mean length leaves it out)");
}

/* Is the padding at the end of each? Only data tells. */
static void is_left_aligned(adept_call *c)
{
    adept_form_tensor(c, 0);
    adept_out_unknown(c);
}

static const adept_form packed = {from_mask, {0, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL};
static const adept_form padded = {adept_form_like_first, {0, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL};

static const adept_op nested_ops[] = {
    {"aten::_nested_tensor_from_mask", ADEPT_CAST_NONE, &packed},
    {"aten::_nested_tensor_from_mask_left_aligned", ADEPT_CAST_NONE,
     &(const adept_form){is_left_aligned, {0, 0, 0}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::to_padded_tensor aten::nested_to_padded_tensor", ADEPT_CAST_NONE, &padded},
    {0},
};

const adept_handler adept_handler_nested = {
    .kind = "copy", .shard = ADEPT_SHARD_BATCH, .ops = nested_ops, .shape = adept_form_shape, .cost = adept_form_cost};
