/** @file batches_walk.h  Walks over a graph at chosen batch sizes and lengths, and which are chosen. Private to workload/. */
#ifndef ADEPT_BATCHES_WALK_H
#define ADEPT_BATCHES_WALK_H
#include "batches.h"

typedef struct adept_walked {
    adept_batch_point at;
    adept_profile *profile;
    adept_numbers numbers;
} adept_walked;

typedef struct adept_walker {
    adept_batch_walk walk;
    void *context;
    adept_error *err;
    adept_batch_point *done; /* every walk, in order */
    size_t n, room;
} adept_walker;

adept_status adept_walk_nomem(adept_error *err);
/** Profile the workload at a point. @param out  caller frees with adept_walked_free() */
adept_status adept_walk_at(adept_walked **out, adept_walker *walker, adept_batch_point at);
void adept_walked_free(adept_walked *walked); /* NULL allowed */

/** Sizes of a range that are walked, ascending and without repeats; malloc'ed, NULL when memory is out. Where a size equals another
 *  dimension of the model, operators may become equal: those in the texts of `numbers` are walked with their neighbours. */
int64_t *adept_size_samples(const adept_size_range *range, const adept_numbers *numbers, size_t *n);
/** Ascending, without repeats. @return how many are left */
size_t adept_sizes_sort(int64_t *sizes, size_t n);

#endif
