/** @file run_options.h  RUN OPTIONS of the commands that predict: where a workload runs. Calls: model. */
#ifndef ADEPT_RUN_OPTIONS_H
#define ADEPT_RUN_OPTIONS_H
#include "adept_model.h"
#include "cli.h"

typedef struct adept_run_options {
    const char *gpu; /* name or file; NULL: not given. Borrowed from argv, as run.saturation is */
    adept_run run;
} adept_run_options;

/** Group 1 of a command's help. */
extern const adept_options adept_run_options_of;

/** For a command's check: do the options fit together? --gpu is a matter of the other. */
adept_status adept_run_options_check(adept_cli *cli, const adept_run_options *o);
adept_status adept_run_options_need_gpu(adept_cli *cli, const char *gpu);
/** Both. */
adept_status adept_run_options_on_gpu(adept_cli *cli, const adept_run_options *o);

#endif
