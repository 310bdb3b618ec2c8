/** @file cmd_profile.c  `adept profile`: what one step of a model computes and moves, on no hardware in particular. */
#include "adept_file.h"
#include "cli.h"
#include "groups.h"
#include "groups_json.h"
#include "json_out.h"
#include "load.h"
#include "number.h"
#include "report.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POINTS 256

/* --batches or --seq-lengths */
typedef struct sizes {
    adept_size_range range; /* all 0: not given */
    int64_t points[MAX_POINTS];
} sizes;

typedef struct profile_options {
    const char *model;
    const char *output;
    const char *gpu; /* NULL: no roofline */
    sizes batches, lengths;
    bool json;
    adept_grouping grouping;
    adept_workload_options workload;
} profile_options;

enum { KEY_JSON = 0x300, KEY_GPU, KEY_BATCHES, KEY_SEQ_LENGTHS };

/* "A:B", or some of the sizes of a range: "1,2,64". */
static error_t parse_sizes(const struct argp_state *state, const char *option, char *arg, sizes *out)
{
    adept_size_range *r = &out->range;
    bool is_range = strchr(arg, ':') != NULL;
    const char *separator = is_range ? ":" : ",";
    r->n_points = 0;
    r->points = out->points;
    for (char *word; (word = strsep(&arg, separator));) {
        if (r->n_points == (is_range ? 2 : MAX_POINTS)) return adept_cli_usage(state, "%s: too many numbers", option);
        error_t error = adept_number_int(state, option, word, 1, &out->points[r->n_points++]);
        if (error) return error;
    }
    if (r->n_points < 2) return adept_cli_usage(state, "%s takes FROM:TO or N,N,...", option);
    r->low = r->high = out->points[0];
    for (size_t i = 1; i < r->n_points; i++) {
        if (out->points[i] < r->low) r->low = out->points[i];
        if (out->points[i] > r->high) r->high = out->points[i];
    }
    return is_range && r->low != out->points[0] ? adept_cli_usage(state, "%s: the range is empty", option) : 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    profile_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->workload;
        state->child_inputs[1] = &o->grouping;
        return 0;
    case 'o':
        o->output = arg;
        return *arg ? 0 : adept_cli_usage(state, "--output: the file name is empty");
    case KEY_GPU:
        o->gpu = arg;
        return 0;
    case KEY_BATCHES:
        return parse_sizes(state, "--batches", arg, &o->batches);
    case KEY_SEQ_LENGTHS:
        return parse_sizes(state, "--seq-lengths", arg, &o->lengths);
    case KEY_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->model) return adept_cli_usage(state, "profile takes one MODEL, '%s' is one too many", arg);
        o->model = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->gpu && !o->grouping.given)
            return adept_cli_usage(state, "--gpu is for the rows of --by layer, op or kind");
        return o->model ? 0 : adept_cli_usage(state, "profile needs a MODEL; see adept profile --help");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Also write the profile to FILE, which predict reads on machines without libtorch", 4},
    {"batches", KEY_BATCHES, "FROM:TO|N,N,...", 0,
     "Make the profile hold for every batch size from the smallest to the largest: predict --batch N then needs no "
     "model",
     4},
    {"seq-lengths", KEY_SEQ_LENGTHS, "FROM:TO|N,N,...", 0,
     "The same for every sequence length (S in --input): predict --seq-length N", 4},
    {"gpu", KEY_GPU, "NAME|FILE", 0,
     "With --by: the side of this GPU's roofline each row lies on, and its least time at the sheet's peaks", 4},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 4},
    {0},
};

