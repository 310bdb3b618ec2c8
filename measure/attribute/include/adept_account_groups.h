/** @file adept_account_groups.h  Shares of energy summed up: by job, user, account, partition, state or node.
 * Thread-safe. Calls: adept_accounting, adept_arena. */
#ifndef ADEPT_ACCOUNT_GROUPS_H
#define ADEPT_ACCOUNT_GROUPS_H
#include "adept_accounting.h"
#include "adept_arena.h"

/* X(name, word) of what shares are summed up by. */
#define ADEPT_GROUP_KEY_LIST(X)                                                                                        \
    X(JOB, "job") X(USER, "user") X(ACCOUNT, "account") X(PARTITION, "partition") X(STATE, "state") X(NODE, "node")

typedef enum adept_group_key {
#define X(name, word) ADEPT_GROUP_##name,
    ADEPT_GROUP_KEY_LIST(X)
#undef X
        ADEPT_GROUP_KEYS
} adept_group_key;

/** "job"; NULL behind the last. */
const char *adept_group_key_name(size_t key);

typedef struct adept_account_group {
    const char *name;           /* of the job, user, ... */
    int64_t id;                 /* by job: its number; else -1 */
    const adept_batch_job *job; /* by job: what is known of it; else NULL */
    size_t n_jobs;
    double energy_j[ADEPT_ENERGY_PARTS], total_j;
    double gpu_low_j, gpu_high_j; /* between which its energy of GPUs is */
    double cpu_time_s, gpu_time_s;
    double covered_s; /* by job: recorded time while it ran, of all its nodes together; NAN: its times are not known */
    adept_use_histogram multiprocessors, memory;
} adept_account_group;

typedef struct adept_account_groups {
    adept_arena *arena;
    adept_account_group *list; /* most energy first */
    size_t n, capacity;
    /* jobs: all of them together; all: these and the three before */
    adept_account_group system, idle, hidden, jobs, all;
    adept_account_group lost,
        open; /* jobs that ended otherwise than completed; that have not ended, or of unknown state */
} adept_account_groups;

/** @param out  adept_account_groups_free(); its names are its own, its jobs those of `jobs`. @return ADEPT_E_NOMEM */
adept_status adept_account_groups_of(adept_account_groups **out, const adept_accounting *a,
                                     const adept_batch_jobs *jobs, adept_group_key key, adept_error *err);
/** NULL allowed. */
void adept_account_groups_free(adept_account_groups *g);

/** Elapsed time of a job; NAN: not known. */
double adept_batch_job_elapsed_s(const adept_batch_job *job);
/** Was a job recorded from its begin to its end, on all its nodes? Slurm's times are whole seconds. */
bool adept_account_is_whole(const adept_account_group *job);

#endif
