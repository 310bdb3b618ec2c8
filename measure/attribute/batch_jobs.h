/** @file batch_jobs.h  What the readers of Slurm's texts share. Private to measure/attribute/. Calls: adept_arena,
 * adept_slots. */
#ifndef ADEPT_BATCH_JOBS_PRIVATE_H
#define ADEPT_BATCH_JOBS_PRIVATE_H
#include "adept_arena.h"
#include "adept_batch_jobs.h"
#include "adept_slots.h"

struct adept_batch_jobs {
    adept_arena *arena; /* of texts */
    adept_batch_job *list;
    size_t n, capacity;
    adept_slots slots;
    uint64_t seed;
    double begin_s, end_s; /* of the jobs that are taken */
};

/* Where a job's texts are. */
#define ADEPT_BATCH_TEXTS(job)                                                                                         \
    {                                                                                                                  \
        &(job)->name, &(job)->user, &(job)->account, &(job)->partition, &(job)->nodes, &(job)->note, &(job)->comment   \
    }

/** Whose job of this number another line is; NULL: nobody else's. */
const char *adept_batch_jobs_other_user(const adept_batch_jobs *jobs, const adept_batch_job *job);
/** Add a job, whose texts are copied, or what it says of one that is there. @return false when memory is out */
bool adept_batch_jobs_put(adept_batch_jobs *jobs, adept_batch_job *job, bool is_step);

/** A whole number that a text starts with, and what is behind it. */
bool adept_batch_number(int64_t *out, const char *text, const char **end);
bool adept_batch_state_read(adept_batch_state *out, const char *text);
/** @param out  NAN where there is none yet */
bool adept_batch_time(double *out, const char *text);
/** GPUs of a list of resources. */
void adept_batch_gpus(adept_batch_job *job, const char *list);
/** How many of a resource ("node") a list has. */
double adept_batch_resource(const char *list, const char *resource);

#endif
