/* A recorder on a /proc made by hand: differences, names that change, pids that are used again, what is denied, jobs;
 * and what /proc says. */
#include "adept_recorder.h"
#include "fake_sys.h"
#include "processes.h"
#include "attribute/activity_source.h"
#include "track.h"
#include "cmocka_test.h"
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long ticks; /* a second */

/* ---------------------------------------------------------------- a process --------------------------------------- */

typedef struct fake_process {
    int pid;
    const char *name, *state;
    unsigned flags, cpu_ticks, threads, start, pages, parent;
    unsigned long long read_bytes, write_bytes;
    unsigned runs;
} fake_process;

static void put(fake_sys *sys, const fake_process *f)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/stat", f->pid);
    fake_sys_put(sys, path,
                 "%d (%s) %s %u 2 3 4 -1 %u 5 6 7 8 %u 2 0 0 20 -5 %u 0 %u 4096000 %u 18446744073709551615 1 1", f->pid,
                 f->name, f->state ? f->state : "S", f->parent ? f->parent : 1, f->flags, f->cpu_ticks - 2,
                 f->threads ? f->threads : 1, f->start, f->pages);
    snprintf(path, sizeof path, "/proc/%d/io", f->pid);
    fake_sys_put(sys, path, "rchar: 1\nwchar: 2\nread_bytes: %llu\nwrite_bytes: %llu\ncancelled_write_bytes: 0",
                 f->read_bytes, f->write_bytes);
    snprintf(path, sizeof path, "/proc/%d/schedstat", f->pid);
    fake_sys_put(sys, path, "1000 2000 %u", f->runs);
    snprintf(path, sizeof path, "/proc/%d/status", f->pid);
    fake_sys_put(sys, path, "Name:\tx\nUid:\t1000\t1000\t1000\t1000");
}

static void put_text(fake_sys *sys, int pid, const char *file, const char *text)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    fake_sys_put(sys, path, "%s", text);
}

static void take_away(fake_sys *sys, int pid)
{
    static const char *const files[] = {"stat", "io", "schedstat", "status"};
    char path[64];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
        fake_sys_remove(sys, path);
    }
}

typedef struct bench {
    fake_sys *sys;
    adept_recorder *recorder;
    char path[96];
} bench;

static void put_machine(fake_sys *sys, unsigned cpu)
{
    fake_sys_put(sys, "/proc/stat", "cpu  %u 0 0 1000 0 0 0 0 0 0\ncpu0 1 2 3", cpu);
}

static bench begin(void)
{
    bench b = {.sys = fake_sys_new()};

    put_machine(b.sys, 1000);
    snprintf(b.path, sizeof b.path, "%s/log", fake_sys_root(b.sys));
    return b;
}

extern const adept_sensor_kind adept_sensor_kind_nvml;
static const adept_sensor_kind *const no_kinds[] = {NULL}, *const gpu_kinds[] = {&adept_sensor_kind_nvml, NULL};
static const char *play; /* of the library that stands in for NVML; NULL: without GPUs */

static bool starts(bench *b, const char *path)
{
    const adept_recorder_options options = {
        .period_s = 1,
        .meters = {.settings = {.sysroot = fake_sys_root(b->sys)}, .kinds = play ? gpu_kinds : no_kinds},
        .host = "box"};

    if (play) setenv("FAKE_NVML", play, 1);
    setenv("ADEPT_NVML_LIBRARY", play ? getenv("ADEPT_FAKE_NVML") : "/nonexistent/libnvidia-ml.so.1", 1);
    return adept_recorder_start(&b->recorder, &options, NULL) == ADEPT_OK &&
           adept_recorder_open(b->recorder, path, NULL) == ADEPT_OK;
}

static void start(bench *b)
{
    assert_true(starts(b, b->path));
}

static void interval(bench *b)
{
    usleep(2000);
    assert_int_equal(adept_recorder_interval(b->recorder, NULL), ADEPT_OK);
}

/* Everything that was recorded. */
static adept_activity_log *end(bench *b)
{
    adept_activity_log *log = NULL;

    usleep(2000);
    assert_int_equal(adept_recorder_stop(b->recorder, NULL), ADEPT_OK);
    assert_int_equal(adept_activity_log_read(&log, b->path, NULL), ADEPT_OK);
    adept_recorder_free(b->recorder);
    unlink(b->path);
    fake_sys_free(b->sys);
    return log;
}

