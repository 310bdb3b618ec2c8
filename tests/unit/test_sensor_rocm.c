/* AMD GPUs by a library that stands in for ROCm's, and which of them are left to it by hwmon. */
#include "measure/fake_rocm.h"
#include "sensor_checks.h"
#include "sysfs.h"
#include "cmocka_test.h"
#include <dlfcn.h>
#include <time.h>

static void *library;
static const fake_rocm_functions *fake;

static int open_fake(void **state)
{
    const char *path = getenv("ADEPT_FAKE_ROCM");

    (void)state;
    library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL; /* from now on found by its name */
    if (library) fake = dlsym(library, "fake_rocm");
    return fake ? 0 : -1;
}

static int close_fake(void **state)
{
    (void)state;
    return dlclose(library);
}

static int start(void **state)
{
    *state = fake_sys_new();
    fake_sys_put(*state, "/sys/module/amdgpu/version", "6");
    unsetenv("FAKE_ROCM");
    return 0;
}

static int end(void **state)
{
    fake_sys_free(*state);
    assert_int_equal(fake->users(), 0);
    return 0;
}

static adept_sensor_search search_rocm(fake_sys *sys, const char *play)
{
    setenv("FAKE_ROCM", play, 1);
    return search_fake(sys, &adept_sensor_kind_rocm);
}

static void put_hwmon(fake_sys *sys, const char *address, const char *chip)
{
    char path[128], target[64];

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/hwmon/%s/freq1_input", address, chip);
    fake_sys_put(sys, path, "1700000000");
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/hwmon/%s/freq2_input", address, chip);
    fake_sys_put(sys, path, "1600000000");
    snprintf(path, sizeof path, "/sys/class/hwmon/%s/name", chip);
    fake_sys_put(sys, path, "amdgpu");
    snprintf(path, sizeof path, "/sys/class/hwmon/%s/power1_average", chip);
    fake_sys_put(sys, path, "77000000");
    snprintf(path, sizeof path, "/sys/class/hwmon/%s/device", chip);
    snprintf(target, sizeof target, "../../../%s", address);
    fake_sys_link(sys, path, target);
}

static void test_boards(void **state)
{
    put_hwmon(*state, "0000:f2:00.0", "hwmon4");
    adept_sensor_search search = search_rocm(*state, "boards=2 power=150 limit=560 busy=93");

    assert_int_equal(search.n_sensors, 2);
    assert_int_equal(search.n_notes, 0);
    adept_sensor *sensor = sensor_called(&search, "gpu-amd-1");
    assert_int_equal(sensor->component, ADEPT_COMPONENT_GPU);
    assert_string_equal(sensor->device, "Fake Instinct 1 0000:f2:00.0");
    assert_string_equal(sensor->source, "rsmi_dev_energy_count_get(1)");
    assert_float_equal(sensor->resolution_j, 15.2587890625e-6, 1e-15);
    assert_float_equal(sensor->range_j, 65536, 1e-6);
    assert_float_equal(sensor->most_power_w, 1680, 1e-6);
    assert_true(sensor->is_slow);
    adept_reading reading = read_sensor(sensor, ADEPT_OK);
    assert_float_equal(reading.power_w, 300, 1e-3);
    static const struct {
        const char *name;
        double value;
    } gauges[] = {{"sm_clock_hz", 1.7e9}, {"memory_clock_hz", 1.6e9}, {"power_limit_w", 560}, {"gpu_use", 0.93}};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(sensor->gauges[i].name, gauges[i].name);
        assert_float_equal(reading.gauges[i], gauges[i].value, 1e-6);
    }
    assert_null(sensor->gauges[4].name);
    assert_true(isnan(read_sensor(sensor_called(&search, "gpu-amd-0"), ADEPT_OK).gauges[0]));

    /* The library does not say that a board is gone; its files do. */
    fake_sys_remove(*state, "/sys/bus/pci/devices/0000:f2:00.0/hwmon/hwmon4/freq1_input");
    read_sensor(sensor, ADEPT_E_IO);
    adept_sensors_close(&search);
}

