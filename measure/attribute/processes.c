/** @file processes.c  Processes by pid, their differences, and who they are. */
#include "processes.h"
#include "adept_number.h"
#include "adept_clock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_PIDS ((int64_t)1 << 22) /* PID_MAX_LIMIT of include/linux/threads.h, on 64 bits */

/* The first namespace's number is fixed: PROC_PID_INIT_INO of include/linux/proc_ns.h. */
static bool is_outermost(void)
{
    char text[64] = "";

    return readlink("/proc/self/ns/pid", text, sizeof text - 1) > 0 && strcmp(text, "pid:[4026531836]") == 0;
}

adept_status adept_processes_begin(adept_processes *p, const char *sysroot, adept_error *err)
{
    *p = (adept_processes){.ticks_per_s = (double)sysconf(_SC_CLK_TCK), .page_bytes = sysconf(_SC_PAGESIZE)};
    p->by_pid = calloc((size_t)MOST_PIDS, sizeof *p->by_pid); /* the kernel gives pages of it where they are written */
    if (asprintf(&p->proc, "%s/proc", sysroot ? sysroot : "") < 0) p->proc = NULL;
    if (!p->by_pid || !p->proc) {
        adept_processes_free(p);
        return adept_no_memory(err, "a table of processes");
    }
    p->begin_ticks = (uint64_t)(adept_clock_of_s(CLOCK_BOOTTIME) * p->ticks_per_s);
    /* A /proc of another namespace, as of the host within a container, has other pids. */
    const char *proc = p->proc;
    char path[4096], text[32] = "";
    snprintf(path, sizeof path, "%s/self", proc);
    p->has_clocks =
        strcmp(proc, "/proc") == 0 && readlink(path, text, sizeof text - 1) > 0 && atol(text) == (long)getpid();
    p->is_outermost = p->has_clocks && is_outermost();
    return ADEPT_OK;
}

static void forget(adept_processes *p, adept_tracked *t)
{
    for (size_t i = 0; i < ADEPT_PROCESS_FILES; i++) {
        if (t->files[i] < 0) continue;
        close(t->files[i]);
        p->files_left++;
    }
    if (p->last_written == t) p->last_written = NULL;
    if (p->by_pid[t->pid] == t) p->by_pid[t->pid] = NULL;
    free(t->cgroup);
    free(t);
}

void adept_processes_free(adept_processes *p)
{
    for (size_t i = 0; i < p->n; i++)
        forget(p, p->all[i]);
    free(p->all);
    free(p->strangers);
    free(p->by_pid);
    free(p->proc);
    *p = (adept_processes){0};
}

adept_tracked *adept_processes_get(const adept_processes *p, int64_t pid)
{
    return pid > 0 && pid < MOST_PIDS ? p->by_pid[pid] : NULL;
}

void adept_processes_end(adept_processes *p, adept_tracked *t)
{
    t->has_ended = true;
    if (p->by_pid[t->pid] == t) p->by_pid[t->pid] = NULL;
}

adept_tracked *adept_processes_add(adept_processes *p, int64_t pid, uint64_t start_ticks)
{
    if (pid <= 0 || pid >= MOST_PIDS) return NULL;
    adept_tracked *t = calloc(1, sizeof *t);
    adept_tracked **all = adept_grow(p->all, &p->capacity, p->n + 1, sizeof *all);
    if (all) p->all = all;
    if (!t || !all) {
        free(t);
        p->failed = true;
        return NULL;
    }
    if (p->by_pid[pid]) adept_processes_end(p, p->by_pid[pid]);
    *t = (adept_tracked){
        .pid = (int32_t)pid, .start_ticks = start_ticks, .job = -1, .number = UINT32_MAX, .seen = p->looks};
    for (size_t k = 0; k < ADEPT_ACTIVITIES; k++)
        t->now[k] = t->before[k] = NAN;
    for (size_t i = 0; i < ADEPT_PROCESS_FILES; i++)
        t->files[i] = -1;
    if (start_ticks >= p->begin_ticks) adept_tracked_from_zero(t);
    p->all[p->n++] = t;
    p->by_pid[pid] = t;
    return t;
}

void adept_tracked_from_zero(adept_tracked *t)
{
    for (size_t k = 0; k < ADEPT_ACTIVITIES; k++)
        t->before[k] = 0;
}

