/** @file naive_optimizer.h  What an optimizer moves, counted from the kernels it runs: to be compared with the table.
 */
#ifndef NAIVE_OPTIMIZER_H
#define NAIVE_OPTIMIZER_H
#include "adept_profile.h"

/* Words of parameters and state, and uses of the gradient, for each parameter and step. */
typedef struct naive_words {
    double once;             /* every word read once and written once, the gradient not included */
    double moved, gradients; /* by kernels of one operation each */
    double state;            /* kept */
    double kernels;          /* for one group of tensors */
} naive_words;

naive_words naive_optimizer_words(const char *name);

typedef struct naive_optimizer {
    double flops, kernels, waits;
    double doubles; /* FP64 instructions */
    bool streams;   /* one kernel of PyTorch's own */
    bool corrects;  /* by foreach, in Python: a number of its own for each tensor */
    double once_bytes;  /* of granularity "model", without the gradient, which is read once more */
    double moved_bytes; /* of granularity "operator", with the gradient */
    double state_bytes;
} naive_optimizer;

/** `gradient_bytes`: of one element. All 0 unless the profile trains. */
naive_optimizer naive_optimizer_of(const adept_profile *profile, double gradient_bytes);
#endif
