/** @file control_cpu.c  What processors are set to by files of /sys: the governor and the bounds of the clock of every
 * CPU, the power limit of every package. */
#include "control.h"
#include "sysfs.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const adept_control_kind adept_control_governor, adept_control_cpu_power_limit, adept_control_cpu_clock_max,
    adept_control_cpu_clock_min;

/* What find() is doing. */
typedef struct finding {
    adept_controls *list;
    const adept_control_kind *kind;
    const char *file;
    adept_error *err;
    adept_status status;
    bool any; /* also of those that are not wanted */
} finding;

/* A control's state is its folder, with the root in front. */
static void close_folder(adept_control *control)
{
    free(control->state);
}

/* @param folder  below the root; the device's id */
static void add_file(adept_sensor_search *search, finding *f, const char *folder, const char *name)
{
    const char *file = f->file;
    char was[64];

    if (f->status != ADEPT_OK) return;
    if (!adept_sysfs_text(was, sizeof was, search, folder, file)) {
        if (errno != ENOENT)
            f->status =
                adept_error_set(f->err, ADEPT_E_IO, "%s: %s/%s: %s", f->kind->key, folder, file, strerror(errno));
        return;
    }
    f->any = true;
    if (!adept_controls_want(f->list, f->kind, name, "")) return;
    char *path = adept_sensor_path(&search->settings, "%s", folder);
    adept_control *control = path ? adept_controls_add(f->list, f->kind, "%s", name) : NULL;
    if (!control) {
        free(path);
        f->status = adept_no_memory(f->err, f->kind->key);
        return;
    }
    control->state = path;
    snprintf(control->id, sizeof control->id, "%s", folder);
    snprintf(control->was, sizeof control->was, "%s", was);
}

static adept_status find_files(adept_controls *list, const adept_control_kind *kind, const char *file,
                               const char *folder, const char *prefix,
                               void (*each)(adept_sensor_search *, const char *, void *), const char *missing,
                               adept_error *err)
{
    adept_sensor_search search = {.settings = {.sysroot = list->sysroot}};
    finding f = {.list = list, .kind = kind, .file = file, .err = err};

    adept_sysfs_each(&search, folder, prefix, each, &f);
    if (f.status == ADEPT_OK && search.failed)
        f.status = adept_error_set(err, ADEPT_E_IO, "%s: %s: %s", kind->key, folder, strerror(search.failed));
    if (f.status != ADEPT_OK || f.any) return f.status;
    return adept_error_set(err, ADEPT_E_IO, "%s: %s", kind->key, missing);
}

static adept_status set_file(const adept_control *control, const char *file, const char *as_shell, const char *raw,
                             adept_error *err)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", (const char *)control->state, file) < 0)
        return adept_no_memory(err, control->kind->key);
    adept_status status = adept_control_write(control, path, as_shell ? as_shell : path, raw, err);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- governors -------------------------------------- */

/* Documentation/admin-guide/pm/cpufreq.rst, "Policy Interface in sysfs": cpuN/cpufreq is a link to the policy of CPU N.
 * The policy of CPUs that share one is written several times, which does no harm. */
#define CPUS "/sys/devices/system/cpu"
#define GOVERNOR "scaling_governor"

static void take_cpu(adept_sensor_search *search, const char *entry, void *context)
{
    const char *name = strrchr(entry, '/') + 1, *number = name + strlen("cpu");
    char folder[96];

    if (!*number || number[strspn(number, "0123456789")]) return; /* cpufreq, cpuidle */
    snprintf(folder, sizeof folder, "%s/cpufreq", entry);
    add_file(search, context, folder, name);
}

static adept_status find_governors(adept_controls *list, const adept_control_kind *kind, adept_error *err)
{
    return find_files(list, kind, GOVERNOR, CPUS, "cpu", take_cpu,
                      "the kernel sets no clocks here: no " CPUS "/cpu*/cpufreq/" GOVERNOR, err);
}

/* Is the word one of those that the kernel offers, with blanks between? */
static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; *(at += strspn(at, " ")); at += strcspn(at, " "))
        if (length > 0 && strcspn(at, " ") == length && strncmp(at, word, length) == 0) return true;
    return false;
}

static adept_status express_governor(char *raw, size_t size, const adept_control *control, const adept_setting *value,
                                     adept_error *err)
{
    adept_sensor_search nowhere = {.n_sensors = 0}; /* the folder has its root */
    char offered[512];

    if (!adept_sysfs_text(offered, sizeof offered, &nowhere, control->state, "scaling_available_governors"))
        return adept_error_set(err, ADEPT_E_IO, "governor: %s/scaling_available_governors: %s",
                               (const char *)control->state, strerror(errno));
    if (!is_listed(offered, value->word))
        return adept_error_set(err, ADEPT_E_USAGE, "governor: '%.40s' is none of those of %s: %s", value->word,
                               control->name, offered);
    snprintf(raw, size, "%s", value->word);
    return ADEPT_OK;
}

static adept_status set_governor(const adept_control *control, const char *raw, adept_error *err)
{
    return set_file(control, GOVERNOR, CPUS "/cpu*/cpufreq/" GOVERNOR, raw, err);
}

