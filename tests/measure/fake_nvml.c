/* A library that stands in for NVIDIA's libnvidia-ml.so.1. What it plays stands in the environment variable FAKE_NVML,
 * read whenever the first user initialises it: words KEY=VALUE.
 *
 *   boards=N           how many (1); board i draws i + 1 times the power
 *   power=constant:W | square:LOW,HIGH,PERIOD_S (LOW comes first) | ramp:FROM,TO,SECONDS (and then TO) (constant:200)
 *   update=S           energy and power are new every S seconds (0: always)
 *   shown=W            nvmlDeviceGetPowerUsage says this instead, so that a test sees which of the two was used
 *   mean=S             nvmlDeviceGetPowerUsage says the mean of the last S seconds; instant=1: field 186 is there, and
 * says what it is now counts=FACTOR (1)  the counter counts so much of what is drawn; from S on, faults=S:
 * nvmlDeviceGetPowerUsage has all bits set architecture=N     of nvmlDeviceGetArchitecture (0: the function answers
 * NOT_SUPPORTED) counter=0          no energy counter: NOT_SUPPORTED meter=0            no power reading either
 *   gauges=0           neither limit nor clocks, use, temperature
 *   silent_energy=N, silent_power=N    every Nth call of it answers NO_DATA, UNKNOWN
 *   reset=S            the counter starts again at 0 then
 *   lost=S             from then on the board has fallen off the bus
 *   hangs=S            from then on no call about a board returns; init_hangs=1: nvmlInit_v2 does not
 *   limit=W (250), sm_clock=MHZ (1410), memory_clock=MHZ (1215)
 *   init=STATUS        what nvmlInit_v2 answers
 *   same_bus=1         all boards are at one place of the bus: one board, counted several times
 *   process=BOARD,PID,BYTES,PERCENT[,INSTANCE]    a process on it (repeatable); BYTES -1: not known; PERCENT -1: no
 * sample alike=1            all boards have the same name used_as=PID        the use of every process is told by this
 * number instead, as of another PID namespace mig=BOARD,INSTANCE,SLICES    the board has such a MIG instance
 * (repeatable) processes=3        the newest version of the list of processes that there is; uses=0: no use of each
 * (NOT_SUPPORTED)
 *
 * Times are since that initialisation, or what fake_nvml_at() says. The counter is the exact integral of the curve. */
#include "fake_nvml.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_BOARDS 16
#define MOST_PROCESSES 128
#define MOST_INSTANCES 16

/* X(key, its value where FAKE_NVML does not name it) */
#define KEY_LIST(X)                                                                                                    \
    X(boards, 1)                                                                                                       \
    X(update, 0)                                                                                                       \
    X(shown, NAN) X(mean, 0) X(instant, 0) X(counts, 1) X(faults, INFINITY) X(architecture, 0) X(counter, 1)           \
        X(meter, 1) X(gauges, 1) X(silent_energy, 0) X(silent_power, 0) X(reset, INFINITY) X(lost, INFINITY)           \
            X(hangs, INFINITY) X(init_hangs, 0) X(limit, 250) X(sm_clock, 1410) X(memory_clock, 1215) X(init, 0)       \
                X(processes, 3) X(uses, 1) X(used_as, 0) X(alike, 0) X(same_bus, 0)

static struct {
#define X(key, otherwise) double key;
    KEY_LIST(X)
#undef X
    char shape[16];
    double from_w, to_w, length_s;
    struct {
        int board;
        unsigned pid;
        double bytes, percent;
        unsigned instance;
    } on[MOST_PROCESSES];
    unsigned n_on;
    struct {
        int board;
        unsigned instance, slices;
    } mig[MOST_INSTANCES];
    unsigned n_mig;
} play;

static int users;
static double begin_s;
static double virtual_s = NAN;
static unsigned long energy_calls, power_calls;
static char boards[MOST_BOARDS], instances[MOST_INSTANCES]; /* a handle is the address of its element */

/* ---- for tests: dlsym() ---- */

