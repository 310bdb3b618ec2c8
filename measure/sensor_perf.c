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

#define MOST_CPUS (1 << 20) /* more than any kernel is built for */
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

static void add_counter(adept_sensor_search *search, adept_component component, const char *name, counter found,
                        const char *source, long cpu)
{
    counter *state = malloc(sizeof *state);
    adept_sensor *sensor = state ? adept_sensor_add(search, &adept_sensor_kind_perf, "%s", name) : NULL;

    if (!sensor) {
        search->failed = ENOMEM;
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

/* Is the CPU of a package of which another one counts the event already? */
static bool is_counted(adept_sensor_search *search, adept_component component, long cpu, char package[16])
{
    char folder[96];

    snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%ld/topology", cpu);
    double number = adept_sysfs_number(search, folder, "physical_package_id");
    snprintf(package, 16, "-%.0f", number);
    for (size_t i = 0; number >= 0 && i < search->n_sensors; i++)
        if (search->sensors[i]->component == component && strcmp(search->sensors[i]->package, package) == 0)
            return true;
    return false;
}

/* `event` on the CPUs `first` to `last`. One that cannot be opened ends them: its note has the others' numbers.
 * @return false: it may not be counted */
static bool find_counters(adept_sensor_search *search, size_t event, const struct perf_event_attr *attributes,
                          double step_j, long first, long last, long *n)
{
    const char *source = events[event].event;
    /* Is there one counter for all dies of a package, where Linux opens one for each? So it is of AMD and Hygon:
     * "perf/x86/rapl: Fix the energy-pkg event for AMD CPUs" of Linux. What powercap reads tells by its numbers; these
     * begin at 0 when opened. */
    bool by_package = adept_sysfs_is_amd(search);

    for (long cpu = first; cpu <= last; cpu++, ++*n) {
        char name[64], cpus[64], package[16] = "";
        if (by_package && is_counted(search, events[event].component, cpu, package)) {
            snprintf(name, sizeof name, "%s-%ld", adept_component_name(events[event].component), *n);
            adept_sensor_missing(search, name, "", "power/%s/ on CPU %ld shows the counter of package %s once more",
                                 source, cpu, package + 1);
            continue;
        }
        counter found = {(int)syscall(SYS_perf_event_open, attributes, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC), step_j};
        snprintf(name, sizeof name, "%s-%ld", adept_component_name(events[event].component), *n);
        if (found.event < 0) {
            snprintf(cpus, sizeof cpus, "%ld to %ld", cpu, last);
            if (cpu == last) snprintf(cpus, sizeof cpus, "%ld", cpu);
            *n += last - cpu + 1;
            int why = errno;
            bool is_denied = why == EACCES || why == EPERM;
            adept_search_lacks(search, why);
            adept_sensor_missing(search, is_denied ? "perf" : name,
                                 is_denied ? "run as root, or with CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=0"
                                           : "",
                                 "perf_event_open of power/%s/ on CPU %s: %s (perf_event_paranoid is %g)", source, cpus,
                                 strerror(why), adept_sysfs_number(search, "/proc/sys/kernel", "perf_event_paranoid"));
            return !is_denied;
        }
        add_counter(search, events[event].component, name, found, source, cpu);
        if (search->n_sensors > 0 && !search->failed)
            snprintf(search->sensors[search->n_sensors - 1]->package, sizeof package, "%s", package);
    }
    return true;
}

/* On each CPU of "0,24" or "0-1": the PMU names one of each package, in whose order they are numbered. */
static bool find_event(adept_sensor_search *search, size_t event, const struct perf_event_attr *attributes,
                       double step_j, const char *cpus)
{
    bool is_allowed = true;
    long n = 0;

    for (int64_t first, last; is_allowed && adept_integer_parse(&first, cpus, &cpus, 0, MOST_CPUS);
         cpus += *cpus == ',') {
        last = first;
        if (*cpus == '-' && !adept_integer_parse(&last, cpus + 1, &cpus, first, MOST_CPUS)) break;
        is_allowed = find_counters(search, event, attributes, step_j, (long)first, (long)last, &n);
    }
    return is_allowed;
}

/* What the PMU says of an event. @return false: it has none such, or a note says what is wrong */
static bool describe_event(adept_sensor_search *search, const char *event, struct perf_event_attr *attributes,
                           double *step_j)
{
    char config[64], unit[64], file[64];

    if (!adept_sysfs_text(config, sizeof config, search, PMU "/events", event)) {
        if (errno != ENOENT) adept_sysfs_missing(search, event, PMU "/events", event);
        return false;
    }
    snprintf(file, sizeof file, "%s.scale", event);
    *step_j = adept_sysfs_number(search, PMU "/events", file);
    snprintf(file, sizeof file, "%s.unit", event);
    adept_sysfs_text(unit, sizeof unit, search, PMU "/events", file);
    attributes->config = strncmp(config, "event=", 6) == 0 ? strtoull(config + 6, NULL, 0) : 0;
    if (strncmp(config, "event=", 6) == 0 && *step_j > 0 && strcmp(unit, "Joules") == 0) return true;
    adept_sensor_missing(search, event, "", PMU "/events/%s: not an event in Joules with a scale", event);
    return false;
}

/* Its CPUs and its type. @return false: there is none, or a note says why not */
static bool find_pmu(adept_sensor_search *search, char *cpus, size_t size, struct perf_event_attr *attributes)
{
    char text[64];
    double type = -1;
    bool is_read = adept_sysfs_text(text, sizeof text, search, PMU, "type") &&
                   adept_sysfs_text(cpus, size, search, PMU, "cpumask");

    if (is_read && adept_number_parse(&type, text) && type >= 0 && type <= UINT32_MAX) {
        attributes->type = (uint32_t)type;
        return true;
    }
    if (!is_read && errno != ENOENT)
        adept_sensor_missing(search, "perf", "", PMU ": %s", strerror(errno));
    else if (!adept_sensors_found(search, &adept_sensor_kind_powercap, ADEPT_COMPONENT_CPU))
        adept_sensor_missing(search, "perf", "", "no PMU \"power\": " PMU);
    return false;
}

static void find(adept_sensor_search *search)
{
    struct perf_event_attr attributes = {.size = sizeof attributes};
    char cpus[1024], type[32];
    double step_j;

    if (adept_sysfs_text(type, sizeof type, search, PMU "_core",
                         "type")) /* "perf/x86/rapl: Add core energy counter support for AMD" */
        adept_sensor_missing(search, "power_core", "",
                             PMU "_core: the energy of each core by itself, which is in its package's: left out");
    bool is_allowed = find_pmu(search, cpus, sizeof cpus, &attributes);

    for (size_t i = 0; is_allowed && i < sizeof events / sizeof events[0]; i++) {
        if (adept_sensors_found(search, &adept_sensor_kind_powercap, events[i].component)) continue;
        if (describe_event(search, events[i].event, &attributes, &step_j))
            is_allowed = find_event(search, i, &attributes, step_j, cpus);
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
    .rank = 1,
};