/* What a pid did in an interval; NULL: nothing. Of two processes of that pid, the last one. */
static const adept_activity *activity(const adept_activity_log *log, size_t number, int pid)
{
    const adept_activity *found = NULL;

    for (size_t i = 0; i < log->intervals[number].n_activities; i++) {
        const adept_activity *a = &log->intervals[number].activities[i];
        if (log->processes[a->process].pid == pid) found = a;
    }
    return found;
}

static float value(const adept_activity_log *log, size_t number, int pid, adept_activity_kind kind)
{
    const adept_activity *a = activity(log, number, pid);

    assert_non_null(a);
    return a->values[kind];
}

/* ---------------------------------------------------------------- tests ------------------------------------------- */

static void differences(void **state)
{
    (void)state;
    bench b = begin();
    fake_process busy = {.pid = 100,
                         .name = "busy",
                         .cpu_ticks = 500,
                         .start = 7,
                         .pages = 10,
                         .read_bytes = 8192,
                         .write_bytes = 512,
                         .runs = 40};
    fake_process idle = {.pid = 200, .name = "idle", .cpu_ticks = 50, .start = 8, .pages = 3};
    put(b.sys, &busy);
    put(b.sys, &idle);
    put_text(b.sys, 100, "cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/slurm/uid_1000/job_42/step_0\n0::/y");
    start(&b);

    busy.cpu_ticks += 25;
    busy.read_bytes += 4096;
    busy.runs += 3;
    busy.pages = 20;
    put(b.sys, &busy);
    put_machine(b.sys, 1150);
    interval(&b);
    interval(&b);
    adept_activity_log *log = end(&b);

    assert_int_equal(log->n_intervals, 3);
    assert_int_equal(log->n_processes, 1); /* one that does nothing is not written */
    assert_string_equal(log->processes[0].command, "busy");
    assert_int_equal(log->processes[0].uid, 1000);
    assert_int_equal(log->processes[0].start_ticks, 7);
    assert_int_equal(log->processes[0].job, 42);
    assert_string_equal(log->processes[0].cgroup, "/slurm/uid_1000/job_42/step_0");
    assert_true(fabs(log->intervals[0].machine_cpu_s - 150.0 / (double)ticks) < 1e-9);
    assert_true(fabsf(value(log, 0, 100, ADEPT_ACTIVITY_CPU_TIME_S) - 25.0f / (float)ticks) < 1e-6f);
    assert_true(value(log, 0, 100, ADEPT_ACTIVITY_SWITCHES) == 3);
    assert_true(value(log, 0, 100, ADEPT_ACTIVITY_READ_BYTES) == 4096);
    assert_true(value(log, 0, 100, ADEPT_ACTIVITY_WRITE_BYTES) == 0);
    assert_true(value(log, 0, 100, ADEPT_ACTIVITY_MEMORY_BYTES) == 20.0f * (float)sysconf(_SC_PAGESIZE));
    assert_true(isnan(value(log, 0, 100, ADEPT_ACTIVITY_SYSCALLS)));
    assert_int_equal(log->intervals[1].n_activities, 0);
    assert_true(log->has[ADEPT_ACTIVITY_CPU_TIME_S] && !log->has[ADEPT_ACTIVITY_SYSCALLS] &&
                !log->has[ADEPT_ACTIVITY_NETWORK_BYTES]);
    adept_activity_log_free(log);
}

/* exec changes the name, not the process; a pid that is used again is another process; a process that began later is
 * counted from 0. */
