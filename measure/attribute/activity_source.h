/** @file activity_source.h  Where what processes do is counted. Each source is a file source_NAME.c that defines
 * adept_activity_source_NAME. Private to measure/attribute. Not thread-safe. Calls: processes. */
#ifndef ADEPT_ACTIVITY_SOURCE_H
#define ADEPT_ACTIVITY_SOURCE_H
#include "processes.h"

typedef struct adept_activity_source {
    const char *name;
    const char *counts; /* what it counts, for people */
    /**
     * @param state  what the other calls get; has nothing on failure
     * @param why    one line: what it cannot have, or what it counts not; "" else
     * @return false if it cannot serve, and why
     */
    bool (*open)(void **state, adept_processes *p, bool has[ADEPT_ACTIVITIES], char *why, size_t size);
    /** Take in what waits to be read, often; NULL: nothing does. */
    void (*drain)(void *state, adept_processes *p);
    /** Bring all up to date, at the end of an interval; NULL: drain() does. */
    void (*look)(void *state, adept_processes *p);
    /** How much was lost because it came too fast; NULL: nothing can be. */
    uint64_t (*lost)(const void *state);
    void (*close)(void *state);
} adept_activity_source;

/** An event of the processor, as perf_event_open() takes it. */
typedef struct adept_counts_event {
    uint32_t type;
    uint64_t config;
} adept_counts_event;
extern adept_counts_event adept_counts_events[];

extern const adept_activity_source adept_activity_source_bpf, adept_activity_source_proc,
    adept_activity_source_taskstats;

#endif
