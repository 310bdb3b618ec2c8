/* RAPL zones of the powercap tree: found by their names, read, wrapped, denied, broken, gone. */
#include "sensor_checks.h"
#include "sysfs.h"
#include "cmocka_test.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TREE "/sys/class/powercap/"
#define RANGE_UJ 262143328850.0

static void put_zone(fake_sys *sys, const char *folder, const char *name, double energy_uj)
{
    char path[128];

    snprintf(path, sizeof path, TREE "%s/name", folder);
    fake_sys_put(sys, path, "%s", name);
    snprintf(path, sizeof path, TREE "%s/energy_uj", folder);
    fake_sys_put(sys, path, "%.0f", energy_uj);
    snprintf(path, sizeof path, TREE "%s/max_energy_range_uj", folder);
    fake_sys_put(sys, path, "%.0f", RANGE_UJ);
}

/* Numbers of folders have gaps, and say nothing of packages: intel-rapl:0 is package 1 here. */
static void test_found_by_name(void **state)
{
    static const struct {
        const char *folder, *zone, *name;
        adept_component component;
        const char *inside;
    } zones[] = {
        {"intel-rapl:0", "package-1", "cpu-1", ADEPT_COMPONENT_CPU, ""},
        {"intel-rapl:0:0", "core", "cores-1", ADEPT_COMPONENT_CORES, "cpu-1"},
        {"intel-rapl:0:1", "uncore", "uncore-1", ADEPT_COMPONENT_UNCORE, "cpu-1"},
        {"intel-rapl:0:3", "dram", "dram-1", ADEPT_COMPONENT_DRAM, ""},
        {"intel-rapl:2", "psys", "psys", ADEPT_COMPONENT_PSYS, ""},
        {"intel-rapl:3", "psys-1", "psys-1", ADEPT_COMPONENT_PSYS, ""},
        {"intel-rapl:10", "package-0", "cpu-0", ADEPT_COMPONENT_CPU, "psys"},
        {"intel-rapl:10:0", "dram", "dram-0", ADEPT_COMPONENT_DRAM, "psys"},
        {"intel-rapl:11", "package-2-die-1", "cpu-2-die-1", ADEPT_COMPONENT_CPU, "psys"},
        {"intel-rapl:11:0", "core", "cores-2-die-1", ADEPT_COMPONENT_CORES, "cpu-2-die-1"},
    };
    const size_t n = sizeof zones / sizeof zones[0];
    fake_sys *sys = *state;

    for (size_t i = 0; i < n; i++)
        put_zone(sys, zones[i].folder, zones[i].zone, 1e6 * (double)(i + 1));
    put_zone(sys, "intel-rapl-mmio:0", "package-1", 5e6); /* package 1 once more */
    put_zone(sys, "intel-rapl:12", "pack", 5e6);          /* no name that the kernel gives */
    fake_sys_put(sys, TREE "intel-rapl/enabled", "1");
    fake_sys_put(sys, TREE "dtpm:0/name", "package-0");
    fake_sys_put(sys, TREE "intel-rapl:10/constraint_0_max_power_uw", "205000000");

    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_powercap);
    assert_int_equal(search.n_sensors, n);
    assert_int_equal(search.n_notes, 0);
    for (size_t i = 0; i < n; i++) {
        adept_sensor *sensor = sensor_called(&search, zones[i].name);
        char ending[64];
        snprintf(ending, sizeof ending, "/%s/energy_uj", zones[i].folder);
        assert_int_equal(sensor->component, zones[i].component);
        /* of two platforms around package 1, nobody knows which */
        assert_string_equal(sensor->inside, zones[i].inside);
        assert_non_null(strstr(sensor->source, ending));
        assert_float_equal(sensor->range_j, 262143.328850, 1e-6);
        assert_float_equal(sensor->resolution_j, 1.0 / 16384, 1e-9);
        assert_false(sensor->is_slow || sensor->is_estimated);
        assert_float_equal(read_sensor(sensor, ADEPT_OK).energy_j, (double)(i + 1), 1e-12);
        assert_true(isnan(read_sensor(sensor, ADEPT_OK).power_w));
    }
    assert_float_equal(sensor_called(&search, "cpu-0")->most_power_w, 4 * 205, 1e-9);
    assert_float_equal(sensor_called(&search, "cpu-1")->most_power_w, 2000, 0);
    adept_sensors_close(&search);
}

static double ramp_uj(double time_s) /* from 50 W, 400 W more every second */
{
    return 1e6 * (50 * time_s + 200 * time_s * time_s);
}

