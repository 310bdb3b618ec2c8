/** @file adept_optimizer.h  What an optimizer step computes and moves: one table row per optimizer. Calls:
 * adept_kernel. */
#ifndef ADEPT_OPTIMIZER_H
#define ADEPT_OPTIMIZER_H
#include "adept_kernel.h"

/* How its arithmetic is cut into kernels. AUTO is FOREACH, PyTorch's default on CUDA since 2.0. */
typedef enum adept_optimizer_impl {
    ADEPT_IMPL_AUTO,
    ADEPT_IMPL_FOREACH, /* each operation a kernel of its own, over up to 64 tensors */
    ADEPT_IMPL_FUSED,   /* one kernel: every word is moved once */
    ADEPT_IMPL_FORLOOP  /* each operation a kernel for each tensor: PyTorch's default before 2.0 */
} adept_optimizer_impl;

/* What a training program does beside the optimizer; bits. */
enum {
    ADEPT_EXTRA_CLIP = 1,      /* gradients clipped by their norm: read, then scaled in place */
    ADEPT_EXTRA_UNSCALE = 2,   /* of a GradScaler: divided by the scale, in place */
    ADEPT_EXTRA_MASTER = 4,    /* FP32 parameters and state beside 16-bit ones (apex O2), and FP32 gradients */
    ADEPT_EXTRA_EMA = 8,       /* a running average of the parameters */
    ADEPT_EXTRA_ZERO_GRAD = 16 /* gradients set to zero, not to none */
};

/* Words are those of parameters and state, 4 bytes (thesis eq 4.4: theta, m, v) or 2 where the model itself is of 16
 * bits. Gradients have their own size. */
typedef struct adept_optimizer {
    const char *name;             /* "adamw" */
    double state_words_per_param; /* words kept between steps: 2 for Adam (m, v) */
    double read_words_per_param;  /* parameter and state words read if each is read once; the gradient not included */
    double write_words_per_param;
    double flops_per_param;      /* eq 4.5: 18 for AdamW */
    double operations;           /* of PyTorch's foreach implementation, a kernel each */
    double moved_words;          /* read and written by all of these, the gradient not included */
    double gradient_uses;        /* how often they read or write the gradient */
    double waits;                /* how often the host looks at a result for each tensor before it goes on */
    double own_bytes_per_param;  /* state besides that is no word: of 8 bits, with the scales of its blocks */
    double factors;              /* words kept for a row or column of each tensor: 2 for Adafactor */
    /* of Newton and Schulz: only matrices are its own, one at a time; all else is AdamW's */
    double iterations;
    double double_operations;    /* FP64 instructions of PyTorch's fused kernel, whose constants are doubles */
    double numbers;              /* 1: by foreach the host works out numbers of each tensor's steps; else 0 */
} adept_optimizer;

/** Has torch.optim a fused implementation of it on CUDA, beside its default? */
bool adept_optimizer_can_fuse(const adept_optimizer *optimizer);
/** NULL if unknown; "none" is known and all zero. Constant data, thread-safe. */
const adept_optimizer *adept_optimizer_by_name(const char *name);
const char *adept_optimizer_name(size_t index); /* for listings; NULL past the end */

/** "clip", "unscale", "master", "ema", "zero_grad"; NULL past the end. */
const char *adept_optimizer_extra_name(size_t index);
/** "clip,ema", or "" and "none" for no bit. @return false if a word is unknown */
bool adept_optimizer_extras_parse(unsigned *out, const char *text);
/** The text of bits, at most 40 bytes. */
char *adept_optimizer_extras_print(char *text, size_t size, unsigned extras);

/* Parameters of two dimensions and one shape. */
typedef struct adept_matrices {
    int64_t rows, columns, n;
} adept_matrices;

/** Kernels of one iteration on one matrix that multiply, in bf16; no passes of theirs. */
#define ADEPT_MUON_PRODUCTS 3
void adept_optimizer_products(adept_kernel out[ADEPT_MUON_PRODUCTS], const adept_matrices *of);

/* What runs. */
typedef struct adept_optimizer_run {
    const adept_optimizer *optimizer;
    adept_optimizer_impl impl;
    unsigned extras;
    bool floats;       /* a fused kernel without FP64: apex's */
    double word_bytes; /* 4, or 2 where the model is of 16 bits; 4 for master weights whatever it says */
    double params, tensors;
    size_t n_matrices; /* of these: an optimizer with iterations takes them */
    const adept_matrices *matrices;
} adept_optimizer_run;

typedef struct adept_optimizer_cost {
    double flops, product_flops; /* on the ALUs, and of products in bf16 */
    double bytes_read, bytes_written; /* each word once, without the gradient, which is read once (eq 4.4) */
    /* what the kernels but products really move, without uses of the gradient in its own type */
    double moved_bytes;
    double moved_gradients;           /* elements of the gradient read or written by them */
    double double_operations;         /* FP64 instructions, at the rate of half the FP64 FLOP/s */
    double kernels, state_bytes;
    double waits;   /* of the host for the GPU */
    double numbers; /* tensors whose numbers the host works out */
    bool streams; /* PyTorch's own fused kernel: as fast as memory, or as FP64 */
} adept_optimizer_cost;

adept_optimizer_cost adept_optimizer_step(const adept_optimizer_run *run);

#endif
