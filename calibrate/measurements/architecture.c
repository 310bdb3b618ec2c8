/** @file architecture.c  Models whose sizes stand in columns: a row's layers, width, heads and experts as
 * adept:FAMILY?key=value, which the importer of configurations reads. */
#include "adept_append.h"
#include "adept_number.h"
#include "dataset_private.h"
#include "nearest.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define USUAL_HEAD_WIDTH 128 /* GPT-3 (Brown et al. 2020, table 2.1) from 13B on, Llama */
#define GPT_VOCAB 50257
#define BERT_VOCAB 30522
#define PADDED_TO                                                                                                      \
    128 /* rows of the vocabulary, times tensor-parallel ranks: Megatron's --make-vocab-size-divisible-by */

/* ---- which family ---- */

/* What the column `family`, or a model's name, begins with, and which family of adept builds it. What is not here goes
 * by its traits. Of the first one that fits: longer names stand before shorter ones. */
static const struct {
    const char *begins, *dense, *experts;
} families[] = {
    {"bert", "bert", NULL},
    {"deepseek_v2", "deepseek_v2", "deepseek_v2"},
    {"deepseek", "deepseek_v3", "deepseek_v3"},
    {"gemma2", "gemma2", NULL},
    {"gemma_2", "gemma2", NULL},
    {"gemma", "gemma", NULL},
    {"gpt_neox", "gpt_neox", NULL},
    {"mistral", "mistral", "mixtral"},
    {"mixtral", "mixtral", "mixtral"},
    {"mpt", "mpt", NULL},
    {"nemotron", "nemotron", NULL},
    {"opt", "opt", NULL},
    {"phi3", "phi3", NULL},
    {"phi", "phi", NULL},
    {"pythia", "gpt_neox", NULL},
    {"qwen3", "qwen3", "qwen3_moe"},
    {"qwen1", "qwen2", "qwen2_moe"},
    {"qwen", "qwen2", "qwen3_moe"},
    {"t5", "t5", NULL},
};

/* Has its MLP a gate? */
static bool is_gated_family(const char *family)
{
    static const char *const without[] = {"bert", "gpt2", "gpt_neox", "mpt", "nemotron", "opt", "phi", "t5"};

    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(family, without[i]) == 0) return false;
    return true;
}

/* Letters and digits of a name, in lower case, '-', '.' and blanks as '_': "Llama-3.1" is llama_3_1. */
static void plain(char *out, size_t size, const char *text)
{
    size_t n = 0;

    for (; text[n] && n + 1 < size; n++)
        out[n] = strchr("-. ", text[n]) ? '_' : adept_lower(text[n]);
    out[n] = '\0';
}

static const char *by_name(const char *name, bool experts)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(name, families[i].begins, strlen(families[i].begins)) == 0)
            return experts ? families[i].experts : families[i].dense;
    return NULL;
}

/* ---- sizes ---- */

typedef struct sizes {
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, params;
    int64_t experts, top_k, expert_ffn, shared_experts;
} sizes;

#define LAYERS "layers num_layers n_layers num_hidden_layers"
#define HIDDEN "hidden d_model hidden_size"
/* X(size, the column's names) */
#define SIZE_LIST(X)                                                                                                   \
    X(layers, LAYERS)                                                                                                  \
    X(hidden, HIDDEN)                                                                                                  \
    X(heads, "heads num_heads n_heads num_attention_heads")                                                            \
    X(kv_heads, "kv_heads num_kv_heads num_key_value_heads num_query_groups")                                          \
    X(head_dim, "head_dim kv_channels")                                                                                \
    X(ffn, "ffn ffn_hidden d_ff ffn_hidden_size intermediate_size")                                                    \
    X(vocab, "vocab vocab_size")                                                                                       \
    X(params, "params")                                                                                                \
    X(experts, "experts num_experts n_routed_experts")                                                                 \
    X(top_k, "top_k topk num_experts_per_tok moe_router_topk")                                                         \
    X(expert_ffn, "expert_ffn moe_intermediate_size moe_ffn_hidden_size")                                              \
    X(shared_experts, "shared_experts n_shared_experts")

/* The cell of the first of these columns that there is; "": none, or it is empty. */
static const char *cell_of(const adept_dataset_row *m, const char *names, char name[32])
{
    const char *found = "";

    for (const char *at = names; *at && !*found; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        snprintf(name, 32, "%.*s", (int)n, at);
        const char *text = adept_dataset_row_text(m, name);
        if (text) found = text + strspn(text, " \t");
        at += n;
    }
    return found;
}

