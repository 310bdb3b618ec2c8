/** @file gpu_processes.c  Processes on GPUs by NVML. Lists grow between two calls, so each is asked for again while it
 * does not fit. */
#include "adept_gpu_processes.h"
#include "adept_grow.h"
#include "deadline.h"
#include "nvml.h"
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ON_A_GPU 65536 /* a library that says more is broken */

typedef struct board {
    void *device;
    unsigned index;
    unsigned long long seen_us; /* of the newest sample of use */
} board;

struct adept_gpu_processes {
    adept_nvml *library; /* NULL: there is none */
    board *boards;
    size_t n_boards;
    adept_gpu_process *list;
    size_t n, capacity;
    union { /* what the library fills */
        adept_nvml_process *now;
        adept_nvml_process_v1 *old;
        adept_nvml_process_use *uses;
        void *any;
    } room;
    size_t room_bytes;
    char why[256];        /* why nothing is read; "": it is */
    bool is_stuck, is_ok; /* a call does not return, and keeps all of this; the last one had memory */
};

/* ---------------------------------------------------------------- who holds a GPU --------------------------------- */

static bool add(adept_gpu_processes *g, const board *b, unsigned pid, double memory_bytes)
{
    adept_gpu_process *grown = adept_grow(g->list, &g->capacity, g->n + 1, sizeof *grown);

    if (!grown) return false;
    g->list = grown;
    adept_gpu_process *p = &g->list[g->n++];
    *p = (adept_gpu_process){.pid = (int32_t)pid, .utilization = NAN, .memory_bytes = memory_bytes, .is_listed = true};
    snprintf(p->gpu, sizeof p->gpu, "gpu-%u", b->index);
    return true;
}

/* One version of the function. *n: how many there are room for, then how many there are. */
typedef int (*lister)(const adept_gpu_processes *g, const board *b, unsigned *n);

static int list_v3(const adept_gpu_processes *g, const board *b, unsigned *n)
{
    return g->library->processes_v3 ? g->library->processes_v3(b->device, n, g->room.now) : NVML_FUNCTION_NOT_FOUND;
}

static int list_v2(const adept_gpu_processes *g, const board *b, unsigned *n)
{
    return g->library->processes_v2 ? g->library->processes_v2(b->device, n, g->room.now) : NVML_FUNCTION_NOT_FOUND;
}

static int list_v1(const adept_gpu_processes *g, const board *b, unsigned *n)
{
    return g->library->processes_v1 ? g->library->processes_v1(b->device, n, g->room.old) : NVML_FUNCTION_NOT_FOUND;
}

static int list_uses(const adept_gpu_processes *g, const board *b, unsigned *n)
{
    return g->library->process_use ? g->library->process_use(b->device, g->room.uses, n, b->seen_us)
                                   : NVML_FUNCTION_NOT_FOUND;
}

/* Ask until the list fits. @return false when memory is out */
static bool ask(adept_gpu_processes *g, const board *b, lister list, size_t element_bytes, unsigned *n, int *status)
{
    unsigned room = 64;

    do {
        size_t bytes = room * element_bytes;
        void *grown = adept_grow(g->room.any, &g->room_bytes, bytes, 1);
        if (grown) g->room.any = grown;
        if (grown == NULL) return false;
        *n = room;
        *status = list(g, b, n);
        room = *n > room ? *n + 16 : 2 * room;
    } while (*status == NVML_INSUFFICIENT_SIZE && room <= MOST_ON_A_GPU);
    if (*status != NVML_SUCCESS || *n > g->room_bytes / element_bytes) *n = 0;
    return true;
}

static double known_bytes(unsigned long long bytes)
{
    return bytes == ~0ULL ? NAN : (double)bytes;
}