static void names_and_pids(void **state)
{
    (void)state;
    bench b = begin();
    fake_process shell = {.pid = 100, .name = "sh", .cpu_ticks = 10, .start = 7};
    fake_process gone = {.pid = 200, .name = "gone", .cpu_ticks = 5, .start = 7};
    const unsigned later = 4000000000; /* since boot: in any case after the recorder's begin */
    put(b.sys, &shell);
    put(b.sys, &gone);
    start(&b);

    shell.cpu_ticks += 2;
    gone.cpu_ticks += 1;
    put(b.sys, &shell);
    put(b.sys, &gone);
    interval(&b);
    shell.name = "a) R (b";
    shell.cpu_ticks += 3;
    put(b.sys, &shell);
    put_text(b.sys, 100, "cgroup", "0::/system.slice/slurmstepd.scope/job_7/step_1");
    fake_process fresh = {.pid = 200, .name = "fresh", .cpu_ticks = 6, .start = later};
    take_away(b.sys, 200);
    put(b.sys, &fresh);
    fake_process zombie = {.pid = 300, .name = "zombie", .state = "Z", .cpu_ticks = 90, .start = later};
    fake_process ending = {.pid = 301, .name = "ending", .state = "R", .flags = 4, .cpu_ticks = 90, .start = later};
    fake_process half = {.pid = 302, .name = "half", .state = "Z", .cpu_ticks = 9, .start = later, .threads = 3};
    put(b.sys, &zombie);
    put(b.sys, &ending);
    put(b.sys, &half);
    interval(&b);
    fresh.cpu_ticks = 4; /* no counter of a process goes back; if one does, what it shows was added */
    put(b.sys, &fresh);
    adept_activity_log *log = end(&b);

    assert_int_equal(log->n_processes, 4);
    const adept_activity *first = activity(log, 0, 100), *second = activity(log, 1, 100);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(first->process, second->process);
    assert_string_equal(log->processes[first->process].command, "a) R (b");
    assert_int_equal(log->processes[first->process].job, 7);
    assert_true(fabsf(second->values[ADEPT_ACTIVITY_CPU_TIME_S] - 3.0f / (float)ticks) < 1e-6f);
    const adept_activity *old = activity(log, 0, 200), *new = activity(log, 1, 200);
    assert_non_null(old);
    assert_non_null(new);
    assert_int_not_equal(old->process, new->process);
    assert_true(fabsf(new->values[ADEPT_ACTIVITY_CPU_TIME_S] - 6.0f / (float)ticks) < 1e-6f);
    assert_null(activity(log, 1, 300));
    assert_null(activity(log, 1, 301));
    assert_true(fabsf(value(log, 1, 302, ADEPT_ACTIVITY_CPU_TIME_S) - 9.0f / (float)ticks) < 1e-6f);
    assert_true(
        isnan(value(log, 1, 302, ADEPT_ACTIVITY_SWITCHES))); /* of several threads, /proc says those of the first */
    assert_true(fabsf(value(log, 2, 200, ADEPT_ACTIVITY_CPU_TIME_S) - 4.0f / (float)ticks) < 1e-6f);
    adept_activity_log_free(log);
}

static bool others_are_denied(void *context)
{
    bench *b = context;
    adept_activity_log *log = NULL;
    char path[] = "/tmp/test-recorder-XXXXXX";

    if (!mkdtemp(path)) return false;
    char file[64];
    snprintf(file, sizeof file, "%s/log", path);
    bool ok = starts(b, file) && adept_recorder_stop(b->recorder, NULL) == ADEPT_OK &&
              adept_activity_log_read(&log, file, NULL) == ADEPT_OK;
    /* It began after the recorder, so that it is written at once. */
    ok = ok && log->n_intervals == 1 && log->intervals[0].n_activities == 1 &&
         log->intervals[0].activities[0].values[ADEPT_ACTIVITY_CPU_TIME_S] > 0 &&
         isnan(log->intervals[0].activities[0].values[ADEPT_ACTIVITY_READ_BYTES]);
    adept_activity_log_free(log);
    adept_recorder_free(b->recorder);
    unlink(file);
    rmdir(path);
    return ok;
}

static void what_is_denied_is_not_known(void **state)
{
    (void)state;
    bench b = begin();
    fake_process theirs = {.pid = 100, .name = "theirs", .cpu_ticks = 10, .start = 4000000000, .read_bytes = 1};

    put(b.sys, &theirs);
    fake_sys_deny(b.sys, "/proc/100/io");
    assert_true(fake_sys_as_nobody(others_are_denied, &b));
    fake_sys_free(b.sys);
}

