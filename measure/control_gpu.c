/** @file control_gpu.c  What NVIDIA GPUs are set to by NVML: power limit, core clock, memory clock. Setting needs root.
 * The driver forgets settings when the last program that uses the GPU ends, unless it is in persistence mode: NVML
 * stays open while they are needed. */
#include "control.h"
#include "nvml.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const adept_control_kind adept_control_power_limit, adept_control_clock, adept_control_memory_clock;

typedef struct board {
    adept_nvml *library;
    void *device;
    unsigned index;
} board;

static void close_board(adept_control *control)
{
    board *b = control->state;

    adept_nvml_leave(b->library);
    free(b);
}

/* ---------------------------------------------------------------- answers ---------------------------------------- */

/* Call a function of the board's library, which may lack it. */
#define CALL(b, function, arguments)                                                                                   \
    ((b)->library->function ? (b)->library->function arguments : NVML_FUNCTION_NOT_FOUND)

static adept_status refused(const adept_control *control, int status, const char *what, adept_error *err)
{
    const board *b = control->state;
    return adept_error_set(err, ADEPT_E_IO, "%s: %s %s: %s (NVML status %d)", control->kind->key, control->name, what,
                           adept_nvml_text(b->library, status), status);
}

/* @param option  of nvidia-smi, that does the same */
static adept_status judge(const adept_control *control, int status, const char *option, adept_error *err)
{
    const board *b = control->state;

    if (status == NVML_SUCCESS) return ADEPT_OK;
    if (status != NVML_NO_PERMISSION) return refused(control, status, "cannot be set", err);
    return adept_error_set(err, ADEPT_E_IO, "%s: %s may not be set: %s; %s by hand: sudo nvidia-smi -i %u %s",
                           control->kind->key, control->name, adept_nvml_text(b->library, status), adept_control_help(),
                           b->index, option);
}

/* ---------------------------------------------------------------- finding boards --------------------------------- */

/* @param ask  is the setting there? It writes what it is set to. */
static adept_status add_board(adept_controls *list, const adept_control_kind *kind, const board *found,
                              int (*ask)(const board *, char *was, size_t size), adept_error *err)
{
    board *b = malloc(sizeof *b);
    adept_control *control = b ? adept_controls_add(list, kind, "gpu-%u", found->index) : NULL;

    if (!control) {
        free(b);
        return adept_no_memory(err, kind->key);
    }
    *b = *found;
    b->library->users++;
    control->state = b;
    int status = CALL(b, uuid, (b->device, control->id, sizeof control->id));
    if (status == NVML_SUCCESS) status = ask(b, control->was, sizeof control->was);
    return status == NVML_SUCCESS ? ADEPT_OK : refused(control, status, "has no such setting", err);
}

static adept_status find_boards(adept_controls *list, const adept_control_kind *kind,
                                int (*ask)(const board *, char *was, size_t size), adept_error *err)
{
    char why[256];
    const char *help;
    unsigned n = 0;
    adept_nvml *library = adept_nvml_open(why, sizeof why, &help);

    if (!library && !*why) return adept_no_memory(err, kind->key);
    if (!library)
        return adept_error_set(err, ADEPT_E_IO, "%s: no NVIDIA GPU can be set: %s%s%s", kind->key, why,
                               *help ? "; " : "", help);
    int counted = library->count(&n);
    adept_status status = counted == NVML_SUCCESS && n > 0
                              ? ADEPT_OK
                              : adept_error_set(err, ADEPT_E_IO, "%s: NVML counts no GPU: %s (status %d)", kind->key,
                                                adept_nvml_text(library, counted), counted);
    for (unsigned i = 0; i < n && status == ADEPT_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "gpu-%u", i);
        board b = {.library = library, .index = i};
        char id[sizeof((adept_control *)NULL)->id] = "";
        int answer = library->handle(i, &b.device);
        if (answer == NVML_SUCCESS && library->uuid && library->uuid(b.device, id, sizeof id) != NVML_SUCCESS)
            id[0] = '\0';
        if (!adept_controls_want(list, kind, name, id)) continue;
        if (answer == NVML_SUCCESS)
            status = add_board(list, kind, &b, ask, err);
        else
            status = adept_error_set(err, ADEPT_E_IO, "%s: gpu-%u: %s (NVML status %d)", kind->key, i,
                                     adept_nvml_text(library, answer), answer);
    }
    adept_nvml_leave(library);
    return status;
}

/* ---------------------------------------------------------------- power limit ------------------------------------ */

static int ask_limit(const board *b, char *was, size_t size)
{
    unsigned mw = 0;
    int status = CALL(b, limit_mw, (b->device, &mw));

    snprintf(was, size, "%u", mw);
    return status;
}

static adept_status find_limits(adept_controls *list, const adept_control_kind *kind, adept_error *err)
{
    return find_boards(list, kind, ask_limit, err);
}

