/** @file config_read.c  A configuration as sizes: keys of all families, their defaults in transformers, and what
 * contradicts itself. */
#include "config_build.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* More than any model has; their products stay within 63 bits. */
#define MOST_LAYERS 4096
#define MOST_WIDTH (1 << 20)
#define MOST_HEADS (1 << 14)
#define MOST_FFN (1 << 23)
#define MOST_VOCAB (1 << 24)
#define MOST_POSITIONS (1 << 30)
#define MOST_EXPERTS 4096

#define HIDDEN "hidden_size n_embd d_model hidden"
#define LAYERS "num_hidden_layers n_layer n_layers num_layers layers"
#define HEADS "num_attention_heads n_head n_heads num_heads heads"
#define KV_HEADS "num_key_value_heads kv_heads"
#define FFN "intermediate_size n_inner ffn_dim d_ff ffn"
#define VOCAB "vocab_size vocab"

static bool has(const adept_architecture *a, unsigned what)
{
    return (a->has & what) != 0;
}

static void set(adept_architecture *a, unsigned what, bool on)
{
    a->has = on ? a->has | what : a->has & ~what;
}

/* ---- width, heads, feed-forward ---- */

/* Of a family that was asked for by its name: as its usual model has it, in proportion to the width. */
static double proportion(adept_keys *k, const char *names, int64_t hidden)
{
    double usual = adept_keys_in_file(k, HIDDEN);
    return k->usual && usual > 0 && !adept_keys_in_words(k, names) ? (double)hidden / usual : 1;
}

static void read_heads(adept_architecture *a, adept_keys *k)
{
    double share = proportion(k, HEADS, a->hidden);
    /* Gemma 3's text part leaves out what its class has */
    const bool partial = strcmp(a->family->name, "gemma3_text") == 0;
    a->heads = adept_keys_count(k, HEADS, 1, MOST_HEADS, partial ? 8 : ADEPT_KEY_REQUIRED);
    if (share != 1) {
        double heads = (double)a->heads * share;
        if (heads < 1 || heads > MOST_HEADS || heads != floor(heads))
            adept_keys_fail(k, "hidden %" PRId64 " is not a multiple of the family's usual width of a head: say heads",
                            a->hidden);
        else
            a->heads = (int64_t)heads;
    }
    bool grouped = adept_keys_in_file(k, KV_HEADS) > 0;
    int64_t kv = adept_keys_count(k, KV_HEADS, 1, MOST_HEADS, partial ? 4 : a->heads);
    if (k->usual && grouped && !adept_keys_in_words(k, KV_HEADS) &&
        (adept_keys_in_file(k, KV_HEADS) == adept_keys_in_file(k, HEADS) || kv > a->heads || a->heads % kv != 0))
        kv = a->heads;
    a->kv_heads = kv;
    if (a->kv_heads > a->heads || a->heads % a->kv_heads != 0)
        adept_keys_fail(k, "\"num_attention_heads\" %" PRId64 " is not a multiple of \"num_key_value_heads\" %" PRId64,
                        a->heads, a->kv_heads);
    int64_t whole = a->hidden / a->heads;
    bool divides = a->hidden % a->heads == 0;
    int64_t usual = has(a, ADEPT_HAS_FIXED_HEAD) ? (a->family->norm == ADEPT_RMS_PLUS_ONE ? 256 : 128)
                    : divides                    ? whole
                                                 : 0;
    a->head_dim = adept_keys_count(k, "head_dim d_kv", 1, MOST_WIDTH, has(a, ADEPT_HAS_LATENT) ? 1 : usual);
    if (a->head_dim == 0 && k->json.status == ADEPT_OK)
        adept_keys_fail(k,
                        "\"hidden_size\" %" PRId64 " is not a multiple of \"num_attention_heads\" %" PRId64
                        ", and \"head_dim\" is missing",
                        a->hidden, a->heads);
}

static void read_ffn(adept_architecture *a, adept_keys *k)
{
    const adept_family *f = a->family;
    int64_t fallback = ADEPT_KEY_REQUIRED;
    double share = proportion(k, FFN, a->hidden);
    if (strcmp(f->name, "gpt2") == 0) fallback = 4 * a->hidden;
    if (f->positions == ADEPT_ALIBI) {
        a->ffn = a->hidden * adept_keys_count(k, "expansion_ratio", 1, 64, 4);
        if (!adept_keys_in_words(k, FFN)) return;
    }
    a->ffn = adept_keys_count(k, FFN, 1, MOST_FFN, fallback);
    if (share != 1 && adept_keys_in_file(k, FFN) > 0) a->ffn = (int64_t)ceil((double)a->ffn * share / 64) * 64;
    if (a->ffn > MOST_FFN) a->ffn = MOST_FFN;
}

