/** @file cmd_explain.c  `adept explain`: what limits a step, and what would help, in sentences. */
#include "explain.h"
#include "table.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct explain_options {
    adept_step_options step;
    bool all, markdown, json;
} explain_options;

#define AT(member) offsetof(explain_options, member)

static adept_status check(adept_cli *cli, void *record)
{
    const explain_options *o = record;

    if (o->markdown && o->json) return adept_cli_usage(cli, "--markdown and --json exclude each other");
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 3, .help = "What is printed:"},
    {"all", NULL, 3,
     "Also the table of all elasticities: percent of time, power and energy for each percent of every number of the "
     "GPU, the run and the fit",
     ADEPT_OPT_FLAG, .at = AT(all)},
    {"markdown", NULL, 3, "Print Markdown", ADEPT_OPT_FLAG, .at = AT(markdown)},
    {"json", NULL, 3, "Print JSON: that of predict, and all numbers of the explanation in \"explain\"", ADEPT_OPT_FLAG,
     .at = AT(json)},
    {0},
};

static adept_status explain(adept_cli *cli, void *options)
{
    static const adept_grouping by_layer = {.by = ADEPT_BY_LAYER, .given = true};
    explain_options *o = options;
    adept_predicted_step step = {0};
    adept_explanation *x = calloc(1, sizeof *x);

    if (!x) return adept_cli_no_memory(cli);
    adept_status status = adept_step_find_batch(cli, &o->step, NULL);
    if (status == ADEPT_OK) status = adept_predicted_step_make(cli, &step, &o->step, NULL, &by_layer);
    if (status == ADEPT_OK && step.layout && !step.layout->mesh.plain && o->all)
        status = adept_cli_usage(cli, "--all: there are no elasticities of a layout");
    if (status == ADEPT_OK) status = adept_explain(cli, x, &step);
    if (status == ADEPT_OK && o->json) {
        adept_json_writer w;
        adept_explanation_put_json(&w, x);
        status = adept_json_emit(cli, &w);
    } else if (status == ADEPT_OK) {
        status = adept_report_explanation(cli, stdout, x, o->markdown, o->all);
    }
    adept_explanation_free(x);
    adept_predicted_step_free(&step);
    free(x);
    return status;
}

const adept_command adept_command_explain = {
    .name = "explain",
    .summary = "what limits a step and what would help, in sentences",
    .usage = "MODEL|PROFILE --gpu NAME|FILE",
    .doc = "Explain a step in sentences: what it costs and how sure that is, what limits it, which layers take its "
           "time, and what would help by how much. Every number comes from a prediction of its own."
           "\vExamples:\n"
           "  adept explain resnet50 --gpu a100\n"
           "  adept explain gpt2.pt --gpu h100 --precision bf16 --gpus 8 --all\n"
           "  adept explain llama-3-8b --gpu h100 --gpus 8 --fsdp full --precision bf16\n"
           "  adept explain resnet50.profile.json --gpu t4 --power-limit 60 --json",
    .size = sizeof(explain_options),
    .options = {.rows = rows, .check = check, .parts = {{&adept_step_options_of, AT(step)}}},
    .arguments = {"a MODEL or PROFILE", "one MODEL or PROFILE", 1, AT(step.model)},
    .run = explain,
};