static void another_file(void **state)
{
    (void)state;
    bench b = begin();
    fake_process busy = {.pid = 100, .name = "busy", .cpu_ticks = 10, .start = 7};
    char next[128];
    adept_error err = {0};
    adept_activity_log *log = NULL;

    put(b.sys, &busy);
    start(&b);
    busy.cpu_ticks++;
    put(b.sys, &busy);
    snprintf(next, sizeof next, "%s.next", b.path);
    usleep(2000);
    assert_int_equal(adept_recorder_open(b.recorder, b.path, &err), ADEPT_E_IO); /* that one exists */
    usleep(2000);
    assert_int_equal(adept_recorder_open(b.recorder, next, NULL), ADEPT_OK);
    busy.cpu_ticks++;
    put(b.sys, &busy);
    interval(&b);
    assert_int_equal(adept_activity_log_read(&log, next, NULL), ADEPT_OK); /* while it is written to */
    assert_int_equal(log->n_processes, 1);
    assert_string_equal(log->processes[0].command, "busy");
    assert_int_equal(log->n_intervals, 1);
    adept_activity_log_free(log);
    unlink(next);
    log = end(&b);
    assert_int_equal(log->n_intervals, 2);
    assert_non_null(activity(log, 0, 100));
    adept_activity_log_free(log);
}

static void what_proc_says(void **state)
{
    (void)state;
    adept_proc_stat s;
    int64_t job;
    static const char *const no_stats[] = {
        "", "1", "1 (a", "1 (a)", "1 (a) S", "1 (a) S 1 2 3", ") (", "1 (a) S x 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2"};

    for (size_t i = 0; i < sizeof no_stats / sizeof *no_stats; i++)
        assert_false(adept_proc_stat_parse(&s, no_stats[i]));
    assert_true(adept_proc_stat_parse(&s, "5 (a name longer than fifteen bytes) R 4 1 1 0 -1 4194304 1 0 0 0 30 12 7 5 "
                                          "20 0 2 0 7145259 3133440 414 18446744073709551615"));
    assert_string_equal(s.command, "a name longer t");
    assert_true(s.parent == 4 && s.cpu_ticks == 42 && s.waited_ticks == 12 && s.n_threads == 2 &&
                s.start_ticks == 7145259 && s.rss_pages == 414);
    assert_false(s.is_ending);

    static const struct {
        const char *text, *path;
        int64_t job;
    } cgroups[] = {
        {"0::/user.slice", "/user.slice", -1},
        {"1:name=systemd:/system.slice/slurmd.service\n4:memory:/slurm/uid_1000/job_44/step_batch/"
         "task_0\n2:cpuacct,cpu:/user.slice\n0::/",
         "/user.slice", 44},
        {"3:cpuset:/slurm_node-7/uid_1000/job_45/step_extern", "", 45},
        {"0::/system.slice/slurmstepd.scope/job_46/step_0/user/task_special/docker/0123/job_9",
         "/system.slice/slurmstepd.scope/job_46/step_0/user/task_special/docker/0123/job_9", 46},
        {"0::/system.slice/slurmstepd.scope/system", "/system.slice/slurmstepd.scope/system", -1}, /* its own daemon */
        {"0::/system.slice/docker-ab.scope/system.slice/slurmstepd.scope/job_5",
         "/system.slice/docker-ab.scope/system.slice/slurmstepd.scope/job_5", -1},
        {"0::/user.slice/user-1000.slice/system.slice/slurmstepd.scope/job_5",
         "/user.slice/user-1000.slice/system.slice/slurmstepd.scope/job_5", -1},
        {"0::/slurm.slice/slurmstepd.scope/job_6/step_0", "/slurm.slice/slurmstepd.scope/job_6/step_0",
         6}, /* CgroupSlice */
        {"0::/hpc.slice/hpc-slurm.slice/n1_slurmstepd.scope/job_6",
         "/hpc.slice/hpc-slurm.slice/n1_slurmstepd.scope/job_6", 6},
        {"0::/user.slice/slurmstepd.scope/job_6", "/user.slice/slurmstepd.scope/job_6", -1},
        {"0::/.slice/slurmstepd.scope/job_6", "/.slice/slurmstepd.scope/job_6", -1},
        {"0::/system.slice", "/system.slice", -1},
        {"0::/slurmstepd.scope/job_6", "/slurmstepd.scope/job_6", -1},
        {"0::/../system.slice/slurmstepd.scope/job_5/step_0", "/../system.slice/slurmstepd.scope/job_5/step_0", -1},
        {"9:name=systemd:/a\n2:cpuacct:/b\n1:cpu:/c\n0::/", "/b", -1},
        {"5:devices:/slurm/uid_0/job_3/step_0\n2:cpuacct:/\n0::/", "/", 3},
        {"0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0",
         "/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", 123},
        {"0::/home/job_5", "/home/job_5", -1}, /* somebody's own */
        {"2:cpuacct:/slurm_n1/uid_1000/job_7", "/slurm_n1/uid_1000/job_7", 7},
        {"0::/system.slice/n-1_slurmstepd.scope/job_8/step_x", "/system.slice/n-1_slurmstepd.scope/job_8/step_x", 8},
        /* a user's own folder, whatever it is called */
        {"0::/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_5",
         "/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_5", -1},
        {"0::/user.slice/system.slice/slurmstepd.scope/job_5", "/user.slice/system.slice/slurmstepd.scope/job_5", -1},
        {"0::/system.slice/a.service/slurmstepd.scope/job_5", "/system.slice/a.service/slurmstepd.scope/job_5", -1},
        {"0::/system.slice/myslurmstepd.scope/job_5", "/system.slice/myslurmstepd.scope/job_5", -1},
        {"0::/system.slice/slurmstepd.scope/x/job_5", "/system.slice/slurmstepd.scope/x/job_5", -1},
        {"0::/slurmish/uid_0/job_5", "/slurmish/uid_0/job_5", -1},
        {"0::/slurm", "/slurm", -1},
        {"0::/system.slice/scope", "/system.slice/scope", -1},
        {"0::/slurm/uid_0/job_5x", "/slurm/uid_0/job_5x", -1},
        {"0::/slurm/uid_0/job_0", "/slurm/uid_0/job_0", -1},
        {"0::/slurm/uid_0/job_-5", "/slurm/uid_0/job_-5", -1},
        {"0::/slurm/uid_0/job_99999999999999999999", "/slurm/uid_0/job_99999999999999999999", -1},
        {"no colons\n:\n1:x", "", -1},
        {"", "", -1},
    };
    for (size_t i = 0; i < sizeof cgroups / sizeof *cgroups; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s", cgroups[i].text);
        assert_string_equal(adept_proc_cgroup(text, &job), cgroups[i].path);
        assert_int_equal(job, cgroups[i].job);
    }
    assert_true(adept_proc_field("a: 1\nread_bytes: 77\n", "read_bytes") == 77);
    assert_true(isnan(adept_proc_field("xread_bytes: 77", "read_bytes")) &&
                isnan(adept_proc_field("read_bytes:", "read_bytes")));
}