/* ---- what families differ in ---- */

static void read_dropout(adept_architecture *a, adept_keys *k)
{
    const adept_family *f = a->family;
    /* what transformers' classes have where a file says nothing */
    double usual = f->form == ADEPT_CONFIG_BERT || f->form == ADEPT_CONFIG_T5 || strcmp(f->name, "gpt2") == 0 ||
                           strcmp(f->name, "opt") == 0
                       ? 0.1
                       : 0;
    a->dropout =
        adept_keys_number(k, "resid_pdrop hidden_dropout hidden_dropout_prob dropout_rate dropout", 0, 1, usual);
    double within = strcmp(f->name, "opt") == 0 ? 0 : usual;
    a->attention_dropout = adept_keys_number(k, "attn_pdrop attention_probs_dropout_prob attention_dropout", 0, 1,
                                             f->form == ADEPT_CONFIG_T5 ? a->dropout : within);
    a->embedding_dropout =
        adept_keys_number(k, "embd_pdrop emb_pdrop", 0, 1,
                          f->form == ADEPT_CONFIG_DECODER && strcmp(f->name, "gpt2") != 0 ? 0 : a->dropout);
    if (f->positions == ADEPT_ROTARY_PART && strcmp(f->name, "gpt_neox") == 0) a->embedding_dropout = a->dropout;
}

static void read_activation(adept_architecture *a, adept_keys *k)
{
    const adept_family *f = a->family;
    const char *names = f->norm == ADEPT_RMS_PLUS_ONE ? "hidden_activation"
                        : f->form == ADEPT_CONFIG_T5  ? "feed_forward_proj"
                                                      : "activation_function hidden_act";
    const char *text = adept_keys_text(k, names, f->activation);
    adept_keys_any(k, "hidden_act dense_act_fn is_gated_act"); /* which Gemma and T5 do not go by */
    if (strncmp(text, "gated-", 6) == 0) {
        set(a, ADEPT_HAS_GATE, true);
        text += 6;
        if (strcmp(text, "gelu") == 0) text = "gelu_new"; /* as T5Config has it */
    }
    a->activation = text;
    if (adept_emit_activation_known(text)) return;
    char shown[40];
    size_t n = 0;
    for (; text[n] && n + 1 < sizeof shown; n++)
        shown[n] = text[n] < ' ' ? '?' : text[n];
    shown[n] = '\0';
    adept_keys_fail(k,
                    "\"hidden_act\" '%s' is not an activation that adept knows: silu, gelu, gelu_fast, gelu_new, "
                    "gelu_pytorch_tanh, "
                    "relu, relu2, quick_gelu or tanh",
                    shown);
    a->activation = "gelu";
}

static void read_rotary(adept_architecture *a, adept_keys *k)
{
    const int64_t of = has(a, ADEPT_HAS_LATENT) ? a->rope_dim : a->head_dim;
    const cJSON *inner = adept_keys_any(k, "rope_parameters"), /* where transformers 5 has it */
        *moved = cJSON_GetObjectItemCaseSensitive(inner, "partial_rotary_factor");
    double share = adept_keys_number(k, "partial_rotary_factor rotary_pct", 0.001, 1, a->family->rotary_share);
    if (moved && !(cJSON_IsNumber(moved) && moved->valuedouble >= 0.001 && moved->valuedouble <= 1))
        adept_keys_fail(k, "\"rope_parameters.partial_rotary_factor\" is not a number of 0.001 to 1");
    else if (moved && !adept_keys_any(k, "partial_rotary_factor rotary_pct"))
        share = moved->valuedouble;
    a->rotary_dim = (int64_t)((double)of * share);
    if (a->family->positions > ADEPT_ROTARY_PART) return;
    if (a->rotary_dim % 2 != 0 || a->rotary_dim < 2)
        adept_keys_fail(k,
                        "rotary positions take %" PRId64 " of the %" PRId64
                        " numbers of a head (\"head_dim\", \"partial_rotary_factor\"): an even number is needed",
                        a->rotary_dim, of);
}

/* ---- mixtures of experts ---- */

