/** @file torchscript_hints.c  Inputs that the archive itself knows: adept.json, else the traced inputs, else bundled
 * ones. Calls: archive, pickle, adept_json, adept_input_spec. */
#include "adept_json.h"
#include "adept_input_spec.h"
#include "adept_number.h"
#include "archive.h"
#include "import_private.h"
#include "pickle.h"
#include <stdlib.h>
#include <string.h>

#define MAX_JSON_BYTES ((size_t)1 << 20)
#define MAX_TRACED_BYTES ((size_t)1 << 20)
#define MAX_TUPLE_DEPTH 32
#define MAX_NAMED 1000  /* parts of inputs */
#define PICKLE_SHARE 64 /* of the memory, as for the check before */

static const char bundled_attribute[] = "_bundled_inputs_deflated_forward";

/* ---- adept.json: {"inputs": [SPEC, ...], "batch": N, "seq_length": N} ---- */

/* A size that may be left out; 0 then. */
static int64_t optional_size(adept_json_reader *r, const cJSON *root, const char *key)
{
    if (!cJSON_GetObjectItemCaseSensitive(root, key)) return 0;
    int64_t size = adept_json_count(r, root, key);
    if (r->status == ADEPT_OK && size < 1) adept_json_fail(r, "\"%s\" must be at least 1", key);
    return size;
}

static const char *checked_spec(adept_json_reader *r, adept_graph *graph, const cJSON *item)
{
    adept_input_spec spec;
    adept_error why = {0};
    if (!cJSON_IsString(item)) {
        adept_json_fail(r, "\"inputs\" must hold strings like \"f32:8x3x224x224\"");
        return NULL;
    }
    if (adept_input_spec_parse(&spec, item->valuestring, &why) != ADEPT_OK) {
        adept_json_fail(r, "%s", why.message);
        return NULL;
    }
    return adept_json_keep(r, graph->arena, item->valuestring);
}

static adept_status fill_from_json(adept_graph *graph, const char *name, const char *text, size_t size,
                                   adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err, .status = ADEPT_OK};
    const cJSON *inputs = adept_json_array(&r, root, "inputs"), *item;
    size_t n = 0;
    const char **specs = adept_arena_array(graph->arena, adept_json_size(inputs), sizeof *specs);
    if (!specs) adept_json_no_memory(&r);
    cJSON_ArrayForEach(item, inputs)
    {
        if (r.status == ADEPT_OK) specs[n++] = checked_spec(&r, graph, item);
    }
    int64_t batch = optional_size(&r, root, "batch"), seq_length = optional_size(&r, root, "seq_length");
    cJSON_Delete(root);
    if (r.status != ADEPT_OK) return r.status;
    graph->hint_specs = specs;
    graph->n_hint_specs = n;
    graph->hint_batch = batch;
    graph->hint_seq_length = seq_length;
    return ADEPT_OK;
}

/* ---- traced_inputs.pkl: {"forward": [tensor, ...]} ---- */

static const struct storage_class {
    const char *global;
    adept_dtype dtype;
} storage_classes[] = {
    {"torch\nFloatStorage", ADEPT_F32},
    {"torch\nDoubleStorage", ADEPT_F64},
    {"torch\nHalfStorage", ADEPT_F16},
    {"torch\nBFloat16Storage", ADEPT_BF16},
    {"torch\nLongStorage", ADEPT_I64},
    {"torch\nIntStorage", ADEPT_I32},
    {"torch\nShortStorage", ADEPT_I16},
    {"torch\nCharStorage", ADEPT_I8},
    {"torch\nByteStorage", ADEPT_U8},
    {"torch\nBoolStorage", ADEPT_BOOL},
    {"torch\nComplexFloatStorage", ADEPT_C64},
    {"torch\nComplexDoubleStorage", ADEPT_C128},
    {"torch\nFloat8_e5m2Storage", ADEPT_F8E5M2},
    {"torch\nFloat8_e4m3fnStorage", ADEPT_F8E4M3},
};

static adept_dtype storage_dtype(const adept_pickle_value *v)
{
    for (size_t i = 0; i < sizeof storage_classes / sizeof *storage_classes; i++) {
        if (adept_pickle_is(v, ADEPT_PICKLE_GLOBAL, storage_classes[i].global)) return storage_classes[i].dtype;
    }
    return ADEPT_DTYPE_NONE;
}

