/** @file config_keys.c  Keys of a config.json, read strictly. */
#include "config_build.h"
#include "adept_number.h"
#include "nearest.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adept_keys_fail(adept_keys *k, const char *format, ...)
{
    char what[600];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    adept_json_fail(&k->json, "%s", what);
}

/* ---- finding ---- */

static bool next_name(const char **at, char name[64])
{
    *at += strspn(*at, " ");
    size_t n = strcspn(*at, " ");
    if (n == 0 || n > 63) return false;
    memcpy(name, *at, n);
    name[n] = '\0';
    *at += n;
    return true;
}

/* JSON's null says nothing, as Python's None does. */
static const cJSON *find_in(adept_keys *k, const cJSON *object, const char *names)
{
    const cJSON *found = NULL;
    char name[64];
    for (const char *at = names; next_name(&at, name);) {
        const cJSON *item = object ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
        if (!item || cJSON_IsNull(item)) continue;
        if (found && !cJSON_Compare(found, item, true))
            adept_keys_fail(k, "\"%s\" and \"%s\" contradict each other", found->string, name);
        if (!found) found = item;
    }
    return found;
}

const cJSON *adept_keys_any(adept_keys *k, const char *names)
{
    size_t i = 0;
    while (i < k->n_asked && k->asked[i] != names)
        i++;
    if (i == k->n_asked && i < ADEPT_KEYS_ASKED) k->asked[k->n_asked++] = names;
    const cJSON *word = find_in(k, k->words, names), *item = word ? word : find_in(k, k->file, names);
    return k->json.status == ADEPT_OK ? item : NULL;
}

bool adept_keys_in_words(adept_keys *k, const char *names)
{
    return find_in(k, k->words, names) != NULL;
}

