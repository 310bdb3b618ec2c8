/** @file cmd_predict.c  `adept predict`: time, power and energy of a step on a GPU. */
#include "adept_model.h"
#include "adept_prediction_json.h"
#include "cli.h"
#include "groups.h"
#include "groups_json.h"
#include "load.h"
#include "nearest.h"
#include "number.h"
#include "report.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_GPU = 0x300,
    KEY_GPUS,
    KEY_LIMIT,
    KEY_CLOCK,
    KEY_NODES,
    KEY_INTERNODE_BANDWIDTH,
    KEY_INTERNODE_LATENCY,
    KEY_ALLREDUCE,
    KEY_OVERLAP,
    KEY_BUCKET,
    KEY_STEPS,
    KEY_SAMPLES,
    KEY_GRANULARITY,
    KEY_SATURATION,
    KEY_CARBON,
    KEY_PRICE,
    KEY_PUE,
    KEY_JSON
};

typedef struct predict_options {
    const char *model, *gpu;
    adept_run run;
    int64_t steps, samples;                      /* 0: not given */
    double carbon_g_per_kwh, price_per_kwh, pue; /* NAN: not given */
    bool json;
    adept_grouping grouping;
    adept_workload_options workload;
} predict_options;

static error_t parse_run(int key, char *arg, const struct argp_state *state, predict_options *o)
{
    static const adept_suffix clocks[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}, {NULL, 0}};
    char list[128];

    switch (key) {
    case KEY_GPU:
        o->gpu = arg;
        return 0;
    case KEY_GPUS:
        return adept_number_int(state, "--gpus", arg, 1, &o->run.gpus);
    case KEY_LIMIT:
        if (adept_number_double(state, "--power-limit", arg, 0, &o->run.power_limit_w) != 0) return EINVAL;
        return o->run.power_limit_w > 0 ? 0 : adept_cli_usage(state, "--power-limit: '%s' is not above 0 W", arg);
    case KEY_CLOCK:
        return adept_number_quantity(state, "--clock", arg, clocks, &clocks[2], &o->run.clock_hz);
    case KEY_GRANULARITY:
        if (strcmp(arg, adept_granularity_name(ADEPT_GRANULARITY_MODEL)) == 0)
            o->run.equations = ADEPT_EQUATIONS_MODEL;
        else if (strcmp(arg, adept_granularity_name(ADEPT_GRANULARITY_OPERATOR)) == 0)
            o->run.equations = ADEPT_EQUATIONS_OPERATOR;
        else
            return adept_cli_usage(state, "--granularity: '%s' is not one of %s", arg,
                                   adept_names_list(list, sizeof list, adept_granularity_name));
        return 0;
    case KEY_SATURATION:
        o->run.saturation = arg;
        if (adept_saturation_by_name(arg)) return 0;
        return adept_cli_usage(state, "--saturation: '%s' is not one of %s", arg,
                               adept_names_list(list, sizeof list, adept_saturation_name));
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Index of a word in a list of names. */
static error_t parse_word(const struct argp_state *state, const char *option, const char *arg,
                          const char *(*name_of)(size_t), size_t *out)
{
    char list[128];

    for (*out = 0; name_of(*out); (*out)++)
        if (strcmp(arg, name_of(*out)) == 0) return 0;
    return adept_cli_usage(state, "%s: '%s' is not one of %s", option, arg,
                           adept_names_list(list, sizeof list, name_of));
}

static error_t parse_network(int key, char *arg, const struct argp_state *state, predict_options *o)
{
    static const adept_suffix bandwidths[] = {{"B/s", 1},          {"MB/s", 1e6},       {"GB/s", 1e9},
                                              {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {NULL, 0}};
    static const adept_suffix times[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL, 0}};
    static const adept_suffix sizes[] = {{"B", 1},      {"kB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
                                         {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};
    size_t index;
    error_t failed;

    switch (key) {
    case KEY_NODES:
        return adept_number_int(state, "--nodes", arg, 1, &o->run.nodes);
    case KEY_INTERNODE_BANDWIDTH:
        return adept_number_quantity(state, "--internode-bandwidth", arg, bandwidths, &bandwidths[0],
                                     &o->run.internode_bytes_per_s);
    case KEY_INTERNODE_LATENCY:
        return adept_number_quantity(state, "--internode-latency", arg, times, &times[0], &o->run.internode_latency_s);
    case KEY_ALLREDUCE:
        failed = parse_word(state, "--allreduce", arg, adept_allreduce_name, &index);
        if (!failed) o->run.allreduce = (adept_allreduce)index;
        return failed;
    case KEY_OVERLAP:
        failed = parse_word(state, "--overlap", arg, adept_overlap_name, &index);
        if (!failed) o->run.overlap = (adept_overlap)index;
        return failed;
    case KEY_BUCKET:
        return adept_number_quantity(state, "--bucket-bytes", arg, sizes, &sizes[0], &o->run.bucket_bytes);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_total(int key, char *arg, const struct argp_state *state, predict_options *o)
{
    switch (key) {
    case KEY_STEPS:
        return adept_number_int(state, "--steps", arg, 1, &o->steps);
    case KEY_SAMPLES:
        return adept_number_int(state, "--samples", arg, 1, &o->samples);
    case KEY_CARBON:
        return adept_number_double(state, "--carbon-intensity", arg, 0, &o->carbon_g_per_kwh);
    case KEY_PRICE:
        return adept_number_double(state, "--price", arg, 0, &o->price_per_kwh);
    case KEY_PUE:
        return adept_number_double(state, "--pue", arg, 1, &o->pue);
    default:
        break;
    }
    error_t error = parse_network(key, arg, state, o);
    return error == ARGP_ERR_UNKNOWN ? parse_run(key, arg, state, o) : error;
}

static error_t check(const struct argp_state *state, const predict_options *o)
{
    if (!o->model) return adept_cli_usage(state, "predict needs a MODEL or PROFILE; see adept predict --help");
    if (!o->gpu) return adept_cli_usage(state, "--gpu is missing; `adept gpus` lists the names");
    if (o->run.nodes < 2 && (o->run.internode_bytes_per_s > 0 || o->run.internode_latency_s > 0))
        return adept_cli_usage(state, "--internode-bandwidth and --internode-latency need --nodes");
    if (o->steps > 0 && o->samples > 0) return adept_cli_usage(state, "--steps and --samples exclude each other");
    bool counted = o->steps > 0 || o->samples > 0;
    if (!isnan(o->carbon_g_per_kwh) && !counted)
        return adept_cli_usage(state, "--carbon-intensity needs --steps or --samples");
    if (!isnan(o->price_per_kwh) && !counted) return adept_cli_usage(state, "--price needs --steps or --samples");
    if (!isnan(o->pue) && isnan(o->carbon_g_per_kwh) && isnan(o->price_per_kwh))
        return adept_cli_usage(state, "--pue needs --carbon-intensity or --price");
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    predict_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->workload;
        state->child_inputs[1] = &o->grouping;
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->model) return adept_cli_usage(state, "predict takes one MODEL or PROFILE, '%s' is one too many", arg);
        o->model = arg;
        return 0;
    case ARGP_KEY_END:
        return check(state, o);
    default:
        return parse_total(key, arg, state, o);
    }
}

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Where it runs:", 1},
    {"gpu", KEY_GPU, "NAME|FILE", 0,
     "The GPU: a name that `adept gpus` lists, or a hardware profile (a path with '/', or ending in .json). Required",
     1},
    {"gpus", KEY_GPUS, "N", 0, "Data-parallel GPUs, those of all nodes together (default 1)", 1},
    {"power-limit", KEY_LIMIT, "W", 0, "Board power limit of each GPU in watts", 1},
    {"clock", KEY_CLOCK, "MHZ", 0,
     "Lock the core clock, in MHz as nvidia-smi prints it or with a unit: 1410, 1410MHz, 1.41GHz. A power limit, the "
     "board's "
     "own too, that leaves less counts",
     1},
    {"granularity", KEY_GRANULARITY, "NAME", 0,
     "operator: every kernel's time from its own dimensions; model: the thesis's equations on means over the whole "
     "model. Default: what the GPU was calibrated with, else operator",
     1},
    {"saturation", KEY_SATURATION, "NAME", 0,
     "Saturation function of granularity model: sigmoid, arctan, softsign, algebraic or tanh", 1},
    {"nodes", KEY_NODES, "N", 0, "Nodes that the GPUs are shared by equally (default 1); needs --internode-bandwidth",
     1},
    {"internode-bandwidth", KEY_INTERNODE_BANDWIDTH, "RATE", 0,
     "Network of one node in one direction, all adapters together: bytes/s, or with a unit: 200Gbit/s, 25GB/s", 1},
    {"internode-latency", KEY_INTERNODE_LATENCY, "TIME", 0,
     "One hop between nodes: seconds, or with a unit: 10us (the default)", 1},
    {"allreduce", KEY_ALLREDUCE, "NAME", 0,
     "ring (default), tree (double binary), or auto: the faster for every size; between nodes if there are several", 1},
    {"overlap", KEY_OVERLAP, "NAME", 0,
     "bucketed: buckets of gradients are sent while the backward pass runs, as DistributedDataParallel does; fixed: "
     "the "
     "share that the hardware profile says is hidden; auto (default): bucketed where the profile of the model knows "
     "its "
     "parameters and the GPU was not fitted on several GPUs",
     1},
    {"bucket-bytes", KEY_BUCKET, "SIZE", 0, "Size of a bucket: bytes, or with a unit (default 25MiB)", 1},
    {NULL, 0, NULL, 0, "The whole job:", 3},
    {"steps", KEY_STEPS, "N", 0, "Print the totals of N steps", 3},
    {"samples", KEY_SAMPLES, "N", 0, "Print the totals of N samples, rounded up to whole steps", 3},
    {"carbon-intensity", KEY_CARBON, "G", 0, "Grams of CO2e per kWh: adds the emissions to the totals", 3},
    {"price", KEY_PRICE, "P", 0, "Price of a kWh, in any currency: adds the cost to the totals", 3},
    {"pue", KEY_PUE, "X", 0,
     "Power usage effectiveness of the site, at least 1: multiplies emissions and cost, not the energy of the GPUs", 3},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 4},
    {0},
};

static const struct argp_child children[] = {
    {&adept_workload_argp, 0, NULL, 0}, {&adept_grouping_argp, 0, NULL, 0}, {0}};

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
        "  adept predict resnet50.pt --gpu a100 --granularity model\n"
        "  adept predict vit.pt --gpu a100 --steps 500 --carbon-intensity 56\n"
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

static double or_one(double value)
{
    return isnan(value) ? 1 : value;
}

static void sum_up(work *w, const predict_options *o)
{
    const adept_profile *p = w->profile;
    double gpus = o->run.gpus > 0 ? (double)o->run.gpus : 1;
    double samples_per_step = (double)p->batch_size * (double)p->grad_accum * gpus;
    double steps = o->steps > 0 ? (double)o->steps : ceil((double)o->samples / samples_per_step);

    w->has_totals = steps > 0;
    w->totals = adept_predict_totals(&w->prediction, steps, o->carbon_g_per_kwh * or_one(o->pue),
                                     o->price_per_kwh * or_one(o->pue));
}

static adept_status compute(adept_cli *cli, work *w, const predict_options *o)
{
    adept_status status =
        adept_hwprofile_open(&w->hw, o->gpu, &cli->err); /* a wrong name is found before a slow load */

    if (status == ADEPT_OK) status = adept_load_profile(cli, &w->profile, o->model, &o->workload);
    if (status == ADEPT_OK) status = adept_predict(&w->prediction, w->profile, w->hw, &o->run, &cli->err);
    if (status == ADEPT_OK) status = adept_predict_power_limits(&w->limits, w->profile, w->hw, &o->run, &cli->err);
    if (status != ADEPT_OK) return status;
    sum_up(w, o);
    w->ops = calloc(w->profile->n_ops + 1, sizeof *w->ops);
    if (!w->ops) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    status = adept_predict_ops(w->ops, w->profile, w->hw, &o->run, &cli->err);
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
    adept_status status = ADEPT_OK;

    if (!by_layer || layers)
        json = adept_prediction_to_json(&w->prediction, w->profile, w->hw, &o->run, w->has_totals ? &w->totals : NULL,
                                        &w->limits, layers, w->groups.n);
    free(layers);
    if (!json) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while printing JSON");
    if (o->grouping.given && !by_layer)
        status = adept_groups_append_json(cli, &json, &w->groups, &o->grouping, (double)w->profile->grad_accum,
                                          ADEPT_ROWS_PREDICTED);
    if (status == ADEPT_OK) puts(json);
    free(json);
    return status;
}

static adept_status print_text(adept_cli *cli, work *w, const predict_options *o)
{
    const adept_prediction_report report = {
        .profile = w->profile,
        .hw = w->hw,
        .run = &o->run,
        .prediction = &w->prediction,
        .totals = w->has_totals ? &w->totals : NULL,
        .limits = &w->limits,
        .groups = &w->groups,
        .grouping = &o->grouping,
    };
    adept_status status = adept_groups_sort(cli, &w->groups);

    return status == ADEPT_OK ? adept_report_prediction(cli, stdout, &report) : status;
}

static adept_status predict(adept_cli *cli, const predict_options *o)
{
    work w = {.profile = NULL};
    adept_status status = compute(cli, &w, o);

    if (status == ADEPT_OK) status = o->json ? print_json(cli, &w, o) : print_text(cli, &w, o);
    work_free(&w);
    return status;
}

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    predict_options *o = calloc(1, sizeof *o); /* the input specs make it large for the stack */
    adept_parse p = {.argp = &argp, .command = "predict", .cli = cli, .input = o};

    if (!o) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    o->carbon_g_per_kwh = o->price_per_kwh = o->pue = NAN;
    adept_status status = adept_cli_parse(&p, argc, argv);
    if (status == ADEPT_OK && !p.help_shown) status = predict(cli, o);
    free(o);
    return status;
}

const adept_command adept_command_predict = {"predict", "predict time, power and energy of a step on a GPU", run};
