/** @file hwprofile_json.c  A GPU as JSON. */
#include "adept_hwprofile_json.h"
#include "adept_file.h"
#include "adept_model.h"
#include <string.h>

void adept_gpu_put_summary(adept_json_writer *w, const adept_hwprofile *hw)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "name", hw->name);
    adept_json_put_strings(w, "aliases", hw->aliases, hw->n_aliases);
    adept_json_put_members(w, "vendor %s architecture %s calibrated %d transferred %d", hw->vendor, hw->architecture,
                           adept_calibrated_for(hw, NULL), hw->transferred);
    adept_json_begin_object(w, "specs");
#define X(field, required, text) adept_json_put_number(w, #field, hw->specs.field);
    ADEPT_SPEC_LIST(X)
#undef X
    adept_json_end_object(w);
    adept_json_end_object(w);
}

void adept_gpu_put_sheet(adept_json_writer *w, const cJSON *root)
{
    for (const cJSON *item = cJSON_IsObject(root) ? root->child : NULL; item; item = item->next)
        if (strcmp(item->string, "fit") != 0) adept_json_put_tree(w, item->string, item);
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
