/** @file hwprofile_json.c  A GPU as JSON. */
#include "adept_hwprofile_json.h"
#include <string.h>

static bool add_specs(cJSON *row, const adept_specs *specs)
{
    cJSON *object = cJSON_AddObjectToObject(row, "specs");
    bool ok = object != NULL;

#define X(field, required, text) ok = ok && adept_json_add_number(object, #field, specs->field);
    ADEPT_SPEC_LIST(X)
#undef X
    return ok;
}

bool adept_gpu_add_summary(cJSON *list, const adept_hwprofile *hw)
{
    cJSON *row = cJSON_CreateObject();

    if (!cJSON_AddItemToArray(list, row)) return false;
    cJSON *aliases = cJSON_AddStringToObject(row, "name", hw->name) ? cJSON_AddArrayToObject(row, "aliases") : NULL;
    bool ok = aliases != NULL;
    for (size_t i = 0; ok && i < hw->n_aliases; i++)
        ok = cJSON_AddItemToArray(aliases, cJSON_CreateString(hw->aliases[i]));
    return ok && cJSON_AddStringToObject(row, "vendor", hw->vendor) &&
           cJSON_AddStringToObject(row, "architecture", hw->architecture) &&
           cJSON_AddBoolToObject(row, "calibrated", hw->calibrated) &&
           cJSON_AddBoolToObject(row, "transferred", hw->transferred) && add_specs(row, &hw->specs);
}

adept_status adept_gpu_text(char **text, size_t *size, const adept_hwprofile *hw, adept_error *err)
{
    const char *name;

    for (size_t i = 0; (name = adept_hwprofile_builtin_name(i)) != NULL; i++) {
        if (strcmp(hw->path, "built in") != 0 || strcmp(name, hw->name) != 0) continue;
        const char *embedded = adept_hwprofile_builtin_json(i, size);
        *text = strndup(embedded, *size);
        return *text ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    return adept_file_read(text, size, hw->path, 1 << 20, err);
}
