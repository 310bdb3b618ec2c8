/** @file sensor_hwmon.c  Power and energy by hwmon (Documentation/hwmon/sysfs-interface.rst; microwatts, microjoules)
 * of the chips whose meaning is known: amdgpu, i915, xe, amd_energy, power_meter. Others with power readings (ina226,
 * nct6683, corsairpsu, PMBus) sit on rails that only the board's designer knows: adding them up would count things
 * twice, so they get a note. */
#include "sysfs.h"
#include "adept_append.h"
#include "adept_number.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/sys/class/hwmon"
#define INTO(field) offsetof(adept_reading, field)

/* Does a file tell a power now: a number that is none of those that say nothing? */
static bool tells_power(adept_sensor_search *search, const char *folder, const char *file)
{
    return adept_sysfs_number(search, folder, file) > 0;
}

/* The mean power, or where there is none the present one; of two, one that tells something.
 * @return false: neither can be read, which is a note */
static bool watch_power(adept_sensor_search *search, adept_sysfs *files, const char *folder, const char *name)
{
    bool is_other = !tells_power(search, folder, "power1_average") && tells_power(search, folder, "power1_input");

    if (!is_other && adept_sysfs_watch(search, files, folder, "power1_average", 1e-6, INTO(power_w))) return true;
    int why = errno;
    if (adept_sysfs_watch(search, files, folder, "power1_input", 1e-6, INTO(power_w))) return true;
    is_other = errno != ENOENT;
    if (!is_other) errno = why;
    adept_sysfs_missing(search, name, folder, is_other ? "power1_input" : "power1_average");
    return false;
}

static bool is_cpu_read(const adept_sensor_search *search)
{
    return adept_sensors_found(search, &adept_sensor_kind_powercap, ADEPT_COMPONENT_CPU) > 0 ||
           adept_sensors_found(search, &adept_sensor_kind_perf, ADEPT_COMPONENT_CPU) > 0;
}

/* The last part of where the link `device` leads: "0000:03:00.0" of a PCI device. */
static void find_address(char *address, size_t size, adept_sensor_search *search, const char *folder)
{
    char target[512];
    char *path = adept_sensor_path(&search->settings, "%s/device", folder);
    ssize_t n = path ? readlink(path, target, sizeof target - 1) : -1;

    if (n < 0) adept_search_lacks(search, path ? errno : ENOMEM);
    free(path);
    target[n > 0 ? n : 0] = '\0';
    const char *last = strrchr(target, '/');
    snprintf(address, size, "%.31s", last ? last + 1 : target);
}

/* A board has one chip, and where the driver shows its partitions as devices, perhaps several. That rocm reads it needs
 * no word. */
static bool is_read_already(adept_sensor_search *search, const char *address, const char *folder)
{
    char place[32];

    snprintf(place, sizeof place, "%.*s", (int)strcspn(address, "."), address);
    const adept_sensor *other = adept_sensor_at(search, strchr(place, ':') ? place : "");
    if (other && other->kind == &adept_sensor_kind_hwmon)
        adept_sensor_missing(search, strrchr(folder, '/') + 1, "", "%s: of the board at %s, which counts once, as %s",
                             folder, address, other->name);
    return other != NULL;
}

static void name_board(char *name, size_t size, const adept_sensor_search *search, const char *maker)
{
    size_t n = 0, length = (size_t)snprintf(name, size, "gpu-%s-", maker);

    for (size_t i = 0; i < search->n_sensors; i++)
        n += strncmp(search->sensors[i]->name, name, length) == 0;
    snprintf(name, size, "gpu-%s-%zu", maker, n);
}

static void add_amdgpu(adept_sensor_search *search, const char *folder, adept_component component, const char *name,
                       const char *device)
{
    static const struct {
        const char *file, *gauge;
        double unit;
    } gauges[] = {{"freq1_input", "sm_clock_hz", 1},
                  {"freq2_input", "memory_clock_hz", 1},
                  {"power1_cap", "power_limit_w", 1e-6}};
    adept_sysfs files = {0};
    adept_gauge found[ADEPT_MOST_GAUGES] = {{NULL}};
    size_t n = 0;

    if (!watch_power(search, &files, folder, name)) return;
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++)
        if (adept_sysfs_watch(search, &files, folder, gauges[i].file, gauges[i].unit, INTO(gauges[n])))
            found[n++].name = gauges[i].gauge;
    adept_sensor *sensor = adept_sysfs_add(search, &adept_sensor_kind_hwmon, &files, component, name);
    if (!sensor) return;
    memcpy(sensor->gauges, found, sizeof found);
    snprintf(sensor->device, sizeof sensor->device, "%s", device);
    sensor->most_power_w = ADEPT_PEAK * adept_sysfs_limit_w(search, folder);
    /* "Valid power data is available only from primary die" (aldebaran_ppt.c): the second one of an MI250 says 0, and
     * so does a board that sleeps, which may wake up. */
    sensor->is_doubtful = true;
    sensor->is_slow = true; /* each reading asks the GPU's firmware, and may wake the GPU up */
}

