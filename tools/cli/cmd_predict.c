/** @file cmd_predict.c  `adept predict`: time, power and energy of a step on a GPU. */
#include "adept_model.h"
#include "adept_prediction_json.h"
#include "cli.h"
#include "energy_label.h"
#include "groups.h"
#include "groups_json.h"
#include "json_out.h"
#include "load.h"
#include "report.h"
#include "run_options.h"
#include "total_options.h"
#include "vary.h"
#include <stdio.h>
#include <stdlib.h>

enum { KEY_LABEL = 0x300, KEY_JSON };

typedef struct predict_options {
    const char *model;
    const char *label; /* file to write; NULL: none */
    adept_set_options set;
    bool json;
    adept_job_spec job;
    adept_grouping grouping;
    adept_run_options where;
    adept_workload_options workload;
} predict_options;

static error_t check(const struct argp_state *state, const predict_options *o)
{
    if (!o->model) return adept_cli_usage(state, "predict needs a MODEL or PROFILE; see adept predict --help");
    error_t wrong = adept_run_options_need_gpu(state, &o->where);
    if (!wrong) wrong = adept_run_options_check(state, &o->where);
    if (wrong) return wrong;
    if (o->label && !adept_job_spec_given(&o->job))
        return adept_cli_usage(state, "--label needs --steps, --samples or --epochs");
    if (o->label && !adept_label_format_of(o->label))
        return adept_cli_usage(state, "--label: '%s' ends in neither .md nor .json", o->label);
    if (o->label && o->set.n > 0)
        return adept_cli_usage(state, "--label and --set exclude each other: a label is of hardware that there is");
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    predict_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->workload;
        state->child_inputs[1] = &o->where;
        state->child_inputs[2] = &o->job;
        state->child_inputs[3] = &o->grouping;
        state->child_inputs[4] = &o->set;
        return 0;
    case KEY_LABEL:
        o->label = arg;
        return 0;
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
    {"label", KEY_LABEL, "FILE.md|FILE.json", 0,
     "Write an energy label of the job for a model card, as Markdown or as JSON by the file's name", 3},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 4},
    {0},
};