static adept_status express_limit(char *raw, size_t size, const adept_control *control, const adept_setting *value,
                                  adept_error *err)
{
    const board *b = control->state;
    unsigned low_mw = 0, high_mw = 0;
    int status = CALL(b, limits_mw, (b->device, &low_mw, &high_mw));

    if (status != NVML_SUCCESS) return refused(control, status, "does not say its range", err);
    snprintf(raw, size, "%.0f", 1e3 * value->number);
    return adept_control_in_range(control, value->number, 1e-3 * low_mw, 1e-3 * high_mw, "W", err);
}

static adept_status set_limit(const adept_control *control, const char *raw, adept_error *err)
{
    const board *b = control->state;
    char option[64];
    unsigned mw = (unsigned)strtoul(raw, NULL, 10);

    snprintf(option, sizeof option, "-pl %g", 1e-3 * mw);
    return judge(control, CALL(b, set_limit, (b->device, mw)), option, err);
}

const adept_control_kind adept_control_power_limit = {
    .key = "power_limit_w",
    .device = "gpu",
    .find = find_limits,
    .express = express_limit,
    .set = set_limit,
    .close = close_board,
    .unit = 1e-3,
};

/* ---------------------------------------------------------------- clocks ----------------------------------------- */

/* Nobody can ask whether a clock is locked: putting it back unlocks it. */
static int ask_nothing(const board *b, char *was, size_t size)
{
    (void)b;
    (void)size;
    was[0] = '\0';
    return NVML_SUCCESS;
}

#define MOST_CLOCKS 512

static int list_memory_clocks(const board *b, unsigned *n, unsigned *mhz)
{
    *n = MOST_CLOCKS;
    return CALL(b, memory_clocks_mhz, (b->device, n, mhz));
}

/* Those at the highest memory clock. */
static int list_core_clocks(const board *b, unsigned *n, unsigned *mhz)
{
    int status = list_memory_clocks(b, n, mhz);
    unsigned memory_mhz = 0;

    for (unsigned i = 0; status == NVML_SUCCESS && i < *n; i++)
        if (mhz[i] > memory_mhz) memory_mhz = mhz[i];
    *n = MOST_CLOCKS;
    return status == NVML_SUCCESS ? CALL(b, core_clocks_mhz, (b->device, memory_mhz, n, mhz)) : status;
}

static adept_status find_clocks(adept_controls *list, const adept_control_kind *kind, adept_error *err)
{
    return find_boards(list, kind, ask_nothing, err);
}

static bool is_core(const adept_control *control)
{
    return control->kind == &adept_control_clock;
}

/* The driver takes the step next to the clock. */
static adept_status express_clock(char *raw, size_t size, const adept_control *control, const adept_setting *value,
                                  adept_error *err)
{
    unsigned n = 0, mhz[MOST_CLOCKS];
    double low_hz = INFINITY, high_hz = 0;
    int status = (is_core(control) ? list_core_clocks : list_memory_clocks)(control->state, &n, mhz);

    if (status != NVML_SUCCESS) return refused(control, status, "does not list its clocks", err);
    for (unsigned i = 0; i < n; i++) {
        low_hz = fmin(low_hz, 1e6 * mhz[i]);
        high_hz = fmax(high_hz, 1e6 * mhz[i]);
    }
    snprintf(raw, size, "%.0f", 1e-6 * value->number);
    return adept_control_in_range(control, value->number, low_hz, high_hz, "Hz", err);
}

static adept_status set_clock(const adept_control *control, const char *raw, adept_error *err)
{
    const board *b = control->state;
    const char *clock = is_core(control) ? "gc" : "mc"; /* nvidia-smi -lgc locks it, -rgc unlocks it */
    unsigned mhz = (unsigned)strtoul(raw, NULL, 10);
    char option[64];
    int status;

    if (*raw) {
        snprintf(option, sizeof option, "-l%s %u", clock, mhz);
        status =
            is_core(control) ? CALL(b, lock_core, (b->device, mhz, mhz)) : CALL(b, lock_memory, (b->device, mhz, mhz));
    } else {
        snprintf(option, sizeof option, "-r%s", clock);
        status = is_core(control) ? CALL(b, unlock_core, (b->device)) : CALL(b, unlock_memory, (b->device));
    }
    return judge(control, status, option, err);
}

const adept_control_kind adept_control_clock = {
    .key = "clock_hz",
    .device = "gpu",
    .find = find_clocks,
    .express = express_clock,
    .set = set_clock,
    .close = close_board,
    .unit = 1e6,
    .may_be_unset = true,
};

const adept_control_kind adept_control_memory_clock = {
    .key = "memory_clock_hz",
    .device = "gpu",
    .find = find_clocks,
    .express = express_clock,
    .set = set_clock,
    .close = close_board,
    .unit = 1e6,
    .may_be_unset = true,
};
