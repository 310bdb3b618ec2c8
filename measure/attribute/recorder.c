/** @file recorder.c  Sources and meters, put together interval by interval. */
#include "adept_recorder.h"
#include "adept_clock.h"
#include "adept_gpu_processes.h"
#include "activity_source.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_SOURCES 3

typedef struct serving {
    const adept_activity_source *source;
    void *state;
    uint64_t told; /* losses that were noted */
} serving;

/* What of a meter the next samples go on from. */
typedef struct meter_state {
    adept_sample last; /* time_s NAN: there was none */
    bool is_lost;      /* which was noted */
} meter_state;

/* A process on a GPU, as the driver says it. */
typedef struct gpu_entry {
    adept_gpu_process said;
    adept_tracked *process; /* NULL: it is not visible here */
    bool is_same;           /* as another entry, which has its use */
} gpu_entry;

struct adept_recorder {
    adept_processes processes;
    serving serving[MOST_SOURCES];
    size_t n_serving;
    adept_recording *meters;
    meter_state *meter_states;
    adept_gpu_processes *gpus;
    gpu_entry *entries;                         /* of the last reading; */
    size_t n_entries, entry_capacity, n_before; /* in front of them those not visible of the reading before */
    bool told_stranger, told_pair, told_lists;
    adept_activity_log head; /* what a file begins with; its texts and arrays are owned */
    char **lines;            /* head.sources */
    size_t line_capacity;
    adept_log_file file; /* fd -1: none */
    adept_log_interval interval;
    double offset_s;      /* from adept_clock_s() to seconds since 1970 */
    double begun_s;       /* the interval, by adept_clock_s() */
    double shown_end_s;   /* of the interval before */
    double machine_cpu_s; /* so far */
    bool is_stopped;
};

/* ---------------------------------------------------------------- lines about sources ----------------------------- */

ADEPT_PRINTF(2, 3) static void say(adept_recorder *r, const char *format, ...)
{
    va_list args;
    char *text = NULL;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    char **lines = adept_grow(r->lines, &r->line_capacity, r->head.n_sources + 1, sizeof *lines);
    if (lines) r->lines = lines;
    if (lines && text) {
        lines[r->head.n_sources++] = text;
        r->head.sources = (const char *const *)lines;
    } else {
        free(text);
        r->processes.failed = true;
    }
}

/* The same of what happens later: also in the file. */
static adept_status note(adept_recorder *r, adept_error *err)
{
    return r->file.path ? adept_log_note(&r->file, r->lines[r->head.n_sources - 1], err) : ADEPT_OK;
}

static bool serve(adept_recorder *r, const adept_activity_source *source)
{
    char why[256] = "";
    void *state = NULL;

    if (!source->open(&state, &r->processes, r->head.has, why, sizeof why)) {
        say(r, "%s: not available: %s", source->name, why);
        return false;
    }
    say(r, "%s: %s%s%s", source->name, source->counts, *why ? "; " : "", why);
    r->serving[r->n_serving++] = (serving){.source = source, .state = state};
    return true;
}

