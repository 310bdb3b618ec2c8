/** @file simulate_models.h  Models of a simulation. Calls: load, adept/workload. */
#ifndef ADEPT_SIMULATE_MODELS_H
#define ADEPT_SIMULATE_MODELS_H
#include <adept/workload.h>

/** Any model that `adept predict` takes, as a workload. @param cli  an adept_cli; its details are of unsupported
 * operators */
adept_status adept_simulate_load_model(void *cli, adept_workload **out, const char *model,
                                       const adept_model_options *options, adept_error *err);

#endif