double fake_nvml_begin_s(void);           /* CLOCK_MONOTONIC of time 0 */
void fake_nvml_at(double time_s);         /* it is this time now, and stays; NAN: the clock's again */
int fake_nvml_users(void);                /* initialisations that were not shut down */
double fake_nvml_energy_j(double time_s); /* of board 0: the integral from 0, without reset and steps */

static double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double fake_nvml_begin_s(void)
{
    return begin_s;
}

void fake_nvml_at(double time_s)
{
    virtual_s = time_s;
}

int fake_nvml_users(void)
{
    return users;
}

double fake_nvml_energy_j(double t)
{
    if (strcmp(play.shape, "square") == 0) {
        double periods = floor(t / play.length_s), half = play.length_s / 2, rest = t - periods * play.length_s;
        return (play.from_w + play.to_w) * half * periods + play.from_w * fmin(rest, half) +
               play.to_w * fmax(rest - half, 0);
    }
    if (strcmp(play.shape, "ramp") == 0) {
        double up = fmin(t, play.length_s);
        return play.from_w * up + (play.to_w - play.from_w) * up * up / (2 * play.length_s) + play.to_w * (t - up);
    }
    return play.from_w * t;
}

/* ---- the curve ---- */

static double power_w(double t)
{
    if (strcmp(play.shape, "square") == 0) return fmod(t, play.length_s) < play.length_s / 2 ? play.from_w : play.to_w;
    if (strcmp(play.shape, "ramp") == 0) return play.from_w + (play.to_w - play.from_w) * fmin(t / play.length_s, 1);
    return play.from_w;
}

static double now(void)
{
    return isnan(virtual_s) ? clock_s() - begin_s : virtual_s;
}

static double updated(void)
{
    return play.update > 0 ? floor(now() / play.update) * play.update : now();
}

static void read_play(void)
{
    const char *text = getenv("FAKE_NVML");
#define X(key, otherwise) play.key = otherwise;
    KEY_LIST(X)
#undef X
    strcpy(play.shape, "constant");
    play.from_w = play.to_w = 200;
    play.length_s = 1;
    play.n_on = play.n_mig = 0;
    for (const char *word = text ? text : ""; *word; word += strcspn(word, " "), word += strspn(word, " ")) {
        int known =
            sscanf(word, "power=%15[a-z]:%lf,%lf,%lf", play.shape, &play.from_w, &play.to_w, &play.length_s) >= 2;
        play.on[play.n_on].instance = ~0U;
        if (sscanf(word, "process=%d,%u,%lf,%lf,%u", &play.on[play.n_on].board, &play.on[play.n_on].pid,
                   &play.on[play.n_on].bytes, &play.on[play.n_on].percent, &play.on[play.n_on].instance) >= 4)
            known = 1, play.n_on++;
        if (sscanf(word, "mig=%d,%u,%u", &play.mig[play.n_mig].board, &play.mig[play.n_mig].instance,
                   &play.mig[play.n_mig].slices) == 3)
            known = 1, play.n_mig++;
#define X(key, otherwise) known += sscanf(word, #key "=%lf", &play.key) == 1;
        KEY_LIST(X)
#undef X
        if (!known) {
            fprintf(stderr, "fake_nvml: FAKE_NVML: '%s'?\n", word);
            abort();
        }
    }
}

/* ---- what nvml.h declares ---- */

int fake_nvml_status(const void *device)
{
    if (users == 0) return UNINITIALIZED;
    if ((const char *)device < boards || (const char *)device >= boards + (int)play.boards) return INVALID;
    while (now() >= play.hangs)
        pause();
    return now() >= play.lost ? LOST : SUCCESS;
}

int fake_nvml_number(const void *device)
{
    return (int)((const char *)device - boards);
}

static double share(const void *device)
{
    return fake_nvml_number(device) + 1;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    if (users == 0) {
        read_play();
        begin_s = clock_s();
        energy_calls = power_calls = 0;
    }
    while (play.init_hangs)
        pause();
    if (play.init == SUCCESS) users++;
    return (int)play.init;
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    if (users == 0) return UNINITIALIZED;
    users--;
    return SUCCESS;
}

