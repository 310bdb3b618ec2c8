/* What can be set on the boards of fake_nvml.c. Settings are files limit-N (mW), core-N and memory-N (MHz, or "free")
 * of the folder that FAKE_NVML_SETTINGS names, so that they outlive the program as a driver's do; without the folder
 * nothing can be set. FAKE_NVML_MOST_MW is the highest limit. FAKE_NVML_REFUSES=1 is a user without permission. */
#include "fake_nvml.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOW_MW = 100000, HIGH_MW = 300000, FIRST_MW = 250000 };

static unsigned most_mw(void)
{
    const char *text = getenv("FAKE_NVML_MOST_MW");
    return text ? (unsigned)strtoul(text, NULL, 10) : HIGH_MW;
}

static bool is_board(const void *device)
{
    return fake_nvml_status(device) == SUCCESS;
}

static FILE *open_setting(const char *name, const void *device, const char *mode)
{
    const char *folder = getenv("FAKE_NVML_SETTINGS");
    char path[4096];

    snprintf(path, sizeof path, "%s/%s-%d", folder ? folder : "", name, fake_nvml_number(device));
    return folder && is_board(device) ? fopen(path, mode) : NULL;
}

static int set(const char *name, void *device, const char *text)
{
    if (getenv("FAKE_NVML_REFUSES")) return NO_PERMISSION;
    FILE *file = open_setting(name, device, "w");
    if (!file) return NOT_SUPPORTED;
    fprintf(file, "%s\n", text);
    return fclose(file) == 0 ? SUCCESS : INVALID;
}

static int set_clock(const char *name, void *device, unsigned low_mhz, unsigned high_mhz)
{
    char text[32];

    snprintf(text, sizeof text, "%u", low_mhz);
    return low_mhz == high_mhz ? set(name, device, text) : INVALID;
}

int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *mw);
int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *mw)
{
    FILE *file = open_setting("limit", device, "r");

    *mw = FIRST_MW;
    if (file && fscanf(file, "%u", mw) != 1) *mw = 0;
    if (file) fclose(file);
    return getenv("FAKE_NVML_SETTINGS") ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetPowerManagementLimitConstraints(void *device, unsigned *low, unsigned *high);
int nvmlDeviceGetPowerManagementLimitConstraints(void *device, unsigned *low, unsigned *high)
{
    *low = LOW_MW;
    *high = most_mw();
    return is_board(device) ? SUCCESS : INVALID;
}

int nvmlDeviceSetPowerManagementLimit(void *device, unsigned mw);
int nvmlDeviceSetPowerManagementLimit(void *device, unsigned mw)
{
    char text[32];

    snprintf(text, sizeof text, "%u", mw);
    return mw >= LOW_MW && mw <= most_mw() ? set("limit", device, text) : INVALID;
}

static int list(unsigned *n, unsigned *mhz, unsigned low, unsigned high, unsigned step)
{
    unsigned room = *n;

    *n = 1 + (high - low) / step;
    for (unsigned i = 0; i < *n && i < room; i++)
        mhz[i] = high - i * step;
    return *n <= room ? SUCCESS : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetSupportedMemoryClocks(void *device, unsigned *n, unsigned *mhz);
int nvmlDeviceGetSupportedMemoryClocks(void *device, unsigned *n, unsigned *mhz)
{
    return is_board(device) ? list(n, mhz, 405, 1215, 405) : INVALID;
}

int nvmlDeviceGetSupportedGraphicsClocks(void *device, unsigned memory_mhz, unsigned *n, unsigned *mhz);
int nvmlDeviceGetSupportedGraphicsClocks(void *device, unsigned memory_mhz, unsigned *n, unsigned *mhz)
{
    return is_board(device) ? list(n, mhz, 210, memory_mhz == 1215 ? 1410 : 420, 15) : INVALID;
}

int nvmlDeviceSetGpuLockedClocks(void *device, unsigned low_mhz, unsigned high_mhz);
int nvmlDeviceSetGpuLockedClocks(void *device, unsigned low_mhz, unsigned high_mhz)
{
    return set_clock("core", device, low_mhz, high_mhz);
}

int nvmlDeviceResetGpuLockedClocks(void *device);
int nvmlDeviceResetGpuLockedClocks(void *device)
{
    return set("core", device, "free");
}

int nvmlDeviceSetMemoryLockedClocks(void *device, unsigned low_mhz, unsigned high_mhz);
int nvmlDeviceSetMemoryLockedClocks(void *device, unsigned low_mhz, unsigned high_mhz)
{
    return set_clock("memory", device, low_mhz, high_mhz);
}

int nvmlDeviceResetMemoryLockedClocks(void *device);
int nvmlDeviceResetMemoryLockedClocks(void *device)
{
    return set("memory", device, "free");
}
