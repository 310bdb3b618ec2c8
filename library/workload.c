/** @file workload.c  Handles of workloads: saved profiles, and models that are read without libtorch. Calls: workload,
 *  handlers. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_optimizer.h"
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

static adept_status unknown_word(const char *option, const char *word, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE, "%s: '%s' is not known", option, word);
}

static adept_status set_words(adept_workload_config *c, const adept_model_options *o, adept_error *err)
{
    if (o->mode && !adept_mode_from_name(&c->mode, o->mode)) return unknown_word("mode", o->mode, err);
    if (o->precision && !adept_precision_from_name(&c->precision, o->precision))
        return unknown_word("precision", o->precision, err);
    if (o->attention && !adept_attention_from_name(&c->attention, o->attention))
        return unknown_word("attention", o->attention, err);
    if (o->optimizer && !adept_optimizer_by_name(o->optimizer)) return unknown_word("optimizer", o->optimizer, err);
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

static adept_status check_ends(const char *what, int64_t low, int64_t high, adept_error *err)
{
    if ((low == 0 && high == 0) || (low >= 1 && high >= low)) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "options: there are no %s from %" PRId64 " to %" PRId64, what, low, high);
}

static adept_status set_config(adept_workload_config *c, adept_input_spec **inputs, const adept_model_options *o,
                               adept_error *err)
{
    if (o->batch_size < 0 || o->seq_length < 0 || o->grad_accum < 0)
        return adept_error_set(err, ADEPT_E_USAGE, "options: batch_size, seq_length and grad_accum must not be negative");
    adept_status status = check_ends("batches", o->batch_low, o->batch_high, err);
    if (status == ADEPT_OK) status = check_ends("sequence lengths", o->seq_low, o->seq_high, err);
    if (status != ADEPT_OK) return status;
    *c = (adept_workload_config){
        .optimizer = o->optimizer,
        .batch_size = o->batch_size,
        .seq_length = o->seq_length,
        .grad_accum = o->grad_accum,
        .allow_unsupported = o->allow_unsupported != 0,
    };
    status = set_words(c, o, err);
    return status == ADEPT_OK ? set_inputs(c, inputs, o, err) : status;
}

/* ---- saved profiles ---- */

static adept_status contradiction(const char *name, const char *option, const char *given, const char *recorded,
                                  adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE, "%s: recorded with %s %s, which the option %s contradicts", name, option,
                           recorded, given);
}

static adept_status check_word(const char *name, const char *option, const char *given, const char *recorded,
                               adept_error *err)
{
    return !given || strcmp(given, recorded) == 0 ? ADEPT_OK : contradiction(name, option, given, recorded, err);
}

static adept_status check_count(const char *name, const char *option, int64_t given, int64_t recorded, adept_error *err)
{
    char a[32], b[32];
    if (given == 0 || given == recorded) return ADEPT_OK;
    snprintf(a, sizeof a, "%" PRId64, given);
    snprintf(b, sizeof b, "%" PRId64, recorded);
    return contradiction(name, option, a, b, err);
}

static adept_status check_input(const adept_profile *p, const char *name, const adept_workload_config *c, size_t i,
                                adept_error *err)
{
    char shape[256];
    adept_input_spec spec = c->inputs[i];
    adept_input_spec_settle(&spec, p->batch_size, c->batch_size > 0, p->seq_length);
    adept_input_spec_print(&spec, shape, sizeof shape);
    return check_word(name, "input", shape, i < p->n_inputs ? p->inputs[i].shape : "no such input", err);
}

static adept_status check_recorded(const adept_profile *p, const char *name, const adept_model_options *o,
                                   const adept_workload_config *c, adept_error *err)
{
    bool trains = p->mode == ADEPT_MODE_TRAIN; /* an optimizer means nothing in other modes */
    adept_status status = check_word(name, "mode", o->mode, adept_mode_name(p->mode), err);
    if (status == ADEPT_OK)
        status = check_word(name, "precision", o->precision, adept_precision_name(p->precision), err);
    if (status == ADEPT_OK)
        status = check_word(name, "attention", o->attention, adept_attention_name(p->attention), err);
    if (status == ADEPT_OK && trains) status = check_word(name, "optimizer", o->optimizer, p->optimizer, err);
    if (status == ADEPT_OK) status = check_count(name, "grad_accum", o->grad_accum, p->grad_accum, err);
    for (size_t i = 0; status == ADEPT_OK && i < c->n_inputs; i++)
        status = check_input(p, name, c, i, err);
    return status;
}