/* The section "GPU Power/Thermal Controls and Monitoring" of the kernel's amdgpu documentation: power1_average or
 * (newer GPUs) power1_input, power1_cap; freq1_input and freq2_input are the compute and the memory clock in hertz. An
 * APU's power is that of the whole chip, so it is the CPU's; only APUs have in1_input (amdgpu_pm.c). */
static void find_amdgpu(adept_sensor_search *search, const char *folder)
{
    char address[32], name[64], device[64];

    if (!isnan(adept_sysfs_number(search, folder, "in1_input"))) {
        snprintf(name, sizeof name, "apu-%zu",
                 adept_sensors_found(search, &adept_sensor_kind_hwmon, ADEPT_COMPONENT_CPU));
        if (!is_cpu_read(search)) add_amdgpu(search, folder, ADEPT_COMPONENT_CPU, name, "AMD APU, cores and graphics");
        return;
    }
    find_address(address, sizeof address, search, folder);
    name_board(name, sizeof name, search, "amd");
    snprintf(device, sizeof device, "AMD GPU %s", address);
    if (!is_read_already(search, address, folder)) add_amdgpu(search, folder, ADEPT_COMPONENT_GPU, name, device);
}

/* Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon and -xe-hwmon: energy1_input is of the board, of some boards
 * of xe only energy2_input, of the package, is there; neither tells power. They have chips for boards only, not for
 * what is in a processor. */
static void find_intel_board(adept_sensor_search *search, const char *folder)
{
    char address[32], name[64];
    const char *file = "energy1_input";
    adept_sysfs files = {0};

    find_address(address, sizeof address, search, folder);
    if (is_read_already(search, address, folder)) return;
    name_board(name, sizeof name, search, "intel");
    bool is_there = adept_sysfs_watch(search, &files, folder, file, 1e-6, INTO(energy_j));
    if (!is_there && errno == ENOENT) {
        is_there = adept_sysfs_watch(search, &files, folder, "energy2_input", 1e-6, INTO(energy_j));
        if (is_there) file = "energy2_input";
    }
    if (!is_there) {
        adept_sysfs_missing(search, name, folder, file);
        return;
    }
    adept_sensor *sensor = adept_sysfs_add(search, &adept_sensor_kind_hwmon, &files, ADEPT_COMPONENT_GPU, name);
    if (!sensor) return;
    snprintf(sensor->device, sizeof sensor->device, "Intel GPU %s", address);
    sensor->most_power_w = ADEPT_PEAK * adept_sysfs_limit_w(search, folder);
    sensor->is_slow = true; /* it may wake the board up */
}

/* What a meter is of, in the words of NVIDIA's Grace ("Module Power Socket 0", in the file power1_oem_info): a module
 * has the processor and the GPU on it, the processor its cores, its other parts and, as NVIDIA has it, its memory.
 * Without such a word it is of the machine, or of the socket that it names. */
#define BIT(name) (1u << ADEPT_COMPONENT_##name)
static const struct {
    const char *word;
    unsigned width, contains;
} rails[] = {
    {"Module", 3, BIT(NODE) | BIT(CPU) | BIT(CORES) | BIT(UNCORE) | BIT(DRAM) | BIT(GPU)},
    {"Grace", 2, BIT(NODE) | BIT(CPU) | BIT(CORES) | BIT(UNCORE) | BIT(DRAM)},
    {"CPU", 1, BIT(CORES)},
    {"SysIO", 1, ADEPT_SOLITARY},
    {"DRAM", 1, BIT(DRAM)},
    {"GPU", 2, BIT(GPU)}, /* beside the processor */
};

