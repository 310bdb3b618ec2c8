/** @file export_upgrade.c  The signature of torch 2.1 (schema 1), rewritten as later files have it. Calls: cJSON.
 *  Schema 1 lists dictionaries input name -> parameter or buffer name instead of "input_specs", and the names of the
 *  user's outputs instead of "output_specs". */
#include "export_private.h"

/* Adds {KIND: {"arg": argument, KEY: name}}, without a name that is NULL. The tree owns what is put into it, and is
 * freed with it; an argument of NULL is memory that is out. */
static void add_spec(adept_export_reader *r, cJSON *specs, const char *kind, cJSON *argument, const char *key,
                     const char *name)
{
    cJSON *spec = cJSON_CreateObject(), *what = cJSON_AddObjectToObject(spec, kind);
    bool ok = cJSON_AddItemToObject(what, "arg", argument);
    if (!ok) cJSON_Delete(argument);
    ok = ok && (!name || cJSON_AddStringToObject(what, key, name)) && cJSON_AddItemToArray(specs, spec);
    if (ok) return;
    cJSON_Delete(spec);
    adept_json_no_memory(&r->json);
}

static void add_tensor(adept_export_reader *r, cJSON *specs, const char *kind, const char *key, const char *argument,
                       const char *name)
{
    cJSON *named = cJSON_CreateObject();
    if (!cJSON_AddStringToObject(named, "name", argument)) {
        cJSON_Delete(named);
        named = NULL;
    }
    add_spec(r, specs, kind, named, key, name);
}

/* {"key": "text"} -> map of key to text */
static void read_dictionary(adept_export_reader *r, adept_name_map *map, const char *key)
{
    const cJSON *object = adept_json_object(&r->json, r->signature, key);
    for (const cJSON *e = object ? object->child : NULL; e && r->json.status == ADEPT_OK; e = e->next) {
        if (!cJSON_IsString(e))
            adept_json_fail(&r->json, "\"%s\" holds something that is not a string", key);
        else
            adept_export_map(r, map, e->string, (uintptr_t)e->valuestring);
    }
}

static void upgrade_inputs(adept_export_reader *r, cJSON *specs)
{
    adept_name_map params = {0}, buffers = {0};
    read_dictionary(r, &params, "inputs_to_parameters");
    read_dictionary(r, &buffers, "inputs_to_buffers");
    const cJSON *inputs = adept_json_array(&r->json, r->graph, "inputs");
    for (const cJSON *e = inputs ? inputs->child : NULL; e && r->json.status == ADEPT_OK; e = e->next) {
        const char *name = adept_export_argument_name(e);
        const uintptr_t *param = name ? adept_name_map_get(&params, name) : NULL;
        const uintptr_t *buffer = name ? adept_name_map_get(&buffers, name) : NULL;
        if (param)
            add_tensor(r, specs, "parameter", "parameter_name", name, (const char *)*param);
        else if (buffer)
            add_tensor(r, specs, "buffer", "buffer_name", name, (const char *)*buffer);
        else
            add_spec(r, specs, "user_input", cJSON_Duplicate(e, 1), NULL, NULL);
    }
    adept_name_map_free(&params);
    adept_name_map_free(&buffers);
}

static void upgrade_outputs(adept_export_reader *r, cJSON *specs)
{
    adept_name_map users = {0};
    const cJSON *names = adept_json_array(&r->json, r->signature, "user_outputs");
    for (const cJSON *e = names ? names->child : NULL; e && r->json.status == ADEPT_OK; e = e->next) {
        if (cJSON_IsString(e)) adept_export_map(r, &users, e->valuestring, 1);
    }
    const cJSON *outputs = adept_json_array(&r->json, r->graph, "outputs");
    for (const cJSON *e = outputs ? outputs->child : NULL; e && r->json.status == ADEPT_OK; e = e->next) {
        const char *name = adept_export_argument_name(e);
        if (name && adept_name_map_get(&users, name))
            add_spec(r, specs, "user_output", cJSON_Duplicate(e, 1), NULL, NULL);
    }
    adept_name_map_free(&users);
}

void adept_export_upgrade(adept_export_reader *r)
{
    cJSON *signature = (cJSON *)r->signature; /* part of the tree that the caller owns and frees */
    if (cJSON_GetObjectItemCaseSensitive(signature, "input_specs")) return;
    if (!cJSON_GetObjectItemCaseSensitive(signature, "inputs_to_parameters")) return;
    cJSON *inputs = cJSON_AddArrayToObject(signature, "input_specs");
    cJSON *outputs = cJSON_AddArrayToObject(signature, "output_specs");
    if (!inputs || !outputs) {
        adept_json_no_memory(&r->json);
        return;
    }
    upgrade_inputs(r, inputs);
    if (r->json.status == ADEPT_OK) upgrade_outputs(r, outputs);
}
