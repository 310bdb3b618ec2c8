/** @file total_options.c  Rates mean nothing without a number of steps: such options are refused rather than ignored.
 */
#include "total_options.h"
#include <math.h>
#include <string.h>

#define AT(member) offsetof(adept_job_spec, member)

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

static adept_status parse_country(adept_cli *cli, const char *option, char *text, void *field)
{
    const adept_grid_intensity **country = field;

    *country = adept_grid_intensity_find(text);
    if (*country) return ADEPT_OK;
    const char *near = strlen(text) > 2 ? adept_nearest(text, country_name) : NULL;
    if (near) return adept_cli_usage(cli, "%s: '%s' is not known; did you mean '%s'?", option, text, near);
    return adept_option_unknown(cli, option, text, country_code);
}

static adept_status parse_pue(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_job_spec *job = record;

    job->pue_is_average = strcmp(text, "average") == 0;
    if (!job->pue_is_average) return adept_option_number(cli, option, text, 1, &job->pue);
    job->pue = ADEPT_PUE_AVERAGE;
    return ADEPT_OK;
}

static adept_status check(adept_cli *cli, void *record)
{
    const adept_job_spec *j = record;

    if ((j->steps > 0) + (j->samples > 0) + (j->epochs > 0) > 1)
        return adept_cli_usage(cli, "--steps, --samples and --epochs exclude each other");
    if (j->epochs > 0 && j->dataset_size == 0)
        return adept_cli_usage(cli, "--epochs needs --dataset-size, the samples of an epoch");
    if (j->dataset_size > 0 && j->epochs == 0) return adept_cli_usage(cli, "--dataset-size needs --epochs");
    if (adept_job_spec_given(j)) return ADEPT_OK;
    const char *option = !isnan(j->carbon_g_per_kwh) ? "--carbon-intensity"
                         : j->country                ? "--country"
                         : !isnan(j->price_per_kwh)  ? "--price"
                         : !isnan(j->gpu_hour_price) ? "--gpu-hour-price"
                         : !isnan(j->pue)            ? "--pue"
                         : !isnan(j->host_power_w)   ? "--host-power"
                                                     : NULL;
    return option ? adept_cli_usage(cli, "%s needs --steps, --samples or --epochs", option) : ADEPT_OK;
}

static void init(void *record)
{
    adept_job_spec *job = record;

    job->carbon_g_per_kwh = job->price_per_kwh = job->gpu_hour_price = job->pue = job->host_power_w = NAN;
}

static const adept_option_row rows[] = {
    {.group = 3, .help = "The whole job:"},
    {"steps", "N", 3, "Print the totals of N steps", ADEPT_OPT_COUNT, .at = AT(steps), .low = 1},
    {"samples", "N", 3, "Print the totals of N samples, rounded up to whole steps", ADEPT_OPT_COUNT, .at = AT(samples),
     .low = 1},
    {"epochs", "N", 3, "Print the totals of N epochs, each rounded up to whole steps", ADEPT_OPT_COUNT,
     .at = AT(epochs), .low = 1},
    {"dataset-size", "N", 3, "Samples of an epoch", ADEPT_OPT_COUNT, .at = AT(dataset_size), .low = 1},
    {"carbon-intensity", "G", 3, "Grams of CO2e per kWh: adds the emissions to the totals", ADEPT_OPT_NUMBER,
     .at = AT(carbon_g_per_kwh)},
    {"country", "CODE|NAME", 3,
     "Where the site is: DE, Germany, EU, WORLD, ...: the average intensity of its grid, unless --carbon-intensity "
     "gives one",
     ADEPT_OPT_PARSED, .at = AT(country), .parse = parse_country},
    {"price", "P", 3, "Price of a kWh, in any currency: adds the cost to the totals", ADEPT_OPT_NUMBER,
     .at = AT(price_per_kwh)},
    {"gpu-hour-price", "P", 3, "Price of an hour of one GPU, in the same currency: is added to the cost",
     ADEPT_OPT_NUMBER, .at = AT(gpu_hour_price)},
    {"pue", "X", 3,
     "Power usage effectiveness of the site, at least 1, or `average` (1.56, of a survey): multiplies emissions and "
     "cost, not the energy of the GPUs",
     ADEPT_OPT_PARSED, .parse = parse_pue},
    {"host-power", "W", 3,
     "Watts of one node beside its GPUs (processors, memory, fans): is added to what the site draws", ADEPT_OPT_NUMBER,
     .at = AT(host_power_w)},
    {0},
};

const adept_options adept_total_options_of = {.rows = rows, .init = init, .check = check};
