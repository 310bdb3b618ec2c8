/** @file source_bpf.c  A program in the kernel counts what each process does (counts.bpf.c); here its counts are read.
 * A process that did nothing costs one look at a table. */
#include "adept_clock.h"
#include "counts.h"
#include "activity_source.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const char *const adept_counts_program;
extern const size_t adept_counts_program_size;

#define MOST_LINKS 4
#define BATCH 4096

typedef struct bpf_source {
    struct bpf_object *object;
    struct bpf_link *links[MOST_LINKS];
    struct ring_buffer *ended;
    int processes, runs, data; /* descriptors of maps; data: only `lost` */
    int n_processors;
    struct counts *batch;
    uint32_t *keys;
    struct run {
        uint64_t who_since, rest[4];
    } * run_values;         /* one for each processor that there can be */
    adept_processes *table; /* while drain() runs */
} bpf_source;

/* ---------------------------------------------------------------- counts ------------------------------------------ */

static uint64_t start_ticks(const adept_processes *p, const struct counts *c)
{
    return c->start_ns / (1000000000u / (uint64_t)p->ticks_per_s);
}

static adept_tracked *known(adept_processes *p, const struct counts *c)
{
    adept_tracked *t = adept_processes_get(p, c->pid);

    if (t && t->start_ticks == start_ticks(p, c)) return t;
    t = adept_processes_add(p, c->pid, start_ticks(p, c));
    if (!t) return NULL;
    adept_tracked_from_zero(t);
    t->parent = (int32_t)c->parent;
    t->uid = c->uid;
    adept_tracked_rename(t, c->command);
    adept_processes_identify(p, t, false);
    return t;
}

static void take(adept_tracked *t, const struct counts *c)
{
    const double values[ADEPT_ACTIVITIES] = {[ADEPT_ACTIVITY_CPU_TIME_S] = 1e-9 * (double)c->cpu_ns,
                                             [ADEPT_ACTIVITY_SWITCHES] = (double)c->switches,
                                             [ADEPT_ACTIVITY_SYSCALLS] = (double)c->syscalls,
                                             [ADEPT_ACTIVITY_READ_BYTES] = (double)c->read_bytes,
                                             [ADEPT_ACTIVITY_WRITE_BYTES] = (double)c->write_bytes};

    for (size_t k = 0; k < ADEPT_ACTIVITIES; k++) {
        double now = t->closed[k] + values[k];
        if (k == ADEPT_ACTIVITY_NETWORK_BYTES || k == ADEPT_ACTIVITY_MEMORY_BYTES) continue;
        if (!(now < t->now[k]))
            t->now[k] = now; /* less: add_running() took the time that another machine stole for its own */
    }
    t->counted_s = t->closed[ADEPT_ACTIVITY_CPU_TIME_S] + values[ADEPT_ACTIVITY_CPU_TIME_S];
}

static int on_ended(void *state, void *record, size_t size)
{
    bpf_source *s = state;
    struct counts c;

    if (size < sizeof c) return 0;
    memcpy(&c, record, sizeof c);
    adept_tracked *t = known(s->table, &c);
    if (!t) return 0;
    take(t, &c);
    memcpy(t->closed, t->now, sizeof t->closed); /* of a last thread there may be another record */
    adept_tracked_rename(t, c.command);
    t->now[ADEPT_ACTIVITY_MEMORY_BYTES] = 0;
    t->has_ended = true; /* but it stays where its pid finds it until the interval ends */
    return 0;
}

static void drain(void *state, adept_processes *p)
{
    bpf_source *s = state;

    s->table = p;
    ring_buffer__consume(s->ended);
}

/* ---------------------------------------------------------------- at the end of an interval ----------------------- */

static void refresh(adept_processes *p, adept_tracked *t)
{
    adept_proc_stat stat;

    if (!adept_tracked_is_due(p, t, t->now[ADEPT_ACTIVITY_CPU_TIME_S]) || !adept_tracked_stat(&stat, p, t)) return;
    if (stat.start_ticks == t->start_ticks && !stat.is_ending) adept_processes_describe(p, t, &stat);
}

static void take_live(adept_processes *p, const struct counts *c)
{
    adept_tracked *t = known(p, c);
    double before_s = t ? t->now[ADEPT_ACTIVITY_CPU_TIME_S] : NAN;

    if (!t) return;
    take(t, c);
    if (t->now[ADEPT_ACTIVITY_CPU_TIME_S] != before_s) refresh(p, t);
}

/* One that was never seen, since it did not give its processor back yet. */
static adept_tracked *meet(adept_processes *p, int32_t pid)
{
    adept_proc_stat stat;

    if (!adept_proc_stat_read(&stat, p, pid)) return NULL;
    adept_tracked *t = adept_processes_add(p, pid, stat.start_ticks);
    if (!t) return NULL;
    adept_tracked_from_zero(t);
    adept_processes_describe(p, t, &stat);
    return t;
}

