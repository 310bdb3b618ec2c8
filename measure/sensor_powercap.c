/** @file sensor_powercap.c  RAPL counters of Intel and AMD by the powercap framework
 * (Documentation/power/powercap/powercap.rst). A zone says what it is in its file `name`; its number is the one in its
 * folder's name, never its place in a listing. The zones intel-rapl-mmio:* are the same packages, read through another
 * register window: they count where there are no others. */
#include "sysfs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "/sys/class/powercap"
/* The counter is the low 32 bits of a register (ENERGY_STATUS_MASK in intel_rapl_common.c): so many steps. */
#define STEPS 4294967296.0
#define REFRESH_S 1e-3 /* Intel SDM volume 3B, "RAPL interfaces": the counters are updated about every millisecond */
/* Constraint 0 states the thermal design power, and turbo draws more for seconds: 157 W of a 55 W i9-12950HX. */
#define TURBO 4.0
#define MOST_POWER_W 2000.0 /* of zones that state none; the largest package of 2025 is designed for 500 W */

static const struct {
    const char *zone; /* its name, or how that begins before "-0" */
    adept_component component;
    const char *name;
} zones[] = {
    {"package", ADEPT_COMPONENT_CPU, "cpu"},      {"core", ADEPT_COMPONENT_CORES, "cores"},
    {"uncore", ADEPT_COMPONENT_UNCORE, "uncore"}, {"dram", ADEPT_COMPONENT_DRAM, "dram"},
    {"psys", ADEPT_COMPONENT_PSYS, "psys"},
};

static void find_zone(adept_sensor_search *search, const char *folder, void *context)
{
    char zone[64], number[32], name[64];
    size_t *n_zones = context;
    adept_sysfs files = {0};
    size_t i = 0;

    if (!strchr(folder, ':')) return; /* what holds the zones */
    ++*n_zones;
    if (!adept_sysfs_text(zone, sizeof zone, search, folder, "name")) return;
    size_t length = strcspn(zone, "-");
    while (i < sizeof zones / sizeof zones[0] &&
           (strlen(zones[i].zone) != length || memcmp(zone, zones[i].zone, length) != 0))
        i++;
    if (i == sizeof zones / sizeof zones[0]) return;
    /* "-0", "-0-die-1" or "" behind the name of a zone, or of the package that a zone is a part of: intel-rapl:0:2 of
     * intel-rapl:0. */
    char parent[512], above[64];
    const char *last = strrchr(folder, ':'), *behind = strchr(zone, '-');
    if (!behind && last != strchr(folder, ':')) {
        snprintf(parent, sizeof parent, "%.*s", (int)(last - folder), folder);
        adept_sysfs_text(above, sizeof above, search, parent, "name");
        behind = strchr(above, '-');
    }
    snprintf(number, sizeof number, "%s", behind ? behind : "");
    /* A name that no other zone has: two are called package-0 on some machines. */
    bool is_taken = false;
    snprintf(name, sizeof name, "%s%s", zones[i].name, number);
    for (size_t k = 0; k < search->n_sensors; k++)
        is_taken = is_taken || strcmp(search->sensors[k]->name, name) == 0;
    for (size_t k = 0; k < search->n_notes; k++)
        is_taken = is_taken || strcmp(search->notes[k].name, name) == 0;
    if (is_taken) {
        snprintf(name, sizeof name, "%s%s-zone-%.16s", zones[i].name, number, strchr(folder, ':') + 1);
        for (char *colon; (colon = strchr(name, ':'));)
            *colon = '-';
    }
    if (zones[i].component == ADEPT_COMPONENT_CORES && adept_sysfs_is_amd(search)) {
        /* MSR C001_029A is each core's own: the zone shows that of whichever CPU reads it. */
        adept_sensor_missing(search, name, "",
                             "%s: AMD's counter is that of one core, not of all cores of the package: left out",
                             folder);
        return;
    }
    /* Since Linux 5.10 only root may read it: CVE-2020-8694, powers tell keys. */
    if (!adept_sysfs_watch(search, &files, folder, "energy_uj", 1e-6, offsetof(adept_reading, energy_j))) {
        adept_sysfs_missing(search, name, folder, "energy_uj");
        return;
    }
    adept_sensor *sensor = adept_sysfs_add(search, &adept_sensor_kind_powercap, &files, zones[i].component, name);
    if (!sensor) return;
    double range_j = 1e-6 * adept_sysfs_number(search, folder, "max_energy_range_uj");
    double design_w = 1e-6 * adept_sysfs_number(search, folder, "constraint_0_max_power_uw");
    snprintf(sensor->device, sizeof sensor->device, "RAPL zone %s", zone);
    const char *die = strstr(number, "-die");
    snprintf(sensor->package, sizeof sensor->package, "%.*s", die ? (int)(die - number) : (int)strlen(number), number);
    sensor->range_j = range_j > 0 ? range_j : 0;
    sensor->resolution_j = sensor->range_j / STEPS;
    sensor->most_power_w = design_w > 0 ? TURBO * design_w : MOST_POWER_W;
    sensor->refresh_s = REFRESH_S;
}

static void find(adept_sensor_search *search)
{
    size_t known = search->n_sensors + search->n_notes;
    size_t n_zones = 0;

    adept_sysfs_each(search, FOLDER, "intel-rapl:", find_zone, &n_zones);
    if (n_zones == 0) adept_sysfs_each(search, FOLDER, "intel-rapl-", find_zone, &n_zones);
    if (search->n_sensors + search->n_notes > known) return;
    if (n_zones == 0)
        adept_sensor_missing(search, "powercap", "a virtual machine has none; elsewhere: modprobe intel_rapl_msr",
                             "no zone intel-rapl:* in " FOLDER);
    else /* Docker and its kin lay an empty folder over /sys/devices/virtual/powercap, where these links lead */
        adept_sensor_missing(search, "powercap", "in a container: docker run --security-opt systempaths=unconfined",
                             "the zones in " FOLDER " are hidden");
}

const adept_sensor_kind adept_sensor_kind_powercap = {
    .name = "powercap",
    .what = "RAPL energy counters of Intel and AMD in " FOLDER ": packages, cores, DRAM, platform",
    .find = find,
    .read = adept_sysfs_read,
    .close = adept_sysfs_close,
};
