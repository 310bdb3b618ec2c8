/** @file config_decoder.c  Decoders: embedding, blocks of attention and feed-forward, head. */
#include "config_build.h"
#include <math.h>
#include <string.h>

typedef struct decoder {
    adept_emitter *e;
    const adept_architecture *a;
    int32_t sizes[2];          /* of the batch and of the sequence */
    int32_t generates, past;   /* is this a pass of a generation, and how many tokens are in the cache before? */
    int32_t total;             /* with them */
    int32_t cos, sin;          /* rotary positions */
    int32_t bias, hidden_mask; /* ALiBi, and what of the scores causality hides */
} decoder;

static bool has(const decoder *d, unsigned what)
{
    return (d->a->has & what) != 0;
}

/* ---- norms ---- */

static int32_t layer_norm_plus_one(adept_emitter *e, const char *name, int32_t x, int64_t width)
{
    adept_emit_place before = adept_emit_enter(e, "LayerNorm1P", "%s", name);
    int32_t weight = OP(e, "add.Tensor", adept_emit_weight(e, "weight", 1, &width), INT(1));
    int32_t y = OP(e, "layer_norm.default", x, LIST_OF(e, INT(width)), weight, adept_emit_weight(e, "bias", 1, &width));
    adept_emit_leave(e, before);
    return y;
}

static int32_t norm(const decoder *d, const char *name, int32_t x, int64_t width)
{
    switch (d->a->family->norm) {
    case ADEPT_RMS:
    case ADEPT_RMS_PLUS_ONE:
        return adept_emit_rms_norm(d->e, name, x, width, d->a->family->norm == ADEPT_RMS_PLUS_ONE);
    case ADEPT_LAYER_PLUS_ONE:
        return layer_norm_plus_one(d->e, name, x, width);
    default:
        return adept_emit_layer_norm(d->e, name, x, width, d->a->family->norm == ADEPT_LAYER);
    }
}

/* ---- linear layers ---- */

/* GPT-2's: the weight stands the other way round, rows of all samples are one matrix. */
static int32_t conv1d(const decoder *d, const char *name, int32_t x, int64_t in, int64_t out)
{
    adept_emitter *e = d->e;
    adept_emit_place before = adept_emit_enter(e, "transformers.pytorch_utils.Conv1D", "%s", name);
    int32_t weight = adept_emit_weight(e, "weight", 2, (int64_t[]){in, out}),
            bias = adept_emit_weight(e, "bias", 1, &out);
    int32_t rows = OP(e, "view.default", x, LIST_OF(e, INT(-1), INT(in)));
    int32_t y = OP(e, "view.default", OP(e, "addmm.default", bias, rows, weight),
                   LIST_OF(e, d->sizes[0], d->sizes[1], INT(out)));
    adept_emit_leave(e, before);
    return y;
}

static int32_t linear(const decoder *d, const char *name, int32_t x, int64_t in, int64_t out, unsigned bias)
{
    return has(d, ADEPT_HAS_CONV1D) ? conv1d(d, name, x, in, out)
                                    : adept_emit_linear(d->e, name, x, in, out, has(d, bias));
}

/* ---- positions ---- */

static int32_t slice(adept_emitter *e, int32_t x, int32_t from, int32_t to)
{
    return OP(e, "slice.Tensor", x, INT(-1), from, to);
}

static int32_t turn(const decoder *d, int32_t x, int32_t cos, int32_t sin)
{
    adept_emitter *e = d->e;
    const int64_t half = d->a->rotary_dim / 2;
    int32_t second = OP(e, "neg.default", slice(e, x, INT(half), INT(INT64_MAX)));
    int32_t half_turned = OP(e, "cat.default", LIST_OF(e, second, slice(e, x, INT(0), INT(half))), INT(-1));
    return OP(e, "add.Tensor", OP(e, "mul.Tensor", x, cos), OP(e, "mul.Tensor", half_turned, sin));
}

