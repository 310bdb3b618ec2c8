/** @file attribute_record.c  `adept attribute record`: its options, its loop, its signals. */
#include "adept_clock.h"
#include "adept_recorder.h"
#include "attribute.h"
#include "measure_job.h"
#include "nearest.h"
#include "table.h"
#include "units.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_S 0.05
#define SHORTEST_PERIOD_S 0.1 /* a look at 1,000 processes takes 10 ms */

typedef struct record_options {
    adept_measure_cli_options measure; /* of sensors */
    adept_words words;                 /* the command */
    const char *output;
    double period_s, meter_period_s, duration_s, rotate_s;
    int source; /* adept_best_source */
    bool list, without_meter;
} record_options;

#define AT(member) offsetof(record_options, member)

#define NAME(name, word) word,
ADEPT_FILE_NAMES(source_name, ADEPT_BEST_SOURCE_LIST(NAME))
#undef NAME

static void init(void *record)
{
    record_options *o = record;

    o->output = "activity-%Y%m%dT%H%M%S.adept";
    o->period_s = 1;
    o->meter_period_s = 0.25; /* 4 Hz, as GUDE's meters are read in the paper that fit follows */
}

static adept_status check(adept_cli *cli, void *record)
{
    const record_options *o = record;

#ifndef ADEPT_COUNTS_BY_BPF
    if (o->source == ADEPT_SOURCE_BPF)
        return adept_cli_usage(cli, "--source: this adept was built without 'bpf', which needs libbpf and clang "
                                    "(sh tools/install_deps.sh bpf); install them and build again");
#endif
    if (o->period_s < SHORTEST_PERIOD_S)
        return adept_cli_usage(cli, "--period: at least %g ms is needed", 1e3 * SHORTEST_PERIOD_S);
    if (o->meter_period_s < ADEPT_SHORTEST_PERIOD_S)
        return adept_cli_usage(cli, "--meter-period: at least %g ms is needed", 1e3 * ADEPT_SHORTEST_PERIOD_S);
    if (o->rotate_s > 0 && !strchr(o->output, '%'))
        return adept_cli_usage(cli, "--rotate needs a date in the name: -o activity-%%Y%%m%%dT%%H%%M%%S.adept");
    if (o->words.n > 0 && (o->duration_s > 0 || o->list))
        return adept_cli_usage(cli, "a COMMAND, --duration and --list exclude each other");
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "What is recorded:"},
    {"duration", "TIME", 1, "Record for so long, \"10min\", instead of until INT or TERM comes", ADEPT_OPT_AMOUNT,
     .at = AT(duration_s), .units = adept_suffix_times},
    {"period", "TIME", 1, "Of an interval: \"1s\" is the default", ADEPT_OPT_AMOUNT, .at = AT(period_s),
     .units = adept_suffix_times},
    {"source", "NAME", 1, "The best source to try: auto (default), bpf, taskstats (/proc and records of exits) or proc",
     ADEPT_OPT_CHOICE, .at = AT(source), .names = source_name},
    {"list", NULL, 1, "List the sources and meters of this machine, and what is missing", ADEPT_OPT_FLAG,
     .at = AT(list)},
    {"without-meter", NULL, 2, "Record also where no meter answers: what processes do, and no energy", ADEPT_OPT_FLAG,
     .at = AT(without_meter)},
    {"meter-period", "TIME", 2, "Between two readings of a meter: \"250ms\" is the default", ADEPT_OPT_AMOUNT,
     .at = AT(meter_period_s), .units = adept_suffix_times, .expert = true},
    {.group = 3, .help = "What is written:"},
    {"output", "FILE", 3,
     "Write to FILE, which must not exist, \"activity-%Y%m%dT%H%M%S.adept\" by default: strftime's letters stand for "
     "the date",
     ADEPT_OPT_FILE, .at = AT(output), .written = true, .letter = 'o'},
    {"rotate", "TIME", 3, "Begin a new file so often, \"1d\"; HUP does it at once", ADEPT_OPT_AMOUNT,
     .at = AT(rotate_s), .units = adept_suffix_times},
    {0},
};

/* ---------------------------------------------------------------- the loop ---------------------------------------- */

typedef struct loop {
    adept_cli *cli;
    const record_options *options;
    adept_recorder *recorder;
    double begin_s, next_s, rotate_next_s;
    adept_status status; /* the first failure, of writing or of memory */
} loop;

static adept_status open_file(loop *l, adept_error *err)
{
    char path[4096];
    time_t now = time(NULL);
    struct tm local;

    if (!localtime_r(&now, &local) || strftime(path, sizeof path, l->options->output, &local) == 0)
        return adept_error_set(err, ADEPT_E_USAGE, "-o: '%s' makes no name of a file", l->options->output);
    return adept_recorder_open(l->recorder, path, err);
}

/* A file that cannot be begun is no reason to lose what goes on into the one before. */
static void rotate(loop *l)
{
    adept_error why = {0};

    if (open_file(l, &why) == ADEPT_OK) return;
    fputs("adept: ", stderr);
    adept_print_clean(stderr, why.message);
    fputs("; the recording goes on as before\n", stderr);
}

static void tick(void *record)
{
    loop *l = record;
    double now_s = adept_clock_s();

    if (l->status != ADEPT_OK) return;
    adept_recorder_drain(l->recorder);
    if (now_s < l->next_s) return;
    l->status = adept_recorder_interval(l->recorder, &l->cli->err);
    l->next_s = l->begin_s + (floor((now_s - l->begin_s) / l->options->period_s) + 1) * l->options->period_s;
    if (l->options->rotate_s > 0 && now_s >= l->rotate_next_s) {
        l->rotate_next_s += l->options->rotate_s;
        rotate(l);
    }
}

