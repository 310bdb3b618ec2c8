/** @file vary.h  KEY=VALUES: the options --vary and --set. Calls: whatif. */
#ifndef ADEPT_VARY_H
#define ADEPT_VARY_H
#include "adept_sweep.h"
#include "cli.h"

/** For --set and --vary: add what KEY=VALUES says to a list of ADEPT_SWEEP_MAX_AXES. @return 0, or EINVAL with the
 * message set */
error_t adept_vary_add(const struct argp_state *state, const char *option, const char *text, adept_sweep_axis *list,
                       size_t *n);
/** For --set KEY=VALUE: a hardware number with one value. */
error_t adept_vary_set(const struct argp_state *state, const char *text, adept_sweep_axis *list, size_t *n);

#define ADEPT_VARY_SET_HELP                                                                                            \
    "Predict a hypothetical GPU: change a number of its hardware profile, as in --set specs.mem_bytes_per_s=2e12, or " \
    "relative, =x1.2; the calibrated fit stays. Repeatable"

/** Does the GPU have the number? Misspelt parameters of a fit are found here. @return ADEPT_E_USAGE with the nearest */
adept_status adept_vary_check(adept_cli *cli, const adept_hwprofile *hw, const adept_sweep_axis *axis);
/** Set what --set says. @return ADEPT_E_USAGE if the GPU does not have it, or would be impossible */
adept_status adept_vary_apply(adept_cli *cli, adept_hwprofile *hw, const adept_sweep_axis *list, size_t n);
/** Say of a prediction that --set made its GPU another than the one that was measured. */
void adept_vary_warn(adept_prediction *p, const adept_sweep_axis *list, size_t n);

#endif
