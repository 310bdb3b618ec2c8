/** @file index_shape.h  Advanced indexing: x[i, :, j] with index tensors. Calls: workload. */
#ifndef ADEPT_INDEX_SHAPE_H
#define ADEPT_INDEX_SHAPE_H
#include "adept_handler.h"

typedef struct adept_index {
    int ndim; /* shape of x[...] */
    int64_t dims[ADEPT_MAX_DIMS];
    int64_t strides[ADEPT_MAX_DIMS]; /* of self where a dimension is taken whole, else 0 */
    int n_behind;                    /* dimensions behind those of the index tensors */
    double positions;                /* index tuples: elements of the index tensors broadcast together */
    double index_bytes;              /* of all index tensors */
    bool by_mask;                    /* a bool tensor takes part: the shape depends on data, and dims is not set */
    size_t n;                        /* entries of the list, NULL where a dimension is taken whole */
    const adept_tensor *const *items;
} adept_index;

/** Argument `indices` for tensor `self`; fails the call if they do not fit it. */
adept_index adept_index_of(adept_call *c, const adept_tensor *self);
/** Memory order of x[...]: that of x where its dimensions are kept, else of the index tensors. */
void adept_index_set_strides(adept_tensor *out, const adept_index *index);
/** Autograd keeps the index tensors. */
void adept_index_save(adept_cost *cost, const adept_index *index);
/** Add gradients of `part` to zeros of the shape of `whole` where the index says, as index_put does with accumulation:
 *  positions are written down, sorted so that equal ones are neighbours, then added up by one kernel. */
void adept_index_accumulate(adept_cost *cost, adept_pass pass, const adept_tensor *part, const adept_index *index);
#endif
