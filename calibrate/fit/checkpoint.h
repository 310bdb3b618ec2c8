/** @file checkpoint.h  Records of finished sub-fits in a checkpoint; the public part is in adept_calibrate.h. Private
 * to fit/. Calls: base (JSON, files, SHA-256). */
#ifndef ADEPT_CHECKPOINT_H
#define ADEPT_CHECKPOINT_H
#include "adept_calibrate.h"
#include "sha256.h"
#include <pthread.h>

/* The result of a sub-fit. */
typedef struct adept_sub_fit {
    char key[ADEPT_SHA256_SIZE]; /* of all that determines what it finds */
    char name[128];              /* for people */
    bool converged;
    int generations;
    double evaluations, loss;
    size_t n;           /* genes */
    const double *unit; /* on the unit cube; the checkpoint's */
} adept_sub_fit;

struct adept_checkpoint {
    char *path;
    pthread_mutex_t mutex;         /* of what follows, and of the file */
    char first[ADEPT_SHA256_SIZE]; /* key of the command's first sub-fit, which the file belongs to; "" before it */
    bool begun;                    /* this command has asked for its first */
    double written_s;              /* 0: never */
    adept_arena *arena;            /* of the sub-fits' numbers */
    size_t n_sub_fits;
    adept_sub_fit *sub_fits;
};

adept_checkpoint *adept_checkpoint_alloc(const char *path); /* NULL when memory is out */

/**
 * Fill in the record of sub_fit->key with sub_fit->n genes.
 * @return ADEPT_E_USAGE if the first sub-fit asked for is not the file's: it is of another fit
 */
adept_status adept_checkpoint_find(adept_checkpoint *c, adept_sub_fit *sub_fit, bool *found, adept_error *err);
/** Add a record (copied), unless there is one of its key, and write the file if that was not done lately. */
adept_status adept_checkpoint_put(adept_checkpoint *c, const adept_sub_fit *sub_fit, adept_error *err);

/** File text <-> records. */
adept_status adept_checkpoint_parse(adept_checkpoint *c, const char *name, const char *text, size_t size,
                                    adept_error *err);
char *adept_checkpoint_print(const adept_checkpoint *c); /* malloc'ed; NULL when memory is out */

#endif
