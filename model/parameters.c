/** @file parameters.c  theta_H of the model granularity: list, defaults from the sheet, fitted values on top. */
#include "operator_own.h"
#include <math.h>
#include <string.h>

/* Boards of 70 to 700 W idle at 0.09 to 0.17 of their limit; used where the sheet has no idle_w. */
#define IDLE_SHARE_OF_TDP 0.12
#define PLACEHOLDER_STATIC_W 50.0 /* any number within the bounds: it acts on nothing */
/* 220 GB/s of bus bandwidth measured over 300 GB/s of NVLink 3 in one direction (docs/MODEL.md, resolution 10). */
#define ALLREDUCE_SHARE_OF_LINK 0.73

static const adept_parameter_info infos[] = {
#define X(name, low, high, fallback, log_scale, text) {#name, low, high, fallback, log_scale, text},
    ADEPT_MODEL_PARAMETER_LIST(X)
#undef X
};

static const size_t offsets[] = {
#define X(name, low, high, fallback, log_scale, text) offsetof(adept_model_parameters, name),
    ADEPT_MODEL_PARAMETER_LIST(X)
#undef X
};

#define N_PARAMETERS (sizeof infos / sizeof infos[0])

const adept_parameter_info *adept_model_parameter_info(size_t index)
{
    return index < N_PARAMETERS ? &infos[index] : NULL;
}

static double *parameter_at(adept_model_parameters *p, size_t index)
{
    return (double *)((char *)p + offsets[index]);
}

static void set_defaults(adept_model_parameters *p, const adept_specs *specs)
{
    for (size_t i = 0; i < N_PARAMETERS; i++)
        *parameter_at(p, i) = infos[i].fallback;
    p->p_static_w = isnan(specs->idle_w) ? IDLE_SHARE_OF_TDP * specs->tdp_w : specs->idle_w;
    /* Without tdp_w power is unknown whatever this is. */
    if (isnan(p->p_static_w) && isnan(specs->tdp_w)) p->p_static_w = PLACEHOLDER_STATIC_W;
    p->bw_eff_bytes_per_s = ALLREDUCE_SHARE_OF_LINK * 0.5 * specs->link_bytes_per_s;
}

void adept_model_sheet_by_spec(adept_model_parameters *by_spec, const adept_specs *specs, adept_spec spec)
{
    *by_spec = (adept_model_parameters){0};
    if (spec == ADEPT_SPEC_idle_w && !isnan(specs->idle_w)) by_spec->p_static_w = specs->idle_w;
    if (spec == ADEPT_SPEC_tdp_w && isnan(specs->idle_w) && !isnan(specs->tdp_w))
        by_spec->p_static_w = IDLE_SHARE_OF_TDP * specs->tdp_w;
    if (spec == ADEPT_SPEC_link_bytes_per_s)
        by_spec->bw_eff_bytes_per_s = ALLREDUCE_SHARE_OF_LINK * 0.5 * specs->link_bytes_per_s;
}

static adept_status set_fitted(adept_model_parameters *p, const adept_parameter *fitted, const char *gpu,
                               adept_error *err)
{
    for (size_t i = 0; i < N_PARAMETERS; i++) {
        if (strcmp(infos[i].name, fitted->name) != 0) continue;
        /* Written so that NAN fails too. */
        if (!(fitted->value >= infos[i].low && fitted->value <= infos[i].high))
            return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.parameters.%s = %g is outside [%g, %g]", gpu,
                                   fitted->name, fitted->value, infos[i].low, infos[i].high);
        *parameter_at(p, i) = fitted->value;
        return ADEPT_OK;
    }
    return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.parameters.%s is not a parameter of granularity \"model\"",
                           gpu, fitted->name);
}

adept_status adept_model_parameters_get(adept_model_parameters *out, const adept_hwprofile *hw, adept_error *err)
{
    adept_model_parameters p;
    set_defaults(&p, &hw->specs);
    for (size_t i = 0; i < hw->n_parameters; i++) {
        adept_status status = set_fitted(&p, &hw->parameters[i], hw->name, err);
        if (status != ADEPT_OK) return status;
    }
    for (size_t i = 0; i < N_PARAMETERS; i++)
        if (!isfinite(*parameter_at(&p, i)) || *parameter_at(&p, i) < 0.0)
            return adept_error_set(err, ADEPT_E_INVALID,
                                   "%s: parameter %s is neither fitted nor derivable from the specification sheet",
                                   hw->name, infos[i].name);
    *out = p;
    return ADEPT_OK;
}
