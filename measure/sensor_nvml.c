/** @file sensor_nvml.c  NVIDIA GPUs by the driver's library (NVML), opened at run time. Functions, numbers and units
 * are those of NVIDIA's nvml.h, which is not needed to build. */
#include "adept_clock.h"
#include "adept_sensor.h"
#include "nvml.h"
#include "sysfs.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

extern const adept_sensor_kind adept_sensor_kind_nvml;

typedef struct board {
    adept_nvml *library;
    void *device;
    int gone; /* the status that says so; 0: it is there */
    bool at_once; /* its power is asked for by a field that has no mean */
} board;

enum { SM_CLOCK, MEMORY_CLOCK, POWER_LIMIT, GPU_USE, MEMORY_USE, TEMPERATURE };
static const adept_gauge gauges[ADEPT_MOST_GAUGES] = {
    [SM_CLOCK] = {"sm_clock_hz"}, [MEMORY_CLOCK] = {"memory_clock_hz"}, [POWER_LIMIT] = {"power_limit_w"},
    [GPU_USE] = {"gpu_use"},      [MEMORY_USE] = {"memory_use"},        [TEMPERATURE] = {"temperature_c"},
};

/* ---------------------------------------------------------------- reading ---------------------------------------- */

/* These do not pass by themselves. Whatever else it answers (NOT_SUPPORTED, UNKNOWN, NO_DATA, TIMEOUT) is about one
 * number. */
static bool is_gone(int status)
{
    return status == NVML_UNINITIALIZED || status == NVML_GPU_IS_LOST || status == NVML_RESET_REQUIRED;
}

static double answer(board *b, int status, double value)
{
    if (is_gone(status)) b->gone = status;
    return status == NVML_SUCCESS ? value : NAN;
}

static double ask(board *b, int (*function)(void *, unsigned *), double unit)
{
    unsigned value = 0;
    int status = function ? function(b->device, &value) : NVML_FUNCTION_NOT_FOUND;
    return answer(b, status, value * unit);
}

static double ask_which(board *b, int (*function)(void *, int, unsigned *), int which, double unit)
{
    unsigned value = 0;
    int status = function ? function(b->device, which, &value) : NVML_FUNCTION_NOT_FOUND;
    return answer(b, status, value * unit);
}

static int get_energy(const board *b, unsigned long long *mj)
{
    *mj = 0;
    return b->library->energy_mj ? b->library->energy_mj(b->device, mj) : NVML_FUNCTION_NOT_FOUND;
}

/* The driver of a board without a number may leave all bits set. */
static double milli(double number)
{
    return number == UINT_MAX || number == INT_MAX || number == (double)ULLONG_MAX ? NAN : 1e-3 * number;
}

static int get_power(const board *b, double *mw)
{
    unsigned word = 0;
    adept_nvml_field field = {.id = NVML_FIELD_POWER_INSTANT};

    *mw = NAN;
    if (!b->at_once) {
        int status = b->library->power_mw ? b->library->power_mw(b->device, &word) : NVML_FUNCTION_NOT_FOUND;
        *mw = word;
        return status;
    }
    int status = b->library->fields ? b->library->fields(b->device, 1, &field) : NVML_FUNCTION_NOT_FOUND;
    if (status == NVML_SUCCESS) status = field.status;
    *mw = field.type == NVML_VALUE_DOUBLE     ? field.value.real
          : field.type == NVML_VALUE_UNSIGNED ? field.value.word
                                              : (double)field.value.integer;
    return status;
}