/* The sizes of a board's instances, which may be divided otherwise at any time. What does not say it stays. */
static void read_slices(double slices[NVML_MOST_INSTANCES], const adept_gpu_processes *g, const board *b)
{
    const adept_nvml *l = g->library;
    unsigned most = 0, id;

    if (!l->mig_most || !l->mig_handle || !l->gpu_instance || !l->attributes ||
        l->mig_most(b->device, &most) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < most && i < NVML_MOST_INSTANCES; i++) {
        adept_nvml_attributes attributes = {0};
        void *mig;
        if (l->mig_handle(b->device, i, &mig) == NVML_SUCCESS && l->gpu_instance(mig, &id) == NVML_SUCCESS &&
            id < NVML_MOST_INSTANCES && l->attributes(mig, &attributes) == NVML_SUCCESS)
            slices[id] = attributes.gpu_slices;
    }
}

/* A symbol that is missing, and one that says that the driver does not have it, are the same. */
static bool read_holders(adept_gpu_processes *g, const board *b)
{
    size_t from = g->n;
    unsigned n = 0;
    int status = NVML_FUNCTION_NOT_FOUND;
    bool ok = ask(g, b, list_v3, sizeof *g->room.now, &n, &status);

    if (ok && status == NVML_FUNCTION_NOT_FOUND) ok = ask(g, b, list_v2, sizeof *g->room.now, &n, &status);
    if (ok && status != NVML_FUNCTION_NOT_FOUND) {
        for (unsigned i = 0; ok && i < n; i++)
            ok = add(g, b, g->room.now[i].pid, known_bytes(g->room.now[i].memory_bytes));
        if (ok) {
            /* Which instance the processes are on that the library has just listed, and that are in the list from
             * `from` on. */
            double slices[NVML_MOST_INSTANCES] = {0};
            bool is_asked = false;
            for (size_t i = from; i < g->n; i++) {
                unsigned id = g->room.now[i - from].gpu_instance;
                if (id == NVML_NO_INSTANCE) continue;
                if (!is_asked) read_slices(slices, g, b);
                is_asked = true;
                g->list[i].instance = id + 1;
                g->list[i].slices = id < NVML_MOST_INSTANCES ? slices[id] : 0;
            }
        }
        return ok;
    }
    ok = ok && ask(g, b, list_v1, sizeof *g->room.old, &n, &status);
    for (unsigned i = 0; ok && i < n; i++)
        ok = add(g, b, g->room.old[i].pid, known_bytes(g->room.old[i].memory_bytes));
    return ok;
}

/* ---------------------------------------------------------------- how much of it ---------------------------------- */

/* A process may have several samples since the reading before: their mean. */
static double mean_use(const adept_nvml_process_use *uses, unsigned n, unsigned pid)
{
    double sum = 0;
    unsigned samples = 0;

    for (unsigned i = 0; i < n; i++) {
        if (uses[i].pid != pid || uses[i].sm > 100) continue;
        sum += uses[i].sm / 100.0;
        samples++;
    }
    return samples > 0 ? sum / samples : 0;
}

static bool holds(const adept_gpu_processes *g, size_t from, unsigned pid)
{
    for (size_t i = from; i < g->n; i++)
        if (g->list[i].pid == (int32_t)pid) return true;
    return false;
}

/* @param from  where the GPU's processes begin. nvml.h: NOT_FOUND means that nothing used it since. */
static bool read_uses(adept_gpu_processes *g, board *b, size_t from)
{
    unsigned n = 0;
    int status;

    if (!ask(g, b, list_uses, sizeof *g->room.uses, &n, &status)) return false;
    if (status != NVML_SUCCESS && status != NVML_NOT_FOUND) return true;
    for (unsigned i = 0; i < n; i++) { /* what draws pictures is in no list of computing processes */
        const adept_nvml_process_use *use = &g->room.uses[i];
        if (use->time_us > b->seen_us) b->seen_us = use->time_us;
        if (!(use->sm > 0 && use->sm <= 100) || holds(g, from, use->pid)) continue;
        if (!add(g, b, use->pid, NAN)) return false;
        g->list[g->n - 1].is_listed = false;
    }
    for (size_t i = from; i < g->n; i++)
        g->list[i].utilization = mean_use(g->room.uses, n, (unsigned)g->list[i].pid);
    return true;
}

