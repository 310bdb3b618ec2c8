/** @file norm_cost.h  What layer, group, batch and RMS normalisation have in common. Private to handlers/. Calls:
 * adept_handler. */
#ifndef ADEPT_NORM_COST_H
#define ADEPT_NORM_COST_H
#include "adept_handler.h"

typedef struct adept_norm {
    const adept_tensor *input, *weight, *bias; /* weight and bias may be NULL */
    const adept_tensor *out;
    double flops;        /* per element, forward; twice that backward (spec 2.1) */
    double passes;       /* over the input: 2 where statistics need a pass of their own */
    adept_kernel_family family;
    double planes;       /* 1: of channels */
    double row_elements; /* that share their statistics; 0: these were known before */
    double statistics;   /* of one row, a mean or a reciprocal deviation each: written forward, kept, read backward */
    double running_read_bytes, running_written_bytes; /* of running statistics, forward */
    double forward_launches, backward_launches;
} adept_norm;

/** Forward: reads the input `passes` times and the affine parameters, writes result and statistics.
 *  Backward: as many passes over input and output gradient, plus statistics and weight; writes the wanted gradients. */
void adept_norm_cost(adept_cost *cost, const adept_norm *norm);

/** Type of the statistics PyTorch's CUDA kernels keep: at least fp32. */
adept_dtype adept_norm_statistics_type(adept_dtype input);
/** Fails the call unless t is NULL or a vector of n elements. */
void adept_norm_check_vector(adept_call *c, const char *what, const adept_tensor *t, int64_t n);
/** layer_norm and rms_norm: how many trailing dimensions are normalised. Fails the call if they do not fit. */
int adept_norm_trailing(adept_call *c, const adept_tensor *input, const adept_tensor *weight, const adept_tensor *bias);
/** Elements of so many trailing dimensions. */
double adept_norm_trailing_elements(const adept_tensor *input, int n_trailing);
/** The shape of their statistics: 1 in place of each trailing dimension. */
void adept_norm_out_statistics(adept_call *c, const adept_tensor *input, int n_trailing);
#endif
