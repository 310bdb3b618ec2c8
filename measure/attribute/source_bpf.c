/** @file source_bpf.c  A program in the kernel counts what each process does (counts.bpf.c); here its counts are read.
 * A process that did nothing costs one look at a table. */
#include "adept_clock.h"
#include "counts.h"
#include "activity_source.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const char *const adept_counts_program;
extern const size_t adept_counts_program_size;

#define MOST_LINKS 8
#define BATCH 4096

typedef struct bpf_source {
    struct bpf_object *object;
    struct bpf_link *links[MOST_LINKS];
    struct ring_buffer *ended;
    int processes, runs, data; /* descriptors of maps; data: only `lost` */
    int n_processors;
    struct counts *batch;
    uint32_t *keys;
    struct counts_run *run_values; /* one for each processor that there can be */
    int *events; /* descriptors of perf events, as in the program's map; -1: none. NULL: none at all */
    bool has_network;
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

static const adept_activity_kind event_kinds[COUNTS_EVENTS] = {ADEPT_ACTIVITY_INSTRUCTIONS, ADEPT_ACTIVITY_CYCLES,
                                                               ADEPT_ACTIVITY_CACHE_MISSES};

static bool is_event(size_t kind)
{
    return kind == ADEPT_ACTIVITY_INSTRUCTIONS || kind == ADEPT_ACTIVITY_CYCLES || kind == ADEPT_ACTIVITY_CACHE_MISSES;
}

/* Memory is looked up elsewhere. */
static bool counts_kind(const bpf_source *s, size_t kind)
{
    return kind == ADEPT_ACTIVITY_NETWORK_BYTES ? s->has_network
           : is_event(kind)                     ? s->events != NULL
                                                : kind != ADEPT_ACTIVITY_MEMORY_BYTES;
}

static void take(const bpf_source *s, adept_tracked *t, const struct counts *c)
{
    const double values[ADEPT_ACTIVITIES] = {[ADEPT_ACTIVITY_CPU_TIME_S] = 1e-9 * (double)c->cpu_ns,
                                             [ADEPT_ACTIVITY_SWITCHES] = (double)c->switches,
                                             [ADEPT_ACTIVITY_SYSCALLS] = (double)c->syscalls,
                                             [ADEPT_ACTIVITY_READ_BYTES] = (double)c->read_bytes,
                                             [ADEPT_ACTIVITY_WRITE_BYTES] = (double)c->write_bytes,
                                             [ADEPT_ACTIVITY_NETWORK_BYTES] = (double)c->network_bytes,
                                             [ADEPT_ACTIVITY_INSTRUCTIONS] = (double)c->events[0],
                                             [ADEPT_ACTIVITY_CYCLES] = (double)c->events[1],
                                             [ADEPT_ACTIVITY_CACHE_MISSES] = (double)c->events[2]};

    for (size_t k = 0; k < ADEPT_ACTIVITIES; k++) {
        double now = t->closed[k] + values[k];
        if (!counts_kind(s, k)) continue;
        if (!(now < t->now[k]))
            t->now[k] = now; /* less: add_running() took the time that another machine stole for its own */
    }
    t->counted_s = t->closed[ADEPT_ACTIVITY_CPU_TIME_S] + values[ADEPT_ACTIVITY_CPU_TIME_S];
    for (size_t k = 0; k < COUNTS_EVENTS; k++)
        t->counted_events[k] = t->closed[event_kinds[k]] + (double)c->events[k];
}

static int on_ended(void *state, void *record, size_t size)
{
    bpf_source *s = state;
    struct counts c;

    if (size < sizeof c) return 0;
    memcpy(&c, record, sizeof c);
    adept_tracked *t = known(s->table, &c);
    if (!t) return 0;
    take(s, t, &c);
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

static void take_live(const bpf_source *s, adept_processes *p, const struct counts *c)
{
    adept_tracked *t = known(p, c);
    double before_s = t ? t->now[ADEPT_ACTIVITY_CPU_TIME_S] : NAN;

    if (!t) return;
    take(s, t, c);
    if (t->now[ADEPT_ACTIVITY_CPU_TIME_S] != before_s) {
        adept_proc_stat stat;
        if (adept_tracked_is_due(p, t, t->now[ADEPT_ACTIVITY_CPU_TIME_S]) && adept_tracked_stat(&stat, p, t) &&
            stat.start_ticks == t->start_ticks && !stat.is_ending)
            adept_processes_describe(p, t, &stat);
    }
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

/* Of a processor, since the thread that runs there got it. */
static double events_since(const bpf_source *s, int processor, int k)
{
    int event = s->events ? s->events[k * s->n_processors + processor] : -1;
    uint64_t value = 0, since = s->run_values[processor].events[k];

    return event >= 0 && read(event, &value, sizeof value) == sizeof value && value > since ? (double)(value - since)
                                                                                            : 0;
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
            for (int k = 0; k < COUNTS_EVENTS; k++)
                t->running_events[k] += events_since(s, i, k);
        } else {
            t->now[ADEPT_ACTIVITY_CPU_TIME_S] = fmax(t->now[ADEPT_ACTIVITY_CPU_TIME_S], t->counted_s + t->running_s);
            t->running_s = 0;
            for (int k = 0; k < COUNTS_EVENTS; k++) {
                double *now = &t->now[event_kinds[k]];
                if (s->events) *now = fmax(*now, t->counted_events[k] + t->running_events[k]);
                t->running_events[k] = 0;
            }
        }
    }
}

static void look(void *state, adept_processes *p)
{
    bpf_source *s = state;
    uint32_t place = 0;
    int failed = 0;

    p->looks++;
    if (p->looks % 64 == 0) {
        /* Those whose end was missed, now and then: they would stay for ever. */
        for (size_t i = 0; i < p->n; i++) {
            adept_tracked *t = p->all[i];
            uint32_t pid = (uint32_t)t->pid;
            if (t->has_ended || kill(t->pid, 0) == 0 || errno != ESRCH) continue;
            bpf_map_delete_elem(s->processes, &pid);
            t->has_ended = true;
        }
    }
    for (bool is_first = true; !failed; is_first = false) {
        uint32_t n = BATCH;
        failed = bpf_map_lookup_batch(s->processes, is_first ? NULL : &place, &place, s->keys, s->batch, &n, NULL);
        bool is_read = !failed || errno == ENOENT; /* ENOENT: these were the last. take_live() sets errno anew */
        for (uint32_t i = 0; is_read && i < n; i++)
            take_live(s, p, &s->batch[i]);
    }
    add_running(s, p);
}

/* ---------------------------------------------------------------- the source -------------------------------------- */

static void close_bpf(void *state)
{
    bpf_source *s = state;

    for (size_t i = 0; i < MOST_LINKS; i++)
        bpf_link__destroy(s->links[i]);
    for (size_t i = 0; s->events && i < COUNTS_EVENTS * (size_t)s->n_processors; i++)
        if (s->events[i] >= 0) close(s->events[i]);
    free(s->events);
    ring_buffer__free(s->ended);
    bpf_object__close(s->object);
    free(s->run_values);
    free(s->batch);
    free(s->keys);
    free(s);
}

/* Instructions, cycles, misses of the last cache. A test puts what every machine has in their place. */
adept_counts_event adept_counts_events[COUNTS_EVENTS] = {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                                                         {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                                                         {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}};

/* One of each for every processor that is there; all, or none. */
static void open_events(bpf_source *s)
{
    size_t n = COUNTS_EVENTS * (size_t)s->n_processors, n_open = 0;

    s->events = malloc((n + 1) * sizeof *s->events);
    for (size_t i = 0; s->events && i < n; i++) {
        const adept_counts_event *e = &adept_counts_events[i / (size_t)s->n_processors];
        struct perf_event_attr attributes = {.type = e->type, .size = sizeof attributes, .config = e->config};
        s->events[i] = (int)syscall(SYS_perf_event_open, &attributes, -1, (int)(i % (size_t)s->n_processors), -1,
                                    PERF_FLAG_FD_CLOEXEC);
        n_open += s->events[i] >= 0;
        if (s->events[i] < 0 && errno != ENODEV) break; /* ENODEV: that processor is off */
        if (i + 1 == n && n_open > 0 && n_open % COUNTS_EVENTS == 0) return;
    }
    for (size_t i = 0; s->events && n_open > 0 && i < n; i++)
        if (s->events[i] >= 0) close(s->events[i]), n_open--;
    free(s->events);
    s->events = NULL;
}

/* What the program is told before it is loaded; and what this kernel has no place for is left out of it. */
static int set_up(bpf_source *s)
{
    const struct counts_setup setup = {s->events ? COUNTS_EVENTS : 0, (uint32_t)s->n_processors};
    struct bpf_map *data = bpf_object__find_map_by_name(s->object, ".rodata"),
                   *events = bpf_object__find_map_by_name(s->object, "events");
    struct btf *kernel = btf__load_vmlinux_btf();

    s->has_network = kernel && btf__find_by_name_kind(kernel, "btf_trace_sock_send_length", BTF_KIND_TYPEDEF) > 0;
    btf__free(kernel);
    for (int i = 0; i < 2 && !s->has_network; i++)
        bpf_program__set_autoload(bpf_object__find_program_by_name(s->object, i ? "on_receive" : "on_send"), false);
    int failed = bpf_map__set_initial_value(data, &setup, sizeof setup); /* all that is in it */
    return failed ? failed : bpf_map__set_max_entries(events, COUNTS_EVENTS * (uint32_t)s->n_processors);
}

static int fill_events(const bpf_source *s)
{
    int map = bpf_object__find_map_fd_by_name(s->object, "events"), failed = 0;

    for (uint32_t i = 0; s->events && i < COUNTS_EVENTS * (uint32_t)s->n_processors && !failed; i++)
        if (s->events[i] >= 0) failed = bpf_map_update_elem(map, &i, &s->events[i], BPF_ANY) ? errno : 0;
    return failed;
}

static int load(bpf_source *s)
{
    const struct bpf_object_open_opts options = {.sz = sizeof options, .object_name = "adept_counts"};
    struct bpf_program *program;
    size_t n = 0;
    int failed = 0;

    s->object = bpf_object__open_mem(adept_counts_program, adept_counts_program_size, &options);
    if (!s->object) return errno;
    open_events(s);
    if ((failed = set_up(s)) || (failed = bpf_object__load(s->object))) return -failed;
    if ((failed = fill_events(s))) return failed;
    s->processes = bpf_object__find_map_fd_by_name(s->object, "processes");
    s->runs = bpf_object__find_map_fd_by_name(s->object, "runs");
    s->data = bpf_object__find_map_fd_by_name(s->object, ".bss");
    s->ended = ring_buffer__new(bpf_object__find_map_fd_by_name(s->object, "ended"), on_ended, s, NULL);
    if (!s->ended) return errno;
    bpf_object__for_each_program(program, s->object)
    {
        if (!bpf_program__autoload(program)) continue;
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
            has[k] = has[k] || k == ADEPT_ACTIVITY_MEMORY_BYTES || counts_kind(s, k);
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
