/* The PMU "power". Where a fake tree says that its type is the kernel's software PMU and its event 0 (the clock of a
 * CPU, in nanoseconds), the real perf_event_open() counts 1 J a second of each CPU at 1e-9 J a count. */
#include "adept_clock.h"
#include "sensor_checks.h"
#include "sysfs.h"
#include "cmocka_test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PMU "/sys/bus/event_source/devices/power/"

static void put_event(fake_sys *sys, const char *event, const char *config)
{
    char path[128];

    snprintf(path, sizeof path, PMU "events/%s", event);
    fake_sys_put(sys, path, "%s", config);
    snprintf(path, sizeof path, PMU "events/%s.scale", event);
    fake_sys_put(sys, path, "1e-9");
    snprintf(path, sizeof path, PMU "events/%s.unit", event);
    fake_sys_put(sys, path, "Joules");
}

static int start(void **state)
{
    fake_sys *sys = fake_sys_new();

    fake_sys_put(sys, "/proc/sys/kernel/perf_event_paranoid", "2");
    fake_sys_put(sys, PMU "type", "1"); /* PERF_TYPE_SOFTWARE */
    fake_sys_put(sys, PMU "cpumask", "0");
    put_event(sys, "energy-pkg", "event=0x00"); /* PERF_COUNT_SW_CPU_CLOCK */
    put_event(sys, "energy-ram", "event=0x00");
    *state = sys;
    return 0;
}

/* Not everyone may count on a whole CPU. */
static bool may_count(const adept_sensor_search *search)
{
    for (size_t i = 0; i < search->n_notes; i++)
        if (strstr(search->notes[i].why, "perf_event_open")) return false;
    return true;
}

static void test_real_event(void **state)
{
    adept_sensor_search search = search_fake(*state, &adept_sensor_kind_perf);

    if (!may_count(&search)) {
        adept_sensors_close(&search);
        skip();
    }
    assert_int_equal(search.n_sensors, 2);
    adept_sensor *cpu = sensor_called(&search, "cpu-0");
    assert_int_equal(cpu->component, ADEPT_COMPONENT_CPU);
    assert_int_equal(sensor_called(&search, "dram-0")->component, ADEPT_COMPONENT_DRAM);
    assert_string_equal(cpu->source, "perf_event_open: power/energy-pkg/");
    assert_float_equal(cpu->range_j, 0, 0);
    double before_s = adept_clock_s(), first_j = read_sensor(cpu, ADEPT_OK).energy_j, begin_s = adept_clock_s();
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    double end_s = adept_clock_s(), energy_j = read_sensor(cpu, ADEPT_OK).energy_j - first_j, after_s = adept_clock_s();
    assert_true(energy_j >= 0.995 * (end_s - begin_s) && energy_j <= 1.005 * (after_s - before_s));
    adept_sensors_close(&search);
}

/* Lists and ranges of CPUs; one that there is not ends a range with a note. */
static void test_cpumask(void **state)
{
    adept_sensor_search search;

    fake_sys_put(*state, PMU "cpumask", "0,0-0,0");
    search = search_fake(*state, &adept_sensor_kind_perf);
    if (!may_count(&search)) {
        adept_sensors_close(&search);
        skip();
    }
    assert_int_equal(search.n_sensors, 6);
    sensor_called(&search, "cpu-2");
    adept_sensors_close(&search);
    fake_sys_put(*state, PMU "cpumask", "0,99999-100000,0,99999");
    search = search_fake(*state, &adept_sensor_kind_perf);
    assert_int_equal(search.n_sensors, 4);
    assert_int_equal(search.n_notes, 4);
    sensor_called(&search, "dram-3");
    assert_non_null(strstr(note_called(&search, "cpu-1")->why, "power/energy-pkg/ on CPU 99999 to 100000: "));
    assert_non_null(strstr(note_called(&search, "dram-4")->why, "power/energy-ram/ on CPU 99999: "));
    assert_string_equal(note_called(&search, "cpu-1")->help, "");
    adept_sensors_close(&search);
}

