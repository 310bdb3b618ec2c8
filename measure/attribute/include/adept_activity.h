/** @file adept_activity.h  What the processes of a machine did, interval by interval, beside what its meters read: a
 * recording of `adept attribute record`, in memory. Plain data: a fit, a report and an accounting of jobs read it,
 * tests make it by hand. Calls: adept_recording. */
#ifndef ADEPT_ACTIVITY_H
#define ADEPT_ACTIVITY_H
#include "adept_recording.h"
#include <stdint.h>

/* X(name, word) of what is counted of a process. All but the memory are what was added within the interval. Words are
 * published. */
#define ADEPT_ACTIVITY_LIST(X)                                                                                         \
    X(CPU_TIME_S, "cpu_time_s")                                                                                        \
    X(SWITCHES, "context_switches")                                                                                    \
    X(SYSCALLS, "syscalls")                                                                                            \
    X(READ_BYTES, "block_read_bytes") /* that reached a block device */                                                \
    X(WRITE_BYTES, "block_write_bytes")                                                                                \
    X(NETWORK_BYTES, "network_bytes")                                                                                  \
    X(MEMORY_BYTES, "memory_bytes") /* resident at the end of the interval, not a delta */                             \
    X(INSTRUCTIONS, "instructions")                                                                                    \
    X(CYCLES, "cycles")                                                                                                \
    X(CACHE_MISSES, "cache_misses") /* of the last level */

typedef enum adept_activity_kind {
#define X(name, word) ADEPT_ACTIVITY_##name,
    ADEPT_ACTIVITY_LIST(X)
#undef X
        ADEPT_ACTIVITIES
} adept_activity_kind;

/** "cpu_time_s"; NULL behind the last. */
const char *adept_activity_name(size_t kind);

/** start_ticks of a process that is not visible where it was recorded, as of another PID namespace: a GPU's driver
 * alone tells of it. */
#define ADEPT_NOT_VISIBLE_TICKS UINT64_MAX

/** A process: a number of a process is used again, the pair with its start is not. */
typedef struct adept_process {
    int32_t pid;
    uint32_t uid;
    uint64_t start_ticks; /* since boot, field 22 of /proc/PID/stat */
    const char *command;  /* the kernel's name of it, at most 15 bytes */
    const char *cgroup;   /* its path; v1: of the cpuacct controller; "": not known */
    int64_t job;          /* Slurm's number of its job; -1: none */
} adept_process;

/** What a process did in an interval. */
typedef struct adept_activity {
    uint32_t process;               /* an index of processes[] */
    float values[ADEPT_ACTIVITIES]; /* NAN: nothing here counts it */
} adept_activity;

/** How much of a GPU a process used in an interval. */
typedef struct adept_gpu_use {
    uint32_t process;
    uint32_t meter;     /* of the GPU: an index of meters[] */
    float utilization;  /* of its multiprocessors by this process, 0 to 1; NAN: it only holds the GPU */
    float memory_bytes; /* NAN: not known */
    uint32_t instance;  /* of MIG: its number, and 1; 0: none, the whole GPU */
    float slices;       /* that the instance has of the GPU; 0: not known */
} adept_gpu_use;

/** An interval; processes that did nothing in it are left out. */
typedef struct adept_activity_interval {
    double begin_s, end_s;  /* since 1970, so that nodes and accounting agree */
    double machine_cpu_s;   /* that all processors were busy, interrupts too, by /proc/stat */
    const adept_activity *activities;
    size_t n_activities;
    const adept_gpu_use *gpu_uses;
    size_t n_gpu_uses;
} adept_activity_interval;

typedef struct adept_meter_log {
    const char *name; /* of its sensor: "node", "cpu-0", "gpu-0" */
    const char *source;
    adept_component component;
    const adept_sample *samples; /* in order of time, in seconds since 1970, of the readings, not of the intervals */
    size_t n_samples;
    /* the meter around it, of which its number is a part; "": none; NULL: the recording does not say */
    const char *inside;
} adept_meter_log;

/** All arrays and texts are the recording's. */
typedef struct adept_activity_log {
    const char *host;
    /* what counted: "taskstats: processes that ended", ...; and what could not be had and why */
    const char *const *sources;
    size_t n_sources;
    double period_s;
    int n_cpus;
    bool has[ADEPT_ACTIVITIES]; /* which kinds were counted */
    const adept_process *processes;
    size_t n_processes;
    const adept_activity_interval *intervals; /* in order of time; there may be gaps */
    size_t n_intervals;
    const adept_meter_log *meters;
    size_t n_meters;
    bool is_cut; /* its last block was not whole: it grows still, or its recorder was killed */
} adept_activity_log;

/**
 * Read what a recorder wrote, or has written so far.
 * @param out  adept_activity_log_free(); set only on ADEPT_OK
 * @return ADEPT_E_INVALID naming file and place: it cannot be read, is no such file, or damaged before its last block;
 * ADEPT_E_NOMEM
 */
adept_status adept_activity_log_read(adept_activity_log **out, const char *path, adept_error *err);
/** NULL allowed. Only for what adept_activity_log_read() made. */
void adept_activity_log_free(adept_activity_log *log);

/** Is it one of those that are read for the whole node: of its meters, those that are not inside of another one that
 * said something? Where the recording does not say which is, the first. */
bool adept_meter_is_of_node(const adept_activity_log *log, size_t meter);
/** Energy of a meter between two times, evenly between its samples; NAN: its samples do not cover them. */
double adept_meter_energy_j(const adept_meter_log *meter, double begin_s, double end_s);

#endif