/* Of the last dimension of x (B, heads, S, width) the first rotary_dim numbers. */
static int32_t rotate(const decoder *d, int32_t x, int32_t cos, int32_t sin)
{
    adept_emitter *e = d->e;
    if (d->a->family->positions == ADEPT_ROTARY) return turn(d, x, cos, sin);
    int32_t rest = slice(e, x, INT(d->a->rotary_dim), INT(INT64_MAX));
    int32_t turned = turn(d, slice(e, x, INT(0), INT(d->a->rotary_dim)), cos, sin);
    return OP(e, "cat.default", LIST_OF(e, turned, rest), INT(-1));
}

/* Of a generation the tokens' numbers behind those in the cache, in a table that begins so many rows later. */
static int32_t positions_behind(const decoder *d, int64_t later)
{
    adept_emitter *e = d->e;
    int32_t from = d->past, to = d->total;
    if (later) from = OP(e, "add.Scalar", from, INT(later)), to = OP(e, "add.Scalar", to, INT(later));
    return OP(e, "unsqueeze.default", OP(e, "arange.start", from, to), INT(0));
}

static int32_t learned_positions(const decoder *d)
{
    adept_emitter *e = d->e;
    const adept_architecture *a = d->a;
    const int64_t later = a->family->positions == ADEPT_LEARNED ? 0 : 2;
    adept_emit_if(e, d->generates);
    adept_emit_else(e, positions_behind(d, later));
    int32_t numbers;
    if (later == 0) {
        numbers = OP(e, "unsqueeze.default", OP(e, "arange.default", d->sizes[1]), INT(0));
    } else {
        int32_t mask = OP(e, "ones.default", LIST_OF(e, d->sizes[0], d->sizes[1]), INT(4));
        int32_t counted = OP(e, "mul.Tensor", OP(e, "cumsum.default", mask, INT(1)), mask);
        numbers = OP(e, "add.Tensor", OP(e, "sub.Tensor", counted, INT(1)), INT(2));
    }
    numbers = adept_emit_end(e, numbers);
    return adept_emit_embedding(e, a->family->names->positions, numbers, a->positions + later, a->hidden, NULL);
}

/* ---- attention ---- */

/* q, k and v (B, heads, S, head_dim), of one product or of three. */
static void project(const decoder *d, int32_t x, int32_t out[3])
{
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    adept_emitter *e = d->e;
    const adept_architecture *a = d->a;
    const int64_t heads[] = {a->heads, a->kv_heads, a->kv_heads};
    if (has(d, ADEPT_HAS_ONE_QKV)) {
        int32_t all = linear(d, a->family->names->qkv, x, a->hidden, (a->heads + 2 * a->kv_heads) * a->head_dim,
                             ADEPT_HAS_QKV_BIAS);
        int32_t widths =
            LIST_OF(e, INT(heads[0] * a->head_dim), INT(heads[1] * a->head_dim), INT(heads[2] * a->head_dim));
        adept_emit_unpack(e, OP(e, "split_with_sizes.default", all, widths, INT(-1)), 3, out);
    }
    for (int i = 0; i < 3; i++) {
        if (!has(d, ADEPT_HAS_ONE_QKV))
            out[i] = linear(d, names[i], x, a->hidden, heads[i] * a->head_dim, ADEPT_HAS_QKV_BIAS);
        if (a->family->positions == ADEPT_LEARNED_COUNTED && i == 0)
            out[i] = OP(e, "mul.Tensor", out[i], FLOAT(1 / sqrt((double)a->head_dim)));
        int32_t shown =
            OP(e, "view.default", out[i], LIST_OF(e, d->sizes[0], d->sizes[1], INT(heads[i]), INT(a->head_dim)));
        if (has(d, ADEPT_HAS_QK_NORM) && i < 2) shown = norm(d, i == 0 ? "q_norm" : "k_norm", shown, a->head_dim);
        out[i] = OP(e, "transpose.int", shown, INT(1), INT(2));
    }
}