static const struct argp_child children[] = {
    {&adept_workload_argp, 0, NULL, 0}, {&adept_grouping_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL|PROFILE",
    .doc = "Count what one step of a model computes and moves. MODEL is a TorchScript .pt or a torch.export .pt2; "
           "nothing of it is run. PROFILE is what -o wrote."
           "\vExamples:\n"
           "  adept profile resnet50.pt\n"
           "  adept profile resnet50.pt --batch 64 --precision bf16 --by layer --depth 1\n"
           "  adept profile resnet50.pt --by kind --gpu a100\n"
           "  adept profile bert.pt --input i64:Bx512 --batch 32 -o bert.profile.json\n"
           "  adept profile resnet50.pt --batches 1:256 -o resnet50.profile.json\n"
           "  adept profile gpt2.pt --batches 1:64 --seq-lengths 1:1024 -o gpt2.json\n"
           "  adept profile resnet50.pt --json > resnet50.profile.json",
    .children = children,
};

/* With --by the table's rows come behind the profile, whose text is taken; the result is still a PROFILE. */
static adept_status print_json(adept_cli *cli, const profile_options *o, char *json, const adept_groups *groups)
{
    adept_json_writer out;

    adept_json_continue(&out, json);
    if (o->grouping.given)
        adept_groups_put_json(&out, groups, &o->grouping, 1, o->gpu ? ADEPT_ROWS_ROOFLINE : ADEPT_ROWS_UNTIMED);
    adept_json_end_object(&out);
    return adept_json_emit(cli, &out);
}

static adept_status emit(adept_cli *cli, const profile_options *o, const adept_profile *profile,
                         const adept_batches *batches, adept_groups *groups)
{
    char *json = batches ? adept_batches_to_json(batches) : adept_profile_to_json(profile);
    adept_status status = ADEPT_OK;

    if (!json) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while printing JSON");
    if (o->output) status = adept_file_write(o->output, json, strlen(json), &cli->err);
    if (status == ADEPT_OK && o->json) return print_json(cli, o, json, groups);
    if (status == ADEPT_OK)
        status = adept_report_profile(cli, stdout, profile, groups, &o->grouping, o->gpu != NULL);
    free(json);
    return status;
}

static adept_status make_groups(adept_cli *cli, const profile_options *o, const adept_profile *profile,
                                adept_groups *groups)
{
    adept_hwprofile *hw = NULL;
    adept_op_prediction *sides = NULL;
    adept_status status = ADEPT_OK;

    if (o->gpu) status = adept_hwprofile_open(&hw, o->gpu, &cli->err);
    if (status == ADEPT_OK && o->gpu) status = adept_groups_roofline(cli, &sides, profile, hw);
    if (status == ADEPT_OK) status = adept_groups_make(cli, groups, profile, sides, &o->grouping);
    if (status == ADEPT_OK && o->grouping.by != ADEPT_BY_LAYER)
        status = adept_groups_sort(cli, groups); /* layers stay in the model's order */
    free(sides);
    adept_hwprofile_free(hw);
    return status;
}

static adept_status profile_model(adept_cli *cli, const void *options_given)
{
    const profile_options *o = options_given;
    adept_profile *profile = NULL;
    adept_batches *batches = NULL;
    adept_groups groups = {.n = 0};
    const adept_model_range range = {o->batches.range, o->lengths.range};
    bool many = range.batches.high > 0 || range.lengths.high > 0;
    adept_status status = many ? adept_load_batches(cli, &batches, o->model, &o->workload, &range)
                               : adept_load_profile(cli, &profile, o->model, &o->workload);
    if (status == ADEPT_OK && batches)
        status = adept_batches_at(&profile, batches, adept_batches_base(batches), &cli->err);

    if (status == ADEPT_OK && o->grouping.given) status = make_groups(cli, o, profile, &groups);
    if (status == ADEPT_OK) status = emit(cli, o, profile, batches, &groups);
    adept_groups_free(&groups);
    adept_profile_free(profile);
    adept_batches_free(batches);
    return status;
}

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    static const adept_cli_body body = {&argp, "profile", sizeof(profile_options), profile_model, NULL};

    return adept_cli_run(&body, cli, argc, argv);
}

const adept_command adept_command_profile = {"profile", "count what a model computes and moves; save it with -o", run};
