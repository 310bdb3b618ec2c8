/** @file cmd_profile.c  `adept profile`: what one step of a model computes and moves, on no hardware in particular. */
#include "adept_file.h"
#include "groups.h"
#include "table.h"
#include "load.h"
#include "report.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct profile_options {
    const char *model;
    const char *output;
    const char *gpu; /* NULL: no roofline */
    bool json;
    adept_grouping grouping;
    adept_workload_options workload;
} profile_options;

#define AT(member) offsetof(profile_options, member)

static adept_status refuse_sizes(adept_cli *cli, const char *option, char *text, void *field)
{
    (void)text, (void)field;
    return adept_cli_usage(cli, "%s is no longer needed: what -o writes predicts at every batch and length", option);
}

/* A saved profile may take its own place, a model may not. */
static adept_status check_output(adept_cli *cli, const profile_options *o)
{
    adept_graph *graph = NULL;
    adept_workload_config config;

    if (access(o->model, F_OK) != 0 || !adept_file_is_same(o->output, o->model)) return ADEPT_OK;
    adept_status status = adept_saved_read(&graph, &config, o->model, 0, &cli->err);
    adept_graph_free(graph);
    if (status == ADEPT_OK || status == ADEPT_E_NOMEM) return status;
    return adept_cli_usage(cli, "--output: '%s' is read: it would be written over", o->output);
}

static adept_status check(adept_cli *cli, void *record)
{
    const profile_options *o = record;

    if (o->gpu && !o->grouping.given) return adept_cli_usage(cli, "--gpu is for the rows of --by layer, op or kind");
    return check_output(cli, o);
}

static const adept_option_row rows[] = {
    {"output", "FILE", 4,
     "Also write the profile with the model's graph to FILE, which stands for the model on machines without libtorch; "
     "-: to standard output, and nothing else",
     ADEPT_OPT_FILE, .at = AT(output), .letter = 'o'},
    {"batches", "SIZES", 4, NULL, ADEPT_OPT_PARSED, .parse = refuse_sizes},
    {"seq-lengths", "SIZES", 4, NULL, ADEPT_OPT_PARSED, .parse = refuse_sizes},
    {"gpu", "NAME|FILE", 4,
     "With --by: the side of this GPU's roofline each row lies on, and its least time at the sheet's peaks",
     ADEPT_OPT_TEXT, .at = AT(gpu)},
    {"json", NULL, 4, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* With --by the table's rows come behind the profile. */
static adept_status print_json(adept_cli *cli, const profile_options *o, const adept_profile *profile,
                               const adept_groups *groups)
{
    char *json = adept_profile_to_json(profile);
    adept_json_writer out;

    if (!json) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while printing JSON");
    adept_json_continue(&out, json);
    if (o->grouping.given)
        adept_groups_put_json(
            &out, groups,
            &(adept_group_view){o->grouping.by, o->gpu ? ADEPT_ROWS_ROOFLINE : ADEPT_ROWS_UNTIMED, .passes = 1});
    adept_json_end_object(&out);
    return adept_json_emit(cli, &out);
}

static adept_status make_groups(adept_cli *cli, const profile_options *o, const adept_profile *profile,
                                adept_groups *groups)
{
    adept_hwprofile *hw = NULL;
    adept_op_prediction *sides = NULL;
    adept_status status = ADEPT_OK;

    if (o->gpu) status = adept_load_gpu(cli, &hw, o->gpu);
    if (status == ADEPT_OK && o->gpu) status = adept_groups_roofline(cli, &sides, profile, hw);
    if (status == ADEPT_OK) status = adept_groups_make(cli, groups, profile, sides, &o->grouping);
    if (o->grouping.by != ADEPT_BY_LAYER) adept_groups_sort(groups); /* layers stay in the model's order */
    free(sides);
    adept_hwprofile_free(hw);
    return status;
}

static adept_status profile_model(adept_cli *cli, void *options)
{
    const profile_options *o = options;
    adept_graph *graph = NULL;
    adept_workload_config config;
    adept_profile *profile = NULL;
    adept_groups groups = {.n = 0};
    char *saved = NULL;
    adept_status status = adept_load_graph(cli, &graph, &config, o->model, &o->workload);

    if (status == ADEPT_OK) status = adept_load_walk(cli, &profile, graph, &config);
    if (status == ADEPT_OK && o->grouping.given) status = make_groups(cli, o, profile, &groups);
    if (status == ADEPT_OK && o->output) status = adept_saved_write(&saved, profile, graph, &config, &cli->err);
    if (status == ADEPT_OK && o->output) status = adept_file_write(o->output, saved, strlen(saved), &cli->err);
    free(saved);
    if (status == ADEPT_OK && !adept_cli_prints(o->output))
        status = o->json ? print_json(cli, o, profile, &groups)
                         : adept_report_profile(cli, stdout, profile, &groups, &o->grouping, o->gpu != NULL);
    adept_groups_free(&groups);
    adept_profile_free(profile);
    adept_graph_free(graph);
    return status;
}

const adept_command adept_command_profile = {
    .name = "profile",
    .summary = "count what a model computes and moves; save it with -o",
    .usage = "MODEL|PROFILE",
    .doc = "Count what one step of a model computes and moves. MODEL is a TorchScript .pt, a torch.export "
           ".pt2, a Hugging Face config.json or a folder with one, adept:FAMILY?key=value, or the name of a bundled "
           "model; nothing of it is run. PROFILE is what -o wrote."
           "\vExamples:\n"
           "  adept profile resnet50\n"
           "  adept profile resnet50 --batch 64 --precision bf16 --by layer --depth 1\n"
           "  adept profile resnet50 --by kind --gpu a100\n"
           "  adept profile ./Llama-3.1-8B --input i64:2x4096\n"
           "  adept profile bert.pt --input i64:Bx512 --batch 32 -o bert.profile.json\n"
           "  adept profile resnet50 --json > resnet50.json",
    .size = sizeof(profile_options),
    .options = {.rows = rows,
                .check = check,
                .parts = {{&adept_workload_options_of, AT(workload)}, {&adept_grouping_options_of, AT(grouping)}}},
    .arguments = {"a MODEL", "one MODEL", 1, AT(model)},
    .run = profile_model,
};
