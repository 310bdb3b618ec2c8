/** @file hwprofile_transfer.c  Parameters fitted to some GPUs, given to one that was never measured.
 *  Calls: adept_json, adept_arena. */
#include "adept_model.h"
#include "embedded.h"
#include "hwprofile_read.h"
#include <string.h>

#define SCHEMA_VERSION 1
#define MAX_DONORS 256

void adept_hwprofile_forget_fit(adept_hwprofile *hw)
{
    hw->calibrated = hw->transferred = hw->other_vendor = false;
    hw->granularity = ADEPT_GRANULARITY_MODEL;
    hw->saturation = NULL;
    hw->n_parameters = 0;
    hw->n_scalars = 0;
    hw->n_donors = hw->n_donor_vendors = 0;
    hw->intervals = NULL;
    hw->tiles = NULL;
    hw->fit_json = NULL;
}

/* ---- where the fit came from ---- */

static void read_donors(adept_json_reader *r, adept_hwprofile *hw, const cJSON *fit)
{
    hw->donors = adept_json_texts(r, hw->arena, fit, "gpus", 1, MAX_DONORS, &hw->n_donors);
    hw->donor_vendors = adept_json_texts(r, hw->arena, fit, "vendors", 1, MAX_DONORS, &hw->n_donor_vendors);
    hw->other_vendor = true;
    for (size_t i = 0; i < hw->n_donor_vendors && r->status == ADEPT_OK; i++)
        if (strcmp(hw->donor_vendors[i], hw->vendor) == 0) hw->other_vendor = false;
    if (hw->other_vendor) hw->intervals = NULL; /* errors on GPUs of one vendor say nothing of another's */
}

bool adept_hwprofile_is_transferred(adept_json_reader *r, const cJSON *fit)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(fit, "transferred");
    if (item && !cJSON_IsBool(item)) adept_json_fail(r, "fit.transferred is neither true nor false");
    return cJSON_IsTrue(item);
}

void adept_hwprofile_read_transfer(adept_json_reader *r, adept_hwprofile *hw, const cJSON *fit)
{
    if (r->status == ADEPT_OK && hw->granularity != ADEPT_GRANULARITY_OPERATOR)
        adept_json_fail(r, "fit.transferred: only parameters of granularity \"operator\" can be");
    if (r->status == ADEPT_OK) read_donors(r, hw, fit);
    hw->calibrated = false;
    hw->transferred = true;
}

/* ---- the set ---- */

adept_status adept_hwprofile_transfer(adept_hwprofile *hw, const char *name, const char *text, size_t size,
                                      adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err};
    if (!cJSON_IsObject(root)) adept_json_fail(&r, "not a JSON object");
    if (adept_json_count(&r, root, "schema_version") != SCHEMA_VERSION)
        adept_json_fail(&r, "schema_version is not %d, the one this program reads", SCHEMA_VERSION);
    const cJSON *fit = adept_json_object(&r, root, "fit");
    if (r.status == ADEPT_OK && !adept_hwprofile_is_transferred(&r, fit))
        adept_json_fail(&r, "no set of parameters shared by GPUs: fit.transferred is not true");
    if (r.status == ADEPT_OK) {
        adept_hwprofile_forget_fit(hw);
        adept_hwprofile_read_fit(&r, hw, root);
    }
    cJSON_Delete(root);
    return r.status;
}

const char *adept_hwprofile_shared_json(size_t *size)
{
    if (size) *size = adept_embedded_shared.size;
    return adept_embedded_shared.text;
}
