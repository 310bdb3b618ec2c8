/** @file step_options.c  Where a step runs, what is set or varied (KEY=VALUES, with the key that was meant where one is
 *  misspelt), and the whole job. */
#include "step_options.h"
#include "adept_number.h"
#include "field_options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- where it runs ---------------------------------- */

/* GPU, words of a run, equations: shared by all that predict. */
#define IN_RUN(member) offsetof(adept_run_options, member)

/* Those that can be asked for. */
static const char *named_granularity(size_t index)
{
    return adept_granularity_name(index + ADEPT_GRANULARITY_MODEL);
}

static const adept_option_row run_rows[] = {
    {.group = 1, .help = "Where it runs:"},
    {"gpu", "NAME|FILE", 1,
     "The GPU: a name that `adept gpus` lists, or a hardware profile (a path with '/', or ending in .json). Required",
     ADEPT_OPT_TEXT, .at = IN_RUN(gpu)},
#define X(name, ...) ADEPT_FIELD_OPTION(1, IN_RUN(run.name), 0, name, __VA_ARGS__)
    ADEPT_RUN_FIELDS(X)
#undef X
        {"granularity", "NAME", 1,
         "operator: every kernel's time from its own dimensions; model: the thesis's equations on means over the whole "
         "model. Default: what the GPU was calibrated with, else operator",
         ADEPT_OPT_CHOICE, .at = IN_RUN(run.granularity), .low = ADEPT_GRANULARITY_MODEL, .names = named_granularity,
         .expert = true},
    {"saturation", "NAME", 1, "Saturation function of granularity model: sigmoid, arctan, softsign, algebraic or tanh",
     ADEPT_OPT_NAME, .at = IN_RUN(run.saturation), .names = adept_saturation_name, .expert = true},
    {0},
};

const adept_options adept_run_options_of = {.rows = run_rows};

adept_status adept_run_options_check(adept_cli *cli, const adept_run_options *o)
{
    const adept_mesh_words words = adept_run_mesh(&o->run);

    if (o->run.nodes < 2 && !adept_mesh_is_said(&words) &&
        (o->run.internode_bytes_per_s > 0 || o->run.internode_latency_s > 0))
        return adept_cli_usage(cli, "--internode-bandwidth and --internode-latency need --nodes");
    return ADEPT_OK;
}

adept_status adept_run_options_need_gpu(adept_cli *cli, const char *gpu)
{
    if (!gpu) return adept_cli_usage(cli, "--gpu is missing; `adept gpus` lists the names");
    if (!strchr(gpu, ',') || strchr(gpu, '/')) return ADEPT_OK;
    return adept_cli_usage(cli, "--gpu takes one GPU; several side by side: adept sweep MODEL --vary gpu=%s", gpu);
}

adept_status adept_run_options_on_gpu(adept_cli *cli, const adept_run_options *o)
{
    adept_status status = adept_run_options_need_gpu(cli, o->gpu);

    return status == ADEPT_OK ? adept_run_options_check(cli, o) : status;
}

/* ---------------------------------------------------------------- KEY=VALUES ------------------------------------- */

