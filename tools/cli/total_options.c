/** @file total_options.c  Rates mean nothing without a number of steps: such options are refused rather than ignored.
 */
#include "total_options.h"
#include "cli.h"
#include "nearest.h"
#include "number.h"
#include <math.h>
#include <string.h>

enum {
    KEY_STEPS = 0x600,
    KEY_SAMPLES,
    KEY_EPOCHS,
    KEY_DATASET,
    KEY_CARBON,
    KEY_COUNTRY,
    KEY_PRICE,
    KEY_GPU_HOUR,
    KEY_PUE,
    KEY_HOST
};

bool adept_job_spec_given(const adept_job_spec *job)
{
    return job->steps > 0 || job->samples > 0 || job->epochs > 0;
}

static const char *country_name(size_t index)
{
    const adept_grid_intensity *row = adept_grid_intensity_at(index);

    return row ? row->name : NULL;
}

static const char *country_code(size_t index)
{
    const adept_grid_intensity *row = adept_grid_intensity_at(index);

    return row ? row->code : NULL;
}

static error_t parse_country(const struct argp_state *state, const char *arg, adept_job_spec *job)
{
    char list[512];

    job->country = adept_grid_intensity_find(arg);
    if (job->country) return 0;
    const char *near = strlen(arg) > 2 ? adept_nearest(arg, country_name) : NULL;
    if (near) return adept_cli_usage(state, "--country: '%s' is not known; did you mean '%s'?", arg, near);
    return adept_cli_usage(state, "--country: '%s' is not one of %s", arg,
                           adept_names_list(list, sizeof list, country_code));
}

static error_t parse_pue(const struct argp_state *state, const char *arg, adept_job_spec *job)
{
    job->pue_is_average = strcmp(arg, "average") == 0;
    if (!job->pue_is_average) return adept_number_double(state, "--pue", arg, 1, &job->pue);
    job->pue = ADEPT_PUE_AVERAGE;
    return 0;
}

static error_t check(const struct argp_state *state, const adept_job_spec *j)
{
    static const char needed[] = "--steps, --samples or --epochs";

    if ((j->steps > 0) + (j->samples > 0) + (j->epochs > 0) > 1)
        return adept_cli_usage(state, "--steps, --samples and --epochs exclude each other");
    if (j->epochs > 0 && j->dataset_size == 0)
        return adept_cli_usage(state, "--epochs needs --dataset-size, the samples of an epoch");
    if (j->dataset_size > 0 && j->epochs == 0) return adept_cli_usage(state, "--dataset-size needs --epochs");
    if (adept_job_spec_given(j)) return 0;
    const char *option = !isnan(j->carbon_g_per_kwh) ? "--carbon-intensity"
                         : j->country                ? "--country"
                         : !isnan(j->price_per_kwh)  ? "--price"
                         : !isnan(j->gpu_hour_price) ? "--gpu-hour-price"
                         : !isnan(j->pue)            ? "--pue"
                         : !isnan(j->host_power_w)   ? "--host-power"
                                                     : NULL;
    return option ? adept_cli_usage(state, "%s needs %s", option, needed) : 0;
}

static error_t parse_count(int key, char *arg, const struct argp_state *state, adept_job_spec *job)
{
    switch (key) {
    case KEY_STEPS:
        return adept_number_int(state, "--steps", arg, 1, &job->steps);
    case KEY_SAMPLES:
        return adept_number_int(state, "--samples", arg, 1, &job->samples);
    case KEY_EPOCHS:
        return adept_number_int(state, "--epochs", arg, 1, &job->epochs);
    case KEY_DATASET:
        return adept_number_int(state, "--dataset-size", arg, 1, &job->dataset_size);
    case KEY_COUNTRY:
        return parse_country(state, arg, job);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    adept_job_spec *job = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        job->carbon_g_per_kwh = job->price_per_kwh = job->gpu_hour_price = job->pue = job->host_power_w = NAN;
        return 0;
    case ARGP_KEY_END:
        return check(state, job);
    case KEY_CARBON:
        return adept_number_double(state, "--carbon-intensity", arg, 0, &job->carbon_g_per_kwh);
    case KEY_PRICE:
        return adept_number_double(state, "--price", arg, 0, &job->price_per_kwh);
    case KEY_GPU_HOUR:
        return adept_number_double(state, "--gpu-hour-price", arg, 0, &job->gpu_hour_price);
    case KEY_PUE:
        return parse_pue(state, arg, job);
    case KEY_HOST:
        return adept_number_double(state, "--host-power", arg, 0, &job->host_power_w);
    default:
        return parse_count(key, arg, state, job);
    }
}

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "The whole job:", 3},
    {"steps", KEY_STEPS, "N", 0, "Print the totals of N steps", 3},
    {"samples", KEY_SAMPLES, "N", 0, "Print the totals of N samples, rounded up to whole steps", 3},
    {"epochs", KEY_EPOCHS, "N", 0, "Print the totals of N epochs, each rounded up to whole steps", 3},
    {"dataset-size", KEY_DATASET, "N", 0, "Samples of an epoch", 3},
    {"carbon-intensity", KEY_CARBON, "G", 0, "Grams of CO2e per kWh: adds the emissions to the totals", 3},
    {"country", KEY_COUNTRY, "CODE|NAME", 0,
     "Where the site is: DE, Germany, EU, WORLD, ...: the average intensity of its grid, unless --carbon-intensity "
     "gives "
     "one",
     3},
    {"price", KEY_PRICE, "P", 0, "Price of a kWh, in any currency: adds the cost to the totals", 3},
    {"gpu-hour-price", KEY_GPU_HOUR, "P", 0, "Price of an hour of one GPU, in the same currency: is added to the cost",
     3},
    {"pue", KEY_PUE, "X", 0,
     "Power usage effectiveness of the site, at least 1, or `average` (1.56, of a survey): multiplies emissions and "
     "cost, "
     "not the energy of the GPUs",
     3},
    {"host-power", KEY_HOST, "W", 0,
     "Watts of one node beside its GPUs (processors, memory, fans): is added to what the site draws", 3},
    {0},
};

const struct argp adept_total_argp = {.options = options, .parser = parse};
