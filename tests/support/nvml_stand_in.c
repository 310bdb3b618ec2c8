/** @file nvml_stand_in.c */
#include "nvml_stand_in.h"
#include <dlfcn.h>
#include <stdlib.h>

static void *library;
nvml_stand_in nvml;

int open_nvml_stand_in(void **state)
{
    const char *path = getenv("ADEPT_FAKE_NVML");

    (void)state;
    library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library) return -1;
    nvml.at = (void (*)(double))dlsym(library, "fake_nvml_at");
    nvml.users = (int (*)(void))dlsym(library, "fake_nvml_users");
    nvml.energy_j = (double (*)(double))dlsym(library, "fake_nvml_energy_j");
    nvml.begin_s = (double (*)(void))dlsym(library, "fake_nvml_begin_s");
    return setenv("ADEPT_NVML_LIBRARY", path, 1);
}

int close_nvml_stand_in(void **state)
{
    (void)state;
    return dlclose(library);
}
