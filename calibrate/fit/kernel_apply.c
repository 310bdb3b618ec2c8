/** @file kernel_apply.c  A fit of kernels as the base of a GPU: in memory for the fit of steps, and as JSON. */
#include "adept_json.h"
#include "adept_operator_model.h"
#include "kernel_fit.h"
#include <stdlib.h>
#include <string.h>

/* ---- as JSON ---- */

static void put_error(adept_json_writer *w, const char *key, const adept_kernel_error *e)
{
    if (!adept_json_begin_known(w, key, e->n > 0)) return;
    adept_json_put_members(w, "n %jd mape %g median %g p90 %g bias %g roofline_mape %g", (intmax_t)e->n, e->mape,
                           e->median, e->p90, e->bias, e->roofline_mape);
    adept_json_end_object(w);
}

static void put_overhead(adept_json_writer *w, const adept_kernel_overhead *overhead)
{
    adept_json_put_members(w, "event_s %g throttle %g onset_s %g drift_s %g", overhead->event_s, overhead->throttle,
                           overhead->onset_s, overhead->drift_s);
}

/* Of several GPUs: the law is one, how well it does is not. */
static void put_gpus(adept_json_writer *w, const adept_kernel_fit *fit, int i, const char *const *gpus)
{
    adept_json_begin_object(w, "by_gpu");
    for (size_t g = 0; g < fit->n_gpus; g++) {
        if (fit->gpu_held_out[i][g].n == 0) continue;
        adept_json_begin_object(w, gpus[g]);
        put_error(w, "held_out", &fit->gpu_held_out[i][g]);
        put_overhead(w, &fit->overhead[i][g]);
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
}

/* `gpus`: names, if the kernels are of several. */
static void put_families(adept_json_writer *w, const adept_kernel_fit *fit, const char *const *gpus)
{
    adept_json_begin_object(w, "families");
    for (int i = 0; i < ADEPT_FAMILY_COUNT; i++) {
        if (fit->in_sample[i].n == 0) continue;
        adept_json_begin_object(w, adept_kernel_family_name(i));
        put_error(w, "held_out", &fit->held_out[i]);
        put_error(w, "in_sample", &fit->in_sample[i]);
        if (gpus)
            put_gpus(w, fit, i, gpus);
        else
            put_overhead(w, &fit->overhead[i][0]);
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
    adept_json_begin_object(w, "operators");
    for (size_t i = 0; i < fit->n_ops; i++) {
        adept_json_begin_object(w, fit->ops[i].op);
        adept_json_put_string(w, "family", adept_kernel_family_name(fit->ops[i].family));
        put_error(w, "held_out", &fit->ops[i].held_out);
        if (fit->ops[i].short_held_out.n > 0) put_error(w, "held_out_under_100us", &fit->ops[i].short_held_out);
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
}

void adept_put_tiles(adept_json_writer *w, const adept_tile_menu *menus)
{
    adept_json_begin_object(w, "tiles");
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++) {
        adept_json_begin_array(w, adept_kernel_family_name(i));
        for (size_t k = 0; k < menus[i].n; k++) {
            char text[64];
            adept_tile_print(text, sizeof text, &menus[i].tiles[k]);
            adept_json_put_string(w, NULL, text);
        }
        adept_json_end_array(w);
    }
    adept_json_end_object(w);
}

static char *fit_object(const adept_hwprofile *hw, const adept_kernel_fit *fit, const adept_kernel_file *files,
                        size_t n_files, uint64_t seed, const char *const *gpus)
{
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_string(&w, "granularity", "operator");
    adept_json_begin_object(&w, "parameters");
    for (size_t i = 0; i < hw->n_parameters; i++)
        adept_json_put_number(&w, hw->parameters[i].name, hw->parameters[i].value);
    adept_json_end_object(&w);
    adept_put_tiles(&w, hw->tiles);
    adept_json_begin_object(&w, "kernels");
    adept_json_begin_array(&w, "files");
    for (size_t i = 0; i < n_files; i++)
        adept_json_put_object(&w, NULL, "name %s sha256 %s rows %jd", files[i].name, files[i].sha256,
                              (intmax_t)files[i].n_rows);
    adept_json_end_array(&w);
    adept_json_put_unsigned(&w, "seed", seed);
    adept_json_put_string(&w, "unit", "percent");
    put_families(&w, fit, gpus);
    adept_json_end_object(&w);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

/* ---- in memory ---- */

static void set_value(adept_hwprofile *hw, adept_parameter *list, const char *name, double value)
{
    size_t i = 0;
    while (i < hw->n_parameters && strcmp(list[i].name, name) != 0)
        i++;
    list[i] = (adept_parameter){name, value};
    hw->n_parameters += i == hw->n_parameters;
}

/* What these kernels do not tell stays as it is. */
static adept_status set_values(adept_hwprofile *hw, const adept_kernel_fit *fit, adept_error *err)
{
    adept_parameter *list = adept_arena_array(hw->arena, hw->n_parameters + ADEPT_KP_COUNT, sizeof *list);
    adept_tile_menu *menus = adept_arena_array(hw->arena, ADEPT_TILED_FAMILIES, sizeof *menus);
    if (!list || !menus) return adept_no_memory(err, "the fit of kernels");
    if (hw->n_parameters > 0) memcpy(list, hw->parameters, hw->n_parameters * sizeof *list);
    for (size_t i = 0; i < ADEPT_KP_COUNT; i++)
        if (fit->fitted[i]) set_value(hw, list, adept_operator_parameter_info(i)->name, fit->theta[i]);
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++)
        menus[i] = hw->tiles && fit->in_sample[i].n == 0 ? hw->tiles[i] : fit->menus[i];
    hw->parameters = list;
    hw->tiles = menus;
    return ADEPT_OK;
}

adept_status adept_kernel_fit_apply(adept_hwprofile *hw, const adept_kernel_fit *fit, const adept_kernel_file *files,
                                    size_t n_files, uint64_t seed, adept_error *err)
{
    const char *const *gpus = fit->n_gpus > 1 && hw->n_donors >= fit->n_gpus ? hw->donors : NULL;
    if (hw->granularity != ADEPT_GRANULARITY_OPERATOR) hw->n_parameters = 0;
    adept_status status = set_values(hw, fit, err);
    if (status != ADEPT_OK) return status;
    char *text = fit_object(hw, fit, files, n_files, seed, gpus);
    hw->fit_json = text ? adept_arena_strdup(hw->arena, text) : NULL;
    free(text);
    if (!hw->fit_json) return adept_no_memory(err, "the fit of kernels");
    hw->calibrated = true;
    hw->transferred = hw->other_vendor = false;
    hw->n_donors = hw->n_donor_vendors = 0;
    hw->granularity = ADEPT_GRANULARITY_OPERATOR;
    hw->saturation = NULL;
    hw->n_scalars = 0;
    hw->intervals = NULL;
    return ADEPT_OK;
}

/* ---- what a profile's fit has of kernels ---- */

adept_status adept_fit_is_of_kernels(bool *out, const adept_hwprofile *hw, adept_error *err)
{
    cJSON *fit = NULL;
    *out = false;
    if (!hw->fit_json || hw->granularity != ADEPT_GRANULARITY_OPERATOR) return ADEPT_OK;
    adept_status status = adept_json_parse(&fit, hw->name, hw->fit_json, strlen(hw->fit_json), err);
    if (status != ADEPT_OK) return status;
    *out = cJSON_GetObjectItemCaseSensitive(fit, "kernels") && !cJSON_GetObjectItemCaseSensitive(fit, "dataset");
    cJSON_Delete(fit);
    return ADEPT_OK;
}
