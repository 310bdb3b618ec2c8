/* hwmon chips and batteries: AMD GPUs and APUs, sockets, ACPI power meters, and what is left out. */
#include "sensor_checks.h"
#include "sysfs.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define CHIPS "/sys/class/hwmon/"
#define SUPPLIES "/sys/class/power_supply/"

/* What powercap reads. */
static void put_package(fake_sys *sys)
{
    fake_sys_put(sys, "/sys/class/powercap/intel-rapl:0/name", "package-0");
    fake_sys_put(sys, "/sys/class/powercap/intel-rapl:0/energy_uj", "1000");
}

static void gives_way(fake_sys *sys)
{
    put_package(sys);
    adept_sensor_search search =
        search_kinds(sys, (const adept_sensor_kind *const[]){&adept_sensor_kind_hwmon, &adept_sensor_kind_powercap, NULL});
    assert_int_equal(search.n_sensors + search.n_notes, 1);
    assert_ptr_equal(sensor_called(&search, "cpu-0")->kind, &adept_sensor_kind_powercap);
    adept_sensors_close(&search);
}

/* Two boards, the second with power1_input as newer ones; hwmon10 comes after hwmon2. */
static void test_amd_gpus(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, CHIPS "hwmon2/name", "amdgpu");
    fake_sys_link(sys, CHIPS "hwmon2/device", "../../../0000:f1:00.0");
    fake_sys_put(sys, CHIPS "hwmon2/power1_average", "203000000");
    fake_sys_put(sys, CHIPS "hwmon2/power1_cap", "300000000");
    fake_sys_put(sys, CHIPS "hwmon2/freq1_input", "1700000000");
    fake_sys_put(sys, CHIPS "hwmon2/freq2_input", "1200000000");
    fake_sys_put(sys, CHIPS "hwmon10/name", "amdgpu");
    fake_sys_put(sys, CHIPS "hwmon10/power1_input", "99000000");
    fake_sys_put(sys, CHIPS "hwmon10/power1_cap", "150000000");
    fake_sys_put(sys, CHIPS "hwmon3/name", "amdgpu"); /* the second die of a board */
    fake_sys_put(sys, CHIPS "hwmon3/power1_average", "0");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 2);
    assert_int_equal(search.n_notes, 0);

    adept_sensor *sensor = sensor_called(&search, "gpu-amd-0");
    assert_int_equal(sensor->component, ADEPT_COMPONENT_GPU);
    assert_string_equal(sensor->device, "AMD GPU 0000:f1:00.0");
    assert_string_equal(sensor->gauges[0].name, "sm_clock_hz");
    assert_string_equal(sensor->gauges[1].name, "memory_clock_hz");
    assert_string_equal(sensor->gauges[2].name, "power_limit_w");
    assert_null(sensor->gauges[3].name);
    assert_true(sensor->is_slow);
    adept_reading reading = read_sensor(sensor, ADEPT_OK);
    assert_float_equal(reading.power_w, 203, 1e-9);
    assert_true(isnan(reading.energy_j) && reading.time_s > 0);
    assert_float_equal(reading.gauges[0], 1.7e9, 1);
    assert_float_equal(reading.gauges[1], 1.2e9, 1);
    assert_float_equal(reading.gauges[2], 300, 1e-9);

    sensor = sensor_called(&search, "gpu-amd-1");
    assert_string_equal(sensor->gauges[0].name, "power_limit_w");
    reading = read_sensor(sensor, ADEPT_OK);
    assert_float_equal(reading.power_w, 99, 1e-9);
    assert_float_equal(reading.gauges[0], 150, 1e-9);
    fake_sys_put(sys, CHIPS "hwmon10/power1_input", "%s", "");
    assert_true(isnan(read_sensor(sensor, ADEPT_OK).power_w));
    fake_sys_remove(sys, CHIPS "hwmon10/power1_input");
    read_sensor(sensor, ADEPT_E_IO);
    adept_sensors_close(&search);
}

/* An APU's power has the cores in it: it stands for the CPU, unless powercap reads that. */
static void test_apu(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, CHIPS "hwmon0/name", "amdgpu");
    fake_sys_put(sys, CHIPS "hwmon0/in1_input", "700");
    fake_sys_put(sys, CHIPS "hwmon0/power1_average", "15000000");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 1);
    assert_int_equal(sensor_called(&search, "apu-0")->component, ADEPT_COMPONENT_CPU);
    assert_float_equal(read_sensor(search.sensors[0], ADEPT_OK).power_w, 15, 1e-9);
    adept_sensors_close(&search);

    gives_way(sys);
}