static void take_label(adept_sensor *sensor, const char *label)
{
    const char *socket = strcasestr(label, "Socket ");

    sensor->width = ADEPT_WIDTH_ACPI;
    if (socket)
        snprintf(sensor->package, sizeof sensor->package, "-%.*s", (int)strspn(socket + 7, "0123456789"), socket + 7);
    for (size_t i = 0; i < sizeof rails / sizeof *rails; i++)
        if (strncasecmp(label, rails[i].word, strlen(rails[i].word)) == 0) {
            sensor->width = rails[i].width;
            sensor->contains = rails[i].contains;
            return;
        }
}

/* Meters of ACPI: model and serial number, "" where it says none, and the name of each. */
typedef struct meters {
    char identity[16][96], name[16][64];
    size_t n, n_unlabelled;
} meters;
#define MEASURED_BYTES 64 /* of what a meter says that it measures */

/* A meter that is listed twice counts once: what has the same model and serial number. @return  as which; NULL: it is
 * new, or says nothing */
static const char *listed_before(meters *seen, adept_sensor_search *search, const char *folder, const char *name)
{
    char model[40], serial[40], identity[96] = "";

    if (adept_sysfs_text(serial, sizeof serial, search, folder, "power1_serial_number") &&
        strspn(serial, " 0") < strlen(serial)) {
        if (!adept_sysfs_text(model, sizeof model, search, folder, "power1_model_number")) model[0] = '\0';
        snprintf(identity, sizeof identity, "%s %s", model, serial);
    }
    for (size_t i = 0; i < seen->n; i++)
        if (*identity && strcmp(seen->identity[i], identity) == 0) return seen->name[i];
    if (seen->n == sizeof seen->name / sizeof *seen->name) return NULL;
    snprintf(seen->identity[seen->n], sizeof *seen->identity, "%s", identity);
    snprintf(seen->name[seen->n++], sizeof *seen->name, "%s", name);
    return NULL;
}

static void add_link(adept_sensor_search *search, const char *entry, void *context)
{
    const char *name = strrchr(entry, '/') + 1;

    (void)search;
    if (*name != '.') adept_append(context, MEASURED_BYTES, "%s%s", *(char *)context ? ", " : "", name);
}

/* Documentation/hwmon/acpi_power_meter.rst: mean power of what the meter measures, as a rule the machine. Devices of
 * ACPI that it measures are links in a folder, "LNXSYSTM:00". Of several meters without a label nobody knows whether
 * they are of a power supply each or one around another: they are added up, and say so. */
static void find_power_meter(adept_sensor_search *search, const char *folder, meters *seen)
{
    static const char *const labels[] = {"power1_oem_info", "power1_label", "power1_model_number"};
    char accuracy[64], name[64], links[512], measured[MEASURED_BYTES] = "";
    adept_sysfs files = {0};

    if (adept_sysfs_number(search, folder, "power1_is_battery") == 1) return; /* sensor_battery.c */
    snprintf(name, sizeof name, "power-meter-%zu",
             adept_sensors_found(search, &adept_sensor_kind_hwmon, ADEPT_COMPONENT_NODE));
    const char *before = listed_before(seen, search, folder, name);
    if (before) {
        adept_sensor_missing(search, strrchr(folder, '/') + 1, "", "%s: has model and serial number of %s: counts once",
                             folder, before);
        return;
    }
    if (!watch_power(search, &files, folder, name)) return;
    adept_sensor *sensor = adept_sysfs_add(search, &adept_sensor_kind_hwmon, &files, ADEPT_COMPONENT_NODE, name);
    if (!sensor) return;
    double interval_s = 1e-3 * adept_sysfs_number(search, folder, "power1_average_interval");
    for (size_t i = 0; i < sizeof labels / sizeof *labels && strspn(sensor->device, " ") == strlen(sensor->device); i++)
        adept_sysfs_text(sensor->device, sizeof sensor->device, search, folder, labels[i]);
    if (strspn(sensor->device, " ") == strlen(sensor->device)) sensor->device[0] = '\0';
    take_label(sensor, sensor->device);
    if (!sensor->device[0]) snprintf(sensor->device, sizeof sensor->device, "ACPI power meter");
    const bool is_device = strcmp(strrchr(folder, '/'), "/device") == 0;
    snprintf(links, sizeof links, "%.400s/%smeasures", folder, is_device ? "" : "device/");
    adept_sysfs_each(search, links, "", add_link, measured);
    if (*measured) adept_append(sensor->device, sizeof sensor->device, " of %s", measured);
    if (!sensor->contains && !*sensor->package && seen->n_unlabelled++ > 0)
        adept_append(sensor->device, sizeof sensor->device, ", added to the other: none says of what it is");
    /* "95.0%" is the share that is right: ACPI specification, _PMC */
    adept_sysfs_text(accuracy, sizeof accuracy, search, folder, "power1_accuracy");
    if (adept_number_length(accuracy) > 0) sensor->accuracy = 1 - 0.01 * adept_number_value(accuracy);
    sensor->refresh_s = sensor->mean_s = interval_s > 0 ? interval_s : 0;
    sensor->most_power_w = ADEPT_PEAK * adept_sysfs_limit_w(search, folder);
    sensor->is_slow = true; /* firmware, over IPMI: up to 100 ms */
}

