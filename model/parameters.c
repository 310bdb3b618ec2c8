/** @file parameters.c  Which granularity holds, and theta_H of the model granularity: list, defaults from the sheet,
 * fitted values on top. */
#include "adept_append.h"
#include "adept_plan.h"
#include "nearest.h"
#include "operator_own.h"
#include "peaks.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Boards of 70 to 700 W idle at 0.09 to 0.17 of their limit; used where the sheet has no idle_w. */
#define IDLE_SHARE_OF_TDP 0.12
#define PLACEHOLDER_STATIC_W 50.0 /* any number within the bounds: it acts on nothing */
/* 220 GB/s of bus bandwidth measured over 300 GB/s of NVLink 3 in one direction (model/README.md, resolution 10). */
#define ALLREDUCE_SHARE_OF_LINK 0.73

/* ---- granularity ---- */

adept_granularity adept_granularity_of(const adept_hwprofile *hw, const adept_run *run)
{
    if (run && run->granularity != ADEPT_GRANULARITY_OF_FIT) return run->granularity;
    return hw->calibrated ? hw->granularity : ADEPT_GRANULARITY_OPERATOR;
}

/* In the order of the enumeration. */
ADEPT_NAMES(adept_granularity_name, "fit", "model", "operator")

/* A fit of one granularity says nothing of predictions by the other. */
bool adept_calibrated_for(const adept_hwprofile *hw, const adept_run *run)
{
    if (adept_transferred_for(hw, run)) return hw->among && hw->among->time_percent <= ADEPT_AS_GOOD_AS_A_FIT;
    return hw->calibrated && hw->granularity == adept_granularity_of(hw, run);
}

bool adept_calibrated_in(const adept_hwprofile *hw, const adept_run *run, adept_precision precision)
{
    if (precision == ADEPT_PRECISION_COUNT) return adept_calibrated_for(hw, run);
    unsigned measured = hw->among ? hw->among->precisions : hw->intervals ? hw->intervals->precisions : 0u;
    unsigned alike = 1u << precision;
    if (precision == ADEPT_TF32 && adept_peak_tf32_ignored(hw, precision)) alike |= 1u << ADEPT_FP32;
    for (int p = ADEPT_FP32; p < ADEPT_PRECISION_COUNT && adept_precision_low_dtype(precision) != ADEPT_DTYPE_NONE; p++)
        if (adept_precision_low_dtype((adept_precision)p) != ADEPT_DTYPE_NONE) alike |= 1u << p;
    return adept_calibrated_for(hw, run) && (measured == 0 || (measured & alike) != 0);
}

bool adept_transferred_for(const adept_hwprofile *hw, const adept_run *run)
{
    return hw->transferred && adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR;
}

/* "fp32, tf32; train": those whose bit is set, behind what is there. */
static void append_names(char *text, size_t size, unsigned bits, adept_name_at names)
{
    const char *before = "";
    for (size_t i = 0; names(i); i++) {
        if (!(bits >> i & 1)) continue;
        adept_append(text, size, "%s%s", before, names(i));
        before = ", ";
    }
}

const char *adept_calibration_text(char text[ADEPT_CALIBRATION_BYTES], const adept_hwprofile *hw, const adept_run *run,
                                   adept_precision precision)
{
    const bool is_for = adept_calibrated_for(hw, run), is_in = adept_calibrated_in(hw, run, precision);
    const char *how = is_in ? "calibrated" : is_for ? "calibrated in other precisions only" : "not calibrated";
    const adept_among_donors *among = hw->among;
    if (!adept_transferred_for(hw, run)) {
        snprintf(text, ADEPT_CALIBRATION_BYTES, "%s%s", how,
                 is_for ? "" : ": an estimate from the specification sheet");
    } else if (!among) {
        snprintf(text, ADEPT_CALIBRATION_BYTES, "%s: parameters transferred from %zu other GPU%s%s", how, hw->n_donors,
                 hw->n_donors == 1 ? "" : "s", hw->other_vendor ? ", all of other vendors" : "");
    } else {
        snprintf(text, ADEPT_CALIBRATION_BYTES, "%s: fitted with %zu other GPU%s to %g step%s of its own%s", how,
                 hw->n_donors - 1, hw->n_donors == 2 ? "" : "s", among->rows, among->rows == 1 ? "" : "s",
                 among->precisions || among->modes ? " (" : "");
        append_names(text, ADEPT_CALIBRATION_BYTES, among->precisions, adept_precision_name);
        adept_append(text, ADEPT_CALIBRATION_BYTES, "%s", among->precisions && among->modes ? "; " : "");
        append_names(text, ADEPT_CALIBRATION_BYTES, among->modes, adept_mode_name);
        adept_append(text, ADEPT_CALIBRATION_BYTES, "%s", among->precisions || among->modes ? ")" : "");
        if (!isnan(among->time_percent))
            adept_append(text, ADEPT_CALIBRATION_BYTES, "; without them %.2g %% off in time", among->time_percent);
    }
    return text;
}

