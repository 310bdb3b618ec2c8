/** @file config_encoder.c  Encoders: BERT with its heads, and the vision transformer. */
#include "config_build.h"
#include <string.h>

typedef struct encoder {
    adept_emitter *e;
    const adept_architecture *a;
    int32_t sizes[2];
} encoder;

/* ---- BERT ---- */

/* Dense, dropout, what went around it, norm. */
static int32_t close_around(const encoder *n, const char *name, int32_t y, int64_t in, int32_t x)
{
    adept_emit_place before = adept_emit_enter(n->e, "Output", "%s", name);
    y = adept_emit_dropout(n->e, "dropout", adept_emit_linear(n->e, "dense", y, in, n->a->hidden, true), n->a->dropout);
    y = adept_emit_layer_norm(n->e, "LayerNorm", OP(n->e, "add.Tensor", y, x), n->a->hidden, true);
    adept_emit_leave(n->e, before);
    return y;
}

/* Of x (B, S, hidden), as the module at hand. */
static int32_t attend(const encoder *n, int32_t x, bool bias)
{
    static const char *const names[] = {"query", "key", "value"};
    int32_t qkv[3];
    for (int i = 0; i < 3; i++) {
        qkv[i] = adept_emit_linear(n->e, names[i], x, n->a->hidden, n->a->heads * n->a->head_dim, bias);
        qkv[i] = adept_emit_split_heads(n->e, qkv[i], n->sizes, n->a->heads, n->a->head_dim);
    }
    return adept_emit_merge_heads(n->e,
                                  adept_emit_attention(n->e, qkv[0], qkv[1], qkv[2], n->a->attention_dropout,
                                                       adept_emit_bool(n->e, false), false),
                                  n->sizes);
}

static int32_t dense_activated(const encoder *n, const char *module, const char *name, int32_t x, int64_t in,
                               int64_t out)
{
    adept_emit_place before = adept_emit_enter(n->e, "Intermediate", "%s", module);
    int32_t y =
        adept_emit_activation(n->e, "intermediate_act_fn", name, adept_emit_linear(n->e, "dense", x, in, out, true));
    adept_emit_leave(n->e, before);
    return y;
}

static int32_t bert_layer(const encoder *n, int32_t x)
{
    adept_emitter *e = n->e;
    adept_emit_place before = adept_emit_enter(e, "Attention", "attention"),
                     inner = adept_emit_enter(e, "SelfAttention", "self");
    int32_t y = attend(n, x, true);
    adept_emit_leave(e, inner);
    x = close_around(n, "output", y, n->a->heads * n->a->head_dim, x);
    adept_emit_leave(e, before);
    return close_around(n, "output", dense_activated(n, "intermediate", n->a->activation, x, n->a->hidden, n->a->ffn),
                        n->a->ffn, x);
}

static int32_t bert_embeddings(const encoder *n, int32_t ids, adept_emit_table *table)
{
    adept_emitter *e = n->e;
    const adept_architecture *a = n->a;
    adept_emit_place before = adept_emit_enter(e, "Embeddings", "embeddings");
    int32_t x = adept_emit_embedding(e, "word_embeddings", ids, a->vocab, a->hidden, table);
    int32_t types = OP(e, "zeros.default", LIST_OF(e, n->sizes[0], n->sizes[1]), INT(4));
    x = OP(e, "add.Tensor", x, adept_emit_embedding(e, "token_type_embeddings", types, a->types, a->hidden, NULL));
    int32_t positions = OP(e, "unsqueeze.default", OP(e, "arange.default", n->sizes[1]), INT(0));
    x = OP(e, "add.Tensor", x,
           adept_emit_embedding(e, "position_embeddings", positions, a->positions, a->hidden, NULL));
    x = adept_emit_dropout(e, "dropout", adept_emit_layer_norm(e, "LayerNorm", x, a->hidden, true), a->dropout);
    adept_emit_leave(e, before);
    return x;
}

