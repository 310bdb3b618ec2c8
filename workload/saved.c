/* Profile -> JSON, for people and for programs that look at it (CONTRACT "profile --json"), and saved profiles: that
 * JSON with the graph and what to run. "options" is what adept_profile_build() was given, "graph" the bytes of
 * graph_stream.c; their hash tells a damaged or edited file from a whole one. All else in the file is made of them:
 * nothing reads it back, a saved profile is walked again. */
#include "adept_file.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include "base64.h"
#include "saved.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAVED_KIND "adept-profile"
/* 1 and 2 held kernels and polynomials, and no graph. What an older adept cannot read as it was meant needs the next
 * one, another hash of the same options too: it says then who wrote the file, and not that the file is damaged. */
#define SAVED_VERSION 3

/* ---------------------------------------------------------------- what was worked out ---------------- */

#define TOTALS_BY_PASS(X) X(gemm_flops) X(conv_flops) X(alu_flops) X(bytes_read) X(bytes_written) X(kernels)

static void put_places(adept_json_writer *w, const char *key, const adept_profile_places *p)
{
    if (p->n == 0) return;
    adept_json_put_object(w, key, "n %g first %g last %g", (double)p->n, (double)p->first, (double)p->last);
}

static void put_op(adept_json_writer *w, const adept_profile_op *op)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "path %s module_class %s kind %s op %s count %g inputs %s outputs %s tied %d", op->path,
                           op->module_class, op->kind, op->op, (double)op->count, op->inputs, op->outputs, op->tied);
    /* Sums of one execution by pass, for readers of the file. */
    double flops[2] = {0, 0}, bytes[2] = {0, 0};
    for (size_t i = 0; i < op->n_kernels; i++) {
        flops[op->kernels[i].pass] += op->kernels[i].flops + op->kernels[i].flops_alu;
        bytes[op->kernels[i].pass] += op->kernels[i].bytes_read + op->kernels[i].bytes_written;
    }
    adept_json_put_members(w, "flops_forward %g flops_backward %g bytes_forward %g bytes_backward %g", flops[0],
                           flops[1], bytes[0], bytes[1]);
    adept_json_put_number(w, "saved_bytes", op->saved_bytes);
    put_places(w, "places", &op->places);
    if (op->gradient_places.n > 0) adept_json_put_number(w, "gradient_bytes", op->gradient_bytes);
    put_places(w, "gradient_places", &op->gradient_places);
    adept_json_begin_array(w, "kernels");
    for (size_t i = 0; i < op->n_kernels; i++) {
        const adept_kernel *k = &op->kernels[i];
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "pass %s unit %s family %s dtype %s", adept_pass_name(k->pass),
                               adept_unit_name(k->unit), adept_kernel_family_name(k->family),
                               adept_dtype_name(k->dtype));
#define X(field)                                                                                                       \
    if (k->field != 0) adept_json_put_number(w, #field, k->field); /* a zero is not written */
        ADEPT_KERNEL_NUMBERS(X)
#undef X
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_end_object(w);
}

/* A word of a workload; seq_length is left out where it was no choice. */
static void put_word(adept_json_writer *w, const adept_field *f, const adept_workload_words *words)
{
    char text[ADEPT_FIELD_TEXT_BYTES];
    if (f->at == offsetof(adept_workload_words, seq_length) && words->seq_length == 0) return;
    if (adept_field_is_number(f))
        adept_json_put_number(w, f->name, adept_field_number(f, words));
    else if (f->kind == ADEPT_FIELD_SWITCH)
        adept_json_put_bool(w, f->name, !adept_field_is_zero(f, words));
    else
        adept_json_put_string(w, f->name, adept_field_text(text, f, words));
}

/* A table as one text, "COLUMN ...;CELL ...;CELL ...": readers of the file skip it, and a value a cell would cost them.
 */
static void begin_row(adept_buffer *b)
{
    adept_buffer_text(b, ";");
}

static void put_cell(adept_buffer *b, double value)
{
    char text[40];
    const char *before = b->size > 0 && b->data[b->size - 1] == ';' ? "" : " ";
    snprintf(text, sizeof text, "%s%.17g", before, value);
    adept_buffer_text(b, text);
}