/* A call of the driver may not return: then nothing is read any more. */
static adept_status ask_driver(adept_gpu_processes *g, void (*call)(void *data), double limit_s, adept_error *err)
{
    int failed = adept_deadline_call(call, g, limit_s);

    g->is_stuck = failed == ETIMEDOUT;
    if (g->is_stuck || (failed == 0 && g->is_ok)) return ADEPT_OK;
    return adept_deadline_error(failed == 0 ? ENOMEM : failed, "processes on GPUs", err);
}

static void read_all(void *data)
{
    adept_gpu_processes *g = data;

    g->n = 0;
    g->is_ok = true;
    for (size_t i = 0; g->is_ok && i < g->n_boards; i++) {
        size_t from = g->n;
        g->is_ok = read_holders(g, &g->boards[i]) && read_uses(g, &g->boards[i], from);
    }
}

adept_status adept_gpu_processes_read(adept_gpu_processes *g, const adept_gpu_process **out, size_t *n,
                                      adept_error *err)
{
    *n = 0;
    if (g->is_stuck || g->n_boards == 0) return ADEPT_OK;
    adept_status status = ask_driver(g, read_all, ADEPT_ANSWER_S, err);
    if (status != ADEPT_OK || g->is_stuck) return status;
    *out = g->list;
    *n = g->n;
    return ADEPT_OK;
}

bool adept_gpu_processes_are_stuck(const adept_gpu_processes *g)
{
    return g->is_stuck;
}

/* ---------------------------------------------------------------- opening ----------------------------------------- */

static bool find_boards(adept_gpu_processes *g)
{
    unsigned n = 0;
    int status = g->library->count(&n);

    if (status != NVML_SUCCESS || n == 0)
        snprintf(g->why, sizeof g->why, "NVML counts no board: %s (status %d)", adept_nvml_text(g->library, status),
                 status);
    if (status != NVML_SUCCESS || n == 0) return true;
    g->boards = calloc(n, sizeof *g->boards);
    for (unsigned i = 0; g->boards && i < n; i++) {
        board b = {.index = i};
        if (g->library->handle(i, &b.device) == NVML_SUCCESS) g->boards[g->n_boards++] = b;
    }
    return g->boards != NULL;
}

static void open_all(void *data)
{
    adept_gpu_processes *g = data;
    const char *help;

    g->library = adept_nvml_open(g->why, sizeof g->why, &help);
    g->is_ok = g->library ? find_boards(g) : *g->why != '\0';
}

adept_status adept_gpu_processes_open(adept_gpu_processes **out, char *why, size_t why_size, adept_error *err)
{
    adept_gpu_processes *g = calloc(1, sizeof *g);

    *why = '\0';
    adept_status status = g ? ask_driver(g, open_all, ADEPT_FIND_S, err) : adept_no_memory(err, "processes on GPUs");
    if (status != ADEPT_OK) {
        adept_gpu_processes_close(g);
        return status;
    }
    snprintf(why, why_size, "%s", g->is_stuck ? "NVML does not answer" : g->why);
    *out = g;
    return ADEPT_OK;
}

static void leave(void *data)
{
    adept_nvml_leave(((adept_gpu_processes *)data)->library);
}

void adept_gpu_processes_close(adept_gpu_processes *g)
{
    if (!g || g->is_stuck) return;
    int failed = g->library ? adept_deadline_call(leave, g, ADEPT_ANSWER_S) : 0;
    if (failed == ETIMEDOUT) return;
    if (failed) leave(g);
    free(g->boards);
    free(g->list);
    free(g->room.any);
    free(g);
}
