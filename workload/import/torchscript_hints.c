/** @file torchscript_hints.c  Input shapes that the archive itself knows: adept.json, else the traced inputs.
 *  Calls: archive, pickle, adept_json, adept_input_spec. */
#include "adept_json.h"
#include "adept_input_spec.h"
#include "archive.h"
#include "import_private.h"
#include "pickle.h"
#include <stdlib.h>
#include <string.h>

#define MAX_JSON_BYTES ((size_t)1 << 20)
#define MAX_TRACED_BYTES ((size_t)1 << 20)
#define MAX_TUPLE_DEPTH 32

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

/* torch.jit._pickle.restore_type_tag(value, "List[Any]") is the value. */
static const adept_pickle_value *without_tags(const adept_pickle_value *v)
{
    const adept_pickle_value *arguments = NULL;
    for (int i = 0; i < MAX_TUPLE_DEPTH && (arguments = adept_pickle_call(v, "torch.jit._pickle\nrestore_type_tag"));
         i++)
        v = adept_pickle_item(arguments, ADEPT_PICKLE_TUPLE, 0);
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
    for (size_t i = t.next; i < graph->n_inputs; i++) {
        if (graph->inputs[i].constant.kind == ADEPT_VALUE_UNSET) t.fits = false;
    }
    if (t.fits) memcpy(graph->inputs, t.filled, graph->n_inputs * sizeof *t.filled);
    free(t.filled);
}

/* PyTorch writes this file, we only profit from it: when it cannot be understood, the shapes stay unknown and the user
 * is asked for them. */
static void read_traced(adept_graph *graph, zip_t *zip, const char *path)
{
    char *data = NULL;
    size_t size = 0;
    if (adept_archive_read_in_root(&data, &size, zip, path, "traced_inputs.pkl", MAX_TRACED_BYTES, NULL) != ADEPT_OK ||
        !data)
        return;
    adept_arena *arena = adept_arena_new();
    adept_pickle_value root;
    if (arena && adept_pickle_parse(&root, arena, path, data, size, NULL) == ADEPT_OK) fill_from_traced(graph, &root);
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
    if (status == ADEPT_OK) read_traced(graph, zip, path);
    zip_discard(zip);
    return status;
}
