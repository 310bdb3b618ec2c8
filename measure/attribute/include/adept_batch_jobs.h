/** @file adept_batch_jobs.h  Jobs of a cluster as Slurm's texts tell them: sacct, jobcomp/filetxt, scontrol listpids.
 * Names, notes and comments in them are strangers'. One thread at a time. Calls: adept_csv. */
#ifndef ADEPT_BATCH_JOBS_H
#define ADEPT_BATCH_JOBS_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slurm's words of a job's state (man sacct, JOB STATE CODES); UNKNOWN: no text tells it. */
#define ADEPT_BATCH_STATE_LIST(X)                                                                                      \
    X(UNKNOWN)                                                                                                         \
    X(PENDING)                                                                                                         \
    X(RUNNING)                                                                                                         \
    X(SUSPENDED)                                                                                                       \
    X(COMPLETING) X(CONFIGURING) X(REQUEUED) X(RESIZING) X(COMPLETED) X(CANCELLED) X(FAILED) X(TIMEOUT)                \
        X(OUT_OF_MEMORY) X(PREEMPTED) X(NODE_FAIL) X(BOOT_FAIL) X(DEADLINE) X(REVOKED) X(LAUNCH_FAILED) X(STOPPED)

typedef enum adept_batch_state {
#define X(name) ADEPT_BATCH_##name,
    ADEPT_BATCH_STATE_LIST(X)
#undef X
        ADEPT_BATCH_STATES
} adept_batch_state;

/** "COMPLETED"; NULL behind the last. */
const char *adept_batch_state_name(size_t state);
/** Has it ended in another state than COMPLETED? */
bool adept_batch_state_is_lost(adept_batch_state state);
/** Has it not ended, or is nothing known? */
bool adept_batch_state_is_open(adept_batch_state state);

/** A job; its steps, and what was requeued under the same number, are in it. Texts are "" where they are not known. */
typedef struct adept_batch_job {
    int64_t id;       /* SLURM_JOB_ID, which sacct calls JobIDRaw */
    const char *name; /* as people write it: "12_3" */
    const char *user, *account, *partition, *nodes;
    const char *note;    /* AdminComment: what adept's plugin noted */
    const char *comment; /* the user's */
    adept_batch_state state;
    double begin_s, end_s; /* since 1970; NAN: not known, or not yet */
    double elapsed_s;      /* NAN: not known */
    double gpus, n_nodes;  /* allocated; 0: none, or not known. A MIG slice is its share of a GPU */
    double slice;          /* the mean share of a GPU that its MIG slices are; 0: it has none */
} adept_batch_job;

typedef struct adept_batch_jobs adept_batch_jobs;

/** NULL when memory is out. */
adept_batch_jobs *adept_batch_jobs_new(void);
/** NULL allowed. */
void adept_batch_jobs_free(adept_batch_jobs *jobs);
/** Leave out what texts say of jobs that ran at no time in between: Slurm's numbers begin anew where its state was
 * lost, and another job may have had the same. To be said before they are added. */
void adept_batch_jobs_limit(adept_batch_jobs *jobs, double begin_s, double end_s);
/** The same of one, for a shorter time: NULL if it did not run then. */
const adept_batch_job *adept_batch_jobs_during(const adept_batch_jobs *jobs, int64_t id, double begin_s, double end_s);
/** NULL if no text named it. */
const adept_batch_job *adept_batch_jobs_find(const adept_batch_jobs *jobs, int64_t id);
const adept_batch_job *adept_batch_jobs_at(const adept_batch_jobs *jobs, size_t i);
size_t adept_batch_jobs_count(const adept_batch_jobs *jobs);

/**
 * Add what `sacct -P` printed with its header, whatever stands between its columns. JobID is needed; JobIDRaw, User,
 * Account, State, Partition, Start, End, ElapsedRaw, AllocTRES, NodeList, AdminComment and Comment are used, in any
 * order. Times are seconds since 1970 (SLURM_TIME_FORMAT=%s) or of this machine's time zone.
 * @param name  of the text, for messages; outlives the call
 * @param text  malloc'ed; taken
 * @return ADEPT_E_INVALID naming file and line; ADEPT_E_NOMEM
 */
adept_status adept_batch_jobs_add_sacct(adept_batch_jobs *jobs, const char *name, char *text, size_t size,
                                        adept_error *err);
/** The same of what JobCompType=jobcomp/filetxt wrote; `text` ends with a zero and is changed. */
adept_status adept_batch_jobs_add_jobcomp(adept_batch_jobs *jobs, const char *name, char *text, adept_error *err);

typedef struct adept_batch_pid {
    int32_t pid;
    int64_t job;
    size_t line; /* of all texts */
} adept_batch_pid;

/** Which process belongs to which job, on one node. */
typedef struct adept_batch_pids {
    adept_batch_pid *list; /* in order of pid */
    size_t n, capacity, n_lines;
} adept_batch_pids;

/** Add what `scontrol listpids` printed, once or many times, of which the last that has a process counts; `text` ends
 * with a zero and is changed.
 *  @param pids  zero-initialised is empty; adept_batch_pids_free() */
adept_status adept_batch_pids_add(adept_batch_pids *pids, const char *name, char *text, adept_error *err);
/** -1: none. */
int64_t adept_batch_pids_job(const adept_batch_pids *pids, int32_t pid);
void adept_batch_pids_free(adept_batch_pids *pids);

#endif
