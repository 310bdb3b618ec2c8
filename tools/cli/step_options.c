/** @file step_options.c  A model, a GPU, and how it runs there. */
#include "step_options.h"

static adept_status check(adept_cli *cli, void *record)
{
    return adept_run_options_on_gpu(cli, &((adept_step_options *)record)->where);
}

const adept_options adept_step_options_of = {
    .check = check,
    .parts = {{&adept_workload_options_of, offsetof(adept_step_options, workload)},
              {&adept_run_options_of, offsetof(adept_step_options, where)},
              {&adept_set_options_of, offsetof(adept_step_options, set)}},
};

adept_status adept_step_open(adept_cli *cli, adept_hwprofile **hw, adept_sweep_source *source,
                             const adept_step_options *o)
{
    adept_status status = adept_set_open(cli, hw, o->where.gpu, &o->set);

    return status == ADEPT_OK ? adept_sweep_source_open(cli, source, o->model, &o->workload) : status;
}