/* The first token, (B, hidden), through a dense layer and tanh. */
static int32_t pool(const encoder *n, int32_t x)
{
    adept_emitter *e = n->e;
    return dense_activated(n, "pooler", "tanh", OP(e, "select.int", x, INT(1), INT(0)), n->a->hidden, n->a->hidden);
}

/* Logits of words, by the embedding's weight. */
static int32_t predict_words(const encoder *n, int32_t x, adept_emit_table table)
{
    adept_emitter *e = n->e;
    const adept_architecture *a = n->a;
    adept_emit_place before = adept_emit_enter(e, "LMPredictionHead", "cls.predictions");
    int32_t y = dense_activated(n, "transform", a->activation, x, a->hidden, a->hidden);
    y = adept_emit_layer_norm(e, "transform.LayerNorm", y, a->hidden, true);
    int32_t bias = adept_emit_weight(e, "bias", 1, &a->vocab);
    y = a->has & ADEPT_HAS_TIED
            ? adept_emit_tied_linear(e, "decoder", y, table, bias)
            : OP(e, "add.Tensor", adept_emit_linear(e, "decoder", y, a->hidden, a->vocab, false), bias);
    adept_emit_leave(e, before);
    return y;
}

typedef enum bert_head { MODEL, MASKED, PRETRAINING, SEQUENCE, TOKENS, ANSWERS, NO_HEAD } bert_head;

int32_t adept_build_bert(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs)
{
    encoder n = {.e = e, .a = a};
    adept_emit_table table;
    static const char *const names[] = {"",
                                        "ForMaskedLM",
                                        "ForPreTraining",
                                        "ForSequenceClassification",
                                        "ForTokenClassification",
                                        "ForQuestionAnswering"};
    size_t k = 0;
    while (k < NO_HEAD && strcmp(names[k], a->head) != 0)
        k++;
    bert_head head = (bert_head)k;
    if (head == NO_HEAD) {
        adept_emit_note(
            e,
            "the head '%.40s' is not built: the model is counted without one (known are ForMaskedLM, ForPreTraining, "
            "ForSequenceClassification, ForTokenClassification and ForQuestionAnswering)",
            a->head);
        head = MODEL;
    }
    int32_t ids = adept_emit_input(e, "input_ids");
    specs[(*n_specs)++] = "i64:BxS";
    n.sizes[0] = OP(e, "size.int", ids, INT(0));
    n.sizes[1] = OP(e, "size.int", ids, INT(1));
    adept_emit_place top = {e->length, e->module};
    if (head != MODEL) adept_emit_enter(e, "Model", "bert");
    int32_t x = bert_embeddings(&n, ids, &table);
    for (int64_t i = 0; i < a->layers; i++) {
        adept_emit_place before = adept_emit_enter(e, "Layer", "encoder.layer.%lld", (long long)i);
        x = bert_layer(&n, x);
        adept_emit_leave(e, before);
    }
    int32_t pooled = head == MODEL || head == PRETRAINING || head == SEQUENCE ? pool(&n, x) : x;
    adept_emit_leave(e, top);
    switch (head) {
    case SEQUENCE:
        return adept_emit_linear(e, "classifier", adept_emit_dropout(e, "dropout", pooled, a->dropout), a->hidden,
                                 a->labels, true);
    case TOKENS:
        return adept_emit_linear(e, "classifier", adept_emit_dropout(e, "dropout", x, a->dropout), a->hidden, a->labels,
                                 true);
    case ANSWERS:
        return adept_emit_linear(e, "qa_outputs", x, a->hidden, 2, true);
    case MASKED:
    case PRETRAINING:
        break;
    default:
        return LIST_OF(e, x, pooled);
    }
    int32_t words = predict_words(&n, x, table);
    if (!a->without_loss) words = adept_emit_loss(e, words, ids, a->vocab, false);
    return head == MASKED ? words
                          : LIST_OF(e, words, adept_emit_linear(e, "cls.seq_relationship", pooled, a->hidden, 2, true));
}

/* ---- vision transformer ---- */