static const struct argp_child children[] = {{&adept_workload_argp, 0, NULL, 0}, {&adept_run_argp, 0, NULL, 0},
                                             {&adept_total_argp, 0, NULL, 0},    {&adept_grouping_argp, 0, NULL, 0},
                                             {&adept_set_argp, 0, NULL, 0},      {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL|PROFILE --gpu NAME|FILE",
    .doc =
        "Predict time, power and energy of one step. MODEL is a TorchScript .pt or a torch.export .pt2; nothing of it "
        "is run. PROFILE is what `adept profile -o` wrote."
        "\vExamples:\n"
        "  adept predict resnet50.pt --gpu a100\n"
        "  adept predict resnet50.pt --gpu h100 --precision bf16 --batch 512 --by layer\n"
        "  adept predict gpt2.pt --input i64:Bx1024 --batch 8 --gpu a100 --gpus 4\n"
        "  adept predict a.pt --gpu t4 --gpus 8 --nodes 2 --internode-bandwidth 5GB/s\n"
        "  adept predict resnet50.profile.json --gpu a100 --power-limit 250\n"
        "  adept predict resnet50.profile.json --gpu a100 --clock 1200\n"
        "  adept predict vit.profile.json --gpu a100 --set specs.l2_bytes=x2\n"
        "  adept predict resnet50.pt --gpu a100 --granularity model\n"
        "  adept predict vit.pt --gpu a100 --steps 500 --carbon-intensity 56\n"
        "  adept predict v.pt --gpu a100 --epochs 9 --dataset-size 1281167 --country FR\n"
        "  adept predict a.pt --gpu t4 --steps 100 --country SE --label label.md\n"
        "  adept predict resnet50.pt --gpu ./mine.json --mode infer --json",
    .children = children,
};

/* ---------------------------------------------------------------- running it ------------------------------------- */

/* Everything a prediction needs and gives; freed together. */
typedef struct work {
    adept_profile *profile;
    adept_hwprofile *hw;
    adept_prediction prediction;
    adept_power_limits limits;
    adept_op_prediction *ops;
    adept_groups groups;
    adept_totals totals;
    bool has_totals;
} work;

static void work_free(work *w)
{
    adept_groups_free(&w->groups);
    free(w->ops);
    adept_hwprofile_free(w->hw);
    adept_profile_free(w->profile);
}

static adept_status compute(adept_cli *cli, work *w, const predict_options *o)
{
    adept_status status = adept_set_open(cli, &w->hw, o->where.gpu, &o->set); /* found before a slow load */

    if (status == ADEPT_OK) status = adept_load_profile(cli, &w->profile, o->model, &o->workload);
    if (status == ADEPT_OK) status = adept_predict(&w->prediction, w->profile, w->hw, &o->where.run, &cli->err);
    if (status == ADEPT_OK)
        status = adept_predict_power_limits(&w->limits, w->profile, w->hw, &o->where.run, &cli->err);
    if (status != ADEPT_OK) return status;
    adept_set_warn(&w->prediction, &o->set);
    w->has_totals = adept_job_spec_given(&o->job);
    w->totals = adept_totals_of(&o->job, &w->prediction, w->profile, &o->where.run);
    w->ops = calloc(w->profile->n_ops + 1, sizeof *w->ops);
    if (!w->ops) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    status = adept_predict_ops(w->ops, w->profile, w->hw, &o->where.run, &cli->err);
    return status == ADEPT_OK ? adept_groups_make(cli, &w->groups, w->profile, w->ops, &o->grouping) : status;
}

/* CONTRACT: "layers", in the model's order. malloc'ed. */
static adept_layer_prediction *layers_of(const work *w)
{
    adept_layer_prediction *layers = calloc(w->groups.n + 1, sizeof *layers);
    double passes = (double)w->profile->grad_accum;

    for (size_t i = 0; layers && i < w->groups.n; i++) {
        const adept_group *g = &w->groups.rows[i];
        const adept_profile_totals *t = &g->totals;
        layers[i] = (adept_layer_prediction){
            .path = g->name,
            .module_class = g->module_class,
            .count = g->count,
            .time_s = g->time_s,
            .energy_j = g->energy_j,
            .flops = passes * adept_group_flops(g),
            .bytes_read = passes * (t->bytes_read[ADEPT_FORWARD] + t->bytes_read[ADEPT_BACKWARD]),
            .bytes_written = passes * (t->bytes_written[ADEPT_FORWARD] + t->bytes_written[ADEPT_BACKWARD]),
            .bound = adept_group_bound(g),
        };
    }
    return layers;
}

static adept_status print_json(adept_cli *cli, const work *w, const predict_options *o)
{
    bool by_layer = o->grouping.given && o->grouping.by == ADEPT_BY_LAYER;
    adept_layer_prediction *layers = by_layer ? layers_of(w) : NULL;
    char *json = NULL;
    adept_json_writer out;

    if (!by_layer || layers)
        json = adept_prediction_to_json(&w->prediction, w->profile, w->hw, &o->where.run,
                                        w->has_totals ? &w->totals : NULL, &w->limits, layers, w->groups.n);
    free(layers);
    adept_json_continue(&out, json);
    if (o->grouping.given && !by_layer)
        adept_groups_put_json(&out, &w->groups, &o->grouping, (double)w->profile->grad_accum, ADEPT_ROWS_PREDICTED);
    adept_json_end_object(&out);
    return adept_json_emit(cli, &out);
}

static adept_status print_text(adept_cli *cli, work *w, const predict_options *o)
{
    const adept_prediction_report report = {
        .profile = w->profile,
        .hw = w->hw,
        .run = &o->where.run,
        .prediction = &w->prediction,
        .totals = w->has_totals ? &w->totals : NULL,
        .limits = &w->limits,
        .groups = &w->groups,
        .grouping = &o->grouping,
    };
    adept_status status = adept_groups_sort(cli, &w->groups);

    return status == ADEPT_OK ? adept_report_prediction(cli, stdout, &report) : status;
}

static adept_status write_label(adept_cli *cli, const work *w, const predict_options *o)
{
    const adept_label label = {w->profile, w->hw, &o->where.run, &w->prediction, &w->totals};

    return adept_label_write(cli, o->label, &label);
}

static adept_status predict(adept_cli *cli, const void *options_given)
{
    const predict_options *o = options_given;
    work w = {.profile = NULL};
    adept_status status = compute(cli, &w, o);

    if (status == ADEPT_OK && o->label) status = write_label(cli, &w, o);
    if (status == ADEPT_OK) status = o->json ? print_json(cli, &w, o) : print_text(cli, &w, o);
    work_free(&w);
    return status;
}

static void release(void *options_given)
{
    adept_set_options_free(&((predict_options *)options_given)->set);
}

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    static const adept_cli_body body = {&argp, "predict", sizeof(predict_options), predict, release};

    return adept_cli_run(&body, cli, argc, argv);
}

const adept_command adept_command_predict = {"predict", "predict time, power and energy of a step on a GPU", run};
