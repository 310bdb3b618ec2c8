/** @file merge.h  Operators that are alike become one with a count. Private to workload/. */
#ifndef ADEPT_MERGE_H
#define ADEPT_MERGE_H
#include "adept_profile.h"

typedef struct adept_merger adept_merger;

/** Everything the merged operators keep lies in `arena`. NULL when memory is out. */
adept_merger *adept_merger_new(adept_arena *arena);
void adept_merger_free(adept_merger *m);
/**
 * Add one execution. Strings and kernels are copied when the operator is new.
 * @param op   count and places are ignored, gradient_bytes are summed and no matter of likeness; path is the plain module path: "layers.3.mlp"
 * @return false when memory is out
 */
bool adept_merger_add(adept_merger *m, const adept_profile_op *op);
/** The merged operators in order of first appearance, paths as "layers.{0-21}.mlp". @return NULL when memory is out */
adept_profile_op *adept_merger_finish(adept_merger *m, size_t *n);
#endif
