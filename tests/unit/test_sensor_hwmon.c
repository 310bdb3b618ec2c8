/* hwmon chips and batteries: AMD GPUs and APUs, sockets, ACPI power meters, and what is left out. */
#include "sensor_checks.h"
#include "sysfs.h"
#include "cmocka_test.h"

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
    adept_sensor_search search = search_kinds(
        sys, (const adept_sensor_kind *const[]){&adept_sensor_kind_hwmon, &adept_sensor_kind_powercap, NULL});
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
    fake_sys_put(sys, CHIPS "hwmon12/name", "amdgpu"); /* the second die of a board, or one that sleeps */
    fake_sys_put(sys, CHIPS "hwmon12/power1_average", "0");
    fake_sys_put(sys, CHIPS "hwmon13/name", "amdgpu"); /* the first one once more */
    fake_sys_link(sys, CHIPS "hwmon13/device", "../../../0000:f1:00.1");
    fake_sys_put(sys, CHIPS "hwmon13/power1_average", "203000000");
    fake_sys_put(sys, CHIPS "hwmon14/name", "amdgpu"); /* one of its two files says nothing */
    fake_sys_put(sys, CHIPS "hwmon14/power1_average", "65535000000");
    fake_sys_put(sys, CHIPS "hwmon14/power1_input", "44000000");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 4);
    assert_int_equal(search.n_notes, 1);
    assert_non_null(strstr(note_called(&search, "hwmon13")->why, "counts once, as gpu-amd-0"));
    assert_float_equal(read_sensor(sensor_called(&search, "gpu-amd-2"), ADEPT_OK).power_w, 0, 0);
    assert_true(sensor_called(&search, "gpu-amd-2")->is_doubtful);
    assert_float_equal(read_sensor(sensor_called(&search, "gpu-amd-3"), ADEPT_OK).power_w, 44, 1e-9);
    assert_float_equal(sensor_called(&search, "gpu-amd-0")->most_power_w, 900, 1e-9); /* three times its limit */

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

/* i915 and xe count energy; a tile of a board is in the board's number; a board is read once. */
static void test_intel_gpus(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, CHIPS "hwmon1/name", "i915");
    fake_sys_link(sys, CHIPS "hwmon1/device", "../../../0000:03:00.0");
    fake_drive *drive = fake_sys_drive(sys, CHIPS "hwmon1/energy1_input", watts_120_uj, 5e6, 0);
    fake_sys_put(sys, CHIPS "hwmon1/power1_max", "190000000");
    fake_sys_put(sys, CHIPS "hwmon2/name", "i915_gt0");
    fake_sys_put(sys, CHIPS "hwmon2/energy1_input", "7");
    fake_sys_put(sys, CHIPS "hwmon3/name", "xe");
    fake_sys_link(sys, CHIPS "hwmon3/device", "../../../0000:04:00.0");
    fake_sys_put(sys, CHIPS "hwmon3/energy2_input", "9000000");
    fake_sys_put(sys, CHIPS "hwmon4/name", "xe");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 2);
    assert_int_equal(search.n_notes, 2);
    assert_non_null(strstr(note_called(&search, "i915_gt0")->why, "a part of the board"));
    assert_non_null(strstr(note_called(&search, "gpu-intel-2")->why, "energy1_input: No such file"));
    adept_sensor *sensor = sensor_called(&search, "gpu-intel-0");
    assert_int_equal(sensor->component, ADEPT_COMPONENT_GPU);
    assert_string_equal(sensor->device, "Intel GPU 0000:03:00.0");
    assert_float_equal(sensor->most_power_w, 570, 1e-9);
    double first_j = read_sensor(sensor, ADEPT_OK).energy_j;
    fake_drive_to(drive, 0.3);
    assert_float_equal(read_sensor(sensor, ADEPT_OK).energy_j - first_j, 36, 1e-5);
    assert_float_equal(read_sensor(sensor_called(&search, "gpu-intel-1"), ADEPT_OK).energy_j, 9, 1e-9);
    adept_sensors_close(&search);
}