/* Pairs of neighbours become halves. */
static int32_t deinterleave(const decoder *d, int32_t x, int64_t heads)
{
    adept_emitter *e = d->e;
    const int64_t width = d->a->rope_dim;
    int32_t pairs = OP(e, "view.default", x, LIST_OF(e, d->sizes[0], INT(heads), d->sizes[1], INT(width / 2), INT(2)));
    return OP(e, "reshape.default", OP(e, "transpose.int", pairs, INT(4), INT(3)),
              LIST_OF(e, d->sizes[0], INT(heads), d->sizes[1], INT(width)));
}

/* Keys or values behind those of the cache, if this is a pass of a generation. */
static int32_t cached(const decoder *d, int32_t x, int64_t window)
{
    adept_emitter *e = d->e;
    adept_emit_if(e, d->generates);
    return adept_emit_end_if(e, OP(e, "adept::kv_cache", x, d->past, INT(window)), x);
}

/* What hides later tokens: where a generation writes, the only new one is the last. */
static int32_t is_causal(const decoder *d)
{
    adept_emitter *e = d->e;
    int32_t always = BOOL(true);
    adept_emit_if(e, d->generates);
    return adept_emit_end_if(e, OP(e, "gt.Scalar", d->sizes[1], INT(1)), always);
}

/* (B, heads, S, in) times a matrix for each head, (heads, in, out). */
static int32_t times_heads(const decoder *d, int32_t x, int32_t matrices, int64_t in, int64_t out)
{
    adept_emitter *e = d->e;
    const int64_t heads = d->a->heads;
    int32_t rows =
        OP(e, "reshape.default", OP(e, "transpose.int", x, INT(0), INT(1)), LIST_OF(e, INT(heads), INT(-1), INT(in)));
    int32_t y = OP(e, "view.default", OP(e, "bmm.default", rows, matrices),
                   LIST_OF(e, INT(heads), d->sizes[0], d->sizes[1], INT(out)));
    return OP(e, "transpose.int", y, INT(0), INT(1));
}

/* What DeepSeek's cache holds of a token: what its keys and values of all heads are made of. */
static int32_t keep_latent(const decoder *d, int32_t normed, int32_t rotated)
{
    adept_emitter *e = d->e;
    int32_t both = LIST_OF(e, OP(e, "unsqueeze.default", normed, INT(1)), rotated);
    return OP(e, "adept::kv_cache", OP(e, "cat.default", both, INT(-1)), d->past, INT(0));
}

/* A token that is written meets the cache as it is: its queries are brought into the low rank instead, and back what
 * they gather there, both by the matrix that would have made keys and values. All heads read the same. */
static int32_t attend_latent(const decoder *d, const int32_t q[2], int32_t normed, int32_t key, int32_t cos,
                             int32_t sin, int32_t weight)
{
    adept_emitter *e = d->e;
    const adept_architecture *a = d->a;
    int32_t of_heads[2], widths = LIST_OF(e, INT(a->plain_dim), INT(a->value_dim));
    int32_t rotated = OP(e, "view.default", key, LIST_OF(e, d->sizes[0], INT(1), d->sizes[1], INT(a->rope_dim)));
    rotated = rotate(d, deinterleave(d, rotated, 1), cos, sin);
    int32_t all = keep_latent(d, normed, rotated);
    weight =
        OP(e, "view.default", weight, LIST_OF(e, INT(a->heads), INT(a->plain_dim + a->value_dim), INT(a->kv_rank)));
    adept_emit_unpack(e, OP(e, "split_with_sizes.default", weight, widths, INT(1)), 2, of_heads);
    int32_t plain = times_heads(d, q[0], of_heads[0], a->plain_dim, a->kv_rank);
    int32_t turned = rotate(d, deinterleave(d, q[1], a->heads), cos, sin);
    int32_t queries = OP(e, "cat.default", LIST_OF(e, plain, turned), INT(-1));
    int32_t values = slice(e, all, INT(0), INT(a->kv_rank));
    int32_t y = adept_emit_attention(e, queries, all, values, 0, is_causal(d), true);
    return times_heads(d, y, OP(e, "transpose.int", of_heads[1], INT(1), INT(2)), a->kv_rank, a->value_dim);
}

