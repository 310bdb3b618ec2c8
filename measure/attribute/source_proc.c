/** @file source_proc.c  Polling /proc. A process that did nothing costs one clock_gettime(); one that did something two
 * to three reads. */
#include "adept_clock.h"
#include "activity_source.h"
#include "adept_number.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct proc_source {
    DIR *folder;
} proc_source;

/* Processor time of all threads of a process, those that ended too, to the nanosecond and for anybody: the clock that
 * clock_getcpuclockid(3) makes of a pid (kernel/time/posix-cpu-timers.c). @return NAN: there is no such process */
static double clock_of(const adept_processes *p, int32_t pid)
{
    clockid_t clock;

    return p->has_clocks && !clock_getcpuclockid(pid, &clock) ? adept_clock_of_s(clock) : NAN;
}

/* Of a process of one thread: the files of others are of their first thread only. */
static double switches_of(adept_processes *p, adept_tracked *t)
{
    char text[256];

    if (!adept_tracked_text(text, sizeof text, p, t, ADEPT_FILE_SCHEDSTAT)) return NAN;
    const char *wait_ns = strchr(text, ' '), *n = wait_ns ? strchr(wait_ns + 1, ' ') : NULL;
    return n ? (double)strtoull(n, NULL, 10) : NAN;
}

static bool take(adept_processes *p, adept_tracked *t, double cpu_s)
{
    t->now[ADEPT_ACTIVITY_CPU_TIME_S] = cpu_s;
    t->now[ADEPT_ACTIVITY_SWITCHES] = t->n_threads == 1 ? switches_of(p, t) : NAN;
    char text[1024];
    if (!adept_tracked_text(text, sizeof text, p, t, ADEPT_FILE_IO)) return errno != ESRCH; /* another user's: denied */
    t->now[ADEPT_ACTIVITY_READ_BYTES] = adept_proc_field(text, "read_bytes");
    t->now[ADEPT_ACTIVITY_WRITE_BYTES] = adept_proc_field(text, "write_bytes");
    return true;
}

typedef enum found { FOUND, GONE, ANOTHER } found;

static found update(adept_processes *p, adept_tracked *t, double clock_s)
{
    adept_proc_stat stat;
    bool is_sure = !isnan(clock_s) && t->files[ADEPT_FILE_IO] >= 0; /* a descriptor is of one process for ever */

    if (is_sure && !t->has_waited && !adept_tracked_is_due(p, t, clock_s)) return take(p, t, clock_s) ? FOUND : GONE;
    if (!adept_tracked_stat(&stat, p, t)) return GONE;
    if (stat.start_ticks != t->start_ticks) return ANOTHER;
    if (stat.is_ending) { /* its memory goes; its processor time is all there */
        if (!isnan(clock_s)) t->now[ADEPT_ACTIVITY_CPU_TIME_S] = clock_s;
        return FOUND;
    }
    t->has_waited = false;
    take(p, t, isnan(clock_s) ? stat.cpu_ticks / p->ticks_per_s : clock_s);
    adept_processes_describe(p, t, &stat);
    return FOUND;
}

/* Has its pid gone to another process? */
static bool is_replaced(const adept_processes *p, const adept_tracked *t)
{
    adept_proc_stat stat;

    return adept_proc_stat_read(&stat, p, t->pid) && stat.start_ticks != t->start_ticks;
}

adept_tracked *adept_processes_discover(adept_processes *p, int32_t pid)
{
    adept_proc_stat stat;

    if (!adept_proc_stat_read(&stat, p, pid)) return NULL;
    if (stat.is_ending) return NULL; /* its record has told all */
    adept_tracked *t = adept_processes_add(p, pid, stat.start_ticks);
    if (!t) return NULL;
    double clock_s = clock_of(p, pid);
    t->n_threads = stat.n_threads;
    take(p, t, isnan(clock_s) ? stat.cpu_ticks / p->ticks_per_s : clock_s);
    adept_processes_describe(p, t, &stat);
    if (stat.start_ticks < p->begin_ticks) t->ended_s = t->waited_s; /* what came before is settled */
    return t;
}

adept_tracked *adept_processes_meant(adept_processes *p, int32_t pid)
{
    adept_tracked *outer = adept_processes_get(p, pid);

    if (!outer && pid > 0) outer = adept_processes_discover(p, pid); /* it began since the last look */
    if (outer && outer->now[ADEPT_ACTIVITY_MEMORY_BYTES] != 0) return outer;
    adept_tracked *inner = NULL; /* where there is none, or a thread of the kernel, which holds no GPU */
    for (size_t i = 0; i < p->n; i++) {
        adept_tracked *t = p->all[i];
        if (t->inner_pid != pid || pid <= 0 || t->has_ended) continue;
        if (inner) return outer; /* containers have the same numbers */
        inner = t;
    }
    return inner ? inner : outer;
}

static void look_at(adept_processes *p, int32_t pid)
{
    adept_tracked *t = adept_processes_get(p, pid);
    double clock_s = t ? clock_of(p, pid) : NAN;
    found is = !t ? ANOTHER : clock_s == t->now[ADEPT_ACTIVITY_CPU_TIME_S] ? FOUND : update(p, t, clock_s);

    if (is == GONE && is_replaced(p, t)) is = ANOTHER;
    if (is == ANOTHER && t) adept_processes_end(p, t);
    if (is == ANOTHER) t = adept_processes_discover(p, pid);
    if (is != GONE && t) t->seen = p->looks;
}

static void look(void *state, adept_processes *p)
{
    proc_source *s = state;
    int64_t pid;

    p->looks++;
    rewinddir(s->folder);
    for (struct dirent *entry; (entry = readdir(s->folder));)
        if (adept_integer_parse(&pid, entry->d_name, NULL, 1, INT32_MAX)) look_at(p, (int32_t)pid);
    for (size_t i = 0; i < p->n;
         i++) { /* one look late: the record of an exit may come after the process has left /proc */
        adept_tracked *t = p->all[i];
        if (!t->has_ended && t->seen + 1 < p->looks) adept_processes_end(p, t);
    }
}

static bool open_proc(void **state, adept_processes *p, bool has[ADEPT_ACTIVITIES], char *why, size_t size)
{
    static const adept_activity_kind kinds[] = {ADEPT_ACTIVITY_CPU_TIME_S, ADEPT_ACTIVITY_SWITCHES,
                                                ADEPT_ACTIVITY_READ_BYTES, ADEPT_ACTIVITY_WRITE_BYTES,
                                                ADEPT_ACTIVITY_MEMORY_BYTES};
    proc_source *s = calloc(1, sizeof *s);
    struct rlimit files = {.rlim_cur = 0};

    if (s) s->folder = opendir(p->proc);
    if (!s || !s->folder) {
        snprintf(why, size, "%s: %s", p->proc, strerror(errno));
        free(s);
        return false;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    p->files_left =
        files.rlim_cur > 256 ? (size_t)files.rlim_cur - 256 : 0; /* for what else is open: sensors, sockets */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        has[kinds[i]] = true;
    if (!p->has_clocks)
        snprintf(why, size, "processor time in steps of %g s: it has not this machine's pids", 1 / p->ticks_per_s);
    else if (geteuid() != 0)
        snprintf(why, size, "block I/O of the user's own processes only: the others' needs root");
    *state = s;
    return true;
}

static void close_proc(void *state)
{
    proc_source *s = state;

    closedir(s->folder);
    free(s);
}

const adept_activity_source adept_activity_source_proc = {
    .name = "/proc",
    .counts = "processes that live, once an interval",
    .open = open_proc,
    .look = look,
    .close = close_proc,
};
