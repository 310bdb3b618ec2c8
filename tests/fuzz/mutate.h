/** @file mutate.h  Mutators that know a format: the bytes are read, what they say is changed, and written again. Each
 * changes `data` in place and returns the new size; 0: it cannot read them, or they became too long. */
#ifndef ADEPT_FUZZ_MUTATE_H
#define ADEPT_FUZZ_MUTATE_H
#include "adept_graph.h"
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_random {
    uint64_t state; /* not 0 */
} fuzz_random;

static inline size_t fuzz_pick(fuzz_random *r, size_t n) /* below n, which is not 0 */
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return (size_t)((r->state >> 11) % n);
}

/** Zeros, ones, limits of types, and what is near `value`. */
double fuzz_number(fuzz_random *r, double value);

typedef size_t fuzz_mutator(uint8_t *data, size_t size, size_t max_size, fuzz_random *r);
fuzz_mutator fuzz_mutate_json; /* a line before it, "POST /v1/predict", stays; the first brace may be missing */
fuzz_mutator fuzz_mutate_graph;
fuzz_mutator fuzz_mutate_pickle;
fuzz_mutator fuzz_mutate_saved; /* with the hash made right */
fuzz_mutator fuzz_mutate_zip;   /* an entry of an archive, with its checksum made right */

/** What those of graphs and of saved profiles are made of. */
void fuzz_change_graph(adept_graph *graph, fuzz_random *r);

/** libFuzzer's own, of bytes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#endif
