/** @file checkpoint_private.h  What the files of the checkpoint share. Private to checkpoint*.c. */
#ifndef ADEPT_CHECKPOINT_PRIVATE_H
#define ADEPT_CHECKPOINT_PRIVATE_H
#include "checkpoint.h"
#include <cjson/cJSON.h>
#include <pthread.h>

struct adept_checkpoint {
    pthread_mutex_t mutex; /* over parts and the file */
    char *path;
    double written_s; /* monotonic clock; 0: never */
    char rows[65];    /* digest of the measurements and the GPU */
    cJSON *options;   /* name -> text of every option that changes a result */
    size_t n_parts;
    adept_part *parts;
};

adept_checkpoint *adept_checkpoint_alloc(const char *path); /* without identity; NULL when memory is out */
/** Add or replace a record, no lock. */
adept_status adept_checkpoint_add(adept_checkpoint *c, const adept_part *part, adept_error *err);
/** Set `rows` and `options`. */
adept_status adept_checkpoint_identify(adept_checkpoint *c, const adept_measurement *rows, size_t n,
                                       const adept_hwprofile *base, const adept_fit_options *options, adept_error *err);
/** Compare the identity in a file with this one's. @return ADEPT_E_USAGE saying what differs */
adept_status adept_checkpoint_compare(const adept_checkpoint *c, const char *name, const char *rows,
                                      const cJSON *options, adept_error *err);

#endif
