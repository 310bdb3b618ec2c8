/** @file export_program.c  The JSON of a .pt2 -> graph: signature, inputs, outputs. Calls: adept_graph, cJSON. */
#include "adept_import.h"
#include "adept_json.h"
#include "export_private.h"
#include "import_private.h"
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* ---- building blocks ---- */

void adept_export_map(adept_export_reader *r, adept_name_map *map, const char *name, uintptr_t value)
{
    if (!adept_name_map_put(map, name, value)) adept_json_no_memory(&r->json);
}

void adept_export_bind(adept_export_reader *r, const char *name, int32_t value)
{
    if (r->json.status == ADEPT_OK && value >= 0) adept_export_map(r, r->names, name, (uintptr_t)value);
}

int32_t adept_export_fresh(adept_export_reader *r)
{
    int32_t value = r->json.status == ADEPT_OK ? adept_graph_builder_value(r->b) : -1;
    if (value < 0) adept_json_no_memory(&r->json);
    return value;
}

void adept_export_node(adept_export_reader *r, const char *op, const char *overload, size_t n_inputs,
                       const int32_t *inputs, const char *const *input_names, size_t n_outputs, const int32_t *outputs)
{
    adept_node_desc desc = {.op = op,
                            .overload = overload,
                            .module = r->module,
                            .n_inputs = (int32_t)n_inputs,
                            .inputs = inputs,
                            .input_names = input_names,
                            .n_outputs = (int32_t)n_outputs,
                            .outputs = outputs,
                            .param = -1};
    if (r->json.status == ADEPT_OK) adept_export_check(r, adept_graph_builder_node(r->b, &desc, r->json.err));
}

int32_t adept_export_op(adept_export_reader *r, const char *op, size_t n_inputs, const int32_t *inputs,
                        const char *const *input_names)
{
    int32_t output = adept_export_fresh(r);
    adept_export_node(r, op, "", n_inputs, inputs, input_names, 1, &output);
    return output;
}

void *adept_export_room(adept_export_reader *r, size_t n, size_t element_bytes)
{
    void *room = adept_arena_array(r->scratch, n, element_bytes);
    if (!room) adept_json_no_memory(&r->json);
    return room;
}

/* ---- inputs ---- */

/* The batch is what the first tensor's leading dimension is called; the first dimension of that name in every input. */
static void read_input_shape(adept_export_reader *r, adept_graph_input *input, const cJSON *meta, bool is_first)
{
    input->dtype = adept_export_dtype(r, cJSON_GetObjectItemCaseSensitive(meta, "dtype"), input->name);
    const cJSON *sizes = adept_json_array(&r->json, meta, "sizes");
    bool has_batch = false;
    input->has_shape = true;
    for (const cJSON *e = sizes ? sizes->child : NULL; e && r->json.status == ADEPT_OK; e = e->next) {
        if (input->ndim == ADEPT_MAX_DIMS) {
            adept_json_fail(&r->json, "input '%s' has more than %d dimensions", input->name, ADEPT_MAX_DIMS);
            return;
        }
        adept_export_size size = adept_export_read_size(r, e);
        if (is_first && input->ndim == 0 && size.symbol) {
            r->batch_symbol = size.symbol;
            r->batch_hint = size.known && size.value > 0 ? size.value : 0;
        }
        bool is_batch = !has_batch && size.symbol && r->batch_symbol && strcmp(size.symbol, r->batch_symbol) == 0;
        has_batch |= is_batch;
        if (!is_batch && !size.known) input->has_shape = false; /* a size without hint: --input must give it */
        input->dims[input->ndim++] = is_batch ? -1 : size.value;
    }
    const cJSON *strides = cJSON_GetObjectItemCaseSensitive(meta, "strides");
    int64_t known[ADEPT_MAX_DIMS];
    int n = 0;
    for (const cJSON *e = cJSON_IsArray(strides) ? strides->child : NULL; e && n < ADEPT_MAX_DIMS; e = e->next)
        known[n++] = adept_export_read_size(r, e).value;
    input->channels_last = n == input->ndim && adept_strides_channels_last(n, input->dims, known);
}

/* A symbolic number as input: what it was when the model was exported. */
static adept_value symbol_hint(adept_export_reader *r, const char *name)
{
    const uintptr_t *entry = adept_name_map_get(&r->symbols, name);
    adept_export_size size = {0};
    if (entry) size = adept_export_read_size(r, (const cJSON *)*entry);
    if (!size.known) return (adept_value){.kind = ADEPT_VALUE_UNKNOWN};
    return (adept_value){.kind = ADEPT_VALUE_INT, .u.i = size.value};
}

