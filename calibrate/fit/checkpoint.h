/** @file checkpoint.h  Records of finished sub-fits in a checkpoint; the public part is in adept_calibrate.h. Private to
 *  fit/. Calls: base (JSON, files, SHA-256). */
#ifndef ADEPT_CHECKPOINT_H
#define ADEPT_CHECKPOINT_H
#include "adept_calibrate.h"
#include "adept_json.h"
#include "objective.h"
#include "sha256.h"
#include <pthread.h>

/* The result of a sub-fit. */
typedef struct adept_part {
    char key[ADEPT_SHA256_SIZE]; /* digest of all that determines the result */
    char name[128];              /* for people */
    bool converged;
    int generations;
    double evaluations, loss;
    size_t n;           /* genes */
    const double *unit; /* on the unit cube; the checkpoint's */
} adept_part;

struct adept_checkpoint {
    adept_arena *arena; /* of the parts' numbers */
    char *path;
    char rows[ADEPT_SHA256_SIZE]; /* digest of the measurements and the GPU */
    cJSON *options;               /* name -> text of every option that changes a result */
    pthread_mutex_t mutex;        /* of what follows, and of the file */
    double written_s;             /* 0: never */
    size_t n_parts;
    adept_part *parts;
};

adept_checkpoint *adept_checkpoint_alloc(const char *path); /* without identity; NULL when memory is out */

/** Fill in the record of part->key with part->n genes. @return false: there is none */
bool adept_checkpoint_find(adept_checkpoint *c, adept_part *part);
/** Add a record (copied), unless there is one of its key, and write the file if that was not done lately. */
adept_status adept_checkpoint_put(adept_checkpoint *c, const adept_part *part, adept_error *err);

/** Set `rows` and `options`. */
adept_status adept_checkpoint_identify(adept_checkpoint *c, const adept_measurement *rows, size_t n,
                                       const adept_hwprofile *base, const adept_fit_options *options, adept_error *err);
/** Compare the identity in a file with this one's. @return ADEPT_E_USAGE saying what differs */
adept_status adept_checkpoint_compare(const adept_checkpoint *c, const char *name, const char *rows,
                                      const cJSON *options, adept_error *err);

/** File text <-> records. */
adept_status adept_checkpoint_parse(adept_checkpoint *c, const char *name, const char *text, size_t size,
                                    adept_error *err);
char *adept_checkpoint_print(const adept_checkpoint *c); /* malloc'ed; NULL when memory is out */

/** Add to a digest everything of an objective that a loss depends on. Rows enter by what the evaluator predicts for
 * them at some points, so that this need not know how it predicts. @param scratch as adept_objective_n_scratch() says
 */
void adept_digest_objective(adept_sha256 *sha, const adept_objective *o, double *scratch);
void adept_digest_numbers(adept_sha256 *sha, const double *numbers, size_t n);

#endif