static void put_rail(fake_sys *sys, int number, const char *label, double power_w)
{
    char path[80];

    snprintf(path, sizeof path, CHIPS "hwmon%d/device/name", number); /* an older driver's files */
    fake_sys_put(sys, path, "power_meter");
    snprintf(path, sizeof path, CHIPS "hwmon%d/device/power1_oem_info", number);
    fake_sys_put(sys, path, "%s", label);
    snprintf(path, sizeof path, CHIPS "hwmon%d/device/power1_average", number);
    fake_sys_put(sys, path, "%.0f", 1e6 * power_w);
}

/* NVIDIA's Grace: a module around Grace around its rails, for each socket; a meter of the machine is around the
 * modules. */
static void test_meters_within_meters(void **state)
{
    static const char *const inside[][2] = {{"power-meter-0", "power-meter-1"}, {"power-meter-1", "power-meter-2"},
                                            {"power-meter-2", "power-meter-8"}, {"power-meter-3", "power-meter-1"},
                                            {"power-meter-4", "power-meter-5"}, {"power-meter-5", "power-meter-6"},
                                            {"power-meter-6", "power-meter-8"}, {"power-meter-7", "power-meter-5"},
                                            {"power-meter-8", ""}};
    fake_sys *sys = *state;

    for (int socket = 0; socket < 2; socket++) {
        const char *const labels[] = {"CPU Power Socket ", "Grace Power Socket ", "Module Power Socket ",
                                      "SysIO Power Socket "};
        for (int i = 0; i < 4; i++) {
            char label[64];
            snprintf(label, sizeof label, "%s%d", labels[i], socket);
            put_rail(sys, 4 * socket + i, label, 100 + i);
        }
    }
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(sensor_called(&search, inside[i][0])->inside, i % 4 == 2 ? "" : inside[i][1]);
    assert_string_equal(sensor_called(&search, "power-meter-2")->device, "Module Power Socket 0");
    adept_sensors_close(&search);

    fake_sys_put(sys, CHIPS "hwmon20/name", "power_meter");
    fake_sys_put(sys, CHIPS "hwmon20/power1_average", "900000000");
    search = search_fake(sys, &adept_sensor_kind_hwmon);
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (strcmp(sensor_called(&search, inside[i][0])->inside, inside[i][1]) != 0)
            fail_msg("%s is inside '%s' instead of '%s'", inside[i][0], sensor_called(&search, inside[i][0])->inside,
                     inside[i][1]);
    adept_sensors_close(&search);
}

/* A GPU's rail is beside the processor, not in it; a word that is not known is around its own socket. */
static void test_rails_of_a_socket(void **state)
{
    static const char *const labels[] = {"Total Power Socket 1", "GPU Power Socket 0", "Grace Power Socket 0",
                                         "Module Power Socket 0", "Grace Power Socket 1", "Total Power Socket 0"};
    static const char *const inside[] = {"", "power-meter-3", "power-meter-3", "power-meter-5", "power-meter-0", ""};
    fake_sys *sys = *state;

    for (int i = 0; i < 6; i++)
        put_rail(sys, i, labels[i], 100 + i);
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(search.sensors[i]->inside, inside[i]);
    adept_sensors_close(&search);
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
    assert_float_equal(sensor->mean_s, 1, 1e-12);
    assert_float_equal(sensor->accuracy, 0.05, 1e-12);
    assert_float_equal(read_sensor(sensor, ADEPT_OK).power_w, 345, 1e-9);
    sensor = sensor_called(&search, "power-meter-1");
    assert_float_equal(sensor->accuracy + sensor->refresh_s, 0, 0);
    assert_float_equal(read_sensor(sensor, ADEPT_OK).power_w, 7, 1e-9);
    adept_sensors_close(&search);
}