/* DeepSeek's: keys and values come from a low rank, one rotated part of the key serves all heads. */
static int32_t latent_attention(const decoder *d, int32_t x, int32_t cos, int32_t sin)
{
    adept_emitter *e = d->e;
    const adept_architecture *a = d->a;
    const int64_t width = a->plain_dim + a->rope_dim, bias = has(d, ADEPT_HAS_QKV_BIAS);
    static const char linear_class[] = "torch.nn.modules.linear.Linear";
    int32_t q, parts[2], keys[2], compressed;
    if (a->q_rank > 0) {
        q = norm(d, "q_a_layernorm", adept_emit_linear(e, "q_a_proj", x, a->hidden, a->q_rank, bias), a->q_rank);
        q = adept_emit_linear(e, "q_b_proj", q, a->q_rank, a->heads * width, false);
    } else {
        q = adept_emit_linear(e, "q_proj", x, a->hidden, a->heads * width, false);
    }
    q = adept_emit_split_heads(e, q, d->sizes, a->heads, width);
    adept_emit_unpack(e, OP(e, "split_with_sizes.default", q, LIST_OF(e, INT(a->plain_dim), INT(a->rope_dim)), INT(-1)),
                      2, parts);
    compressed = adept_emit_linear(e, "kv_a_proj_with_mqa", x, a->hidden, a->kv_rank + a->rope_dim, bias);
    adept_emit_unpack(
        e, OP(e, "split_with_sizes.default", compressed, LIST_OF(e, INT(a->kv_rank), INT(a->rope_dim)), INT(-1)), 2,
        keys);
    int32_t normed = norm(d, "kv_a_layernorm", keys[0], a->kv_rank);
    adept_emit_place before = adept_emit_enter(e, linear_class, "kv_b_proj");
    int32_t weight = adept_emit_weight(
        e, "weight", 2, (int64_t[]){a->heads * (a->plain_dim + a->value_dim), a->kv_rank});
    adept_emit_leave(e, before);
    adept_emit_if(e, OP(e, "gt.Scalar", d->past, INT(0)));
    int32_t y = attend_latent(d, parts, normed, keys[1], cos, sin, weight);
    adept_emit_else(e, y);
    adept_emit_enter(e, linear_class, "kv_b_proj");
    int32_t wide = OP(e, "linear.default", normed, weight);
    adept_emit_leave(e, before);
    int32_t rotated = OP(e, "view.default", keys[1], LIST_OF(e, d->sizes[0], INT(1), d->sizes[1], INT(a->rope_dim)));
    wide = adept_emit_split_heads(e, wide, d->sizes, a->heads, a->plain_dim + a->value_dim);
    adept_emit_unpack(
        e, OP(e, "split_with_sizes.default", wide, LIST_OF(e, INT(a->plain_dim), INT(a->value_dim)), INT(-1)), 2, keys);
    int32_t q_rotated = rotate(d, deinterleave(d, parts[1], a->heads), cos, sin);
    rotated = rotate(d, deinterleave(d, rotated, 1), cos, sin);
    adept_emit_if(e, d->generates);
    int32_t kept = keep_latent(d, normed, rotated);
    adept_emit_end_if(e, kept, rotated);
    rotated = OP(e, "expand.default", rotated, LIST_OF(e, INT(-1), INT(a->heads), INT(-1), INT(-1)));
    int32_t q_all = OP(e, "cat.default", LIST_OF(e, parts[0], q_rotated), INT(-1));
    int32_t k_all = OP(e, "cat.default", LIST_OF(e, keys[0], rotated), INT(-1));
    return adept_emit_end(e, adept_emit_attention(e, q_all, k_all, keys[1], a->attention_dropout, BOOL(true),
                                                  a->kv_heads != a->heads));
}

