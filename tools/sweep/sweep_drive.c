/** @file sweep_drive.c  `adept sweep --drive`: its options, and the order of what it does. */
#include "sweep_drive.h"
#include "gnuplot.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(member) offsetof(adept_drive_options, member)
#define KEYS "power_limit_w, clock, memory_clock, governor, cpu_clock_max, cpu_clock_min or cpu_power_limit_w"

static adept_status check_axis(adept_cli *cli, const adept_sweep_axis *axis)
{
    if (!adept_control_kind_of(axis->key))
        return adept_cli_usage(cli, "--vary: --drive sets " KEYS ", not %s", axis->key);
    if (axis->relative) return adept_cli_usage(cli, "--vary: --drive takes %s itself, no multiples of it", axis->key);
    for (size_t i = 0; i < axis->n; i++)
        if (!axis->words && adept_sweep_best_limit_name(axis, i))
            return adept_cli_usage(cli, "--vary: %s is of predictions; --drive takes watts",
                                   adept_sweep_best_limit_name(axis, i));
    return ADEPT_OK;
}

static adept_status check(adept_cli *cli, void *record)
{
    adept_drive_options *o = record;
    adept_status status = ADEPT_OK;

    if (o->synthesis) {
        if (o->drive || o->restore || o->vary.n > 0 || o->baseline.n > 0 || o->output || o->plot ||
            o->measure.repeat > 1)
            return adept_cli_usage(cli, "--synthesis reads FILES, and takes --csv or --json only");
        if (o->measure.words.n == 0)
            return adept_cli_usage(cli, "--synthesis needs FILES of adept sweep --drive --json");
        if (o->objective == ADEPT_AIM_TIME)
            return adept_cli_usage(cli, "--synthesis: gains are of energy_step_j, edp or ed2p, not of step_time_s");
        if (o->csv && o->json) return adept_cli_usage(cli, "--csv and --json exclude each other");
        return ADEPT_OK;
    }
    if (!o->drive && !o->restore) return adept_cli_usage(cli, "--drive and other options stand before the COMMAND");
    if (o->restore && (o->drive || o->vary.n > 0 || o->measure.words.n > 0))
        return adept_cli_usage(cli, "--restore takes neither --drive, --vary nor a COMMAND");
    if (o->restore) return ADEPT_OK;
    if (o->vary.n == 0) return adept_cli_usage(cli, "--vary is missing: " KEYS);
    if (o->measure.words.n == 0)
        return adept_cli_usage(cli, "sweep --drive needs a COMMAND; see adept sweep --drive --help");
    if (adept_cli_prints(o->output)) {
        o->csv = !o->json;
        o->output = NULL;
    }
    if (o->csv && o->json) return adept_cli_usage(cli, "--csv and --json exclude each other");
    for (size_t i = 0; i < o->vary.n && status == ADEPT_OK; i++)
        status = check_axis(cli, &o->vary.axes[i]);
    for (size_t i = 0; i < o->baseline.n && status == ADEPT_OK; i++)
        if (o->baseline.axes[i].n != 1)
            status = adept_cli_usage(cli, "--baseline: %s takes one value", o->baseline.axes[i].key);
    return status == ADEPT_OK && o->plot ? adept_gnuplot_check("--plot", &cli->err) : status;
}

static void init(void *record)
{
    ((adept_drive_options *)record)->measure.repeat = 1;
    ((adept_drive_options *)record)->objective = ADEPT_AIM_EDP;
}

static void release(void *record)
{
    adept_vary_release(&((adept_drive_options *)record)->vary);
    adept_vary_release(&((adept_drive_options *)record)->baseline);
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "What is set:"},
    {"drive", NULL, 1,
     "Set each value on all devices, or on those of --devices, measure COMMAND, and put back what was set before",
     ADEPT_OPT_FLAG, .at = AT(drive)},
    {"vary", "KEY=VALUES", 1,
     "Values V1,V2,... or FROM:TO:STEP of power_limit_w, clock, memory_clock (of GPUs), governor, cpu_clock_max, "
     "cpu_clock_min (bounds of each CPU) or cpu_power_limit_w (of each package). "
     "Clocks may have a unit: 1.2GHz. Repeatable: all combinations",
     ADEPT_OPT_PARSED, .at = AT(vary), .parse = adept_vary_add},
    {"one-at-a-time", NULL, 1, "Vary each key alone, everything else as it is", ADEPT_OPT_FLAG,
     .at = AT(one_at_a_time)},
    {"objective", "NAME", 1, "What is best, and what gains are of: step_time_s, energy_step_j, edp (default) or ed2p",
     ADEPT_OPT_CHOICE, .at = AT(objective), .names = adept_sweep_objective_name},
    {"repeat", "N", 1, "Run COMMAND so often at each point, and say how far the runs lie apart (1)", ADEPT_OPT_COUNT,
     .at = AT(measure.repeat), .low = 1, .high = 100000},
    {"baseline", "KEY=VALUE", 1,
     "The point that the others are held against: what they gain in energy times time (or in what --objective says), "
     "what they lose in time, and whether that is more than runs differ by. Repeatable: a value of each key that "
     "varies",
     ADEPT_OPT_PARSED, .at = AT(baseline), .parse = adept_vary_add},
    {"restore", NULL, 1, "Put back what a killed run left, and do nothing else", ADEPT_OPT_FLAG, .at = AT(restore)},
    {"synthesis", NULL, 1,
     "Measure nothing: read FILES that --drive --json wrote with a --baseline, and print the best setting of each "
     "program, their mean, and the settings that all of them ran at",
     ADEPT_OPT_FLAG, .at = AT(synthesis)},
    {"journal", "FILE", 1,
     "Where it is noted what to put back; default: restore-HOST.json in $XDG_STATE_HOME/adept or ~/.local/state/adept",
     ADEPT_OPT_FILE, .at = AT(journal), .expert = true},
    {.group = 3, .help = "What is printed:"},
    {"csv", NULL, 3, "Print every point as CSV", ADEPT_OPT_FLAG, .at = AT(csv)},
    {"json", NULL, 3, "Print every point with all that was measured, and the answers, as JSON", ADEPT_OPT_FLAG,
     .at = AT(json)},
    {"output", "FILE", 3, "Write the points to FILE, as CSV unless --json is given, and the answers as text",
     ADEPT_OPT_FILE, .at = AT(output), .written = true, .letter = 'o'},
    {"plot", "FILE", 3,
     "Draw curves over what varies, and the front of time and energy (needs gnuplot): .svg, .pdf or .png",
     ADEPT_OPT_PARSED, .at = AT(plot), .written = true, .parse = adept_option_picture},
    {0},
};

