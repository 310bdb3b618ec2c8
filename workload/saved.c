/* Saved profiles: JSON that holds the graph and what to run. "options" is what adept_profile_build() was given, "graph"
 * the bytes of graph_stream.c; their hash tells a damaged or edited file from a whole one. All else in the file is made
 * of them. */
#include "saved.h"
#include "adept_file.h"
#include "adept_json.h"
#include "base64.h"
#include "sha256.h"
#include <stdlib.h>
#include <string.h>

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

/* Counts of the options: a zero is not written. */
#define COUNTS(X) X(optimizer_impl) X(optimizer_extras) X(batch_size) X(seq_length) X(grad_accum)

static void put_options(adept_json_writer *w, const adept_workload_config *c)
{
    adept_json_begin_object(w, "options");
    adept_json_put_members(w, "mode %s precision %s attention %s", adept_mode_name(c->mode),
                           adept_precision_name(c->precision), adept_attention_name(c->attention));
    if (c->memory_format != ADEPT_NCHW)
        adept_json_put_string(w, "memory_format", adept_memory_format_name(c->memory_format));
    if (c->execution != ADEPT_EAGER) adept_json_put_string(w, "execution", adept_execution_name(c->execution));
    if (c->optimizer) adept_json_put_string(w, "optimizer", c->optimizer);
#define X(count)                                                                                                       \
    if (c->count != 0) adept_json_put_integer(w, #count, c->count);
    COUNTS(X)
#undef X
    if (c->n_inputs > 0) adept_json_begin_array(w, "inputs");
    for (size_t i = 0; i < c->n_inputs; i++) {
        char spec[256];
        adept_json_put_string(w, NULL, adept_input_spec_print(&c->inputs[i], spec, sizeof spec));
    }
    if (c->n_inputs > 0) adept_json_end_array(w);
    if (c->allow_unsupported) adept_json_put_bool(w, "allow_unsupported", true);
    adept_json_end_object(w);
}

static adept_status put_graph(adept_json_writer *w, const char *hash, const adept_buffer *bytes, adept_error *err)
{
    char *text = malloc(adept_base64_length(bytes->size) + 1);
    if (!text) return adept_no_memory(err, "a graph");
    adept_base64_encode(text, (const unsigned char *)bytes->data, bytes->size);
    adept_json_put_object(w, "graph", "sha256 %s data %s", hash, text);
    free(text);
    return ADEPT_OK;
}

adept_status adept_saved_write(char **text, const adept_profile *profile, const adept_graph *graph,
                               const adept_workload_config *config, adept_error *err)
{
    char hash[ADEPT_SHA256_SIZE];
    adept_buffer bytes = {0};
    adept_json_writer w = {.pretty = true};
    adept_status status = adept_graph_write(&bytes, graph, err);
    if (status == ADEPT_OK) status = hash_of(hash, config, &bytes, err);
    adept_json_begin_object(&w, NULL);
    adept_profile_put_members(&w, profile);
    put_options(&w, config);
    if (status == ADEPT_OK) status = put_graph(&w, hash, &bytes, err);
    adept_json_end_object(&w);
    adept_buffer_free(&bytes);
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
    adept_buffer bytes;
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
            adept_json_fail(&in->r, "\"inputs\" in \"options\" are no shapes: %s", why.message);
    }
}

static void read_options(reader *in, const cJSON *root)
{
    adept_workload_config *c = &in->config;
    const cJSON *o = adept_json_object(&in->r, root, "options");
#define READ(words)                                                                                                    \
    const char *words = adept_json_string(&in->r, o, #words);                                                          \
    if (!adept_##words##_from_name(&c->words, words)) adept_json_fail(&in->r, "unknown " #words " '%.40s'", words)
    READ(mode);
    READ(precision);
    READ(attention);
#undef READ
    const char *format = adept_json_string_or(&in->r, o, "memory_format", "nchw");
    if (!adept_memory_format_from_name(&c->memory_format, format))
        adept_json_fail(&in->r, "unknown memory format '%.40s'", format);
    const char *execution = adept_json_string_or(&in->r, o, "execution", "eager");
    if (!adept_execution_from_name(&c->execution, execution))
        adept_json_fail(&in->r, "unknown execution '%.40s'", execution);
    c->optimizer = adept_json_string_or(&in->r, o, "optimizer", NULL);
    int64_t impl = count_or_zero(&in->r, o, "optimizer_impl"), extras = count_or_zero(&in->r, o, "optimizer_extras");
    if (impl > ADEPT_IMPL_FORLOOP || extras >= 2 * ADEPT_EXTRA_ZERO_GRAD)
        adept_json_fail(&in->r, "unknown \"optimizer_impl\" or \"optimizer_extras\"");
    c->optimizer_impl = (adept_optimizer_impl)impl, c->optimizer_extras = (unsigned)extras;
    c->batch_size = count_or_zero(&in->r, o, "batch_size");
    c->seq_length = count_or_zero(&in->r, o, "seq_length");
    c->grad_accum = count_or_zero(&in->r, o, "grad_accum");
    if (cJSON_GetObjectItemCaseSensitive(o, "allow_unsupported"))
        c->allow_unsupported = adept_json_bool(&in->r, o, "allow_unsupported");
    if (cJSON_GetObjectItemCaseSensitive(o, "inputs")) read_inputs(in, o);
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

static void check_kind(reader *in, const cJSON *root)
{
    static const char anew[] = "adept profile MODEL -o FILE writes one";
    const char *kind = adept_json_string(&in->r, root, "kind");
    int64_t version = adept_json_count(&in->r, root, "schema_version");
    if (in->r.status) return;
    if (strcmp(kind, ADEPT_SAVED_KIND) != 0)
        adept_json_fail(&in->r, "not a workload profile ('kind' is '%.40s')", kind);
    else if (version < ADEPT_SAVED_VERSION)
        adept_json_fail(&in->r, "a profile of an earlier version of adept, which had no graph in it: %s anew", anew);
    else if (version > ADEPT_SAVED_VERSION)
        adept_json_fail(&in->r, "a profile of a later version of adept (schema_version %lld)", (long long)version);
    else if (!cJSON_GetObjectItemCaseSensitive(root, "graph"))
        adept_json_fail(&in->r, "a profile without its graph, as --json prints it: %s with it", anew);
}

static adept_status take_graph(adept_graph **graph, adept_workload_config *config, const reader *in)
{
    adept_graph *g = NULL;
    adept_error why = {0};
    adept_status status = adept_graph_read(&g, in->bytes.data, in->bytes.size, &why);
    if (status != ADEPT_OK) return adept_error_set(in->r.err, status, "%s: %s", in->r.name, why.message);
    if (!adept_workload_config_copy(config, &in->config, g->arena)) {
        adept_graph_free(g);
        return adept_no_memory(in->r.err, in->r.name);
    }
    *graph = g;
    return ADEPT_OK;
}

adept_status adept_saved_parse(adept_graph **graph, adept_workload_config *config, const char *name, const char *text,
                               size_t size, adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    reader in = {.r = {.name = name, .err = err}};
    check_kind(&in, root);
    read_options(&in, root);
    read_bytes(&in, root);
    status = in.r.status == ADEPT_OK ? take_graph(graph, config, &in) : in.r.status;
    cJSON_Delete(root);
    free(in.inputs);
    free(in.bytes.data);
    return status;
}

adept_status adept_saved_read(adept_graph **graph, adept_workload_config *config, const char *path, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, path, ADEPT_JSON_MAX_BYTES, err);
    if (status != ADEPT_OK) return status;
    status = adept_saved_parse(graph, config, path, text, size, err);
    free(text);
    return status;
}
