/** @file measure_job.c  What `adept measure` does: sensors read while a command runs, marks that it left, or a journal.
 */
#include "measure_job.h"
#include "adept_append.h"
#include "adept_clock.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#ifdef ADEPT_WITH_METERS
#include "adept_network_sensors.h"
#endif
#include "adept_number.h"
#include "progress.h"
#include "units.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the line on a terminal -------------------------- */

typedef struct live {
    adept_recording *recording;
    adept_measure_job *job;
    adept_child child;
    adept_progress progress;
    double begin_s, last_s;
    double *energies_j; /* when the line was written last, a number for each sensor */
} live;

static void say(void *record)
{
    live *l = record;
    char line[160] = "";
    double now_s = adept_clock_s();

    for (size_t i = 0; i < adept_recording_tracks(l->recording); i++) {
        double energy_j = adept_recording_energy_now(l->recording, i),
               watts = (energy_j - l->energies_j[i]) / (now_s - l->last_s);
        if (!isnan(watts))
            adept_append(line, sizeof line, "  %s %s", adept_recording_track(l->recording, i)->sensor->name,
                         adept_units_watt(watts).s);
        l->energies_j[i] = energy_j;
    }
    l->last_s = now_s;
    adept_progress_say(&l->progress, "%s%s", adept_units_time(now_s - l->begin_s).s, line);
}

static adept_status live_begin(adept_cli *cli, live *l, adept_recording *recording)
{
    *l = (live){.recording = recording, .begin_s = adept_clock_s()};
    l->last_s = l->begin_s;
    l->energies_j = calloc(adept_recording_tracks(recording) + 1, sizeof *l->energies_j);
    if (!l->energies_j) return adept_cli_no_memory(cli);
    adept_progress_init(&l->progress);
    return ADEPT_OK;
}

static void live_end(live *l)
{
    adept_progress_end(&l->progress);
    free(l->energies_j);
}

/* ---------------------------------------------------------------- marks ------------------------------------------- */

/* A command marks its regions by lines "SECONDS [PID] begin|end NAME" behind the file that ADEPT_MARKS names; the
 * seconds are of CLOCK_MONOTONIC. A file, not a pipe: nobody is stopped or killed by a reader that has gone. */