static adept_status read_board(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    board *b = sensor->state;
    unsigned long long mj;
    double mw;

    b->gone = 0;
    double before_s = adept_clock_s();
    int status = get_energy(b, &mj);
    reading->time_s = (before_s + adept_clock_s()) / 2; /* the gauges may take many times as long */
    reading->energy_j = answer(b, status, milli((double)mj));
    status = get_power(b, &mw);
    reading->power_w = answer(b, status, milli(mw));
    const adept_nvml *l = b->library;
    adept_nvml_use use = {0, 0};
    reading->gauges[SM_CLOCK] = ask_which(b, l->clock_mhz, NVML_CLOCK_SM, 1e6);
    reading->gauges[MEMORY_CLOCK] = ask_which(b, l->clock_mhz, NVML_CLOCK_MEM, 1e6);
    reading->gauges[POWER_LIMIT] = ask(b, l->enforced_mw, 1e-3);
    reading->gauges[TEMPERATURE] = ask_which(b, l->temperature_c, NVML_TEMPERATURE_GPU, 1);
    status = l->use ? l->use(b->device, &use) : NVML_FUNCTION_NOT_FOUND;
    reading->gauges[GPU_USE] = answer(b, status, use.gpu / 100.0);
    reading->gauges[MEMORY_USE] = answer(b, status, use.memory / 100.0);
    if (!b->gone) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_IO, "%s: %s (NVML status %d)", sensor->name,
                           adept_nvml_text(b->library, b->gone), b->gone);
}

static void close_board(adept_sensor *sensor)
{
    board *b = sensor->state;

    if (b) adept_nvml_leave(b->library);
    free(b);
}

/* ---------------------------------------------------------------- looking for boards ----------------------------- */

/* An answer that may be another the next time: the first reading after a board woke up is often UNKNOWN. */
static bool may_answer(int status)
{
    return status == NVML_SUCCESS || status == NVML_UNKNOWN || status == NVML_NO_DATA;
}

/* How much the board may draw, at most: of its limit now, and of what that can be set to. 0: it does not say */
static double limit_w(const board *b)
{
    unsigned now_mw = 0, low_mw = 0, high_mw = 0;
    const adept_nvml *l = b->library;

    if (!l->enforced_mw || l->enforced_mw(b->device, &now_mw) != NVML_SUCCESS) now_mw = 0;
    if (!l->limits_mw || l->limits_mw(b->device, &low_mw, &high_mw) != NVML_SUCCESS) high_mw = 0;
    double now_w = milli(now_mw), high_w = milli(high_mw);
    return fmax(now_w > 0 ? now_w : 0, high_w > 0 ? high_w : 0);
}

/* By which CUDA, containers and Slurm call it: its UUID, and those of its MIG devices. */
static void name_board(adept_sensor *sensor, const board *b, unsigned index, unsigned of)
{
    const adept_nvml *l = b->library;
    char id[96];
    unsigned most = 0;
    void *mig;

    adept_sensor_number(sensor, "nvml", index, of);
    if (l->uuid && l->uuid(b->device, id, sizeof id) == NVML_SUCCESS) adept_sensor_name(sensor, id);
    if (!l->uuid || !l->mig_most || !l->mig_handle || l->mig_most(b->device, &most) != NVML_SUCCESS) return;
    for (unsigned i = 0; i < most && i < NVML_MOST_INSTANCES; i++)
        if (l->mig_handle(b->device, i, &mig) == NVML_SUCCESS && l->uuid(mig, id, sizeof id) == NVML_SUCCESS)
            adept_sensor_name(sensor, id);
}

