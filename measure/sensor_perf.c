/** @file sensor_perf.c  RAPL counters by the PMU "power" of perf_event_open(2) (arch/x86/events/rapl.c of Linux), for
 * machines whose powercap tree is missing or denied. What powercap reads is left to it. The counter is counted on in 64
 * bits by the kernel: it never starts again. */
#include "sysfs.h"
#include "adept_number.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU "/sys/bus/event_source/devices/power"

static const struct {
    const char *event; /* its files: events/EVENT, EVENT.scale, EVENT.unit */
    adept_component component;
} events[] = {
    {"energy-pkg", ADEPT_COMPONENT_CPU},   {"energy-cores", ADEPT_COMPONENT_CORES},
    {"energy-ram", ADEPT_COMPONENT_DRAM},  {"energy-gpu", ADEPT_COMPONENT_UNCORE},
    {"energy-psys", ADEPT_COMPONENT_PSYS},
};

typedef struct counter {
    int event;
    double step_j;
} counter;

static int open_event(double type, uint64_t config, long cpu)
{
    struct perf_event_attr attributes = {.size = sizeof attributes, .type = (uint32_t)type, .config = config};

    return (int)syscall(SYS_perf_event_open, &attributes, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void add_counter(adept_sensor_search *search, adept_component component, const char *name, counter found,
                        const char *source, long cpu)
{
    counter *state = malloc(sizeof *state);
    adept_sensor *sensor = state ? adept_sensor_add(search, &adept_sensor_kind_perf, "%s", name) : NULL;

    if (!sensor) {
        search->failed = true;
        close(found.event);
        free(state);
        return;
    }
    *state = found;
    sensor->state = state;
    sensor->component = component;
    sensor->refresh_s = 1e-3; /* RAPL's own: sensor_powercap.c */
    snprintf(sensor->source, sizeof sensor->source, "perf_event_open: power/%s/", source);
    snprintf(sensor->device, sizeof sensor->device, "the package of CPU %ld", cpu);
}

static void note_failure(adept_sensor_search *search, const char *name, const char *event, long cpu)
{
    int why = errno;
    bool is_denied = why == EACCES || why == EPERM;

    adept_sensor_missing(search, name,
                         is_denied ? "run as root, or with CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=0" : "",
                         "perf_event_open of power/%s/ on CPU %ld: %s (perf_event_paranoid is %g)", event, cpu,
                         strerror(why), adept_sysfs_number(search, "/proc/sys/kernel", "perf_event_paranoid"));
}

/* `event` on each CPU of "0,24" or "0-1": the PMU names one of each package, in whose order they are numbered.
 * @return false once one cannot be opened */
static bool find_event(adept_sensor_search *search, size_t event, double type, uint64_t config, double step_j,
                       const char *cpus)
{
    size_t n = 0;

    for (char *end; *cpus >= '0' && *cpus <= '9'; cpus = end + (*end == ',')) {
        long first = strtol(cpus, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last; cpu++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%zu", adept_component_name(events[event].component), n++);
            counter found = {open_event(type, config, cpu), step_j};
            if (found.event < 0) {
                note_failure(search, name, events[event].event, cpu);
                return false;
            }
            add_counter(search, events[event].component, name, found, events[event].event, cpu);
        }
    }
    return true;
}

static void find(adept_sensor_search *search)
{
    double type = adept_sysfs_number(search, PMU, "type");
    char cpus[1024], config[64], unit[64], file[64];
    bool is_open = true;

    if (!(type >= 0 && type <= UINT32_MAX) || !adept_sysfs_text(cpus, sizeof cpus, search, PMU, "cpumask")) {
        if (!adept_kind_reads(search, &adept_sensor_kind_powercap, ADEPT_COMPONENT_CPU))
            adept_sensor_missing(search, "perf", "", "no PMU \"power\": " PMU);
        return;
    }
    for (size_t i = 0; is_open && i < sizeof events / sizeof events[0]; i++) {
        if (!adept_sysfs_text(config, sizeof config, search, PMU "/events", events[i].event)) continue;
        if (adept_kind_reads(search, &adept_sensor_kind_powercap, events[i].component)) continue;
        snprintf(file, sizeof file, "%s.scale", events[i].event);
        double step_j = adept_sysfs_number(search, PMU "/events", file);
        snprintf(file, sizeof file, "%s.unit", events[i].event);
        adept_sysfs_text(unit, sizeof unit, search, PMU "/events", file);
        if (strncmp(config, "event=", 6) != 0 || !(step_j > 0) || strcmp(unit, "Joules") != 0)
            adept_sensor_missing(search, events[i].event, "", PMU "/events/%s: not an event in Joules with a scale",
                                 events[i].event);
        else
            is_open = find_event(search, i, type, strtoull(config + 6, NULL, 0), step_j, cpus);
    }
}

static adept_status read_counter(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    const counter *state = sensor->state;
    uint64_t count;
    ssize_t n = read(state->event, &count, sizeof count);

    if (n == sizeof count)
        reading->energy_j = state->step_j * (double)count;
    else if (n >= 0 || errno != EINTR) /* 0: the event is in an error state for good, perf_event_open(2) */
        return adept_error_set(err, ADEPT_E_IO, "%s is gone: %s", sensor->source,
                               n < 0 ? strerror(errno) : "end of file");
    return ADEPT_OK;
}

static void close_counter(adept_sensor *sensor)
{
    const counter *state = sensor->state;

    if (state) close(state->event);
    free(sensor->state);
}

const adept_sensor_kind adept_sensor_kind_perf = {
    .name = "perf",
    .what = "RAPL energy counters by perf_event_open, where powercap does not read them",
    .find = find,
    .read = read_counter,
    .close = close_counter,
};
