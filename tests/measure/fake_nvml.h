/** @file fake_nvml.h  What the two files of the library that stands in for NVML share. Numbers are written down once
 * more here, of NVIDIA's nvml.h: measure/nvml.h is held against them. */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    FUNCTION_NOT_FOUND = 13,
    LOST = 15,
    NO_DATA = 21,
    UNKNOWN = 999
};

/** SUCCESS: the handle is a board's, which is there. */
int fake_nvml_status(const void *device);
/** The number of a handle's board: 0, 1, ... */
int fake_nvml_number(const void *device);

#endif