static adept_status read_size(int64_t *out, const adept_dataset_row *m, const char *names, adept_error *err)
{
    char name[32], word[64];
    const char *text = cell_of(m, names, name);
    double value;

    *out = 0;
    const size_t n = strcspn(text, " \t");
    const bool one = text[n + strspn(text + n, " \t")] == '\0';
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    if (one && (adept_row_says_nothing(word) || strcasecmp(word, "none") == 0)) return ADEPT_OK;
    if (!one || n >= sizeof word || !adept_number_parse(&value, word) || value != floor(value) || value < 0 ||
        value > 0x1p53)
        return adept_row_fail(m, name, err, "'%.60s' is not a whole number from 0 to 2^53", text);
    *out = (int64_t)value;
    return ADEPT_OK;
}

bool adept_column_is_layers(const char *name)
{
    return adept_row_word_is_among(LAYERS, name);
}

const char *adept_row_layers(const adept_dataset_row *m)
{
    char name[32];

    return cell_of(m, LAYERS, name);
}

bool adept_row_has_architecture(const adept_dataset_row *m)
{
    char name[32];

    return *adept_row_layers(m) && *cell_of(m, HIDDEN, name);
}

/* ---- what is not said ---- */

static int64_t padded(int64_t vocab, int64_t ranks)
{
    const int64_t to = PADDED_TO * ranks;
    return (vocab + to - 1) / to * to;
}

static void fill(sizes *s, adept_dataset_row *m, const char *family, bool gated, int64_t ranks)
{
    if (s->heads == 0) {
        /* Heads as wide as usual, as many as tensor-parallel ranks can share. */
        s->heads = s->hidden / USUAL_HEAD_WIDTH;
        if (s->heads < ranks) s->heads = ranks;
        while (s->heads > 1 && (s->hidden % s->heads != 0 || s->heads % ranks != 0 ||
                                (s->kv_heads > 0 && s->heads % s->kv_heads != 0)))
            s->heads--;
        m->unsaid |= ADEPT_UNSAID_HEADS;
    }
    if (s->ffn == 0 && s->expert_ffn > 0) s->ffn = s->expert_ffn;
    if (s->ffn == 0) {
        s->ffn = gated ? (8 * s->hidden / 3 + 255) / 256 * 256 : 4 * s->hidden;
        m->unsaid |= ADEPT_UNSAID_FFN;
    }
    if (s->experts > 0 && s->expert_ffn == 0) {
        s->expert_ffn = s->ffn;
        m->unsaid |= ADEPT_UNSAID_EXPERT_FFN;
    }
    if (s->vocab == 0) {
        if (strcmp(family, "bert") == 0) s->vocab = padded(BERT_VOCAB, ranks);
        if (strcmp(family, "gpt2") == 0) s->vocab = padded(GPT_VOCAB, ranks);
        m->unsaid |= ADEPT_UNSAID_VOCAB;
    } else if (s->vocab % ranks != 0) {
        s->vocab = padded(s->vocab, ranks);
        m->unsaid |= ADEPT_UNSAID_PADDING;
    }
}

/* Is the number of parameters nearer to that of one table for embedding and head, or of two? Norms and biases, which
 * are not counted, are less than a table. */
static bool is_tied(const sizes *s, bool gated)
{
    const double h = (double)s->hidden, kv = (double)(s->kv_heads > 0 ? s->kv_heads : s->heads);
    const double d = s->head_dim > 0 ? (double)s->head_dim : h / (double)s->heads, matrices = gated ? 3 : 2;
    const double wide = s->experts > 0 ? (double)((s->experts + s->shared_experts) * s->expert_ffn) : (double)s->ffn;
    const double blocks = (double)s->layers * h * (2 * d * ((double)s->heads + kv) + matrices * wide);

    return (double)s->params - blocks < 1.5 * (double)s->vocab * h;
}

/* ---- the specification ---- */

static void add(char *text, size_t size, const char *key, int64_t value)
{
    if (value > 0) adept_append(text, size, "%c%s=%" PRId64, strchr(text, '?') ? '&' : '?', key, value);
}

