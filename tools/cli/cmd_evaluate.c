/** @file cmd_evaluate.c  `adept evaluate`: predictions against measurements, without fitting. */
#include "adept_fit_report.h"
#include "gnuplot.h"
#include "table.h"
#include "measurement_options.h"
#include "plot.h"
#include "report_fit.h"
#include <stdio.h>

static const char *const default_by[] = {"model", "precision", "gpus"};

static adept_status print(adept_cli *cli, const adept_measurement_options *o, const adept_evaluation *e,
                          adept_dataset *d, const adept_hwprofile *hw)
{
    size_t n_warnings;
    const char *const *warnings = adept_measurement_warnings(d, true, &n_warnings);

    if (!warnings) return adept_cli_no_memory(cli);
    if (!o->json) return adept_report_evaluation(cli, stdout, e, d, hw, warnings, n_warnings);
    return adept_json_print(cli, adept_evaluation_to_json(e, hw, d, warnings, n_warnings));
}

/* The GPU of all rows; NULL: they are of several. */
static const adept_hwprofile *only_gpu(const adept_dataset *d)
{
    for (size_t i = 1; i < d->n; i++)
        if (d->rows[i].hw != d->rows[0].hw) return NULL;
    return d->n > 0 ? d->rows[0].hw : NULL;
}

static adept_status evaluate(adept_cli *cli, void *options)
{
    adept_measurement_options *o = options;
    adept_progress progress;
    adept_dataset *d = NULL;
    adept_hwprofile *hw = NULL;
    adept_evaluation *e = NULL;

    adept_progress_init(&progress);
    o->listing = true;
    adept_status status = o->plot ? adept_measurement_output_check(cli, o->plot, &o->files) : ADEPT_OK;
    if (status == ADEPT_OK) status = adept_load_measurements(cli, &d, &hw, NULL, o, &progress);
    if (status == ADEPT_OK && !adept_dataset_settle_unknown(d)) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK) status = adept_dataset_find_in_sample(d, hw, &cli->err);
    if (status == ADEPT_OK && o->plot) status = adept_gnuplot_check("--plot", &cli->err);
    if (status == ADEPT_OK)
        status = adept_evaluation_new(&e, d->arena, d->rows, d->n, o->by.n ? o->by.words : default_by,
                                      o->by.n ? o->by.n : sizeof default_by / sizeof *default_by, &cli->err);
    if (status == ADEPT_OK && o->plot) status = adept_plot_errors(o->plot, e, NULL, hw->name, &cli->err);
    if (status == ADEPT_OK) status = print(cli, o, e, d, hw);
    adept_dataset_free(d);
    adept_hwprofile_free(hw);
    return status;
}

const adept_command adept_command_evaluate = {
    .name = "evaluate",
    .summary = "compare predictions with measurements",
    .usage = "MEASUREMENTS.csv... [--gpu NAME|FILE]",
    .doc = "Compare predictions with measurements: errors overall, by columns, and of single rows. Nothing is fitted."
           "\vExamples:\n"
           "  adept evaluate runs.csv --gpu a100\n"
           "  adept evaluate a.csv b.csv --gpu ./mine.json --by model,batch_size\n"
           "  adept evaluate runs.csv --gpu ./mine.json --plot errors.svg\n"
           "  adept evaluate runs.csv --gpu ./mine.json --by model+precision --json",
    .size = sizeof(adept_measurement_options),
    .options = {.parts = {{&adept_measurement_options_of, 0}}},
    .arguments = {"a MEASUREMENTS.csv", NULL, ADEPT_ANY_NUMBER, offsetof(adept_measurement_options, files)},
    .run = evaluate,
};
