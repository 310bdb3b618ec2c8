/** @file adept_kernel.h  One kernel launch as handlers state it: of which family it is, what it computes and moves.
 *  Whatever a law of time or energy needs stands here as a number or a word: laws read no names and no shapes.
 *  Calls: adept_value. */
#ifndef ADEPT_KERNEL_H
#define ADEPT_KERNEL_H
#include "adept_error.h"
#include "adept_value.h"

typedef enum adept_pass { ADEPT_FORWARD, ADEPT_BACKWARD } adept_pass;
typedef enum adept_unit {
    ADEPT_UNIT_GEMM, /* matrix product: tensor cores where the precision has them */
    ADEPT_UNIT_CONV, /* convolution, likewise */
    ADEPT_UNIT_ALU   /* everything else: CUDA cores, usually bound by bytes */
} adept_unit;

/* X(family, name, kernels). Kernels of one family have one law of time (model/kernel_law.c). What has no law of its own
 * yet, such as gathers, reductions and copies, is of the family whose law it follows. Those that multiply matrices come
 * first, of them those that libraries cut into tiles. */
#define ADEPT_KERNEL_FAMILY_LIST(X)                                                                    \
    X(GEMM, "gemm", "one matrix product")                                                              \
    X(BMM, "bmm", "a batch of matrix products")                                                        \
    X(CONV, "conv", "a convolution as an implicit matrix product")                                     \
    X(TENSOR, "tensor", "any of these on matrix units, as a GPU places it: handlers state none")       \
    X(ATTENTION, "attention", "softmax(Q K^T) V in one kernel")                                        \
    X(STREAM, "stream", "elements on their own, each moved once")                                      \
    X(SOFTMAX, "softmax", "each row divided by its sum of exponentials")                               \
    X(NORM, "norm", "each row less its mean, by its deviation")                                        \
    X(BATCH_NORM, "batch_norm", "the same, of a channel over a batch")                                 \
    X(DEPTHWISE, "depthwise", "a convolution of so few channels a group that it is no matrix product")

typedef enum adept_kernel_family {
#define X(family, name, kernels) ADEPT_FAMILY_##family,
    ADEPT_KERNEL_FAMILY_LIST(X)
#undef X
        ADEPT_FAMILY_COUNT
} adept_kernel_family;
#define ADEPT_TILED_FAMILIES 4
#define ADEPT_PRODUCT_FAMILIES 5

/** "gemm", "bmm", "conv", ...; NULL past the end. */
ADEPT_API const char *adept_kernel_family_name(int family);

/* One kernel launch (or `launches` of them that move the given bytes in total). FLOPs: a multiply-add is 2. */
typedef struct adept_kernel {
    adept_pass pass;
    adept_unit unit;
    adept_kernel_family family;
    adept_dtype dtype;     /* element type of the arithmetic; decides the peak */
    double flops;          /* on `unit` */
    double flops_alu;      /* beside it on the ALU (bias, epilogue); 0 if unit is ALU */
    double bytes_read, bytes_written;
    double launches;
    double elements;       /* elements processed by a generic (ALU) kernel: thesis sigma_elem; 0 for GEMM and CONV */
    double row_elements;   /* what one row of a softmax or a normalisation is taken over; 0 for others */
    /* Matrix product: `batch` products of (m x k) by (k x n). Convolution: its implicit GEMM for this pass,
     * batch = groups. Attention: its scores, m queries x n keys of width k, batch = heads of all samples. 0 for ALU
     * kernels. */
    double m, n, k, batch;
    /* Of attention that skips keys after their query, though FLOPs count them: keys that the first query sees, 1, or
     * with a cache those before it as well; 0: all queries see all keys. */
    double causal;
    /* Convolution only: channels of the layer (total, not per group), output pixels of one image, kernel taps, groups.
     */
    double channels_in, channels_out, pixels, taps, groups;
    /* Convolution that slides a window over images of two dimensions (one: of height 1): an image that it makes, and
     * the window; of several strides or dilations the largest. 0 for the gradient of weights, which slides none. */
    double image_height, image_width, window_height, window_width, window_stride, window_dilation;
    /* 1: of a convolution or a normalisation over planes of channels (NCHW), not over pixels; else 0 */
    double planes;
    /* input + weight + output of the operator, for the L2 term; 0: bytes_read + bytes_written */
    double working_set_bytes;
} adept_kernel;

/** Can a kernel be like this: counts finite and not negative, FLOPs on the unit that its family runs on? */
bool adept_kernel_is_sane(const adept_kernel *kernel);

/* X(field): all its numbers. Equal kernels agree in each, and JSON names them so. */
#define ADEPT_KERNEL_NUMBERS(X)                                                                                        \
    X(flops)                                                                                                           \
    X(flops_alu) X(bytes_read) X(bytes_written) X(launches) X(elements) X(row_elements) X(m) X(n) X(k) X(batch)        \
        X(causal) X(channels_in) X(channels_out) X(pixels) X(taps) X(groups) X(image_height) X(image_width)            \
            X(window_height) X(window_width) X(window_stride) X(window_dilation) X(planes) X(working_set_bytes)

#endif