static int32_t vit_layer(const encoder *n, int32_t x)
{
    adept_emitter *e = n->e;
    const adept_architecture *a = n->a;
    int32_t read = adept_emit_layer_norm(e, "layernorm_before", x, a->hidden, true);
    adept_emit_place before = adept_emit_enter(e, "Attention", "attention"),
                     inner = adept_emit_enter(e, "SelfAttention", "attention");
    int32_t y = attend(n, read, a->has & ADEPT_HAS_QKV_BIAS);
    adept_emit_leave(e, inner);
    y = adept_emit_dropout(e, "output.dropout",
                           adept_emit_linear(e, "output.dense", y, a->heads * a->head_dim, a->hidden, true),
                           a->dropout);
    adept_emit_leave(e, before);
    x = OP(e, "add.Tensor", y, x);
    y = dense_activated(n, "intermediate", a->activation,
                        adept_emit_layer_norm(e, "layernorm_after", x, a->hidden, true), a->hidden, a->ffn);
    y = adept_emit_dropout(e, "output.dropout", adept_emit_linear(e, "output.dense", y, a->ffn, a->hidden, true),
                           a->dropout);
    return OP(e, "add.Tensor", y, x);
}

static int32_t vit_embeddings(encoder *n, int32_t pixels)
{
    adept_emitter *e = n->e;
    const adept_architecture *a = n->a;
    const int64_t side = a->image / a->patch, first[] = {1, 1, a->hidden}, all[] = {1, side * side + 1, a->hidden};
    adept_emit_place before = adept_emit_enter(e, "Embeddings", "embeddings");
    adept_emit_place inner = adept_emit_enter(e, "torch.nn.modules.conv.Conv2d", "patch_embeddings.projection");
    int32_t weight = adept_emit_weight(e, "weight", 4, (int64_t[]){a->hidden, a->channels, a->patch, a->patch});
    int32_t x = OP(e, "conv2d.default", pixels, weight, adept_emit_weight(e, "bias", 1, &a->hidden),
                   LIST_OF(e, INT(a->patch), INT(a->patch)));
    adept_emit_leave(e, inner);
    x = OP(e, "transpose.int", OP(e, "flatten.using_ints", x, INT(2)), INT(1), INT(2));
    int32_t token =
        OP(e, "expand.default", adept_emit_weight(e, "cls_token", 3, first), LIST_OF(e, n->sizes[0], INT(-1), INT(-1)));
    x = OP(e, "cat.default", LIST_OF(e, token, x), INT(1));
    x = OP(e, "add.Tensor", x, adept_emit_weight(e, "position_embeddings", 3, all));
    x = adept_emit_dropout(e, "dropout", x, a->dropout);
    n->sizes[1] = OP(e, "size.int", x, INT(1));
    adept_emit_leave(e, before);
    return x;
}

int32_t adept_build_vit(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs)
{
    encoder n = {.e = e, .a = a};
    const bool classifies = strcmp(a->head, "ForImageClassification") == 0;
    if (*a->head && !classifies)
        adept_emit_note(e, "the head '%.40s' is not built: the model is counted without one", a->head);
    int32_t pixels = adept_emit_input(e, "pixel_values");
    specs[(*n_specs)++] = adept_arena_printf(adept_graph_builder_graph(e->b)->arena, "Bx%lldx%lldx%lld",
                                             (long long)a->channels, (long long)a->image, (long long)a->image);
    n.sizes[0] = OP(e, "size.int", pixels, INT(0));
    adept_emit_place top = {e->length, e->module};
    if (classifies) adept_emit_enter(e, "Model", "vit");
    int32_t x = vit_embeddings(&n, pixels);
    for (int64_t i = 0; i < a->layers; i++) {
        adept_emit_place before = adept_emit_enter(e, "Layer", "encoder.layer.%lld", (long long)i);
        x = vit_layer(&n, x);
        adept_emit_leave(e, before);
    }
    x = adept_emit_layer_norm(e, "layernorm", x, a->hidden, true);
    if (!classifies) return LIST_OF(e, x, pool(&n, x));
    adept_emit_leave(e, top);
    return adept_emit_linear(e, "classifier", OP(e, "select.int", x, INT(1), INT(0)), a->hidden, a->labels, true);
}