static void add_input(adept_export_reader *r, adept_graph_input *input, bool bind)
{
    input->value = adept_export_fresh(r);
    if (r->json.status != ADEPT_OK) return;
    int32_t number = adept_graph_builder_input(r->b, input);
    if (number == -1) {
        adept_json_fail(&r->json, "input '%s' has an impossible shape", input->name);
    } else if (number == -2) {
        r->json.status = adept_no_memory(r->json.err, "a graph");
    } else if (bind) {
        adept_export_bind(r, input->name, input->value);
    }
}

static void add_user_input(adept_export_reader *r, const cJSON *argument, bool *seen_tensor)
{
    const cJSON *what = adept_export_union(r, argument);
    if (!what) return;
    const char *name = adept_export_argument_name(argument);
    adept_graph_input input = {.name = name ? name : "(constant)"};
    if (strcmp(what->string, "as_tensor") == 0 && name) {
        const uintptr_t *meta = adept_name_map_get(&r->metas, name);
        if (meta) {
            read_input_shape(r, &input, (const cJSON *)*meta, !*seen_tensor);
            *seen_tensor = true;
        }
    } else if (name) {
        input.constant = symbol_hint(r, name);
    } else {
        adept_export_item item = {.ref = -1};
        if (!adept_export_convert(r, argument, &item)) return;
        input.constant = item.constant;
    }
    add_input(r, &input, name != NULL);
}

static void read_inputs(adept_export_reader *r)
{
    const cJSON *specs = adept_json_array(&r->json, r->signature, "input_specs");
    bool seen_tensor = false;
    for (const cJSON *e = specs ? specs->child : NULL; e && r->json.status == ADEPT_OK; e = e->next) {
        const cJSON *what = adept_export_union(r, e);
        if (!what) return;
        if (strcmp(what->string, "user_input") == 0) {
            add_user_input(r, adept_json_object(&r->json, what, "arg"), &seen_tensor);
        } else if (strcmp(what->string, "constant_input") == 0) {
            adept_graph_input input = {.name = adept_json_string(&r->json, what, "name")};
            adept_export_item item = {.ref = -1};
            if (!adept_export_convert(r, adept_json_object(&r->json, what, "value"), &item)) return;
            input.constant = item.constant;
            add_input(r, &input, true);
        } else if (strcmp(what->string, "custom_obj") == 0 || strcmp(what->string, "token") == 0) {
            adept_graph_input input = {.name = "(object)", .constant.kind = ADEPT_VALUE_UNKNOWN};
            const char *name = adept_json_string(&r->json, adept_json_object(&r->json, what, "arg"), "name");
            if (r->json.status == ADEPT_OK && name[0]) input.name = name;
            add_input(r, &input, true);
        }
    }
}

/* ---- outputs ---- */

/* What the user gets; mutated buffers, tokens and plain numbers are no results of the model. */
static size_t read_outputs(adept_export_reader *r, int32_t **returns)
{
    const cJSON *specs = adept_json_array(&r->json, r->signature, "output_specs");
    size_t n = 0;
    *returns = adept_export_room(r, adept_json_size(specs), sizeof **returns);
    for (const cJSON *e = specs ? specs->child : NULL; e && r->json.status == ADEPT_OK; e = e->next) {
        const cJSON *what = adept_export_union(r, e);
        if (!what) return 0;
        if (strcmp(what->string, "user_output") != 0 && strcmp(what->string, "loss_output") != 0) continue;
        const cJSON *argument = adept_json_object(&r->json, what, "arg");
        const char *name = strcmp(what->string, "loss_output") == 0 ? adept_json_string(&r->json, argument, "name")
                                                                    : adept_export_argument_name(argument);
        if (r->json.status != ADEPT_OK || !name) continue;
        if (cJSON_GetObjectItemCaseSensitive(argument, "as_custom_obj")) continue;
        (*returns)[n++] = adept_export_lookup(r, name);
    }
    return n;
}

/* ---- the whole ---- */

static const char *producer_of(adept_export_reader *r, const cJSON *root)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "torch_version");
    if (!cJSON_IsString(version)) return "";
    return adept_arena_printf(adept_graph_builder_graph(r->b)->arena, "torch %s", version->valuestring);
}

