/** @file sensor_rocm.c  AMD GPUs by ROCm's librocm_smi64, opened at run time: no header or library of it is needed to
 * build. Functions and units are those of its rocm_smi.h (read: 5.2.3; rsmi_dev_power_get() came with ROCm 6.0). Tried
 * with that version of AMD's library over a made-up /sys, and with the tests' own library; never with a GPU. The clocks
 * are read from the board's hwmon files: the structure of rsmi_dev_gpu_clk_freq_get() changed between versions. */
#include "sysfs.h"
#include "adept_clock.h"
#include <errno.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* X(name, arguments) of the functions without which nothing works; each returns a rsmi_status_t, 0 for success. */
#define NEEDED(X)                                                                                                      \
    X(rsmi_init, (uint64_t flags))                                                                                     \
    X(rsmi_shut_down, (void))                                                                                          \
    X(rsmi_num_monitor_devices, (uint32_t * n))                                                                        \
    X(rsmi_dev_pci_id_get, (uint32_t device, uint64_t * id))                                                           \
    X(rsmi_dev_name_get, (uint32_t device, char *name, size_t size))                                                   \
    X(rsmi_dev_energy_count_get, (uint32_t device, uint64_t * count, float *resolution_uj, uint64_t *time_ns))         \
    X(rsmi_dev_power_ave_get, (uint32_t device, uint32_t sensor, uint64_t * power_uw))                                 \
    X(rsmi_dev_power_cap_get, (uint32_t device, uint32_t sensor, uint64_t * cap_uw))                                   \
    X(rsmi_dev_busy_percent_get, (uint32_t device, uint32_t * percent))

typedef struct library {
    void *handle;
    size_t users; /* the search, and each sensor */
#define X(name, arguments) int(*name) arguments;
    NEEDED(X)
#undef X
    int (*rsmi_dev_power_get)(uint32_t device, uint64_t *power_uw, int *type); /* NULL before ROCm 6.0 */
    int (*rsmi_dev_unique_id_get)(uint32_t device, uint64_t *id);              /* NULL: it has none */
} library;

typedef struct board {
    library *lib;
    uint32_t device;
    bool has_counter;
    adept_sysfs clocks;
} board;

/* What a device says when it is looked for. */
typedef struct device_facts {
    char address[32];         /* "": not known */
    double energy_j, power_w; /* NAN: not known */
} device_facts;

/* Places of gauges. */
enum { SM_CLOCK, MEMORY_CLOCK, POWER_LIMIT, GPU_USE };