static void read_experts(adept_architecture *a, adept_keys *k)
{
    const adept_family *f = a->family;
    if (f->routing == ADEPT_NOT_ROUTED) return;
    a->experts = adept_keys_count(k, "num_local_experts num_experts n_routed_experts experts",
                                  f->routing == ADEPT_ROUTED_GROUPS ? 0 : 1, MOST_EXPERTS,
                                  f->routing == ADEPT_ROUTED_GROUPS ? 0 : ADEPT_KEY_REQUIRED);
    if (a->experts == 0) return;
    a->chosen = adept_keys_count(k, "num_experts_per_tok experts_per_tok topk", 1, MOST_EXPERTS, ADEPT_KEY_REQUIRED);
    bool mixtral = strcmp(f->name, "mixtral") == 0;
    a->expert_ffn =
        adept_keys_count(k, "moe_intermediate_size expert_ffn", 1, MOST_FFN, mixtral ? a->ffn : ADEPT_KEY_REQUIRED);
    if (has(a, ADEPT_HAS_SHARED_EXPERT))
        a->shared_ffn =
            adept_keys_count(k, "shared_expert_intermediate_size shared_ffn", 1, MOST_FFN, ADEPT_KEY_REQUIRED);
    if (f->routing == ADEPT_ROUTED_GROUPS)
        a->shared_ffn = a->expert_ffn * adept_keys_count(k, "n_shared_experts shared_experts", 0, 256, 0);
    a->first_dense = adept_keys_count(k, "first_k_dense_replace", 0, MOST_LAYERS, 0);
    const cJSON *list = adept_keys_any(k, "mlp_only_layers");
    if (list && (!cJSON_IsArray(list) || list->child))
        adept_keys_fail(k, "\"mlp_only_layers\" is not an empty list: layers chosen one by one are not built");
    a->every = adept_keys_count(k, "decoder_sparse_step moe_layer_freq", 1, MOST_LAYERS, 1);
    a->sigmoid = strcmp(f->name, "deepseek_v3") == 0;
    a->corrected = a->sigmoid;
    a->renormalised = adept_keys_flag(k, "norm_topk_prob", mixtral || a->sigmoid);
    a->groups = a->chosen_groups = 1;
    if (f->routing == ADEPT_ROUTED_GROUPS) {
        a->groups = adept_keys_count(k, "n_group", 1, MOST_EXPERTS, 1);
        a->chosen_groups = adept_keys_count(k, "topk_group", 1, MOST_EXPERTS, 1);
        if (strcmp(adept_keys_text(k, "topk_method", ""), "greedy") == 0) a->groups = a->chosen_groups = 1;
    }
    if (a->chosen > a->experts)
        adept_keys_fail(k, "\"num_experts_per_tok\" %" PRId64 " are more than the %" PRId64 " experts", a->chosen,
                        a->experts);
    if (a->experts % a->groups != 0 || a->chosen_groups > a->groups ||
        a->chosen > a->experts / a->groups * a->chosen_groups)
        adept_keys_fail(k,
                        "\"n_group\" %" PRId64 ", \"topk_group\" %" PRId64 " and \"num_experts_per_tok\" %" PRId64
                        " do not fit %" PRId64 " experts",
                        a->groups, a->chosen_groups, a->chosen, a->experts);
    if (a->sigmoid && a->groups > 1 && a->experts / a->groups < 2)
        adept_keys_fail(k, "\"n_group\" %" PRId64 " leaves fewer than 2 of %" PRId64 " experts to a group", a->groups,
                        a->experts);
    if (a->first_dense > a->layers)
        adept_keys_fail(k, "\"first_k_dense_replace\" %" PRId64 " are more than the %" PRId64 " layers", a->first_dense,
                        a->layers);
}

bool adept_architecture_has_experts(const adept_architecture *a, int64_t layer)
{
    if (a->experts == 0 || layer < a->first_dense) return false;
    return a->family->routing == ADEPT_ROUTED_GROUPS ? layer % a->every == 0 : (layer + 1) % a->every == 0;
}

/* ---- heads on top ---- */

static void read_forms(adept_architecture *a, adept_keys *k)
{
    const adept_family *f = a->family;
    if (f->form == ADEPT_CONFIG_BERT) a->types = adept_keys_count(k, "type_vocab_size", 1, MOST_VOCAB, 2);
    if (f->form == ADEPT_CONFIG_T5) {
        a->decoder_layers = adept_keys_count(k, "num_decoder_layers decoder_layers", 1, MOST_LAYERS, a->layers);
        a->buckets = adept_keys_count(k, "relative_attention_num_buckets", 4, 1 << 16, 32);
    }
    if (f->form != ADEPT_CONFIG_VIT) return;
    a->image = adept_keys_count(k, "image_size image", 1, 1 << 16, ADEPT_KEY_REQUIRED);
    a->patch = adept_keys_count(k, "patch_size patch", 1, 1 << 16, ADEPT_KEY_REQUIRED);
    a->channels = adept_keys_count(k, "num_channels channels", 1, 1 << 16, 3);
    if (a->image < a->patch)
        adept_keys_fail(k, "\"image_size\" %" PRId64 " is smaller than \"patch_size\" %" PRId64, a->image, a->patch);
}