/* torch.jit._pickle.restore_type_tag(value, "List[Any]") is the value, build_intlist(list) the list. */
static const adept_pickle_value *without_tags(const adept_pickle_value *v)
{
    static const char *const tags[] = {"torch.jit._pickle\nrestore_type_tag", "torch.jit._pickle\nbuild_tensorlist",
                                       "torch.jit._pickle\nbuild_intlist", "torch.jit._pickle\nbuild_doublelist",
                                       "torch.jit._pickle\nbuild_boollist"};
    for (int i = 0; i < MAX_TUPLE_DEPTH; i++) {
        const adept_pickle_value *arguments = NULL;
        for (size_t k = 0; k < sizeof tags / sizeof *tags && !arguments; k++)
            arguments = adept_pickle_call(v, tags[k]);
        if (!arguments) break;
        v = adept_pickle_item(arguments, ADEPT_PICKLE_TUPLE, 0);
    }
    return v;
}

/* Walks tensors in order and fills the inputs that are tensors; counts how many of each it met. */
typedef struct traced {
    adept_graph *graph;
    adept_graph_input *filled; /* copy of the graph's inputs, taken over if everything fits */
    size_t next;               /* input */
    bool fits;
} traced;

static bool read_ints(int64_t *out, int n, const adept_pickle_value *tuple)
{
    if (!tuple || tuple->kind != ADEPT_PICKLE_TUPLE || tuple->u.items->n != (size_t)n) return false;
    for (int i = 0; i < n; i++) {
        if (tuple->u.items->values[i].kind != ADEPT_PICKLE_INT) return false;
        out[i] = tuple->u.items->values[i].u.i;
    }
    return true;
}

/* torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks); the storage is a persistent id
 * ("storage", class, key, device, elements). */
static bool read_tensor(adept_graph_input *in, const adept_pickle_value *v)
{
    int64_t strides[ADEPT_MAX_DIMS];
    const adept_pickle_value *args = adept_pickle_call(v, "torch._utils\n_rebuild_tensor_v2");
    const adept_pickle_value *storage =
        adept_pickle_item(adept_pickle_item(args, ADEPT_PICKLE_TUPLE, 0), ADEPT_PICKLE_PERSISTENT, 0);
    const adept_pickle_value *storage_class = adept_pickle_item(storage, ADEPT_PICKLE_TUPLE, 1);
    const adept_pickle_value *size = adept_pickle_item(args, ADEPT_PICKLE_TUPLE, 2);
    if (!storage_class || !size || size->kind != ADEPT_PICKLE_TUPLE || size->u.items->n > ADEPT_MAX_DIMS) return false;
    in->dtype = storage_dtype(storage_class);
    if (in->dtype == ADEPT_DTYPE_NONE) return false;
    in->ndim = (int)size->u.items->n;
    if (!read_ints(in->dims, in->ndim, size)) return false;
    in->channels_last = read_ints(strides, in->ndim, adept_pickle_item(args, ADEPT_PICKLE_TUPLE, 3)) &&
                        adept_strides_channels_last(in->ndim, in->dims, strides);
    return in->has_shape = adept_shape_valid(in->dtype, in->ndim, in->dims, 0);
}

static void walk(traced *t, const adept_pickle_value *v, int depth)
{
    v = without_tags(v);
    if (v && depth < MAX_TUPLE_DEPTH && (v->kind == ADEPT_PICKLE_LIST || v->kind == ADEPT_PICKLE_TUPLE)) {
        for (size_t i = 0; i < v->u.items->n && t->fits; i++)
            walk(t, &v->u.items->values[i], depth + 1);
        return;
    }
    while (t->next < t->graph->n_inputs && t->filled[t->next].constant.kind != ADEPT_VALUE_UNSET)
        t->next++;
    t->fits = t->next < t->graph->n_inputs && read_tensor(&t->filled[t->next], v);
    t->next++;
}

static const adept_pickle_value *inputs_of_forward(const adept_pickle_value *root)
{
    const adept_pickle_value *dict = without_tags(root);
    for (size_t i = 0; adept_pickle_item(dict, ADEPT_PICKLE_DICT, i + 1); i += 2) {
        if (adept_pickle_is(&dict->u.items->values[i], ADEPT_PICKLE_TEXT, "forward")) {
            return &dict->u.items->values[i + 1];
        }
    }
    return NULL;
}

/* Inputs that are no tensors alone, as texts: "batch.ids=i64:2x5", "n=3". */
typedef struct named {
    adept_graph *graph;
    const char **specs; /* arena */
    size_t n;
    bool fits;
} named;

