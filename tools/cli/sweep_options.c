/** @file sweep_options.c  What varies, what is set, what is best, and where it goes. */
#include "sweep_options.h"
#include <string.h>

#define AT(member) offsetof(adept_sweep_options, member)

/* The first aims are the objectives. */
_Static_assert((int)ADEPT_AIM_TIME == (int)ADEPT_AIM_TIME &&
                   (int)ADEPT_AIM_ENERGY == (int)ADEPT_AIM_ENERGY &&
                   (int)ADEPT_AIM_EDP == (int)ADEPT_AIM_EDP,
               "aims");

static bool varies(const adept_sweep_options *o, adept_sweep_kind kind)
{
    for (size_t i = 0; i < o->vary.n; i++)
        if (o->vary.axes[i].kind == kind) return true;
    return false;
}

static adept_status check(adept_cli *cli, void *record)
{
    adept_sweep_options *o = record;
    if (!o->job.aim_given) o->job.job.aim = (adept_aim)o->objective;
    o->job.job.ignore_memory = o->ignore_memory;
    if (o->vary.n == 0) return adept_cli_usage(cli, "--vary is missing: which numbers are swept?");
    if (!o->where.gpu && (!varies(o, ADEPT_VARY_GPU) || o->one_at_a_time))
        return adept_run_options_need_gpu(cli, o->where.gpu);
    if (o->where.gpu && varies(o, ADEPT_VARY_GPU) && !o->one_at_a_time)
        return adept_cli_usage(cli, "--gpu and --vary gpu exclude each other, but with --one-at-a-time");
    if (o->csv && o->json) return adept_cli_usage(cli, "--csv and --json exclude each other");
    if (o->plot && o->html && strcmp(o->plot, o->html) == 0)
        return adept_cli_usage(cli, "--plot and --html name the same file");
    return varies(o, ADEPT_VARY_NODES) ? ADEPT_OK : adept_run_options_check(cli, &o->where);
}

static const adept_option_row rows[] = {
    {.group = 3, .help = "What varies:"},
    {"vary", "KEY=VALUES", 3,
     "Values V1,V2,... or FROM:TO:STEP of batch, seq_length, grad_accum, precision, mode, optimizer, attention, gpu, "
     "gpus, nodes, power_limit_w, clock_hz, internode_bytes_per_s, internode_latency_s, bucket_bytes, allreduce, "
     "overlap, or a number of the hardware profile: specs.NAME, fit.parameters.NAME. Numbers may be relative to what "
     "is there: x0.5,x1,x2. Repeatable: all combinations",
     ADEPT_OPT_PARSED, .at = AT(vary), .parse = adept_vary_add},
    {"one-at-a-time", NULL, 3, "Vary each key alone, everything else as the other options say", ADEPT_OPT_FLAG,
     .at = AT(one_at_a_time)},
    {"objective", "NAME", 3, "What is best: step_time_s (default), energy_step_j or edp", ADEPT_OPT_CHOICE,
     .at = AT(objective), .names = adept_sweep_objective_name},
    {"ignore-memory", NULL, 3, "Let points be best that do not fit the GPU's memory", ADEPT_OPT_FLAG,
     .at = AT(ignore_memory)},
    {.group = 5, .help = "What is printed:"},
    {"csv", NULL, 5, "Print every point as CSV", ADEPT_OPT_FLAG, .at = AT(csv)},
    {"json", NULL, 5, "Print every point and the answers as JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {"output", "FILE", 5, "Write the points to FILE, as CSV unless --json is given, and the answers as text",
     ADEPT_OPT_FILE, .at = AT(output), .letter = 'o'},
    {"plot", "FILE.svg", 5, "Draw curves or maps over what varies, and the front of time and energy (needs gnuplot)",
     ADEPT_OPT_FILE, .at = AT(plot)},
    {"html", "FILE", 5, "Write answers, picture and front as one HTML file (needs gnuplot)", ADEPT_OPT_FILE,
     .at = AT(html)},
    {0},
};

static void release(void *record)
{
    adept_vary_release(&((adept_sweep_options *)record)->vary);
}

const adept_options adept_sweep_options_of = {
    .rows = rows,
    .check = check,
    .release = release,
    .parts = {{&adept_run_options_of, AT(where)},
              {&adept_workload_options_of, AT(workload)},
              {&adept_sweep_job_options_of, AT(job)},
              {&adept_set_options_of, AT(set)}},
};