int64_t adept_architecture_window(const adept_architecture *a, int64_t layer)
{
    if (a->layer_types) {
        const cJSON *type = cJSON_GetArrayItem(a->layer_types, (int)layer);
        return cJSON_IsString(type) && strcmp(type->valuestring, "sliding_attention") == 0 ? a->window : 0;
    }
    if (layer < a->window_from || (a->window_every > 0 && (layer + 1) % a->window_every == 0)) return 0;
    return a->window;
}

/* ---- the whole ---- */

void adept_architecture_read(adept_architecture *a, const adept_family *f, adept_keys *k)
{
    *a = (adept_architecture){.family = f, .has = f->has, .head = ""};
    a->layers = adept_keys_count(k, LAYERS, 1, MOST_LAYERS, ADEPT_KEY_REQUIRED);
    a->hidden = adept_keys_count(k, HIDDEN, 1, MOST_WIDTH, ADEPT_KEY_REQUIRED);
    if (k->json.status == ADEPT_OK) read_heads(a, k);
    if (k->json.status == ADEPT_OK) read_ffn(a, k);
    if (a->family->form != ADEPT_CONFIG_VIT)
        a->vocab = adept_keys_count(k, VOCAB, 1, MOST_VOCAB,
                                    strcmp(a->family->name, "gemma3_text") == 0 ? 262208 : ADEPT_KEY_REQUIRED);
    int64_t least = a->family->positions == ADEPT_LEARNED && a->family->form != ADEPT_CONFIG_T5 &&
                            a->family->form != ADEPT_CONFIG_VIT
                        ? ADEPT_KEY_REQUIRED
                        : 2048;
    a->positions =
        adept_keys_count(k, "max_position_embeddings n_positions max_seq_len positions", 1, MOST_POSITIONS, least);
    if (k->json.status != ADEPT_OK) return;
    set(a, ADEPT_HAS_TIED, adept_keys_flag(k, "tie_word_embeddings tied", has(a, ADEPT_HAS_TIED)));
    if (f->form == ADEPT_CONFIG_DECODER && f->positions <= ADEPT_ROTARY_PART) {
        bool bias = adept_keys_flag(k, "attention_bias qkv_bias", has(a, ADEPT_HAS_QKV_BIAS));
        /* of Qwen2 and Phi only q, k and v go by it; GPT-NeoX has one word for both */
        bool both = f->has & ADEPT_HAS_OUT_BIAS || !(f->has & ADEPT_HAS_QKV_BIAS);
        set(a, ADEPT_HAS_QKV_BIAS, bias);
        if (both) set(a, ADEPT_HAS_OUT_BIAS, strcmp(f->name, "phi") == 0 || bias);
        set(a, ADEPT_HAS_MLP_BIAS, adept_keys_flag(k, "mlp_bias", has(a, ADEPT_HAS_MLP_BIAS)));
    }
    if (f->form == ADEPT_CONFIG_VIT) set(a, ADEPT_HAS_QKV_BIAS, adept_keys_flag(k, "qkv_bias", true));
    a->parallel =
        has(a, ADEPT_HAS_ONE_NORM) || (has(a, ADEPT_HAS_PARALLEL) && adept_keys_flag(k, "use_parallel_residual", true));
    if (adept_keys_flag(k, "qk_layernorm", false)) adept_keys_fail(k, "\"qk_layernorm\" is not built");
    if (has(a, ADEPT_HAS_WINDOW)) {
        int64_t window = adept_keys_count(k, "sliding_window", 1, MOST_POSITIONS, 0);
        bool used = strncmp(f->name, "qwen", 4) != 0 || adept_keys_flag(k, "use_sliding_window", false);
        a->window = used ? window : 0;
        /* Which layers have it: those that layer_types says, else as the family has it. */
        const char *name = a->family->name;
        const int64_t usual = strcmp(name, "gemma2") == 0 ? 2 : strncmp(name, "gemma3", 6) == 0 ? 6 : 0;
        const cJSON *types = adept_keys_any(k, "layer_types");
        a->window_every = adept_keys_count(k, "sliding_window_pattern _sliding_window_pattern", 1, MOST_LAYERS, usual);
        if (strncmp(name, "qwen", 4) == 0) a->window_from = adept_keys_count(k, "max_window_layers", 0, MOST_LAYERS, 0);
        if (cJSON_IsArray(types) && cJSON_GetArraySize(types) == a->layers) a->layer_types = types;
    }
    a->logit_cap = adept_keys_number(k, "final_logit_softcapping", 0, 1e9, 0);
    if (has(a, ADEPT_HAS_LATENT)) {
        a->q_rank = adept_keys_count(k, "q_lora_rank", 0, MOST_WIDTH, 0);
        a->kv_rank = adept_keys_count(k, "kv_lora_rank", 1, MOST_WIDTH, ADEPT_KEY_REQUIRED);
        a->plain_dim = adept_keys_count(k, "qk_nope_head_dim", 1, MOST_WIDTH, ADEPT_KEY_REQUIRED);
        a->rope_dim = adept_keys_count(k, "qk_rope_head_dim", 2, MOST_WIDTH, ADEPT_KEY_REQUIRED);
        a->value_dim = adept_keys_count(k, "v_head_dim", 1, MOST_WIDTH, ADEPT_KEY_REQUIRED);
    }
    read_experts(a, k);
    read_rotary(a, k);
    read_activation(a, k);
    read_dropout(a, k);
    if (a->family->positions == ADEPT_ALIBI) {
        set(a, ADEPT_HAS_QKV_BIAS | ADEPT_HAS_OUT_BIAS | ADEPT_HAS_MLP_BIAS, !adept_keys_flag(k, "no_bias", true));
        const cJSON *inner = adept_keys_any(k, "attn_config");
        if (inner && !cJSON_IsObject(inner)) adept_keys_fail(k, "\"attn_config\" is not an object");
        const cJSON *p = cJSON_GetObjectItemCaseSensitive(inner, "attn_pdrop"),
                    *type = cJSON_GetObjectItemCaseSensitive(inner, "attn_type");
        if (p && !(cJSON_IsNumber(p) && p->valuedouble >= 0 && p->valuedouble <= 1))
            adept_keys_fail(k, "\"attn_config.attn_pdrop\" is not a number of 0 to 1");
        else if (p)
            a->attention_dropout = p->valuedouble;
        if (type && !(cJSON_IsString(type) && (strcmp(type->valuestring, "multihead") == 0 ||
                                               strcmp(type->valuestring, "multihead_attention") == 0)))
            adept_keys_fail(
                k, "\"attn_config.attn_type\" is not multihead_attention, the only one that transformers builds");
    }
    a->embedding_width = a->hidden;
    a->final_norm = true;
    if (a->family->positions == ADEPT_LEARNED_COUNTED) {
        a->embedding_width = adept_keys_count(k, "word_embed_proj_dim", 1, MOST_WIDTH, a->hidden);
        a->post_norm = !adept_keys_flag(k, "do_layer_norm_before", true);
        a->final_norm = !a->post_norm && !adept_keys_flag(k, "_remove_final_layer_norm", false);
        set(a, ADEPT_HAS_QKV_BIAS | ADEPT_HAS_OUT_BIAS | ADEPT_HAS_MLP_BIAS, adept_keys_flag(k, "enable_bias", true));
    }
    read_forms(a, k);
    /* "BertForMaskedLM" of a BERT is ForMaskedLM. */
    const cJSON *list = adept_keys_any(k, "architectures"), *first = cJSON_IsArray(list) ? list->child : NULL;
    const char *name = cJSON_IsString(first) ? first->valuestring : "", *cut = strstr(name, "For");
    if (list && !cJSON_IsString(first) && !(cJSON_IsArray(list) && !first))
        adept_keys_fail(k, "\"architectures\" is not a list of names of classes");
    size_t n = strlen(name);
    a->headless = n >= 5 && strcmp(name + n - 5, "Model") == 0 && !strstr(name, "LMHead");
    a->head = a->headless || !*name ? "" : cut ? cut : name;
    a->head = adept_keys_text(k, "head", a->head);
    const cJSON *ids = adept_keys_any(k, "id2label");
    size_t classes = cJSON_IsObject(ids) ? adept_json_size(ids) : 0;
    a->labels = adept_keys_count(k, "num_labels labels", 1, MOST_WIDTH, classes > 0 ? (int64_t)classes : 2);
    if (strcmp(a->head, "none") == 0) a->headless = true, a->head = "";
    const char *loss = k->words ? adept_keys_text(k, "loss", "cross_entropy") : "cross_entropy";
    a->without_loss = strcmp(loss, "none") == 0;
    if (!a->without_loss && strcmp(loss, "cross_entropy") != 0) adept_keys_fail(k, "loss is none or cross_entropy");
}
