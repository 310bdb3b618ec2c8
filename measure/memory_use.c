/** @file memory_use.c  How much memory is in use, by /proc (Documentation/filesystems/proc.rst of Linux). */
#include "memory_use.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_number.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers of a file of /proc whose lines are "Key:   123 kB"; NAN where it lacks one. @return false: it cannot be read
 */
static bool read_fields(double *values, const char *const *keys, size_t n, const adept_sensor_settings *settings,
                        const char *below)
{
    char *path = adept_sensor_path(settings, "/proc/%s", below), line[256];
    int fd = path ? adept_file_descriptor(path, 0) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

    free(path);
    for (size_t i = 0; i < n; i++)
        values[i] = NAN;
    if (!file && fd >= 0) close(fd);
    if (!file) return false;
    while (fgets(line, sizeof line, file))
        for (size_t i = 0; i < n; i++)
            if (strncmp(line, keys[i], strlen(keys[i])) == 0)
                values[i] = (double)strtoull(line + strlen(keys[i]), NULL, 10);
    fclose(file);
    return true;
}

bool adept_memory_read(double *total_kib, double *used_kib, const adept_sensor_settings *settings, adept_error *err)
{
    static const char *const keys[] = {"MemTotal:", "MemAvailable:"};
    double values[2];

    errno = 0;
    bool is_read = read_fields(values, keys, 2, settings, "meminfo");
    *total_kib = values[0];
    *used_kib = values[0] - values[1];
    if (*total_kib > 0 && *used_kib >= 0) return true;
    adept_error_set(err, ADEPT_E_IO, "/proc/meminfo: %s",
                    is_read ? "no MemTotal, or no MemAvailable (Linux has it since 3.14)" : strerror(errno));
    return false;
}

typedef struct process {
    int pid, parent;
    double resident_kib;
} process;

static int compare_pids(const void *a, const void *b)
{
    int x = ((const process *)a)->pid, y = ((const process *)b)->pid;

    return (x > y) - (x < y);
}

/* All that run, in the order of their numbers. @return NULL: memory is out, or none can be read */
static process *list_processes(size_t *n, const adept_sensor_settings *settings)
{
    static const char *const keys[] = {"PPid:", "VmRSS:"};
    char *path = adept_sensor_path(settings, "/proc");
    DIR *folder = path ? opendir(path) : NULL;
    process *list = NULL, *grown = NULL;
    size_t capacity = 0;

    free(path);
    *n = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char below[sizeof entry->d_name + 8];
        double values[2];
        int64_t pid;
        if (!adept_integer_parse(&pid, entry->d_name, NULL, 1, INT_MAX)) continue;
        snprintf(below, sizeof below, "%s/status", entry->d_name);
        if (!read_fields(values, keys, 2, settings, below) || isnan(values[0])) continue; /* it ended */
        grown = adept_grow(list, &capacity, *n + 1, sizeof *list);
        if (!grown) break;
        list = grown;
        list[(*n)++] = (process){(int)pid, (int)fmin(values[0], INT_MAX), isnan(values[1]) ? 0 : values[1]};
    }
    if (folder) closedir(folder);
    if (!grown) { /* none, or not all */
        free(list);
        return NULL;
    }
    qsort(list, *n, sizeof *list, compare_pids);
    return list;
}

static bool is_below(const process *list, size_t n, const process *p, int pid)
{
    for (size_t steps = 0; p && p->pid != pid; steps++) {
        process parent = {.pid = p->parent};
        if (steps > n) return false; /* numbers were given anew while we looked, in a circle */
        p = bsearch(&parent, list, n, sizeof *list, compare_pids);
    }
    return p != NULL;
}

/* Its share of the pages that it shares with others ("proportional set size", Documentation/filesystems/proc.rst);
 * without permission, as of another user's process, all that is resident. */
static double process_kib(const process *p, const adept_sensor_settings *settings)
{
    static const char *const keys[] = {"Pss:"};
    char below[64];
    double pss_kib;

    snprintf(below, sizeof below, "%d/smaps_rollup", p->pid);
    read_fields(&pss_kib, keys, 1, settings, below);
    return isnan(pss_kib) ? p->resident_kib : pss_kib;
}

double adept_memory_below(int pid, const adept_sensor_settings *settings)
{
    size_t n;
    process *list = list_processes(&n, settings);
    double kib = list ? 0 : NAN;

    for (size_t i = 0; list && i < n; i++)
        if (is_below(list, n, &list[i], pid)) kib += process_kib(&list[i], settings);
    free(list);
    return kib;
}
