/** @file adept_recorder.h  Recording what processes do beside what meters read, for weeks if need be: memory is that of
 * what lives and of one interval. Not thread-safe; the caller has the loop. Calls: recording, activity. */
#ifndef ADEPT_RECORDER_H
#define ADEPT_RECORDER_H
#include "adept_activity.h"
#include "adept_recording.h"

/* X(name, word): the best source that may serve. */
#define ADEPT_BEST_SOURCE_LIST(X)                                                                                      \
    X(AUTO, "auto")           /* the best that can be had */                                                           \
    X(BPF, "bpf")             /* programs in the kernel, or nothing */                                                 \
    X(TASKSTATS, "taskstats") /* /proc, and records of exits if they can be had */                                     \
    X(PROC, "proc")           /* /proc alone */

typedef enum adept_best_source {
#define X(name, word) ADEPT_SOURCE_##name,
    ADEPT_BEST_SOURCE_LIST(X)
#undef X
} adept_best_source;

typedef struct adept_recorder_options {
    double period_s;                /* of an interval */
    adept_recording_options meters; /* how they are read; a sysroot is that of /proc as well */
    adept_best_source source;
    const char *host;
} adept_recorder_options;

typedef struct adept_recorder adept_recorder;

/**
 * Find sources and meters, and begin the first interval. Nothing is written.
 * @return ADEPT_E_NOMEM; ADEPT_E_INTERNAL: nothing can count processes, or not what was asked for
 */
adept_status adept_recorder_start(adept_recorder **out, const adept_recorder_options *options, adept_error *err);
/**
 * Write to a file from now on, which must not exist; what was recorded so far stays in the one before.
 * @return ADEPT_E_IO: it cannot be created, and the one before goes on; ADEPT_E_NOMEM
 */
adept_status adept_recorder_open(adept_recorder *recorder, const char *path, adept_error *err);
/** Take in what waits to be read. To be called every 50 ms or so: there is room for 10,000 records of exits. */
void adept_recorder_drain(adept_recorder *recorder);
/** End an interval, write it, and begin the next one. @return ADEPT_E_IO, ADEPT_E_NOMEM: the file ends with the
 * interval before, and nothing is written until another is opened */
adept_status adept_recorder_interval(adept_recorder *recorder, adept_error *err);
/** The last interval, and the last samples of the meters. @return as adept_recorder_interval() */
adept_status adept_recorder_stop(adept_recorder *recorder, adept_error *err);
void adept_recorder_free(adept_recorder *recorder);

/** What counts, what could not be had and why, and what was lost so far: a line each. */
const char *const *adept_recorder_sources(const adept_recorder *recorder, size_t *n);
const adept_recording *adept_recorder_meters(const adept_recorder *recorder);

#endif
