/** @file nvml.c  Opening NVML, and what its statuses mean. */
#include "nvml.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

const char *adept_nvml_text(const adept_nvml *library, int status)
{
    const char *text = library->error_text ? library->error_text(status) : NULL;
    if (text) return text;
    return status == NVML_FUNCTION_NOT_FOUND ? "a function is missing in this library" : "unknown error";
}

const char *adept_nvml_help(int status)
{
    switch (status) {
    case NVML_NO_PERMISSION:
        return "the user needs to read and write /dev/nvidiactl and /dev/nvidia*";
    case NVML_DRIVER_NOT_LOADED:
        return "load the driver: modprobe nvidia; in a container: start it with the GPUs";
    case NVML_LIB_RM_VERSION_MISMATCH:
        return "the driver was updated while it was loaded: load it again, or restart the machine";
    default:
        return "";
    }
}

adept_nvml *adept_nvml_open(char *why, size_t why_size, const char **help)
{
    /* "secure_": a program that was given privileges (setcap, for RAPL) must load no library of the caller's. */
    const char *name = secure_getenv("ADEPT_NVML_LIBRARY");
    adept_nvml *l = calloc(1, sizeof *l);

    *help = "";
    why[0] = '\0';
    if (!l) return NULL;
    l->users = 1;
    l->file = dlopen(name && name[0] ? name : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!l->file) {
        snprintf(why, why_size, "%s", dlerror());
        *help = "where there is an NVIDIA GPU, its driver has it: package libnvidia-ml1 (Debian), libnvidia-compute-* "
                "(Ubuntu); in a container: NVIDIA_DRIVER_CAPABILITIES=utility";
        free(l);
        return NULL;
    }
    l->error_text = (const char *(*)(int))dlsym(l->file, "nvmlErrorString");
#define X(field, symbol, arguments) l->field = (int(*) arguments)dlsym(l->file, symbol);
    ADEPT_NVML_LIST(X)
#undef X
    int status = l->init && l->shutdown && l->count && l->handle ? l->init() : NVML_FUNCTION_NOT_FOUND;
    if (status == NVML_SUCCESS) return l;
    snprintf(why, why_size, "NVML does not start: %s (status %d)", adept_nvml_text(l, status), status);
    *help = adept_nvml_help(status);
    dlclose(l->file);
    free(l);
    return NULL;
}

void adept_nvml_leave(adept_nvml *library)
{
    if (--library->users > 0) return;
    library->shutdown();
    dlclose(library->file);
    free(library);
}