/* Written out: the bias of the positions is added to the scores. */
static int32_t weigh_with_bias(const decoder *d, const int32_t qkv[3])
{
    adept_emitter *e = d->e;
    int32_t scores = OP(e, "matmul.default", qkv[0], OP(e, "transpose.int", qkv[1], INT(-1), INT(-2)));
    scores = OP(e, "mul.Tensor", scores, FLOAT(1 / sqrt((double)d->a->head_dim)));
    scores = OP(e, "add.Tensor", scores, d->bias);
    scores = OP(e, "masked_fill.Scalar", scores, d->hidden_mask, FLOAT(-3e38));
    return adept_emit_weigh(e, scores, qkv[2], d->a->attention_dropout);
}

static int32_t attention(const decoder *d, int32_t x, int64_t layer)
{
    adept_emitter *e = d->e;
    const adept_architecture *a = d->a;
    const int64_t window = adept_architecture_window(a, layer);
    int32_t qkv[3], cos = 0, sin = 0, y;
    adept_emit_place before = adept_emit_enter(e, "Attention", "%s", a->family->names->attention);
    if (a->family->positions <= ADEPT_ROTARY_PART) {
        cos = OP(e, "unsqueeze.default", d->cos, INT(1));
        sin = OP(e, "unsqueeze.default", d->sin, INT(1));
    }
    if (has(d, ADEPT_HAS_LATENT)) {
        y = latent_attention(d, x, cos, sin);
    } else {
        project(d, x, qkv);
        if (cos) qkv[0] = rotate(d, qkv[0], cos, sin), qkv[1] = rotate(d, qkv[1], cos, sin);
        qkv[1] = cached(d, qkv[1], window), qkv[2] = cached(d, qkv[2], window);
        y = a->family->positions == ADEPT_ALIBI
                ? weigh_with_bias(d, qkv)
                : adept_emit_attention(e, qkv[0], qkv[1], qkv[2], a->attention_dropout, is_causal(d),
                                       a->kv_heads != a->heads);
    }
    const int64_t width = has(d, ADEPT_HAS_LATENT) ? a->value_dim : a->head_dim;
    y = linear(d, a->family->names->out, adept_emit_merge_heads(e, y, d->sizes), a->heads * width, a->hidden,
               ADEPT_HAS_OUT_BIAS);
    y = adept_emit_dropout(e, "resid_dropout", y, a->dropout);
    adept_emit_leave(e, before);
    return y;
}

/* ---- feed-forward ---- */

static int32_t feed_forward(const decoder *d, int32_t x, int64_t layer)
{
    adept_emitter *e = d->e;
    const adept_architecture *a = d->a;
    const adept_family_names *names = a->family->names;
    adept_emit_place before = {e->length, e->module};
    const bool routed = adept_architecture_has_experts(a, layer);
    int32_t parts[2], y;
    if (names->mlp) adept_emit_enter(e, routed ? "SparseMoeBlock" : "MLP", "%s", names->mlp);
    if (routed) {
        y = adept_build_experts(e, a, x);
    } else if (has(d, ADEPT_HAS_ONE_GATE_UP)) {
        adept_emit_unpack(e,
                          OP(e, "chunk.default", adept_emit_linear(e, "gate_up_proj", x, a->hidden, 2 * a->ffn, false),
                             INT(2), INT(-1)),
                          2, parts);
        y = OP(e, "mul.Tensor", parts[1], adept_emit_activation(e, names->act, a->activation, parts[0]));
        y = adept_emit_linear(e, names->down, y, a->ffn, a->hidden, false);
    } else {
        y = linear(d, has(d, ADEPT_HAS_GATE) ? "gate_proj" : names->up, x, a->hidden, a->ffn, ADEPT_HAS_MLP_BIAS);
        y = adept_emit_activation(e, names->act, a->activation, y);
        if (has(d, ADEPT_HAS_GATE))
            y = OP(e, "mul.Tensor", y, linear(d, names->up, x, a->hidden, a->ffn, ADEPT_HAS_MLP_BIAS));
        y = linear(d, names->down, y, a->ffn, a->hidden, ADEPT_HAS_MLP_BIAS);
    }
    y = adept_emit_dropout(e, "dropout", y, a->dropout);
    adept_emit_leave(e, before);
    return y;
}

