/** @file cmd_report.c  `adept report`: a prediction as one HTML file with pictures. */
#include "adept_file.h"
#include "gnuplot.h"
#include "table.h"
#include "report_pictures.h"
#include "units.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct report_options {
    adept_step_options step;
    const char *output, *plots;
    bool json;
    adept_job_spec job;
} report_options;

#define AT(member) offsetof(report_options, member)

static adept_status check(adept_cli *cli, void *record)
{
    const report_options *o = record;

    if (o->plots && !*o->plots) return adept_cli_usage(cli, "--plots: the folder's name is empty");
    if (!o->output && !o->plots) return adept_cli_usage(cli, "report needs -o FILE.html or --plots DIR");
    if (o->output && strcmp(o->output, o->step.model) == 0)
        return adept_cli_usage(cli, "-o: '%s' is the model itself", o->output);
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 4, .help = "What is written:"},
    {"output", "FILE.html", 4, "The report: one file that needs no other and no network", ADEPT_OPT_FILE,
     .at = AT(output), .letter = 'o'},
    {"plots", "DIR", 4, "Its pictures as SVG files, in a folder that is made if need be", ADEPT_OPT_TEXT,
     .at = AT(plots)},
    {"json", NULL, 4, "Print what was written as JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* ---------------------------------------------------------------- running it ------------------------------------- */

typedef struct work {
    adept_predicted_step step;
    adept_explanation *x; /* of it */
    adept_pictures pictures;
} work;

static void work_free(work *w)
{
    adept_pictures_free(&w->pictures);
    if (w->x) adept_explanation_free(w->x);
    free(w->x);
    adept_predicted_step_free(&w->step);
}

static adept_status compute(adept_cli *cli, work *w, const report_options *o)
{
    static const adept_grouping by_layer = {.by = ADEPT_BY_LAYER};
    adept_status status = adept_predicted_step_make(cli, &w->step, &o->step, &o->job, &by_layer);
    if (status == ADEPT_OK && w->step.layout) /* its layers are nobody's alone */
        status = adept_cli_usage(cli, "a layout (--tp, --pp, --fsdp, ...) is what adept predict takes");

    if (status != ADEPT_OK) return status;
    w->x = calloc(1, sizeof *w->x);
    return w->x ? adept_explain(cli, w->x, &w->step) : adept_cli_no_memory(cli);
}

static adept_status write_plots(adept_cli *cli, const adept_pictures *p, const char *folder)
{
    adept_status status = ADEPT_OK;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST) return adept_system_error(&cli->err, ADEPT_E_IO, folder);
    for (int i = 0; i < ADEPT_PICTURE_COUNT && status == ADEPT_OK; i++) {
        char *path;
        if (!p->svg[i]) continue;
        if (asprintf(&path, "%s/%s", folder, adept_picture_file((adept_picture_id)i)) < 0)
            return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
        status = adept_file_write(path, p->svg[i], p->size[i], &cli->err);
        free(path);
    }
    return status;
}

static adept_status write_report(adept_cli *cli, const work *w, const char *path, size_t *size)
{
    char *html = adept_report_html(w->x, &w->pictures, size);

    if (!html) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while writing the report");
    adept_status status = adept_file_write(path, html, *size, &cli->err);
    free(html);
    return status;
}

static adept_status print_json(adept_cli *cli, const report_options *o, const adept_pictures *p, size_t size)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd report %s report_bytes %jd", (intmax_t)1, o->output, (intmax_t)size);
    adept_json_begin_array(&w, "plots");
    for (int i = 0; o->plots && i < ADEPT_PICTURE_COUNT; i++)
        if (p->svg[i]) adept_json_put_string(&w, NULL, adept_picture_file((adept_picture_id)i));
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}

static adept_status print_written(adept_cli *cli, const report_options *o, const adept_pictures *p, size_t size)
{
    if (o->json) return print_json(cli, o, p, size);
    if (o->output) printf("%s: %s\n", o->output, adept_units_bytes((double)size).s);
    for (int i = 0; o->plots && i < ADEPT_PICTURE_COUNT; i++)
        if (p->svg[i]) printf("%s/%s\n", o->plots, adept_picture_file((adept_picture_id)i));
    return ADEPT_OK;
}

static adept_status write_all(adept_cli *cli, work *w, const report_options *o)
{
    size_t size = 0;
    adept_status status = adept_pictures_draw(cli, &w->pictures, w->x);

    if (status == ADEPT_OK && o->output) status = write_report(cli, w, o->output, &size);
    if (status == ADEPT_OK && o->plots) status = write_plots(cli, &w->pictures, o->plots);
    return status == ADEPT_OK && !adept_cli_prints(o->output) ? print_written(cli, o, &w->pictures, size) : status;
}

static adept_status report(adept_cli *cli, void *options)
{
    const report_options *o = options;
    work w = {.x = NULL};
    adept_status status = adept_gnuplot_check("report", &cli->err);

    if (status == ADEPT_OK) status = compute(cli, &w, o);
    if (status == ADEPT_OK) status = write_all(cli, &w, o);
    work_free(&w);
    return status;
}

const adept_command adept_command_report = {
    .name = "report",
    .summary = "write a prediction as an HTML report with pictures",
    .usage = "MODEL|PROFILE --gpu NAME|FILE",
    .doc =
        "Write a prediction as a report for people: headline, what limits the step and what would help, where time and "
        "energy go layer by layer, roofline, power limits, memory, and where the numbers come from. Needs gnuplot."
        "\vExamples:\n"
        "  adept report resnet50 --gpu a100 -o resnet50.html\n"
        "  adept report llama.profile.json --gpu h100 --gpus 8 -o llama.html\n"
        "  adept report vit.pt --gpu a100 --samples 1281167 --country FR -o vit.html\n"
        "  adept report gpt2.pt --gpu a100 --precision bf16 --plots pictures",
    .size = sizeof(report_options),
    .options = {.rows = rows,
                .check = check,
                .parts = {{&adept_step_options_of, AT(step)}, {&adept_total_options_of, AT(job)}}},
    .arguments = {"a MODEL or PROFILE", "one MODEL or PROFILE", 1, AT(step.model)},
    .run = report,
};