static adept_status make_marks(adept_cli *cli, const adept_measure_cli_options *o, char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");

    if (o->journal)
        snprintf(path, size, "%s.marks", o->journal); /* they belong together, should adept be killed */
    else
        snprintf(path, size, "%s/adept-marks-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = o->journal ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : mkstemp(path);
    if (file < 0) {
        adept_status status = adept_system_error(&cli->err, ADEPT_E_IO, path);
        path[0] = '\0'; /* it is somebody else's */
        return status;
    }
    close(file);
    return setenv("ADEPT_MARKS", path, 1) == 0 ? ADEPT_OK : adept_cli_no_memory(cli);
}

/* A region that a process has begun and not ended. */
typedef struct open_mark {
    size_t region;
    double process; /* -1: the mark has none */
} open_mark;

typedef struct mark_list {
    adept_recording *recording;
    open_mark *open; /* in the order in which they began */
    size_t n, capacity;
    bool no_memory;
} mark_list;

static bool begin_mark(mark_list *m, double time_s, double process, const char *name)
{
    open_mark *open = adept_grow(m->open, &m->capacity, m->n + 1, sizeof *open);
    size_t n, at = m->n, region = adept_recording_add_region(m->recording, name, time_s, NAN);

    if (open) m->open = open;
    m->no_memory = !open || region == SIZE_MAX;
    if (m->no_memory) return false;
    const adept_region *regions = adept_recording_regions(m->recording, &n);
    while (at > 0 && regions[open[at - 1].region].begin_s > time_s) at--;
    memmove(&open[at + 1], &open[at], (m->n++ - at) * sizeof *open);
    open[at] = (open_mark){region, process};
    return true;
}

/* Ends the last region of that name that the process had open by then: processes and threads are in the same region at
 * the same time, and the line of a thread that is held up stands behind those of later times. */
static bool end_mark(mark_list *m, double time_s, double process, const char *name)
{
    size_t n, i = m->n;
    const adept_region *regions = adept_recording_regions(m->recording, &n);

    for (; i > 0; i--) {
        const adept_region *region = &regions[m->open[i - 1].region];
        if (m->open[i - 1].process == process && region->begin_s <= time_s && strcmp(region->name, name) == 0) break;
    }
    if (i == 0) return false;
    adept_recording_leave_at(m->recording, m->open[i - 1].region, time_s);
    memmove(&m->open[i - 1], &m->open[i], (m->n - i) * sizeof *m->open);
    m->n--;
    return true;
}

static bool take_mark(mark_list *m, char *line)
{
    char *rest = line;
    const char *seconds = strsep(&rest, " "), *what = strsep(&rest, " ");
    double time_s, process = -1;

    if (what && adept_number_parse(&process, what)) what = strsep(&rest, " ");
    if (!what || !rest || !*rest || !adept_number_parse(&time_s, seconds)) return false;
    if (strcmp(what, "begin") == 0) return begin_mark(m, time_s, process, rest);
    return strcmp(what, "end") == 0 && end_mark(m, time_s, process, rest);
}

static adept_status take_marks(adept_cli *cli, adept_recording *r, const char *path)
{
    FILE *file;
    mark_list m = {.recording = r};
    char *line = NULL;
    size_t capacity = 0, n = 0;
    adept_status status = adept_file_stream(&file, path, &cli->err);

    if (status != ADEPT_OK) return status;
    for (ssize_t length; status == ADEPT_OK && (length = adept_file_line(&line, &capacity, file)) > 0;) {
        n++;
        if (line[length - 1] == '\n') line[length - 1] = '\0';
        if (take_mark(&m, line)) continue;
        if (m.no_memory)
            status = adept_cli_no_memory(cli);
        else
            status =
                adept_error_set(&cli->err, ADEPT_E_INVALID,
                                "%s:%zu: no mark \"SECONDS [PID] begin|end NAME\", or an end without a begin before it",
                                path, n);
    }
    /* or no memory for a line */
    if (status == ADEPT_OK && !feof(file)) status = adept_system_error(&cli->err, ADEPT_E_IO, path);
    free(m.open);
    free(line);
    fclose(file);
    return status;
}

/* ---------------------------------------------------------------- sensors ----------------------------------------- */

static bool is_interrupted(void)
{
    return adept_interrupt_requested != 0;
}

adept_recording_options adept_measure_sensors(const adept_measure_cli_options *o,
                                              const adept_sensor_kind *kinds[ADEPT_MOST_KINDS])
{
    const adept_sensor_kind *const *const tables[] = {
        adept_sensor_kinds(),
#ifdef ADEPT_WITH_METERS
        adept_sensor_kinds_network(),
#endif
    };
    size_t n = 0;

    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const adept_sensor_kind *const *kind = tables[t]; *kind && n + 1 < ADEPT_MOST_KINDS; kind++)
            kinds[n++] = *kind;
    kinds[n] = NULL;
    adept_recording_options how = {.period_s = o->period_s,
                                   .settings = {.sysroot = o->sysroot,
                                                .meters = o->meters,
                                                .n_meters = o->n_meters,
                                                .dram = o->dram,
                                                .pid = o->attach ? o->attach : getpid(),
                                                .is_stopped = is_interrupted},
                                   .kinds = kinds,
                                   .devices = o->devices.words,
                                   .n_devices = o->devices.n};
    how.settings.dram.ea2p_tiers = o->dram_tiers == ADEPT_TIERS_OF_EA2P;
    how.settings.dram.process_usage = o->dram_usage == ADEPT_DRAM_OF_PROCESS;
    return how;
}

adept_status adept_measure_start(adept_cli *cli, adept_measure_job *job, FILE *journal)
{
    const adept_sensor_kind *kinds[ADEPT_MOST_KINDS];
    adept_recording_options options = adept_measure_sensors(job->options, kinds);

    options.journal = journal;
    return adept_recording_start(&job->recording, &options, &cli->err);
}

/* ---------------------------------------------------------------- running ----------------------------------------- */

static void tick(void *record)
{
    live *l = record;

    adept_recording_watch(l->recording);
    /* `env VAR=... python` sets what adept has not */
    if (l->job->options->steps && !l->child.has_ended) adept_visible_of(&l->job->visible, l->child.pid);
    if (l->child.signal && !l->job->signal) {
        l->job->signal = l->child.signal;
        if (l->job->on_signal) l->job->on_signal(l->job->data);
    }
    if (l->progress.shown) say(l);
}