/* ---- blocks ---- */

static int32_t add(const decoder *d, int32_t x, int32_t y)
{
    return OP(d->e, "add.Tensor", x, y);
}

static int32_t block(const decoder *d, int32_t x, int64_t layer)
{
    const adept_architecture *a = d->a;
    const adept_family_names *names = a->family->names;
    if (a->post_norm) {
        x = norm(d, names->norm1, add(d, x, attention(d, x, layer)), a->hidden);
        return norm(d, names->norm2, add(d, x, feed_forward(d, x, layer)), a->hidden);
    }
    int32_t read = norm(d, names->norm1, x, a->hidden), y = attention(d, read, layer);
    if (a->parallel) {
        int32_t other = has(d, ADEPT_HAS_ONE_NORM) ? read : norm(d, names->norm2, x, a->hidden);
        return add(d, add(d, feed_forward(d, other, layer), y), x);
    }
    if (!has(d, ADEPT_HAS_NORMS_BEHIND)) {
        x = add(d, x, y);
        return add(d, x, feed_forward(d, norm(d, names->norm2, x, a->hidden), layer));
    }
    x = add(d, x, norm(d, "post_attention_layernorm", y, a->hidden));
    y = feed_forward(d, norm(d, "pre_feedforward_layernorm", x, a->hidden), layer);
    return add(d, x, norm(d, "post_feedforward_layernorm", y, a->hidden));
}

/* ---- the whole ---- */

static int32_t embed(decoder *d, int32_t ids, adept_emit_table *table)
{
    adept_emitter *e = d->e;
    const adept_architecture *a = d->a;
    int32_t x = adept_emit_embedding(e, a->family->names->embedding, ids, a->vocab, a->embedding_width, table);
    if (a->embedding_width != a->hidden)
        x = adept_emit_linear(e, "project_in", x, a->embedding_width, a->hidden, false);
    if (has(d, ADEPT_HAS_SCALED_EMBEDDING)) x = OP(e, "mul.Tensor", x, FLOAT(sqrt((double)a->hidden)));
    if (a->family->names->positions) x = add(d, x, learned_positions(d));
    if (a->family->positions <= ADEPT_ROTARY_PART) {
        /* Cosines and sines of all positions, once for all layers. */
        const int64_t half = d->a->rotary_dim / 2;
        adept_emit_place before = adept_emit_enter(e, "RotaryEmbedding", "rotary_emb");
        int32_t frequencies = adept_emit_buffer(e, "inv_freq", 1, &half);
        int32_t rows = OP(e, "unsqueeze.default",
                          OP(e, "unsqueeze.default", adept_emit_to_float(e, frequencies), INT(0)), INT(-1));
        int32_t positions = OP(e, "unsqueeze.default",
                               OP(e, "unsqueeze.default", OP(e, "arange.default", d->sizes[1]), INT(0)), INT(0));
        int32_t product = OP(e, "matmul.default", rows, adept_emit_to_float(e, positions));
        int32_t angles = OP(e, "transpose.int", product, INT(1), INT(2));
        int32_t both = OP(e, "cat.default", LIST_OF(e, angles, angles), INT(-1));
        d->cos = OP(e, "mul.Tensor", OP(e, "cos.default", both), FLOAT(1));
        d->sin = OP(e, "mul.Tensor", OP(e, "sin.default", both), FLOAT(1));
        adept_emit_leave(e, before);
        /* cos and sin in the type of the hidden states. */
        d->cos = adept_emit_to_type_of(d->e, d->cos, x);
        d->sin = adept_emit_to_type_of(d->e, d->sin, x);
    }
    if (a->family->positions == ADEPT_ALIBI) {
        /* (heads, 1, S) of distances times slopes, and the upper triangle that causality hides. */
        const int64_t slopes[] = {d->a->heads, 1, 1};
        int32_t negative =
            OP(e, "sub.Tensor", OP(e, "arange.default", d->total), OP(e, "sub.Scalar", d->total, INT(1)));
        int32_t distances = OP(e, "view.default", negative, LIST_OF(e, INT(1), INT(1), INT(-1)));
        d->bias = OP(e, "mul.Tensor", distances, adept_emit_buffer(e, "slopes", 3, slopes));
        int32_t square = OP(e, "ones.default", LIST_OF(e, d->sizes[1], d->total), INT(11));
        d->hidden_mask = OP(e, "unsqueeze.default",
                            OP(e, "unsqueeze.default", OP(e, "triu.default", square, INT(1)), INT(0)), INT(0));
    }
    return adept_emit_dropout(e, "drop", x, a->embedding_dropout);
}