/* What powercap reads is left to it: here the packages, and not the DRAM that its tree denies or lacks. */
static void test_powercap_goes_first(void **state)
{
    fake_sys_put(*state, "/sys/class/powercap/intel-rapl:0/name", "package-0");
    fake_sys_put(*state, "/sys/class/powercap/intel-rapl:0/energy_uj", "1000");
    fake_sys_put(*state, "/sys/class/powercap/intel-rapl:0:0/name", "dram");
    fake_sys_put(*state, "/sys/class/powercap/intel-rapl:0:0/energy_uj", "N/A");
    const adept_sensor_kind *const kinds[] = {&adept_sensor_kind_perf, &adept_sensor_kind_powercap, NULL};
    adept_sensor_search search = search_kinds(*state, kinds);
    assert_ptr_equal(sensor_called(&search, "cpu-0")->kind, &adept_sensor_kind_powercap);
    if (may_count(&search)) {
        assert_int_equal(search.n_sensors, 2);
        assert_ptr_equal(sensor_called(&search, "dram-0")->kind, &adept_sensor_kind_perf);
    }
    adept_sensors_close(&search);

    fake_sys_remove(*state, PMU "type");
    search = search_kinds(*state, kinds);
    assert_int_equal(search.n_sensors, 1);
    assert_int_equal(search.n_notes, 1); /* of DRAM, by powercap */
    adept_sensors_close(&search);
}

static size_t count_cpus(const fake_sys *sys)
{
    adept_sensor_search search = {.settings.sysroot = fake_sys_root(sys)};
    size_t n = 0;

    assert_int_equal(adept_sensors_find(&search, adept_sensor_kinds(), NULL, 0, NULL), ADEPT_OK);
    for (size_t i = 0; i < search.n_sensors; i++)
        n += search.sensors[i]->component == ADEPT_COMPONENT_CPU;
    adept_sensors_close(&search);
    return n;
}

/* A package that powercap, perf, amd_energy and an APU's chip all know is one sensor, whichever of them are there. */
static void test_counted_once(void **state)
{
    fake_sys_put(*state, "/sys/class/hwmon/hwmon0/name", "amd_energy");
    fake_sys_put(*state, "/sys/class/hwmon/hwmon0/energy1_label", "Esocket0");
    fake_sys_put(*state, "/sys/class/hwmon/hwmon0/energy1_input", "1000");
    fake_sys_put(*state, "/sys/class/powercap/intel-rapl:0/name", "package-0");
    fake_sys_put(*state, "/sys/class/powercap/intel-rapl:0/energy_uj", "1000");
    assert_int_equal(count_cpus(*state), 1);
    fake_sys_remove(*state, "/sys/class/powercap/intel-rapl:0/energy_uj");
    assert_int_equal(count_cpus(*state), 1);
    fake_sys_remove(*state, PMU "type");
    assert_int_equal(count_cpus(*state), 1);
    fake_sys_put(*state, "/sys/class/hwmon/hwmon0/name", "amdgpu");
    fake_sys_put(*state, "/sys/class/hwmon/hwmon0/in1_input", "700");
    fake_sys_put(*state, "/sys/class/hwmon/hwmon0/power1_average", "15000000");
    assert_int_equal(count_cpus(*state), 1);
}

static bool is_denied(void *context)
{
    adept_sensor_search search = search_fake(context, &adept_sensor_kind_perf);
    bool is_fine = may_count(&search); /* where perf_event_paranoid is below 1 */

    if (!is_fine) {
        const adept_sensor_note *note = note_called(&search, "perf");
        is_fine = search.n_sensors == 0 && search.n_notes == 1 && strstr(note->why, "(perf_event_paranoid is 2)") &&
                  (strstr(note->help, "perf_event_paranoid=0") || strstr(note->why, strerror(ENOSYS)));
    }
    adept_sensors_close(&search);
    return is_fine;
}