/* 1 J before the counter starts again at first, and a range that the ramp passes several times. */
/* AMD's zone "core" shows the counter of one core. */
static void test_core_of_amd(void **state)
{
    static const char *const vendors[] = {"AuthenticAMD", "HygonGenuine", "GenuineIntel"};

    put_zone(*state, "intel-rapl:0", "package-0", 1e6);
    put_zone(*state, "intel-rapl:0:0", "core", 1e6);
    for (size_t i = 0; i < 3; i++) {
        fake_sys_put(*state, "/proc/cpuinfo", "processor\t: 0\nvendor_id\t: %s", vendors[i]);
        adept_sensor_search search = search_fake(*state, &adept_sensor_kind_powercap);
        assert_int_equal(search.n_sensors, i < 2 ? 1 : 2);
        if (i < 2) assert_non_null(strstr(note_called(&search, "cores-0")->why, "of one core"));
        adept_sensors_close(&search);
    }
}

static void test_energy_over_wraps(void **state)
{
    const double range_uj = 20e6;
    fake_sys *sys = *state;

    put_zone(sys, "intel-rapl:0", "package-0", 0);
    fake_sys_put(sys, TREE "intel-rapl:0/max_energy_range_uj", "%.0f", range_uj);
    fake_drive *drive = fake_sys_drive(sys, TREE "intel-rapl:0/energy_uj", ramp_uj, range_uj - 1e6, range_uj);
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_powercap);
    adept_sensor *sensor = sensor_called(&search, "cpu-0");

    double last_j = read_sensor(sensor, ADEPT_OK).energy_j, measured_j = 0;
    int wraps = 0;
    for (int n = 1; n <= 120; n++) {
        fake_drive_to(drive, 0.005 * n);
        double now_j = read_sensor(sensor, ADEPT_OK).energy_j;
        wraps += now_j < last_j;
        measured_j += now_j - last_j + (now_j < last_j ? sensor->range_j : 0);
        last_j = now_j;
    }
    assert_int_equal(wraps, 6); /* 102 J in ranges of 20 J, 1 J before the first end */
    assert_float_equal(measured_j, 1e-6 * ramp_uj(0.6), 1e-5);
    adept_sensors_close(&search);
}

static void test_missing(void **state)
{
    adept_sensor_search search = search_fake(*state, &adept_sensor_kind_powercap);

    assert_int_equal(search.n_sensors, 0);
    assert_non_null(strstr(note_called(&search, "powercap")->why, "/sys/class/powercap"));
    adept_sensors_close(&search);
}

static bool is_denied(void *context)
{
    adept_sensor_search search = search_fake(context, &adept_sensor_kind_powercap);
    const adept_sensor_note *note = note_called(&search, "cpu-0");
    bool is_fine = search.n_sensors == 1 && strstr(note->why, "energy_uj: Permission denied") &&
                   strstr(note->help, "chmod a+r ") && strstr(note->help, "intel-rapl:0/energy_uj");

    adept_sensors_close(&search);
    return is_fine;
}

static void test_denied(void **state)
{
    fake_sys *sys = *state;

    put_zone(sys, "intel-rapl:0", "package-0", 1e6);
    put_zone(sys, "intel-rapl:0:0", "dram", 1e6);
    fake_sys_deny(sys, TREE "intel-rapl:0/energy_uj");
    assert_true(fake_sys_as_nobody(is_denied, sys));
}

/* A number that is none at first is a note; one that is none later is a reading that does not say; a file that is gone
 * ends it. */
static void test_broken_files(void **state)
{
    static const char *const broken[] = {
        "",      "N/A",  "12 34",
        "1e999", "0x10", "12345678901234567890123456789012345678901234567890123456789012345678901234567890"};
    fake_sys *sys = *state;

    put_zone(sys, "intel-rapl:0", "package-0", 1e6);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        fake_sys_put(sys, TREE "intel-rapl:0/energy_uj", "%s", broken[i]);
        adept_sensor_search search = search_fake(sys, &adept_sensor_kind_powercap);
        assert_int_equal(search.n_sensors, 0);
        assert_non_null(strstr(note_called(&search, "cpu-0")->why, "No data available"));
        assert_string_equal(note_called(&search, "cpu-0")->help, "");
        adept_sensors_close(&search);
    }
    fake_sys_put(sys, TREE "intel-rapl:0/energy_uj", "7000000");
    fake_sys_put(sys, TREE "intel-rapl:0/max_energy_range_uj", "N/A");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_powercap);
    adept_sensor *sensor = sensor_called(&search, "cpu-0");
    assert_float_equal(sensor->range_j, 0, 0);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        fake_sys_put(sys, TREE "intel-rapl:0/energy_uj", "%s", broken[i]);
        assert_true(isnan(read_sensor(sensor, ADEPT_OK).energy_j));
    }
    fake_sys_put(sys, TREE "intel-rapl:0/energy_uj", "8000000");
    assert_float_equal(read_sensor(sensor, ADEPT_OK).energy_j, 8, 1e-12);
    fake_sys_remove(sys, TREE "intel-rapl:0/energy_uj");
    assert_true(isnan(read_sensor(sensor, ADEPT_E_IO).energy_j));
    adept_sensors_close(&search);
}

