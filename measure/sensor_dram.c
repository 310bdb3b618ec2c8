/** @file sensor_dram.c  A model of the power of memory, for machines that do not measure it (Intel's client processors,
 * AMD's). Chapter 4.2 of the thesis behind EA2P, and EA2P's ram.py (https://github.com/HPC-CRI/EA2P, commit fc5a5cc):
 *
 *     power = sum over modules of base(size, type) * factor(share of memory in use)
 *
 * What the two leave open or get wrong, and what holds here:
 * - Their tiers of the factor differ: ours are the thesis's, the source's on request. The thesis prints "<5", "5-15",
 *   ..., ">50": a tier has its lower bound and not its upper, but 50 belongs to the one below it.
 * - In use is what the whole machine uses (a module does not know the process), on request what some processes hold.
 * - Modules are those that the firmware lists with a size. The source counts slots, empty ones too: that on request.
 * - Modules add up, each by its size. The source takes the first for all.
 * - Sizes between those printed count as the next larger, above 256 GB as 256 GB; those below 16 GB are our extension.
 *   The source has 10 W for each size that it does not know: that with its tiers.
 * - DDR3 is the source's 4.5 W, whatever the size. A type that neither knows counts by its size: the thesis's table
 *   names no type, and the source's 0 W would be no estimate.
 * - DDR5 has a converter on the module that the thesis calls 30 % better, yet one table is printed for both: a factor
 *   for DDR5 is an option, 1 as published.
 * - The factor is one of memory that is occupied, not of traffic: full but idle memory counts as 0.80. */
#include "adept_append.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "adept_sensor.h"
#include "smbios.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How much memory is in use: of the machine, or of some processes. */

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

/* What the machine has, and what of it is not available. @return false, and why, if /proc/meminfo does not say */
static bool memory_read(double *total_kib, double *used_kib, const adept_sensor_settings *settings, adept_error *err)
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

extern const adept_sensor_kind adept_sensor_kind_dram;

#define HELP "run as root, or: chmod a+r /sys/firmware/dmi/tables/*; or say what there is: --dram-dimms \"8x64GB DDR4\""
#define MOST_TABLE_BYTES (16u << 20) /* tables have some thousands */

typedef struct tier {
    double up_to_percent;
    bool includes_it;
    double factor;
} tier;

typedef struct model {
    double full_w; /* with a factor of 1 */
    const tier *tiers;
    adept_sensor_settings settings;
    int pid; /* the memory of it and those below it counts; 0: all memory in use */
} model;

/* ---------------------------------------------------------------- the tables ------------------------------------- */

static const tier thesis_tiers[] = {
    {5, false, 0.30}, {15, false, 0.60}, {25, false, 0.70}, {50, true, 0.75}, {INFINITY, true, 0.80},
};
static const tier ea2p_tiers[] = {
    {5, true, 0.35}, {10, true, 0.65}, {25, true, 0.70}, {50, true, 0.75}, {70, true, 0.80}, {INFINITY, true, 0.85},
};

static const struct {
    double size_gib, power_w;
    bool is_published;
} bases[] = {
    {2, 2, false}, {4, 2.5, false}, {8, 3, false},  {16, 4, true},
    {32, 5, true}, {64, 6, true},   {128, 8, true}, {256, 10, true}, /* 256: load-reduced modules */
};
#define N_BASES (sizeof bases / sizeof *bases)
#define DDR3_W 4.5

static const struct {
    const char *name;
    unsigned char type;
} types[] = {
    {"DDR3", ADEPT_DIMM_DDR3},     {"DDR4", ADEPT_DIMM_DDR4},     {"DDR5", ADEPT_DIMM_DDR5},
    {"LPDDR4", ADEPT_DIMM_LPDDR4}, {"LPDDR5", ADEPT_DIMM_LPDDR5},
};
#define N_TYPES (sizeof types / sizeof *types)

static double module_w(adept_dimm dimm, const adept_dram_options *options)
{
    double factor = dimm.type == ADEPT_DIMM_DDR5 && options->ddr5_factor > 0 ? options->ddr5_factor : 1;
    size_t i = 0;

    if (dimm.type == ADEPT_DIMM_DDR3) return DDR3_W;
    while (i < N_BASES - 1 && bases[i].size_gib < dimm.size_gib)
        i++;
    bool is_printed = bases[i].is_published && bases[i].size_gib == dimm.size_gib;
    return factor * (options->ea2p_tiers && !is_printed ? bases[N_BASES - 1].power_w : bases[i].power_w);
}