/* Find the functions and initialise. @return NULL, or why it cannot be used */
static const char *start(library *lib)
{
#define X(name, arguments)                                                                                             \
    *(void **)&lib->name = dlsym(lib->handle, #name);                                                                  \
    if (!lib->name) return "the library has no " #name;
    NEEDED(X)
#undef X
    *(void **)&lib->rsmi_dev_power_get = dlsym(lib->handle, "rsmi_dev_power_get");
    *(void **)&lib->rsmi_dev_unique_id_get = dlsym(lib->handle, "rsmi_dev_unique_id_get");
    return lib->rsmi_init(0) == 0 ? NULL : "rsmi_init() fails";
}

/* The library, with the search as its first user; NULL: there is none. It is looked for where the driver is loaded. */
static library *open_rocm(adept_sensor_search *search)
{
    char *driver = adept_sensor_path(&search->settings, "/sys/module/amdgpu");
    bool is_loaded = driver && access(driver, F_OK) == 0;
    if (!is_loaded) adept_search_lacks(search, errno);
    library *lib = is_loaded ? calloc(1, sizeof *lib) : NULL;

    if (!driver || (is_loaded && !lib)) search->failed = ENOMEM;
    free(driver);
    if (!lib) return NULL;
    lib->users = 1;
    static const char *const names[] = {"librocm_smi64.so", "librocm_smi64.so.7", "librocm_smi64.so.6",
                                        "librocm_smi64.so.5", "librocm_smi64.so.1"};
    for (size_t i = 0; !lib->handle && i < sizeof names / sizeof names[0]; i++)
        lib->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    const char *why = lib->handle ? start(lib) : "librocm_smi64.so cannot be opened";
    if (!why) return lib;
    adept_sensor_missing(search, "rocm", "install ROCm's rocm-smi-lib; the user needs the groups video and render",
                         "%s", why);
    if (lib->handle) dlclose(lib->handle);
    free(lib);
    return NULL;
}

static void let_go(library *lib)
{
    if (--lib->users > 0) return;
    lib->rsmi_shut_down();
    dlclose(lib->handle);
    free(lib);
}

/* MI200s count in 64 bits, all others in 32, in steps of 15.259 uJ (smu13_driver_if_aldebaran.h of Linux), which is
 * 2^-16 J; the library rounds that to 15.3. Where the firmware has no counter, the driver leaves all ones. */
static double read_energy_j(const board *b, uint64_t *count, double *resolution_j)
{
    uint64_t time_ns;
    float resolution_uj;

    if (b->lib->rsmi_dev_energy_count_get(b->device, count, &resolution_uj, &time_ns) != 0 || *count == UINT64_MAX)
        return NAN;
    *resolution_j = resolution_uj > 15.2f && resolution_uj < 15.35f ? 1.0 / 65536 : 1e-6 * (double)resolution_uj;
    return *resolution_j * (double)*count;
}

static double read_power_w(const board *b)
{
    uint64_t power_uw;
    int type;

    if (b->lib->rsmi_dev_power_get && b->lib->rsmi_dev_power_get(b->device, &power_uw, &type) == 0)
        return 1e-6 * (double)power_uw;
    return b->lib->rsmi_dev_power_ave_get(b->device, 0, &power_uw) == 0 ? 1e-6 * (double)power_uw : NAN;
}

/* What only an APU has: its power is the CPU's as well, so it is left to hwmon, which knows. */
static void find_apu(adept_sensor_search *search, const char *folder, void *context)
{
    bool *is_apu = context;

    *is_apu = *is_apu || !isnan(adept_sysfs_number(search, folder, "in1_input"));
}

static void watch_clocks(adept_sensor_search *search, const char *folder, void *context)
{
    adept_sysfs_watch(search, context, folder, "freq1_input", 1, offsetof(adept_reading, gauges[SM_CLOCK]));
    adept_sysfs_watch(search, context, folder, "freq2_input", 1, offsetof(adept_reading, gauges[MEMORY_CLOCK]));
}

/* A sensor of a device that answers. `device` ends with the PCI address: sensor_hwmon.c knows the board by it. */
static void add_board(adept_sensor_search *search, const board *found, const device_facts *facts, const char *folder,
                      bool is_divided)
{
    static const char *const gauges[] = {"sm_clock_hz", "memory_clock_hz", "power_limit_w", "gpu_use"};
    char name[64] = "AMD GPU";
    uint64_t count = 0, cap_uw;
    double step_j = 0;
    if (found->has_counter) read_energy_j(found, &count, &step_j);
    board *state = malloc(sizeof *state);
    adept_sensor *sensor =
        state ? adept_sensor_add(search, &adept_sensor_kind_rocm, "gpu-amd-%zu", found->lib->users - 1) : NULL;

    if (!sensor) {
        search->failed = ENOMEM;
        free(state);
        return;
    }
    *state = *found;
    state->lib->users++;
    adept_sysfs_each(search, folder, "hwmon", watch_clocks, &state->clocks);
    sensor->state = state;
    sensor->component = ADEPT_COMPONENT_GPU;
    sensor->is_divided = is_divided;
    /* By which ROCm and Slurm call it: its number, and "GPU-" with its 64 bits. */
    char id[32];
    uint64_t unique;
    uint32_t of = 0;
    if (found->lib->rsmi_num_monitor_devices(&of) == 0) adept_sensor_number(sensor, "rocm", found->device, of);
    if (found->lib->rsmi_dev_unique_id_get && found->lib->rsmi_dev_unique_id_get(found->device, &unique) == 0) {
        snprintf(id, sizeof id, "GPU-%016" PRIx64, unique);
        adept_sensor_name(sensor, id);
    }
    sensor->is_slow = true; /* some files of /sys a reading, under a lock that all users of the library share */
    sensor->resolution_j = step_j;
    if (count <= UINT32_MAX) sensor->range_j = step_j * ((double)UINT32_MAX + 1); /* it may be one of 32 bits */
    if (found->lib->rsmi_dev_power_cap_get(found->device, 0, &cap_uw) == 0)
        sensor->most_power_w = ADEPT_PEAK * 1e-6 * (double)cap_uw;
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++)
        sensor->gauges[i].name = gauges[i];
    found->lib->rsmi_dev_name_get(found->device, name, sizeof name);
    snprintf(sensor->device, sizeof sensor->device, "%.63s %s", name, facts->address);
    snprintf(sensor->source, sizeof sensor->source, "%s(%" PRIu32 ")",
             found->has_counter ? "rsmi_dev_energy_count_get" : "rsmi_dev_power_get", found->device);
}

/* aldebaran_ppt.c of Linux: only the first die of an MI250 has the board's energy and power. */
static bool is_second_die(const device_facts *f)
{
    return f->energy_j == 0 && !(f->power_w > 0);
}