static double watts_120_uj(double time_s)
{
    return 120e6 * time_s;
}

/* amd_energy: sockets behind cores; left to powercap where that reads them. */
static void test_sockets(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, CHIPS "hwmon0/name", "amd_energy");
    fake_sys_put(sys, CHIPS "hwmon0/energy1_label", "Ecore000");
    fake_sys_put(sys, CHIPS "hwmon0/energy1_input", "1000");
    fake_sys_put(sys, CHIPS "hwmon0/energy2_label", "Esocket0");
    fake_drive *drive = fake_sys_drive(sys, CHIPS "hwmon0/energy2_input", watts_120_uj, 5e6, 0);
    fake_sys_put(sys, CHIPS "hwmon0/energy3_label", "Esocket1");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 1);
    assert_non_null(strstr(note_called(&search, "cpu-1")->why, "energy3_input: No such file"));
    adept_sensor *sensor = sensor_called(&search, "cpu-0");

    double first_j = read_sensor(sensor, ADEPT_OK).energy_j;
    fake_drive_to(drive, 0.3);
    assert_float_equal(read_sensor(sensor, ADEPT_OK).energy_j - first_j, 36, 1e-5);
    adept_sensors_close(&search);

    gives_way(sys);
}

static void test_power_meters(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, CHIPS "hwmon0/name", "power_meter");
    fake_sys_put(sys, CHIPS "hwmon0/power1_average", "345000000");
    fake_sys_put(sys, CHIPS "hwmon0/power1_average_interval", "1000");
    fake_sys_put(sys, CHIPS "hwmon0/power1_accuracy", "95.0%%");
    fake_sys_put(sys, CHIPS "hwmon0/power1_model_number", "PM-1");
    fake_sys_put(sys, CHIPS "hwmon1/name", "power_meter");
    fake_sys_put(sys, CHIPS "hwmon1/power1_average", "N/A");
    fake_sys_put(sys, CHIPS "hwmon2/name", "power_meter");
    fake_sys_put(sys, CHIPS "hwmon2/power1_average", "5000000");
    fake_sys_put(sys, CHIPS "hwmon2/power1_is_battery", "1");
    fake_sys_put(sys, CHIPS "hwmon3/name", "power_meter");
    fake_sys_put(sys, CHIPS "hwmon3/power1_average", "7000000");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 2);
    assert_int_equal(search.n_notes, 1);
    adept_sensor *sensor = sensor_called(&search, "power-meter-0");
    assert_int_equal(sensor->component, ADEPT_COMPONENT_NODE);
    assert_string_equal(sensor->device, "PM-1");
    assert_float_equal(sensor->refresh_s, 1, 1e-12);
    assert_float_equal(sensor->accuracy, 0.05, 1e-12);
    assert_float_equal(read_sensor(sensor, ADEPT_OK).power_w, 345, 1e-9);
    sensor = sensor_called(&search, "power-meter-1");
    assert_float_equal(sensor->accuracy + sensor->refresh_s, 0, 0);
    assert_float_equal(read_sensor(sensor, ADEPT_OK).power_w, 7, 1e-9);
    adept_sensors_close(&search);
}

/* Chips of rails get a note; a battery's or a charger's chip, and those without power, get none. */
static void test_other_chips(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, CHIPS "hwmon0/name", "ina226");
    fake_sys_put(sys, CHIPS "hwmon0/power1_input", "5000000");
    fake_sys_put(sys, CHIPS "hwmon1/name", "BAT0");
    fake_sys_put(sys, CHIPS "hwmon1/power1_input", "5000000");
    fake_sys_put(sys, CHIPS "hwmon1/device/type", "Battery");
    fake_sys_put(sys, CHIPS "hwmon2/name", "coretemp");
    fake_sys_put(sys, CHIPS "hwmon3/power1_input", "5000000");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 0);
    assert_int_equal(search.n_notes, 1);
    assert_non_null(strstr(note_called(&search, "ina226")->why, "hwmon0"));
    adept_sensors_close(&search);
}