const char *nvmlErrorString(int status);
const char *nvmlErrorString(int status)
{
    switch (status) {
    case SUCCESS:
        return "The operation was successful";
    case NOT_SUPPORTED:
        return "Not Supported";
    case DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case LOST:
        return "GPU is lost";
    default:
        return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "1.2.3");
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = (unsigned)play.boards;
    return users > 0 ? SUCCESS : UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index >= MOST_BOARDS) return INVALID;
    *device = boards + index;
    return fake_nvml_status(*device);
}

int nvmlDeviceGetName(void *device, char *name, unsigned size);
int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    snprintf(name, size, "NVIDIA Fake-%d", play.alike ? 1 : (int)share(device));
    return fake_nvml_status(device);
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size)
{
    long i = (const char *)device - instances;
    if (i >= 0 && i < MOST_INSTANCES)
        snprintf(uuid, size, "MIG-fake-%d-%u", play.mig[i].board, play.mig[i].instance);
    else
        snprintf(uuid, size, "GPU-fake-%d", fake_nvml_number(device));
    return SUCCESS;
}

/* ---- MIG ---- */

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *n);
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *n)
{
    *n = play.n_mig > 0 ? 7 : 0;
    return fake_nvml_status(device);
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **mig);
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **mig)
{
    for (unsigned i = 0; i < play.n_mig; i++) {
        if (play.mig[i].board != fake_nvml_number(device) || index-- > 0) continue;
        *mig = instances + i;
        return SUCCESS;
    }
    return NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(void *mig, unsigned *id);
int nvmlDeviceGetGpuInstanceId(void *mig, unsigned *id)
{
    *id = play.mig[(char *)mig - instances].instance;
    return SUCCESS;
}

int nvmlDeviceGetAttributes_v2(void *mig, unsigned values[10]); /* 8 numbers, and one of 64 bits */
int nvmlDeviceGetAttributes_v2(void *mig, unsigned values[10])
{
    memset(values, 0, 10 * sizeof *values);
    values[6] = values[7] = play.mig[(char *)mig - instances].slices;
    return SUCCESS;
}

typedef struct pci_info {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} pci_info;

int nvmlDeviceGetPciInfo_v3(void *device, pci_info *info);
int nvmlDeviceGetPciInfo_v3(void *device, pci_info *info)
{
    *info = (pci_info){.bus = play.same_bus ? 1 : (unsigned)share(device)};
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
    return fake_nvml_status(device);
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    double t = updated(), energy_j = fake_nvml_energy_j(t);
    if (fake_nvml_status(device) != SUCCESS) return fake_nvml_status(device);
    if (play.counter == 0) return NOT_SUPPORTED;
    if (play.silent_energy > 0 && ++energy_calls % (unsigned long)play.silent_energy == 0) return NO_DATA;
    energy_j = t >= play.reset ? energy_j - fake_nvml_energy_j(play.reset) : energy_j + 1e6; /* it ran before we came */
    *mj = (unsigned long long)(1e3 * share(device) * play.counts * energy_j);
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    if (fake_nvml_status(device) != SUCCESS) return fake_nvml_status(device);
    if (play.meter == 0) return NOT_SUPPORTED;
    if (play.silent_power > 0 && ++power_calls % (unsigned long)play.silent_power == 0) return UNKNOWN;
    double t = updated(), mean_w = play.mean > 0
                                       ? (fake_nvml_energy_j(t) - fake_nvml_energy_j(t - play.mean)) / play.mean
                                       : power_w(t);
    *mw = (unsigned)(1e3 * share(device) * (isnan(play.shown) ? mean_w : play.shown) + 0.5);
    if (now() >= play.faults) *mw = ~0U;
    return SUCCESS;
}

typedef struct field_value {
    unsigned id, scope;
    long long time_us, latency_us;
    int type, status;
    union {
        double real;
        unsigned word;
    } value;
} field_value;

int nvmlDeviceGetFieldValues(void *device, int n, field_value *fields);
int nvmlDeviceGetFieldValues(void *device, int n, field_value *fields)
{
    for (int i = 0; i < n; i++) {
        fields[i].status = play.instant && fields[i].id == 186 ? SUCCESS : NOT_SUPPORTED;
        fields[i].type = 1; /* unsigned */
        fields[i].value.word = (unsigned)(1e3 * share(device) * power_w(updated()) + 0.5);
    }
    return fake_nvml_status(device);
}

int nvmlDeviceGetArchitecture(void *device, unsigned *architecture);
int nvmlDeviceGetArchitecture(void *device, unsigned *architecture)
{
    *architecture = (unsigned)play.architecture;
    return fake_nvml_status(device) != SUCCESS ? fake_nvml_status(device)
           : play.architecture > 0             ? SUCCESS
                                               : NOT_SUPPORTED;
}

static int gauge(const void *device, unsigned *value, double number)
{
    *value = (unsigned)number;
    return fake_nvml_status(device) != SUCCESS ? fake_nvml_status(device) : play.gauges != 0 ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw)
{
    return gauge(device, mw, 1e3 * play.limit);
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz);
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    return gauge(device, mhz, which == 1 ? play.sm_clock : which == 2 ? play.memory_clock : 0);
}

