/** @file processes.h  The processes that a recorder knows, and what they did since the interval began. Private to
 * measure/attribute. Not thread-safe. Calls: activity_log. */
#ifndef ADEPT_PROCESSES_H
#define ADEPT_PROCESSES_H
#include "activity_log.h"

enum { ADEPT_FILE_STAT, ADEPT_FILE_IO, ADEPT_FILE_SCHEDSTAT, ADEPT_PROCESS_FILES };

/** /proc/PID/stat. */
typedef struct adept_proc_stat {
    char command[16];
    int32_t parent;
    bool is_ending; /* it exits, or has: its memory goes, and the record of its exit was written */
    double cpu_ticks, waited_ticks, rss_pages;
    uint64_t start_ticks;
    long n_threads;
} adept_proc_stat;

/** A process that lives, or that ended within the interval. */
typedef struct adept_tracked {
    int32_t pid, parent;
    /* in the innermost of its PID namespaces; 0: `proc` shows no other than its own, or it is not known */
    int32_t inner_pid;
    uint32_t uid;
    uint64_t start_ticks;
    char command[16];
    char *cgroup; /* owned; NULL: not known */
    int64_t job;
    double now[ADEPT_ACTIVITIES];               /* counted so far; NAN: nothing counts it */
    double before[ADEPT_ACTIVITIES];            /* when the interval began; NAN: it was not known then */
    double waited_s;                            /* processor time of children that it waited for, by the kernel */
    double ended_s;                             /* the same as the records of their exits have it */
    double ended_read_bytes, ended_write_bytes; /* of its threads that ended */
    size_t n_ended;                             /* children that ended within the interval */
    double described_s;                         /* its processor time when /proc/PID/stat was read last */
    uint64_t described;                         /* the look that did */
    long n_threads;
    double closed[ADEPT_ACTIVITIES];        /* source_bpf.c: counted in records that are closed */
    double counted_s, running_s;            /* source_bpf.c: processor time in all records; and since then */
    double counted_events[3], running_events[3]; /* the same of instructions, cycles, cache misses */
    uint64_t seen;                          /* the last look at /proc that found it */
    int files[ADEPT_PROCESS_FILES];         /* below /proc, open for the next look; -1: not */
    uint32_t number;                        /* in the file */
    bool is_written, has_ended, has_waited; /* has_waited: for children, since /proc/PID/stat was read */
} adept_tracked;

/** A process that is not in /proc, and its number in the file. */
typedef struct adept_stranger {
    int32_t pid;
    uint32_t number; /* UINT32_MAX: the file does not have it yet */
} adept_stranger;

typedef struct adept_processes {
    adept_tracked **by_pid; /* those that live; as many as there can be pids */
    adept_tracked **all;
    size_t n, capacity;
    adept_stranger *strangers;
    size_t n_strangers, stranger_capacity;
    char *proc;           /* "/proc", below a root */
    uint64_t looks;       /* at /proc so far */
    uint64_t begin_ticks; /* what began later is counted from 0 */
    double ticks_per_s;
    long page_bytes;
    size_t files_left;           /* that may stay open */
    uint32_t n_written;          /* numbers given in the file */
    adept_tracked *last_written; /* whose cgroup the file has last; NULL: none of these */
    bool is_outermost;           /* `proc` has the pids that the kernel has inside, as no container's */
    bool has_clocks;             /* the pids of `proc` are those that the kernel's calls take */
    bool failed;                 /* memory was out */
} adept_processes;

/** @param sysroot  in front of /proc; "" or NULL: nothing. @return ADEPT_E_NOMEM */
adept_status adept_processes_begin(adept_processes *p, const char *sysroot, adept_error *err);
void adept_processes_free(adept_processes *p);

/** The living process of a pid; NULL: not known. */
adept_tracked *adept_processes_get(const adept_processes *p, int64_t pid);
/** A new one, which takes the place of one of the same pid. Nothing of it is known. NULL: memory is out, or it is no
 * pid */
adept_tracked *adept_processes_add(adept_processes *p, int64_t pid, uint64_t start_ticks);
/** One that lives, with what /proc says of it (source_proc.c); NULL: it does not, or memory is out. */
adept_tracked *adept_processes_discover(adept_processes *p, int32_t pid);
/** Say that it was counted from 0: what it did so far is of this interval. */
void adept_tracked_from_zero(adept_tracked *t);
/** Its name by now, which need not end with a zero; a file that has another gets it again. */
void adept_tracked_rename(adept_tracked *t, const char *name);
/** It has ended, and is forgotten with the interval. */
void adept_processes_end(adept_processes *p, adept_tracked *t);
/** Who it is, from /proc: user, cgroup, Slurm's job. Of one that is gone, cgroup and job are those of its parent, if
 * that one is known. */
void adept_processes_identify(adept_processes *p, adept_tracked *t, bool with_user);
/** Memory, parent, threads, and the name with all that exec may bring with it. */
void adept_processes_describe(adept_processes *p, adept_tracked *t, const adept_proc_stat *stat);
/** Is it worth reading its /proc/PID/stat, after so much processor time? Of one that hardly does anything, only now and
 * then. */
bool adept_tracked_is_due(const adept_processes *p, const adept_tracked *t, double cpu_s);
/** Share out what the kernel charged to children after it had written the records of their exits. */
void adept_processes_settle(adept_processes *p);

/** What was counted so far is of no interval. */
void adept_processes_begin_interval(adept_processes *p);
/** Put what all did into the interval, and begin the next one. */
void adept_processes_flush(adept_processes *p, adept_log_interval *interval);
/** The number of a living process in the file, which gets it if it has none. @return false: there is no such process */
bool adept_processes_number(adept_processes *p, adept_log_interval *interval, int32_t pid, uint32_t *number);
/** The process that a driver means by a pid: of this /proc, or in the innermost namespace of one process of it alone.
 * NULL: it is not visible here (source_proc.c). */
adept_tracked *adept_processes_meant(adept_processes *p, int32_t pid);
/** The number in the file of a process that is not visible here. @return false: memory is out */
bool adept_processes_number_stranger(adept_processes *p, adept_log_interval *interval, int32_t pid, uint32_t *number);
/** The next interval goes to another file: every process is new to it. */
void adept_processes_renumber(adept_processes *p);

/* ---- files of /proc ---- */

/** @return false if the text is no such line */
bool adept_proc_stat_parse(adept_proc_stat *out, const char *text);
/** The number behind "NAME: "; NAN: there is none. */
double adept_proc_field(const char *text, const char *name);
/** The last of several numbers behind "NSpid:", a process's pid in each namespace from that of /proc inwards; 0: there
 * is one alone. */
int32_t adept_proc_inner_pid(const char *status);
/** The path in /proc/PID/cgroup that processor time is counted for: of cpuacct (v1), else of the only hierarchy (v2).
 * `text` is cut to pieces. @param job  Slurm's number of the job that any of them belongs to; -1: none */
const char *adept_proc_cgroup(char *text, int64_t *job);
/** Read PROC/PID/NAME. @return false, and errno */
bool adept_proc_text(char *text, size_t size, const adept_processes *p, int32_t pid, const char *name);
/** The same through the process's own descriptor, which stays open where there may be one more. */
bool adept_tracked_text(char *text, size_t size, adept_processes *p, adept_tracked *t, int file);
/** PROC/PID/stat, read. @return false: there is no such process */
bool adept_proc_stat_read(adept_proc_stat *out, const adept_processes *p, int32_t pid);
/** The same through the process's own descriptor. */
bool adept_tracked_stat(adept_proc_stat *out, adept_processes *p, adept_tracked *t);

#endif
