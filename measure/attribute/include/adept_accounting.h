/** @file adept_accounting.h  Whose joules: what nodes used, given to the jobs on them, to the system and to idleness,
 * so that all that is given is what the meters read. docs/MEASURE.md has the equations. Thread-safe. Calls:
 * adept_activity, adept_batch_jobs, adept_idle_fit. */
#ifndef ADEPT_ACCOUNTING_H
#define ADEPT_ACCOUNTING_H
#include "adept_activity.h"
#include "adept_batch_jobs.h"
#include "adept_idle_fit.h"

/* X(name, word) of the parts of an energy. GAP: what no meter inside the node sees, such as fans and the power supply.
 */
#define ADEPT_ENERGY_PART_LIST(X) X(CPU, "cpu") X(DRAM, "dram") X(GPU, "gpu") X(GAP, "gap")

typedef enum adept_energy_part {
#define X(name, word) ADEPT_ENERGY_##name,
    ADEPT_ENERGY_PART_LIST(X)
#undef X
        ADEPT_ENERGY_PARTS
} adept_energy_part;

/** "cpu"; NULL behind the last. */
const char *adept_energy_part_name(size_t part);

typedef enum adept_cpu_base {
    ADEPT_CPU_BUSY,    /* who computes pays all of the processors */
    ADEPT_CPU_CAPACITY /* who computes pays its share of the time of all processors; the rest is idle */
} adept_cpu_base;

typedef enum adept_gap_rule {
    ADEPT_GAP_NONE,
    ADEPT_GAP_PROPORTIONAL, /* what the node's own meter reads beyond, in proportion to what each has */
    ADEPT_GAP_CONSTANT      /* so many watts, likewise */
} adept_gap_rule;

typedef struct adept_accounting_options {
    adept_cpu_base cpu_base;
    adept_gap_rule gap;
    double gap_w;      /* ADEPT_GAP_CONSTANT */
    double gap_factor; /* ADEPT_GAP_PROPORTIONAL of a node without such a meter: node / parts, 1.19; 0: not known */
    double gpu_memory_bytes; /* of a GPU; 0: not known */
} adept_accounting_options;

/** A node, as recorded. */
typedef struct adept_recorded_node {
    const adept_activity_log *log;
    const adept_idle_fit *idle;   /* what it draws idle, which is taken off first; NULL: nothing is */
    const adept_batch_pids *pids; /* jobs of processes that do not say it themselves; NULL: none */
} adept_recorded_node;

#define ADEPT_USE_BINS 20

/** How much of a GPU was used, over time. */
typedef struct adept_use_histogram {
    double time_s[ADEPT_USE_BINS]; /* equal bins from 0 to 1 */
    double total_s, weighted_s;    /* the mean is weighted_s / total_s */
} adept_use_histogram;
/** NAN where nothing is known. */
double adept_use_mean(const adept_use_histogram *h);
void adept_use_add(adept_use_histogram *to, const adept_use_histogram *from);

/** What has energy. */
typedef enum adept_holder {
    ADEPT_HOLDER_JOB,
    ADEPT_HOLDER_SYSTEM,
    ADEPT_HOLDER_IDLE,
    ADEPT_HOLDER_HIDDEN /* processes on GPUs that are not visible where they were recorded */
} adept_holder;

/** What one of them has of one node. */
typedef struct adept_share {
    size_t node;
    adept_holder holder;
    int64_t job;  /* of ADEPT_HOLDER_JOB */
    uint32_t uid; /* of the job's first process */
    double energy_j[ADEPT_ENERGY_PARTS];
    /* between which its energy of GPUs is, where it is not known how much each used one */
    double gpu_low_j, gpu_high_j;
    double cpu_time_s, gpu_time_s; /* gpu_time_s: GPUs that it held, times seconds */
    adept_use_histogram multiprocessors, memory;
} adept_share;

/** Is it one that was not visible where it was recorded? Then a GPU's driver alone told of it. */
bool adept_process_is_hidden(const adept_process *process);

/** What a node used in the intervals of its recording. */
typedef struct adept_node_account {
    const char *host;
    double begin_s, end_s; /* of its recording, which may have holes */
    double recorded_s;
    bool has[ADEPT_ENERGY_PARTS]; /* there is something that reads it */
    bool cpu_is_rest;      /* no meter of processors: it is the node's meter less memory and GPUs */
    bool idle_is_unknown;  /* its idle fit lacks a line that is needed: nothing of processors was taken off first */
    double energy_j[ADEPT_ENERGY_PARTS];  /* what was given out */
    double unknown_s[ADEPT_ENERGY_PARTS]; /* for so long a meter did not say it, and nothing was given */
    double sliced_s, alike_s; /* GPUs times seconds that several held whose use is not known: given out by the slices of
                                 a GPU that each held, and to all alike */
    double external_j,
        beside_j; /* by the node's own meter where it said it, and of the parts meanwhile; NAN: it has none */
} adept_node_account;

typedef struct adept_accounting {
    adept_share *shares; /* by node; of each: system, idle, hidden, jobs in the order in which they were seen */
    size_t n_shares, capacity;
    adept_node_account *nodes;
    size_t n_nodes;
} adept_accounting;

/**
 * Give out the energy of some nodes.
 * @param out   adept_accounting_free(); set only on ADEPT_OK
 * @param jobs  begins, ends and GPUs of jobs are used; NULL: nothing is known of them
 * @return ADEPT_E_NOMEM
 */
adept_status adept_account(adept_accounting **out, const adept_recorded_node *nodes, size_t n,
                           const adept_batch_jobs *jobs, const adept_accounting_options *options, adept_error *err);
/** NULL allowed. */
void adept_accounting_free(adept_accounting *a);

#endif