static double factor_of(const tier *tiers, double percent)
{
    while (!(percent < tiers->up_to_percent || (tiers->includes_it && percent == tiers->up_to_percent)))
        tiers++;
    return tiers->factor;
}

/* ---------------------------------------------------------------- reading ---------------------------------------- */

static adept_status read_model(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    const model *m = sensor->state;
    double total_kib, used_kib;

    if (!memory_read(&total_kib, &used_kib, &m->settings, err)) return ADEPT_E_IO;
    if (m->pid) {
        /* What a process and all those below it hold now; nothing is left of them: 0. */
        int pid = m->pid;
        size_t n;
        process *list = list_processes(&n, &m->settings);
        used_kib = list ? 0 : NAN;
        for (size_t i = 0; list && i < n; i++)
            if (is_below(list, n, &list[i], pid)) used_kib += process_kib(&list[i], &m->settings);
        free(list);
    }
    if (used_kib > total_kib) used_kib = total_kib; /* pages of several count several times where PSS may not be read */
    reading->gauges[0] = used_kib / total_kib;
    /* 100 times first: whole percents stay whole, and lie on the right side of a tier's bound */
    if (!isnan(used_kib)) reading->power_w = m->full_w * factor_of(m->tiers, 100 * used_kib / total_kib);
    return ADEPT_OK;
}

static void close_model(adept_sensor *sensor)
{
    free(sensor->state);
}

/* ---------------------------------------------------------------- the machine's modules -------------------------- */

static bool find_type(unsigned char *type, const char *name)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        if (strcmp(types[i].name, name) != 0) continue;
        *type = types[i].type;
        return true;
    }
    return false;
}

/* "8x64GB DDR4", "2x512MB" up to a comma or the end. @return how many characters; 0: it is none */
static size_t parse_sort(unsigned *count, adept_dimm *dimm, const char *text)
{
    static const char units[] = "MGT";
    unsigned size = 0;
    char unit[2] = "", name[8] = "";
    int length = 0, more = 0;

    *count = 0;
    *dimm = (adept_dimm){.type = ADEPT_DIMM_UNKNOWN};
    sscanf(text, " %4ux%5u%1[MGT]B%n", count, &size, unit, &length);
    if (length == 0 || *count == 0 || *count > 9999 || size == 0 || size > 99999)
        return 0; /* above: there was a sign */
    sscanf(text + length, " %7[A-Z0-9]%n", name, &more);
    if (name[0] && !find_type(&dimm->type, name)) return 0;
    dimm->size_gib = ldexp(size, 10 * (int)(strchr(units, unit[0]) - units) - 10);
    length += more;
    length += (int)strspn(text + length, " ");
    return text[length] == ',' || text[length] == '\0' ? (size_t)length : 0;
}

static adept_status parse_modules(adept_dimms *dimms, const char *text, adept_error *err)
{
    unsigned count;
    adept_dimm dimm;
    adept_status status = ADEPT_OK;

    for (const char *at = text; status == ADEPT_OK; at++) {
        size_t length = parse_sort(&count, &dimm, at);
        if (length == 0)
            return adept_error_set(err, ADEPT_E_INVALID, "'%s' is not COUNTxSIZE [TYPE], ...: \"8x64GB DDR4\"", text);
        while (count-- > 0 && status == ADEPT_OK)
            status = adept_dimms_add(dimms, dimm, err);
        at += length;
        if (*at == '\0') break;
    }
    return status;
}

adept_status adept_dram_options_check(const adept_dram_options *options, adept_error *err)
{
    adept_dimms dimms = {0};
    adept_status status = options->dimms ? parse_modules(&dimms, options->dimms, err) : ADEPT_OK;

    adept_dimms_free(&dimms);
    return status;
}