void adept_tracked_rename(adept_tracked *t, const char *name)
{
    char now[sizeof t->command] = "";

    memcpy(now, name, strnlen(name, sizeof now - 1));
    if (strcmp(t->command, now) == 0) return;
    memcpy(t->command, now, sizeof now);
    t->is_written = false;
}

/* ---------------------------------------------------------------- who it is --------------------------------------- */

/* Slurm's daemon of a step calls itself "slurmstepd: [JOB.STEP]", once it knows; what it starts is of that job. The
 * environment, where everybody may write what he likes, is not asked. */
static int64_t job_of_daemon(const adept_processes *p, const adept_tracked *t)
{
    static const char title[] = "slurmstepd: [";
    const char *end;
    char text[256];
    int64_t job;

    if (strcmp(t->command, "slurmstepd") != 0 || (t->uid != 0 && t->uid != geteuid())) return -1;
    if (!adept_proc_text(text, sizeof text, p, t->pid, "cmdline") || strncmp(text, title, sizeof title - 1) != 0)
        return -1;
    return adept_integer_parse(&job, text + sizeof title - 1, &end, 1, INT64_MAX - 2) && *end == '.' ? job : -1;
}

/* Of one without a cgroup of Slurm's: its parent's, if that one has one, else the job that it has had so far. */
static int64_t job_of_parent(const adept_processes *p, adept_tracked *parent, int64_t so_far)
{
    if (parent && parent->job < 0) parent->job = job_of_daemon(p, parent);
    return parent && parent->job >= 0 ? parent->job : so_far;
}

void adept_processes_identify(adept_processes *p, adept_tracked *t, bool with_user)
{
    char text[1 << 14];
    adept_tracked *parent = adept_processes_get(p, t->parent);
    int64_t so_far = t->job;

    if (with_user && adept_proc_text(text, sizeof text, p, t->pid, "status")) {
        double uid = adept_proc_field(text, "Uid");
        if (uid >= 0 && uid <= UINT32_MAX) t->uid = (uint32_t)uid;
        t->inner_pid = adept_proc_inner_pid(text);
    }
    if (adept_proc_text(text, sizeof text, p, t->pid, "cgroup")) {
        t->cgroup = strdup(adept_proc_cgroup(text, &t->job));
        if (t->job < 0) t->job = job_of_daemon(p, t);
        if (t->job < 0) t->job = job_of_parent(p, parent, so_far);
    } else if (parent) {
        t->cgroup = strdup(parent->cgroup ? parent->cgroup : "");
        t->job = job_of_parent(p, parent, so_far);
    } else {
        return;
    }
    if (!t->cgroup) p->failed = true;
}

void adept_processes_describe(adept_processes *p, adept_tracked *t, const adept_proc_stat *stat)
{
    t->now[ADEPT_ACTIVITY_MEMORY_BYTES] = stat->rss_pages * (double)p->page_bytes;
    t->waited_s = stat->waited_ticks / p->ticks_per_s;
    t->parent = stat->parent;
    t->n_threads = stat->n_threads;
    t->described = p->looks;
    t->described_s = t->now[ADEPT_ACTIVITY_CPU_TIME_S];
    if (t->cgroup && strcmp(t->command, stat->command) == 0) { /* the daemon may have learnt its job by now */
        int64_t job = t->job < 0 ? job_of_parent(p, adept_processes_get(p, t->parent), -1) : t->job;
        t->is_written = t->is_written && job == t->job;
        t->job = job;
        return;
    }
    adept_tracked_rename(t, stat->command); /* exec: it may have moved to another cgroup before */
    free(t->cgroup);
    t->cgroup = NULL;
    adept_processes_identify(p, t, true);
}

bool adept_tracked_is_due(const adept_processes *p, const adept_tracked *t, double cpu_s)
{
    return !(cpu_s - t->described_s < 1e-3) || p->looks - t->described >= 10;
}

/* ---------------------------------------------------------------- intervals --------------------------------------- */

/* The kernel writes the record of an exit before it takes the process's memory apart (kernel/exit.c: taskstats_exit(),
 * then exit_mm()), and before it brings its processor time up to date: of a process of 1 ms, 5 % are missing. What a
 * parent waited for has it all. */