/* "0,1,2"; "-": none */
static void put_numbers(adept_buffer *b, const int32_t *numbers, int32_t n)
{
    char text[24];
    for (int32_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%s%d", i == 0 ? " " : ",", (int)numbers[i]);
        adept_buffer_text(b, text);
    }
    if (n == 0) adept_buffer_text(b, " -");
}

static void end_table(adept_json_writer *w, const char *key, adept_buffer *b)
{
    char *text = adept_buffer_take(b);
    if (text)
        adept_json_put_string(w, key, text);
    else
        w->out.failed = true;
    free(text);
}

/* See adept_program.h. It stands in "memory", whose keys an older adept does not look at. */
static void put_program(adept_json_writer *w, const adept_program *p)
{
    adept_buffer b = {.data = NULL};
    adept_json_begin_object(w, "program");
    adept_buffer_text(&b, "shape");
    for (size_t i = 0; i < p->n_shapes; i++) {
        adept_tensor t = {.dtype = p->shapes[i].dtype, .ndim = p->shapes[i].ndim};
        char text[200];
        memcpy(t.dims, p->shapes[i].dims, (size_t)t.ndim * sizeof *t.dims);
        begin_row(&b);
        adept_buffer_text(&b, adept_tensor_print(&t, text, sizeof text));
    }
    end_table(w, "shapes", &b);
    adept_buffer_text(&b, "bytes param first last kept_by resident given");
    for (size_t i = 0; i < p->n_memories; i++) {
        const adept_program_memory *m = &p->memories[i];
        const double cells[] = {m->bytes, m->param, m->first, m->last, m->kept_by, m->resident, m->given};
        begin_row(&b);
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            put_cell(&b, cells[k]);
    }
    end_table(w, "memories", &b);
    adept_buffer_text(&b, "shape memory bytes first last");
    for (size_t i = 0; i < p->n_tensors; i++) {
        const adept_program_tensor *t = &p->tensors[i];
        const double cells[] = {t->shape, t->memory, t->bytes, t->first, t->last};
        begin_row(&b);
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            put_cell(&b, cells[k]);
    }
    end_table(w, "tensors", &b);
    adept_buffer_text(&b, "op kind shard");
    for (size_t i = 0; i < p->n_kinds; i++) {
        const char *const cells[] = {
            ";", p->kinds[i].op, " ", p->kinds[i].kind, " ", adept_shard_word_name(p->kinds[i].shard)};
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            adept_buffer_text(&b, cells[k]);
    }
    end_table(w, "kinds", &b);
    adept_buffer_text(&b, "op kind inputs outputs");
    for (size_t i = 0; i < p->n_operators; i++) {
        const adept_program_operator *o = &p->operators[i];
        begin_row(&b);
        put_cell(&b, o->op);
        put_cell(&b, o->kind);
        put_numbers(&b, p->operands + o->operands, o->n_inputs);
        put_numbers(&b, p->operands + o->operands + o->n_inputs, o->n_outputs);
    }
    end_table(w, "operators", &b);
    adept_buffer_text(&b, "first length times tensors");
    for (size_t i = 0; i < p->n_repeats; i++) {
        begin_row(&b);
        put_cell(&b, p->repeats[i].first);
        put_cell(&b, p->repeats[i].length);
        put_cell(&b, p->repeats[i].times);
        put_cell(&b, p->repeats[i].tensors);
    }
    end_table(w, "repeats", &b);
    adept_buffer_text(&b, "operator bytes");
    for (size_t i = 0; i < p->n_gradients; i++) {
        begin_row(&b);
        put_cell(&b, p->gradients[i].at);
        put_cell(&b, p->gradients[i].bytes);
    }
    end_table(w, "gradients", &b);
    adept_json_end_object(w);
}

