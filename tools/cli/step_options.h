/** @file step_options.h  A step of a model on a GPU: what the commands that predict one ask for. Calls: whatif. */
#ifndef ADEPT_STEP_OPTIONS_H
#define ADEPT_STEP_OPTIONS_H
#include "run_options.h"
#include "sweep_source.h"
#include "vary.h"
#include "workload_options.h"

typedef struct adept_step_options {
    const char *model;
    adept_run_options where;
    adept_workload_options workload;
    adept_vary_options set;
} adept_step_options;

extern const adept_options adept_step_options_of;

/**
 * The GPU with what --set says, which is found before a slow load, then the model.
 * @param hw, source  the caller frees and closes them, also after an error
 */
adept_status adept_step_open(adept_cli *cli, adept_hwprofile **hw, adept_sweep_source *source,
                             const adept_step_options *o);

#endif
