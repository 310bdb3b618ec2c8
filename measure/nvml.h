/** @file nvml.h  NVIDIA's management library (NVML), opened at run time. Functions, numbers and units are those of
 * NVIDIA's nvml.h, which is not needed to build. Private to measure/. Thread-safe as NVML is, but for opening and
 * leaving. Calls: nothing. */
#ifndef ADEPT_NVML_H
#define ADEPT_NVML_H
#include <stddef.h>

/* nvmlReturn_t */
enum {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_LIB_RM_VERSION_MISMATCH = 18,
    NVML_NO_DATA = 21,
    NVML_UNKNOWN = 999
};
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 }; /* nvmlClockType_t */
enum { NVML_TEMPERATURE_GPU = 0 };              /* nvmlTemperatureSensors_t */

/* nvmlPciInfo_t, as nvmlDeviceGetPciInfo_v3 fills it */
typedef struct adept_nvml_pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} adept_nvml_pci;

/* nvmlUtilization_t: percent of the last sample period (1/6 s to 1 s) in which a kernel ran, or memory was read or
 * written */
typedef struct adept_nvml_use {
    unsigned gpu, memory;
} adept_nvml_use;

enum { NVML_ARCHITECTURE_AMPERE = 7 };   /* nvmlDeviceArchitecture_t: NVML_DEVICE_ARCH_* */
enum { NVML_FIELD_POWER_INSTANT = 186 }; /* NVML_FI_DEV_POWER_INSTANT, milliwatts; the driver has it since 530 */

/* nvmlFieldValue_t */
typedef struct adept_nvml_field {
    unsigned id, scope;
    long long time_us, latency_us;
    int type; /* of the value, nvmlValueType_t */
    int status;
    union {
        double real;
        unsigned word;
        unsigned long long integer;
    } value;
} adept_nvml_field;
enum { NVML_VALUE_DOUBLE, NVML_VALUE_UNSIGNED };

/* nvmlProcessInfo_v2_t, which version 3 of the function fills as well */
typedef struct adept_nvml_process {
    unsigned pid;
    unsigned long long memory_bytes; /* all bits set: not known */
    unsigned gpu_instance, compute_instance;
} adept_nvml_process;

#define NVML_MOST_INSTANCES 32 /* of a board; their numbers are below 15 today */
#define NVML_NO_INSTANCE 0xffffffffu /* of MIG: the board is not divided */

/* nvmlDeviceAttributes_t, of a MIG device */
typedef struct adept_nvml_attributes {
    unsigned multiprocessors, copy_engines, decoders, encoders, jpeg_decoders, flow_units, gpu_slices, compute_slices;
    unsigned long long memory_mb;
} adept_nvml_attributes;

/* nvmlProcessInfo_v1_t */
typedef struct adept_nvml_process_v1 {
    unsigned pid;
    unsigned long long memory_bytes;
} adept_nvml_process_v1;

/* nvmlProcessUtilizationSample_t: percent, since the sample before */
typedef struct adept_nvml_process_use {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
} adept_nvml_process_use;

/* X(field, symbol, arguments): what is called. A library may lack those that it is too old for; the first four every
 * one has. */
