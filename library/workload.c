/** @file workload.c  Handles of workloads: saved profiles, and models that are read without libtorch. Calls: workload,
 *  handlers. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "handles.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file, or bytes in memory. */
typedef struct source {
    const char *name;
    const void *data; /* NULL: read the file */
    size_t size;
} source;

/* ---- options ---- */

/* The words that have members of their own; all others come by their names. */
static adept_status set_members(adept_workload_config *c, const adept_model_options *o, adept_error *err)
{
    const struct {
        size_t field;
        const char *text;
    } members[] = {
        {ADEPT_FIELD_mode, o->mode},
        {ADEPT_FIELD_precision, o->precision},
        {ADEPT_FIELD_attention, o->attention},
        {ADEPT_FIELD_memory_format, o->memory_format},
        {ADEPT_FIELD_execution, o->execution},
        {ADEPT_FIELD_framework, o->framework},
        {ADEPT_FIELD_optimizer_impl, o->optimizer_impl},
        {ADEPT_FIELD_optimizer_extras, o->optimizer_extras},
        {ADEPT_FIELD_optimizer, o->optimizer},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const adept_field *f = adept_workload_field(members[i].field);
        if (!members[i].text) continue;
        if (!adept_field_set_text(f, &c->words, members[i].text))
            return adept_error_set(err, ADEPT_E_USAGE, "%s: '%s' is not known", f->name, members[i].text);
        c->given[members[i].field] = true;
    }
    return ADEPT_OK;
}

/* @param inputs  malloc'ed, the caller frees it whatever the result */
static adept_status set_inputs(adept_workload_config *c, adept_input_spec **inputs, const adept_model_options *o,
                               adept_error *err)
{
    if (o->n_inputs == 0) return ADEPT_OK;
    if (!o->inputs) return adept_error_set(err, ADEPT_E_USAGE, "options: inputs is NULL");
    *inputs = calloc(o->n_inputs, sizeof **inputs);
    if (!*inputs) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    for (size_t i = 0; i < o->n_inputs; i++) {
        if (!o->inputs[i]) return adept_error_set(err, ADEPT_E_USAGE, "options: input %zu is NULL", i);
        adept_status status = adept_input_spec_parse(&(*inputs)[i], o->inputs[i], err);
        if (status != ADEPT_OK) return status;
    }
    c->inputs = *inputs;
    c->n_inputs = o->n_inputs;
    return ADEPT_OK;
}

static adept_status set_config(adept_workload_config *c, adept_input_spec **inputs, const adept_model_options *o,
                               adept_error *err)
{
    if (o->batch_size < 0 || o->seq_length < 0 || o->grad_accum < 0)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "options: batch_size, seq_length and grad_accum must not be negative");
    *c = (adept_workload_config){
        .batch_size = o->batch_size,
        .seq_length = o->seq_length,
        .grad_accum = o->grad_accum,
        .allow_unsupported = o->allow_unsupported != 0,
        .memory_bytes = o->memory_bytes,
    };
    for (; o->assume && o->assume[c->n_assume]; c->n_assume++) {
        adept_status status = adept_assumption_check(o->assume[c->n_assume], err);
        if (status != ADEPT_OK) return status;
    }
    c->assume = o->assume;
    adept_status status = set_members(c, o, err);
    for (const char *const *word = o->words; word && *word && status == ADEPT_OK; word++) {
        const adept_field *f;
        status = adept_library_set_word(&f, &c->words, adept_workload_field, *word, err);
        if (status == ADEPT_OK) c->given[f - adept_workload_field(0)] = true;
    }
    return status == ADEPT_OK ? set_inputs(c, inputs, o, err) : status;
}

/* ---- graphs ---- */

static adept_status read_graph(adept_graph **graph, adept_workload_config *recorded, const source *from,
                               uint64_t memory_bytes, adept_error *err)
{
    adept_file_format format;
    adept_status status = adept_file_detect(&format, from->name, from->data, from->size, err);
    if (status != ADEPT_OK) return status;
    switch (format) {
    case ADEPT_FORMAT_PROFILE:
        return from->data ? adept_saved_parse(graph, recorded, from->name, from->data, from->size, memory_bytes, err)
                          : adept_saved_read(graph, recorded, from->name, memory_bytes, err);
    case ADEPT_FORMAT_CONFIG:
        return adept_config_import(graph, from->name, from->data, from->size, memory_bytes, err);
    case ADEPT_FORMAT_EXPORT:
        return adept_export_import(graph, from->name, from->data, from->size, memory_bytes, err);
    case ADEPT_FORMAT_TORCHSCRIPT:
        break;
    }
    return adept_error_set(err, ADEPT_E_UNSUPPORTED,
                           "%s: a TorchScript file, which only the program adept reads: adept profile MODEL.pt -o FILE "
                           "writes a profile for the library",
                           from->name);
}

