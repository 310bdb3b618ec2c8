/** @file vary.h  KEY=VALUES: the options --vary and --set. Calls: whatif. */
#ifndef ADEPT_VARY_H
#define ADEPT_VARY_H
#include "adept_sweep.h"
#include "cli.h"

/** What --vary or --set asks for. */
typedef struct adept_vary_options {
    adept_sweep_axis axes[ADEPT_SWEEP_MAX_AXES];
    size_t n;
} adept_vary_options;

/** For a row of --vary: add what KEY=VALUES says. */
adept_status adept_vary_add(adept_cli *cli, const char *option, char *text, void *vary_options);
void adept_vary_release(void *vary_options);

/** --set, in group 1 of a command's help: numbers of the hardware, each with one value. */
extern const adept_options adept_set_options_of;

/** Does the GPU have the number? Misspelt parameters of a fit are found here. @return ADEPT_E_USAGE with the nearest */
adept_status adept_vary_check(adept_cli *cli, const adept_hwprofile *hw, const adept_sweep_axis *axis);
/** Open a GPU and set what --set says. @param hw  caller frees, also after an error. @return ADEPT_E_USAGE if the GPU
 * does not have it, or would be impossible */
adept_status adept_set_open(adept_cli *cli, adept_hwprofile **hw, const char *gpu, const adept_vary_options *o);
/** Say of a prediction that --set made its GPU another than the one that was measured. */
void adept_set_warn(adept_prediction *p, const adept_vary_options *o);

#endif
