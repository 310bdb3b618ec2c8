/** @file advanced_index.h  Index tensors as x[i, :, j] has them: what they fit, what they give. Calls: workload. */
#ifndef ADEPT_ADVANCED_INDEX_H
#define ADEPT_ADVANCED_INDEX_H
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
    const adept_tensor *expanded[ADEPT_MAX_DIMS]; /* see adept_index_expand_masks() */
} adept_index;

bool adept_index_is_mask(const adept_tensor *t);
/** Do an index and the tensor it is for have as many dimensions? A number counts as a vector. */
bool adept_index_same_ndim(const adept_tensor *a, const adept_tensor *b);
/** Argument `indices` for tensor `self`; fails the call if they do not fit it. */
adept_index adept_index_read(adept_call *c, const adept_tensor *self);
/** x[mask]: a mask stands for the positions of what is true in it, an index tensor for each of its dimensions. */
void adept_index_expand_masks(adept_call *c, adept_index *x, const adept_tensor *self);

/** Autograd keeps the index tensors. */
void adept_index_save(adept_cost *cost, const adept_index *index);
/** Add gradients of `part` to zeros where the index says, as index_put does with accumulation: positions are written
 * down, sorted so that equal ones are neighbours, then added up by one kernel. */
void adept_index_accumulate(adept_cost *cost, adept_pass pass, const adept_tensor *part, const adept_index *index);

#endif