/* The head shares the embedding's weight, or has its own. */
static int32_t head(const decoder *d, int32_t x, adept_emit_table table)
{
    adept_emitter *e = d->e;
    const adept_architecture *a = d->a;
    int32_t logits = has(d, ADEPT_HAS_TIED) ? adept_emit_tied_linear(e, a->family->names->head, x, table, ADEPT_OMITTED)
                                            : adept_emit_linear(e, a->family->names->head, x, a->embedding_width,
                                                                a->vocab, has(d, ADEPT_HAS_HEAD_BIAS));
    if (a->logit_cap > 0) {
        logits = OP(e, "tanh.default", OP(e, "div.Tensor", logits, FLOAT(a->logit_cap)));
        logits = OP(e, "mul.Tensor", logits, FLOAT(a->logit_cap));
    }
    return logits;
}

/* A window shorter than the sequence hides more than causality does, which nobody counts. */
static void note_window(const decoder *d)
{
    adept_emitter *e = d->e;
    if (d->a->window == 0) return;
    adept_emit_if(e, OP(e, "gt.Scalar", d->sizes[1], INT(d->a->window)));
    adept_emit_note(e,
                    "sliding_window %lld is shorter than the sequence: attention is counted as causal over all of it",
                    (long long)d->a->window);
    adept_emit_end_if(e, d->sizes[1], d->sizes[1]);
}

int32_t adept_build_decoder(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs)
{
    decoder d = {.e = e, .a = a};
    adept_emit_table table;
    int32_t ids = adept_emit_input(e, "input_ids");
    specs[(*n_specs)++] = "i64:BxS";
    d.sizes[0] = OP(e, "size.int", ids, INT(0));
    d.sizes[1] = OP(e, "size.int", ids, INT(1));
    note_window(&d);
    d.generates = adept_emit(e, "adept::generates", 0, NULL);
    d.past = adept_emit(e, "adept::past", 0, NULL);
    adept_emit_if(e, d.generates);
    d.total = adept_emit_end_if(e, OP(e, "add.Scalar", d.sizes[1], d.past), d.sizes[1]);
    adept_emit_place top = {e->length, e->module};
    if (!a->headless || strchr(a->family->names->root, '.')) adept_emit_enter(e, "Model", "%s", a->family->names->root);
    int32_t x = embed(&d, ids, &table);
    for (int64_t i = 0; i < a->layers; i++) {
        adept_emit_place before =
            adept_emit_enter(e, "DecoderLayer", "%s.%lld", a->family->names->layers, (long long)i);
        x = block(&d, x, i);
        adept_emit_leave(e, before);
    }
    if (a->final_norm) x = norm(&d, a->family->names->final, x, a->hidden);
    if (a->embedding_width != a->hidden)
        x = adept_emit_linear(e, "project_out", x, a->hidden, a->embedding_width, false);
    adept_emit_leave(e, top);
    if (a->headless) return x;
    adept_emit_if(e, d.generates); /* of the prompt's tokens the last one alone says which comes next */
    x = adept_emit_end_if(e, OP(e, "slice.Tensor", x, INT(1), INT(-1), INT(INT64_MAX)), x);
    int32_t logits = head(&d, x, table);
    return a->without_loss ? logits : adept_emit_loss(e, logits, ids, a->vocab, true);
}
