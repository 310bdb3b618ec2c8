/** @file cmd_measure.c  `adept measure -- COMMAND`: joules, watts and seconds of what runs, by component. */
#include "adept_file.h"
#include "gnuplot.h"
#include "power_plot.h"
#include "measure_job.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(adept_measure_options, member)

static const adept_suffix times[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {NULL, 0}};

static void init(void *record)
{
    adept_measure_options *o = record;

    o->period_s = ADEPT_PERIOD_S;
    o->repeat = 1;
}

static adept_status check(adept_cli *cli, void *record)
{
    const adept_measure_options *o = record;
    int sources = (o->words.n > 0) + (o->attach > 0 || o->duration_s > 0) + (o->read != NULL) + o->list;

    if (o->period_s < ADEPT_SHORTEST_PERIOD_S)
        return adept_cli_usage(cli, "--period: at least %g us is needed", 1e6 * ADEPT_SHORTEST_PERIOD_S);
    if (sources == 0)
        return adept_cli_usage(cli, "measure needs a COMMAND, --attach, --duration, --read or --list; see adept measure --help");
    if (sources > 1) return adept_cli_usage(cli, "a COMMAND, --attach or --duration, --read and --list exclude each other");
    if (o->repeat > 1 && o->words.n == 0) return adept_cli_usage(cli, "--repeat needs a COMMAND");
    if (o->journal && o->words.n == 0 && !(o->attach > 0 || o->duration_s > 0))
        return adept_cli_usage(cli, "--samples is for what is measured now");
    return o->plot ? adept_gnuplot_check("--plot", &cli->err) : ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "What is measured:"},
    {"repeat", "N", 1, "Run COMMAND N times: mean, deviation and 95 % interval", ADEPT_OPT_COUNT, .at = AT(repeat), .low = 1},
    {"attach", "PID", 1, "Measure until this process ends", ADEPT_OPT_INT, .at = AT(attach), .low = 1},
    {"duration", "TIME", 1, "Measure for so long, \"10s\"; with --attach at most", ADEPT_OPT_AMOUNT, .at = AT(duration_s), .units = times},
    {"read", "FILE", 1, "Report what --samples kept, also of a run that was killed", ADEPT_OPT_FILE, .at = AT(read)},
    {"list", NULL, 1, "List the sensors of this machine, and what is missing", ADEPT_OPT_FLAG, .at = AT(list)},
    {.group = 2, .help = "How:"},
    {"period", "TIME", 2, "Between two readings: \"100ms\" is the default", ADEPT_OPT_AMOUNT, .at = AT(period_s), .units = times},
    {"devices", "LIST", 2, "Only these: components (cpu, gpu), kinds (nvml) or sensors (gpu-0)", ADEPT_OPT_LIST, .at = AT(devices)},
    {"sysroot", "DIR", 2, "Read /sys and /proc below this directory", ADEPT_OPT_FILE, .at = AT(sysroot)},
    {.group = 3, .help = "What is written:"},
    {"output", "FILE", 3, "Write the report to FILE; \"-\" is standard output. Without it, text goes to standard error, JSON to standard output",
     ADEPT_OPT_FILE, .at = AT(output), .letter = 'o'},
    {"json", NULL, 3, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {"raw", NULL, 3, "JSON holds every sample", ADEPT_OPT_FLAG, .at = AT(raw)},
    {"plot", "FILE.svg", 3, "Draw power over time, component upon component, marked regions behind them", ADEPT_OPT_FILE, .at = AT(plot)},
    {"samples", "FILE", 3, "Write every sample to FILE as it comes, which nothing may hold yet", ADEPT_OPT_FILE, .at = AT(journal)},
    {0},
};

const adept_options adept_measure_options_of = {.rows = rows, .init = init, .check = check};