adept_status adept_vary_add(adept_cli *cli, const char *option, char *text, void *field)
{
    adept_vary_options *o = field;
    adept_sweep_axis *axis = &o->axes[o->n];
    adept_error err = {0};
    if (o->n == ADEPT_SWEEP_MAX_AXES)
        return adept_cli_usage(cli, "%s: more than %d keys", option, ADEPT_SWEEP_MAX_AXES);
    char key[80], empty[81];
    const size_t length = strcspn(text, "=");
    snprintf(key, sizeof key, "%.*s", (int)length, text);
    if (text[length] && length < sizeof key - 2) { /* else there is another complaint */
        snprintf(empty, sizeof empty, "%s=", key);
        if (adept_sweep_axis_parse(axis, empty, &err) == ADEPT_OK) adept_sweep_axis_free(axis);
        const bool is_unknown = strncmp(err.message, "unknown key", strlen("unknown key")) == 0;
        const char *near = is_unknown ? adept_nearest(key, adept_sweep_key_name) : NULL;
        if (near) return adept_cli_usage(cli, "%s: unknown key '%s'; did you mean '%s'?", option, key, near);
        if (is_unknown)
            return adept_cli_usage(cli,
                                   "%s: unknown key '%s'; keys are batch, precision, gpu, gpus, power_limit_w, ..., "
                                   "specs.NAME and fit.parameters.NAME (adept sweep --help)",
                                   option, key);
    }
    adept_status status = adept_sweep_axis_parse(axis, text, &err);
    if (status == ADEPT_E_NOMEM) return adept_cli_no_memory(cli);
    if (status != ADEPT_OK) return adept_cli_usage(cli, "%s: %s", option, err.message);
    for (size_t i = 0; i < o->n; i++) {
        if (strcmp(o->axes[i].key, axis->key) != 0) continue;
        adept_sweep_axis_free(axis);
        return adept_cli_usage(cli, "%s: %s is given twice", option, o->axes[i].key);
    }
    o->n++;
    return ADEPT_OK;
}

void adept_vary_release(void *record)
{
    adept_vary_options *o = record;
    for (size_t i = 0; i < o->n; i++)
        adept_sweep_axis_free(&o->axes[i]);
}

static adept_status parse_set(adept_cli *cli, const char *option, char *text, void *field)
{
    const adept_vary_options *o = field;
    adept_status status = adept_vary_add(cli, option, text, field);
    if (status != ADEPT_OK) return status;
    const adept_sweep_axis *axis = &o->axes[o->n - 1];
    if (axis->level != ADEPT_SWEEP_HARDWARE)
        return adept_cli_usage(cli,
                               "%s: %s is not a number of the hardware, those are sms, core_clock, peaks, specs.NAME "
                               "and fit.parameters.NAME",
                               option, axis->key);
    return axis->n == 1 ? ADEPT_OK : adept_cli_usage(cli, "%s: %s takes one value", option, axis->key);
}

static const adept_option_row set_rows[] = {
    {"set", "KEY=VALUE", 1,
     "Predict a hypothetical GPU: change a number of its hardware profile, as in --set specs.mem_bytes_per_s=2e12, or "
     "relative, =x1.2; the calibrated fit stays. --set sms=x2 has twice the SMs with their peaks, as core_clock a "
     "clock. Repeatable",
     ADEPT_OPT_PARSED, .parse = parse_set, .expert = true},
    {0},
};

const adept_options adept_set_options_of = {.rows = set_rows, .release = adept_vary_release};

adept_status adept_vary_check(adept_cli *cli, const adept_hwprofile *hw, const adept_sweep_axis *axis)
{
    char key[96], nearest[128] = "";
    size_t best = SIZE_MAX;
    if (axis->kind != ADEPT_VARY_PARAMETER) return ADEPT_OK;
    for (size_t i = 0; i < hw->n_parameters; i++) {
        snprintf(key, sizeof key, "fit.parameters.%s", hw->parameters[i].name);
        if (strcmp(axis->key, key) == 0) return ADEPT_OK;
        if (adept_is_nearer(&best, axis->key, key)) snprintf(nearest, sizeof nearest, "; did you mean '%s'?", key);
    }
    return adept_error_set(&cli->err, ADEPT_E_USAGE, "%s has no %s%s", hw->name, axis->key, nearest);
}

/* ---------------------------------------------------------------- a job ------------------------------------------ */

/* Rates mean nothing without a number of steps: such options are refused rather than ignored. */
#define IN_JOB(member) offsetof(adept_job_spec, member)

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

