/** @file step_options.h  What the commands that predict ask for: where a workload runs, and a whole job.
 * Calls: model, whatif. */
#ifndef ADEPT_STEP_OPTIONS_H
#define ADEPT_STEP_OPTIONS_H
#include "adept_totals.h"
#include "load.h"
#include "adept_sweep.h"

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

/** Group 3 of a command's help; the record is an adept_job_spec. */
extern const adept_options adept_total_options_of;
/** Of these, prices and what a site draws, which mean something without a number of steps, too. */
extern const adept_options adept_rate_options_of;
/** Look up the average price, where it is asked for. @return ADEPT_E_USAGE: there is none */
adept_status adept_rates_check(adept_cli *cli, adept_job_spec *job);

/** Parsers of options: of a PUE, and of grams of CO2e per kWh or a zone (@param record  an adept_job_spec). */
adept_status adept_option_carbon(adept_cli *cli, const char *option, char *text, void *record);
adept_status adept_option_pue(adept_cli *cli, const char *option, char *text, void *record);

/** Was a number of steps, samples or epochs given? */
bool adept_job_spec_given(const adept_job_spec *job);

#endif
