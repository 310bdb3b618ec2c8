/** @file run_options.c  Where it runs: GPU, number, limit, clock, network, equations. Shared by all that predict. */
#include "run_options.h"

#define AT(member) offsetof(adept_run_options, member)

/* Those that can be asked for. */
static const char *named_granularity(size_t index)
{
    return adept_granularity_name(index + ADEPT_GRANULARITY_MODEL);
}

static const adept_suffix clocks[] = {{"MHz", 1e6}, {"Hz", 1}, {"kHz", 1e3}, {"GHz", 1e9}, {NULL, 0}};
static const adept_suffix bandwidths[] = {{"B/s", 1},          {"MB/s", 1e6},       {"GB/s", 1e9},
                                          {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {NULL, 0}};
static const adept_suffix times[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL, 0}};

static const adept_option_row rows[] = {
    {.group = 1, .help = "Where it runs:"},
    {"gpu", "NAME|FILE", 1,
     "The GPU: a name that `adept gpus` lists, or a hardware profile (a path with '/', or ending in .json). Required",
     ADEPT_OPT_TEXT, .at = AT(gpu)},
    {"gpus", "N", 1, "Data-parallel GPUs, those of all nodes together (default 1)", ADEPT_OPT_COUNT, .at = AT(run.gpus),
     .low = 1},
    {"power-limit", "W", 1, "Board power limit of each GPU in watts", ADEPT_OPT_ABOVE_0, .at = AT(run.power_limit_w)},
    {"clock", "MHZ", 1,
     "Lock the core clock, in MHz as nvidia-smi prints it or with a unit: 1410, 1410MHz, 1.41GHz. A power limit, the "
     "board's own too, that leaves less counts",
     ADEPT_OPT_AMOUNT, .at = AT(run.clock_hz), .units = clocks},
    {"granularity", "NAME", 1,
     "operator: every kernel's time from its own dimensions; model: the thesis's equations on means over the whole "
     "model. Default: what the GPU was calibrated with, else operator",
     ADEPT_OPT_CHOICE, .at = AT(run.granularity), .low = ADEPT_GRANULARITY_MODEL, .names = named_granularity},
    {"saturation", "NAME", 1, "Saturation function of granularity model: sigmoid, arctan, softsign, algebraic or tanh",
     ADEPT_OPT_NAME, .at = AT(run.saturation), .names = adept_saturation_name},
    {"nodes", "N", 1, "Nodes that the GPUs are shared by equally (default 1); needs --internode-bandwidth",
     ADEPT_OPT_COUNT, .at = AT(run.nodes), .low = 1},
    {"internode-bandwidth", "RATE", 1,
     "Network of one node in one direction, all adapters together: bytes/s, or with a unit: 200Gbit/s, 25GB/s",
     ADEPT_OPT_AMOUNT, .at = AT(run.internode_bytes_per_s), .units = bandwidths},
    {"internode-latency", "TIME", 1, "One hop between nodes: seconds, or with a unit: 10us (the default)",
     ADEPT_OPT_AMOUNT, .at = AT(run.internode_latency_s), .units = times},
    {"allreduce", "NAME", 1,
     "ring (default), tree (double binary), or auto: the faster for every size; between nodes if there are several",
     ADEPT_OPT_CHOICE, .at = AT(run.allreduce), .names = adept_allreduce_name},
    {"overlap", "NAME", 1,
     "bucketed: buckets of gradients are sent while the backward pass runs, as DistributedDataParallel does; fixed: "
     "the share that the hardware profile says is hidden; auto (default): bucketed where the profile of the model "
     "knows its parameters and the GPU was not fitted on several GPUs",
     ADEPT_OPT_CHOICE, .at = AT(run.overlap), .names = adept_overlap_name},
    {"bucket-bytes", "SIZE", 1, "Size of a bucket: bytes, or with a unit (default 25MiB)", ADEPT_OPT_AMOUNT,
     .at = AT(run.bucket_bytes), .units = adept_suffix_sizes},
    {0},
};

const adept_options adept_run_options_of = {.rows = rows};

adept_status adept_run_options_check(adept_cli *cli, const adept_run_options *o)
{
    if (o->run.nodes < 2 && (o->run.internode_bytes_per_s > 0 || o->run.internode_latency_s > 0))
        return adept_cli_usage(cli, "--internode-bandwidth and --internode-latency need --nodes");
    return ADEPT_OK;
}

adept_status adept_run_options_need_gpu(adept_cli *cli, const char *gpu)
{
    return gpu ? ADEPT_OK : adept_cli_usage(cli, "--gpu is missing; `adept gpus` lists the names");
}

adept_status adept_run_options_on_gpu(adept_cli *cli, const adept_run_options *o)
{
    adept_status status = adept_run_options_need_gpu(cli, o->gpu);

    return status == ADEPT_OK ? adept_run_options_check(cli, o) : status;
}