void adept_processes_settle(adept_processes *p)
{
    for (size_t i = 0; i < p->n; i++) {
        adept_tracked *parent = p->all[i]->has_ended ? adept_processes_get(p, p->all[i]->parent) : NULL;
        if (parent) parent->n_ended++;
    }
    for (size_t i = 0; i < p->n; i++) {
        adept_tracked *t = p->all[i], *parent = t->has_ended ? adept_processes_get(p, t->parent) : NULL;
        if (!parent || !(parent->waited_s > parent->ended_s)) continue;
        double share_s = (parent->waited_s - parent->ended_s) / (double)parent->n_ended;
        parent->ended_s += share_s; /* of what is left, so that the last one gets the rest */
        parent->n_ended--;
        t->now[ADEPT_ACTIVITY_CPU_TIME_S] += share_s;
    }
    for (size_t i = 0; i < p->n; i++)
        p->all[i]->n_ended = 0;
}

static void write_process(adept_processes *p, adept_log_interval *interval, adept_tracked *t)
{
    const char *cgroup = t->cgroup ? t->cgroup : "";
    const adept_process shown = {t->pid, t->uid, t->start_ticks, t->command, cgroup, t->job};
    bool same = p->last_written && strcmp(cgroup, p->last_written->cgroup ? p->last_written->cgroup : "") == 0;

    if (t->number == UINT32_MAX) t->number = p->n_written++;
    adept_log_put_process(interval, t->number, &shown, same);
    p->last_written = t;
    t->is_written = true;
}

void adept_processes_begin_interval(adept_processes *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < ADEPT_ACTIVITIES; k++)
            if (isnan(p->all[i]->before[k])) p->all[i]->before[k] = p->all[i]->now[k];
}

void adept_processes_flush(adept_processes *p, adept_log_interval *interval)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n; i++) {
        adept_tracked *t = p->all[i];
        adept_activity a = {0};
        /* What was added since the interval began. A counter that went back began again. */
        bool did = false;
        for (size_t k = 0; k < ADEPT_ACTIVITIES; k++) {
            double more = t->now[k] >= t->before[k]  ? t->now[k] - t->before[k]
                          : t->now[k] < t->before[k] ? t->now[k]
                                                     : NAN;
            if (k == ADEPT_ACTIVITY_MEMORY_BYTES) more = t->now[k];
            a.values[k] = (float)more;
            did = did || (more > 0 && k != ADEPT_ACTIVITY_MEMORY_BYTES);
            if (!isnan(t->now[k])) t->before[k] = t->now[k];
        }
        if (did) {
            if (!t->is_written) write_process(p, interval, t);
            a.process = t->number;
            adept_log_put_activity(interval, &a);
        }
        if (t->has_ended)
            forget(p, t);
        else
            p->all[kept++] = t;
    }
    p->n = kept;
}

bool adept_processes_number(adept_processes *p, adept_log_interval *interval, int32_t pid, uint32_t *number)
{
    adept_tracked *t = adept_processes_get(p, pid);

    if (!t) return false;
    if (!t->is_written) write_process(p, interval, t);
    *number = t->number;
    return true;
}

bool adept_processes_number_stranger(adept_processes *p, adept_log_interval *interval, int32_t pid, uint32_t *number)
{
    const adept_process shown = {
        .pid = pid, .start_ticks = ADEPT_NOT_VISIBLE_TICKS, .command = "(not visible)", .cgroup = "", .job = -1};
    size_t i = 0;

    while (i < p->n_strangers && p->strangers[i].pid != pid)
        i++;
    if (i == p->n_strangers) {
        adept_stranger *grown = adept_grow(p->strangers, &p->stranger_capacity, i + 1, sizeof *grown);
        if (!grown) return false;
        p->strangers = grown;
        p->strangers[p->n_strangers++] = (adept_stranger){pid, UINT32_MAX};
    }
    if (p->strangers[i].number == UINT32_MAX) {
        p->strangers[i].number = p->n_written++;
        adept_log_put_process(interval, p->strangers[i].number, &shown, false);
        p->last_written = NULL; /* the file has this one's cgroup last */
    }
    *number = p->strangers[i].number;
    return true;
}

void adept_processes_renumber(adept_processes *p)
{
    p->n_written = 0;
    for (size_t i = 0; i < p->n_strangers; i++)
        p->strangers[i].number = UINT32_MAX;
    p->last_written = NULL;
    for (size_t i = 0; i < p->n; i++) {
        p->all[i]->is_written = false;
        p->all[i]->number = UINT32_MAX;
    }
}
