/** @file adept_optimizer.h  What an optimizer step computes and moves: one table row per optimizer. Calls: nothing. */
#ifndef ADEPT_OPTIMIZER_H
#define ADEPT_OPTIMIZER_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters and state are FP32 words of 4 bytes (thesis eq 4.4: theta, m, v); the gradient is read once at its own size. */
typedef struct adept_optimizer {
    const char *name;             /* "adamw" */
    double state_words_per_param; /* words kept between steps: 2 for Adam (m, v) */
    double read_words_per_param;  /* parameter and state words read, gradient not included */
    double write_words_per_param;
    double flops_per_param;       /* eq 4.5: 18 for AdamW */
    double launches_per_group;    /* kernels of PyTorch's foreach implementation for each group of up to 64 tensors */
} adept_optimizer;

/** NULL if unknown; "none" is known and all zero. Constant data, thread-safe. */
const adept_optimizer *adept_optimizer_by_name(const char *name);
const char *adept_optimizer_name(size_t index); /* for listings; NULL past the end */

typedef struct adept_optimizer_cost {
    double flops, bytes_read, bytes_written, kernels, state_bytes;
} adept_optimizer_cost;

/** @param grad_bytes bytes of one gradient element (eq 4.4: g = 4, or 2 in BF16 mode) */
adept_optimizer_cost adept_optimizer_step(const adept_optimizer *optimizer, double params, double tensors, double grad_bytes);

#ifdef __cplusplus
}
#endif
#endif
