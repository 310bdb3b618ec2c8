/** @file measure.c  Measurements for a program that embeds the library. Calls: measure. */
#include "adept_clock.h"
#include "adept_measured.h"
#include "handles.h"
#include <adept/measure.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct adept_measurement {
    adept_recording *recording;
    pid_t pid; /* whose threads read the sensors */
    char host[256];
    adept_date started;
    bool has_ended;
};

adept_status adept_measure_start(adept_measurement **out, const adept_measure_options *options, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    static const adept_measure_options none;
    const adept_measure_options *o = options ? options : &none;

    if (!out) return adept_library_missing(__func__, "out", err);
    for (size_t i = 0; i < sizeof o->reserved / sizeof *o->reserved; i++)
        if (o->reserved[i])
            return adept_error_set(err, ADEPT_E_USAGE, "options: reserved members must be NULL in this version");
    if (o->n_devices > 0 && !o->devices) return adept_error_set(err, ADEPT_E_USAGE, "options: devices is NULL");
    if (o->period_s != 0 && !(o->period_s >= ADEPT_SHORTEST_PERIOD_S && o->period_s < INFINITY))
        return adept_error_set(err, ADEPT_E_USAGE, "period_s: at least %g is needed", ADEPT_SHORTEST_PERIOD_S);
    const adept_recording_options inner = {
        .period_s = o->period_s,
        .settings = {.sysroot = o->sysroot, .pid = getpid()},
        .devices = o->devices,
        .n_devices = o->n_devices,
    };
    adept_measurement *m = calloc(1, sizeof *m);
    if (!m) return adept_no_memory(err, "a measurement");
    m->pid = getpid();
    m->started = adept_clock_date();
    if (gethostname(m->host, sizeof m->host - 1)) m->host[0] = '\0';
    adept_status status = adept_recording_start(&m->recording, &inner, err);
    if (status == ADEPT_OK)
        *out = m;
    else
        free(m);
    return status;
}

/* A child of fork() has neither the threads to wait for nor a hold of locks that they may have had. */
static bool is_inherited(const adept_measurement *m)
{
    return m->pid != getpid();
}

size_t adept_measure_enter(adept_measurement *m, const char *region)
{
    return m && region && !is_inherited(m) ? adept_recording_enter(m->recording, region) : SIZE_MAX;
}

void adept_measure_leave(adept_measurement *m, size_t entered)
{
    if (m && !is_inherited(m)) adept_recording_leave(m->recording, entered);
}

void adept_measure_stop(adept_measurement *m)
{
    ADEPT_LIBRARY_ENTER;
    if (!m || is_inherited(m)) return;
    adept_recording_stop(m->recording);
    m->has_ended = true;
}

void adept_measure_free(adept_measurement *m)
{
    if (!m || is_inherited(m)) return; /* its memory goes with the child */
    adept_recording_free(m->recording);
    free(m);
}

/* ---- reading ---- */

static adept_status check(const char *function, const adept_measurement *m, adept_error *err)
{
    if (!m) return adept_library_missing(function, "measurement", err);
    if (is_inherited(m))
        return adept_error_set(err, ADEPT_E_USAGE, "the measurement is another process's: it began before fork()");
    return m->has_ended ? ADEPT_OK : adept_error_set(err, ADEPT_E_USAGE, "the measurement goes on: stop it first");
}

adept_status adept_measure_read(adept_measured *out, const adept_measurement *m, const char *component,
                                const char *region, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    adept_region_statistics s;
    adept_component c = component ? adept_component_called(component) : ADEPT_COMPONENTS;

    if (!out) return adept_library_missing(__func__, "out", err);
    adept_status status = check(__func__, m, err);
    if (status != ADEPT_OK) return status;
    if (component && c == ADEPT_COMPONENTS)
        return adept_error_set(err, ADEPT_E_USAGE, "component: '%s' is not known", component);
    if (!region) {
        const adept_recording *r = m->recording;
        double begin_s = adept_recording_begin_s(r), end_s = adept_recording_end_s(r);
        adept_energy e = adept_measured_energy(r, c, begin_s, end_s);
        *out = (adept_measured){.count = 1,
                                .time_s = end_s - begin_s,
                                .energy_j = e.energy_j,
                                .low_j = e.low_j,
                                .high_j = e.high_j,
                                .avg_power_w = e.avg_power_w,
                                .time_mean_s = end_s - begin_s,
                                .time_sd_s = NAN,
                                .energy_mean_j = e.energy_j,
                                .energy_sd_j = NAN};
        return ADEPT_OK;
    }
    status = adept_measured_region(&s, m->recording, region, 0, c, err);
    if (status != ADEPT_OK) return status;
    if (s.time_s.n == 0) return adept_error_set(err, ADEPT_E_USAGE, "region: '%s' was never entered", region);
    *out = (adept_measured){.count = s.time_s.n,
                            .time_s = s.time_s.total,
                            .energy_j = s.energy_j.total,
                            .low_j = NAN,
                            .high_j = NAN,
                            .avg_power_w = s.energy_j.total / s.time_s.total,
                            .time_mean_s = s.time_s.mean,
                            .time_sd_s = s.time_s.sd,
                            .energy_mean_j = s.energy_j.mean,
                            .energy_sd_j = s.energy_j.sd};
    return ADEPT_OK;
}

adept_status adept_measure_json(char **text, const adept_measurement *m, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;

    if (!text) return adept_library_missing(__func__, "text", err);
    adept_status status = check(__func__, m, err);
    if (status != ADEPT_OK) return status;
    const adept_measured_run run = {.host = m->host,
                                    .started = m->started.s,
                                    .exit_status = -1,
                                    .rank = -1,
                                    .begin_s = adept_recording_begin_s(m->recording),
                                    .end_s = adept_recording_end_s(m->recording)};
    return adept_measured_json(text, m->recording, &run, true, err);
}

/* ---- marks ---- */

adept_status adept_mark(const char *region, int begins, adept_error *err)
{
    const char *path = getenv("ADEPT_MARKS");
    char *line = NULL;

    if (!region) return adept_library_missing(__func__, "region", err);
    if (!path || !*path) return ADEPT_OK;
    int length = asprintf(&line, "%.9f %d %s %s\n", adept_clock_s(), (int)getpid(), begins ? "begin" : "end", region);
    if (length < 0) return adept_no_memory(err, "a mark");
    /* Appended in one piece, whichever process or thread writes. A pipe in its place is not waited for. */
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool written = file >= 0 && write(file, line, (size_t)length) == length;
    adept_status status = written ? ADEPT_OK : adept_system_error(err, ADEPT_E_IO, path);
    if (file >= 0) close(file);
    free(line);
    return status;
}
