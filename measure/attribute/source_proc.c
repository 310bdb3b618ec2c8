/** @file source_proc.c  Polling /proc. A process that did nothing costs one clock_gettime(); one that did something two to three reads. */
#include "source.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

typedef struct proc_source {
    DIR *folder;
} proc_source;

/* Processor time of all threads of a process, those that ended too, to the nanosecond and for anybody: the clock that
 * clock_getcpuclockid(3) makes of a pid (kernel/time/posix-cpu-timers.c). @return NAN: there is no such process */
static double clock_of(const adept_processes *p, int32_t pid)
{
    struct timespec t;
    clockid_t clock;

    if (!p->has_clocks || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return NAN;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of a process of one thread: the files of others are of their first thread only. */
static double switches_of(adept_processes *p, adept_tracked *t)
{
    char text[256];
    double run_ns, wait_ns, n;

    if (!adept_tracked_text(text, sizeof text, p, t, ADEPT_FILE_SCHEDSTAT)) return NAN;
    return sscanf(text, "%lf %lf %lf", &run_ns, &wait_ns, &n) == 3 ? n : NAN;
}

static void read_io(adept_processes *p, adept_tracked *t)
{
    char text[1024];

    if (!adept_tracked_text(text, sizeof text, p, t, ADEPT_FILE_IO)) return; /* another user's: denied */
    t->now[ADEPT_ACTIVITY_READ_BYTES] = adept_proc_field(text, "read_bytes");
    t->now[ADEPT_ACTIVITY_WRITE_BYTES] = adept_proc_field(text, "write_bytes");
}

static void take(adept_processes *p, adept_tracked *t, const adept_proc_stat *stat, double clock_s)
{
    t->now[ADEPT_ACTIVITY_CPU_TIME_S] = isnan(clock_s) ? stat->cpu_ticks / p->ticks_per_s : clock_s;
    t->now[ADEPT_ACTIVITY_MEMORY_BYTES] = stat->rss_pages * (double)p->page_bytes;
    t->now[ADEPT_ACTIVITY_SWITCHES] = stat->n_threads == 1 ? switches_of(p, t) : NAN;
    read_io(p, t);
    t->waited_s = stat->waited_ticks / p->ticks_per_s;
    t->parent = stat->parent;
    if (strcmp(t->command, stat->command) == 0) return;
    snprintf(t->command, sizeof t->command, "%s", stat->command);
    t->is_written = false; /* exec: it is written anew, and may have moved to another cgroup before */
    free(t->cgroup);
    t->cgroup = NULL;
    adept_processes_identify(p, t, true);
}

/* Its first thread has ended, and it has no other. */
static bool is_zombie(const adept_proc_stat *stat)
{
    return (stat->state == 'Z' || stat->state == 'X') && stat->n_threads < 2;
}

typedef enum found { FOUND, GONE, ANOTHER } found;

static found update(adept_processes *p, adept_tracked *t, double clock_s)
{
    char text[2048];
    adept_proc_stat stat;

    if (!adept_tracked_text(text, sizeof text, p, t, ADEPT_FILE_STAT) || !adept_proc_stat_parse(&stat, text)) return GONE;
    if (stat.start_ticks != t->start_ticks) return ANOTHER;
    if (!is_zombie(&stat))
        take(p, t, &stat, clock_s);
    else if (!isnan(clock_s)) /* its memory is gone; its processor time is all there */
        t->now[ADEPT_ACTIVITY_CPU_TIME_S] = clock_s;
    return FOUND;
}

adept_tracked *adept_processes_discover(adept_processes *p, int32_t pid)
{
    char text[2048];
    adept_proc_stat stat;

    if (!adept_proc_text(text, sizeof text, p, pid, "stat") || !adept_proc_stat_parse(&stat, text)) return NULL;
    if (is_zombie(&stat)) return NULL; /* its record has told all */
    adept_tracked *t = adept_processes_add(p, pid, stat.start_ticks);
    if (!t) return NULL;
    take(p, t, &stat, clock_of(p, pid));
    if (stat.start_ticks < p->begin_ticks) t->ended_s = t->waited_s; /* what came before is settled */
    return t;
}

static void look_at(adept_processes *p, int32_t pid)
{
    adept_tracked *t = adept_processes_get(p, pid);
    double clock_s = t ? clock_of(p, pid) : NAN;
    found is = !t ? ANOTHER : clock_s == t->now[ADEPT_ACTIVITY_CPU_TIME_S] ? FOUND : update(p, t, clock_s);

    if (is == ANOTHER && t) adept_processes_end(p, t);
    if (is == ANOTHER) t = adept_processes_discover(p, pid);
    if (is != GONE && t) t->seen = p->looks;
}

static void look(void *state, adept_processes *p)
{
    proc_source *s = state;

    p->looks++;
    rewinddir(s->folder);
    for (struct dirent *entry; (entry = readdir(s->folder));)
        if (isdigit((unsigned char)entry->d_name[0])) look_at(p, atoi(entry->d_name));
    for (size_t i = 0; i < p->n; i++) { /* one look late: the record of an exit may come after the process has left /proc */
        adept_tracked *t = p->all[i];
        if (!t->has_ended && t->seen + 1 < p->looks) adept_processes_end(p, t);
    }
}

static bool open_proc(void **state, adept_processes *p, bool has[ADEPT_ACTIVITIES], char *why, size_t size)
{
    static const adept_activity_kind kinds[] = {ADEPT_ACTIVITY_CPU_TIME_S, ADEPT_ACTIVITY_SWITCHES, ADEPT_ACTIVITY_READ_BYTES,
                                                ADEPT_ACTIVITY_WRITE_BYTES, ADEPT_ACTIVITY_MEMORY_BYTES};
    proc_source *s = calloc(1, sizeof *s);
    struct rlimit files = {.rlim_cur = 0};

    if (s) s->folder = opendir(p->proc);
    if (!s || !s->folder) {
        snprintf(why, size, "%s: %s", p->proc, strerror(errno));
        free(s);
        return false;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    p->files_left = files.rlim_cur > 256 ? (size_t)files.rlim_cur - 256 : 0; /* for what else is open: sensors, sockets */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        has[kinds[i]] = true;
    if (!p->has_clocks) snprintf(why, size, "processor time in steps of %g s: it is no /proc of this machine", 1 / p->ticks_per_s);
    look(s, p);
    *state = s;
    return true;
}

static void close_proc(void *state)
{
    proc_source *s = state;

    closedir(s->folder);
    free(s);
}

const adept_source adept_source_proc = {
    .name = "/proc",
    .counts = "processes that live, once an interval",
    .open = open_proc,
    .look = look,
    .close = close_proc,
};
