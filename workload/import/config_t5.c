/** @file config_t5.c  T5: encoder and decoder, positions as a bias of the scores, attention written out. */
#include "config_build.h"
#include <math.h>
#include <string.h>

typedef struct stack {
    adept_emitter *e;
    const adept_architecture *a;
    bool decodes;
    int32_t sizes[2], bias;        /* of its own scores, once for all layers */
    int32_t other, other_sizes[2]; /* what the encoder made */
} stack;

/* Which row of the table a distance looks up: near ones exactly, far ones by their logarithm. */
static int32_t buckets(const stack *s)
{
    adept_emitter *e = s->e;
    int64_t n = s->decodes ? s->a->buckets : s->a->buckets / 2, exact = n / 2;
    int32_t positions = OP(e, "arange.default", s->sizes[1]);
    int32_t distance = OP(e, "sub.Tensor", OP(e, "unsqueeze.default", positions, INT(0)),
                          OP(e, "unsqueeze.default", positions, INT(1)));
    int32_t first = 0;
    if (s->decodes) {
        distance = OP(e, "neg.default", OP(e, "minimum.default", distance, OP(e, "zeros_like.default", distance)));
    } else {
        first = OP(e, "mul.Tensor", OP(e, "to.dtype", OP(e, "gt.Scalar", distance, INT(0)), INT(4)), INT(n));
        distance = OP(e, "abs.default", distance);
    }
    int32_t share = OP(e, "log.default", OP(e, "div.Tensor", adept_emit_to_float(e, distance), INT(exact)));
    int32_t far =
        OP(e, "to.dtype",
           OP(e, "mul.Tensor", OP(e, "div.Tensor", share, FLOAT(log(128.0 / (double)exact))), INT(n - exact)), INT(4));
    far = OP(e, "add.Tensor", far, INT(exact));
    far = OP(e, "minimum.default", far, OP(e, "full_like.default", far, INT(n - 1)));
    int32_t bucket = OP(e, "where.self", OP(e, "lt.Scalar", distance, INT(exact)), distance, far);
    return s->decodes ? bucket : OP(e, "add.Tensor", bucket, first);
}

/* (1, heads, S, S), with the mask of what comes later where there is one. */
static int32_t position_bias(const stack *s)
{
    adept_emitter *e = s->e;
    int32_t bias = adept_emit_embedding(e, "relative_attention_bias", buckets(s), s->a->buckets, s->a->heads, NULL);
    bias = OP(e, "unsqueeze.default", OP(e, "permute.default", bias, LIST_OF(e, INT(2), INT(0), INT(1))), INT(0));
    if (!s->decodes) return bias;
    int32_t mask = OP(e, "full.default", LIST_OF(e, s->sizes[1], s->sizes[1]), FLOAT(-3e38));
    mask = OP(e, "unsqueeze.default", OP(e, "unsqueeze.default", OP(e, "triu.default", mask, INT(1)), INT(0)), INT(0));
    return OP(e, "add.Tensor", bias, mask);
}

static int32_t project(const stack *s, const char *name, int32_t x, const int32_t sizes[2])
{
    int32_t y = adept_emit_linear(s->e, name, x, s->a->hidden, s->a->heads * s->a->head_dim, false);
    return adept_emit_split_heads(s->e, y, sizes, s->a->heads, s->a->head_dim);
}

/* A layer of its own: norm, attention to itself or to the encoder's, dropout, and what went around it. */
static int32_t attention(stack *s, int32_t x, bool cross)
{
    adept_emitter *e = s->e;
    const char *name = cross ? "EncDecAttention" : "SelfAttention";
    int32_t read = adept_emit_rms_norm(e, "layer_norm", x, s->a->hidden, false);
    int32_t of = cross ? s->other : read;
    const int32_t *sizes = cross ? s->other_sizes : s->sizes;
    adept_emit_place before = adept_emit_enter(e, "Attention", "%s", name);
    int32_t q = project(s, "q", read, s->sizes), k = project(s, "k", of, sizes), v = project(s, "v", of, sizes);
    int32_t scores = OP(e, "matmul.default", q, OP(e, "transpose.int", k, INT(3), INT(2)));
    if (!cross && s->bias == 0) s->bias = position_bias(s);
    if (!cross) scores = OP(e, "add.Tensor", scores, s->bias);
    int32_t y = adept_emit_merge_heads(e, adept_emit_weigh(e, scores, v, s->a->attention_dropout), s->sizes);
    y = adept_emit_linear(e, "o", y, s->a->heads * s->a->head_dim, s->a->hidden, false);
    adept_emit_leave(e, before);
    return OP(e, "add.Tensor", x, adept_emit_dropout(e, "dropout", y, s->a->dropout));
}

