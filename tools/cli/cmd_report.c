/** @file cmd_report.c  `adept report`: a prediction as one HTML file with pictures. */
#include "adept_file.h"
#include "adept_model.h"
#include "gnuplot.h"
#include "json_out.h"
#include "report_html.h"
#include "run_options.h"
#include "total_options.h"
#include "units.h"
#include "vary.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEY_PLOTS = 0x300, KEY_JSON };

typedef struct report_options {
    const char *model, *output, *plots;
    bool json;
    adept_set_options set;
    adept_job_spec job;
    adept_run_options where;
    adept_workload_options workload;
} report_options;

static error_t check(const struct argp_state *state, const report_options *o)
{
    if (!o->model) return adept_cli_usage(state, "report needs a MODEL or PROFILE; see adept report --help");
    error_t wrong = adept_run_options_need_gpu(state, &o->where);
    if (!wrong) wrong = adept_run_options_check(state, &o->where);
    if (wrong) return wrong;
    if (!o->output && !o->plots) return adept_cli_usage(state, "report needs -o FILE.html or --plots DIR");
    if (o->output && strcmp(o->output, o->model) == 0)
        return adept_cli_usage(state, "-o: '%s' is the model itself", o->output);
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    report_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->workload;
        state->child_inputs[1] = &o->where;
        state->child_inputs[2] = &o->job;
        state->child_inputs[3] = &o->set;
        return 0;
    case 'o':
        o->output = arg;
        return *arg ? 0 : adept_cli_usage(state, "-o: the file name is empty");
    case KEY_PLOTS:
        o->plots = arg;
        return *arg ? 0 : adept_cli_usage(state, "--plots: the folder's name is empty");
    case KEY_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        return adept_cli_one_model(state, &o->model, arg);
    case ARGP_KEY_END:
        return check(state, o);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What is written:", 4},
    {"output", 'o', "FILE.html", 0, "The report: one file that needs no other and no network", 4},
    {"plots", KEY_PLOTS, "DIR", 0, "Its pictures as SVG files, in a folder that is made if need be", 4},
    {"json", KEY_JSON, NULL, 0, "Print what was written as JSON", 4},
    {0},
};

static const struct argp_child children[] = {{&adept_workload_argp, 0, NULL, 0},
                                             {&adept_run_argp, 0, NULL, 0},
                                             {&adept_total_argp, 0, NULL, 0},
                                             {&adept_set_argp, 0, NULL, 0},
                                             {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL|PROFILE --gpu NAME|FILE",
    .doc =
        "Write a prediction as a report for people: headline, what limits the step and what would help, where time and "
        "energy go layer by layer, roofline, power limits, memory, and where the numbers come from. Needs gnuplot."
        "\vExamples:\n"
        "  adept report resnet50.pt --gpu a100 -o resnet50.html\n"
        "  adept report llama.profile.json --gpu h100 --gpus 8 -o llama.html\n"
        "  adept report vit.pt --gpu a100 --samples 1281167 --country FR -o vit.html\n"
        "  adept report gpt2.pt --gpu a100 --precision bf16 --plots pictures",
    .children = children,
};

/* ---------------------------------------------------------------- running it ------------------------------------- */

typedef struct work {
    adept_hwprofile *hw;
    adept_sweep_source source;
    adept_explanation *x; /* the prediction is its */
    adept_op_prediction *ops;
    adept_totals totals;
    adept_pictures pictures;
} work;

static void work_free(work *w)
{
    adept_pictures_free(&w->pictures);
    free(w->ops);
    if (w->x) adept_explanation_free(w->x);
    free(w->x);
    adept_sweep_source_close(&w->source);
    adept_hwprofile_free(w->hw);
}

static adept_status compute(adept_cli *cli, work *w, const report_options *o)
{
    const adept_run *run = &o->where.run;
    adept_status status = adept_set_open(cli, &w->hw, o->where.gpu, &o->set);

    if (status == ADEPT_OK) status = adept_sweep_source_open(cli, &w->source, o->model, &o->workload);
    if (status != ADEPT_OK) return status;
    w->x = calloc(1, sizeof *w->x);
    w->ops = calloc(w->source.base->n_ops + 1, sizeof *w->ops);
    if (!w->x || !w->ops) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    status = adept_explain(cli, w->x, &w->source, w->hw, run);
    if (status != ADEPT_OK) return status;
    adept_set_warn(&w->x->p, &o->set);
    w->totals = adept_totals_of(&o->job, &w->x->p, w->x->profile, run);
    return adept_predict_ops(w->ops, w->x->profile, w->hw, run, &cli->err);
}

static adept_prediction_report report_of(const work *w, const report_options *o)
{
    return (adept_prediction_report){
        .profile = w->x->profile,
        .hw = w->hw,
        .run = &o->where.run,
        .prediction = &w->x->p,
        .totals = adept_job_spec_given(&o->job) ? &w->totals : NULL,
        .limits = &w->x->limits,
        .groups = &w->x->layers,
    };
}

static adept_status write_plots(adept_cli *cli, const adept_pictures *p, const char *folder)
{
    adept_status status = ADEPT_OK;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return adept_error_set(&cli->err, ADEPT_E_IO, "%s: %s", folder, strerror(errno));
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

static adept_status write_report(adept_cli *cli, const adept_prediction_report *r, const work *w, const char *path,
                                 size_t *size)
{
    char *html = adept_report_html(r, &w->pictures, w->x, size);

    if (!html) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while writing the report");
    adept_status status = adept_file_write(path, html, *size, &cli->err);
    free(html);
    return status;
}

static adept_status print_json(adept_cli *cli, const report_options *o, const adept_pictures *p, size_t size)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    adept_json_put_string(&w, "report", o->output);
    adept_json_put_number(&w, "report_bytes", (double)size);
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
    const adept_prediction_report r = report_of(w, o);
    size_t size = 0;
    adept_status status = adept_pictures_draw(cli, &w->pictures, &r, w->ops, &w->x->elasticities);

    if (status == ADEPT_OK && o->output) status = write_report(cli, &r, w, o->output, &size);
    if (status == ADEPT_OK && o->plots) status = write_plots(cli, &w->pictures, o->plots);
    return status == ADEPT_OK ? print_written(cli, o, &w->pictures, size) : status;
}

static adept_status report(adept_cli *cli, const void *options_given)
{
    const report_options *o = options_given;
    work w = {.hw = NULL};
    adept_status status = adept_gnuplot_check("report", &cli->err);

    if (status == ADEPT_OK) status = compute(cli, &w, o);
    if (status == ADEPT_OK) status = write_all(cli, &w, o);
    work_free(&w);
    return status;
}

static void release(void *options_given)
{
    adept_set_options_free(&((report_options *)options_given)->set);
}

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    static const adept_cli_body body = {&argp, "report", sizeof(report_options), report, release};

    return adept_cli_run(&body, cli, argc, argv);
}

const adept_command adept_command_report = {"report", "write a prediction as an HTML report with pictures", run};
