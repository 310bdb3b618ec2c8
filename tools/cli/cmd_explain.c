/** @file cmd_explain.c  `adept explain`: what limits a step, and what would help, in sentences. */
#include "cli.h"
#include "explain.h"
#include "json_out.h"
#include "run_options.h"
#include "vary.h"
#include "workload_options.h"
#include <stdio.h>
#include <stdlib.h>

enum { KEY_ALL = 0x600, KEY_MARKDOWN, KEY_JSON };

typedef struct explain_options {
    const char *model;
    bool all, markdown, json;
    adept_set_options set;
    adept_run_options where;
    adept_workload_options workload;
} explain_options;

static error_t check(const struct argp_state *state, const explain_options *o)
{
    if (!o->model) return adept_cli_usage(state, "explain needs a MODEL or PROFILE; see adept explain --help");
    if (o->markdown && o->json) return adept_cli_usage(state, "--markdown and --json exclude each other");
    error_t wrong = adept_run_options_need_gpu(state, &o->where);
    return wrong ? wrong : adept_run_options_check(state, &o->where);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    explain_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->workload;
        state->child_inputs[1] = &o->where;
        state->child_inputs[2] = &o->set;
        return 0;
    case KEY_ALL:
        o->all = true;
        return 0;
    case KEY_MARKDOWN:
        o->markdown = true;
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
    {NULL, 0, NULL, 0, "What is printed:", 3},
    {"all", KEY_ALL, NULL, 0,
     "Also the table of all elasticities: percent of time, power and energy for each percent of every number of the "
     "GPU, "
     "the run and the fit",
     3},
    {"markdown", KEY_MARKDOWN, NULL, 0, "Print Markdown", 3},
    {"json", KEY_JSON, NULL, 0, "Print JSON: that of predict, and all numbers of the explanation in \"explain\"", 3},
    {0},
};

static const struct argp_child children[] = {
    {&adept_workload_argp, 0, NULL, 0}, {&adept_run_argp, 0, NULL, 0}, {&adept_set_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL|PROFILE --gpu NAME|FILE",
    .doc = "Explain a step in sentences: what it costs and how sure that is, what limits it, which layers take its "
           "time, and what would help by how much. Every number comes from a prediction of "
           "its own. Other precisions and fused attention are tried where MODEL is a model; a PROFILE has one of each."
           "\vExamples:\n"
           "  adept explain resnet50.pt --gpu a100\n"
           "  adept explain gpt2.pt --gpu h100 --precision bf16 --gpus 8 --all\n"
           "  adept explain resnet50.profile.json --gpu t4 --power-limit 60 --json",
    .children = children,
};

static adept_status print(adept_cli *cli, const adept_explanation *x, const explain_options *o)
{
    if (o->json) {
        adept_json_writer w;
        adept_explanation_put_json(&w, x);
        return adept_json_emit(cli, &w);
    }
    return adept_report_explanation(cli, stdout, x, o->markdown ? ADEPT_EXPLAIN_MARKDOWN : ADEPT_EXPLAIN_TEXT, o->all);
}

static adept_status explain(adept_cli *cli, const void *options_given)
{
    const explain_options *o = options_given;
    adept_hwprofile *hw = NULL;
    adept_sweep_source source = {0};
    adept_explanation *x = calloc(1, sizeof *x);

    if (!x) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = adept_set_open(cli, &hw, o->where.gpu, &o->set); /* found before a slow load */
    if (status == ADEPT_OK) status = adept_sweep_source_open(cli, &source, o->model, &o->workload);
    if (status == ADEPT_OK) status = adept_explain(cli, x, &source, hw, &o->where.run);
    if (status == ADEPT_OK) adept_set_warn(&x->p, &o->set);
    if (status == ADEPT_OK) status = print(cli, x, o);
    adept_explanation_free(x);
    adept_sweep_source_close(&source);
    adept_hwprofile_free(hw);
    free(x);
    return status;
}

static void release(void *options_given)
{
    adept_set_options_free(&((explain_options *)options_given)->set);
}

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    static const adept_cli_body body = {&argp, "explain", sizeof(explain_options), explain, release};

    return adept_cli_run(&body, cli, argc, argv);
}

const adept_command adept_command_explain = {"explain", "what limits a step and what would help, in sentences", run};
