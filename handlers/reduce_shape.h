/** @file reduce_shape.h  Which dimensions a reduction removes, and the shape that is left. Calls: workload. */
#ifndef ADEPT_REDUCE_SHAPE_H
#define ADEPT_REDUCE_SHAPE_H
#include "adept_handler.h"

/** Argument `dim` (one, a list, or omitted and empty for all) and `keepdim` of a reduction of t: the result's shape.
 *  Returns its number of dimensions. */
int adept_reduce_dims(adept_call *c, const adept_tensor *t, int64_t *dims);
/** A single dimension, argument `dim`; fails the call on a tensor that is empty along it. */
int adept_reduce_dim(adept_call *c, const adept_tensor *t, int64_t fallback);
/** Argument dtype, else what sums use: i64 for integers and bool. */
adept_dtype adept_reduce_sum_type(adept_call *c, const adept_tensor *t);
#endif