/* The counter against its integral at the reading's own time, while power rises; the power at its end. */
static void test_energy(void **state)
{
    adept_sensor_search search = search_rocm(*state, "power=100 rise=400");
    adept_sensor *sensor = sensor_called(&search, "gpu-amd-0");
    double before_s = fake->time_s(), first_j = read_sensor(sensor, ADEPT_OK).energy_j, begin_s = fake->time_s();

    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    double end_s = fake->time_s();
    adept_reading reading = read_sensor(sensor, ADEPT_OK);
    double after_s = fake->time_s(), energy_j = reading.energy_j - first_j;
    assert_true(energy_j >= 0.995 * (fake->energy_j(end_s) - fake->energy_j(begin_s)));
    assert_true(energy_j <= 1.005 * (fake->energy_j(after_s) - fake->energy_j(before_s)));
    assert_true(reading.power_w >= 100 + 400 * end_s - 1e-3 && reading.power_w <= 100 + 400 * after_s);
    adept_sensors_close(&search);
}

static void test_what_a_board_lacks(void **state)
{
    adept_sensor_search search = search_rocm(*state, "counter=0 old=1");
    adept_sensor *sensor = sensor_called(&search, "gpu-amd-0");
    assert_string_equal(sensor->source, "rsmi_dev_power_get(0)");
    assert_float_equal(read_sensor(sensor, ADEPT_OK).power_w, 100, 1e-3);
    assert_true(isnan(read_sensor(sensor, ADEPT_OK).energy_j));
    adept_sensors_close(&search);

    search = search_rocm(*state, "meter=0");
    assert_true(isnan(read_sensor(sensor_called(&search, "gpu-amd-0"), ADEPT_OK).power_w));
    assert_true(read_sensor(sensor_called(&search, "gpu-amd-0"), ADEPT_OK).energy_j > 0);
    adept_sensors_close(&search);

    search = search_rocm(*state, "counter=0 meter=0");
    assert_int_equal(search.n_sensors, 0);
    assert_non_null(strstr(note_called(&search, "rocm device 0")->why, "0000:f1:00.0"));
    adept_sensors_close(&search);

    search = search_rocm(*state, "begin=-1e12"); /* all ones */
    assert_string_equal(sensor_called(&search, "gpu-amd-0")->source, "rsmi_dev_power_get(0)");
    assert_true(isnan(read_sensor(search.sensors[0], ADEPT_OK).energy_j));
    adept_sensors_close(&search);

    search = search_rocm(*state, "begin=5e9"); /* more than 32 bits */
    assert_float_equal(sensor_called(&search, "gpu-amd-0")->range_j, 0, 0);
    assert_true(read_sensor(search.sensors[0], ADEPT_OK).energy_j > 5e9 / 65536);
    adept_sensors_close(&search);

    fake_sys_put(*state, "/sys/bus/pci/devices/0000:f1:00.0/hwmon/hwmon0/in1_input", "700"); /* an APU */
    search = search_rocm(*state, "boards=2");
    assert_int_equal(search.n_sensors, 1);
    assert_string_equal(sensor_called(&search, "gpu-amd-0")->source, "rsmi_dev_energy_count_get(1)");
    adept_sensors_close(&search);
    fake_sys_remove(*state, "/sys/bus/pci/devices/0000:f1:00.0/hwmon/hwmon0/in1_input");

    search = search_rocm(*state, "boards=3 second=1");
    assert_int_equal(search.n_sensors, 2);
    assert_non_null(strstr(note_called(&search, "rocm device 1")->why, "second die"));
    assert_string_equal(sensor_called(&search, "gpu-amd-1")->source, "rsmi_dev_energy_count_get(2)");
    assert_true(sensor_called(&search, "gpu-amd-0")->is_divided && !sensor_called(&search, "gpu-amd-1")->is_divided);
    adept_sensors_close(&search);
}

