/* A library that stands in for ROCm's librocm_smi64: fake_rocm.h says how. Signatures and status codes as in rocm_smi.h
 * of 5.2.3, and rsmi_dev_power_get() of 6.0. */
#include "fake_rocm.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, INVALID_ARGS = 1, NOT_SUPPORTED = 2, BUSY = 16 };
#define RESOLUTION_UJ 15.3f /* what the library says for 2^-16 J */

static struct {
    double boards, power, rise, counter, meter, old, second, silent, limit, busy, begin, partitions, functions,
        counter_of;
} play;
static int n_users, n_starts;
static unsigned long n_calls;
static double begin_s;

static double clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double value(const char *key, double otherwise)
{
    const char *text = getenv("FAKE_ROCM");
    size_t length = strlen(key);

    for (const char *at = text; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, key, length) == 0 && at[length] == '=') return strtod(at + length + 1, NULL);
    }
    return otherwise;
}

static int users(void)
{
    return n_users;
}

static int starts(void)
{
    return n_starts;
}

static double time_s(void)
{
    return clock_s() - begin_s;
}

static double energy_j(double t)
{
    return play.power * t + play.rise * t * t / 2;
}

const fake_rocm_functions fake_rocm = {users, starts, energy_j, time_s};

int rsmi_init(uint64_t flags)
{
    (void)flags;
    double status = value("init", 0);
    n_starts++;
    if (status != 0) return (int)status;
    if (n_users++ > 0) return SUCCESS;
    play.boards = value("boards", 1);
    play.power = value("power", 100);
    play.rise = value("rise", 0);
    play.counter = value("counter", 1);
    play.meter = value("meter", 1);
    play.old = value("old", 0);
    play.second = value("second", -1);
    play.silent = value("silent", 0);
    play.limit = value("limit", 300);
    play.busy = value("busy", 87);
    play.begin = value("begin", 0);
    play.partitions = value("partitions", 1);
    play.functions = value("functions", 0);
    play.counter_of = value("counter_of", -1);
    begin_s = clock_s() - 1; /* the counter has counted before */
    return SUCCESS;
}

int rsmi_shut_down(void)
{
    n_users--;
    return SUCCESS;
}

int rsmi_num_monitor_devices(uint32_t *n)
{
    *n = (uint32_t)play.boards;
    return SUCCESS;
}

static int status_of(uint32_t device, double is_supported)
{
    if (n_users < 1 || device >= play.boards) return INVALID_ARGS;
    if (!is_supported) return NOT_SUPPORTED;
    return play.silent > 0 && ++n_calls % (unsigned long)play.silent == 0 ? BUSY : SUCCESS;
}

int rsmi_dev_pci_id_get(uint32_t device, uint64_t *id)
{
    uint32_t partition = device % (uint32_t)play.partitions;

    *id = (uint64_t)(0xf1 + device / (uint32_t)play.partitions) << 8;
    *id |= play.functions ? partition : (uint64_t)partition << 28;
    return SUCCESS;
}

int rsmi_dev_name_get(uint32_t device, char *name, size_t size)
{
    snprintf(name, size, "Fake Instinct %u", device);
    return SUCCESS;
}

int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *resolution_uj, uint64_t *time_ns)
{
    int status = status_of(device, play.counter && (play.counter_of < 0 || device == play.counter_of));

    if (status != SUCCESS) return status;
    *resolution_uj = RESOLUTION_UJ;
    *time_ns = (uint64_t)(1e9 * time_s());
    double counted = play.begin + 65536 * (device / (uint32_t)play.partitions + 1) * energy_j(time_s());
    *count = device == play.second ? 0 : counted < 0 ? UINT64_MAX : (uint64_t)counted;
    return SUCCESS;
}

static int get_power(uint32_t device, uint64_t *power_uw)
{
    int status = status_of(device, play.meter);

    uint32_t board = device / (uint32_t)play.partitions;
    if (status == SUCCESS)
        *power_uw = device == play.second ? 0 : (uint64_t)(1e6 * (board + 1) * (play.power + play.rise * time_s()));
    return status;
}

int rsmi_dev_power_get(uint32_t device, uint64_t *power_uw, int *type)
{
    *type = 1; /* RSMI_CURRENT_POWER */
    return play.old ? NOT_SUPPORTED : get_power(device, power_uw);
}

int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *power_uw)
{
    return sensor != 0 ? INVALID_ARGS : !play.old ? NOT_SUPPORTED : get_power(device, power_uw);
}

int rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *cap_uw)
{
    (void)device, (void)sensor;
    *cap_uw = (uint64_t)(1e6 * play.limit);
    return SUCCESS;
}

int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent)
{
    (void)device;
    *percent = (uint32_t)play.busy;
    return SUCCESS;
}