/* What adept_profile_to_json() prints, into an object that is open; in a saved profile with its program. */
static void put_members(adept_json_writer *w, const adept_profile *p, bool saved)
{
    adept_json_put_members(w, "schema_version %jd kind %s", (intmax_t)SAVED_VERSION, SAVED_KIND);
    adept_json_put_object(w, "model",
                          "path %s sha256 %s producer %s params %g trainable_params %g trainable_tensors %g "
                          "weights_bytes %g trainable_bytes %g",
                          p->model_path, p->model_sha256, p->producer, (double)p->params, (double)p->trainable_params,
                          (double)p->trainable_tensors, p->weights_bytes, p->trainable_bytes);
    adept_json_begin_object(w, "config");
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) /* of those of some modes what says something */
        if (i < ADEPT_FIELD_prompt || p->mode == ADEPT_MODE_GENERATE ||
            !adept_field_is_zero(adept_workload_field(i), &p->words))
            put_word(w, adept_workload_field(i), &p->words);
    adept_json_end_object(w);
    adept_json_begin_array(w, "inputs");
    for (size_t i = 0; i < p->n_inputs; i++)
        adept_json_put_object(w, NULL, "name %s shape %s", p->inputs[i].name, p->inputs[i].shape);
    adept_json_end_array(w);
    const adept_profile_totals *t = &p->totals;
    adept_json_begin_object(w, "totals");
    adept_json_put_members(w, "params %g trainable_params %g macs_forward %g flops_forward %g flops_backward %g",
                           (double)p->params, (double)p->trainable_params, t->macs_forward,
                           t->gemm_flops[0] + t->conv_flops[0] + t->alu_flops[0],
                           t->gemm_flops[1] + t->conv_flops[1] + t->alu_flops[1]);
#define X(field)                                                                                                       \
    adept_json_put_members(w, #field "_forward %g " #field "_backward %g", t->field[ADEPT_FORWARD],                    \
                           t->field[ADEPT_BACKWARD]);
    TOTALS_BY_PASS(X)
#undef X
    adept_json_put_number(w, "saved_for_backward_bytes", !adept_mode_trains(p->mode) ? 0 : p->activations_bytes);
    adept_json_end_object(w);
    const adept_profile_features *f = &p->features;
    adept_json_put_object(
        w, "features",
        "gemm_m %g gemm_n %g gemm_k %g gemm_batch %g conv_channel_blocks %g conv_pixels %g elements %g "
        "working_set_bytes %g",
        f->gemm_m, f->gemm_n, f->gemm_k, f->gemm_batch, f->conv_channel_blocks, f->conv_pixels, f->elements,
        f->working_set_bytes);
    adept_json_begin_object(w, "memory");
    adept_json_put_members(w, "activations_bytes %g temporary_bytes %g autocast_copy_bytes %g", p->activations_bytes,
                           p->temporary_bytes, p->autocast_copy_bytes);
    if (saved) put_program(w, &p->program);
    adept_json_end_object(w);
    adept_json_begin_array(w, "ops");
    for (size_t i = 0; i < p->n_ops; i++)
        put_op(w, &p->ops[i]);
    adept_json_end_array(w);
    adept_json_put_strings(w, "warnings", (const char *const *)p->warnings, p->n_warnings);
}