/* Where Slurm makes no cgroups: what its daemon of a step starts is of the step's job, whatever the environment says.
 */
static void a_job_by_the_daemon_of_its_step(void **state)
{
    (void)state;
    static const struct {
        const char *command, *title, *status;
        int64_t job;
    } daemons[] = {
        {"slurmstepd", "slurmstepd: [991.batch]", "Uid:\t0\t0\t0\t0\n", 991},
        {"slurmstepd", "slurmstepd: [991.batch]", "Uid:\t4711\t0\t0\t0\n", -1}, /* a user's, who calls it so */
        {"slurmstepd", "slurmstepd", "Uid:\t0\t0\t0\t0\n", -1},
        {"sh", "slurmstepd: [991.batch]", "Uid:\t0\t0\t0\t0\n", -1},
    };
    for (size_t i = 0; i < sizeof daemons / sizeof *daemons; i++) {
        bench b = begin();
        fake_process daemon = {.pid = 99, .name = daemons[i].command, .cpu_ticks = 5, .start = 6};
        fake_process f = {.pid = 100, .name = "task", .cpu_ticks = 10, .start = 7, .parent = 99};
        put(b.sys, &daemon);
        put(b.sys, &f);
        put_text(b.sys, 99, "cmdline", daemons[i].title);
        put_text(b.sys, 99, "status", daemons[i].status);
        for (int32_t pid = 99; pid <= 100; pid++)
            put_text(b.sys, pid, "cgroup", "0::/system.slice/slurmd.service");
        fake_sys_put_bytes(b.sys, "/proc/100/environ", "A=B\0SLURM_JOB_ID=5\0C=", 22);
        start(&b);
        f.cpu_ticks++;
        put(b.sys, &f);
        interval(&b);
        adept_activity_log *log = end(&b);
        assert_string_equal(log->processes[0].command, "task");
        assert_int_equal(log->processes[0].job, daemons[i].job);
        adept_activity_log_free(log);
    }
}

