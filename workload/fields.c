/* The table of a workload's words, and what loops over rows do with one of them. */
#include "adept_append.h"
#include "adept_fields.h"
#include "adept_number.h"
#include "adept_optimizer.h"
#include "adept_profile.h"
#include <math.h>
#include <string.h>

ADEPT_NAMES(adept_mode_name, "train", "fwbw", "infer", "generate")
ADEPT_NAMES(adept_precision_name, "fp32", "tf32", "bf16", "fp16", "pure-bf16", "pure-fp16", "fp8", "pure-fp8",
            "fp8:row", "pure-fp8:row", "fp8:block", "pure-fp8:block", "mxfp8", "pure-mxfp8", "nvfp4", "pure-nvfp4")
ADEPT_NAMES(adept_attention_name, "auto", "eager", "fused")
ADEPT_NAMES(adept_memory_format_name, "auto", "nchw", "channels_last")
ADEPT_NAMES(adept_execution_name, "eager", "graphs", "compile")
ADEPT_NAMES(adept_framework_name, "torch2", "torch1")
ADEPT_NAMES(adept_optimizer_impl_name, "auto", "foreach", "fused", "forloop")
ADEPT_NAMES(adept_weights_name, "auto", "fp32", "bf16", "fp16", "fp8", "int8", "int4")
ADEPT_NAMES(adept_kv_cache_name, "auto", "fp32", "bf16", "fp16", "fp8", "int8")
ADEPT_NAMES(adept_switch_name, "false", "true", "0", "1", "no", "yes", "off", "on")

ADEPT_NAMES(adept_fsdp_name, "none", "full", "grad", "hybrid:N")
ADEPT_NAMES(adept_zero_name, "auto", "0", "1", "2", "3")
ADEPT_NAMES(adept_pipeline_name, "1f1b", "interleaved", "zb1p", "zbv")
ADEPT_NAMES(adept_checkpoint_name, "none", "full", "selective", "blocks:N")
ADEPT_NAMES(adept_loss_name, "whole", "chunked")
ADEPT_NAMES(adept_offload_name, "none", "optimizer", "parameters")
ADEPT_NAMES(adept_trainer_name, "torch", "megatron", "deepspeed", "nemo")

static const adept_field fields[ADEPT_N_WORKLOAD_FIELDS] = {
#define X(...) ADEPT_FIELD_ROW(adept_workload_words, __VA_ARGS__)
    ADEPT_WORKLOAD_FIELDS(X)
#undef X
};

const adept_field *adept_workload_field(size_t index)
{
    return index < ADEPT_N_WORKLOAD_FIELDS ? &fields[index] : NULL;
}

/* Where the number of a name stands: behind its colon; 0: it has none. */
static size_t number_at(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? (size_t)(colon - name) + 1 : 0;
}

/* "8/6/6/4". */
static bool set_stages(adept_stage_list *out, const char *text)
{
    adept_stage_list list = {0};
    char word[16];
    double number;

    for (;; text++) {
        const size_t n = strcspn(text, "/");
        if (n >= sizeof word || list.n == ADEPT_MOST_LISTED_STAGES) return false;
        memcpy(word, text, n);
        word[n] = '\0';
        if (!adept_number_parse(&number, word) || !(number >= 1 && number <= UINT16_MAX) || number != floor(number))
            return false;
        list.at[list.n++] = (uint16_t)number;
        text += n;
        if (!*text) break;
    }
    *out = list;
    return true;
}

/* Names that differ by their joints only are one. */
static bool is_called(const char *name, const char *key, size_t length)
{
    if (strlen(name) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] != key[i] && !(strchr("_-", name[i]) && strchr("_-", key[i]))) return false;
    return true;
}

/* What rows of others, and papers, call a word. */
static const struct {
    const char *alias, *name;
} aliases[] = {{"micro_batch", "batch_size"}, {"sequence_parallel", "sp"}, {"vp", "virtual_stages"}};

const adept_field *adept_field_find(const adept_field *(*field_at)(size_t), const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (is_called(aliases[i].alias, key, length)) key = aliases[i].name, length = strlen(key);
    for (size_t i = 0; field_at(i); i++)
        if (is_called(field_at(i)->name, key, length) || is_called(field_at(i)->option, key, length))
            return field_at(i);
    return NULL;
}

bool adept_field_is_zero(const adept_field *f, const void *record)
{
    static const char zero[sizeof(adept_stage_list)] = {0};

    return memcmp((const char *)record + f->at, zero, f->size) == 0;
}

/* Joined by commas; "none". */
static bool set_names(unsigned *out, const adept_field *f, const char *text)
{
    unsigned set = 0;
    while (*text && strcmp(text, "none") != 0) {
        const size_t length = strcspn(text, ",");
        size_t i = 0;
        while (f->names(i) && (strlen(f->names(i)) != length || strncmp(f->names(i), text, length) != 0))
            i++;
        if (!f->names(i)) return false;
        set |= 1u << i;
        text += length;
        if (*text == ',' && (*++text == '\0' || strcmp(text, "none") == 0)) return false;
    }
    *out = set;
    return true;
}