char *adept_profile_to_json(const adept_profile *p)
{
    adept_json_writer w = {.pretty = true};
    adept_json_begin_object(&w, NULL);
    put_members(&w, p, false);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

/* ---------------------------------------------------------------- what it is made of ---------------- */

/* Of the options and of the graph. */
static adept_status hash_of(char hash[ADEPT_SHA256_SIZE], const adept_workload_config *config,
                            const adept_buffer *bytes, adept_error *err)
{
    char *text = adept_workload_config_text(config);
    adept_sha256 sha;
    if (!text) return adept_no_memory(err, "a hash");
    adept_sha256_init(&sha);
    adept_sha256_update(&sha, text, strlen(text) + 1);
    adept_sha256_update(&sha, bytes->data, bytes->size);
    free(text);
    return adept_sha256_hex(&sha, hash, err);
}

/* ---------------------------------------------------------------- writing ---------------- */

/* What the first files of this version had as numbers, and what they always had. */
static bool is_bits(size_t field)
{
    return field == ADEPT_FIELD_optimizer_impl || field == ADEPT_FIELD_optimizer_extras;
}

static bool is_required(size_t field)
{
    return field == ADEPT_FIELD_mode || field == ADEPT_FIELD_precision || field == ADEPT_FIELD_attention;
}

adept_status adept_saved_graph(char hash[ADEPT_SHA256_SIZE], char **data, const adept_workload_config *config,
                               const adept_buffer *bytes, adept_error *err)
{
    adept_status status = hash_of(hash, config, bytes, err);
    if (status != ADEPT_OK) return status;
    *data = malloc(adept_base64_length(bytes->size) + 1);
    if (!*data) return adept_no_memory(err, "a graph");
    adept_base64_encode(*data, (const unsigned char *)bytes->data, bytes->size);
    return ADEPT_OK;
}

adept_status adept_saved_write(char **text, const adept_profile *profile, const adept_graph *graph,
                               const adept_workload_config *config, adept_error *err)
{
    char hash[ADEPT_SHA256_SIZE], *data = NULL;
    adept_buffer bytes = {0};
    adept_json_writer w = {.pretty = true};
    adept_status status = adept_graph_write(&bytes, graph, err);
    if (status == ADEPT_OK) status = adept_saved_graph(hash, &data, config, &bytes, err);
    adept_buffer_free(&bytes);
    adept_json_begin_object(&w, NULL);
    put_members(&w, profile, true);
    /* What is not given is not written. */
    adept_json_begin_object(&w, "options");
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) {
        const adept_field *f = adept_workload_field(i);
        if (adept_field_is_zero(f, &config->words) && !is_required(i)) continue;
        if (is_bits(i))
            adept_json_put_integer(&w, f->name, *(const int *)((const char *)&config->words + f->at));
        else
            put_word(&w, f, &config->words);
    }
    if (config->n_inputs > 0) adept_json_begin_array(&w, "inputs");
    for (size_t i = 0; i < config->n_inputs; i++) {
        char spec[256];
        adept_json_put_string(&w, NULL, adept_input_spec_print(&config->inputs[i], spec, sizeof spec));
    }
    if (config->n_inputs > 0) adept_json_end_array(&w);
    if (config->allow_unsupported) adept_json_put_bool(&w, "allow_unsupported", true);
    if (config->n_assume > 0) adept_json_put_strings(&w, "assume", config->assume, config->n_assume);
    adept_json_end_object(&w);
    if (status == ADEPT_OK) adept_json_put_object(&w, "graph", "sha256 %s data %s", hash, data);
    adept_json_end_object(&w);
    free(data);
    char *printed = adept_json_finish(&w);
    if (status == ADEPT_OK && !printed) status = adept_no_memory(err, profile->model_path);
    if (status == ADEPT_OK)
        *text = printed;
    else
        free(printed);
    return status;
}

/* ---------------------------------------------------------------- reading ---------------- */

/* Of the file on its way to a graph; freed together. */
typedef struct reader {
    adept_json_reader r;
    adept_workload_config config; /* texts are the JSON's */
    adept_input_spec *inputs;
    const char **assume; /* texts are the JSON's */
    adept_buffer bytes;
    uint64_t memory_bytes;
} reader;

static int64_t count_or_zero(adept_json_reader *r, const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key) ? adept_json_count(r, o, key) : 0;
}

static void read_inputs(reader *in, const cJSON *o)
{
    const cJSON *item, *array = adept_json_array(&in->r, o, "inputs");
    if (in->r.status) return;
    in->inputs = calloc(adept_json_size(array) + 1, sizeof *in->inputs);
    if (!in->inputs) {
        adept_json_no_memory(&in->r);
        return;
    }
    in->config.inputs = in->inputs;
    cJSON_ArrayForEach(item, array)
    {
        adept_error why = {0};
        if (!cJSON_IsString(item) ||
            adept_input_spec_parse(&in->inputs[in->config.n_inputs++], item->valuestring, &why) != ADEPT_OK)
            adept_json_fail(&in->r, "\"inputs\" in \"options\" are not shapes: %s", why.message);
    }
}

