/** @file sysfs.c  Folders of /sys, and files of /sys that are read again and again. */
#include "sysfs.h"
#include "adept_clock.h"
#include "adept_file.h"
#include "adept_number.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t adept_sensors_found(const adept_sensor_search *search, const adept_sensor_kind *kind, adept_component component)
{
    size_t n = 0;

    for (size_t i = 0; i < search->n_sensors; i++)
        n += search->sensors[i]->kind == kind && search->sensors[i]->component == component;
    return n;
}

const adept_sensor *adept_sensor_at(const adept_sensor_search *search, const char *place)
{
    for (size_t i = 0; i < search->n_sensors && *place; i++)
        if (search->sensors[i]->component == ADEPT_COMPONENT_GPU && strcasestr(search->sensors[i]->device, place))
            return search->sensors[i];
    return NULL;
}

bool adept_sysfs_is_amd(adept_sensor_search *search)
{
    char *path = adept_sensor_path(&search->settings, "/proc/cpuinfo"), text[512] = "";
    int fd = path ? adept_file_descriptor(path, 0) : -1;

    if (fd < 0) adept_search_lacks(search, path ? errno : ENOMEM);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    free(path);
    text[n > 0 ? n : 0] = '\0';
    return strstr(text, "AuthenticAMD") || strstr(text, "HygonGenuine");
}

double adept_sysfs_limit_w(adept_sensor_search *search, const char *folder)
{
    static const char *const files[] = {"power1_cap", "power1_cap_max", "power1_max", "power1_rated_max",
                                        "power1_crit"};
    double most_w = 0;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        most_w = fmax(most_w, 1e-6 * adept_sysfs_number(search, folder, files[i])); /* NAN is less */
    return most_w;
}

size_t adept_sysfs_each(adept_sensor_search *search, const char *folder, const char *prefix,
                        void (*each)(adept_sensor_search *search, const char *entry, void *context), void *context)
{
    char *path = adept_sensor_path(&search->settings, "%s", folder);
    struct dirent **list = NULL;
    errno = 0;
    int n = path ? scandir(path, &list, NULL, versionsort) : -1;
    size_t found = 0;

    if (n < 0) adept_search_lacks(search, path ? errno : ENOMEM);
    if (n < 0 && path && errno != ENOENT && errno != ENOTDIR) /* what is there, and cannot be seen */
        adept_sensor_missing(search, strrchr(folder, '/') + 1, "", "%s: %s", folder, strerror(errno));
    free(path);
    for (int i = 0; i < n; i++) {
        char *entry = NULL;
        bool is_one = strncmp(list[i]->d_name, prefix, strlen(prefix)) == 0;
        if (is_one && asprintf(&entry, "%s/%s", folder, list[i]->d_name) < 0) {
            search->failed = ENOMEM;
        } else if (is_one) {
            each(search, entry, context);
            free(entry);
            found++;
        }
        free(list[i]);
    }
    free(list);
    return found;
}

bool adept_sysfs_text(char *text, size_t size, adept_sensor_search *search, const char *folder, const char *file)
{
    char *path = adept_sensor_path(&search->settings, "%s/%s", folder, file);
    bool is_read = path && adept_sensor_text(text, size, path);

    if (!is_read) {
        if (!path) errno = ENOMEM;
        adept_search_lacks(search, errno);
        text[0] = '\0';
    }
    free(path);
    return is_read;
}

double adept_sysfs_number(adept_sensor_search *search, const char *folder, const char *file)
{
    char text[64];
    double number;

    adept_sysfs_text(text, sizeof text, search, folder, file);
    return adept_number_parse(&number, text) && !adept_says_nothing(number) ? number : NAN;
}

/* ---------------------------------------------------------------- files that stay open --------------------------- */

/* pread() at 0 makes the kernel write the attribute's text anew (Documentation/filesystems/sysfs.rst, "Reading/Writing
 * Attribute Data"). @return 0, or why not */
static int read_number(double *number, int file)
{
    char text[64];
    ssize_t n;

    do
        n = pread(file, text, sizeof text - 1, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) return errno;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return n < (ssize_t)sizeof text - 1 && adept_number_parse(number, text) ? 0 : ENODATA; /* a longer text may go on */
}

bool adept_sysfs_watch(adept_sensor_search *search, adept_sysfs *files, const char *folder, const char *file,
                       double unit, size_t into)
{
    char *path = adept_sensor_path(&search->settings, "%s/%s", folder, file);
    int opened = path ? adept_file_descriptor(path, 0) : -1;
    double number;

    int why = !path ? ENOMEM : opened < 0 ? errno : read_number(&number, opened);
    adept_search_lacks(search, why);
    /* What opens and is then not permitted is a GPU that sleeps or resets: amdgpu_hwmon_show_power_avg(). */
    if (opened < 0 || (why != 0 && why != EPERM)) {
        if (opened >= 0) close(opened);
        free(path);
        errno = why;
        return false;
    }
    files->files[files->n].path = path;
    files->files[files->n].file = opened;
    files->files[files->n].unit = unit;
    files->files[files->n++].into = into;
    return true;
}

void adept_sysfs_missing(adept_sensor_search *search, const char *name, const char *folder, const char *file)
{
    int why = errno;
    char *path = adept_sensor_path(&search->settings, "%s/%s", folder, file);
    char help[256] = "";

    if (why == EACCES) snprintf(help, sizeof help, "run as root, or: chmod a+r %s", path ? path : file);
    adept_sensor_missing(search, name, help, "%s: %s", path ? path : file, strerror(why));
    free(path);
}

adept_status adept_sysfs_get(const adept_sysfs *files, adept_reading *reading, adept_error *err)
{
    for (size_t i = 0; i < files->n; i++) {
        double number, before_s = adept_clock_s();
        int why = read_number(&number, files->files[i].file);
        if (i == 0) reading->time_s = (before_s + adept_clock_s()) / 2; /* gauges that follow may take long */
        if (why == 0 && adept_says_nothing(number)) {
            reading->why = ADEPT_NO_NUMBER;
        } else if (why == 0) {
            *(double *)((char *)reading + files->files[i].into) = files->files[i].unit * number;
        } else if (why == ENODEV || why == ENXIO || (access(files->files[i].path, F_OK) != 0 && errno == ENOENT)) {
            return adept_error_set(err, ADEPT_E_IO, "%s is gone: %s", files->files[i].path, strerror(why));
        }
    }
    return ADEPT_OK;
}

void adept_sysfs_end(adept_sysfs *files)
{
    for (size_t i = 0; i < files->n; i++) {
        close(files->files[i].file);
        free(files->files[i].path);
    }
    files->n = 0;
}

adept_sensor *adept_sysfs_add(adept_sensor_search *search, const adept_sensor_kind *kind, adept_sysfs *files,
                              adept_component component, const char *name)
{
    adept_sysfs *state = malloc(sizeof *state);
    adept_sensor *sensor = state ? adept_sensor_add(search, kind, "%s", name) : NULL;

    if (!sensor) {
        search->failed = ENOMEM;
        adept_sysfs_end(files);
        free(state);
        return NULL;
    }
    *state = *files;
    sensor->state = state;
    sensor->component = component;
    snprintf(sensor->source, sizeof sensor->source, "%s", state->files[0].path);
    return sensor;
}

adept_status adept_sysfs_read(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    return adept_sysfs_get(sensor->state, reading, err);
}

void adept_sysfs_close(adept_sensor *sensor)
{
    if (sensor->state) adept_sysfs_end(sensor->state);
    free(sensor->state);
}