static int32_t feed_forward(const stack *s, int32_t x)
{
    adept_emitter *e = s->e;
    const adept_architecture *a = s->a;
    const bool gated = a->has & ADEPT_HAS_GATE;
    int32_t y = adept_emit_rms_norm(e, "layer_norm", x, a->hidden, false);
    adept_emit_place before = adept_emit_enter(e, gated ? "DenseGatedActDense" : "DenseActDense", "DenseReluDense");
    int32_t inner = adept_emit_activation(e, "act", a->activation,
                                          adept_emit_linear(e, gated ? "wi_0" : "wi", y, a->hidden, a->ffn, false));
    if (gated) inner = OP(e, "mul.Tensor", inner, adept_emit_linear(e, "wi_1", y, a->hidden, a->ffn, false));
    y = adept_emit_linear(e, "wo", adept_emit_dropout(e, "dropout", inner, a->dropout), a->ffn, a->hidden, false);
    adept_emit_leave(e, before);
    return OP(e, "add.Tensor", x, adept_emit_dropout(e, "dropout", y, a->dropout));
}

static int32_t run_stack(stack *s, int32_t x, int64_t layers)
{
    adept_emitter *e = s->e;
    adept_emit_place top = adept_emit_enter(e, "Stack", s->decodes ? "decoder" : "encoder");
    x = adept_emit_dropout(e, "dropout", x, s->a->dropout);
    for (int64_t i = 0; i < layers; i++) {
        int part = 0;
        adept_emit_place before =
            adept_emit_enter(e, "LayerSelfAttention", "block.%lld.layer.%d", (long long)i, part++);
        x = attention(s, x, false);
        adept_emit_leave(e, before);
        if (s->decodes) {
            adept_emit_enter(e, "LayerCrossAttention", "block.%lld.layer.%d", (long long)i, part++);
            x = attention(s, x, true);
            adept_emit_leave(e, before);
        }
        adept_emit_enter(e, "LayerFF", "block.%lld.layer.%d", (long long)i, part);
        x = feed_forward(s, x);
        adept_emit_leave(e, before);
    }
    x = adept_emit_dropout(e, "dropout", adept_emit_rms_norm(e, "final_layer_norm", x, s->a->hidden, false),
                           s->a->dropout);
    adept_emit_leave(e, top);
    return x;
}

static stack stack_of(adept_emitter *e, const adept_architecture *a, int32_t ids)
{
    return (stack){.e = e, .a = a, .sizes = {OP(e, "size.int", ids, INT(0)), OP(e, "size.int", ids, INT(1))}};
}

int32_t adept_build_t5(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs)
{
    adept_emit_table table;
    int32_t ids = adept_emit_input(e, "input_ids"), decoded = adept_emit_input(e, "decoder_input_ids");
    specs[(*n_specs)++] = "i64:BxS";
    specs[(*n_specs)++] = "i64:BxS";
    stack encoder = stack_of(e, a, ids), decoder = stack_of(e, a, decoded);
    int32_t x = adept_emit_embedding(e, "shared", ids, a->vocab, a->hidden, &table);
    decoder.decodes = true;
    decoder.other = run_stack(&encoder, x, a->layers);
    memcpy(decoder.other_sizes, encoder.sizes, sizeof encoder.sizes);
    x = run_stack(&decoder, OP(e, "embedding.default", table.value, decoded), a->decoder_layers);
    if (a->headless) return x;
    const bool tied = a->has & ADEPT_HAS_TIED;
    if (tied) x = OP(e, "mul.Tensor", x, FLOAT(1 / sqrt((double)a->hidden)));
    int32_t logits = tied ? adept_emit_tied_linear(e, "lm_head", x, table, ADEPT_OMITTED)
                          : adept_emit_linear(e, "lm_head", x, a->hidden, a->vocab, false);
    return a->without_loss ? logits : adept_emit_loss(e, logits, decoded, a->vocab, false);
}