const adept_control_kind adept_control_governor = {
    .key = "governor",
    .device = "cpu",
    .find = find_governors,
    .express = express_governor,
    .set = set_governor,
    .close = close_folder,
};

/* ---------------------------------------------------------------- bounds of clocks ------------------------------- */

/* The same folders: between scaling_min_freq and scaling_max_freq, in kHz, the governor has its choice. */
#define HIGHEST "scaling_max_freq"
#define LOWEST "scaling_min_freq"

static const char *bound_of(const adept_control_kind *kind)
{
    return kind == &adept_control_cpu_clock_max ? HIGHEST : LOWEST;
}

static adept_status find_bounds(adept_controls *list, const adept_control_kind *kind, adept_error *err)
{
    return find_files(list, kind, bound_of(kind), CPUS, "cpu", take_cpu,
                      "the kernel sets no clocks here: no " CPUS "/cpu*/cpufreq/scaling_max_freq", err);
}

static adept_status express_bound(char *raw, size_t size, const adept_control *control, const adept_setting *value,
                                  adept_error *err)
{
    adept_sensor_search nowhere = {.n_sensors = 0};
    double least_hz = 1e3 * adept_sysfs_number(&nowhere, control->state, "cpuinfo_min_freq");
    double most_hz = 1e3 * adept_sysfs_number(&nowhere, control->state, "cpuinfo_max_freq");

    if (nowhere.failed || isnan(least_hz) || isnan(most_hz))
        return adept_error_set(err, ADEPT_E_IO, "%s: %s: its range is not known: %s/cpuinfo_*_freq", control->kind->key,
                               control->name, (const char *)control->state);
    snprintf(raw, size, "%.0f", 1e-3 * value->number);
    return adept_control_in_range(control, value->number, least_hz, most_hz, "Hz", err);
}

static adept_status set_bound(const adept_control *control, const char *raw, adept_error *err)
{
    return set_file(control, bound_of(control->kind),
                    control->kind == &adept_control_cpu_clock_max ? CPUS "/cpu*/cpufreq/" HIGHEST
                                                                  : CPUS "/cpu*/cpufreq/" LOWEST,
                    raw, err);
}

#define BOUND(name, word)                                                                                              \
    const adept_control_kind name = {.key = word, .device = "cpu", .find = find_bounds, .express = express_bound,      \
                                     .set = set_bound, .close = close_folder, .unit = 1e3}
BOUND(adept_control_cpu_clock_max, "cpu_clock_max_hz");
BOUND(adept_control_cpu_clock_min, "cpu_clock_min_hz");

/* ---------------------------------------------------------------- power limits of packages ----------------------- */

/* Documentation/power/powercap/powercap.rst. Constraint 0 of a package is the one over the longer time, "long_term",
 * which holds the mean power; the kernel numbers it first (intel_rapl_common.c). */
#define ZONES "/sys/class/powercap"
#define LIMIT "constraint_0_power_limit_uw"

static void take_zone(adept_sensor_search *search, const char *entry, void *context)
{
    char name[32], package[32];

    if (strchr(strchr(entry, ':') + 1, ':')) return; /* a part of a package */
    if (!adept_sysfs_text(package, sizeof package, search, entry, "name") ||
        strncmp(package, "package", strlen("package")) != 0)
        return;
    snprintf(name, sizeof name, "cpu%s", package + strlen("package")); /* as the sensor of the package is called */
    add_file(search, context, entry, name);
}

static adept_status find_packages(adept_controls *list, const adept_control_kind *kind, adept_error *err)
{
    return find_files(list, kind, LIMIT, ZONES, "intel-rapl:", take_zone,
                      "no package has a limit: no " ZONES "/intel-rapl:*/" LIMIT, err);
}

/* The kernel takes any number; what no processor can follow is refused here. Many state no range. */
static adept_status express_limit(char *raw, size_t size, const adept_control *control, const adept_setting *value,
                                  adept_error *err)
{
    adept_sensor_search nowhere = {.n_sensors = 0};
    double most_w = 1e-6 * adept_sysfs_number(&nowhere, control->state, "constraint_0_max_power_uw");
    double least_w = 1e-6 * adept_sysfs_number(&nowhere, control->state, "constraint_0_min_power_uw");

    if (nowhere.failed)
        return adept_error_set(err, ADEPT_E_IO, "%s: %s: its range: %s", control->kind->key, control->name,
                               strerror(nowhere.failed));
    snprintf(raw, size, "%.0f", 1e6 * value->number);
    return adept_control_in_range(control, value->number, least_w > 0 ? least_w : 0, most_w > 0 ? most_w : INFINITY,
                                  "W", err);
}

static adept_status set_limit(const adept_control *control, const char *raw, adept_error *err)
{
    return set_file(control, LIMIT, NULL, raw, err);
}

const adept_control_kind adept_control_cpu_power_limit = {
    .key = "cpu_power_limit_w",
    .device = "cpu",
    .find = find_packages,
    .express = express_limit,
    .set = set_limit,
    .close = close_folder,
    .unit = 1e-6,
};
