/** @file adept_counters.h  What processors count of a command by perf_event_open(2): what bounds it. Calls:
 * adept_error. */
#ifndef ADEPT_COUNTERS_H
#define ADEPT_COUNTERS_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, word, which of the kernel's hardware events) */
#define ADEPT_COUNTER_LIST(X)                                                                                          \
    X(CYCLES, "cycles", PERF_COUNT_HW_CPU_CYCLES)                                                                      \
    X(INSTRUCTIONS, "instructions", PERF_COUNT_HW_INSTRUCTIONS)                                                        \
    X(REFERENCES, "cache_references", PERF_COUNT_HW_CACHE_REFERENCES)                                                  \
    X(MISSES, "cache_misses", PERF_COUNT_HW_CACHE_MISSES)

typedef enum adept_counter {
#define X(name, word, event) ADEPT_COUNTER_##name,
    ADEPT_COUNTER_LIST(X)
#undef X
        ADEPT_COUNTERS
} adept_counter;

/** "cycles"; NULL behind the last. */
const char *adept_counter_name(size_t counter);

/** Zero-initialised: nothing is counted. */
typedef struct adept_counters {
    bool is_open, is_user_only;         /* the kernel's work is not counted: it may not be */
    int files[ADEPT_COUNTERS];          /* -1: this processor does not count it */
    uint64_t before[ADEPT_COUNTERS][3]; /* of children before this one, with the times wanted and counted */
    int memory[64];                     /* of memory controllers: bytes read and written; the whole machine's */
    double memory_scale_bytes[64];
    int n_memory;
} adept_counters;

/**
 * Count what this thread's next child does, from its exec on, and what it starts.
 * @param sysroot  as for sensors
 * @return ADEPT_E_IO: neither cycles nor instructions can be counted here; the message says why, and what would help
 */
adept_status adept_counters_open(adept_counters *counters, const char *sysroot, adept_error *err);

/** Behind a child that has ended, before the next: both count. */
void adept_counters_next(adept_counters *counters);

/** NAN: not counted. */
typedef struct adept_counts {
    double values[ADEPT_COUNTERS];
    double ipc, misses_per_1000; /* instructions */
    double memory_bytes_per_s;
    bool is_of_controllers; /* the machine's traffic; else 64 bytes for each miss of the last cache */
    bool is_user_only;
    double counted;    /* share of the time that the hardware had counters for all of them */
    const char *bound; /* "compute", "memory", "both"; NULL: not known. Constant */
} adept_counts;

/** What was counted until now. @param time_s  of the run */
adept_counts adept_counters_read(const adept_counters *counters, double time_s);
void adept_counters_close(adept_counters *counters);

#endif