static void find_board(adept_sensor_search *search, library *lib, const device_facts *facts, uint32_t n,
                       uint32_t device)
{
    const device_facts *f = &facts[device];
    const board found = {.lib = lib, .device = device, .has_counter = f->energy_j > 0};
    /* Of the devices at one place (domain, bus and device: partitions of a board have numbers or functions of their
     * own), the one that says most: a counter, or else power, or else the first. */
    size_t place = strcspn(facts[device].address, ".");
    uint32_t speaker = device;
    bool is_divided = false;
    for (uint32_t i = n; i-- > 0 && place > 0;) {
        if (strncmp(facts[i].address, facts[device].address, place + 1) != 0) continue;
        is_divided = is_divided || i != device;
        int says_more = (facts[i].energy_j > 0) - (facts[speaker].energy_j > 0);
        if (says_more == 0) says_more = (facts[i].power_w > 0) - (facts[speaker].power_w > 0);
        if (says_more > 0 || (says_more == 0 && i < speaker)) speaker = i;
    }
    char folder[96], name[32];
    bool is_apu = false;

    snprintf(folder, sizeof folder, "/sys/bus/pci/devices/%s/hwmon", f->address);
    adept_sysfs_each(search, folder, "hwmon", find_apu, &is_apu);
    snprintf(name, sizeof name, "rocm device %" PRIu32, device);
    if (speaker != device)
        adept_sensor_missing(search, name, "", "%s: of the same board as rocm device %" PRIu32 ", which counts once",
                             f->address, speaker);
    else if (is_second_die(f))
        adept_sensor_missing(search, name, "", "%s has counted 0 J: a second die, counted with the first", f->address);
    else if (isnan(f->energy_j) && isnan(f->power_w))
        adept_sensor_missing(search, name, "", "%s states neither energy nor power", f->address);
    else if (!is_apu)
        add_board(search, &found, f, folder, is_divided || (device + 1 < n && is_second_die(&facts[device + 1])));
}

static void ask_device(device_facts *facts, library *lib, uint32_t device)
{
    const board b = {.lib = lib, .device = device};
    uint64_t id, count;
    double step_j;

    *facts = (device_facts){.energy_j = read_energy_j(&b, &count, &step_j), .power_w = read_power_w(&b)};
    if (lib->rsmi_dev_pci_id_get(device, &id) == 0) /* bits 28 to 31 are a partition's */
        snprintf(facts->address, sizeof facts->address, "%04x:%02x:%02x.%x", (unsigned)(id >> 32),
                 (unsigned)(id >> 8 & 0xff), (unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
}

static void find(adept_sensor_search *search)
{
    uint32_t n_devices = 0;
    library *lib = open_rocm(search);

    if (!lib) return;
    lib->rsmi_num_monitor_devices(&n_devices);
    device_facts *facts = calloc((size_t)n_devices + 1, sizeof *facts);
    if (!facts) search->failed = ENOMEM;
    for (uint32_t device = 0; facts && device < n_devices; device++)
        ask_device(&facts[device], lib, device);
    for (uint32_t device = 0; facts && device < n_devices; device++)
        find_board(search, lib, facts, n_devices, device);
    free(facts);
    let_go(lib);
}

static adept_status read_board(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    const board *b = sensor->state;
    uint64_t count, cap_uw;
    uint32_t percent;
    double step_j;
    /* The library does not tell a device that is gone from one that does not say; its files do. */
    adept_status result = adept_sysfs_get(&b->clocks, reading, err);

    if (b->lib->rsmi_dev_power_cap_get(b->device, 0, &cap_uw) == 0)
        reading->gauges[POWER_LIMIT] = 1e-6 * (double)cap_uw;
    if (b->lib->rsmi_dev_busy_percent_get(b->device, &percent) == 0) reading->gauges[GPU_USE] = 0.01 * percent;
    reading->power_w = read_power_w(b);
    double before_s = adept_clock_s();
    if (b->has_counter) reading->energy_j = read_energy_j(b, &count, &step_j);
    reading->time_s = (before_s + adept_clock_s()) / 2; /* the rest takes many times as long */
    return result;
}

static void close_board(adept_sensor *sensor)
{
    board *b = sensor->state;

    if (!b) return;
    adept_sysfs_end(&b->clocks);
    let_go(b->lib);
    free(b);
}

const adept_sensor_kind adept_sensor_kind_rocm = {
    .name = "rocm",
    .what = "AMD GPUs by ROCm's librocm_smi64: energy counter, power, clocks, limit",
    .find = find,
    .read = read_board,
    .close = close_board,
};
