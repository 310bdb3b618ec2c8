/** @file cmd_measure.c  `adept measure -- COMMAND`: joules, watts and seconds of what runs, by component. */
#include "adept_file.h"
#include "measure_job.h"
#include "power_plot.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>

static adept_status print(adept_cli *cli, FILE *out, const adept_measure_job *job)
{
    if (!job->options->json) return adept_report_measured(cli, out, job);
    char *text = NULL;
    adept_status status = adept_measured_json(&text, job->recording, &job->run, !job->options->raw, &cli->err);
    if (status == ADEPT_OK) fprintf(out, "%s\n", text);
    free(text);
    return status;
}

static adept_status draw(adept_cli *cli, const adept_measure_job *job)
{
    adept_text title = adept_cell("Power of %s", job->run.command ? job->run.command[0]
                                                 : job->run.host  ? job->run.host
                                                                  : "a run");

    return adept_power_plot(job->options->plot, job->recording, job->run.begin_s, job->run.end_s, title.s, &cli->err);
}

static adept_status write_report(adept_cli *cli, const adept_measure_job *job)
{
    const adept_measure_cli_options *o = job->options;
    adept_file_out file;

    if (!o->output) return print(cli, o->json || o->words.n == 0 ? stdout : stderr, job);
    if (adept_cli_prints(o->output)) return print(cli, stdout, job);
    adept_status status = adept_file_begin(&file, o->output, &cli->err);
    if (status != ADEPT_OK) return status;
    status = print(cli, file.stream, job);
    return adept_file_end(&file, status, &cli->err);
}

static adept_status list(adept_cli *cli, adept_measure_job *job)
{
    const adept_measure_cli_options *o = job->options;
    adept_status status = adept_measure_start(cli, job, NULL);

    if (status != ADEPT_OK) return status;
    adept_recording_stop(job->recording);
    job->run = (adept_measured_run){.exit_status = -1, .rank = -1, .begin_s = NAN, .end_s = NAN};
    return o->json ? print(cli, stdout, job) : adept_report_sensors(cli, stdout, job->recording);
}

static adept_status merge(adept_cli *cli, const adept_measure_cli_options *o)
{
    adept_merge *merged = NULL;
    adept_status status = adept_merge_files(&merged, o->words.words, o->words.n, &cli->err);

    if (status == ADEPT_OK) status = (o->json ? adept_merge_print_json : adept_merge_print)(cli, merged);
    adept_merge_free(merged);
    return status;
}

/* Everything that was asked for, whatever failed before: only the first failure is told. */
static adept_status write_all(adept_cli *cli, const adept_measure_job *job, adept_status status)
{
    adept_status (*const writers[])(adept_cli *, const adept_measure_job *) = {
        write_report, job->options->csv ? adept_measure_put_csv : NULL,
        job->options->steps ? adept_measure_put_steps : NULL, job->options->plot ? draw : NULL};

    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        adept_cli other = {.details = NULL};
        adept_status written = writers[i] ? writers[i](status == ADEPT_OK ? cli : &other, job) : ADEPT_OK;
        if (status == ADEPT_OK) status = written;
    }
    return status;
}

static adept_status measure(adept_cli *cli, void *options)
{
    adept_measure_cli_options *o = options;
    adept_measure_job job = {.options = o};
    adept_status status;

    if (o->merge) return merge(cli, o);
    if (o->list)
        status = list(cli, &job);
    else if (o->idle_fit)
        status = adept_measure_idle(cli, &job);
    else
        status = adept_measure_make(cli, &job);
    if (status == ADEPT_OK && o->by_period) status = adept_measure_periods(cli, &job);
    if (!o->list && !o->idle_fit && !o->by_period && job.recording && !isnan(job.run.begin_s))
        status = write_all(cli, &job, status);
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
           "The exit status is the command's, 128 + N if signal N ended it, 127 if it is not found. Numbers are the "
           "machine's: what else runs on it is in them. A sensor that is missing or dies is named, and its number is "
           "unknown, never 0. A command marks regions by lines \"SECONDS [PID] begin|end NAME\" behind the file that "
           "ADEPT_MARKS names; Python has adept.mark().",
    .size = sizeof(adept_measure_cli_options),
    .options = {.parts = {{&adept_measure_cli_options_of, 0},
                          {&adept_reading_options_of, 0},
                          {&adept_steps_options_of, 0}}},
    .arguments = {.takes = "a COMMAND", .most = ADEPT_ANY_NUMBER, .at = offsetof(adept_measure_cli_options, words)},
    .takes_program = true,
    .run = measure,
};
