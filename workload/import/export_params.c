/** @file export_params.c  Parameters and buffers of a .pt2, and which of their names are one tensor. Calls:
 * adept_graph.
 *
 *  When are two names one tensor (tied weights)?
 *  - Equal names are: a strict export lists a tied parameter twice under one name.
 *  - Names whose data lies in the same place (same storage, offset, sizes, strides) are, unless the place proves
 * nothing: a tensor that was expanded from one element (stride 0), as in files saved without weights, may share that
 * element with any other. Of two such tensors, one must be unused: PyTorch routes all uses of a tied parameter to one
 * of its names, so a second name that the graph uses is a parameter of its own. */
#include "export_private.h"
#include <inttypes.h>
#include <string.h>

typedef struct tensor_spec {
    const char *name;     /* "layer1.0.conv1.weight" */
    const char *argument; /* name in the graph */
    adept_param param;
    const char *place; /* text: storage, offset, type, sizes, strides; NULL if not known */
    bool expanded;     /* a dimension of stride 0 and more than one element */
    bool used;
    bool place_used; /* this one, or another in its place that came later; of the first there */
    int32_t index;   /* in the graph, once added */
} tensor_spec;

typedef struct spec_list {
    tensor_spec *items;
    size_t n;
    adept_name_map by_argument; /* -> index */
} spec_list;

static bool read_dims(adept_export_reader *r, const cJSON *sizes, const char *what, int *ndim, int64_t *dims)
{
    if (!sizes) return false;
    int n = 0;
    for (const cJSON *e = sizes->child; e; e = e->next) {
        if (n == ADEPT_MAX_DIMS) {
            adept_json_fail(&r->json, "'%s' has more than %d dimensions", what, ADEPT_MAX_DIMS);
            return false;
        }
        adept_export_size size = adept_export_read_size(r, e);
        if (r->json.status == ADEPT_OK && !size.known)
            adept_json_fail(&r->json, "the shape of '%s' is not known", what);
        if (r->json.status != ADEPT_OK) return false;
        dims[n++] = size.value;
    }
    *ndim = n;
    return true;
}

/* Everything that must agree for two names to be one tensor, as one text. */
static void describe_place(adept_export_reader *r, tensor_spec *spec, const cJSON *meta)
{
    int64_t strides[ADEPT_MAX_DIMS];
    int n = 0;
    const uintptr_t *found = adept_name_map_get(&r->places->by_name, spec->name);
    if (!read_dims(r, adept_json_array(&r->json, meta, "strides"), spec->name, &n, strides)) return;
    if (n != spec->param.ndim) {
        adept_json_fail(&r->json, "'%s' has %d sizes and %d strides", spec->name, spec->param.ndim, n);
        return;
    }
    for (int i = 0; i < n; i++)
        spec->expanded |= strides[i] == 0 && spec->param.dims[i] > 1;
    spec->param.channels_last = adept_strides_channels_last(n, spec->param.dims, strides);
    if (!found) return;
    const adept_export_place *place = (const adept_export_place *)*found;
    const cJSON *offset = cJSON_GetObjectItemCaseSensitive(meta, "storage_offset");
    adept_export_size start = offset ? adept_export_read_size(r, offset) : (adept_export_size){0};
    const char *text = adept_arena_printf(r->scratch, "o%" PRId64 "+%" PRId64 "t%db%d", place->offset, start.value,
                                          spec->param.dtype, spec->param.is_buffer);
    for (int i = 0; i < n; i++)
        text = adept_arena_printf(r->scratch, "%sx%" PRId64 "/%" PRId64, text, spec->param.dims[i], strides[i]);
    spec->place = adept_arena_printf(r->scratch, "%s %s", text, place->storage);
}

static void read_meta(adept_export_reader *r, tensor_spec *spec)
{
    const uintptr_t *found = adept_name_map_get(&r->metas, spec->argument);
    if (!found) {
        adept_json_fail(&r->json, "the shape of '%s' ('%s') is missing", spec->name, spec->argument);
        return;
    }
    const cJSON *meta = (const cJSON *)*found;
    spec->param.dtype = adept_export_dtype(r, cJSON_GetObjectItemCaseSensitive(meta, "dtype"), spec->name);
    if (spec->param.dtype == ADEPT_DTYPE_NONE) return;
    spec->param.requires_grad = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(meta, "requires_grad"));
    if (read_dims(r, adept_json_array(&r->json, meta, "sizes"), spec->name, &spec->param.ndim, spec->param.dims))
        describe_place(r, spec, meta);
}

