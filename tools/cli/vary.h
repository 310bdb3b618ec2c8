/** @file vary.h  KEY=VALUES: the options --vary and --set. Calls: whatif. */
#ifndef ADEPT_VARY_H
#define ADEPT_VARY_H
#include "adept_sweep.h"
#include "cli.h"

/** For --set and --vary: add what KEY=VALUES says to a list of ADEPT_SWEEP_MAX_AXES. @return 0, or EINVAL with the
 * message set */
error_t adept_vary_add(const struct argp_state *state, const char *option, const char *text, adept_sweep_axis *list,
                       size_t *n);

/** What --set asks for: numbers of the hardware, each with one value. */
typedef struct adept_set_options {
    adept_sweep_axis set[ADEPT_SWEEP_MAX_AXES];
    size_t n;
} adept_set_options;
/** A child for a command's argp (group 1 of its help); its input is an adept_set_options, zero-initialised. */
extern const struct argp adept_set_argp;
void adept_set_options_free(adept_set_options *o);

/** Does the GPU have the number? Misspelt parameters of a fit are found here. @return ADEPT_E_USAGE with the nearest */
adept_status adept_vary_check(adept_cli *cli, const adept_hwprofile *hw, const adept_sweep_axis *axis);
/** Open a GPU and set what --set says. @param hw  caller frees, also after an error. @return ADEPT_E_USAGE if the GPU
 * does not have it, or would be impossible */
adept_status adept_set_open(adept_cli *cli, adept_hwprofile **hw, const char *gpu, const adept_set_options *o);
/** Say of a prediction that --set made its GPU another than the one that was measured. */
void adept_set_warn(adept_prediction *p, const adept_set_options *o);

#endif