/* ---- parameters ---- */

static const adept_parameter_info infos[] = {
#define X(name, low, high, fallback, log_scale, text) {#name, low, high, fallback, log_scale, text},
    ADEPT_MODEL_PARAMETER_LIST(X)
#undef X
};

#define N_PARAMETERS (sizeof infos / sizeof infos[0])
#define X(name, low, high, fallback, log_scale, text)                                                                  \
    _Static_assert(offsetof(adept_model_parameters, name) % sizeof(double) == 0, "a row of doubles");
ADEPT_MODEL_PARAMETER_LIST(X)
#undef X
_Static_assert(sizeof(adept_model_parameters) == N_PARAMETERS * sizeof(double), "a row of doubles");

const adept_parameter_info *adept_model_parameter_info(size_t index)
{
    return index < N_PARAMETERS ? &infos[index] : NULL;
}

const adept_parameter_info *adept_granularity_parameter_info(adept_granularity granularity, size_t index)
{
    return granularity == ADEPT_GRANULARITY_OPERATOR ? adept_operator_parameter_info(index)
                                                     : adept_model_parameter_info(index);
}

bool adept_is_power_parameter(const char *name)
{
    static const char *const names[] = {"p_static_w", "c_power",    "v_slope",       "mem_power_share",
                                        "u_mem",      "u_comm",     "u_active",      "e_simt_j",
                                        "e_tensor_j", "e_mem_j",    "v_min",         "mem_core_share",
                                        "u_wait",     "clock_knee", "p_host_idle_w", "p_host_active_w"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

adept_status adept_parameters_take_fitted(double *theta, const adept_hwprofile *hw, adept_granularity granularity,
                                          adept_error *err)
{
    size_t n = 0;
    while (adept_granularity_parameter_info(granularity, n))
        n++;
    for (size_t i = 0, at = 0; i < hw->n_parameters; i++, at = (at + 1) % n) { /* most files are in the table's order */
        const adept_parameter *fitted = &hw->parameters[i];
        const adept_parameter_info *info = adept_granularity_parameter_info(granularity, at);
        size_t tried = 0;
        for (; tried < n && strcmp(info->name, fitted->name) != 0; tried++) {
            at = (at + 1) % n;
            info = adept_granularity_parameter_info(granularity, at);
        }
        if (tried == n)
            return adept_error_set(err, ADEPT_E_INVALID,
                                   "%s: fit.parameters.%s is not a parameter of granularity \"%s\"; "
                                   "fit the measurements again if another adept wrote it", hw->name,
                                   fitted->name, adept_granularity_name(granularity));
        if (!(fitted->value >= info->low && fitted->value <= info->high)) /* NAN fails too */
            return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.parameters.%s = %g is outside [%g, %g]", hw->name,
                                   fitted->name, fitted->value, info->low, info->high);
        theta[at] = fitted->value;
    }
    return ADEPT_OK;
}

adept_status adept_model_parameters_get(adept_model_parameters *out, const adept_hwprofile *hw, adept_error *err)
{
    adept_model_parameters p;
    double *const theta = (double *)&p;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < N_PARAMETERS; i++)
        theta[i] = infos[i].fallback;
    p.p_static_w = isnan(hw->specs.idle_w) ? IDLE_SHARE_OF_TDP * hw->specs.tdp_w : hw->specs.idle_w;
    /* Without tdp_w power is unknown whatever this is. */
    if (isnan(p.p_static_w) && isnan(hw->specs.tdp_w)) p.p_static_w = PLACEHOLDER_STATIC_W;
    p.bw_eff_bytes_per_s = ALLREDUCE_SHARE_OF_LINK * 0.5 * hw->specs.link_bytes_per_s;
    /* The parameters of the other granularity mean nothing here. */
    if (hw->granularity != ADEPT_GRANULARITY_OPERATOR)
        status = adept_parameters_take_fitted(theta, hw, ADEPT_GRANULARITY_MODEL, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < N_PARAMETERS; i++)
        if (!isfinite(theta[i]) || theta[i] < 0.0)
            return adept_error_set(err, ADEPT_E_INVALID,
                                   "%s: parameter %s is neither fitted nor derivable from the specification sheet",
                                   hw->name, infos[i].name);
    *out = p;
    return ADEPT_OK;
}

_Static_assert(ADEPT_OPERATOR_PARAMETERS <= ADEPT_MOST_PARAMETERS &&
                   sizeof(adept_model_parameters) <= ADEPT_MOST_PARAMETERS * sizeof(double),
               "room for the parameters of either granularity");
adept_status adept_parameters_of(double *theta, size_t *n, const adept_hwprofile *hw, const adept_run *run,
                                 adept_error *err)
{
    if (adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR) {
        *n = ADEPT_OPERATOR_PARAMETERS;
        return adept_operator_parameters_get(theta, hw, err);
    }
    *n = sizeof(adept_model_parameters) / sizeof(double);
    return adept_model_parameters_get((adept_model_parameters *)theta, hw, err);
}