/* What a file holds, or where `from` is NULL the graph of `like`, under the options over what either says. */
static adept_status make(adept_workload **out, const source *from, const adept_workload *like,
                         const adept_model_options *options, adept_error *err)
{
    static const adept_model_options defaults = {0};
    adept_workload_config given, config = {.mode = ADEPT_MODE_TRAIN};
    adept_input_spec *inputs = NULL;
    adept_workload *w = calloc(1, sizeof *w);
    if (!w) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = set_config(&given, &inputs, options ? options : &defaults, err);
    if (status == ADEPT_OK && from) status = read_graph(&w->owned, &config, from, given.memory_bytes, err);
    w->graph = like ? like->graph : w->owned;
    if (like) config = like->config;
    if (status == ADEPT_OK) {
        adept_workload_config_over(&config, &given);
        status = adept_profile_build(&w->profile, w->graph, adept_handlers(), &config, NULL, NULL, err);
        /* The configuration is copied: what was given may go. */
        if (status == ADEPT_OK && !adept_workload_config_copy(&w->config, &config, w->profile->arena))
            status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    free(inputs);
    if (status == ADEPT_OK)
        *out = w;
    else
        adept_workload_free(w);
    return status;
}

adept_status adept_workload_open(adept_workload **out, const char *path, const adept_model_options *options,
                                 adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!path) return adept_library_missing(__func__, "path", err);
    char found[ADEPT_MODULE_PATH_BYTES];
    adept_status status = adept_models_path(found, path, err);
    return status == ADEPT_OK ? make(out, &(source){.name = found}, NULL, options, err) : status;
}

adept_status adept_workload_read(adept_workload **out, const char *name, const void *data, size_t size,
                                 const adept_model_options *options, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!data) return adept_library_missing(__func__, "data", err);
    return make(out, &(source){name ? name : "memory", data, size}, NULL, options, err);
}

adept_status adept_workload_with(adept_workload **out, const adept_workload *workload,
                                 const adept_model_options *options, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!workload) return adept_library_missing(__func__, "workload", err);
    return make(out, NULL, workload, options, err);
}

adept_status adept_workload_at(adept_workload **out, const adept_workload *workload, int64_t batch_size,
                               int64_t seq_length, adept_error *err)
{
    return adept_workload_with(out, workload,
                               &(adept_model_options){.batch_size = batch_size, .seq_length = seq_length}, err);
}

const char *adept_workload_word(size_t index)
{
    return adept_workload_field(index) ? adept_workload_field(index)->name : NULL;
}

void adept_workload_free(adept_workload *workload)
{
    if (!workload) return;
    adept_profile_free(workload->profile);
    adept_graph_free(workload->owned);
    free(workload);
}

adept_status adept_workload_to_json(char **text, const adept_workload *workload, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!text) return adept_library_missing(__func__, "text", err);
    if (!workload) return adept_library_missing(__func__, "workload", err);
    return adept_saved_write(text, workload->profile, workload->graph, &workload->config, err);
}

static double flops_of(const adept_profile_totals *t, adept_pass pass)
{
    return t->gemm_flops[pass] + t->conv_flops[pass] + t->alu_flops[pass];
}

void adept_workload_describe(adept_workload_info *out, const adept_workload *workload)
{
    if (!out) return;
    if (!workload) {
        *out = (adept_workload_info){.model = NULL};
        return;
    }
    const adept_profile *p = workload->profile;
    *out = (adept_workload_info){
        .model = p->model_path,
        .mode = adept_mode_name(p->mode),
        .precision = adept_precision_name(p->precision),
        .optimizer = p->optimizer,
        .attention = adept_attention_name(p->attention),
        .batch_size = p->batch_size,
        .grad_accum = p->grad_accum,
        .params = p->params,
        .trainable_params = p->trainable_params,
        .flops_forward = flops_of(&p->totals, ADEPT_FORWARD),
        .flops_backward = flops_of(&p->totals, ADEPT_BACKWARD),
        .macs_forward = p->totals.macs_forward,
        .seq_length = p->seq_length,
    };
}