/* Until the time is over, INT or TERM comes, or nothing can be written any more. */
static void wait_for_signals(loop *l)
{
    double end_s = l->options->duration_s > 0 ? l->begin_s + l->options->duration_s : INFINITY;
    sigset_t set, before;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &before);
    while (l->status == ADEPT_OK) {
        double left_s = fmin(fmin(end_s, l->next_s) - adept_clock_s(), DRAIN_S);
        struct timespec wait = {.tv_nsec = (long)(1e9 * fmax(left_s, 0))};
        int signal = sigtimedwait(&set, NULL, &wait);
        if (signal == SIGINT || signal == SIGTERM || adept_clock_s() >= end_s) break;
        if (signal == SIGHUP) rotate(l);
        tick(l);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Three files for each busy process; a command is to have the limit that adept was given. */
static void set_most_files(rlim_t most)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static adept_status run_command(loop *l, rlim_t files)
{
    adept_child child;

    set_most_files(files);
    adept_status status = adept_child_start(&child, l->options->words.words, &l->cli->err);
    set_most_files(1 << 20);
    if (status != ADEPT_OK) {
        l->cli->exit_code = child.exit_status;
        return status;
    }
    adept_child_wait(&child, DRAIN_S, tick, l);
    l->cli->exit_code = child.exit_status;
    return ADEPT_OK;
}

static void print_sources(FILE *out, const adept_recorder *recorder, const char *before)
{
    size_t n;
    const char *const *lines = adept_recorder_sources(recorder, &n);

    for (size_t i = 0; i < n; i++) {
        fputs(before, out);
        adept_print_clean(out, lines[i]);
        fputc('\n', out);
    }
}

static adept_status list(adept_cli *cli, const adept_recorder *recorder)
{
    puts("What counts:");
    print_sources(stdout, recorder, "  ");
    putchar('\n');
    return adept_report_sensors(cli, stdout, adept_recorder_meters(recorder));
}

/* Of what fit, report and --slurm give out. */
static bool has_meter(const adept_recording *meters)
{
    bool any = false;

    for (size_t i = 0; i < adept_recording_tracks(meters); i++) {
        const adept_track *track = adept_recording_track(meters, i);
        adept_component c = track->sensor->component;
        if (track->sensor->is_doubtful && track->n_samples == 0) continue; /* perhaps it never says anything */
        any = any || c == ADEPT_COMPONENT_NODE || c == ADEPT_COMPONENT_CPU || c == ADEPT_COMPONENT_DRAM ||
              c == ADEPT_COMPONENT_GPU;
    }
    return any;
}

static adept_status record_until_the_end(loop *l, rlim_t files)
{
    bool measures = has_meter(adept_recorder_meters(l->recorder));

    if (!measures && !l->options->without_meter)
        return adept_error_set(&l->cli->err, ADEPT_E_INVALID,
                               "no meter of the node, and none of cpu, dram or gpu answers: there would be no energy; "
                               "adept attribute record --list says why, --without-meter records all the same");
    adept_status status = open_file(l, &l->cli->err);
    if (status != ADEPT_OK) return status;
    print_sources(stderr, l->recorder, "adept: ");
    if (!measures) fputs("adept: no meter answers: there will be no energy\n", stderr);
    l->begin_s = adept_clock_s();
    l->next_s = l->begin_s + l->options->period_s;
    l->rotate_next_s = l->begin_s + l->options->rotate_s;
    if (l->options->words.n > 0)
        status = run_command(l, files);
    else
        wait_for_signals(l);
    if (status == ADEPT_OK) status = l->status;
    adept_error other = {0};
    adept_status stopped = adept_recorder_stop(l->recorder, status == ADEPT_OK ? &l->cli->err : &other);
    if (status == ADEPT_OK) status = stopped;
    return status;
}

static adept_status record(adept_cli *cli, void *options)
{
    const record_options *o = options;
    const adept_sensor_kind *kinds[ADEPT_MOST_KINDS];
    struct rlimit files = {.rlim_cur = 256};
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    getrlimit(RLIMIT_NOFILE, &files);
    set_most_files(1 << 20);
    adept_recorder_options how = {
        .period_s = o->period_s,
        .meters = adept_measure_sensors(&o->measure, kinds),
        .source = (adept_best_source)o->source,
        .host = host,
    };
    how.meters.period_s = o->meter_period_s;
    loop l = {.cli = cli, .options = o};
    adept_status status = adept_recorder_start(&l.recorder, &how, &cli->err);
    if (status == ADEPT_OK) status = o->list ? list(cli, l.recorder) : record_until_the_end(&l, files.rlim_cur);
    adept_recorder_free(l.recorder);
    return status;
}

const adept_command adept_attribute_record = {
    .name = "attribute record",
    .summary = "what processes do, beside what meters read",
    .usage = "[-- COMMAND...]",
    .doc = "Record once a period what each process did, and what meters read meanwhile, until COMMAND ends or INT or "
           "TERM comes."
           "\vExamples:\n"
           "  adept attribute record --list\n"
           "  adept attribute record -o run.adept --duration 10s\n"
           "  adept attribute record -o run.adept -- make -j8\n"
           "\n"
           "The file can be read while it grows, and after kill -9. What counts processes is said at the start, and "
           "why nothing better could be "
           "had. Other users' processes need root. With COMMAND, the exit status is the command's.",
    .size = sizeof(record_options),
    .options = {.rows = rows,
                .init = init,
                .check = check,
                .parts = {{&adept_sensor_options_of, offsetof(record_options, measure)}}},
    .arguments = {.takes = "a COMMAND", .most = ADEPT_ANY_NUMBER, .at = offsetof(record_options, words)},
    .takes_program = true,
    .run = record,
};
