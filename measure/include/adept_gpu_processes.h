/** @file adept_gpu_processes.h  Which processes hold NVIDIA's GPUs, and how much of them each uses (NVML). One thread
 * at a time. Calls: adept_error. */
#ifndef ADEPT_GPU_PROCESSES_H
#define ADEPT_GPU_PROCESSES_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A process on a GPU. */
typedef struct adept_gpu_process {
    char gpu[16];        /* its sensor's name: "gpu-0" */
    int32_t pid;         /* as the driver sees it: of the host's namespace mostly, at times of a container's */
    double utilization;  /* of the multiprocessors since the reading before, 0 to 1; NAN: the GPU does not say (MIG) */
    double memory_bytes; /* NAN: not known */
    uint32_t instance;   /* of MIG: its number, and 1; 0: none, the process has the whole board */
    double slices;       /* of the instance; 0: not known */
    bool is_listed;      /* among those that hold the GPU now; else it only used the GPU since the reading before */
} adept_gpu_process;

typedef struct adept_gpu_processes adept_gpu_processes;

/**
 * @param out  adept_gpu_processes_close(). Where there is no NVML, it reads nothing
 * @param why  says why nothing will be read; "": GPUs are asked
 * @return ADEPT_E_NOMEM; ADEPT_E_INTERNAL: no thread can be started
 */
adept_status adept_gpu_processes_open(adept_gpu_processes **out, char *why, size_t why_size, adept_error *err);
/**
 * All processes on all GPUs now.
 * @param out  n of them; borrowed, until the next reading
 * @return ADEPT_E_NOMEM, ADEPT_E_INTERNAL; a GPU that does not answer has no processes
 */
adept_status adept_gpu_processes_read(adept_gpu_processes *g, const adept_gpu_process **out, size_t *n,
                                      adept_error *err);
/** Does the driver not answer? Then no processes are read any more. */
bool adept_gpu_processes_are_stuck(const adept_gpu_processes *g);
/** NULL allowed. */
void adept_gpu_processes_close(adept_gpu_processes *g);

#endif