static void test_denied(void **state)
{
    assert_true(fake_sys_as_nobody(is_denied, *state));
}

static void test_missing_and_garbage(void **state)
{
    static const struct {
        const char *file, *text;
    } broken[] = {{"energy-pkg", "umask=0x02"},
                  {"energy-pkg.scale", "N/A"},
                  {"energy-pkg.scale", "0"},
                  {"energy-pkg.unit", "Watts"},
                  {"energy-pkg.unit", ""}};
    fake_sys *sys = *state;
    adept_sensor_search search;

    fake_sys_remove(sys, PMU "events/energy-ram");
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        char path[128];
        put_event(sys, "energy-pkg", "event=0x00");
        snprintf(path, sizeof path, PMU "events/%s", broken[i].file);
        fake_sys_put(sys, path, "%s", broken[i].text);
        search = search_fake(sys, &adept_sensor_kind_perf);
        assert_int_equal(search.n_sensors, 0);
        assert_non_null(strstr(note_called(&search, "energy-pkg")->why, "Joules"));
        adept_sensors_close(&search);
    }
    fake_sys_put(sys, PMU "type", "-1");
    search = search_fake(sys, &adept_sensor_kind_perf);
    assert_int_equal(search.n_sensors, 0);
    assert_non_null(strstr(note_called(&search, "perf")->why, "no PMU \"power\""));
    adept_sensors_close(&search);
}

/* ---- where opening or reading fails: pipes stand in for the counters ---- */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, const void *event, int pid, int cpu, int group, unsigned long flags);
static int opens_left, open_error, ends[8][2]; /* the open that fails, and those that did not */
static size_t n_opened;
static bool is_piped;

long __wrap_syscall(long number, const void *event, int pid, int cpu, int group, unsigned long flags)
{
    if (!is_piped) return __real_syscall(number, event, pid, cpu, group, flags);
    if (--opens_left == 0) {
        errno = open_error;
        return -1;
    }
    return pipe(ends[n_opened]) == 0 ? ends[n_opened++][0] : -1;
}

static adept_status search_pipes_to(adept_sensor_search *search, fake_sys *sys, int fails_at, int error,
                                    adept_error *err)
{
    const adept_sensor_kind *const kinds[] = {&adept_sensor_kind_perf, NULL};

    opens_left = fails_at;
    open_error = error;
    n_opened = 0;
    is_piped = true;
    fake_sys_put(sys, PMU "cpumask", "0,1");
    *search = (adept_sensor_search){.settings.sysroot = fake_sys_root(sys)};
    adept_status status = adept_sensors_find(search, kinds, NULL, 0, err);
    is_piped = false;
    return status;
}

static adept_sensor_search search_pipes(fake_sys *sys, int fails_at, int error)
{
    adept_sensor_search search;

    assert_int_equal(search_pipes_to(&search, sys, fails_at, error, NULL), ADEPT_OK);
    return search;
}

static void close_pipes(adept_sensor_search *search)
{
    adept_sensors_close(search);
    while (n_opened > 0)
        close(ends[--n_opened][1]);
}

/* Each counter is there, or a note has its name; what may not be counted is one note for all that follow. */
static void test_open_fails(void **state)
{
    static const char *const names[] = {"cpu-0", "cpu-1", "dram-0", "dram-1"};
    const int errors[] = {EACCES, EPERM, ENODEV, ENOENT, EINVAL, EBUSY, ENOSYS};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        for (int n = 1; n <= 4; n++) {
            bool is_denied = errors[i] == EACCES || errors[i] == EPERM;
            adept_sensor_search search = search_pipes(*state, n, errors[i]);
            assert_int_equal(search.n_sensors, is_denied ? n - 1 : 3);
            assert_int_equal(search.n_notes, 1);
            const adept_sensor_note *note = note_called(&search, is_denied ? "perf" : names[n - 1]);
            assert_non_null(strstr(note->why, n <= 2 ? "power/energy-pkg/ on CPU" : "power/energy-ram/ on CPU"));
            assert_non_null(strstr(note->why, strerror(errors[i])));
            assert_int_equal(note->help[0] != '\0', is_denied);
            close_pipes(&search);
        }
}