static adept_status print(adept_cli *cli, FILE *out, const adept_measure_job *job)
{
    if (!job->options->json) return adept_report_measured(cli, out, job);
    adept_json_writer w = {.pretty = !job->options->raw};
    adept_status status = adept_measured_write(&w, job->recording, &job->run, &cli->err);
    char *text = adept_json_finish(&w);
    if (status == ADEPT_OK && !text) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK) fprintf(out, "%s\n", text);
    free(text);
    return status;
}

static adept_status draw(adept_cli *cli, const adept_measure_job *job)
{
    adept_text title = adept_cell("Power of %s", job->run.command ? job->run.command[0] : job->run.host ? job->run.host : "a run");

    return adept_power_plot(job->options->plot, job->recording, job->run.begin_s, job->run.end_s, title.s, &cli->err);
}

static adept_status write_report(adept_cli *cli, const adept_measure_job *job)
{
    const adept_measure_options *o = job->options;
    adept_file_out file;

    if (!o->output) return print(cli, o->json || o->words.n == 0 ? stdout : stderr, job);
    if (adept_cli_prints(o->output)) return print(cli, stdout, job);
    adept_status status = adept_file_begin(&file, o->output, &cli->err);
    if (status != ADEPT_OK) return status;
    status = print(cli, file.stream, job);
    adept_status ended = adept_file_end(&file, status == ADEPT_OK, &cli->err);
    return status == ADEPT_OK ? ended : status;
}

static adept_status list(adept_cli *cli, adept_measure_job *job)
{
    const adept_measure_options *o = job->options;
    const adept_recording_options options = {.settings = {.sysroot = o->sysroot, .meters = o->meters, .n_meters = o->n_meters, .dram = o->dram},
                                             .devices = o->devices.words,
                                             .n_devices = o->devices.n};
    adept_status status = adept_recording_start(&job->recording, &options, &cli->err);

    if (status != ADEPT_OK) return status;
    adept_recording_stop(job->recording);
    job->run = (adept_measured_run){.exit_status = -1, .rank = -1, .begin_s = NAN, .end_s = NAN};
    return o->json ? print(cli, stdout, job) : adept_report_sensors(cli, stdout, job->recording);
}

/* Everything that was asked for, whatever failed before: only the first failure is told. */
static adept_status write_all(adept_cli *cli, const adept_measure_job *job, adept_status status)
{
    adept_status (*const writers[])(adept_cli *, const adept_measure_job *) = {write_report, job->options->plot ? draw : NULL};

    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        adept_cli other = {.details = NULL};
        adept_status written = writers[i] ? writers[i](status == ADEPT_OK ? cli : &other, job) : ADEPT_OK;
        if (status == ADEPT_OK) status = written;
    }
    return status;
}

static adept_status measure(adept_cli *cli, void *options)
{
    adept_measure_options *o = options;
    adept_measure_job job = {.options = o};
    adept_status status = o->list ? list(cli, &job) : adept_measure_make(cli, &job);

    if (!o->list && job.recording && !isnan(job.run.begin_s)) status = write_all(cli, &job, status);
    adept_measure_job_free(&job);
    return status;
}

const adept_command adept_command_measure = {
    .name = "measure",
    .summary = "joules, watts and seconds of a run, by component",
    .usage = "[-- COMMAND...]",
    .doc = "Run a command and measure what the machine draws meanwhile: processors, memory, GPUs, the whole node."
           "\vExamples:\n"
           "  adept measure -- sleep 1\n"
           "  adept measure --period 10ms --json -o run.json -- sleep 1\n"
           "  adept measure --list\n"
           "\n"
           "The exit status is the command's, 128 + N if signal N ended it, 127 if it is not found. "
           "Numbers are the machine's: what else runs on it is in them. "
           "A sensor that is missing or dies is named, and its number is unknown, never 0.",
    .size = sizeof(adept_measure_options),
    .options = {.parts = {{&adept_measure_options_of, 0}}},
    .arguments = {.takes = "a COMMAND", .most = ADEPT_ANY_NUMBER, .at = AT(words), .end_options = true},
    .run = measure,
};
