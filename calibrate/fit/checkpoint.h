/** @file checkpoint.h  Records of sub-fits in a checkpoint; the public part is in adept_calibrate.h. Private to fit/.
 *  Calls: workload (JSON, files, SHA-256). */
#ifndef ADEPT_CHECKPOINT_H
#define ADEPT_CHECKPOINT_H
#include "adept_calibrate.h"
#include "objective.h"
#include "sha256.h"

/* A sub-fit: its result if it is done, else the population it has come to. */
typedef struct adept_part {
    char key[65];   /* digest of all that determines the result */
    char name[128]; /* for people */
    bool done;
    bool converged; /* done only */
    int generation;
    double evaluations;
    size_t n;            /* genes, or numbers of the result */
    size_t n_population; /* 1 when done */
    double *points;      /* n_population * n */
    double *losses;      /* n_population */
} adept_part;

/** A deep copy of the record under `key`; out->n_population is 0 if there is none. The caller clears it. */
adept_status adept_checkpoint_find(adept_checkpoint *c, const char *key, adept_part *out, adept_error *err);
void adept_part_clear(adept_part *part);
/** Add or replace the record (copied), and write the file if that was not done lately or `now` is true. */
adept_status adept_checkpoint_put(adept_checkpoint *c, const adept_part *part, bool now, adept_error *err);

/** Add to a digest everything of an objective that a loss depends on. Rows enter by what the evaluator predicts for
 * them at some points, so that this need not know how it predicts. @param scratch as adept_objective_n_scratch() says
 */
void adept_digest_objective(adept_sha256 *sha, const adept_objective *o, double *scratch);
void adept_digest_numbers(adept_sha256 *sha, const double *numbers, size_t n);
void adept_digest_text(adept_sha256 *sha, const char *text);

/** File text <-> records, for tests. */
adept_status adept_checkpoint_parse(adept_checkpoint *c, const char *name, const char *text, size_t size,
                                    adept_error *err);
char *adept_checkpoint_print(const adept_checkpoint *c);

#endif