static adept_status take_zone(adept_cli *cli, const char *option, const char *text, bool by_carbon, adept_job_spec *job)
{
    const char *or_number = by_carbon ? "a number, nor " : "";
    char codes[512];

    if (job->country && job->country_by_carbon != by_carbon)
        return adept_cli_usage(cli, "--country and --carbon-intensity both say where the site is: give one of them");
    job->country = adept_grid_intensity_find(text);
    job->country_by_carbon = by_carbon;
    if (job->country) return ADEPT_OK;
    const char *near = strlen(text) > 3 ? adept_nearest(text, country_name) : NULL;
    if (near)
        return adept_cli_usage(cli, "%s: '%s' is not %sa zone; did you mean '%s'?", option, text, or_number, near);
    return adept_cli_usage(cli, "%s: '%s' is not %sone of %s", option, text, or_number,
                           adept_names_list(codes, sizeof codes, country_code));
}

static adept_status parse_country(adept_cli *cli, const char *option, char *text, void *record)
{
    return take_zone(cli, option, text, false, record);
}

adept_status adept_option_carbon(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_job_spec *job = record;

    job->carbon_g_per_kwh = NAN;
    if (adept_number_length(text) == 0) return take_zone(cli, option, text, true, job);
    if (job->country_by_carbon) job->country = NULL; /* said before, and taken back */
    return adept_option_number(cli, option, text, 0, &job->carbon_g_per_kwh);
}

adept_status adept_option_pue(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_job_spec *job = record;

    job->pue_is_average = strcmp(text, "average") == 0;
    if (!job->pue_is_average) return adept_option_number(cli, option, text, 1, &job->pue);
    job->pue = ADEPT_PUE_AVERAGE;
    return ADEPT_OK;
}

static adept_status parse_price(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_job_spec *job = record;

    job->price_is_average = strcmp(text, "average") == 0;
    job->price_per_kwh = NAN;
    return job->price_is_average ? ADEPT_OK : adept_option_number(cli, option, text, 0, &job->price_per_kwh);
}

static const char *priced_code(size_t index)
{
    const adept_electricity_price *row = adept_electricity_price_at(index);

    return row ? row->code : NULL;
}

adept_status adept_rates_check(adept_cli *cli, adept_job_spec *j)
{
    char codes[64];

    if (!j->price_is_average) return ADEPT_OK;
    if (!j->country) return adept_cli_usage(cli, "--price average needs --country");
    for (size_t i = 0; (j->average_price = adept_electricity_price_at(i)); i++)
        if (strcmp(j->average_price->code, j->country->code) == 0) return ADEPT_OK;
    return adept_cli_usage(cli, "--price average: there is no price of %s, only of %s", j->country->name,
                           adept_names_list(codes, sizeof codes, priced_code));
}

static adept_status check_job(adept_cli *cli, void *record)
{
    adept_job_spec *j = record;

    if ((j->steps > 0) + (j->samples > 0) + (j->epochs > 0) > 1)
        return adept_cli_usage(cli, "--steps, --samples and --epochs exclude each other");
    if (j->epochs > 0 && j->dataset_size == 0)
        return adept_cli_usage(cli, "--epochs needs --dataset-size, the samples of an epoch");
    if (j->dataset_size > 0 && j->epochs == 0) return adept_cli_usage(cli, "--dataset-size needs --epochs");
    if (j->inference_batch > 0 && j->inferences == 0)
        return adept_cli_usage(cli, "--inference-batch needs --inferences");
    if (isnan(j->embodied_kg) != isnan(j->lifetime_years))
        return adept_cli_usage(cli, "--embodied KG and --board-lifetime YEARS need each other");
    if (adept_job_spec_given(j)) return adept_rates_check(cli, j);
    const bool by_carbon = !isnan(j->carbon_g_per_kwh) || (j->country && j->country_by_carbon);
    const char *option = by_carbon                                         ? "--carbon-intensity"
                         : j->country                                      ? "--country"
                         : j->price_is_average || !isnan(j->price_per_kwh) ? "--price"
                         : !isnan(j->gpu_hour_price)                       ? "--gpu-hour-price"
                         : !isnan(j->pue)                                  ? "--pue"
                         : !isnan(j->host_power_w)                         ? "--host-power"
                         : !isnan(j->embodied_kg)                          ? "--embodied"
                         : j->inferences > 0                               ? "--inferences"
                                                                           : NULL;
    return option ? adept_cli_usage(cli, "%s needs --steps, --samples or --epochs", option) : ADEPT_OK;
}