/* A zone that goes away between the listing and the reading of it. */
static void test_half_a_zone(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, TREE "intel-rapl:0/name", "package-0");
    fake_sys_put(sys, TREE "intel-rapl:1/energy_uj", "5");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_powercap);
    assert_int_equal(search.n_sensors, 0);
    assert_int_equal(search.n_notes, 1);
    assert_non_null(strstr(note_called(&search, "cpu-0")->why, "No such file"));
    adept_sensors_close(&search);
}

/* What a container sees: links that lead nowhere. */
static void test_hidden(void **state)
{
    fake_sys_link(*state, TREE "intel-rapl:0", "../../devices/virtual/powercap/intel-rapl/intel-rapl:0");
    adept_sensor_search search = search_fake(*state, &adept_sensor_kind_powercap);
    assert_int_equal(search.n_sensors, 0);
    assert_non_null(strstr(note_called(&search, "powercap")->help, "systempaths=unconfined"));
    adept_sensors_close(&search);
}

/* Two zones of one name are two sensors with names of their own, of one package: recordings find out whether they are
 * one. */
static void test_zones_of_one_name(void **state)
{
    fake_sys *sys = *state;

    put_zone(sys, "intel-rapl:0", "package-0", 1e6);
    put_zone(sys, "intel-rapl:1", "package-0", 1e6);
    put_zone(sys, "intel-rapl:2", "package-1-die-0", 1e6);
    put_zone(sys, "intel-rapl:3", "package-1-die-1", 1e6);
    put_zone(sys, "intel-rapl:3:0", "dram", 1e6);
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_powercap);
    assert_int_equal(search.n_sensors, 5);
    assert_string_equal(sensor_called(&search, "cpu-0")->package, "-0");
    assert_string_equal(sensor_called(&search, "cpu-0-zone-1")->package, "-0");
    assert_string_equal(sensor_called(&search, "cpu-1-die-0")->package, "-1");
    assert_string_equal(sensor_called(&search, "cpu-1-die-1")->package, "-1");
    assert_string_equal(sensor_called(&search, "dram-1-die-1")->package, "-1");
    adept_sensors_close(&search);
}

/* Where the packages are seen through the other window only, that one is read. */
static void test_zones_of_mmio_alone(void **state)
{
    fake_sys *sys = *state;

    put_zone(sys, "intel-rapl-mmio:0", "package-0", 3e6);
    put_zone(sys, "intel-rapl-mmio:0:0", "dram", 1e6);
    fake_sys_put(sys, TREE "intel-rapl-mmio/enabled", "1");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_powercap);
    assert_int_equal(search.n_sensors, 2);
    assert_int_equal(search.n_notes, 0);
    assert_float_equal(read_sensor(sensor_called(&search, "cpu-0"), ADEPT_OK).energy_j, 3, 1e-12);
    assert_non_null(strstr(sensor_called(&search, "dram-0")->source, "intel-rapl-mmio:0:0"));
    adept_sensors_close(&search);
}

/* No file can be opened any more: an error, not a machine without sensors. */
static bool is_refused(void *context)
{
    const adept_sensor_kind *const kinds[] = {&adept_sensor_kind_powercap, NULL};
    adept_sensor_search search = {.settings = {.sysroot = fake_sys_root(context)}};
    struct rlimit files = {3, 3};
    adept_error err = {0};

    bool is_set = setrlimit(RLIMIT_NOFILE, &files) == 0;
    adept_status status = adept_sensors_find(&search, kinds, NULL, 0, &err);
    return is_set && status == ADEPT_E_IO && strstr(err.message, "Too many open files");
}

static void test_no_more_files(void **state)
{
    int how = 1;

    put_zone(*state, "intel-rapl:0", "package-0", 1e6);
    pid_t child = fork();
    if (child == 0) _exit(!is_refused(*state));
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_found_by_name, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_core_of_amd, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_energy_over_wraps, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_missing, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_denied, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_broken_files, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_half_a_zone, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_hidden, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_zones_of_one_name, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_zones_of_mmio_alone, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_no_more_files, make_fake_sys, free_fake_sys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