static adept_status run_command(adept_cli *cli, adept_measure_job *job, live *l)
{
    const adept_measure_cli_options *o = job->options;
    const double tick_s = 0.5;
    adept_child *child = &l->child;

    l->job = job;
    for (int64_t n = 0; n < o->repeat && !child->exit_status && !job->signal; n++) {
        if (o->counters && n > 0) adept_counters_next(&job->counters);
        adept_status status = adept_child_start(child, o->words.words, &cli->err);
        cli->exit_code = child->exit_status;
        if (status != ADEPT_OK) return status;
        size_t region = o->repeat > 1
                            ? adept_recording_add_region(job->recording, ADEPT_REPEAT_REGION, child->begin_s, NAN)
                            : SIZE_MAX;
        if (adept_interrupt_requested) raise(SIGTERM); /* it came before; now it waits, and goes to the command */
        adept_child_wait(child, tick_s, tick, l);
        adept_recording_leave_at(job->recording, region, child->end_s);
        if (n == 0) job->run.begin_s = child->begin_s;
        job->run.end_s = child->end_s;
    }
    job->run.exit_status = cli->exit_code = child->exit_status;
    if (!o->counters) return ADEPT_OK;
    job->counts = adept_counters_read(&job->counters, job->run.end_s - job->run.begin_s);
    job->run.counts = &job->counts;
    return ADEPT_OK;
}

static void watch(adept_cli *cli, adept_measure_job *job, live *l)
{
    const adept_measure_cli_options *o = job->options;
    adept_child child;

    adept_child_watch(&child, o->attach ? &job->attached : NULL, o->duration_s > 0 ? o->duration_s : INFINITY, 0.5,
                      l->progress.shown ? say : NULL, l);
    job->run.begin_s = child.begin_s;
    job->run.end_s = child.end_s;
    if (child.signal) cli->exit_code = 128 + child.signal;
}

static adept_status measure_live(adept_cli *cli, adept_measure_job *job, const char *marks)
{
    live l;
    adept_status status = live_begin(cli, &l, job->recording);

    if (status != ADEPT_OK) return status;
    if (job->options->words.n > 0)
        status = run_command(cli, job, &l);
    else
        watch(cli, job, &l);
    live_end(&l);
    return status == ADEPT_OK && *marks ? take_marks(cli, job->recording, marks) : status;
}

static adept_status record(adept_cli *cli, adept_measure_job *job, FILE *journal)
{
    const adept_measure_cli_options *o = job->options;
    char marks[4096] = "";
    if (o->words.n > 0) adept_interrupt_catch(); /* until the command has the signals: the marks are to go */
    adept_status status = o->words.n > 0 ? make_marks(cli, o, marks, sizeof marks) : ADEPT_OK;

    if (status == ADEPT_OK) status = adept_measure_start(cli, job, journal);
    if (status == ADEPT_OK) {
        status = measure_live(cli, job, marks);
        adept_recording_stop(job->recording); /* it writes the journal until then */
    }
    if (*marks) unlink(marks);
    return status;
}

/* The first line of a journal: what was run, where and when. */
static adept_status begin_journal(adept_cli *cli, const adept_measure_job *job, FILE **journal)
{
    const adept_measure_cli_options *o = job->options;
    adept_json_writer w = {0};

    *journal = fopen(o->journal, "wxe");
    if (!*journal) return adept_system_error(&cli->err, ADEPT_E_IO, o->journal);
    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "host %s started %s", job->run.host, job->run.started);
    adept_json_put_strings(&w, "command", o->words.words, o->words.n);
    adept_json_begin_object(&w, "visible");
    for (size_t v = 0; v < ADEPT_VISIBLE_VARIABLES; v++)
        if (job->visible.values[v]) adept_json_put_string(&w, adept_visible_name(v), job->visible.values[v]);
    adept_json_end_object(&w);
    adept_json_end_object(&w);
    char *line = adept_json_finish(&w);
    if (line) fprintf(*journal, "%s\n", line);
    free(line);
    return line ? ADEPT_OK : adept_cli_no_memory(cli);
}