static bool is_denied(void *context)
{
    adept_sensor_search search = search_fake(context, &adept_sensor_kind_hwmon);
    const adept_sensor_note *note = note_called(&search, "power-meter-0");
    bool is_fine =
        search.n_sensors == 0 && strstr(note->why, "Permission denied") && strstr(note->help, "power1_average");

    adept_sensors_close(&search);
    return is_fine;
}

static void test_denied(void **state)
{
    fake_sys_put(*state, CHIPS "hwmon0/name", "power_meter");
    fake_sys_put(*state, CHIPS "hwmon0/power1_average", "345000000");
    fake_sys_deny(*state, CHIPS "hwmon0/power1_average");
    assert_true(fake_sys_as_nobody(is_denied, *state));
}

static void test_batteries(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, SUPPLIES "AC/type", "Mains");
    fake_sys_put(sys, SUPPLIES "AC/power_now", "65000000");
    fake_sys_put(sys, SUPPLIES "BAT0/type", "Battery");
    fake_sys_put(sys, SUPPLIES "BAT0/status", "Discharging");
    fake_sys_put(sys, SUPPLIES "BAT0/power_now", "12500000");
    fake_sys_put(sys, SUPPLIES "CMB1/type", "Battery");
    fake_sys_put(sys, SUPPLIES "CMB1/status", "Discharging");
    fake_sys_put(sys, SUPPLIES "CMB1/current_now", "-1500000");
    fake_sys_put(sys, SUPPLIES "CMB1/voltage_now", "12000000");
    fake_sys_put(sys, SUPPLIES "CMB2/type", "Battery");
    fake_sys_put(sys, SUPPLIES "CMB2/current_now", "1500000");
    fake_sys_put(sys, SUPPLIES "hidpp_battery_0/type", "Battery");
    fake_sys_put(sys, SUPPLIES "hidpp_battery_0/scope", "Device");
    fake_sys_put(sys, SUPPLIES "hidpp_battery_0/power_now", "1");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_battery);
    assert_int_equal(search.n_sensors, 2);
    assert_int_equal(search.n_notes, 1);
    assert_non_null(strstr(note_called(&search, "battery-2")->why, "CMB2"));

    adept_sensor *sensor = sensor_called(&search, "battery-0");
    assert_int_equal(sensor->component, ADEPT_COMPONENT_BATTERY);
    assert_string_equal(sensor->device, "BAT0");
    assert_null(sensor->gauges[0].name);
    assert_float_equal(read_sensor(sensor, ADEPT_OK).power_w, 12.5, 1e-9);
    static const char *const others[] = {"Charging", "Full", "Not charging", "Unknown", ""};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        fake_sys_put(sys, SUPPLIES "BAT0/status", "%s", others[i]);
        assert_true(isnan(read_sensor(sensor, ADEPT_OK).power_w));
    }
    fake_sys_remove(sys, SUPPLIES "BAT0/status");
    assert_true(isnan(read_sensor(sensor, ADEPT_OK).power_w));
    fake_sys_remove(sys, SUPPLIES "BAT0/power_now");
    assert_true(isnan(read_sensor(sensor, ADEPT_E_IO).power_w));

    sensor = sensor_called(&search, "battery-1");
    assert_string_equal(sensor->gauges[0].name, "voltage_v");
    adept_reading reading = read_sensor(sensor, ADEPT_OK);
    assert_float_equal(reading.power_w, 18, 1e-9);
    assert_float_equal(reading.gauges[0], 12, 1e-9);
    fake_sys_put(sys, SUPPLIES "CMB1/voltage_now", "%s", "");
    assert_true(isnan(read_sensor(sensor, ADEPT_OK).power_w));
    adept_sensors_close(&search);
}

/* No library of ROCm is found by this test, unless the machine has one: then it says that there is no GPU, or nothing.
 */
static void test_no_rocm(void **state)
{
    fake_sys_put(*state, "/sys/module/amdgpu/version", "6");
    adept_sensor_search search = search_fake(*state, &adept_sensor_kind_rocm);
    if (search.n_notes > 0) assert_non_null(strstr(note_called(&search, "rocm")->help, "rocm-smi-lib"));
    adept_sensors_close(&search);
}

static void test_nothing(void **state)
{
    finds_nothing(*state, &adept_sensor_kind_hwmon);
    finds_nothing(*state, &adept_sensor_kind_battery);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_amd_gpus, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_apu, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_sockets, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_power_meters, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_other_chips, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_denied, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_batteries, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_no_rocm, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_nothing, make_fake_sys, free_fake_sys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
