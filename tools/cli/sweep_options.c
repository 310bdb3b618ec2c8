/** @file sweep_options.c  What varies, what is set, what is best, and where it goes. */
#include "sweep_options.h"
#include "cli.h"
#include "nearest.h"
#include <string.h>

enum { KEY_VARY = 0x300, KEY_ONE, KEY_OBJECTIVE, KEY_IGNORE_MEMORY, KEY_CSV, KEY_JSON, KEY_PLOT, KEY_HTML };

/* ---- the command ---- */

static error_t parse_objective(const struct argp_state *state, adept_sweep_options *o, const char *arg)
{
    char list[128];
    for (size_t i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++) {
        if (strcmp(arg, adept_sweep_objective_name(i)) != 0) continue;
        o->objective = (adept_aim)i;
        return 0;
    }
    return adept_cli_usage(state, "--objective: '%s' is not one of %s", arg,
                           adept_names_list(list, sizeof list, adept_sweep_objective_name));
}

static bool varies(const adept_sweep_options *o, adept_sweep_kind kind)
{
    for (size_t i = 0; i < o->n_axes; i++)
        if (o->axes[i].kind == kind) return true;
    return false;
}

static error_t check(const struct argp_state *state, adept_sweep_options *o)
{
    if (!o->job.aim_given) o->job.job.aim = (adept_aim)o->objective;
    o->job.job.ignore_memory = o->ignore_memory;
    if (!o->model) return adept_cli_usage(state, "sweep needs a MODEL or PROFILE; see adept sweep --help");
    if (o->n_axes == 0) return adept_cli_usage(state, "--vary is missing: which numbers are swept?");
    if (!o->where.gpu && (!varies(o, ADEPT_VARY_GPU) || o->one_at_a_time))
        return adept_run_options_need_gpu(state, &o->where);
    if (o->where.gpu && varies(o, ADEPT_VARY_GPU) && !o->one_at_a_time)
        return adept_cli_usage(state, "--gpu and --vary gpu exclude each other, but with --one-at-a-time");
    if (o->csv && o->json) return adept_cli_usage(state, "--csv and --json exclude each other");
    error_t wrong = adept_sweep_job_check(state, &o->job);
    if (wrong) return wrong;
    if (o->plot && o->html && strcmp(o->plot, o->html) == 0)
        return adept_cli_usage(state, "--plot and --html name the same file");
    return varies(o, ADEPT_VARY_NODES) ? 0 : adept_run_options_check(state, &o->where);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    adept_sweep_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->where;
        state->child_inputs[1] = &o->workload;
        state->child_inputs[2] = &o->job;
        state->child_inputs[3] = &o->set;
        return 0;
    case KEY_VARY:
        return adept_vary_add(state, "--vary", arg, o->axes, &o->n_axes);
    case KEY_ONE:
        o->one_at_a_time = true;
        return 0;
    case KEY_OBJECTIVE:
        return parse_objective(state, o, arg);
    case KEY_IGNORE_MEMORY:
        o->ignore_memory = true;
        return 0;
    case KEY_CSV:
        o->csv = true;
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    case 'o':
        o->output = arg;
        return *arg ? 0 : adept_cli_usage(state, "--output: the file name is empty");
    case KEY_PLOT:
        o->plot = arg;
        return *arg ? 0 : adept_cli_usage(state, "--plot: the file name is empty");
    case KEY_HTML:
        o->html = arg;
        return *arg ? 0 : adept_cli_usage(state, "--html: the file name is empty");
    case ARGP_KEY_ARG:
        return adept_cli_one_model(state, &o->model, arg);
    case ARGP_KEY_END:
        return check(state, o);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What varies:", 3},
    {"vary", KEY_VARY, "KEY=VALUES", 0,
     "Values V1,V2,... or FROM:TO:STEP of batch, seq_length, grad_accum, precision, mode, optimizer, attention, gpu, "
     "gpus, nodes, "
     "power_limit_w, clock_hz, internode_bytes_per_s, internode_latency_s, bucket_bytes, allreduce, overlap, or a "
     "number "
     "of the hardware profile: specs.NAME, fit.parameters.NAME. Numbers may be relative to what is there: x0.5,x1,x2. "
     "Repeatable: all combinations",
     3},
    {"one-at-a-time", KEY_ONE, NULL, 0, "Vary each key alone, everything else as the other options say", 3},
    {"objective", KEY_OBJECTIVE, "NAME", 0, "What is best: step_time_s (default), energy_step_j or edp", 3},
    {"ignore-memory", KEY_IGNORE_MEMORY, NULL, 0, "Let points be best that do not fit the GPU's memory", 3},
    {NULL, 0, NULL, 0, "What is printed:", 5},
    {"csv", KEY_CSV, NULL, 0, "Print every point as CSV", 5},
    {"json", KEY_JSON, NULL, 0, "Print every point and the answers as JSON", 5},
    {"output", 'o', "FILE", 0, "Write the points to FILE, as CSV unless --json is given, and the answers as text", 5},
    {"plot", KEY_PLOT, "FILE.svg", 0,
     "Draw curves or maps over what varies, and the front of time and energy (needs gnuplot)", 5},
    {"html", KEY_HTML, "FILE", 0, "Write answers, picture and front as one HTML file (needs gnuplot)", 5},
    {0},
};

static const struct argp_child children[] = {{&adept_run_argp, 0, NULL, 0},
                                             {&adept_workload_argp, 0, NULL, 0},
                                             {&adept_sweep_job_argp, 0, NULL, 0},
                                             {&adept_set_argp, 0, NULL, 0},
                                             {0}};

const struct argp adept_sweep_argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL|PROFILE --gpu NAME|FILE --vary KEY=VALUES...",
    .doc = "Predict a step at every point of a grid, and say which points are best: least time, least energy, least "
           "product of both, the front between them and its knee. Every point has the numbers that adept predict gives."
           "\vExamples:\n"
           "  adept sweep resnet50.pt --gpu a100 --vary batch=16,32,64,128\n"
           "  adept sweep a.pt --gpu a100 --vary power_limit_w=100:250:10 --objective edp\n"
           "  adept sweep vit.pt --vary gpu=a100,h100,l4 --vary precision=fp32,bf16 --csv\n"
           "  adept sweep a.pt --gpu a100 --vary specs.l2_bytes=x0.5:x2:x0.1 --json\n"
           "  adept sweep a.pt --gpu a100 --vary gpus=1:8:1 --vary batch=64 -o points.csv\n"
           "  adept sweep a.pt --gpu t4 --vary gpus=1,2 --samples 1000 --within-time 2h",
    .children = children,
};

void adept_sweep_options_free(adept_sweep_options *o)
{
    for (size_t i = 0; i < o->n_axes; i++)
        adept_sweep_axis_free(&o->axes[i]);
    adept_set_options_free(&o->set);
}