static adept_status record_to_journal(adept_cli *cli, adept_measure_job *job)
{
    FILE *journal = NULL;
    adept_status status = job->options->journal ? begin_journal(cli, job, &journal) : ADEPT_OK;

    if (status == ADEPT_OK) status = record(cli, job, journal);
    if (!journal) return status;
    if (!job->recording) unlink(job->options->journal); /* nothing was begun: the next try may have the name */
    bool failed = ferror(journal) != 0;
    if ((fclose(journal) || failed) && status == ADEPT_OK)
        status = adept_error_set(&cli->err, ADEPT_E_IO, "%s: it could not be written whole", job->options->journal);
    return status;
}

static void note_begin(adept_measure_job *job)
{
    const char *const ranks[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    if (gethostname(job->host, sizeof job->host)) job->host[0] = '\0';
    job->host[sizeof job->host - 1] = '\0';
    job->started = adept_clock_date();
    job->run.host = job->host;
    job->run.started = job->started.s;
    for (size_t i = 0; job->run.rank < 0 && i < sizeof ranks / sizeof *ranks; i++) {
        int64_t rank;
        if (getenv(ranks[i]) && adept_integer_parse(&rank, getenv(ranks[i]), NULL, 0, INT_MAX))
            job->run.rank = (int)rank;
    }
}

/* The first line of a journal. */
static adept_status read_about(adept_cli *cli, adept_measure_job *job, const char *path)
{
    FILE *file;
    char *text = NULL;
    size_t capacity = 0, n = 0;
    const cJSON *word;

    adept_status status = adept_file_stream(&file, path, &cli->err);
    if (status != ADEPT_OK) return status;
    ssize_t length = adept_file_line(&text, &capacity, file);
    status = length < 0 && !feof(file) ? adept_system_error(&cli->err, ADEPT_E_INVALID, path) : ADEPT_OK;
    fclose(file);
    if (status == ADEPT_OK)
        status = adept_json_parse(&job->about, path, text ? text : "", length > 0 ? (size_t)length : 0, &cli->err);
    free(text);
    if (status != ADEPT_OK) return status;
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(job->about, "command");
    job->run.host = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(job->about, "host"));
    job->run.started = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(job->about, "started"));
    const cJSON *visible = cJSON_GetObjectItemCaseSensitive(job->about, "visible");
    for (size_t v = 0; v < ADEPT_VISIBLE_VARIABLES; v++)
        if (!adept_visible_set(&job->visible, v,
                               cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(visible, adept_visible_name(v)))))
            return adept_cli_no_memory(cli);
    if (adept_json_size(command) == 0) return ADEPT_OK;
    job->run.command = job->command = calloc(adept_json_size(command) + 1, sizeof *job->command);
    if (!job->command) return adept_cli_no_memory(cli);
    cJSON_ArrayForEach(word, command) job->command[n++] = cJSON_IsString(word) ? word->valuestring : "?";
    return ADEPT_OK;
}

static adept_status read_journal(adept_cli *cli, adept_measure_job *job)
{
    const char *path = job->options->read;
    char marks[4096];
    adept_status status = adept_recording_read(&job->recording, path, &cli->err);

    if (status != ADEPT_OK) return status;
    /* of a run that was killed: what it marked is not in the journal */
    snprintf(marks, sizeof marks, "%s.marks", path);
    if (access(marks, F_OK) == 0) status = take_marks(cli, job->recording, marks);
    adept_recording_cut(job->recording);
    job->run.begin_s = adept_recording_begin_s(job->recording);
    job->run.end_s = adept_recording_end_s(job->recording);
    return status;
}