static void build(adept_export_reader *r, cJSON *root, adept_graph **out)
{
    adept_name_map names = {0};
    int32_t *returns = NULL;
    r->names = &names;
    /* {"major": 8, "minor": 2}, in the first files a number. A change of the major number means what is read here
     * changed.
     */
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "schema_version");
    if (cJSON_IsObject(version)) version = cJSON_GetObjectItemCaseSensitive(version, "major");
    int64_t major;
    if (!version || !adept_export_int(version, &major) || major < 1) {
        adept_json_fail(&r->json, "no exported program: \"schema_version\" is missing");
    } else if (major > 8) {
        adept_json_fail(&r->json, "schema version %lld is newer than 8, the last that is known", (long long)major);
    }
    const cJSON *module = adept_json_object(&r->json, root, "graph_module");
    r->graph = adept_json_object(&r->json, module, "graph");
    r->signature = adept_json_object(&r->json, module, "signature");
    if (r->json.status == ADEPT_OK) adept_export_upgrade(r);
    if (r->json.status == ADEPT_OK) {
        const cJSON *values = adept_json_object(&r->json, r->graph, "tensor_values");
        for (const cJSON *v = values ? values->child : NULL; v && r->json.status == ADEPT_OK; v = v->next) {
            const cJSON *meta = cJSON_GetObjectItemCaseSensitive(v, "meta"); /* schema 1 wraps it */
            adept_export_map(r, &r->metas, v->string, (uintptr_t)(meta ? meta : v));
        }
        const cJSON *symbols = cJSON_GetObjectItemCaseSensitive(r->graph, "sym_int_values");
        for (const cJSON *v = cJSON_IsObject(symbols) ? symbols->child : NULL; v && r->json.status == ADEPT_OK;
             v = v->next)
            adept_export_map(r, &r->symbols, v->string, (uintptr_t)v);
    }
    if (r->json.status == ADEPT_OK) adept_export_params(r);
    if (r->json.status == ADEPT_OK) read_inputs(r);
    if (r->json.status == ADEPT_OK) adept_export_nodes(r, r->graph);
    size_t n_returns = r->json.status == ADEPT_OK ? read_outputs(r, &returns) : 0;
    const char *producer = r->json.status == ADEPT_OK ? producer_of(r, root) : "";
    const char *path = adept_arena_strdup(adept_graph_builder_graph(r->b)->arena, r->json.name);
    if (adept_arena_failed(r->scratch) || adept_arena_failed(adept_graph_builder_graph(r->b)->arena))
        adept_json_no_memory(&r->json);
    adept_name_map_free(&names);
    adept_name_map_free(&r->metas);
    adept_name_map_free(&r->symbols);
    if (r->json.status != ADEPT_OK) return;
    adept_graph *graph = adept_graph_builder_graph(r->b);
    graph->format = "export";
    graph->producer = producer;
    graph->path = path;
    graph->hint_batch = r->batch_hint;
    adept_export_check(r, adept_graph_builder_finish(r->b, (int32_t)n_returns, returns, out, r->json.err));
    r->b = NULL;
}

/* Of memory that was out: the system's, or what a stranger's file may have. */
static adept_status failure_of(const adept_export_reader *r, adept_error *err)
{
    if (r->scratch && adept_arena_is_full(r->scratch))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: more names than any model has", r->json.name);
    return r->b ? adept_graph_builder_failure(r->b, ADEPT_E_NOMEM, r->json.name, err) : ADEPT_E_NOMEM;
}

adept_status adept_export_build(adept_graph **out, const adept_export_source *source, adept_error *err)
{
    static const adept_export_places none = {0};
    adept_error local = {0};
    cJSON *root = NULL;
    if (!err) err = &local;
    /* The text goes before a graph is made of the tree. */
    adept_python_numbers(source->json, source->json_size);
    adept_status status = adept_json_parse_within(&root, source->name, source->json, source->json_size,
                                                  ADEPT_JSON_VALUES_OF(source->memory_bytes), err);
    free(source->json);
    if (status != ADEPT_OK) return status;
    adept_export_reader r = {.json = {.name = source->name, .err = err},
                             .places = source->places ? source->places : &none};
    r.b = adept_graph_builder_new();
    r.scratch = adept_arena_new();
    if (r.b) adept_graph_builder_limit(r.b, source->memory_bytes);
    if (r.scratch) adept_arena_limit(r.scratch, (size_t)(source->memory_bytes / 16));
    if (r.b && r.scratch)
        build(&r, root, out);
    else
        adept_json_no_memory(&r.json);
    if (r.json.status == ADEPT_E_NOMEM) r.json.status = failure_of(&r, err);
    adept_graph_builder_free(r.b);
    adept_arena_free(r.scratch);
    cJSON_Delete(root);
    return r.json.status;
}

adept_status adept_export_parse(adept_graph **out, const char *name, const char *json, size_t json_size,
                                const char *weights_json, size_t weights_size, adept_error *err)
{
    adept_export_places places = {.arena = adept_arena_new()};
    if (!places.arena) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", name);
    adept_status status = ADEPT_OK;
    if (weights_json) status = adept_export_weights_config(&places, name, weights_json, weights_size, err);
    adept_export_source source = {
        .name = name, .json_size = json_size, .memory_bytes = ADEPT_MEMORY_BYTES, .places = &places};
    if (status == ADEPT_OK) {
        source.json = malloc(json_size + 1);
        if (source.json) memcpy(source.json, json, json_size);
        status = source.json ? adept_export_build(out, &source, err) : adept_no_memory(err, name);
    }
    adept_export_places_free(&places);
    return status;
}
