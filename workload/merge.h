/** @file merge.h  Operators that are alike become one with a count. Private to workload/. */
#ifndef ADEPT_MERGE_PRIVATE_H
#define ADEPT_MERGE_PRIVATE_H
#include "adept_profile.h"

typedef struct adept_merger adept_merger;

/** Everything the merged operators keep lies in `arena`. NULL when memory is out. */
adept_merger *adept_merger_new(adept_arena *arena);
void adept_merger_free(adept_merger *m);
/**
 * Find or add the operator that is like it. Strings and kernels are copied when it is new.
 * @param op   path is the plain module path, "layers.3.mlp"; what the program tells is ignored: count, places,
 *             gradients
 * @return its number; -1 when memory is out
 */
int32_t adept_merger_add(adept_merger *m, const adept_profile_op *op);
/** Sets ops, in order of first appearance with paths as "layers.{0-21}.mlp".
 *  @return them, for what the program tells; NULL when memory is out */
adept_profile_op *adept_merger_finish(adept_merger *m, adept_profile *profile);
/** Of what one execution computes and moves, wherever it is: continues `h` as adept_hash_bytes() does. */
uint64_t adept_op_hash(uint64_t h, const adept_profile_op *op);
#endif
