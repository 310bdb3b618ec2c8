/** @file run_options.h  RUN OPTIONS of the commands that predict: where a workload runs. Calls: model. */
#ifndef ADEPT_RUN_OPTIONS_H
#define ADEPT_RUN_OPTIONS_H
#include "adept_model.h"
#include <argp.h>

typedef struct adept_run_options {
    const char *gpu; /* name or file; NULL: not given. Borrowed from argv, as run.saturation is */
    adept_run run;
} adept_run_options;

/** A child for a command's argp (group 1 of its help); its input is an adept_run_options, zero-initialised. */
extern const struct argp adept_run_argp;

/** For a command's ARGP_KEY_END: do the options fit together? --gpu is a matter of the other. @return 0, or EINVAL with
 * the message set */
error_t adept_run_options_check(const struct argp_state *state, const adept_run_options *o);
error_t adept_run_options_need_gpu(const struct argp_state *state, const adept_run_options *o);

#endif
