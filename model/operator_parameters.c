/** @file operator_parameters.c  theta_H of granularity "operator": list, defaults from the sheet, fitted values on top.
 */
#include "adept_operator_model.h"
#include <math.h>
#include <string.h>

static const adept_parameter_info infos[ADEPT_OPERATOR_PARAMETERS] = {
#define X(name, low, high, def, prior, text) {#name, low, high, def, true, text},
    ADEPT_KERNEL_PARAMETER_LIST(X)
#undef X
#define X(name, low, high, def, log, prior, text) {#name, low, high, def, log, text},
        ADEPT_OPERATOR_STEP_LIST(X)
#undef X
};

static const double priors[ADEPT_OPERATOR_PARAMETERS] = {
#define X(name, low, high, def, prior, text) prior,
    ADEPT_KERNEL_PARAMETER_LIST(X)
#undef X
#define X(name, low, high, def, log, prior, text) prior,
        ADEPT_OPERATOR_STEP_LIST(X)
#undef X
};

const adept_parameter_info *adept_operator_parameter_info(size_t index)
{
    return index < ADEPT_OPERATOR_PARAMETERS ? &infos[index] : NULL;
}

double adept_operator_parameter_prior(size_t index)
{
    return index < ADEPT_OPERATOR_PARAMETERS ? priors[index] : NAN;
}

static adept_status set_fitted(double *theta, const adept_parameter *fitted, const char *gpu, adept_error *err)
{
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        if (strcmp(infos[i].name, fitted->name) != 0) continue;
        if (!(fitted->value >= infos[i].low && fitted->value <= infos[i].high)) /* NAN fails too */
            return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.parameters.%s = %g is outside [%g, %g]", gpu,
                                   fitted->name, fitted->value, infos[i].low, infos[i].high);
        theta[i] = fitted->value;
        return ADEPT_OK;
    }
    return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.parameters.%s is not a parameter of granularity \"operator\"",
                           gpu, fitted->name);
}

/* Energy per operation falls with the process. The defaults are fitted on 12 nm (V100) and hold at 7 nm (A100); with
 * them, boards of the 4 nm and 5 nm generations would throttle to a third of what is measured on them. */
static double process_energy(const char *architecture)
{
    static const char *const newer[] = {"Ada Lovelace", "Hopper", "Blackwell"};
    for (size_t i = 0; architecture && i < sizeof newer / sizeof newer[0]; i++)
        if (strcmp(architecture, newer[i]) == 0) return 0.35;
    return 1.0;
}

adept_status adept_operator_parameters_get(double theta[ADEPT_OPERATOR_PARAMETERS], const adept_hwprofile *hw,
                                           adept_error *err)
{
    adept_model_parameters of_sheet;
    adept_hwprofile sheet = *hw;
    sheet.n_parameters = 0;
    adept_status status = adept_model_parameters_get(&of_sheet, &sheet, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++)
        theta[i] = infos[i].fallback;
    /* What the sheet says of idle power and links does not depend on the granularity. */
    theta[ADEPT_OP_p_static_w] = of_sheet.p_static_w;
    theta[ADEPT_OP_bw_eff_bytes_per_s] = of_sheet.bw_eff_bytes_per_s;
    theta[ADEPT_OP_e_simt_j] *= process_energy(hw->architecture);
    theta[ADEPT_OP_e_tensor_j] *= process_energy(hw->architecture);
    bool fitted = hw->calibrated && hw->granularity == ADEPT_GRANULARITY_OPERATOR;
    for (size_t i = 0; fitted && i < hw->n_parameters && status == ADEPT_OK; i++)
        status = set_fitted(theta, &hw->parameters[i], hw->name, err);
    return status;
}