/* The profile at the batch size and length wanted, 0: the own one. Takes the batches, also when it fails. */
static adept_status take_batches(adept_workload *w, adept_batches *batches, int64_t batch_size, int64_t seq_length,
                                 adept_error *err)
{
    w->batches = w->owned = batches;
    return adept_batches_at_length(&w->profile, batches, batch_size ? batch_size : adept_batches_base(batches),
                                   seq_length, err);
}

static adept_status load_saved(adept_workload *w, const source *from, const adept_model_options *o,
                               const adept_workload_config *c, adept_error *err)
{
    adept_batches *batches = NULL;
    adept_status status = from->data ? adept_batches_from_json(&batches, from->name, from->data, from->size, err)
                                     : adept_batches_read(&batches, from->name, err);
    if (status == ADEPT_OK) status = take_batches(w, batches, o->batch_size, o->seq_length, err);
    return status == ADEPT_OK ? check_recorded(w->profile, from->name, o, c, err) : status;
}

/* ---- models ---- */

static adept_status build(adept_profile **out, const adept_graph *graph, const adept_workload_config *c, adept_error *err)
{
    adept_unsupported *unsupported = NULL;
    size_t n_unsupported = 0;
    adept_status status = adept_profile_build(out, graph, adept_handlers(), c, &unsupported, &n_unsupported, err);
    free(unsupported); /* the message names them */
    return status;
}

static adept_status build_range(adept_workload *w, const adept_graph *graph, const adept_model_options *o,
                                const adept_workload_config *c, adept_error *err)
{
    adept_batches *batches = NULL;
    const adept_model_range range = {{.low = o->batch_low, .high = o->batch_high}, {.low = o->seq_low, .high = o->seq_high}};
    adept_status status = adept_batches_of_model(&batches, graph, adept_handlers(), c, &range, NULL, NULL, err);
    return status == ADEPT_OK ? take_batches(w, batches, 0, 0, err) : status;
}

static adept_status load_model(adept_workload *w, const source *from, const adept_model_options *o,
                               const adept_workload_config *c, adept_error *err)
{
    adept_graph *graph = NULL;
    adept_status status = from->data ? adept_export_import_bytes(&graph, from->name, from->data, from->size, err)
                                     : adept_export_import(&graph, from->name, err);
    bool many = o->batch_high > 0 || o->seq_high > 0;
    if (status == ADEPT_OK)
        status = many ? build_range(w, graph, o, c, err) : build(&w->profile, graph, c, err);
    adept_graph_free(graph);
    return status;
}

static adept_status load_profile(adept_workload *w, const source *from, const adept_model_options *o,
                                 const adept_workload_config *c, adept_error *err)
{
    adept_file_format format;
    adept_status status = from->data ? adept_bytes_detect(&format, from->name, from->data, from->size, err)
                                     : adept_file_detect(&format, from->name, err);
    if (status != ADEPT_OK) return status;
    switch (format) {
    case ADEPT_FORMAT_PROFILE:
        return load_saved(w, from, o, c, err);
    case ADEPT_FORMAT_EXPORT:
        return load_model(w, from, o, c, err);
    case ADEPT_FORMAT_TORCHSCRIPT:
        break;
    }
    return adept_error_set(err, ADEPT_E_UNSUPPORTED,
                           "%s: a TorchScript file, which only the program adept reads: adept profile MODEL.pt -o FILE "
                           "writes a profile for the library",
                           from->name);
}

