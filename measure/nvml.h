/** @file nvml.h  NVIDIA's management library (NVML), opened at run time. Functions, numbers and units are those of NVIDIA's nvml.h,
 *  which is not needed to build. Private to measure/. Thread-safe as NVML is, but for opening and closing. Calls: nothing. */
#ifndef ADEPT_NVML_H
#define ADEPT_NVML_H
#include <stddef.h>

/* nvmlReturn_t */
enum {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_LIB_RM_VERSION_MISMATCH = 18,
    NVML_NO_DATA = 21,
    NVML_UNKNOWN = 999
};
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 }; /* nvmlClockType_t */

/** A library that was initialised. What every one has is never NULL. */
typedef struct adept_nvml {
    void *file; /* of dlopen() */
    size_t users;
    int (*shutdown)(void);
    int (*count)(unsigned *n);
    int (*handle)(unsigned index, void **device);
    const char *(*error_text)(int status); /* may be NULL: adept_nvml_text() */
} adept_nvml;

/** A function that the library may be too old for: NULL then. Cast it to its type. */
typedef void (*adept_nvml_function)(void);

/**
 * Open and initialise it.
 * @param why   a line that says why it cannot be opened
 * @param help  what would help; "": nothing known
 * @return NULL: it cannot be opened; adept_nvml_leave() it
 */
adept_nvml *adept_nvml_open(char *why, size_t why_size, const char **help);
adept_nvml_function adept_nvml_find(const adept_nvml *library, const char *name);
/** The last of its `users` shuts it down and closes it. */
void adept_nvml_leave(adept_nvml *library);

/** What a status means, never NULL. */
const char *adept_nvml_text(const adept_nvml *library, int status);
/** What would help against it; "": nothing known. */
const char *adept_nvml_help(int status);

#endif