static bool read_spec(adept_export_reader *r, tensor_spec *spec, const cJSON *input)
{
    static const struct {
        const char *kind, *name_key;
        bool is_buffer;
    } rows[] = {{"parameter", "parameter_name", false},
                {"buffer", "buffer_name", true},
                {"tensor_constant", "tensor_constant_name", true}};
    const cJSON *what = adept_export_union(r, input);
    for (size_t i = 0; what && i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(what->string, rows[i].kind) != 0) continue;
        *spec = (tensor_spec){.param.is_buffer = rows[i].is_buffer, .param.n_names = 1};
        spec->name = spec->param.name = adept_json_string(&r->json, what, rows[i].name_key);
        spec->argument = adept_json_string(&r->json, adept_json_object(&r->json, what, "arg"), "name");
        if (r->json.status == ADEPT_OK) read_meta(r, spec);
        return r->json.status == ADEPT_OK;
    }
    return false;
}

/* ---- which are used ---- */

static void mark_used(void *context, const char *name)
{
    spec_list *list = context;
    const uintptr_t *index = adept_name_map_get(&list->by_argument, name);
    if (index) list->items[*index].used = true;
}

static void mark_all_used(adept_export_reader *r, spec_list *list)
{
    const cJSON *nodes = adept_json_array(&r->json, r->graph, "nodes");
    for (const cJSON *node = nodes ? nodes->child : NULL; node; node = node->next) {
        const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(node, "inputs");
        for (const cJSON *in = cJSON_IsArray(inputs) ? inputs->child : NULL; in; in = in->next) {
            adept_export_each_name(cJSON_GetObjectItemCaseSensitive(in, "arg"), mark_used, list);
        }
    }
    const cJSON *outputs = cJSON_GetObjectItemCaseSensitive(r->graph, "outputs");
    for (const cJSON *out = cJSON_IsArray(outputs) ? outputs->child : NULL; out; out = out->next) {
        adept_export_each_name(out, mark_used, list);
    }
}

/* ---- which are the same ---- */

/* Index of the parameter this spec is another name of, or -1. */
static int32_t find_twin(adept_export_reader *r, adept_name_map *by_place, tensor_spec *spec)
{
    if (!spec->place) return -1;
    const uintptr_t *found = adept_name_map_get(by_place, spec->place);
    if (!found) adept_export_map(r, by_place, spec->place, (uintptr_t)spec);
    tensor_spec *first = found ? (tensor_spec *)*found : spec;
    bool same = found && (!spec->expanded || !spec->used || !first->place_used);
    first->place_used |= spec->used;
    return same ? first->index : -1;
}

/* The index of the earlier spec of the same name, or -1. */
static int32_t find_namesake(adept_export_reader *r, adept_name_map *by_name, const tensor_spec *spec)
{
    const uintptr_t *found = adept_name_map_get(by_name, spec->name);
    if (!found) {
        adept_export_map(r, by_name, spec->name, (uintptr_t)spec);
        return -1;
    }
    const tensor_spec *first = (const tensor_spec *)*found;
    const adept_param *a = &first->param, *b = &spec->param;
    if (a->dtype != b->dtype || a->ndim != b->ndim || a->is_buffer != b->is_buffer ||
        memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof a->dims[0]) != 0)
        adept_json_fail(&r->json, "'%s' is listed twice with different shapes", spec->name);
    return first->index;
}

void adept_export_params(adept_export_reader *r)
{
    spec_list list = {0};
    const cJSON *inputs = adept_json_array(&r->json, r->signature, "input_specs");
    if (!inputs) return;
    list.items = adept_export_room(r, adept_json_size(inputs), sizeof *list.items);
    for (const cJSON *e = inputs->child; e && r->json.status == ADEPT_OK; e = e->next) {
        tensor_spec *spec = &list.items[list.n];
        if (read_spec(r, spec, e)) adept_export_map(r, &list.by_argument, spec->argument, list.n++);
    }
    if (r->json.status == ADEPT_OK) mark_all_used(r, &list);
    if (r->json.status == ADEPT_OK) {
        adept_name_map by_name = {0}, by_place = {0};
        for (size_t i = 0; i < list.n && r->json.status == ADEPT_OK; i++) {
            tensor_spec *spec = &list.items[i];
            int32_t twin = find_twin(r, &by_place, spec), namesake = find_namesake(r, &by_name, spec);
            if (r->json.status == ADEPT_OK) {
                spec->index = namesake >= 0 ? namesake : twin;
                if (spec->index >= 0) {
                    adept_graph_builder_param_alias(r->b, spec->index);
                } else {
                    spec->index = adept_graph_builder_param(r->b, &spec->param);
                    if (spec->index == -1) adept_json_fail(&r->json, "'%s' has an impossible shape", spec->name);
                    if (spec->index == -2) adept_json_no_memory(&r->json);
                }
            }
            if (r->json.status != ADEPT_OK || !spec->used) continue;
            int32_t value = adept_graph_builder_param_ref(r->b, 0, spec->index, r->json.err);
            if (value < 0)
                adept_export_check(r, r->json.err->status);
            else
                adept_export_bind(r, spec->argument, value);
        }
        adept_name_map_free(&by_name);
        adept_name_map_free(&by_place);
    }
    adept_name_map_free(&list.by_argument);
}
