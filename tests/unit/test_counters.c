/* Counters of a command. Machines without hardware counters have the kernel's software ones: this test's
 * perf_event_open() opens those instead, so that what is counted is a clock, and whose work it is can be seen. */
#include "adept_counters.h"
#include "fake_sys.h"
#include "cmocka_test.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int refuses;          /* errno; 0: it opens */
static bool is_paranoid;     /* the kernel's work may not be counted */
static int opened_by_config[8];

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    va_list list;

    va_start(list, number);
    struct perf_event_attr attributes = *va_arg(list, const struct perf_event_attr *);
    int pid = va_arg(list, int), cpu = va_arg(list, int);
    va_end(list);
    assert_int_equal(number, SYS_perf_event_open);
    if (attributes.type == PERF_TYPE_HARDWARE && attributes.config < 8) opened_by_config[attributes.config]++;
    errno = refuses ? refuses : EACCES;
    if (refuses || (is_paranoid && !attributes.exclude_kernel)) return -1;
    bool is_clock = attributes.config == PERF_COUNT_HW_CPU_CYCLES || attributes.config == PERF_COUNT_HW_INSTRUCTIONS;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = is_clock ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_PAGE_FAULTS;
    return __real_syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, 0UL);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(const char *script)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

/* The command's and its children's work is counted, this program's is not; both of two runs. */
static void children_are_counted(void **state)
{
    adept_counters c;
    adept_error err = {0};

    (void)state;
    refuses = 0;
    if (adept_counters_open(&c, NULL, &err) != ADEPT_OK) {
        print_message("%s\n", err.message); /* not even software counters may be read here */
        skip();
    }
    for (double until_s = now_s() + 0.3; now_s() < until_s;)
        continue;
    assert_true(isnan(adept_counters_read(&c, 1).values[ADEPT_COUNTER_CYCLES]));
    run("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done");
    adept_counts one = adept_counters_read(&c, 1);
    adept_counters_next(&c);
    /* ten times as much, so that no load of the machine turns it round */
    run("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'; :");
    adept_counts two = adept_counters_read(&c, 2);
    adept_counters_close(&c);
    assert_true(one.values[ADEPT_COUNTER_CYCLES] > 1e6 &&
                two.values[ADEPT_COUNTER_CYCLES] > 2 * one.values[ADEPT_COUNTER_CYCLES]);
    assert_float_equal(one.ipc, 1, 0.01); /* both are the same clock */
    assert_true(one.values[ADEPT_COUNTER_MISSES] > 10);
    assert_float_equal(one.memory_bytes_per_s, 64 * one.values[ADEPT_COUNTER_MISSES], 1e-6);
    assert_float_equal(two.memory_bytes_per_s, 32 * two.values[ADEPT_COUNTER_MISSES], 1e-6);
    assert_string_equal(one.bound, "compute"); /* few faults in so many "instructions" */
    assert_false(one.is_of_controllers);
    assert_float_equal(one.counted, 1, 0.02);
}

static void what_may_not_be_counted_is_said(void **state)
{
    adept_counters c;
    adept_error err = {0};
    fake_sys *sys = fake_sys_new();

    (void)state;
    fake_sys_put(sys, "/proc/sys/kernel/perf_event_paranoid", "4");
    refuses = EACCES;
    assert_int_equal(adept_counters_open(&c, fake_sys_root(sys), &err), ADEPT_E_IO);
    assert_string_equal(
        err.message, "--counters: the kernel lets this user count nothing (perf_event_paranoid is 4): run as root, or: "
                     "sysctl kernel.perf_event_paranoid=2");
    refuses = ENOENT;
    assert_int_equal(adept_counters_open(&c, fake_sys_root(sys), &err), ADEPT_E_IO);
    assert_string_equal(
        err.message,
        "--counters: no hardware counters of cycles and instructions here, as in most virtual machines: No such "
        "file or directory");
    refuses = 0;
    is_paranoid = true;
    if (adept_counters_open(&c, fake_sys_root(sys), &err) == ADEPT_OK) {
        assert_true(adept_counters_read(&c, 1).is_user_only);
        adept_counters_close(&c);
    }
    is_paranoid = false;
    assert_true(opened_by_config[PERF_COUNT_HW_CPU_CYCLES] >= 3 && opened_by_config[PERF_COUNT_HW_CACHE_MISSES] >= 1);
    fake_sys_free(sys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(children_are_counted),
                                       cmocka_unit_test(what_may_not_be_counted_is_said)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