#define ADEPT_NVML_LIST(X)                                                                                             \
    X(init, "nvmlInit_v2", (void))                                                                                     \
    X(shutdown, "nvmlShutdown", (void))                                                                                \
    X(count, "nvmlDeviceGetCount_v2", (unsigned *n))                                                                   \
    X(handle, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, void **device))                                        \
    X(driver, "nvmlSystemGetDriverVersion", (char *text, unsigned size))                                               \
    X(name, "nvmlDeviceGetName", (void *device, char *name, unsigned size))                                            \
    X(uuid, "nvmlDeviceGetUUID", (void *device, char *uuid, unsigned size))                                            \
    X(pci, "nvmlDeviceGetPciInfo_v3", (void *device, adept_nvml_pci *info))                                            \
    X(energy_mj, "nvmlDeviceGetTotalEnergyConsumption", (void *device, unsigned long long *mj))                        \
    X(power_mw, "nvmlDeviceGetPowerUsage", (void *device, unsigned *mw))                                               \
    X(fields, "nvmlDeviceGetFieldValues", (void *device, int n, adept_nvml_field *fields))                             \
    X(architecture, "nvmlDeviceGetArchitecture", (void *device, unsigned *architecture))                               \
    X(enforced_mw, "nvmlDeviceGetEnforcedPowerLimit", (void *device, unsigned *mw))                                    \
    X(clock_mhz, "nvmlDeviceGetClockInfo", (void *device, int which, unsigned *mhz))                                   \
    X(use, "nvmlDeviceGetUtilizationRates", (void *device, adept_nvml_use *use))                                       \
    X(temperature_c, "nvmlDeviceGetTemperature", (void *device, int which, unsigned *celsius))                         \
    X(limit_mw, "nvmlDeviceGetPowerManagementLimit", (void *device, unsigned *mw))                                     \
    X(limits_mw, "nvmlDeviceGetPowerManagementLimitConstraints", (void *device, unsigned *low, unsigned *high))        \
    X(set_limit, "nvmlDeviceSetPowerManagementLimit", (void *device, unsigned mw))                                     \
    X(memory_clocks_mhz, "nvmlDeviceGetSupportedMemoryClocks", (void *device, unsigned *n, unsigned *mhz))             \
    X(core_clocks_mhz, "nvmlDeviceGetSupportedGraphicsClocks",                                                         \
      (void *device, unsigned memory_mhz, unsigned *n, unsigned *mhz))                                                 \
    X(lock_core, "nvmlDeviceSetGpuLockedClocks", (void *device, unsigned low_mhz, unsigned high_mhz))                  \
    X(unlock_core, "nvmlDeviceResetGpuLockedClocks", (void *device))                                                   \
    X(lock_memory, "nvmlDeviceSetMemoryLockedClocks", (void *device, unsigned low_mhz, unsigned high_mhz))             \
    X(unlock_memory, "nvmlDeviceResetMemoryLockedClocks", (void *device))                                              \
    X(processes_v3, "nvmlDeviceGetComputeRunningProcesses_v3", (void *device, unsigned *n, adept_nvml_process *list))  \
    X(processes_v2, "nvmlDeviceGetComputeRunningProcesses_v2", (void *device, unsigned *n, adept_nvml_process *list))  \
    X(processes_v1, "nvmlDeviceGetComputeRunningProcesses", (void *device, unsigned *n, adept_nvml_process_v1 *list))  \
    X(mig_most, "nvmlDeviceGetMaxMigDeviceCount", (void *device, unsigned *n))                                         \
    X(mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex", (void *device, unsigned index, void **mig))                   \
    X(gpu_instance, "nvmlDeviceGetGpuInstanceId", (void *mig, unsigned *id))                                           \
    X(attributes, "nvmlDeviceGetAttributes_v2", (void *mig, adept_nvml_attributes *attributes))                        \
    X(process_use, "nvmlDeviceGetProcessUtilization",                                                                  \
      (void *device, adept_nvml_process_use *list, unsigned *n, unsigned long long since_us))

/** A library that was initialised. */
typedef struct adept_nvml {
    void *file;   /* of dlopen() */
    size_t users; /* boards, and who looks for them */
    const char *(*error_text)(int status);
#define X(field, symbol, arguments) int(*field) arguments;
    ADEPT_NVML_LIST(X)
#undef X
} adept_nvml;

/**
 * Open and initialise it.
 * @param why   says why it cannot be opened; "": memory is out
 * @param help  what would help; "": nothing known
 * @return NULL: it cannot be opened
 */
adept_nvml *adept_nvml_open(char *why, size_t why_size, const char **help);
/** The last of its users shuts it down and closes it. */
void adept_nvml_leave(adept_nvml *library);

/** What a status means, never NULL. */
const char *adept_nvml_text(const adept_nvml *library, int status);
/** What would help against it; "": nothing known. */
const char *adept_nvml_help(int status);

#endif