/* What is charged after the record of an exit is shared among those that ended. */
static void settling(void **state)
{
    (void)state;
    adept_processes p;

    assert_int_equal(adept_processes_begin(&p, "/nonexistent", NULL), ADEPT_OK);
    adept_tracked *parent = adept_processes_add(&p, 10, 1);
    for (int i = 0; i < 4; i++) {
        adept_tracked *child = adept_processes_add(&p, 20 + i, 2);
        child->parent = 10;
        child->now[ADEPT_ACTIVITY_CPU_TIME_S] = 1;
        parent->ended_s += 1;
        adept_processes_end(&p, child);
    }
    adept_tracked *orphan = adept_processes_add(&p, 30, 2);
    orphan->parent = 99;
    orphan->now[ADEPT_ACTIVITY_CPU_TIME_S] = 1;
    adept_processes_end(&p, orphan);
    adept_processes_settle(&p); /* nothing was waited for yet */
    parent->waited_s = 4.2;
    adept_processes_settle(&p);
    adept_processes_settle(&p); /* it is settled */
    for (size_t i = 1; i <= 4; i++)
        assert_true(fabs(p.all[i]->now[ADEPT_ACTIVITY_CPU_TIME_S] - 1.05) < 1e-12);
    assert_true(orphan->now[ADEPT_ACTIVITY_CPU_TIME_S] == 1);
    assert_null(adept_processes_get(&p, 20));
    assert_null(adept_processes_get(&p, -1));
    assert_null(adept_processes_get(&p, INT64_MAX));
    adept_processes_free(&p);
}

/* A GPU's use in an interval, by the pid of its process. */
static const adept_gpu_use *gpu_use(const adept_activity_log *log, size_t number, int pid)
{
    const adept_activity_interval *in = &log->intervals[number];

    for (size_t i = 0; i < in->n_gpu_uses; i++)
        if (log->processes[in->gpu_uses[i].process].pid == pid) return &in->gpu_uses[i];
    return NULL;
}

static bool says(const adept_activity_log *log, const char *what)
{
    bool found = false;

    for (size_t i = 0; i < log->n_sources; i++)
        found = found || strstr(log->sources[i], what);
    return found;
}

