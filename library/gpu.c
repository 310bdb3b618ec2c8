/** @file gpu.c  Handles of GPUs. Calls: model. */
#include "handles.h"
#include <stdlib.h>

/* Takes the profile. */
static adept_status wrap(adept_gpu **out, adept_hwprofile *hw, adept_error *err)
{
    adept_gpu *gpu = malloc(sizeof *gpu);
    if (!gpu) {
        adept_hwprofile_free(hw);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    gpu->hw = hw;
    *out = gpu;
    return ADEPT_OK;
}

adept_status adept_gpu_open(adept_gpu **out, const char *name_or_path, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    adept_hwprofile *hw = NULL;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!name_or_path) return adept_library_missing(__func__, "name_or_path", err);
    adept_status status = adept_hwprofile_open(&hw, name_or_path, err);
    return status == ADEPT_OK ? wrap(out, hw, err) : status;
}

adept_status adept_gpu_read(adept_gpu **out, const char *name, const void *data, size_t size, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    adept_hwprofile *hw = NULL;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!data) return adept_library_missing(__func__, "data", err);
    adept_status status = adept_hwprofile_from_json(&hw, name ? name : "memory", data, size, err);
    return status == ADEPT_OK ? wrap(out, hw, err) : status;
}

void adept_gpu_free(adept_gpu *gpu)
{
    if (!gpu) return;
    adept_hwprofile_free(gpu->hw);
    free(gpu);
}

const char *adept_gpu_name(size_t index)
{
    return adept_hwprofile_builtin_name(index);
}

void adept_gpu_describe(adept_gpu_info *out, const adept_gpu *gpu)
{
    if (!out) return;
    if (!gpu) {
        *out = (adept_gpu_info){.name = NULL};
        return;
    }
    const adept_hwprofile *hw = gpu->hw;
    *out = (adept_gpu_info){
        .name = hw->name,
        .vendor = hw->vendor,
        .architecture = hw->architecture,
        .granularity = hw->calibrated ? adept_granularity_name(hw->granularity) : NULL,
        .transferred = hw->transferred,
        .mem_bytes = hw->specs.mem_bytes,
        .clock_boost_hz = hw->specs.clock_boost_hz,
        .clock_min_hz = hw->specs.clock_min_hz,
        .tdp_w = hw->specs.tdp_w,
        .power_limit_min_w = hw->specs.power_limit_min_w,
        .power_limit_max_w = hw->specs.power_limit_max_w,
        .idle_w = hw->specs.idle_w,
        .taken = hw->taken,
    };
}
