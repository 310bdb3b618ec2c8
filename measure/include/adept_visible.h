/** @file adept_visible.h  Which GPUs a process may use, by its environment: CUDA_VISIBLE_DEVICES and its like.
 * Thread-safe on different objects. Calls: adept_sensor. */
#ifndef ADEPT_VISIBLE_H
#define ADEPT_VISIBLE_H
#include "adept_sensor.h"

/* X(identifier, variable) */
#define ADEPT_VISIBLE_LIST(X)                                                                                          \
    X(CUDA, "CUDA_VISIBLE_DEVICES")                                                                                    \
    X(CUDA_ORDER, "CUDA_DEVICE_ORDER")                                                                                 \
    X(STEP, "SLURM_STEP_GPUS")                                                                                         \
    X(JOB, "SLURM_JOB_GPUS")                                                                                           \
    X(NVIDIA, "NVIDIA_VISIBLE_DEVICES")                                                                                \
    X(ROCR, "ROCR_VISIBLE_DEVICES")                                                                                    \
    X(HIP, "HIP_VISIBLE_DEVICES")                                                                                      \
    X(ORDINAL, "GPU_DEVICE_ORDINAL")                                                                                   \
    X(LEVEL_ZERO, "ZE_AFFINITY_MASK")

enum {
#define X(identifier, variable) ADEPT_VISIBLE_##identifier,
    ADEPT_VISIBLE_LIST(X)
#undef X
        ADEPT_VISIBLE_VARIABLES
};
/** "CUDA_VISIBLE_DEVICES"; NULL behind the last. */
const char *adept_visible_name(size_t variable);

/** Their values in a process; "" is a value, and NULL is none. */
typedef struct adept_visible_words {
    char *values[ADEPT_VISIBLE_VARIABLES];
    bool in_container; /* it has another root than this process, so what counts GPUs here has others */
} adept_visible_words;

/** Those of this process. @return false: memory is out */
bool adept_visible_own(adept_visible_words *words);
/** Those of another, in place of what `words` has. @return false: it cannot be read, and they stay; or memory is out */
bool adept_visible_of(adept_visible_words *words, int pid);
/** One of them, copied; NULL: none. @return false: memory is out */
bool adept_visible_set(adept_visible_words *words, size_t variable, const char *value);
void adept_visible_free(adept_visible_words *words);

/** What they leave of GPUs. */
typedef struct adept_visible_gpus {
    size_t n;          /* GPUs that the process may use, */
    size_t n_measured; /* and how many of these the sensors measure */
    char by[160];      /* "CUDA_VISIBLE_DEVICES=3": what decides; "": nothing does, and all are visible */
    const char
        *doubt; /* why the power of the sensors is not, or may not be, that of these GPUs: a sentence; NULL: it is */
} adept_visible_gpus;

/**
 * Find the sensors of the GPUs that the variables leave.
 * @param is_used  for each sensor: set to whether it is such a GPU's; of what is no GPU, or of no known make, true
 */
void adept_visible_resolve(adept_visible_gpus *out, bool *is_used, const adept_visible_words *words,
                           const adept_sensor *const *sensors, size_t n);

#endif