/* A meter that is listed twice counts once; of others that say nothing of what they measure nobody knows. */
static void test_several_power_meters(void **state)
{
    static const char *const models[] = {"PM-1", "PM-1", "PM-1", "PM-2", ""},
                             *const serials[] = {"S7", "S7", "S8", "S7", "000"};
    fake_sys *sys = *state;

    for (int i = 0; i < 5; i++) {
        char path[80];
        snprintf(path, sizeof path, CHIPS "hwmon%d/name", i);
        fake_sys_put(sys, path, "power_meter");
        snprintf(path, sizeof path, CHIPS "hwmon%d/power1_average", i);
        fake_sys_put(sys, path, "%d000000", 100 + i);
        snprintf(path, sizeof path, CHIPS "hwmon%d/power1_model_number", i);
        fake_sys_put(sys, path, "%s", models[i]);
        snprintf(path, sizeof path, CHIPS "hwmon%d/power1_serial_number", i);
        fake_sys_put(sys, path, "%s", serials[i]);
    }
    fake_sys_link(sys, CHIPS "hwmon0/device/measures/LNXSYSTM:00", "../../LNXSYSTM:00");
    fake_sys_link(sys, CHIPS "hwmon0/device/measures/device:3a", "../../device:3a");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_hwmon);
    assert_int_equal(search.n_sensors, 4);
    assert_int_equal(search.n_notes, 1);
    assert_non_null(strstr(note_called(&search, "hwmon1")->why, "serial number of power-meter-0: counts once"));
    assert_string_equal(sensor_called(&search, "power-meter-0")->device, "PM-1 of LNXSYSTM:00, device:3a");
    assert_string_equal(sensor_called(&search, "power-meter-1")->device,
                        "PM-1, added to the other: none says of what it is");
    assert_float_equal(read_sensor(sensor_called(&search, "power-meter-2"), ADEPT_OK).power_w, 103, 1e-9);
    assert_string_equal(sensor_called(&search, "power-meter-3")->device,
                        "ACPI power meter, added to the other: none says of what it is");
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
    assert_true(sensor->is_doubtful);
    adept_reading reading = read_sensor(sensor, ADEPT_OK);
    assert_float_equal(reading.power_w, 18, 1e-9);
    assert_float_equal(reading.gauges[0], 12, 1e-9);
    fake_sys_put(sys, SUPPLIES "CMB1/current_now", "65535000"); /* all ones, as firmware has it */
    reading = read_sensor(sensor, ADEPT_OK);
    assert_true(isnan(reading.power_w) && strstr(reading.why, "all bits set"));
    fake_sys_put(sys, SUPPLIES "CMB1/voltage_now", "%s", "");
    assert_true(isnan(read_sensor(sensor, ADEPT_OK).power_w));
    adept_sensors_close(&search);
}

/* power_now stays 0, and current times voltage says it. */
static void test_battery_whose_power_is_zero(void **state)
{
    fake_sys *sys = *state;

    fake_sys_put(sys, SUPPLIES "BAT0/type", "Battery");
    fake_sys_put(sys, SUPPLIES "BAT0/status", "Discharging");
    fake_sys_put(sys, SUPPLIES "BAT0/power_now", "0");
    fake_sys_put(sys, SUPPLIES "BAT0/current_now", "1100000");
    fake_sys_put(sys, SUPPLIES "BAT0/voltage_now", "11000000");
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_battery);
    adept_sensor *sensor = sensor_called(&search, "battery-0");
    assert_float_equal(read_sensor(sensor, ADEPT_OK).power_w, 12.1, 1e-9);
    fake_sys_put(sys, SUPPLIES "BAT0/power_now", "12500000");
    assert_float_equal(read_sensor(sensor, ADEPT_OK).power_w, 12.5, 1e-9);
    fake_sys_put(sys, SUPPLIES "BAT0/status", "Unknown");
    adept_reading reading = read_sensor(sensor, ADEPT_OK);
    assert_true(isnan(reading.power_w) && strstr(reading.why, "does not discharge"));
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
        cmocka_unit_test_setup_teardown(test_intel_gpus, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_meters_within_meters, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_battery_whose_power_is_zero, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_rails_of_a_socket, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_power_meters, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_several_power_meters, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_other_chips, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_denied, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_batteries, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_no_rocm, make_fake_sys, free_fake_sys),
        cmocka_unit_test_setup_teardown(test_nothing, make_fake_sys, free_fake_sys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