static adept_status load(adept_workload **out, const source *from, const adept_model_options *options, adept_error *err)
{
    static const adept_model_options defaults = {0};
    const adept_model_options *o = options ? options : &defaults;
    adept_workload_config config;
    adept_input_spec *inputs = NULL;
    adept_workload *workload = calloc(1, sizeof *workload);
    if (!workload) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = set_config(&config, &inputs, o, err);
    if (status == ADEPT_OK) status = load_profile(workload, from, o, &config, err);
    free(inputs);
    if (status == ADEPT_OK)
        *out = workload;
    else
        adept_workload_free(workload);
    return status;
}

adept_status adept_workload_open(adept_workload **out, const char *path, const adept_model_options *options,
                                 adept_error *err)
{
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!path) return adept_library_missing(__func__, "path", err);
    return load(out, &(source){.name = path}, options, err);
}

adept_status adept_workload_read(adept_workload **out, const char *name, const void *data, size_t size,
                                 const adept_model_options *options, adept_error *err)
{
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!data) return adept_library_missing(__func__, "data", err);
    return load(out, &(source){name ? name : "memory", data, size}, options, err);
}

void adept_workload_free(adept_workload *workload)
{
    if (!workload) return;
    adept_profile_free(workload->profile);
    adept_batches_free(workload->owned);
    free(workload);
}

static adept_status make_at(adept_workload **out, const adept_workload *from, int64_t batch_size, int64_t seq_length,
                            adept_error *err)
{
    if (!from->batches)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: loaded without other batch sizes and sequence lengths",
                               from->profile->model_path);
    adept_workload *w = calloc(1, sizeof *w);
    if (!w) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    w->batches = from->batches;
    adept_status status = adept_batches_at_length(&w->profile, w->batches, batch_size, seq_length, err);
    if (status == ADEPT_OK)
        *out = w;
    else
        free(w);
    return status;
}

adept_status adept_workload_at(adept_workload **out, const adept_workload *workload, int64_t batch_size,
                               int64_t seq_length, adept_error *err)
{
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!workload) return adept_library_missing(__func__, "workload", err);
    return make_at(out, workload, batch_size ? batch_size : workload->profile->batch_size,
                   seq_length ? seq_length : workload->profile->seq_length, err);
}

adept_status adept_workload_at_batch(adept_workload **out, const adept_workload *workload, int64_t batch_size,
                                     adept_error *err)
{
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!workload) return adept_library_missing(__func__, "workload", err);
    return make_at(out, workload, batch_size, workload->profile->seq_length, err);
}

adept_status adept_workload_to_json(char **text, const adept_workload *workload, adept_error *err)
{
    if (!text) return adept_library_missing(__func__, "text", err);
    if (!workload) return adept_library_missing(__func__, "workload", err);
    bool own = workload->batches && adept_batches_base(workload->batches) == workload->profile->batch_size &&
               adept_batches_length(workload->batches) == workload->profile->seq_length;
    char *json = own ? adept_batches_to_json(workload->batches) : adept_profile_to_json(workload->profile);
    if (!json) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    *text = json;
    return ADEPT_OK;
}

static double flops_of(const adept_profile_totals *t, adept_pass pass)
{
    return t->gemm_flops[pass] + t->conv_flops[pass] + t->alu_flops[pass];
}

void adept_workload_describe(adept_workload_info *out, const adept_workload *workload)
{
    const adept_profile *p = workload->profile;
    const adept_batches *batches = workload->batches;
    *out = (adept_workload_info){
        .model = p->model_path,
        .mode = adept_mode_name(p->mode),
        .precision = adept_precision_name(p->precision),
        .optimizer = p->optimizer,
        .attention = adept_attention_name(p->attention),
        .batch_size = p->batch_size,
        .batch_low = batches ? adept_batches_low(batches) : p->batch_size,
        .batch_high = batches ? adept_batches_high(batches) : p->batch_size,
        .grad_accum = p->grad_accum,
        .params = p->params,
        .trainable_params = p->trainable_params,
        .flops_forward = flops_of(&p->totals, ADEPT_FORWARD),
        .flops_backward = flops_of(&p->totals, ADEPT_BACKWARD),
        .macs_forward = p->totals.macs_forward,
        .seq_length = p->seq_length,
        .seq_low = batches ? adept_batches_length_low(batches) : p->seq_length,
        .seq_high = batches ? adept_batches_length_high(batches) : p->seq_length,
    };
}