adept_status adept_measure_make(adept_cli *cli, adept_measure_job *job)
{
    const adept_measure_cli_options *o = job->options;

    job->run =
        (adept_measured_run){.exit_status = -1, .rank = -1, .with_samples = o->raw, .begin_s = NAN, .end_s = NAN};
    if (o->repeat > 1) job->run.repeated = ADEPT_REPEAT_REGION;
    if (o->words.n > 0) job->run.command = o->words.words;
    adept_status status = ADEPT_OK;

    if (o->read)
        status = read_about(cli, job, o->read);
    else
        note_begin(job);
    if (status == ADEPT_OK && !o->read && !adept_visible_own(&job->visible)) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK && o->idle) { /* before anything is run for it */
        status = adept_idle_fit_load(&job->idle, o->idle, job->run.host ? job->run.host : "", &cli->err);
        job->run.idle = &job->idle;
    }
    if (status == ADEPT_OK && o->counters) status = adept_counters_open(&job->counters, o->sysroot, &cli->err);
    if (status == ADEPT_OK && o->attach && !adept_attached_open(&job->attached, o->attach))
        status = adept_cli_usage(cli, "--attach: no process %d runs", o->attach);
    if (status == ADEPT_OK && o->attach) adept_visible_of(&job->visible, o->attach);
    if (status != ADEPT_OK) return status;
    return o->read ? read_journal(cli, job) : record_to_journal(cli, job);
}

/* ---------------------------------------------------------------- an idle machine --------------------------------- */

/* Runs of nothing of 1, 2, 4, 8, ... s, as the thesis measured them (table 3.13), until the time is over. */
static void idle_runs(adept_cli *cli, adept_measure_job *job, double total_s, live *l)
{
    double spent_s = 0;

    for (double time_s = 1; spent_s + time_s <= total_s; time_s *= 2) {
        adept_child child;
        adept_child_watch(&child, NULL, time_s, 0.5, l->progress.shown ? say : NULL, l);
        adept_recording_add_region(job->recording, "idle", child.begin_s, child.end_s);
        spent_s += time_s;
        if (!child.signal) continue;
        cli->exit_code = 128 + child.signal;
        break;
    }
}

static adept_status fit_idle(adept_cli *cli, const adept_measure_job *job, adept_idle_fit *fit)
{
    enum { MOST_RUNS = 32 };
    double times_s[MOST_RUNS], energies_j[MOST_RUNS];
    size_t n, fitted = 0;
    const adept_region *regions = adept_recording_regions(job->recording, &n);

    for (int c = 0; c < ADEPT_COMPONENTS; c++) {
        for (size_t i = 0; i < n && i < MOST_RUNS; i++) {
            times_s[i] = regions[i].end_s - regions[i].begin_s;
            energies_j[i] =
                adept_measured_energy(job->recording, (adept_component)c, regions[i].begin_s, regions[i].end_s)
                    .energy_j;
        }
        fitted +=
            adept_idle_line_fit(&fit->lines[c], times_s, energies_j, n < MOST_RUNS ? n : MOST_RUNS, NULL) == ADEPT_OK;
    }
    if (fitted > 0) return ADEPT_OK;
    return adept_error_set(&cli->err, ADEPT_E_FIT, "%s: %s", job->options->idle_fit,
                           n < 2 ? "two runs are needed, so --duration 3s or more"
                                 : "no sensor knows what the idle machine draws");
}

adept_status adept_measure_idle(adept_cli *cli, adept_measure_job *job)
{
    const adept_measure_cli_options *o = job->options;
    adept_idle_fit fit = {.host = ""};
    live l;

    note_begin(job);
    adept_status status = adept_measure_start(cli, job, NULL);
    if (status == ADEPT_OK) status = live_begin(cli, &l, job->recording);
    if (status != ADEPT_OK) return status;
    idle_runs(cli, job, o->duration_s > 0 ? o->duration_s : 31, &l);
    live_end(&l);
    adept_recording_stop(job->recording);
    snprintf(fit.host, sizeof fit.host, "%s", job->host);
    status = fit_idle(cli, job, &fit);
    if (status == ADEPT_OK) status = adept_idle_fit_save(&fit, o->idle_fit, &cli->err);
    for (int c = 0; status == ADEPT_OK && c < ADEPT_COMPONENTS; c++)
        if (fit.lines[c].n > 0)
            printf("%-8s E_idle(t) = %.4g J + %.4g W t   RMSE %.3g J, R2 %.6f\n", adept_component_name((size_t)c),
                   fit.lines[c].alpha_j, fit.lines[c].beta_w, fit.lines[c].rmse_j, fit.lines[c].r2);
    return status;
}

void adept_measure_job_free(adept_measure_job *job)
{
    adept_recording_free(job->recording);
    adept_counters_close(&job->counters);
    adept_attached_close(&job->attached);
    adept_visible_free(&job->visible);
    cJSON_Delete(job->about);
    free(job->command);
}
