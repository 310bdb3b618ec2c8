/** @file kernel_apply.c  A fit of kernels as the base of a GPU: in memory for the fit of steps, and as JSON. */
#include "adept_json.h"
#include "json_writer.h"
#include "kernel_fit.h"
#include <stdlib.h>
#include <string.h>

static adept_status no_memory(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the fit of kernels");
}

/* ---- as JSON ---- */

static void put_error(json_writer *w, cJSON *parent, const char *key, const adept_kernel_error *e)
{
    if (e->n == 0) {
        adept_put_null(w, parent, key);
        return;
    }
    cJSON *o = adept_put_object(w, parent, key);
    adept_put_integer(w, o, "n", (int64_t)e->n);
    adept_put_number(w, o, "mape", e->mape);
    adept_put_number(w, o, "median", e->median);
    adept_put_number(w, o, "p90", e->p90);
    adept_put_number(w, o, "bias", e->bias);
    adept_put_number(w, o, "roofline_mape", e->roofline_mape);
}

static void put_overhead(json_writer *w, cJSON *o, const adept_kernel_overhead *overhead)
{
    adept_put_number(w, o, "event_s", overhead->event_s);
    adept_put_number(w, o, "throttle", overhead->throttle);
    adept_put_number(w, o, "onset_s", overhead->onset_s);
    adept_put_number(w, o, "drift_s", overhead->drift_s);
}

/* Of several GPUs: the law is one, how well it does is not. */
static void put_gpus(json_writer *w, cJSON *family, const adept_kernel_fit *fit, int i, const char *const *gpus)
{
    cJSON *by_gpu = adept_put_object(w, family, "by_gpu");
    for (size_t g = 0; g < fit->n_gpus; g++) {
        if (fit->gpu_held_out[i][g].n == 0) continue;
        cJSON *o = adept_put_object(w, by_gpu, gpus[g]);
        put_error(w, o, "held_out", &fit->gpu_held_out[i][g]);
        put_overhead(w, o, &fit->overhead[i][g]);
    }
}

/* `gpus`: names, if the kernels are of several. */
static void put_families(json_writer *w, cJSON *kernels, const adept_kernel_fit *fit, const char *const *gpus)
{
    cJSON *families = adept_put_object(w, kernels, "families"), *ops = adept_put_object(w, kernels, "operators");
    for (int i = 0; i < ADEPT_FAMILY_COUNT; i++) {
        if (fit->in_sample[i].n == 0) continue;
        cJSON *o = adept_put_object(w, families, adept_kernel_family_name(i));
        put_error(w, o, "held_out", &fit->held_out[i]);
        put_error(w, o, "in_sample", &fit->in_sample[i]);
        if (gpus)
            put_gpus(w, o, fit, i, gpus);
        else
            put_overhead(w, o, &fit->overhead[i][0]);
    }
    for (size_t i = 0; i < fit->n_ops; i++) {
        cJSON *o = adept_put_object(w, ops, fit->ops[i].op);
        adept_put_string(w, o, "family", adept_kernel_family_name(fit->ops[i].family));
        put_error(w, o, "held_out", &fit->ops[i].held_out);
    }
}

void adept_put_tiles(json_writer *w, cJSON *fit_object, const adept_tile_menu *menus)
{
    cJSON *tiles = adept_put_object(w, fit_object, "tiles");
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++) {
        cJSON *array = adept_put_array(w, tiles, adept_kernel_family_name(i));
        for (size_t k = 0; k < menus[i].n; k++) {
            char text[64];
            adept_tile_print(text, sizeof text, &menus[i].tiles[k]);
            adept_push_string(w, array, text);
        }
    }
}

static char *fit_object(const adept_kernel_fit *fit, const adept_kernel_file *files, size_t n_files, uint64_t seed,
                        const char *const *gpus)
{
    json_writer w = {0};
    cJSON *root = cJSON_CreateObject();
    adept_put_string(&w, root, "granularity", "operator");
    cJSON *parameters = adept_put_object(&w, root, "parameters");
    for (int i = 0; i < ADEPT_KP_COUNT; i++)
        if (fit->fitted[i]) adept_put_number(&w, parameters, adept_kernel_parameters[i].name, fit->theta[i]);
    adept_put_tiles(&w, root, fit->menus);
    cJSON *kernels = adept_put_object(&w, root, "kernels"), *array = adept_put_array(&w, kernels, "files");
    for (size_t i = 0; i < n_files; i++) {
        cJSON *file = adept_push_object(&w, array);
        adept_put_string(&w, file, "name", files[i].name);
        adept_put_string(&w, file, "sha256", files[i].sha256);
        adept_put_integer(&w, file, "rows", (int64_t)files[i].n_rows);
    }
    adept_put_unsigned(&w, kernels, "seed", seed);
    adept_put_string(&w, kernels, "unit", "percent");
    put_families(&w, kernels, fit, gpus);
    return adept_json_finish(&w, root, false);
}

/* ---- in memory ---- */

static adept_status set_values(adept_hwprofile *hw, const adept_kernel_fit *fit, adept_error *err)
{
    adept_parameter *parameters = adept_arena_array(hw->arena, ADEPT_KP_COUNT, sizeof *parameters);
    adept_tile_menu *menus = adept_arena_array(hw->arena, ADEPT_TILED_FAMILIES, sizeof *menus);
    if (!parameters || !menus) return no_memory(err);
    size_t n = 0;
    for (int i = 0; i < ADEPT_KP_COUNT; i++)
        if (fit->fitted[i]) parameters[n++] = (adept_parameter){adept_kernel_parameters[i].name, fit->theta[i]};
    memcpy(menus, fit->menus, sizeof fit->menus);
    hw->parameters = parameters;
    hw->n_parameters = n;
    hw->tiles = menus;
    return ADEPT_OK;
}

adept_status adept_kernel_fit_apply(adept_hwprofile *hw, const adept_kernel_fit *fit, const adept_kernel_file *files,
                                    size_t n_files, uint64_t seed, adept_error *err)
{
    const char *const *gpus = fit->n_gpus > 1 && hw->n_donors >= fit->n_gpus ? hw->donors : NULL;
    char *text = fit_object(fit, files, n_files, seed, gpus);
    hw->fit_json = text ? adept_arena_strdup(hw->arena, text) : NULL;
    free(text);
    if (!hw->fit_json) return no_memory(err);
    hw->calibrated = true;
    hw->transferred = hw->other_vendor = false;
    hw->n_donors = hw->n_donor_vendors = 0;
    hw->granularity = ADEPT_GRANULARITY_OPERATOR;
    hw->saturation = NULL;
    hw->n_scalars = 0;
    hw->intervals = NULL;
    return set_values(hw, fit, err);
}

/* ---- what a profile's fit has of kernels ---- */

cJSON *adept_kernel_part(const adept_hwprofile *hw, const char *key)
{
    cJSON *root = hw->fit_json && hw->granularity == ADEPT_GRANULARITY_OPERATOR ? cJSON_Parse(hw->fit_json) : NULL;
    cJSON *part = cJSON_DetachItemFromObjectCaseSensitive(root, key);
    cJSON_Delete(root);
    return part;
}

bool adept_fit_is_of_kernels(const adept_hwprofile *hw)
{
    cJSON *kernels = adept_kernel_part(hw, "kernels"), *steps = adept_kernel_part(hw, "dataset");
    bool alone = kernels && !steps;
    cJSON_Delete(kernels);
    cJSON_Delete(steps);
    return alone;
}
