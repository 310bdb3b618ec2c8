/** @file calibrate_layouts.c  `adept calibrate --layouts`: rows of layouts to a factor of time for each software stack.
 */
#include "adept_file.h"
#include "calibrate_options.h"
#include "report_fit.h"
#include "table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct layouts_options {
    adept_measurement_options measurements;
    const char *output; /* NULL: none */
    bool layouts;
} layouts_options;

#define AT(member) offsetof(layouts_options, member)

static const adept_option_row rows[] = {
    {"layouts", NULL, 1,
     "Fit one factor of time to the rows of each software stack, which the column `stack` names, or else `source`",
     ADEPT_OPT_FLAG, .at = AT(layouts)},
    {"output", "OUT.json", 6, "Write the factors, which evaluate --stacks reads", ADEPT_OPT_FILE, .at = AT(output),
     .written = true, .letter = 'o'},
    {0},
};

static const adept_options options_of = {.rows = rows};

/* {"schema_version", "files", "layouts", "unsaid", ...}: as evaluate --json, without rows. malloc'ed */
static char *to_json(const adept_layout_report *r, const adept_dataset *d)
{
    adept_json_writer w = {0};

    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    adept_json_begin_array(&w, "files");
    for (size_t i = 0; i < d->n_files; i++)
        adept_json_put_object(&w, NULL, "name %s sha256 %s rows %jd", d->files[i].name, d->files[i].sha256,
                              (intmax_t)d->files[i].n_rows);
    adept_json_end_array(&w);
    adept_layout_report_put(&w, r);
    adept_json_put_strings(&w, "warnings", d->warnings, d->n_warnings);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

static adept_status print(adept_cli *cli, const layouts_options *o, const adept_layout_report *r,
                          const adept_evaluation *e, const adept_dataset *d)
{
    char *text = to_json(r, d);
    adept_status status = text ? ADEPT_OK : adept_cli_no_memory(cli);

    if (status == ADEPT_OK && o->output) status = adept_file_write(o->output, text, strlen(text), &cli->err);
    if (status == ADEPT_OK && o->measurements.json) return adept_json_print(cli, text);
    if (status == ADEPT_OK) {
        fprintf(stdout, "Rows    %zu of %zu file%s\n", e->n, d->n_files, d->n_files == 1 ? "" : "s");
        status = adept_report_layouts(cli, stdout, r, &e->overall.memory);
        adept_report_unused(stdout, d);
        if (status == ADEPT_OK && o->output)
            adept_print_format(stdout, "Written: %s; adept evaluate ROWS.csv --stacks %s\n", o->output, o->output);
    }
    free(text);
    return status;
}

static adept_status run(adept_cli *cli, void *options)
{
    layouts_options *o = options;
    adept_progress progress;
    adept_dataset *d = NULL;
    adept_hwprofile *hw = NULL;
    adept_evaluation *e = NULL;
    adept_layout_report *r = NULL;

    adept_progress_init(&progress);
    o->measurements.listing = true;
    if (o->measurements.plot) return adept_cli_usage(cli, "--plot draws no factors of stacks: evaluate --stacks does");
    adept_status status = o->output ? adept_measurement_output_check(cli, o->output) : ADEPT_OK;
    if (status == ADEPT_OK) status = adept_load_measurements(cli, &d, &hw, NULL, &o->measurements, &progress);
    if (status == ADEPT_OK)
        status = adept_evaluation_new(&e, d->arena, d->rows, d->n, o->measurements.by.words, o->measurements.by.n,
                                      &cli->err);
    if (status == ADEPT_OK) status = adept_layout_report_new(&r, d->arena, e, &cli->err);
    if (status == ADEPT_OK && r->overall.as_is.n == 0)
        status = adept_error_set(&cli->err, ADEPT_E_FIT, "%s: no row that can be used has a step_time_s",
                                 o->measurements.files.words[0]);
    if (status == ADEPT_OK) status = print(cli, o, r, e, d);
    adept_dataset_free(d);
    adept_hwprofile_free(hw);
    return status;
}

static const char *const words[] = {"--layouts", NULL};

const adept_command adept_calibrate_layouts = {
    .name = "calibrate",
    .summary = "fit factors of software stacks to rows of layouts",
    .usage = "--layouts ROWS.csv... [-o OUT.json]",
    .doc = "Fit one factor of time to the rows of each software stack, and say what it is worth on rows that were left "
           "out: the row itself, or all of its source."
           "\vExamples:\n"
           "  adept calibrate --layouts layouts.csv -o stacks.json\n"
           "  adept calibrate --layouts a.csv b.csv --json",
    .size = sizeof(layouts_options),
    .options = {.parts = {{&options_of, 0}, {&adept_measurement_options_of, 0}}},
    .arguments = {"a ROWS.csv", NULL, ADEPT_ANY_NUMBER, offsetof(layouts_options, measurements.files)},
    .run = run,
    .words = words,
};