static void read_options(reader *in, const cJSON *root)
{
    adept_workload_config *c = &in->config;
    const cJSON *o = adept_json_object(&in->r, root, "options");
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) {
        const adept_field *f = adept_workload_field(i);
        adept_workload_words *words = &in->config.words;
        if (!is_required(i) && !cJSON_GetObjectItemCaseSensitive(o, f->name)) continue;
        if (is_bits(i)) {
            const int64_t value = count_or_zero(&in->r, o, f->name);
            if (value >= (i == ADEPT_FIELD_optimizer_impl ? ADEPT_IMPL_FORLOOP + 1 : 2 * ADEPT_EXTRA_ZERO_GRAD))
                adept_json_fail(&in->r, "unknown \"optimizer_impl\" or \"optimizer_extras\"");
            else
                *(int *)((char *)words + f->at) = (int)value;
        } else if (adept_field_is_number(f)) {
            const double value = f->kind == ADEPT_FIELD_COUNT ? (double)count_or_zero(&in->r, o, f->name)
                                                              : adept_json_number(&in->r, o, f->name);
            if (value != 0 && !adept_field_set_number(f, words, value))
                adept_json_fail(&in->r, "\"%s\" is out of range", f->name);
        } else if (f->kind == ADEPT_FIELD_SWITCH) {
            *(bool *)((char *)words + f->at) = adept_json_bool(&in->r, o, f->name);
        } else {
            const char *text = adept_json_string(&in->r, o, f->name);
            if (f->kind == ADEPT_FIELD_NAME)
                *(const char **)((char *)words + f->at) = text; /* whoever runs it looks it up */
            else if (!adept_field_set_text(f, words, text))
                adept_json_fail(&in->r, "unknown %s '%.40s'", f->name, text);
        }
    }
    if (cJSON_GetObjectItemCaseSensitive(o, "allow_unsupported"))
        c->allow_unsupported = adept_json_bool(&in->r, o, "allow_unsupported");
    if (cJSON_GetObjectItemCaseSensitive(o, "inputs")) read_inputs(in, o);
    if (cJSON_GetObjectItemCaseSensitive(o, "assume")) {
        const cJSON *item, *array = adept_json_array(&in->r, o, "assume");
        if (in->r.status) return;
        in->config.assume = in->assume = calloc(adept_json_size(array) + 1, sizeof *in->assume);
        if (!in->assume) {
            adept_json_no_memory(&in->r);
            return;
        }
        cJSON_ArrayForEach(item, array)
        {
            adept_error why = {0};
            if (!cJSON_IsString(item) || adept_assumption_check(item->valuestring, &why) != ADEPT_OK) {
                adept_json_fail(&in->r, "\"assume\" in \"options\" has no assumption: %s", why.message);
                return;
            }
            in->assume[in->config.n_assume++] = item->valuestring;
        }
    }
}

static void read_bytes(reader *in, const cJSON *root)
{
    char hash[ADEPT_SHA256_SIZE];
    const cJSON *o = adept_json_object(&in->r, root, "graph");
    const char *data = adept_json_string(&in->r, o, "data"), *recorded = adept_json_string(&in->r, o, "sha256");
    if (in->r.status) return;
    size_t length = strlen(data);
    in->bytes.data = malloc(length / 4 * 3 + 1);
    if (!in->bytes.data) {
        adept_json_no_memory(&in->r);
        return;
    }
    bool whole = adept_base64_decode((unsigned char *)in->bytes.data, &in->bytes.size, data, length);
    if (whole) in->r.status = hash_of(hash, &in->config, &in->bytes, in->r.err);
    if (in->r.status) return;
    if (!whole || strcmp(hash, recorded) != 0)
        adept_json_fail(&in->r, "graph and options are not what was saved: the file was damaged or edited");
}

static adept_status take_graph(adept_graph **graph, adept_workload_config *config, const reader *in)
{
    adept_graph *g = NULL;
    adept_error why = {0};
    adept_status status = adept_graph_read_within(&g, in->bytes.data, in->bytes.size, in->memory_bytes, &why);
    if (status != ADEPT_OK) return adept_error_set(in->r.err, status, "%s: %s", in->r.name, why.message);
    if (!adept_workload_config_copy(config, &in->config, g->arena)) {
        adept_graph_free(g);
        return adept_no_memory(in->r.err, in->r.name);
    }
    *graph = g;
    return ADEPT_OK;
}