/* The family that the row names or is like. @return NULL: adept builds none like it */
static const char *choose(adept_dataset_row *m, const sizes *s, const char *gated)
{
    char name[64];
    const bool experts = s->experts > 0, grouped = s->kv_heads > 0 && s->kv_heads < s->heads;
    const char *said = adept_dataset_row_text(m, "family"), *family;

    plain(name, sizeof name, m->model_name); /* says more: qwen3_30b_a3b of family qwen */
    family = by_name(name, experts);
    plain(name, sizeof name, said ? said : "");
    if (!family) family = by_name(name, experts);
    if (family && (!*gated || is_gated_family(family) == (*gated == '1'))) {
        const bool old = strcmp(family, "qwen3_moe") == 0 && s->shared_experts > 0;
        return old ? "qwen2_moe" : family;
    }
    /* by its traits; without a word of a gate, gated as families of today are, but GPT and what is as wide */
    const bool gpt = strncmp(name, "gpt", 3) == 0 || strstr(m->model_name, "gpt") == m->model_name,
               gate = *gated ? *gated == '1' : experts || (!gpt && s->ffn != 4 * s->hidden);
    if (!*gated) m->unsaid |= ADEPT_UNSAID_GATED;
    if (experts) return !gate ? NULL : s->shared_experts > 0 ? "qwen2_moe" : "mixtral";
    return gate ? "llama" : grouped ? "nemotron" : "gpt2";
}

adept_status adept_row_architecture(const char **spec, adept_arena *arena, adept_dataset_row *m, adept_error *err)
{
    char text[640];
    sizes s;
    double number;
    const char *tp = adept_dataset_row_text(m, "tp"), *gated = adept_dataset_row_text(m, "gated");
    const char *ep = adept_dataset_row_text(m, "ep");
    const int64_t ranks = tp && adept_number_parse(&number, tp) && number >= 1 && number <= 1024 ? (int64_t)number : 1;
    adept_status status = ADEPT_OK;
#define X(size, names)                                                                                                 \
    if (status == ADEPT_OK) status = read_size(&s.size, m, names, err);
    SIZE_LIST(X)
#undef X

    if (status != ADEPT_OK) return status;
    gated = gated ? adept_row_program_word("gated", gated + strspn(gated, " \t")) : "";
    if (*gated && strcmp(gated, "0") != 0 && strcmp(gated, "1") != 0)
        return adept_row_fail(m, "gated", err, "'%.60s' is not 0 or 1", gated);
    if (s.layers == 0) return adept_row_fail(m, "layers", err, "is 0");
    if (s.hidden == 0) return adept_row_fail(m, "hidden", err, "is 0");
    if (s.experts == 0 && (strstr(m->model_name, "moe") || (ep && adept_number_parse(&number, ep) && number > 1)))
        return adept_row_fail(m, "experts", err, "is empty, though the row is of a mixture of experts");
    if (s.experts > 0 && s.top_k == 0) return adept_row_fail(m, "top_k", err, "is empty, though there are experts");
    if (s.experts == 0) m->unsaid &= ~(unsigned)ADEPT_UNSAID_EP;
    const char *family = choose(m, &s, gated);
    if (!family) return adept_row_fail(m, "gated", err, "is 0: adept builds experts with gates only");
    fill(&s, m, family, is_gated_family(family), ranks);
    snprintf(text, sizeof text, "adept:%s", family);
    add(text, sizeof text, "layers", s.layers);
    add(text, sizeof text, "hidden", s.hidden);
    add(text, sizeof text, "heads", s.heads);
    add(text, sizeof text, "kv_heads", s.kv_heads > 0 ? s.kv_heads : strcmp(family, "gpt2") != 0 ? s.heads : 0);
    if (strncmp(family, "deepseek", 8) != 0)
        add(text, sizeof text, "head_dim", s.head_dim > 0 ? s.head_dim : s.hidden % s.heads ? 0 : s.hidden / s.heads);
    add(text, sizeof text, "ffn", s.ffn);
    add(text, sizeof text, "vocab", s.vocab);
    add(text, sizeof text, "experts", s.experts);
    add(text, sizeof text, "topk", s.top_k);
    add(text, sizeof text, "expert_ffn", s.experts > 0 ? s.expert_ffn : 0);
    if (strcmp(family, "qwen2_moe") == 0) add(text, sizeof text, "shared_ffn", s.shared_experts * s.expert_ffn);
    if (strncmp(family, "deepseek", 8) == 0) add(text, sizeof text, "shared_experts", s.shared_experts);
    if (strcmp(family, "gpt2") == 0 || strcmp(family, "bert") == 0 || strcmp(family, "opt") == 0)
        add(text, sizeof text, "positions", m->seq_length);
    if (s.params > 0 && strcmp(family, "bert") != 0 && strcmp(family, "t5") != 0)
        adept_append(text, sizeof text, "&tied=%s", is_tied(&s, is_gated_family(family)) ? "true" : "false");
    *spec = adept_arena_strdup(arena, text);
    return *spec ? ADEPT_OK : adept_no_memory(err, "the measurements");
}
