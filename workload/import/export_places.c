/** @file export_places.c  Where the tensors of a .pt2 lie, by name. Calls: pickle, cJSON.
 *
 *  The flat archive's state dictionary is a torch.save file: a pickle of {name: tensor}, where a tensor is
 *  _rebuild_tensor_v2(storage, offset, sizes, strides, ...), a parameter _rebuild_parameter(tensor, ...), and a storage
 *  the persistent id ('storage', type, key, device, numel) (torch/_utils.py, torch/serialization.py). Only keys and
 *  offsets are taken from it. What is not such a tensor (a quantised one, say) has no place: it is tied to nothing. */
#include "adept_json.h"
#include "export_private.h"
#include "pickle.h"

/* Item i of a container of that kind, if it has the wanted kind. */
static const adept_pickle_value *item(const adept_pickle_value *v, adept_pickle_kind container, size_t i,
                                      adept_pickle_kind kind)
{
    if (!v || v->kind != container || i >= v->u.items->n) return NULL;
    const adept_pickle_value *found = &v->u.items->values[i];
    return found->kind == kind ? found : NULL;
}

/* The arguments of a call of that function. */
static const adept_pickle_value *call_of(const adept_pickle_value *v, const char *function)
{
    const adept_pickle_value *callable = item(v, ADEPT_PICKLE_OBJECT, 0, ADEPT_PICKLE_GLOBAL);
    if (!callable || !adept_pickle_is(callable, ADEPT_PICKLE_GLOBAL, function)) return NULL;
    return item(v, ADEPT_PICKLE_OBJECT, 1, ADEPT_PICKLE_TUPLE);
}

static bool read_tensor(const adept_pickle_value *v, const adept_pickle_value **key, int64_t *offset)
{
    const adept_pickle_value *parameter = call_of(v, "torch._utils\n_rebuild_parameter");
    if (parameter) v = item(parameter, ADEPT_PICKLE_TUPLE, 0, ADEPT_PICKLE_OBJECT);
    const adept_pickle_value *tensor = call_of(v, "torch._utils\n_rebuild_tensor_v2");
    const adept_pickle_value *id = item(tensor, ADEPT_PICKLE_TUPLE, 0, ADEPT_PICKLE_PERSISTENT);
    const adept_pickle_value *storage = item(id, ADEPT_PICKLE_PERSISTENT, 0, ADEPT_PICKLE_TUPLE);
    const adept_pickle_value *start = item(tensor, ADEPT_PICKLE_TUPLE, 1, ADEPT_PICKLE_INT);
    *key = item(storage, ADEPT_PICKLE_TUPLE, 2, ADEPT_PICKLE_TEXT);
    if (!*key || !start) return false;
    *offset = start->u.i;
    return true;
}

static bool add_place(adept_export_places *places, const adept_pickle_value *name, const adept_pickle_value *key,
                      int64_t offset)
{
    adept_export_place place = {.name = adept_arena_strndup(places->arena, name->u.text, name->n_bytes),
                                .storage = adept_arena_strndup(places->arena, key->u.text, key->n_bytes),
                                .offset = offset};
    if (!place.name || !place.storage) return false;
    places->items[places->n++] = place;
    return true;
}

adept_status adept_export_pickle(adept_export_places *places, const char *name, const void *data, size_t size,
                                 adept_error *err)
{
    adept_pickle_value root;
    adept_status status = adept_pickle_parse(&root, places->arena, name, data, size, err);
    if (status != ADEPT_OK) return status;
    bool is_ordered = call_of(&root, "collections\nOrderedDict") != NULL;
    if (root.kind != ADEPT_PICKLE_DICT && !is_ordered) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: the state dictionary is no dictionary", name);
    }
    const adept_pickle_items *items = root.u.items;
    places->items = adept_arena_array(places->arena, items->n, sizeof *places->items);
    bool ok = places->items != NULL;
    for (size_t i = is_ordered ? 2 : 0; ok && i + 1 < items->n; i += 2) {
        const adept_pickle_value *key;
        int64_t offset;
        if (items->values[i].kind != ADEPT_PICKLE_TEXT || !read_tensor(&items->values[i + 1], &key, &offset)) continue;
        ok = add_place(places, &items->values[i], key, offset);
    }
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
    places->items = adept_arena_array(places->arena, adept_json_size(config), sizeof *places->items);
    if (!places->items) adept_json_no_memory(&r);
    for (const cJSON *e = config ? config->child : NULL; e && r.status == ADEPT_OK; e = e->next) {
        const char *path = adept_json_string(&r, e, "path_name");
        places->items[places->n++] = (adept_export_place){.name = adept_json_keep(&r, places->arena, e->string),
                                                          .storage = adept_json_keep(&r, places->arena, path)};
    }
    cJSON_Delete(root);
    return r.status;
}
