/** @file run_options.c  Where it runs: GPU, number, limit, clock, network, equations. Shared by all that predict. */
#include "run_options.h"
#include "cli.h"
#include "nearest.h"
#include "number.h"
#include <string.h>

enum {
    KEY_GPU = 0x400,
    KEY_GPUS,
    KEY_LIMIT,
    KEY_CLOCK,
    KEY_NODES,
    KEY_INTERNODE_BANDWIDTH,
    KEY_INTERNODE_LATENCY,
    KEY_ALLREDUCE,
    KEY_OVERLAP,
    KEY_BUCKET,
    KEY_GRANULARITY,
    KEY_SATURATION
};

/* Those that can be asked for. */
static const char *named_granularity(size_t index)
{
    return adept_granularity_name(index + ADEPT_GRANULARITY_MODEL);
}

static error_t parse_run(int key, char *arg, const struct argp_state *state, adept_run_options *o)
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
        for (int g = ADEPT_GRANULARITY_MODEL; adept_granularity_name((size_t)g); g++) {
            o->run.granularity = (adept_granularity)g;
            if (strcmp(arg, adept_granularity_name((size_t)g)) == 0) return 0;
        }
        return adept_cli_usage(state, "--granularity: '%s' is not one of %s", arg,
                               adept_names_list(list, sizeof list, named_granularity));
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

static error_t parse_network(int key, char *arg, const struct argp_state *state, adept_run_options *o)
{
    static const adept_suffix bandwidths[] = {{"B/s", 1},          {"MB/s", 1e6},       {"GB/s", 1e9},
                                              {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {NULL, 0}};
    static const adept_suffix times[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL, 0}};
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
        return adept_number_quantity(state, "--bucket-bytes", arg, adept_suffix_sizes, &adept_suffix_sizes[0], &o->run.bucket_bytes);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    error_t error = parse_network(key, arg, state, state->input);

    return error == ARGP_ERR_UNKNOWN ? parse_run(key, arg, state, state->input) : error;
}

error_t adept_run_options_check(const struct argp_state *state, const adept_run_options *o)
{
    if (o->run.nodes < 2 && (o->run.internode_bytes_per_s > 0 || o->run.internode_latency_s > 0))
        return adept_cli_usage(state, "--internode-bandwidth and --internode-latency need --nodes");
    return 0;
}

error_t adept_run_options_need_gpu(const struct argp_state *state, const adept_run_options *o)
{
    return o->gpu ? 0 : adept_cli_usage(state, "--gpu is missing; `adept gpus` lists the names");
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
    {0},
};

const struct argp adept_run_argp = {.options = options, .parser = parse};
