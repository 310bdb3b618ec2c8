/** @file divide.h  An operator's kernels where a rank does a part of them. Private to workload/. Calls:
 * adept_partition. */
#ifndef ADEPT_DIVIDE_H
#define ADEPT_DIVIDE_H
#include "adept_partition.h"

/* What is divided by what; 1: whole. */
typedef struct adept_division {
    double tokens;     /* of all activations */
    double parts;      /* of split activations, beside tokens: heads, features of what is no product with weights */
    double columns;    /* a product's results */
    double inner;      /* what it sums over */
    double experts, all_experts; /* of a grouped product: parts, and experts of all of them */
    double keys;       /* of attention: parts of keys and values, which may be fewer than of queries; 0: as many */
    double query_bytes; /* that it reads beside them */
    double row;        /* of a loss: each row of logits */
    double table_rows; /* of an embedding */
    bool heads;        /* a product is of activations, whose batch is divided first */
    bool one_softmax;  /* scores are scaled, masked and normalised by one kernel, as Megatron's */
    bool none;         /* it does not run at all */
} adept_division;

/** @return false when memory is out */
bool adept_divide(adept_profile_op *out, const adept_profile_op *op, const adept_division *division,
                  adept_arena *arena);

#endif