double adept_keys_in_file(adept_keys *k, const char *names)
{
    const cJSON *item = find_in(k, k->file, names);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static bool is_missing(adept_keys *k, const cJSON *item, const char *names, bool required)
{
    if (!item && required) adept_keys_fail(k, "\"%.*s\" is missing", (int)strcspn(names, " "), names);
    return !item;
}

/* ---- reading ---- */

int64_t adept_keys_count(adept_keys *k, const char *names, int64_t low, int64_t high, int64_t fallback)
{
    const cJSON *item = adept_keys_any(k, names);
    if (is_missing(k, item, names, fallback == ADEPT_KEY_REQUIRED))
        return fallback == ADEPT_KEY_REQUIRED ? low : fallback;
    double v = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    if (v == floor(v) && v >= (double)low && v <= (double)high) return (int64_t)v;
    if (cJSON_IsNumber(item) && isfinite(v))
        adept_keys_fail(k, "\"%s\" is %.17g, no whole number of %" PRId64 " to %" PRId64, item->string, v, low, high);
    else
        adept_keys_fail(k, "\"%s\" is not a whole number of %" PRId64 " to %" PRId64, item->string, low, high);
    return low;
}

double adept_keys_number(adept_keys *k, const char *names, double low, double high, double fallback)
{
    const cJSON *item = adept_keys_any(k, names);
    if (is_missing(k, item, names, false)) return fallback;
    double v = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    if (v >= low && v <= high) return v;
    adept_keys_fail(k, "\"%s\" is not a number of %g to %g", item->string, low, high);
    return fallback;
}

bool adept_keys_flag(adept_keys *k, const char *names, bool fallback)
{
    const cJSON *item = adept_keys_any(k, names);
    if (is_missing(k, item, names, false)) return fallback;
    if (!cJSON_IsBool(item)) adept_keys_fail(k, "\"%s\" is neither true nor false", item->string);
    return cJSON_IsTrue(item);
}

const char *adept_keys_text(adept_keys *k, const char *names, const char *fallback)
{
    const cJSON *item = adept_keys_any(k, names);
    if (is_missing(k, item, names, false)) return fallback;
    if (!cJSON_IsString(item)) adept_keys_fail(k, "\"%s\" is not a text", item->string);
    return cJSON_IsString(item) ? item->valuestring : fallback;
}

/* ---- what nobody asked for ---- */

/* What changes neither shapes nor operators: tokens, text generation, numbers inside kernels, names, how a checkpoint
 * is stored (--precision says what runs), ways to run the same model. */
static const char harmless[] =
    " architectures auto_map _name_or_path name_or_path transformers_version model_type torch_dtype dtype torchscript"
    " bos_token_id eos_token_id pad_token_id unk_token_id sep_token_id cls_token_id mask_token_id "
    "decoder_start_token_id"
    " forced_eos_token_id forced_bos_token_id boi_token_index eoi_token_index image_token_index tokenizer_class "
    "bad_words_ids prefix"
    " task_specific_params generation_config finetuning_task problem_type id2label label2id do_sample max_length "
    "min_length top_k top_p"
    " temperature repetition_penalty num_beams early_stopping length_penalty no_repeat_ngram_size return_dict use_cache"
    " output_attentions output_hidden_states output_past output_router_logits is_encoder_decoder gradient_checkpointing"
    " chunk_size_feed_forward initializer_range initializer_factor init_std init_device mup_init embed_init_std"
    " rms_norm_eps layer_norm_eps layer_norm_epsilon norm_eps logit_scale"
    " rope_theta rope_scaling rope_parameters rope_local_base_freq rotary_emb_base rotary_base rope_interleave "
    "original_max_position_embeddings"
    " pretraining_tp max_window_layers use_flash_attn _flash_attn_2_enabled attn_implementation _attn_implementation"
    " _attn_implementation_autoset use_mrope cache_implementation scale_attn_weights scale_attn_by_inverse_layer_idx "
    "reorder_and_upcast_attn"
    " summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj classifier_dropout "
    "n_ctx"
    " router_aux_loss_coef router_jitter_noise aux_loss_alpha seq_aux routed_scaling_factor scoring_func scale_factor "
    "ep_size"
    " query_pre_attn_scalar use_bfloat16 encoder_stride pooler_output_size pooler_act relative_attention_max_distance"
    " gradient_checkpointing directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers"
    " pooler_size_per_head pooler_type verbose layerdrop bos_token eos_token"
    " embedding_fraction init_config norm_type tokenizer_name learned_pos_emb full_attn_mod interpolate_factor ";

static bool is_harmless(const cJSON *item)
{
    char wanted[80];
    const bool nothing = cJSON_IsNull(item) || cJSON_IsFalse(item) ||
                         (cJSON_IsNumber(item) && item->valuedouble == 0) ||
                         (cJSON_IsString(item) && !item->valuestring[0]) ||
                         ((cJSON_IsArray(item) || cJSON_IsObject(item)) && !item->child);
    if (nothing) return true;
    if (strcmp(item->string, "position_embedding_type") == 0)
        return cJSON_IsString(item) && strcmp(item->valuestring, "absolute") == 0;
    if (snprintf(wanted, sizeof wanted, " %s ", item->string) >= (int)sizeof wanted) return false;
    return strstr(harmless, wanted) != NULL;
}

static bool is_asked(const adept_keys *k, const char *key)
{
    char name[64];
    for (size_t i = 0; i < k->n_asked; i++)
        for (const char *at = k->asked[i]; next_name(&at, name);)
            if (strcmp(name, key) == 0) return true;
    return false;
}

void adept_keys_unknown(const adept_keys *k, char *text, size_t size)
{
    text[0] = '\0';
    int n = 0;
    for (const cJSON *item = k->file ? k->file->child : NULL; item; item = item->next) {
        if (is_asked(k, item->string) || is_harmless(item)) continue;
        if (n++ < 6 && strlen(text) + strnlen(item->string, 80) + 8 < size) {
            char cut[64];
            snprintf(cut, sizeof cut, "%s", item->string);
            /* A key is a stranger's text. */
            const char *key = cut;
            size_t used = strlen(text);
            used += (size_t)snprintf(text + used, size - used, "%s\"", used ? ", " : "");
            for (; *key && used + 2 < size; key++)
                text[used++] = *key < ' ' ? '?' : *key;
            if (used + 1 < size) text[used++] = '"';
            text[used] = '\0';
        }
    }
    if (n > 6) snprintf(text + strlen(text), size - strlen(text), " and %d others", n - 6);
}

void adept_keys_check_words(adept_keys *k)
{
    for (const cJSON *item = k->words ? k->words->child : NULL; item && k->json.status == ADEPT_OK; item = item->next) {
        size_t best = SIZE_MAX;
        char name[64], near[64] = "";
        if (is_asked(k, item->string)) continue;
        for (size_t i = 0; i < k->n_asked; i++)
            for (const char *at = k->asked[i]; next_name(&at, name);)
                if (adept_is_nearer(&best, item->string, name)) memcpy(near, name, sizeof near);
        k->json.status =
            adept_error_set(k->json.err, ADEPT_E_USAGE, "%s: the family has no key '%.60s'%s%s%s", k->json.name,
                            item->string, *near ? "; did you mean '" : "", near, *near ? "'?" : "");
    }
}

/* ---- words ---- */

static cJSON *value_of(const char *text)
{
    double number;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return cJSON_CreateBool(text[0] == 't');
    return adept_number_parse(&number, text) ? cJSON_CreateNumber(number) : cJSON_CreateString(text);
}

adept_status adept_keys_parse_words(cJSON **out, const char *spec, const char *words, adept_error *err)
{
    char word[256];
    *out = cJSON_CreateObject();
    if (!*out) return adept_no_memory(err, spec);
    while (*words) {
        size_t n = strcspn(words, "&");
        if (n >= sizeof word)
            return adept_error_set(err, ADEPT_E_USAGE, "%.80s: a key and its value of %zu characters", spec, n);
        memcpy(word, words, n);
        word[n] = '\0';
        words += n + (words[n] == '&');
        char *value = strchr(word, '=');
        if (!value || value == word || !value[1])
            return adept_error_set(err, ADEPT_E_USAGE, "%.200s: '%.80s' is not KEY=VALUE", spec, word);
        *value++ = '\0';
        if (cJSON_GetObjectItemCaseSensitive(*out, word))
            return adept_error_set(err, ADEPT_E_USAGE, "%.200s: '%.80s' is given twice", spec, word);
        cJSON *item = value_of(value);
        if (!item || !cJSON_AddItemToObject(*out, word, item)) {
            cJSON_Delete(item);
            return adept_no_memory(err, spec);
        }
    }
    return ADEPT_OK;
}