static void add_board(adept_sensor_search *search, const board *found, unsigned index, unsigned of, bool has_counter,
                      bool has_power)
{
    const adept_nvml *l = found->library;
    unsigned architecture = NVML_ARCHITECTURE_AMPERE;
    adept_nvml_pci pci = {.bus_id = ""};
    char name[64] = "NVIDIA GPU", driver[32] = "not known";
    board *b = malloc(sizeof *b);
    adept_sensor *sensor = b ? adept_sensor_add(search, &adept_sensor_kind_nvml, "gpu-%u", index) : NULL;

    if (!sensor) {
        free(b);
        search->failed = ENOMEM;
        return;
    }
    *b = *found;
    b->library->users++;
    if (l->name) l->name(b->device, name, sizeof name);
    if (l->pci) l->pci(b->device, &pci);
    if (l->driver) l->driver(driver, sizeof driver);
    sensor->state = b;
    snprintf(sensor->device, sizeof sensor->device, "%.63s %.16s, driver %.31s", name, pci.bus_id, driver);
    /* nvml.h: on Ampere (except GA100) and newer, the power is the mean of one second. Of GA100 others say so too. */
    if (l->architecture && l->architecture(b->device, &architecture) != NVML_SUCCESS)
        architecture = NVML_ARCHITECTURE_AMPERE;
    if (has_power && !b->at_once && architecture >= NVML_ARCHITECTURE_AMPERE) sensor->mean_s = 1;
    snprintf(sensor->source, sizeof sensor->source, "%s%s%s%s",
             has_counter ? "nvmlDeviceGetTotalEnergyConsumption" : "", has_counter && has_power ? ", " : "",
             !has_power   ? ""
             : b->at_once ? "NVML_FI_DEV_POWER_INSTANT"
                          : "nvmlDeviceGetPowerUsage",
             sensor->mean_s > 0 && !has_counter ? " (the mean of 1 s)" : "");
    name_board(sensor, b, index, of);
    sensor->component = ADEPT_COMPONENT_GPU;
    sensor->most_power_w = ADEPT_PEAK * limit_w(b);
    sensor->is_slow = true; /* a call may wait for the driver's lock, or for a board that wakes up */
    sensor->resolution_j = has_counter ? 1e-3 : 0;
    /* nvml.h states 5 % of the draw for Fermi and Kepler, nvidia-smi's manual 5 W. Yang, Adamek and Armour (arXiv
     * 2312.02741) find 5 % on 70 boards up to Hopper, and a new number every 20 ms (Volta) to 100 ms (A100, H100). */
    sensor->refresh_s = 0.1;
    sensor->accuracy = 0.05;
    for (size_t i = 0; i < ADEPT_MOST_GAUGES; i++)
        sensor->gauges[i] = gauges[i];
}

static void find_board(adept_sensor_search *search, adept_nvml *library, unsigned index, unsigned of)
{
    board b = {.library = library, .device = NULL, .gone = 0};
    char name[64];
    unsigned long long mj;
    double mw;

    snprintf(name, sizeof name, "gpu-%u", index);
    int status = library->handle(index, &b.device);
    if (status != NVML_SUCCESS) {
        adept_sensor_missing(search, name, adept_nvml_help(status), "%s (NVML status %d)",
                             adept_nvml_text(library, status), status);
        return;
    }
    adept_nvml_pci pci = {.bus_id = ""};
    if (library->pci) library->pci(b.device, &pci);
    const adept_sensor *same = adept_sensor_at(search, pci.bus_id);
    if (same) {
        adept_sensor_missing(search, name, "", "%.16s: the board of %s once more, which counts once", pci.bus_id,
                             same->name);
        return;
    }
    int energy_status = get_energy(&b, &mj);
    if (!may_answer(energy_status)) { /* without a counter, the power is not the check but the number itself */
        b.at_once = true;
        b.at_once = get_power(&b, &mw) == NVML_SUCCESS && mw > 0;
    }
    int power_status = get_power(&b, &mw);
    if (may_answer(energy_status) || may_answer(power_status))
        add_board(search, &b, index, of, may_answer(energy_status), may_answer(power_status));
    else
        adept_sensor_missing(search, name, adept_nvml_help(power_status),
                             "neither energy nor power: %s (NVML status %d)", adept_nvml_text(library, power_status),
                             power_status);
}

static void find(adept_sensor_search *search)
{
    char why[sizeof((adept_sensor_note *)NULL)->why];
    const char *help;
    adept_nvml *library = adept_nvml_open(why, sizeof why, &help);
    unsigned n = 0;

    if (!library) {
        if (!*why) search->failed = ENOMEM;
        adept_sensor_missing(search, "nvml", help, "%s", why);
        return;
    }
    int status = library->count(&n);
    if (status != NVML_SUCCESS || n == 0)
        adept_sensor_missing(search, "nvml", adept_nvml_help(status), "NVML counts no board: %s (status %d)",
                             adept_nvml_text(library, status), status);
    for (unsigned i = 0; status == NVML_SUCCESS && i < n; i++)
        find_board(search, library, i, n);
    adept_nvml_leave(library);
}

const adept_sensor_kind adept_sensor_kind_nvml = {
    .name = "nvml",
    .what = "NVIDIA GPUs: energy counter (Volta and later), power, clocks, limit and use, by libnvidia-ml.so.1",
    .find = find,
    .read = read_board,
    .close = close_board,
};
