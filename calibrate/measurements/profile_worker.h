/** @file profile_worker.h  Profiles made in child processes, one model file each. Private to measurements/.
 *  Calls: workload, handlers. */
#ifndef ADEPT_PROFILE_WORKER_H
#define ADEPT_PROFILE_WORKER_H
#include "adept_profile.h"

/** One configuration of a model file: what to make, and what came of it. */
typedef struct adept_profile_job {
    const char *path;
    adept_workload_config config;
    const char *sha256; /* of the file; what is made of other bytes is not kept */
    char key[65];       /* in the cache */
    /* result */
    bool done;
    adept_status status;
    char *json; /* of the profile, or of the operators without a handler; malloc'ed, NULL on failure */
    size_t json_bytes;
    char message[1024];
} adept_profile_job;

typedef struct adept_worker_options {
    int processes; /* 0: one per core, at most 8 */
    bool trust;
    void (*progress)(void *context, size_t done, size_t total);
    void *context;
} adept_worker_options;

/**
 * Run the jobs that are not done. Those of one path stand together and share one import.
 * @return ADEPT_OK also if jobs failed (see their status); ADEPT_E_INTERNAL if no process could be started
 */
adept_status adept_profile_jobs_run(adept_profile_job **jobs, size_t n, const adept_worker_options *options,
                                    adept_error *err);

#endif