int nvmlDeviceGetTemperature(void *device, int which, unsigned *celsius);
int nvmlDeviceGetTemperature(void *device, int which, unsigned *celsius)
{
    return which == 0 ? gauge(device, celsius, 55) : INVALID;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned percents[2]); /* gpu, memory */
int nvmlDeviceGetUtilizationRates(void *device, unsigned percents[2])
{
    gauge(device, &percents[1], 42);
    return gauge(device, &percents[0], 87);
}

/* ---- processes; the structures are nvml.h's ---- */

typedef struct process_v1 {
    unsigned pid;
    unsigned long long bytes;
} process_v1;
typedef struct process_v2 {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
} process_v2;
typedef struct process_use {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
} process_use;

/* Writes as far as there is room; *n becomes how many there are. */
static int list_processes(const void *device, int version, unsigned *n, process_v2 *list, process_v1 *old)
{
    unsigned room = *n, found = 0;
    if (fake_nvml_status(device) != SUCCESS) return fake_nvml_status(device);
    if (version > play.processes) return FUNCTION_NOT_FOUND;
    for (unsigned i = 0; i < play.n_on; i++) {
        unsigned long long bytes = play.on[i].bytes < 0 ? ~0ULL : (unsigned long long)play.on[i].bytes;
        if (boards + play.on[i].board != (const char *)device || found++ >= room) continue;
        if (list)
            list[found - 1] =
                (process_v2){play.on[i].pid, bytes, play.on[i].instance, play.on[i].instance == ~0U ? ~0U : 0};
        if (old) old[found - 1] = (process_v1){play.on[i].pid, bytes};
    }
    *n = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, process_v2 *list);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, process_v2 *list)
{
    return list_processes(device, 3, n, list, NULL);
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *n, process_v2 *list);
int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *n, process_v2 *list)
{
    return list_processes(device, 2, n, list, NULL);
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *n, process_v1 *list);
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *n, process_v1 *list)
{
    return list_processes(device, 1, n, NULL, list);
}

/* Two samples of each, around its percentage, newer than what was seen. */
int nvmlDeviceGetProcessUtilization(void *device, process_use *list, unsigned *n, unsigned long long since_us);
int nvmlDeviceGetProcessUtilization(void *device, process_use *list, unsigned *n, unsigned long long since_us)
{
    unsigned room = *n, found = 0;
    unsigned long long now_us = 1000000ULL + (unsigned long long)(1e6 * now());
    if (fake_nvml_status(device) != SUCCESS) return fake_nvml_status(device);
    if (play.uses == 0) return NOT_SUPPORTED;
    for (unsigned i = 0; i < 2 * play.n_on && now_us > since_us; i++) {
        double percent = play.on[i / 2].percent;
        if (boards + play.on[i / 2].board != (const char *)device || percent < 0 || found++ >= room) continue;
        list[found - 1] = (process_use){.pid = play.used_as > 0 ? (unsigned)play.used_as : play.on[i / 2].pid,
                                        .time_us = now_us,
                                        .sm = (unsigned)(i % 2 ? percent + 2 : percent - 2)};
    }
    *n = found;
    return found > room ? INSUFFICIENT_SIZE : found == 0 ? NOT_FOUND : SUCCESS;
}