/* What threads took that did not give their processors back since they got them: it is in no count yet. */
static void add_running(bpf_source *s, adept_processes *p)
{
    uint32_t zero = 0;

    if (bpf_map_lookup_elem(s->runs, &zero, s->run_values)) return;
    double now_s = adept_clock_s();
    for (int i = 0; i < 2 * s->n_processors; i++) { /* each twice: threads of a process may run on several */
        uint64_t run = s->run_values[i % s->n_processors].who_since;
        int32_t pid = (int32_t)(run & ((1u << COUNTS_PID_BITS) - 1));
        double since_s = 1e-9 * (double)(run >> COUNTS_PID_BITS << COUNTS_TIME_SHIFT);
        adept_tracked *t = adept_processes_get(p, pid);
        if (pid == 0 || now_s - since_s < 0.01) continue; /* the next interval has it */
        if (!t && i < s->n_processors) t = meet(p, pid);
        if (!t || t->has_ended) continue;
        if (i < s->n_processors) {
            t->running_s += now_s - since_s;
        } else {
            t->now[ADEPT_ACTIVITY_CPU_TIME_S] = fmax(t->now[ADEPT_ACTIVITY_CPU_TIME_S], t->counted_s + t->running_s);
            t->running_s = 0;
        }
    }
}

/* Those whose end was missed, now and then: they would stay for ever. */
static void forget_the_gone(bpf_source *s, adept_processes *p)
{
    for (size_t i = 0; i < p->n; i++) {
        adept_tracked *t = p->all[i];
        uint32_t pid = (uint32_t)t->pid;
        if (t->has_ended || kill(t->pid, 0) == 0 || errno != ESRCH) continue;
        bpf_map_delete_elem(s->processes, &pid);
        t->has_ended = true;
    }
}

static void look(void *state, adept_processes *p)
{
    bpf_source *s = state;
    uint32_t place = 0;
    int failed = 0;

    p->looks++;
    if (p->looks % 64 == 0) forget_the_gone(s, p);
    for (bool is_first = true; !failed; is_first = false) {
        uint32_t n = BATCH;
        failed = bpf_map_lookup_batch(s->processes, is_first ? NULL : &place, &place, s->keys, s->batch, &n, NULL);
        bool is_read = !failed || errno == ENOENT; /* ENOENT: these were the last. take_live() sets errno anew */
        for (uint32_t i = 0; is_read && i < n; i++)
            take_live(p, &s->batch[i]);
    }
    add_running(s, p);
}

/* ---------------------------------------------------------------- the source -------------------------------------- */

static void close_bpf(void *state)
{
    bpf_source *s = state;

    for (size_t i = 0; i < MOST_LINKS; i++)
        bpf_link__destroy(s->links[i]);
    ring_buffer__free(s->ended);
    bpf_object__close(s->object);
    free(s->run_values);
    free(s->batch);
    free(s->keys);
    free(s);
}

static int load(bpf_source *s)
{
    const struct bpf_object_open_opts options = {.sz = sizeof options, .object_name = "adept_counts"};
    struct bpf_program *program;
    size_t n = 0;
    int failed = 0;

    s->object = bpf_object__open_mem(adept_counts_program, adept_counts_program_size, &options);
    if (!s->object) return errno;
    if ((failed = bpf_object__load(s->object))) return -failed;
    s->processes = bpf_object__find_map_fd_by_name(s->object, "processes");
    s->runs = bpf_object__find_map_fd_by_name(s->object, "runs");
    s->data = bpf_object__find_map_fd_by_name(s->object, ".bss");
    s->ended = ring_buffer__new(bpf_object__find_map_fd_by_name(s->object, "ended"), on_ended, s, NULL);
    if (!s->ended) return errno;
    bpf_object__for_each_program(program, s->object)
    {
        s->links[n] = bpf_program__attach(program);
        if (!s->links[n++]) return errno;
    }
    return 0;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
    (void)level;
    (void)format;
    (void)args;
    return 0;
}

static bool open_bpf(void **state, adept_processes *p, bool has[ADEPT_ACTIVITIES], char *why, size_t size)
{
    bpf_source *s = calloc(1, sizeof *s);
    int failed = ENOMEM;

    (void)p;
    libbpf_set_print(quiet);
    if (s) {
        s->n_processors = libbpf_num_possible_cpus();
        s->run_values = calloc(s->n_processors > 0 ? (size_t)s->n_processors : 1, sizeof *s->run_values);
        s->batch = calloc(BATCH, sizeof *s->batch);
        s->keys = calloc(BATCH, sizeof *s->keys);
    }
    if (s && s->run_values && s->batch && s->keys) failed = s->n_processors < 0 ? -s->n_processors : load(s);
    if (!failed) {
        for (size_t k = 0; k < ADEPT_ACTIVITIES; k++)
            has[k] = has[k] || k != ADEPT_ACTIVITY_NETWORK_BYTES;
        *state = s;
        return true;
    }
    if (failed == EPERM || failed == EACCES)
        snprintf(why, size, "permission denied: it needs root, or CAP_BPF and CAP_PERFMON");
    else if (access("/sys/kernel/btf/vmlinux", R_OK))
        snprintf(why, size,
                 "this kernel does not describe its types: no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
    else
        snprintf(why, size, "the kernel does not load it: %s", strerror(failed));
    if (s) close_bpf(s);
    return false;
}

static uint64_t lost(const void *state)
{
    uint64_t n = 0;
    uint32_t zero = 0;

    return bpf_map_lookup_elem(((const bpf_source *)state)->data, &zero, &n) ? 0 : n;
}

const adept_activity_source adept_activity_source_bpf = {
    .name = "bpf",
    .counts = "all processes, by a program at the scheduler and at system calls",
    .open = open_bpf,
    .drain = drain,
    .look = look,
    .lost = lost,
    .close = close_bpf,
};
