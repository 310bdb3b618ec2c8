/** @file export_places.c  Where the tensors of a .pt2 lie, by name. Calls: pickle, cJSON.
 *
 *  The flat archive's state dictionary is a torch.save file: a pickle of {name: tensor}, where a tensor is
 *  _rebuild_tensor_v2(storage, offset, sizes, strides, ...), a parameter _rebuild_parameter(tensor, ...), and a storage
 *  the persistent id ('storage', type, key, device, numel) (torch/_utils.py, torch/serialization.py). Only keys and
 *  offsets are taken from it. What is not such a tensor (a quantised one, say) has no place: it is tied to nothing. */
#include "adept_json.h"
#include "export_private.h"
#include "pickle.h"

static bool read_tensor(const adept_pickle_value *v, const adept_pickle_value **key, int64_t *offset)
{
    const adept_pickle_value *parameter = adept_pickle_call(v, "torch._utils\n_rebuild_parameter");
    if (parameter) v = adept_pickle_item(parameter, ADEPT_PICKLE_TUPLE, 0);
    const adept_pickle_value *tensor = adept_pickle_call(v, "torch._utils\n_rebuild_tensor_v2");
    const adept_pickle_value *id = adept_pickle_item(tensor, ADEPT_PICKLE_TUPLE, 0);
    const adept_pickle_value *storage = adept_pickle_item(id, ADEPT_PICKLE_PERSISTENT, 0);
    const adept_pickle_value *start = adept_pickle_item(tensor, ADEPT_PICKLE_TUPLE, 1);
    *key = adept_pickle_item(storage, ADEPT_PICKLE_TUPLE, 2);
    if (!*key || (*key)->kind != ADEPT_PICKLE_TEXT || !start || start->kind != ADEPT_PICKLE_INT) return false;
    *offset = start->u.i;
    return true;
}

void adept_export_places_free(adept_export_places *places)
{
    adept_name_map_free(&places->by_name);
    adept_arena_free(places->arena);
}

/* Texts are the arena's, or NULL: memory is out. */
static bool add_place(adept_export_places *places, const char *name, const char *storage, int64_t offset)
{
    adept_export_place *place = adept_arena_alloc(places->arena, sizeof *place);
    if (!place || !name || !storage) return false;
    *place = (adept_export_place){storage, offset};
    return adept_name_map_put(&places->by_name, name, (uintptr_t)place);
}

adept_status adept_export_pickle(adept_export_places *places, const char *name, const void *data, size_t size,
                                 adept_error *err)
{
    adept_pickle_value root;
    adept_status status = adept_pickle_parse(&root, places->arena, name, data, size, err);
    if (status != ADEPT_OK) return status;
    bool is_ordered = adept_pickle_call(&root, "collections\nOrderedDict") != NULL;
    if (root.kind != ADEPT_PICKLE_DICT && !is_ordered) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: the state dictionary is not a dictionary", name);
    }
    const adept_pickle_items *items = root.u.items;
    bool ok = true;
    for (size_t i = is_ordered ? 2 : 0; ok && i + 1 < items->n; i += 2) {
        const adept_pickle_value *label = &items->values[i], *key;
        int64_t offset;
        if (label->kind != ADEPT_PICKLE_TEXT || !read_tensor(&items->values[i + 1], &key, &offset)) continue;
        ok = add_place(places, adept_arena_strndup(places->arena, label->u.text, label->n_bytes),
                       adept_arena_strndup(places->arena, key->u.text, key->n_bytes), offset);
    }
    if (!ok && adept_arena_is_full(places->arena))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: the state dictionary has longer names than any model", name);
    return ok ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", name);
}

/* torch >= 2.8: {"config": {NAME: {"path_name": "weight_0", ...}}}; the offset stands in the graph's own description.
 */
adept_status adept_export_weights_config(adept_export_places *places, const char *name, const char *json, size_t size,
                                         adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, json, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err};
    const cJSON *config = adept_json_object(&r, root, "config");
    for (const cJSON *e = config ? config->child : NULL; e && r.status == ADEPT_OK; e = e->next) {
        const char *path = adept_json_string(&r, e, "path_name");
        if (r.status == ADEPT_OK && !add_place(places, adept_arena_strdup(places->arena, e->string),
                                               adept_arena_strdup(places->arena, path), 0))
            adept_json_no_memory(&r);
    }
    cJSON_Delete(root);
    return r.status;
}