static adept_status take_root(adept_graph **graph, adept_workload_config *config, const char *name, const cJSON *root,
                              uint64_t memory_bytes, adept_error *err)
{
    reader in = {.r = {.name = name, .err = err}, .memory_bytes = memory_bytes};
    static const char anew[] = "adept profile MODEL -o FILE writes one";
    if (!cJSON_GetObjectItemCaseSensitive(root, "kind"))
        adept_json_fail(&in.r, "neither a model's configuration nor a workload profile%s",
                        cJSON_GetObjectItemCaseSensitive(root, "step_time_s")
                            ? ", but a prediction's result: adept compare and adept report --result take these"
                            : " (it has no \"kind\")");
    const char *kind = adept_json_string(&in.r, root, "kind");
    int64_t version = adept_json_count(&in.r, root, "schema_version");
    if (!in.r.status) {
        if (strcmp(kind, SAVED_KIND) != 0)
            adept_json_fail(&in.r, "not a workload profile ('kind' is '%.40s')", kind);
        else if (version < SAVED_VERSION)
            adept_json_fail(&in.r, "a profile of an earlier version of adept, which had no graph in it: %s anew", anew);
        else if (version > SAVED_VERSION)
            adept_json_fail(&in.r,
                            "a profile of a later version of adept (schema_version %lld): update adept; or here, %s",
                            (long long)version, anew);
        else if (!cJSON_GetObjectItemCaseSensitive(root, "graph"))
            adept_json_fail(&in.r, "a profile without its graph, as --json prints it: %s with it", anew);
    }
    /* Keys of what is worked out are checked, too: somebody may think that they are read. */
    static const char *const keys[] = {"schema_version", "kind",   "model", "config",   "inputs",  "totals",
                                       "features",       "memory", "ops",   "warnings", "options", "graph"},
                             *const of_graph[] = {"sha256", "data"};
    const char *options[ADEPT_N_WORKLOAD_FIELDS + 3] = {"inputs", "assume", "allow_unsupported"};
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++)
        options[3 + i] = adept_workload_field(i)->name;
    adept_json_check_keys(&in.r, root, "", keys, sizeof keys / sizeof *keys);
    adept_json_check_keys(&in.r, adept_json_object(&in.r, root, "options"), " in \"options\"", options,
                          sizeof options / sizeof *options);
    adept_json_check_keys(&in.r, adept_json_object(&in.r, root, "graph"), " in \"graph\"", of_graph,
                          sizeof of_graph / sizeof *of_graph);
    read_options(&in, root);
    read_bytes(&in, root);
    adept_status status = in.r.status == ADEPT_OK ? take_graph(graph, config, &in) : in.r.status;
    free(in.inputs);
    free(in.assume);
    free(in.bytes.data);
    return status;
}

adept_status adept_saved_parse(adept_graph **graph, adept_workload_config *config, const char *name, const char *text,
                               size_t size, uint64_t memory_bytes, adept_error *err)
{
    cJSON *root = NULL;
    if (memory_bytes == 0) memory_bytes = ADEPT_MEMORY_BYTES;
    if (size > ADEPT_JSON_BYTES_OF(memory_bytes))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %zu bytes, more than the %zu that are read", name, size,
                               ADEPT_JSON_BYTES_OF(memory_bytes));
    adept_status status = adept_json_parse_within(&root, name, text, size, ADEPT_JSON_VALUES_OF(memory_bytes), err);
    if (status == ADEPT_OK) status = take_root(graph, config, name, root, memory_bytes, err);
    cJSON_Delete(root);
    return status;
}

adept_status adept_saved_read(adept_graph **graph, adept_workload_config *config, const char *path,
                              uint64_t memory_bytes, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (memory_bytes == 0) memory_bytes = ADEPT_MEMORY_BYTES;
    adept_status status = adept_file_read(&text, &size, path, ADEPT_JSON_BYTES_OF(memory_bytes), err);
    if (status != ADEPT_OK) return status;
    status = adept_saved_parse(graph, config, path, text, size, memory_bytes, err);
    free(text);
    return status;
}