/* Is it the point of --baseline? A key that it does not name does not vary there. */
static bool is_baseline(const adept_drive *d, uint64_t index)
{
    size_t at[ADEPT_SWEEP_MAX_AXES], named = 0;
    const adept_vary_options *b = &d->options->baseline;
    bool same = true;

    adept_sweep_at(at, &d->sweep, index);
    for (size_t i = 0; i < d->sweep.n_axes && same; i++) {
        const adept_sweep_axis *axis = &d->sweep.axes[i], *given = NULL;
        for (size_t j = 0; j < b->n && !given; j++)
            if (strcmp(b->axes[j].key, axis->key) == 0) given = &b->axes[j];
        named += given != NULL;
        if (!given || at[i] == ADEPT_SWEEP_UNVARIED)
            same = !given && at[i] == ADEPT_SWEEP_UNVARIED;
        else if (axis->words)
            same = strcmp(axis->words[at[i]], given->words[0]) == 0;
        else
            same = axis->numbers[at[i]] == given->numbers[0];
    }
    return same && named == b->n;
}

static adept_status find_baseline(adept_cli *cli, adept_drive *d)
{
    d->baseline = UINT64_MAX;
    if (d->options->baseline.n == 0) return ADEPT_OK;
    for (uint64_t i = 0; i < d->size && d->baseline == UINT64_MAX; i++)
        if (is_baseline(d, i)) d->baseline = i;
    if (d->baseline != UINT64_MAX) return ADEPT_OK;
    return adept_cli_usage(cli, "--baseline is not a point of --vary: it needs one of its values of each key%s",
                           d->options->one_at_a_time ? "; with --one-at-a-time, of one key" : "");
}

static adept_status measure(adept_cli *cli, adept_drive *d)
{
    adept_cli other = {.details = NULL};
    const adept_drive_options *o = d->options;

    d->sweep = (adept_sweep){.n_axes = o->vary.n, .axes = o->vary.axes, .one_at_a_time = o->one_at_a_time};
    adept_status status = adept_sweep_size(&d->size, &d->sweep, &cli->err);
    if (status == ADEPT_OK) status = find_baseline(cli, d);
    if (status != ADEPT_OK) return status;
    /* Standard output is for the result: what the command prints goes to standard error. */
    fflush(stdout);
    int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    status = adept_drive_points(cli, d);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    if (d->done == 0) return status;
    adept_status reported =
        adept_drive_report(status == ADEPT_OK ? cli : &other, d); /* what was measured is not lost */
    return status == ADEPT_OK ? reported : status;
}

static adept_status drive(adept_cli *cli, void *options)
{
    adept_drive d = {.options = options};
    if (d.options->synthesis) return adept_drive_synthesis(cli, d.options);
    adept_status status = adept_drive_leftovers(cli, &d);

    if (status == ADEPT_OK && d.options->drive) status = measure(cli, &d);
    adept_measure_job_free(&d.job);
    for (uint64_t i = 0; d.points && i < d.size; i++)
        free(d.points[i].measured);
    free(d.points);
    adept_controls_close(&d.controls);
    adept_restore_close(&d.restore);
    return status;
}

static const char *const words[] = {"--drive", "--restore", "--synthesis", NULL};

const adept_command adept_sweep_drive = {
    .name = "sweep",
    .usage = "--drive --vary KEY=VALUES... -- COMMAND...",
    .doc = "Set power limits, clocks or governors of this machine, measure a command at every point of the grid as "
           "adept measure does, and say which points are best: least time, least energy, least product of both, and "
           "the front between them."
           "\vExamples:\n"
           "  adept sweep --drive --vary power_limit_w=150:300:50 -- ./train\n"
           "  adept sweep --drive --vary clock=1.2GHz,1.4GHz --csv -o a.csv -- ./train\n"
           "  adept sweep --drive --vary power_limit_w=150,250 --repeat 5 --baseline power_limit_w=250 -- ./train\n"
           "  adept sweep --restore\n"
           "\n"
           "Setting needs root. What was set before is put back at the end, when the command fails, and at once on "
           "INT or TERM; after anything else by --restore or by the next --drive. What COMMAND prints goes to "
           "standard error.",
    .size = sizeof(adept_drive_options),
    .options = {.rows = rows,
                .init = init,
                .check = check,
                .release = release,
                .parts = {{&adept_reading_options_of, AT(measure)}, {&adept_steps_options_of, AT(measure)}}},
    .arguments = {.takes = "a COMMAND", .most = ADEPT_ANY_NUMBER, .at = AT(measure.words)},
    .takes_program = true,
    .run = drive,
    .words = words,
};