static adept_status find_sources(adept_recorder *r, const adept_recorder_options *o, adept_error *err)
{
    bool asks = r->processes.is_outermost; /* else what the kernel says is of other pids */
    bool all = false;

    if (!asks)
        say(r, "bpf, taskstats: not available: /proc does not show the kernel's own pids, as in a container or below a "
               "sysroot");
    if (asks && (o->source == ADEPT_SOURCE_AUTO || o->source == ADEPT_SOURCE_BPF))
        all = serve(r, &adept_activity_source_bpf);
    if (!all && o->source != ADEPT_SOURCE_BPF) {
        all = serve(r, &adept_activity_source_proc);
        if (all && asks && o->source != ADEPT_SOURCE_PROC) serve(r, &adept_activity_source_taskstats);
    }
    if (r->processes.failed) return adept_no_memory(err, "what counts processes");
    if (!all)
        return adept_error_set(err, ADEPT_E_INTERNAL, "nothing counts what processes do: %s",
                               r->lines[r->head.n_sources - 1]);
    if (r->n_serving == 1 && r->serving[0].source == &adept_activity_source_proc)
        say(r, "what ended between two looks at /proc: not counted");
    if (!r->head.has[ADEPT_ACTIVITY_NETWORK_BYTES])
        say(r, "network bytes: not counted: the kernel tells them by process from Linux 6.3 on, to bpf");
    if (!r->head.has[ADEPT_ACTIVITY_INSTRUCTIONS])
        say(r, "instructions, cycles, cache misses: not counted: bpf takes them where the processor tells them");
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- meters ------------------------------------------ */

static adept_status list_meters(adept_recorder *r, adept_error *err)
{
    size_t n = adept_recording_tracks(r->meters);
    adept_meter_log *meters = calloc(n + 1, sizeof *meters);

    r->head.meters = meters;
    r->meter_states = calloc(n + 1, sizeof *r->meter_states);
    if (!meters || !r->meter_states) return adept_no_memory(err, "meters");
    for (size_t i = 0; i < n; i++) {
        const adept_sensor *sensor = adept_recording_track(r->meters, i)->sensor;
        meters[i] = (adept_meter_log){
            .name = sensor->name, .source = sensor->source, .component = sensor->component, .inside = sensor->inside};
        r->meter_states[i].last.time_s = NAN;
    }
    r->head.n_meters = n;
    return ADEPT_OK;
}

static adept_status put_samples(adept_recorder *r, size_t meter, adept_error *err)
{
    enum { PIECE = 64 };
    adept_sample samples[PIECE];
    meter_state *state = &r->meter_states[meter];
    const char *lost;
    size_t n;

    while ((n = adept_recording_take(r->meters, meter, samples, PIECE, &lost)) > 0)
        for (size_t i = 0; i < n; i++) {
            adept_sample s = {samples[i].time_s + r->offset_s, samples[i].energy_j, samples[i].power_w};
            if (s.time_s <= state->last.time_s) s.time_s = state->last.time_s + 1e-6; /* the date went back */
            adept_log_put_sample(&r->interval, meter, &s);
            state->last = s;
        }
    if (!lost || state->is_lost) return ADEPT_OK;
    state->is_lost = true;
    say(r, "meter %s: %s", r->head.meters[meter].name, lost);
    return note(r, err);
}

/* ---------------------------------------------------------------- GPUs -------------------------------------------- */

static uint32_t meter_called(const adept_recorder *r, const char *name)
{
    for (size_t i = 0; i < r->head.n_meters; i++)
        if (strcmp(r->head.meters[i].name, name) == 0) return (uint32_t)i;
    return UINT32_MAX;
}

static bool was_there_before(const adept_recorder *r, const adept_gpu_process *said)
{
    for (size_t i = 0; i < r->n_before; i++)
        if (r->entries[i].said.pid == said->pid && strcmp(r->entries[i].said.gpu, said->gpu) == 0) return true;
    return false;
}

/* What the driver says of a GPU's processes, and which of them are visible here. Strangers of the reading before stay,
 * in front: one that only used the GPU may have ended since. */
static bool take_entries(adept_recorder *r, const adept_gpu_process *list, size_t n)
{
    size_t kept = 0;

    for (size_t i = r->n_before; i < r->n_entries; i++)
        if (!r->entries[i].process) r->entries[kept++] = r->entries[i];
    gpu_entry *grown = adept_grow(r->entries, &r->entry_capacity, kept + n + 1, sizeof *grown);
    if (!grown) return false;
    r->entries = grown;
    r->n_before = kept;
    r->n_entries = kept + n;
    for (size_t i = 0; i < n; i++)
        r->entries[kept + i] =
            (gpu_entry){.said = list[i], .process = adept_processes_meant(&r->processes, list[i].pid)};
    return true;
}

/* Two calls of NVML may answer in two PID namespaces (HAMi-core #112): processes that hold a GPU and do not use it, and
 * others that use it and are not visible here. One of each is the same; of more nobody knows which is which. */
static adept_status match_namespaces(adept_recorder *r, const char *gpu, adept_error *err)
{
    gpu_entry *holder = NULL, *user = NULL;
    size_t holders = 0, users = 0;

    for (size_t i = r->n_before; i < r->n_entries; i++) {
        gpu_entry *e = &r->entries[i];
        if (strcmp(e->said.gpu, gpu) != 0) continue;
        if (e->process && e->said.is_listed && e->said.utilization == 0) holders++, holder = e;
        if (!e->process && !e->said.is_listed) users++, user = e;
    }
    if (holders == 0 || users == 0) return ADEPT_OK;
    bool is_pair = holders == 1 && users == 1 && was_there_before(r, &user->said);
    double used = is_pair ? user->said.utilization : NAN;
    int32_t here = holder->said.pid, there = user->said.pid;
    for (size_t i = r->n_before; i < r->n_entries; i++) {
        gpu_entry *e = &r->entries[i];
        if (strcmp(e->said.gpu, gpu) != 0) continue;
        if (e->process && e->said.is_listed && e->said.utilization == 0) e->said.utilization = used;
        if (!e->process && !e->said.is_listed) e->is_same = true;
    }
    bool *told = is_pair ? &r->told_pair : &r->told_lists;
    if (*told || !was_there_before(r, &user->said)) return ADEPT_OK;
    *told = true;
    if (is_pair)
        say(r,
            "%s: NVML lists process %d and measures the use of process %d, which is not visible here: taken for one, "
            "in "
            "two PID namespaces",
            gpu, (int)here, (int)there);
    else
        say(r,
            "%s: NVML lists processes by other numbers than it measures their use by (%d, ...), in another PID "
            "namespace: "
            "how much each of them uses is not known",
            gpu, (int)there);
    return note(r, err);
}

static adept_status put_entry(adept_recorder *r, const gpu_entry *e, adept_error *err)
{
    const adept_gpu_process *said = &e->said;
    adept_gpu_use use = {.meter = meter_called(r, said->gpu),
                         .utilization = (float)said->utilization,
                         .memory_bytes = (float)said->memory_bytes,
                         .instance = said->instance,
                         .slices = (float)said->slices};
    bool is_put = true;

    if (use.meter == UINT32_MAX || e->is_same) return ADEPT_OK;
    if (!e->process && !said->is_listed && !was_there_before(r, said)) return ADEPT_OK; /* it may have ended just now */
    if (e->process)
        is_put = adept_processes_number(&r->processes, &r->interval, e->process->pid, &use.process);
    else if (!adept_processes_number_stranger(&r->processes, &r->interval, said->pid, &use.process))
        return adept_no_memory(err, "processes on GPUs");
    if (is_put) adept_log_put_gpu_use(&r->interval, &use);
    if (e->process || r->told_stranger) return ADEPT_OK;
    r->told_stranger = true;
    say(r,
        "%s is used by process %d, which is not visible here: it is of another PID namespace, as of a container or of "
        "the "
        "host; the energy of such processes is \"(not visible here)\"",
        said->gpu, (int)said->pid);
    return note(r, err);
}

/* ---------------------------------------------------------------- intervals --------------------------------------- */

/* By /proc/stat: user, nice, system, (idle, waiting), interrupts, soft interrupts; guests are in the first two. */
static double machine_cpu_s(const adept_processes *p)
{
    char path[4096], text[1024];
    double ticks[7];

    snprintf(path, sizeof path, "%s/stat", p->proc);
    int n = adept_sensor_text(text, sizeof text, path)
                ? sscanf(text, "cpu %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
                         &ticks[5], &ticks[6])
                : 0;
    return n == 7 ? (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / p->ticks_per_s : NAN;
}

void adept_recorder_drain(adept_recorder *r)
{
    for (size_t i = 0; i < r->n_serving; i++)
        if (r->serving[i].source->drain) r->serving[i].source->drain(r->serving[i].state, &r->processes);
}

static void look(adept_recorder *r)
{
    adept_recorder_drain(r);
    for (size_t i = 0; i < r->n_serving; i++)
        if (r->serving[i].source->look) r->serving[i].source->look(r->serving[i].state, &r->processes);
}

static adept_status end_interval(adept_recorder *r, bool is_last, adept_error *err)
{
    double now_s = adept_clock_s(), cpu_s = machine_cpu_s(&r->processes);
    adept_status status = ADEPT_OK;

    /* Follow the date, which may be set: forward at once, which leaves a gap between intervals; back by 5 % of the time
     * that passes, so that times keep their order. */
    double off_s = adept_clock_of_s(CLOCK_REALTIME) - now_s - r->offset_s;
    r->offset_s += fmax(off_s, -0.05 * (now_s - r->begun_s));
    look(r);
    r->interval.begin_s = fmax(r->begun_s + r->offset_s, r->shown_end_s);
    r->interval.end_s = now_s + r->offset_s;
    r->interval.machine_cpu_s = cpu_s >= r->machine_cpu_s ? cpu_s - r->machine_cpu_s : NAN;
    r->machine_cpu_s = cpu_s;
    adept_processes_flush(&r->processes, &r->interval);
    const adept_gpu_process *list = NULL;
    size_t n = 0;
    bool was_stuck = adept_gpu_processes_are_stuck(r->gpus);
    status = adept_gpu_processes_read(r->gpus, &list, &n, err);
    if (status == ADEPT_OK && !was_stuck && adept_gpu_processes_are_stuck(r->gpus)) {
        say(r, "processes on GPUs: NVML does not answer any more");
        status = note(r, err);
    }
    if (status == ADEPT_OK && !take_entries(r, list, n)) status = adept_no_memory(err, "processes on GPUs");
    for (size_t i = 0; status == ADEPT_OK && i < r->head.n_meters; i++)
        status = match_namespaces(r, r->head.meters[i].name, err);
    for (size_t i = r->n_before; status == ADEPT_OK && i < r->n_entries; i++)
        status = put_entry(r, &r->entries[i], err);
    if (is_last) adept_recording_stop(r->meters); /* reads each once more, so that the interval is covered */
    for (size_t i = 0; i < r->head.n_meters && status == ADEPT_OK; i++)
        status = put_samples(r, i, err);
    if (status == ADEPT_OK) {
        status = ADEPT_OK;
        for (size_t i = 0; i < r->n_serving && status == ADEPT_OK; i++) {
            serving *s = &r->serving[i];
            uint64_t lost = s->source->lost ? s->source->lost(s->state) : 0;
            if (lost < 2 * s->told || lost == s->told)
                continue; /* each time that it doubled: a flood makes few lines */
            s->told = lost;
            say(r, "%s: records were lost %llu times: they came faster than they were read", s->source->name,
                (unsigned long long)lost);
            status = note(r, err);
        }
    }
    if (status == ADEPT_OK && r->processes.failed) status = adept_no_memory(err, "processes");
    r->begun_s = now_s;
    r->shown_end_s = r->interval.end_s;
    if (status == ADEPT_OK && r->file.path) status = adept_log_append(&r->file, &r->interval, err);
    if (status != ADEPT_OK)
        adept_log_close(&r->file, NULL); /* what follows would tell of processes that it does not have */
    adept_log_interval_free(&r->interval);
    return status;
}

adept_status adept_recorder_interval(adept_recorder *r, adept_error *err)
{
    return end_interval(r, false, err);
}

/* ---------------------------------------------------------------- begin and end ----------------------------------- */

adept_status adept_recorder_open(adept_recorder *r, const char *path, adept_error *err)
{
    adept_log_file file;
    adept_status status = r->file.path ? end_interval(r, false, err) : ADEPT_OK; /* belongs to the file before */

    if (status == ADEPT_OK) status = adept_log_create(&file, path, &r->head, err);
    if (status != ADEPT_OK) return status;
    status = adept_log_close(&r->file, err);
    r->file = file;
    adept_processes_renumber(&r->processes);
    for (size_t i = 0; i < r->head.n_meters;
         i++) /* the first interval's energy begins with the last sample before it */
        if (!isnan(r->meter_states[i].last.time_s)) adept_log_put_sample(&r->interval, i, &r->meter_states[i].last);
    return status;
}

adept_status adept_recorder_start(adept_recorder **out, const adept_recorder_options *o, adept_error *err)
{
    adept_recorder *r = calloc(1, sizeof *r);
    char why[256];

    if (!r) return adept_no_memory(err, "a recorder");
    r->file.fd = -1;
    r->head.host = strdup(o->host);
    r->head.period_s = o->period_s;
    r->head.n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    adept_status status = r->head.host ? adept_processes_begin(&r->processes, o->meters.settings.sysroot, err)
                                       : adept_no_memory(err, "a recorder");
    if (status == ADEPT_OK) status = adept_recording_start(&r->meters, &o->meters, err);
    if (status == ADEPT_OK) status = list_meters(r, err);
    if (status == ADEPT_OK) status = find_sources(r, o, err);
    if (status == ADEPT_OK)
        status = adept_gpu_processes_open(&r->gpus, why, sizeof why, err); /* without GPUs, nothing is to be said */
    if (status == ADEPT_OK && adept_gpu_processes_are_stuck(r->gpus)) say(r, "processes on GPUs: %s", why);
    if (status == ADEPT_OK) look(r);
    adept_processes_begin_interval(&r->processes);
    r->begun_s = adept_clock_s();
    r->offset_s = adept_clock_of_s(CLOCK_REALTIME) - r->begun_s;
    r->machine_cpu_s = machine_cpu_s(&r->processes);
    if (status == ADEPT_OK && r->processes.failed) status = adept_no_memory(err, "processes");
    if (status == ADEPT_OK)
        *out = r;
    else
        adept_recorder_free(r);
    return status;
}

adept_status adept_recorder_stop(adept_recorder *r, adept_error *err)
{
    if (r->is_stopped) return ADEPT_OK;
    r->is_stopped = true;
    adept_status status = end_interval(r, true, err);
    adept_status closed = adept_log_close(&r->file, err);
    return status == ADEPT_OK ? closed : status;
}

void adept_recorder_free(adept_recorder *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->n_serving; i++)
        r->serving[i].source->close(r->serving[i].state);
    adept_log_close(&r->file, NULL);
    adept_log_interval_free(&r->interval);
    adept_gpu_processes_close(r->gpus);
    adept_recording_free(r->meters);
    adept_processes_free(&r->processes);
    for (size_t i = 0; i < r->head.n_sources; i++)
        free(r->lines[i]);
    free(r->lines);
    free(r->entries);
    free(r->meter_states);
    free((void *)r->head.meters);
    free((void *)r->head.host);
    free(r);
}

const char *const *adept_recorder_sources(const adept_recorder *r, size_t *n)
{
    *n = r->head.n_sources;
    return r->head.sources;
}

const adept_recording *adept_recorder_meters(const adept_recorder *r)
{
    return r->meters;
}
