/** @file sensor_battery.c  What a laptop draws from its battery (Documentation/ABI/testing/sysfs-class-power of Linux).
 * Only while it discharges: the power of a charging battery says nothing of what the machine draws. */
#include "sysfs.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FOLDER "/sys/class/power_supply"
#define INTO(field) offsetof(adept_reading, field)

enum { VOLTAGE, CURRENT };

/* power_now in microwatts; current_now in microamperes and voltage_now in microvolts, which become gauges, where both
 * are there. A battery may have them all, and tell power_now 0 throughout. @return false: it has neither */
static bool watch(adept_sensor_search *search, adept_sysfs *files, bool *has_product, const char *folder)
{
    bool has_power = adept_sysfs_watch(search, files, folder, "power_now", 1e-6, INTO(power_w));
    int why = errno;

    *has_product = !isnan(adept_sysfs_number(search, folder, "voltage_now")) &&
                   adept_sysfs_watch(search, files, folder, "current_now", 1e-6, INTO(gauges[CURRENT])) &&
                   adept_sysfs_watch(search, files, folder, "voltage_now", 1e-6, INTO(gauges[VOLTAGE]));
    if (has_power || *has_product) return true;
    adept_sysfs_end(files);
    errno = why;
    return false;
}

static void find_battery(adept_sensor_search *search, const char *folder, void *context)
{
    char type[32], scope[32], name[64];
    size_t *n = context;
    adept_sysfs files = {0};
    bool has_product = false;

    if (!adept_sysfs_text(type, sizeof type, search, folder, "type") && errno != ENOENT)
        adept_sysfs_missing(search, strrchr(folder, '/') + 1, folder, "type");
    adept_sysfs_text(scope, sizeof scope, search, folder, "scope");
    if (strcmp(type, "Battery") != 0 || strcmp(scope, "Device") == 0) return; /* a charger; the battery of a mouse */
    snprintf(name, sizeof name, "battery-%zu", (*n)++);
    if (!watch(search, &files, &has_product, folder)) {
        adept_sysfs_missing(search, name, folder, "power_now");
        return;
    }
    adept_sensor *sensor = adept_sysfs_add(search, &adept_sensor_kind_battery, &files, ADEPT_COMPONENT_BATTERY, name);
    if (!sensor) return;
    if (has_product) {
        sensor->gauges[VOLTAGE].name = "voltage_v";
        sensor->gauges[CURRENT].name = "current_a";
    }
    sensor->is_doubtful = true; /* as long as it charges, or idles beside another one */
    snprintf(sensor->device, sizeof sensor->device, "%.90s", strrchr(folder, '/') + 1);
    sensor->is_slow = true; /* the embedded controller answers in milliseconds */
}

static void find(adept_sensor_search *search)
{
    size_t n = 0;

    adept_sysfs_each(search, FOLDER, "", find_battery, &n);
}

static adept_status read_battery(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    const adept_sysfs *files = sensor->state;
    char path[512], status[32];
    adept_status result = adept_sysfs_get(files, reading, err);

    const char *power = files->files[0].path;
    snprintf(path, sizeof path, "%.*s/status", (int)(strrchr(power, '/') - power), power);
    double product_w = reading->gauges[VOLTAGE] * reading->gauges[CURRENT];
    if (!(fabs(reading->power_w) > 0) && !isnan(product_w)) reading->power_w = product_w;
    reading->power_w = fabs(reading->power_w); /* some drivers count what leaves as negative */
    if (adept_sensor_text(status, sizeof status, path) && strcmp(status, "Discharging") == 0) return result;
    reading->power_w = NAN;
    reading->why = "it does not discharge";
    return result;
}

const adept_sensor_kind adept_sensor_kind_battery = {
    .name = "battery",
    .what = "power drawn from a battery while it discharges, in " FOLDER,
    .find = find,
    .read = read_battery,
    .close = adept_sysfs_close,
};
