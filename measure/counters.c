/** @file counters.c  Hardware counters of a command (perf_event_open(2)), and the traffic of memory controllers where
 * the kernel has their PMUs and one may read them. */
#include "adept_counters.h"
#include "adept_number.h"
#include "nearest.h"
#include "sysfs.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE_BYTES 64.0    /* of a cache, on every processor that this was written for */
#define MEMORY_MISSES 10.0 /* of 1000 instructions: processors wait for memory */
#define FEW_MISSES 1.0
#define DEVICES "/sys/bus/event_source/devices"

#define X(name, word, event) word,
ADEPT_NAMES(adept_counter_name, ADEPT_COUNTER_LIST(X))
#undef X

static int open_event(const struct perf_event_attr *attributes, int pid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ---------------------------------------------------------------- memory controllers ----------------------------- */

/* Intel's: events cas_count_read and cas_count_write with a scale and the unit MiB, on the CPUs that the PMU names. */
static void open_controller(adept_sensor_search *search, const char *entry, void *context)
{
    adept_counters *c = context;
    struct perf_event_attr attributes = {.size = sizeof attributes};
    char folder[160], text[64], unit[16], cpus[64], file[64];
    unsigned event, mask;
    int64_t cpu;

    double type = adept_sysfs_number(search, entry, "type");
    if (!(type >= 0 && type <= UINT32_MAX) || !adept_sysfs_text(cpus, sizeof cpus, search, entry, "cpumask")) return;
    attributes.type = (uint32_t)type;
    snprintf(folder, sizeof folder, "%s/events", entry);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "cas_count_read" : "cas_count_write";
        if (!adept_sysfs_text(text, sizeof text, search, folder, name) ||
            sscanf(text, "event=%x,umask=%x", &event, &mask) != 2)
            continue;
        snprintf(file, sizeof file, "%s.scale", name);
        double scale = adept_sysfs_number(search, folder, file);
        snprintf(file, sizeof file, "%s.unit", name);
        if (!(scale > 0) || !adept_sysfs_text(unit, sizeof unit, search, folder, file) || strcmp(unit, "MiB") != 0)
            continue;
        attributes.config = event | mask << 8;
        for (const char *at = cpus; adept_integer_parse(&cpu, at, &at, 0, 1 << 20); at += *at == ',') {
            int opened = c->n_memory < 64 ? open_event(&attributes, -1, (int)cpu) : -1;
            if (opened < 0) continue;
            c->memory_scale_bytes[c->n_memory] = scale * 1048576;
            c->memory[c->n_memory++] = opened;
        }
    }
}

/* ---------------------------------------------------------------- opening ---------------------------------------- */

static adept_status refuse(adept_sensor_search *search, int why, adept_error *err)
{
    bool is_denied = why == EACCES || why == EPERM;

    if (is_denied)
        return adept_error_set(
            err, ADEPT_E_IO,
            "--counters: the kernel lets this user count nothing (perf_event_paranoid is %g): run as "
            "root, or: sysctl kernel.perf_event_paranoid=2",
            adept_sysfs_number(search, "/proc/sys/kernel", "perf_event_paranoid"));
    return adept_error_set(
        err, ADEPT_E_IO,
        "--counters: no hardware counters of cycles and instructions here, as in most virtual machines: %s",
        strerror(why));
}