static void add_named(named *out, const char *path, const char *value, bool is_shape)
{
    for (size_t i = 0; i < out->graph->n_inputs && !is_shape;
         i++) /* a number for a tensor would be taken for its size */
        if (!out->graph->inputs[i].type && strcmp(out->graph->inputs[i].name, path) == 0) out->fits = false;
    bool plain = out->n < MAX_NAMED && strlen(path) + strlen(value) + 2 <= ADEPT_INPUT_TEXT_BYTES && !strchr(path, '=');
    const char *spec = plain ? adept_arena_printf(out->graph->arena, "%s=%s", path, value) : NULL;
    adept_input_spec ignored;
    out->fits = out->fits && spec && adept_input_spec_parse(&ignored, spec, NULL) == ADEPT_OK;
    if (out->fits) out->specs[out->n++] = spec;
}

/* A value and its parts. None is what an input is that nothing is said of. */
static void name_parts(named *out, const char *path, const adept_pickle_value *v, int depth)
{
    char text[ADEPT_INPUT_TEXT_BYTES];
    adept_graph_input in = {0};
    v = without_tags(v);
    out->fits = out->fits && v && depth < MAX_TUPLE_DEPTH;
    if (!out->fits || v->kind == ADEPT_PICKLE_NONE) return;
    if (v->kind == ADEPT_PICKLE_LIST || v->kind == ADEPT_PICKLE_TUPLE || v->kind == ADEPT_PICKLE_DICT) {
        bool dict = v->kind == ADEPT_PICKLE_DICT;
        for (size_t i = 0; i < v->u.items->n && out->fits; i += dict ? 2 : 1) {
            const adept_pickle_value *key = &v->u.items->values[i];
            bool is_text = key->kind == ADEPT_PICKLE_TEXT && key->n_bytes < 128;
            int n = dict && is_text ? snprintf(text, sizeof text, "%s.%.*s", path, (int)key->n_bytes, key->u.text)
                                    : snprintf(text, sizeof text, "%s.%zu", path, i);
            out->fits = n > 0 && (size_t)n < sizeof text && (!dict || (is_text && i + 1 < v->u.items->n));
            if (out->fits) name_parts(out, text, &v->u.items->values[dict ? i + 1 : i], depth + 1);
        }
    } else if (v->kind == ADEPT_PICKLE_BOOL) {
        add_named(out, path, v->u.b ? "true" : "false", false);
    } else if (v->kind == ADEPT_PICKLE_INT || v->kind == ADEPT_PICKLE_FLOAT) {
        if (v->kind == ADEPT_PICKLE_INT)
            snprintf(text, sizeof text, "%lld", (long long)v->u.i);
        else
            out->fits = adept_number_print(text, v->u.f) > 0;
        add_named(out, path, text, false);
    } else if (v->kind == ADEPT_PICKLE_TEXT) {
        snprintf(text, sizeof text, "%.*s", v->n_bytes < sizeof text ? (int)v->n_bytes : 0, v->u.text);
        out->fits = strlen(text) == v->n_bytes && !strpbrk(text, ",");
        add_named(out, path, text, false);
    } else if (read_tensor(&in, v)) {
        adept_tensor t = {.dtype = in.dtype, .ndim = in.ndim};
        memcpy(t.dims, in.dims, sizeof t.dims);
        add_named(out, path, adept_tensor_print(&t, text, sizeof text), true);
    } else {
        out->fits = false;
    }
}

/* The arguments of forward(), by the names of the graph's inputs: "pair.0" and "pair.1" are of one. */
static void name_arguments(adept_graph *graph, const adept_pickle_value *arguments)
{
    named out = {.graph = graph, .fits = true};
    arguments = without_tags(arguments);
    if (graph->n_hint_specs || !arguments ||
        (arguments->kind != ADEPT_PICKLE_LIST && arguments->kind != ADEPT_PICKLE_TUPLE))
        return;
    out.specs = adept_arena_array(graph->arena, MAX_NAMED, sizeof *out.specs);
    if (!out.specs) return;
    size_t k = 0;
    for (size_t i = 0, n = 0; i < graph->n_inputs && k < arguments->u.items->n && out.fits; i += n) {
        char name[128];
        size_t length = strcspn(graph->inputs[i].name, ".");
        if (length >= sizeof name) return;
        snprintf(name, sizeof name, "%.*s", (int)length, graph->inputs[i].name);
        for (n = 1; i + n < graph->n_inputs; n++)
            if (strcspn(graph->inputs[i + n].name, ".") != length ||
                strncmp(graph->inputs[i + n].name, name, length) != 0)
                break;
        name_parts(&out, name, &arguments->u.items->values[k++], 0);
    }
    if (!out.fits || k < arguments->u.items->n) return;
    graph->hint_specs = out.specs;
    graph->n_hint_specs = out.n;
}