/* Eight partitions of a board, at one place on the bus: it counts once, by the one that says most. */
static void test_partitions_of_a_board(void **state)
{
    static const struct {
        const char *play, *source;
        size_t first_note;
    } cases[] = {{"boards=8 partitions=8", "rsmi_dev_energy_count_get(0)", 1},
                 {"boards=8 partitions=8 functions=1", "rsmi_dev_energy_count_get(0)", 1},
                 {"boards=8 partitions=8 counter_of=0", "rsmi_dev_energy_count_get(0)", 1},
                 {"boards=8 partitions=8 counter_of=5", "rsmi_dev_energy_count_get(5)", 0},
                 {"boards=8 partitions=8 counter=0", "rsmi_dev_power_get(0)", 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_sensor_search search = search_rocm(*state, cases[i].play);
        char name[32];
        assert_int_equal(search.n_sensors, 1);
        assert_int_equal(search.n_notes, 7);
        assert_string_equal(sensor_called(&search, "gpu-amd-0")->source, cases[i].source);
        assert_true(search.sensors[0]->is_divided);
        assert_float_equal(read_sensor(search.sensors[0], ADEPT_OK).power_w, 100, 1e-3);
        snprintf(name, sizeof name, "rocm device %zu", cases[i].first_note);
        assert_non_null(strstr(note_called(&search, name)->why, "counts once"));
        adept_sensors_close(&search);
    }
    adept_sensor_search search = search_rocm(*state, "boards=8 partitions=4");
    assert_int_equal(search.n_sensors, 2);
    assert_float_equal(read_sensor(sensor_called(&search, "gpu-amd-1"), ADEPT_OK).power_w, 200, 1e-3);
    adept_sensors_close(&search);
}

static void test_silence(void **state)
{
    int n_silent = 0;
    adept_sensor_search search = search_rocm(*state, "silent=7");
    adept_sensor *sensor = sensor_called(&search, "gpu-amd-0");

    for (int i = 0; i < 70; i++)
        n_silent += isnan(read_sensor(sensor, ADEPT_OK).energy_j);
    assert_true(n_silent >= 5 && n_silent <= 15);
    adept_sensors_close(&search);
}

static void test_no_library_no_driver(void **state)
{
    adept_sensor_search search = search_rocm(*state, "init=8");
    assert_int_equal(search.n_sensors, 0);
    assert_string_equal(note_called(&search, "rocm")->why, "rsmi_init() fails");
    adept_sensors_close(&search);

    search = search_rocm(*state, "boards=0");
    assert_int_equal(search.n_sensors + search.n_notes, 0);
    adept_sensors_close(&search);

    fake_sys_remove(*state, "/sys/module/amdgpu/version"); /* the folder stays: the driver may have no version */
    search = search_rocm(*state, "boards=1");
    assert_int_equal(search.n_sensors, 1);
    adept_sensors_close(&search);

    fake_sys *bare = fake_sys_new();
    search = search_rocm(bare, "boards=1");
    assert_int_equal(search.n_sensors + search.n_notes, 0);
    adept_sensors_close(&search);
    fake_sys_free(bare);
}

/* hwmon leaves to the library what that reads, and numbers the rest behind. */
static void test_hwmon_gives_way(void **state)
{
    put_hwmon(*state, "0000:f1:00.0", "hwmon1");
    put_hwmon(*state, "0000:f3:00.0", "hwmon2");
    setenv("FAKE_ROCM", "boards=1", 1);
    int starts_before = fake->starts();
    adept_sensor_search search = search_kinds(
        *state, (const adept_sensor_kind *const[]){&adept_sensor_kind_hwmon, &adept_sensor_kind_rocm, NULL});

    assert_int_equal(fake->starts() - starts_before, 1);
    assert_int_equal(search.n_sensors, 2);
    assert_string_equal(sensor_called(&search, "gpu-amd-1")->device, "AMD GPU 0000:f3:00.0");
    assert_float_equal(read_sensor(search.sensors[1], ADEPT_OK).power_w, 77, 1e-9);
    adept_sensors_close(&search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_boards, start, end),
        cmocka_unit_test_setup_teardown(test_energy, start, end),
        cmocka_unit_test_setup_teardown(test_what_a_board_lacks, start, end),
        cmocka_unit_test_setup_teardown(test_partitions_of_a_board, start, end),
        cmocka_unit_test_setup_teardown(test_silence, start, end),
        cmocka_unit_test_setup_teardown(test_no_library_no_driver, start, end),
        cmocka_unit_test_setup_teardown(test_hwmon_gives_way, start, end),
    };
    return cmocka_run_group_tests(tests, open_fake, close_fake);
}