static void init_job(void *record)
{
    adept_job_spec *job = record;

    job->carbon_g_per_kwh = job->price_per_kwh = job->gpu_hour_price = job->pue = job->host_power_w = NAN;
    job->embodied_kg = job->lifetime_years = NAN;
}

static const adept_option_row rate_rows[] = {
    {"country", "CODE|NAME", 3,
     "Where the site is: DE, Germany, EU, WORLD, ...: the average intensity of its grid, unless --carbon-intensity "
     "gives one",
     ADEPT_OPT_PARSED, .parse = parse_country},
    {"price", "P", 3,
     "Price of a kWh, in any currency, or `average`: what businesses of the country paid, in USD. Adds the cost to the "
     "totals",
     ADEPT_OPT_PARSED, .parse = parse_price},
    {"gpu-hour-price", "P", 3, "Price of an hour of one GPU, in the same currency: is added to the cost",
     ADEPT_OPT_NUMBER, .at = IN_JOB(gpu_hour_price)},
    {"pue", "X", 3,
     "Power usage effectiveness of the site, at least 1, or `average` (1.56, of a survey): multiplies emissions and "
     "cost, not the energy of the GPUs",
     ADEPT_OPT_PARSED, .parse = adept_option_pue, .expert = true},
    {"host-power", "W", 3, "Watts of one node beside its GPUs (processors, memory, fans), added to the site's",
     ADEPT_OPT_NUMBER, .at = IN_JOB(host_power_w), .expert = true},
    {0},
};

const adept_options adept_rate_options_of = {.rows = rate_rows, .init = init_job};

static const adept_option_row job_rows[] = {
    {.group = 3, .help = "The whole job:"},
    {"steps", "N", 3, "Print the totals of N steps", ADEPT_OPT_COUNT, .at = IN_JOB(steps), .low = 1},
    {"samples", "N", 3, "Print the totals of N samples, rounded up to whole steps", ADEPT_OPT_COUNT,
     .at = IN_JOB(samples), .low = 1, .expert = true},
    {"epochs", "N", 3, "Print the totals of N epochs, each rounded up to whole steps", ADEPT_OPT_COUNT,
     .at = IN_JOB(epochs), .low = 1},
    {"dataset-size", "N", 3, "Samples of an epoch", ADEPT_OPT_COUNT, .at = IN_JOB(dataset_size), .low = 1},
    {"inferences", "N", 3,
     "Inferences of the model over its life, beside the job that trains it: samples in mode infer, or with --prompt "
     "and --tokens queries. Adds them to the totals, and says from how many on they take more than the training",
     ADEPT_OPT_COUNT, .at = IN_JOB(inferences), .low = 1, .expert = true},
    {"inference-batch", "N", 3, "How many of them run at a time on a GPU. Default: the batch of the training",
     ADEPT_OPT_COUNT, .at = IN_JOB(inference_batch), .low = 1, .expert = true},
    {"carbon-intensity", "G|ZONE", 3,
     "Grams of CO2e per kWh, or where the site is, as --country: adds the emissions to the totals", ADEPT_OPT_PARSED,
     .parse = adept_option_carbon, .also = "carbon", .expert = true},
    {"embodied", "KG", 3,
     "CO2e of making one board, in kg: the job's share of the boards' lives stands beside its emissions, in no sum "
     "with them",
     ADEPT_OPT_NUMBER, .at = IN_JOB(embodied_kg), .expert = true},
    {"board-lifetime", "YEARS", 3, "How long a board is used, for --embodied", ADEPT_OPT_ABOVE_0,
     .at = IN_JOB(lifetime_years), .expert = true},
    {0},
};

const adept_options adept_total_options_of = {
    .rows = job_rows, .check = check_job, .parts = {{&adept_rate_options_of, 0}}};