/* Shapes for all inputs or for none: half of them would be a guess about which is which. */
static void fill_from_traced(adept_graph *graph, const adept_pickle_value *root)
{
    const adept_pickle_value *inputs = inputs_of_forward(root);
    traced t = {.graph = graph, .fits = inputs != NULL};
    if (!t.fits) return;
    t.filled = malloc((graph->n_inputs ? graph->n_inputs : 1) * sizeof *t.filled);
    if (!t.filled) return;
    memcpy(t.filled, graph->inputs, graph->n_inputs * sizeof *t.filled);
    walk(&t, inputs, 0);
    for (size_t i = 0; i < graph->n_inputs; i++) {
        bool open = graph->inputs[i].constant.kind == ADEPT_VALUE_UNSET;
        if (open && (i >= t.next || graph->inputs[i].type)) t.fits = false;
    }
    if (t.fits)
        memcpy(graph->inputs, t.filled, graph->n_inputs * sizeof *t.filled);
    else
        name_arguments(graph, inputs);
    free(t.filled);
}

/* torch.utils.bundled_inputs keeps sets of arguments in an attribute of the model; the first one is taken. */
static void fill_from_bundled(adept_graph *graph, const adept_pickle_value *root)
{
    const adept_pickle_value *state = adept_pickle_item(root, ADEPT_PICKLE_OBJECT, 2);
    for (size_t i = 0; adept_pickle_item(state, ADEPT_PICKLE_DICT, i + 1); i += 2) {
        if (!adept_pickle_is(&state->u.items->values[i], ADEPT_PICKLE_TEXT, bundled_attribute)) continue;
        const adept_pickle_value *sets = without_tags(&state->u.items->values[i + 1]);
        name_arguments(graph, adept_pickle_item(sets, ADEPT_PICKLE_LIST, 0));
    }
}

static bool has_all(const adept_graph *graph)
{
    for (size_t i = 0; i < graph->n_inputs; i++)
        if (graph->inputs[i].constant.kind == ADEPT_VALUE_UNSET && !graph->inputs[i].has_shape)
            return graph->n_hint_specs > 0;
    return true;
}

/* PyTorch writes these files, we only profit from them: when one cannot be understood, the shapes stay unknown and the
 * user is asked for them. */
static void read_stored(adept_graph *graph, zip_t *zip, const adept_source *source, const char *entry, size_t max_bytes,
                        const char *wanted, void (*fill)(adept_graph *graph, const adept_pickle_value *root))
{
    char *data = NULL;
    size_t size = 0;
    if (adept_archive_read_in_root(&data, &size, zip, source->name, entry, max_bytes, NULL) != ADEPT_OK || !data)
        return;
    adept_arena *arena = memmem(data, size, wanted, strlen(wanted)) ? adept_arena_new() : NULL;
    adept_pickle_value root;
    if (arena && adept_pickle_parse(&root, arena, source->name, data, size, NULL) == ADEPT_OK) fill(graph, &root);
    adept_arena_free(arena);
    free(data);
}

adept_status adept_torchscript_hints(adept_graph *graph, const adept_source *source, adept_error *err)
{
    zip_t *zip = NULL;
    const char *path = source->name;
    adept_status status = adept_archive_open(&zip, source, err);
    if (status != ADEPT_OK) return status;
    char *json = NULL;
    size_t size = 0;
    char name[1024];
    snprintf(name, sizeof name, "%s: adept.json", path);
    status = adept_archive_read_in_root(&json, &size, zip, path, "extra/adept.json", MAX_JSON_BYTES, err);
    if (status == ADEPT_OK && json) status = fill_from_json(graph, name, json, size, err);
    free(json);
    if (status == ADEPT_OK) {
        read_stored(graph, zip, source, "traced_inputs.pkl", MAX_TRACED_BYTES, "forward", fill_from_traced);
        if (!has_all(graph))
            read_stored(graph, zip, source, "data.pkl", source->memory_bytes / PICKLE_SHARE, bundled_attribute,
                        fill_from_bundled);
    }
    zip_discard(zip);
    return status;
}