/* amd_energy (Linux 5.8 to 5.12, then a module of AMD's own): energyN_label "Esocket0", which is the driver's 64-bit
 * sum. */
static void find_sockets(adept_sensor_search *search, const char *folder)
{
    char file[32], label[64], name[64];

    if (is_cpu_read(search)) return;
    for (int n = 1;; n++) {
        adept_sysfs files = {0};
        snprintf(file, sizeof file, "energy%d_label", n);
        if (!adept_sysfs_text(label, sizeof label, search, folder, file)) return;
        if (strncmp(label, "Esocket", 7) != 0) continue; /* "Ecore000": part of a socket */
        snprintf(file, sizeof file, "energy%d_input", n);
        snprintf(name, sizeof name, "cpu-%.40s", label + 7);
        if (!adept_sysfs_watch(search, &files, folder, file, 1e-6, INTO(energy_j))) {
            adept_sysfs_missing(search, name, folder, file);
            continue;
        }
        adept_sensor *sensor = adept_sysfs_add(search, &adept_sensor_kind_hwmon, &files, ADEPT_COMPONENT_CPU, name);
        if (sensor) snprintf(sensor->device, sizeof sensor->device, "amd_energy %s", label);
    }
}

static void find_chip(adept_sensor_search *search, const char *folder, void *context)
{
    char name[64], device[512];

    if (!adept_sysfs_text(name, sizeof name, search, folder, "name")) {
        int why = errno;
        /* where drivers of an older kind have their files: ACPI's meter */
        snprintf(device, sizeof device, "%.500s/device", folder);
        if (why == ENOENT && adept_sysfs_text(name, sizeof name, search, device, "name")) folder = device;
        errno = why;
        if (folder != device && why != ENOENT) adept_sysfs_missing(search, strrchr(folder, '/') + 1, folder, "name");
        if (folder != device) return;
    }
    if (strcmp(name, "amdgpu") == 0)
        find_amdgpu(search, folder);
    else if (strcmp(name, "i915") == 0 || strcmp(name, "xe") == 0)
        find_intel_board(search, folder);
    else if (strncmp(name, "i915_", 5) == 0) {
        /* The tiles of a board of i915 have chips of their own beside the board's. */
        adept_sensor_missing(search, name, "", "%s: a part of the board, whose own counter is read: left out", folder);
    } else if (strcmp(name, "power_meter") == 0)
        find_power_meter(search, folder, context);
    else if (strcmp(name, "amd_energy") == 0)
        find_sockets(search, folder);
    else {
        char type[64];
        bool has_power = !isnan(adept_sysfs_number(search, folder, "power1_input")) ||
                         !isnan(adept_sysfs_number(search, folder, "power1_average"));
        /* A battery or a charger has a chip too, and says what it is: sensor_battery.c */
        if (has_power && !adept_sysfs_text(type, sizeof type, search, folder, "device/type"))
            adept_sensor_missing(search, name, "", "%s: what it measures is not known, so its power is left out",
                                 folder);
    }
}

static void find(adept_sensor_search *search)
{
    meters seen = {.n = 0};

    adept_sysfs_each(search, FOLDER, "hwmon", find_chip, &seen);
}

const adept_sensor_kind adept_sensor_kind_hwmon = {
    .name = "hwmon",
    .what = "AMD GPUs without ROCm, Intel's GPUs, AMD sockets by amd_energy, ACPI power meters, in " FOLDER,
    .find = find,
    .read = adept_sysfs_read,
    .close = adept_sysfs_close,
    .rank = 2,
};