static int open_counter(const adept_counters *c, int counter)
{
    static const uint64_t events[] = {
#define X(name, word, event) event,
        ADEPT_COUNTER_LIST(X)
#undef X
    };
    struct perf_event_attr attributes = {.size = sizeof attributes,
                                         .type = PERF_TYPE_HARDWARE,
                                         .config = events[counter],
                                         .disabled = 1,
                                         .inherit = 1,
                                         .enable_on_exec = 1,
                                         .exclude_kernel = c->is_user_only,
                                         .read_format =
                                             PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
    return open_event(&attributes, 0, -1);
}

adept_status adept_counters_open(adept_counters *c, const char *sysroot, adept_error *err)
{
    adept_sensor_search search = {.settings = {.sysroot = sysroot}};
    int why = 0;

    *c = (adept_counters){.is_open = true};
    for (int i = 0; i < ADEPT_COUNTERS; i++) {
        c->files[i] = open_counter(c, i);
        if (c->files[i] < 0 && (errno == EACCES || errno == EPERM) && !c->is_user_only && i == 0) {
            c->is_user_only = true; /* perf_event_paranoid 2, the default, allows no more */
            c->files[i] = open_counter(c, i);
        }
        if (c->files[i] < 0 && i <= ADEPT_COUNTER_INSTRUCTIONS) why = errno;
    }
    if (why) {
        adept_counters_close(c);
        return refuse(&search, why, err);
    }
    adept_sysfs_each(&search, DEVICES, "uncore_imc", open_controller, c);
    return ADEPT_OK;
}

/* What was counted, with the times that it was wanted, and that it was. */
static bool read_counter(uint64_t count[3], int file)
{
    return file >= 0 && read(file, count, 3 * sizeof *count) == (ssize_t)(3 * sizeof *count);
}

/* Tasks whose events are alike exchange them where the kernel goes from one to the other
 * (perf_event_context_sched_out()): then the child before has ended with this thread's own, and no other child is
 * counted by them. 1 of 60 runs of two commands here lost the second. */
void adept_counters_next(adept_counters *c)
{
    for (int i = 0; i < ADEPT_COUNTERS; i++) {
        uint64_t count[3];
        const bool is_known = read_counter(count, c->files[i]);
        if (c->files[i] >= 0) close(c->files[i]);
        c->files[i] = is_known ? open_counter(c, i) : -1;
        for (int k = 0; k < 3 && is_known; k++)
            c->before[i][k] += count[k];
    }
}

/* ---------------------------------------------------------------- reading ---------------------------------------- */

adept_counts adept_counters_read(const adept_counters *c, double time_s)
{
    adept_counts r = {.counted = 1, .is_user_only = c->is_user_only, .is_of_controllers = c->n_memory > 0};
    double memory_bytes = 0;

    for (int i = 0; i < ADEPT_COUNTERS; i++) {
        uint64_t count[3];
        r.values[i] = NAN;
        if (!read_counter(count, c->files[i])) continue;
        for (int k = 0; k < 3; k++)
            count[k] += c->before[i][k];
        if (count[2] == 0) continue;
        double share = (double)count[2] / (double)count[1];
        r.values[i] = (double)count[0] / share;
        r.counted = fmin(r.counted, share);
    }
    for (int i = 0; i < c->n_memory; i++) {
        uint64_t count;
        memory_bytes += read(c->memory[i], &count, sizeof count) == (ssize_t)sizeof count
                            ? c->memory_scale_bytes[i] * (double)count
                            : NAN;
    }
    if (c->n_memory == 0) memory_bytes = LINE_BYTES * r.values[ADEPT_COUNTER_MISSES];
    r.ipc = r.values[ADEPT_COUNTER_INSTRUCTIONS] / r.values[ADEPT_COUNTER_CYCLES];
    r.misses_per_1000 = 1000 * r.values[ADEPT_COUNTER_MISSES] / r.values[ADEPT_COUNTER_INSTRUCTIONS];
    r.memory_bytes_per_s = memory_bytes / time_s;
    if (!isnan(r.ipc) && !isnan(r.misses_per_1000))
        r.bound = r.misses_per_1000 >= MEMORY_MISSES && r.ipc < 1 ? "memory"
                  : r.misses_per_1000 < FEW_MISSES || r.ipc >= 2  ? "compute"
                                                                  : "both";
    return r;
}

void adept_counters_close(adept_counters *c)
{
    for (int i = 0; c->is_open && i < ADEPT_COUNTERS; i++)
        if (c->files[i] >= 0) close(c->files[i]);
    for (int i = 0; i < c->n_memory; i++)
        close(c->memory[i]);
    *c = (adept_counters){.is_open = false};
}
