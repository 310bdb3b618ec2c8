/** @file oracles.h  Compiled oracles that were used last: compiling one takes far longer than asking it. Thread-safe.
 *  Calls: library. */
#ifndef ADEPT_SERVE_ORACLES_H
#define ADEPT_SERVE_ORACLES_H
#include <adept/adept.h>
#include <stddef.h>

#define ADEPT_SERVE_ASSUME_SIZE 512 /* of all assumptions of a run, zero included */
#define ADEPT_SERVE_WORDS_SIZE 8192 /* of all words */

/** Cut a text at every ';'. @return how many texts, and a NULL behind them */
size_t adept_serve_cut(const char *texts[ADEPT_SERVE_WORDS_SIZE / 2 + 1], char *text);

/** What an oracle is made of. Workload and GPU are compared as pointers. */
typedef struct adept_serve_key {
    const adept_workload *workload;
    const adept_gpu *gpu;
    const char *words;              /* of the workload, KEY=VALUE joined by ';'; NULL: its own; compared as a text */
    const char *granularity;        /* "operator", "model", NULL */
    const char *assume;             /* texts separated by ';', NULL: the workload's own; compared as a text */
} adept_serve_key;

typedef struct adept_serve_oracles adept_serve_oracles;
typedef struct adept_serve_oracle adept_serve_oracle; /* one of them, held */

typedef struct adept_serve_oracles_count {
    uint64_t hits, misses, evicted;
    size_t kept;
} adept_serve_oracles_count;

/** @param capacity  how many are kept; those held by somebody beyond that go when they are released. @return NULL: no
 * memory */
adept_serve_oracles *adept_serve_oracles_new(size_t capacity);
/** Nothing may be held any more. NULL allowed. */
void adept_serve_oracles_free(adept_serve_oracles *c);

/** @param out  hold of the oracle: adept_serve_oracles_release(). @return as adept_workload_at() and
 * adept_oracle_new() */
adept_status adept_serve_oracles_hold(adept_serve_oracle **out, adept_serve_oracles *c, const adept_serve_key *key,
                                      adept_error *err);
void adept_serve_oracles_release(adept_serve_oracles *c, adept_serve_oracle *held);
const adept_oracle *adept_serve_oracle_of(const adept_serve_oracle *held);
/** Of a key without a GPU. */
const adept_workload *adept_serve_workload_of(const adept_serve_oracle *held);

adept_serve_oracles_count adept_serve_oracles_statistics(adept_serve_oracles *c);

#endif