static const char *names_text(char text[ADEPT_FIELD_TEXT_BYTES], const adept_field *f, unsigned set)
{
    *text = '\0';
    for (size_t i = 0; f->names(i); i++)
        if (set & 1u << i) adept_append(text, ADEPT_FIELD_TEXT_BYTES, "%s%s", *text ? "," : "", f->names(i));
    return text;
}

/* "hybrid:8" of "hybrid:N". */
static bool set_sized(int *out, const adept_field *f, const char *text)
{
    double number;

    for (size_t i = 0; f->names(i); i++) {
        const size_t at = number_at(f->names(i));
        if (at == 0 && adept_name_index(text, f->names) == i) {
            *out = adept_sized((int)i, 0);
            return true;
        }
        if (at == 0 || strncmp(text, f->names(i), at) != 0) continue;
        if (!adept_number_parse(&number, text + at) || !(number >= 1 && number <= ADEPT_SIZED_MOST) ||
            number != floor(number))
            return false;
        *out = adept_sized((int)i, (int)number);
        return true;
    }
    return false;
}

bool adept_field_set_text(const adept_field *f, void *record, const char *text)
{
    void *member = (char *)record + f->at;

    if (f->kind == ADEPT_FIELD_SET) return set_names(member, f, text);
    if (f->kind == ADEPT_FIELD_SIZED) return set_sized(member, f, text);
    if (f->kind == ADEPT_FIELD_STAGES) return set_stages(member, text);
    size_t i = adept_name_index(text, f->names);
    if (i == SIZE_MAX) return false;
    if (f->kind == ADEPT_FIELD_WORD) *(int *)member = (int)i;
    if (f->kind == ADEPT_FIELD_NAME) *(const char **)member = f->names(i);
    if (f->kind == ADEPT_FIELD_SWITCH) *(bool *)member = i % 2 > 0;
    return true;
}

bool adept_field_set_number(const adept_field *f, void *record, double value)
{
    void *member = (char *)record + f->at;
    bool count = f->kind == ADEPT_FIELD_COUNT;

    if (!(count ? value >= 1 && value <= 0x1p53 && value == floor(value) : value > 0 && isfinite(value))) return false;
    if (count)
        *(int64_t *)member = (int64_t)value;
    else
        *(double *)member = value;
    return true;
}

adept_status adept_field_set(const adept_field *f, void *record, const char *text, adept_error *err)
{
    char list[256];
    double value;

    if (!adept_field_is_number(f))
        return adept_field_set_text(f, record, text)
                   ? ADEPT_OK
               : f->kind == ADEPT_FIELD_STAGES
                   ? adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not " ADEPT_STAGES_MEANS, f->name, text)
                   : adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not one of %s", f->name, text,
                                     adept_names_list(list, sizeof list, f->names));
    if (adept_number_parse(&value, text) && adept_field_set_number(f, record, value)) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not %s", f->name, text,
                           f->kind == ADEPT_FIELD_COUNT ? "a whole number from 1 to 2^53" : "a number above 0");
}

double adept_field_number(const adept_field *f, const void *record)
{
    const void *member = (const char *)record + f->at;

    return f->kind == ADEPT_FIELD_COUNT ? (double)*(const int64_t *)member : *(const double *)member;
}

const char *adept_field_text(char text[ADEPT_FIELD_TEXT_BYTES], const adept_field *f, const void *record)
{
    const void *member = (const char *)record + f->at;

    switch (f->kind) {
    case ADEPT_FIELD_WORD:
        return f->names((size_t) * (const int *)member);
    case ADEPT_FIELD_NAME:
        return *(const char *const *)member ? *(const char *const *)member : "";
    case ADEPT_FIELD_SET:
        return names_text(text, f, *(const unsigned *)member);
    case ADEPT_FIELD_SWITCH:
        return f->names(*(const bool *)member);
    case ADEPT_FIELD_SIZED: {
        const int sized = *(const int *)member;
        const char *name = f->names((size_t)adept_sized_name(sized));
        const size_t at = name ? number_at(name) : 0;
        if (at == 0) return name;
        memcpy(text, name, at); /* short, and of constant data */
        adept_number_print(text + at, adept_sized_number(sized));
        return text;
    }
    case ADEPT_FIELD_STAGES: {
        const adept_stage_list *list = member;
        text[0] = '\0';
        for (size_t i = 0; i < list->n; i++)
            adept_append(text, ADEPT_FIELD_TEXT_BYTES, "%s%d", i > 0 ? "/" : "", list->at[i]);
        return text;
    }
    default:
        break;
    }
    adept_number_print(text, adept_field_number(f, record));
    return text;
}
