/** @file cmd_evaluate.c  `adept evaluate`: predictions against measurements, without fitting. */
#include "adept_fit_report.h"
#include "gnuplot.h"
#include "table.h"
#include "measurement_options.h"
#include "plot.h"
#include "report_fit.h"
#include <stdio.h>

static const char *const default_by[] = {"model", "precision", "gpus"};

typedef struct evaluate_options {
    adept_measurement_options measurements;
    const char *stacks; /* NULL: no factors */
} evaluate_options;

static const adept_option_row rows[] = {
    {"stacks", "FILE", 1, "Factors of software stacks, as calibrate --layouts -o FILE wrote them, for times of layouts",
     ADEPT_OPT_FILE, .at = offsetof(evaluate_options, stacks)},
    {0},
};

static const adept_options options_of = {.rows = rows};

static adept_status apply_factors(adept_cli *cli, adept_evaluation **e, const evaluate_options *o, adept_dataset *d,
                                  const char *const *by, size_t n_by)
{
    adept_stack_factors factors;
    adept_status status = adept_stack_factors_read(&factors, d->arena, o->stacks, &cli->err);

    if (status != ADEPT_OK) return status;
    adept_stack_factors_apply(&factors, (*e)->rows, (*e)->n);
    return adept_evaluation_of(e, d->arena, (*e)->rows, (*e)->n, by, n_by, &cli->err);
}

static adept_status evaluate(adept_cli *cli, void *options)
{
    evaluate_options *all = options;
    adept_measurement_options *o = &all->measurements;
    const char *const *by = o->by.n ? o->by.words : default_by;
    const size_t n_by = o->by.n ? o->by.n : sizeof default_by / sizeof *default_by;
    adept_layout_report *layouts = NULL;
    const adept_hwprofile *one = NULL; /* the GPU of all rows; NULL: they are of several */
    size_t n_warnings;
    adept_progress progress;
    adept_dataset *d = NULL;
    adept_hwprofile *hw = NULL;
    adept_evaluation *e = NULL;

    adept_progress_init(&progress);
    o->listing = true;
    adept_status status = o->plot ? adept_measurement_output_check(cli, o->plot) : ADEPT_OK;
    if (status == ADEPT_OK) status = adept_load_measurements(cli, &d, &hw, NULL, o, &progress);
    if (status == ADEPT_OK && !adept_dataset_settle_unknown(d)) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK && d->n > 0) one = d->rows[0].hw;
    for (size_t i = 0; status == ADEPT_OK && i < d->n; i++) { /* the fits of which GPUs may be made of these files */
        if (d->rows[i].hw != d->rows[0].hw) one = NULL;
        if (i == 0 || d->rows[i].hw != d->rows[i - 1].hw)
            status = adept_dataset_find_in_sample(d, d->rows[i].hw, &cli->err);
    }
    if (status == ADEPT_OK && o->plot) status = adept_gnuplot_check("--plot", &cli->err);
    if (status == ADEPT_OK) status = adept_evaluation_new(&e, d->arena, d->rows, d->n, by, n_by, &cli->err);
    if (status == ADEPT_OK && all->stacks) status = apply_factors(cli, &e, all, d, by, n_by);
    for (size_t i = 0; status == ADEPT_OK && !layouts && i < d->n_files; i++)
        if (d->files[i].layouts) status = adept_layout_report_new(&layouts, d->arena, e, &cli->err);
    if (status == ADEPT_OK && o->plot)
        status = adept_plot_errors(o->plot, e, NULL, one ? one->name : "several GPUs", &cli->err);
    const char *const *warnings = status == ADEPT_OK ? adept_measurement_warnings(d, true, &n_warnings) : NULL;
    if (status == ADEPT_OK && !warnings)
        status = adept_cli_no_memory(cli);
    else if (status == ADEPT_OK && o->json)
        status = adept_json_print(cli, adept_evaluation_to_json(e, one, d, layouts, warnings, n_warnings));
    else if (status == ADEPT_OK)
        status = adept_report_evaluation(cli, stdout, e, d, one, layouts, warnings, n_warnings);
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
           "  adept evaluate layouts.csv --by stack --json\n"
           "  adept evaluate a.csv b.csv --gpu ./mine.json --by model,batch_size\n"
           "  adept evaluate runs.csv --gpu ./mine.json --plot errors.svg\n"
           "  adept evaluate runs.csv --gpu ./mine.json --by model+precision --json",
    .size = sizeof(evaluate_options),
    .options = {.parts = {{&adept_measurement_options_of, 0}, {&options_of, 0}}},
    .arguments = {"a MEASUREMENTS.csv", NULL, ADEPT_ANY_NUMBER, offsetof(evaluate_options, measurements.files)},
    .run = evaluate,
};