/* Processes on a GPU that /proc does not have, or has under another number; and NVML's two calls in two namespaces. */
static void gpus_of_another_namespace(void **state)
{
    (void)state;
    static const struct {
        const char *play;
        double of_100, of_200;  /* used in the last interval; NAN: not known; -1: not recorded */
        int hidden;             /* that is recorded; 0: none is */
        const char *said;
    } cases[] = {
        {"process=0,100,1,30 process=0,200,1,60", 0.3, 0.6, 0, ""},
        {"process=0,645400,1,60", -1, -1, 645400, "gpu-0 is used by process 645400, which is not visible here"},
        {"process=0,100,1,60 used_as=645400", 0.6, -1, 0,
         "NVML lists process 100 and measures the use of process 645400"},
        {"process=0,100,1,60 process=0,200,1,60 used_as=645400", NAN, NAN, 0,
         "by other numbers than it measures their use by (645400, ...)"},
        {"process=0,12,1,60", -1, 0.6, 0, ""}, /* what 200 is called in its container */
        /* no list, use only */
        {"processes=0 process=0,645400,1,60", -1, -1, 645400, "gpu-0 is used by process 645400"},
        {"processes=0 process=0,100,1,60", 0.6, -1, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        play = cases[i].play;
        bench b = begin();
        fake_process one = {.pid = 100, .name = "one", .cpu_ticks = 50, .start = 7, .pages = 10};
        fake_process two = {.pid = 200, .name = "two", .cpu_ticks = 50, .start = 7, .pages = 10};
        put(b.sys, &one);
        put(b.sys, &two);
        put_text(b.sys, 200, "status", "Name:\ttwo\nUid:\t0\t0\t0\t0\nNSpid:\t200\t12\n");
        put_text(b.sys, 200, "cgroup", "0::/docker/x");
        start(&b);
        for (int k = 0; k < 2; k++)
            interval(&b);
        adept_activity_log *log = end(&b);
        const double expected[] = {cases[i].of_100, cases[i].of_200};
        for (int p = 0; p < 2; p++) {
            const adept_gpu_use *use = gpu_use(log, 2, 100 * (p + 1));
            double used = use ? (double)use->utilization : -1;
            if (isnan(expected[p]) ? !isnan(used) : !(fabs(used - expected[p]) < 0.01))
                fail_msg("%s: process %d uses %g instead of %g", play, 100 * (p + 1), used, expected[p]);
        }
        size_t hidden = 0;
        for (size_t p = 0; p < log->n_processes; p++)
            hidden += log->processes[p].start_ticks == ADEPT_NOT_VISIBLE_TICKS;
        if (hidden != (cases[i].hidden > 0) || (hidden && !gpu_use(log, 2, cases[i].hidden)))
            fail_msg("%s: %zu hidden processes", play, hidden);
        if (!says(log, cases[i].said) || (!*cases[i].said && says(log, "namespace")))
            fail_msg("%s: says not '%s'", play, cases[i].said);
        adept_activity_log_free(log);
    }
    play = NULL;
}

/* A child that has taken so much processor time, and was waited for. */
static pid_t worked(double time_s)
{
    pid_t child = fork();

    if (child == 0) {
        while ((double)clock() / CLOCKS_PER_SEC < time_s)
            ;
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    return child;
}

/* One child's record has been read and another's waits while /proc says that both were waited for: what the second took
 * is not the first one's as well. Needs taskstats, which is root's. */
static void a_record_that_waits(void **state)
{
    (void)state;
    adept_processes p;
    bool has[ADEPT_ACTIVITIES] = {false};
    char why[256] = "";
    void *proc = NULL, *taskstats = NULL;
    double first_s = NAN, second_s = NAN;

    assert_int_equal(adept_processes_begin(&p, NULL, NULL), ADEPT_OK);
    bool counts = p.is_outermost && adept_activity_source_taskstats.open(&taskstats, &p, has, why, sizeof why);
    if (!counts || !adept_activity_source_proc.open(&proc, &p, has, why, sizeof why)) {
        if (counts) adept_activity_source_taskstats.close(taskstats);
        adept_processes_free(&p);
        skip();
    }
    adept_activity_source_proc.look(proc, &p);
    adept_activity_source_taskstats.look(taskstats, &p);
    pid_t first = worked(0.02);
    adept_activity_source_taskstats.drain(taskstats, &p);
    pid_t second = worked(0.5);
    adept_activity_source_proc.look(proc, &p);
    adept_activity_source_taskstats.look(taskstats, &p);
    for (size_t i = 0; i < p.n; i++) {
        if (p.all[i]->pid == first) first_s = p.all[i]->now[ADEPT_ACTIVITY_CPU_TIME_S];
        if (p.all[i]->pid == second) second_s = p.all[i]->now[ADEPT_ACTIVITY_CPU_TIME_S];
    }
    if (!(first_s < 0.25 && second_s >= 0.49)) fail_msg("%g s and %g s instead of 0.02 and 0.5", first_s, second_s);
    adept_activity_source_taskstats.close(taskstats);
    adept_activity_source_proc.close(proc);
    adept_processes_free(&p);
}

/* Samples that are handed over are forgotten, and energy goes on. */
static void samples_are_taken(void **state)
{
    (void)state;
    const adept_sensor sensor = {.name = "s"};
    adept_track_state track;
    adept_sample samples[4];
    size_t n = 0;

    adept_track_begin(&track, &sensor);
    assert_int_equal(adept_track_take(&track, samples, 4), 0);
    for (int i = 0; i < 1000; i++) {
        const adept_reading reading = {.time_s = i, .energy_j = 100.0 + 5 * i, .power_w = NAN};
        assert_true(adept_track_add(&track, &reading));
        if (i % 3 != 2) continue;
        size_t first = adept_track_take(&track, samples, 2), second = adept_track_take(&track, samples + first, 2);
        assert_int_equal(first, 2);
        assert_int_equal(second, 1);
        for (size_t k = 0; k < 3; k++, n++)
            assert_true(samples[k].time_s == (double)n && samples[k].energy_j == 5 * (double)n);
        assert_int_equal(track.shown.n_samples, 1);
    }
    assert_true(track.capacity < 100);
    adept_track_free(&track);
}

int main(void)
{
    ticks = sysconf(_SC_CLK_TCK);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences),
        cmocka_unit_test(names_and_pids),
        cmocka_unit_test(what_is_denied_is_not_known),
        cmocka_unit_test(another_file),
        cmocka_unit_test(what_proc_says),
        cmocka_unit_test(a_job_by_the_daemon_of_its_step),
        cmocka_unit_test(settling),
        cmocka_unit_test(gpus_of_another_namespace),
        cmocka_unit_test(a_record_that_waits),
        cmocka_unit_test(samples_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