/* Where memory or files are short, what is there would be left out: the search fails. */
static void test_open_lacks(void **state)
{
    const int errors[] = {EMFILE, ENFILE, ENOMEM};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        for (int n = 1; n <= 4; n++) {
            adept_error err = {0};
            adept_sensor_search search;
            assert_int_equal(search_pipes_to(&search, *state, n, errors[i], &err),
                             errors[i] == ENOMEM ? ADEPT_E_NOMEM : ADEPT_E_IO);
            if (errors[i] != ENOMEM) assert_non_null(strstr(err.message, strerror(errors[i])));
            close_pipes(&search);
        }
}

/* AMD has one counter for all dies of a package, and Linux opens one for each: by which package each CPU is of. */
static void test_dies_of_a_package(void **state)
{
    static const struct {
        const char *vendor, *packages[2];
        size_t sensors;
    } cases[] = {
        {"AuthenticAMD", {"0", "0"}, 2}, {"HygonGenuine", {"0", "0"}, 2}, {"AuthenticAMD", {"0", "1"}, 4},
        {"GenuineIntel", {"0", "0"}, 4},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_sys_put(*state, "/proc/cpuinfo", "processor\t: 0\nvendor_id\t: %s\ncpu family\t: 23", cases[i].vendor);
        fake_sys_put(*state, "/sys/devices/system/cpu/cpu0/topology/physical_package_id", "%s", cases[i].packages[0]);
        fake_sys_put(*state, "/sys/devices/system/cpu/cpu1/topology/physical_package_id", "%s", cases[i].packages[1]);
        adept_sensor_search search = search_pipes(*state, 0, 0);
        assert_int_equal(search.n_sensors, cases[i].sensors);
        assert_int_equal(search.n_notes, 4 - cases[i].sensors);
        if (cases[i].sensors == 2)
            assert_non_null(strstr(note_called(&search, "cpu-1")->why, "the counter of package 0 once more"));
        close_pipes(&search);
    }
}

static void refuses(adept_sensor *sensor, const char *why)
{
    adept_reading reading = {0};
    adept_error err = {0};

    assert_int_equal(sensor->kind->read(sensor, &reading, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, "power/energy-pkg/ is gone: "));
    assert_non_null(strstr(err.message, why));
}

static void ignore(int number)
{
    (void)number;
}

static void test_read_fails(void **state)
{
    const uint64_t count = 3000000000;
    const struct sigaction interrupted = {.sa_handler = ignore};
    const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
    adept_sensor_search search = search_pipes(*state, 0, 0);
    adept_sensor *sensor = sensor_called(&search, "cpu-0");

    assert_int_equal(write(ends[0][1], &count, sizeof count), sizeof count);
    assert_float_equal(read_sensor(sensor, ADEPT_OK).energy_j, 3, 1e-9);
    sigaction(SIGALRM, &interrupted, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_true(isnan(read_sensor(sensor, ADEPT_OK).energy_j)); /* EINTR: this time it says nothing */
    assert_int_equal(write(ends[0][1], &count, 5), 5);
    refuses(sensor, "end of file");
    fcntl(ends[0][0], F_SETFL, O_NONBLOCK);
    refuses(sensor, strerror(EAGAIN));
    dup2(ends[1][1], ends[0][1]);
    refuses(sensor, "end of file"); /* the event is in an error state */
    dup2(ends[0][1], ends[0][0]);
    refuses(sensor, strerror(EBADF));
    close_pipes(&search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_real_event, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_cpumask, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_powercap_goes_first, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_counted_once, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_denied, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_missing_and_garbage, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_open_fails, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_open_lacks, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_dies_of_a_package, start, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_read_fails, start, free_fake_sys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