static adept_status read_firmware(adept_dimms *dimms, const adept_sensor_settings *settings, adept_error *err)
{
    static const char *const names[2] = {"smbios_entry_point", "DMI"};
    char *data[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    adept_status status = ADEPT_OK;

    for (int i = 0; i < 2 && status == ADEPT_OK; i++) {
        char *path = adept_sensor_path(settings, "/sys/firmware/dmi/tables/%s", names[i]);
        status =
            path ? adept_file_read(&data[i], &size[i], path, MOST_TABLE_BYTES, err) : adept_no_memory(err, "a path");
        free(path);
    }
    if (status == ADEPT_OK) status = adept_smbios_read(dimms, data[0], size[0], data[1], size[1], err);
    free(data[0]);
    free(data[1]);
    return status;
}

/* ---------------------------------------------------------------- looking for it --------------------------------- */

static void add_model(adept_sensor_search *search, const adept_dimms *dimms)
{
    const adept_dram_options *options = &search->settings.dram;
    model *m = calloc(1, sizeof *m);
    adept_sensor *sensor = m ? adept_sensor_add(search, &adept_sensor_kind_dram, "dram-model") : NULL;
    char whose[64] = "all memory";

    if (!sensor) {
        free(m);
        search->failed = ENOMEM;
        return;
    }
    double power_w = 0;
    for (size_t i = 0; i < dimms->n; i++)
        power_w += module_w(dimms->list[i], options);
    if (options->all_slots) power_w += (double)(dimms->n_empty + dimms->n_unknown) * module_w(dimms->list[0], options);
    m->full_w = power_w;
    m->tiers = options->ea2p_tiers ? ea2p_tiers : thesis_tiers;
    m->settings = search->settings;
    if (options->process_usage) {
        m->pid = search->settings.pid ? search->settings.pid : (int)getpid();
        snprintf(whose, sizeof whose, "memory of process %d and those below it", m->pid);
    }
    sensor->state = m;
    sensor->component = ADEPT_COMPONENT_DRAM;
    sensor->is_estimated = true;
    sensor->is_slow = options->process_usage; /* each process is read */
    sensor->most_power_w = m->full_w;
    sensor->gauges[0].name = "memory_use";
    /* "8x64GB DDR4", or "12 modules, 384 GB". */
    char *text = sensor->device;
    size_t size = sizeof sensor->device;
    bool all_slots = options->all_slots;
    const char *type = "memory";
    double gib = 0;
    bool is_uniform = true;
    for (size_t i = 0; i < dimms->n; i++) {
        gib += dimms->list[i].size_gib;
        is_uniform = is_uniform && dimms->list[i].type == dimms->list[0].type &&
                     dimms->list[i].size_gib == dimms->list[0].size_gib;
    }
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].type == dimms->list[0].type) type = types[i].name;
    if (is_uniform)
        snprintf(text, size, "%zux%gGB %s", dimms->n, dimms->list[0].size_gib, type);
    else
        snprintf(text, size, "%zu modules, %g GB", dimms->n, gib);
    if (all_slots)
        adept_append(text, size, ", %zu other slots as well", dimms->n_empty + dimms->n_unknown);
    else if (dimms->n_unknown > 0)
        adept_append(text, size, ", without %zu of unknown size", dimms->n_unknown);
    snprintf(sensor->source, sizeof sensor->source, "model: modules by %s, use of %s by /proc, tiers of %s",
             options->dimms ? "--dram-dimms" : "SMBIOS", whose, options->ea2p_tiers ? "EA2P's source" : "the thesis");
}

static void find(adept_sensor_search *search)
{
    adept_dimms dimms = {.n = 0};
    double total_kib, used_kib;
    adept_error err = {.status = ADEPT_OK};

    for (size_t i = 0; i < search->n_sensors; i++)
        if (search->sensors[i]->component == ADEPT_COMPONENT_DRAM) return; /* measured is better than this */
    adept_status status = search->settings.dram.dimms ? parse_modules(&dimms, search->settings.dram.dimms, &err)
                                                      : read_firmware(&dimms, &search->settings, &err);
    if (status == ADEPT_OK && dimms.n == 0)
        status = adept_error_set(&err, ADEPT_E_INVALID, "SMBIOS: no memory module of known size, of %zu slots",
                                 dimms.n_empty + dimms.n_unknown);
    if (status == ADEPT_E_NOMEM)
        search->failed = ENOMEM;
    else if (status != ADEPT_OK)
        adept_sensor_missing(search, "dram-model", HELP, "%s", err.message);
    else if (!memory_read(&total_kib, &used_kib, &search->settings, &err))
        adept_sensor_missing(search, "dram-model", "", "%s", err.message);
    else
        add_model(search, &dimms);
    adept_dimms_free(&dimms);
}

const adept_sensor_kind adept_sensor_kind_dram = {
    .name = "dram",
    .what = "memory, estimated from its modules (SMBIOS) and what is in use, where nothing measures it",
    .find = find,
    .read = read_model,
    .close = close_model,
    .rank = 3,
};
