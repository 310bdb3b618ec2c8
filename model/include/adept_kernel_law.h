/** @file adept_kernel_law.h  Time of one kernel from its own dimensions and the sheet: the law of granularity
 * "operator". Calls: adept_kernel.
 *
 *  The thesis applies eq 4.9-4.11 once, to the mean dimensions of a whole model. Here the same law is applied to every
 *  kernel, and the saturation acts on what the hardware sees: the output is cut into tiles, tiles run in waves over the
 *  SMs, and each wave costs
 *      2 * tile_m * tile_n * k / (peak / SMs * beta * s(h / r_tile) * s(k / r_depth)) + wave_s,
 *  with h the harmonic mean of the tile's sides (its arithmetic intensity), and s(x) = 2 / (1 + exp(-x)) - 1, a sigmoid
 *  that is 0 at 0. Which tiles a library has for a family of kernels is a short list, found from measurements; the
 *  fastest is taken, also with the depth split over several blocks. Traffic (compulsory bytes, and the share `reload`
 *  of tile operands that the cache does not keep) overlaps with it: time = (compute^4 + memory^4)^(1/4).
 *
 *  Attention in one kernel is cut into blocks of query rows, which meet the keys a block at a time:
 *      keys * (FLOPs of a score / (peak / SMs * beta) + c_exp / (16 * clock)) * rows + wave_s
 *  for each, one exponential a score. A causal one meets only the keys up to its last row. */
#ifndef ADEPT_KERNEL_LAW_H
#define ADEPT_KERNEL_LAW_H
#include "adept_kernel.h"
#include <stdbool.h>
#include <stddef.h>

/* X(name, low, high, default, prior, meaning). All are scale parameters, fitted in their logarithm. Prior: standard
 * deviation of the logarithm over GPUs whose kernels were measured. */
#define ADEPT_KERNEL_PARAMETER_LIST(X)                                                                                 \
    X(beta_gemm, 0.2, 1.1, 0.93, 0.15, "share of the peak that products of large matrices reach")                      \
    X(beta_bmm, 0.2, 1.1, 1.03, 0.15, "the same, batched products")                                                    \
    X(beta_conv, 0.2, 1.1, 0.89, 0.2, "the same, convolutions")                                                        \
    X(beta_tensor, 0.05, 1.1, 0.75, 0.15, "the same, of matrix units")                                                 \
    X(r_tile_gemm, 0.3, 200, 14, 1, "reference of a tile's harmonic mean side in elements")                            \
    X(r_tile_bmm, 0.3, 200, 20, 1, "the same, batched products")                                                       \
    X(r_tile_conv, 0.3, 200, 7.6, 1, "the same, convolutions")                                                         \
    X(r_tile_tensor, 0.3, 200, 2, 1, "the same, matrix units")                                                         \
    X(r_depth_gemm, 0.3, 200, 16, 1, "reference of the depth k in elements")                                           \
    X(r_depth_bmm, 0.3, 200, 3, 1, "the same, batched products")                                                       \
    X(r_depth_conv, 0.3, 200, 1, 1, "the same, convolutions")                                                          \
    X(r_depth_tensor, 0.3, 200, 70, 1, "the same, matrix units")                                                       \
    X(wave_gemm_s, 1e-9, 1e-5, 5e-8, 1, "start and end of one wave of tiles in s")                                     \
    X(wave_bmm_s, 1e-9, 1e-5, 2e-6, 1.5, "the same, batched products")                                                 \
    X(wave_conv_s, 1e-9, 1e-5, 2e-7, 1, "the same, convolutions")                                                      \
    X(wave_tensor_s, 1e-9, 1e-5, 1e-6, 1, "the same, matrix units")                                                    \
    X(reload_gemm, 1e-3, 2, 0.35, 1, "share of tile operands read from device memory again")                           \
    X(reload_bmm, 1e-3, 2, 0.06, 1.5, "the same, batched products")                                                    \
    X(reload_conv, 1e-3, 2, 0.75, 1, "the same, convolutions")                                                         \
    X(reload_tensor, 1e-3, 2, 0.05, 1.5, "the same, matrix units")                                                     \
    X(c_transform, 0.01, 4, 0.9, 1, "traffic of Winograd transforms relative to their bytes")                          \
    X(split_s, 1e-7, 1e-3, 4e-5, 1, "cost of splitting the depth over blocks in s")                                    \
    X(split_tensor_s, 1e-7, 1e-3, 2e-6, 1, "the same, matrix units")                                                   \
    X(r_pitch_bytes, 1e4, 1e8, 8e4, 0.7, "row pitch from which rows lie in pages of their own")                        \
    X(c_pages, 1e-3, 10, 0.2, 1.5, "slowdown of products whose many rows lie in pages of their own")                   \
    X(beta_mem, 0.2, 1.1, 0.89, 0.1, "share of the memory bandwidth that streaming kernels reach")                     \
    X(sm_bytes_per_s, 1e9, 1e15, 2.4e10, 0.3,                                                                          \
      "bytes that an SM has in flight over their latency: what it streams at most, in bytes/s")                        \
    X(sm_half_bytes_per_s, 1e9, 1e15, 1.8e10, 0.3, "the same, of elements of 16 bits")                                 \
    X(beta_alu, 0.02, 1.1, 0.5, 0.5, "share of the peak that element-wise arithmetic reaches")                         \
    X(c_softmax, 0.5, 5, 1, 0.15, "time of softmax relative to streaming its bytes")                                   \
    X(c_norm, 0.5, 5, 1.12, 0.15, "time of normalisations relative to streaming their bytes")                          \
    X(c_depthwise, 0.5, 20, 2, 0.5, "time of depthwise convolutions relative to streaming their bytes")                \
    X(c_depthwise_half, 0.5, 20, 1.2, 0.4, "the same on 16 bits, forward")                                             \
    X(c_depthwise_half_back, 0.5, 20, 2.1, 0.4, "the same, backward")                                                  \
    X(c_depthwise_half_back_planes, 0.5, 20, 4, 0.4, "the same over planes of channels")                               \
    X(c_batch_norm, 0.5, 5, 1.03, 0.15, "time of batch normalisations relative to streaming their bytes")              \
    X(cycles_batch_norm_planes, 1e-3, 10, 0.3, 0.7,                                                                    \
      "clock cycles of an SM for an element of one on 16 bits, over planes of channels, beside its bytes")             \
    X(c_layout, 0.01, 5, 1.2, 0.4,                                                                                     \
      "matrix units on planes of channels: time of transposing relative to moving all bytes twice")                    \
    X(c_layout_pointwise, 0.01, 5, 0.24, 0.7, "the same, of windows of one pixel")                                     \
    X(c_layout_tf32, 0.01, 5, 0.4, 0.7, "the same, TF32")                                                              \
    X(c_softmax_wide, 0.01, 3, 0.35, 0.8, "added to c_softmax if a row exceeds one block's registers")                 \
    X(c_norm_wide, 0.01, 3, 0.15, 0.8, "added to c_norm if a row exceeds 1536 elements")                               \
    X(row_norm_s, 1e-9, 1e-5, 3e-7, 1, "time of one row of a normalisation on one SM in s, beside its bytes")          \
    X(beta_attention, 0.1, 1.1, 0.71, 0.3, "share of the peak that the products of fused attention reach")             \
    X(clock_flops_attention, 64, 65536, 2048, 0.1,                                                                     \
      "FLOPs that an SM makes at most in a clock in its products: those of Ampere's instructions")                     \
    X(c_attention_back, 0.5, 4, 1.2, 0.3, "time of a FLOP in its backward pass, relative to one forward")              \
    X(around_attention, 0.01, 20, 3, 0.7,                                                                              \
      "traffic of the kernels around the backward pass, which sum and convert, relative to its own")                   \
    X(c_exp, 0.01, 10, 0.07, 0.5, "time of its exponentials beside them, relative to 16 a clock and SM")               \
    X(c_wide_heads, 0.01, 5, 0.34, 1, "added to the time of its products for each 128 that heads are wider than 128")  \
    X(wave_attention_s, 1e-9, 1e-5, 2.6e-6, 1, "start and end of one block of query rows in s")                        \
    X(reload_attention, 1e-3, 2, 0.28, 1.5, "share of keys and values that a block reads from device memory again")    \
    X(cache_tensor, 0.05, 2, 0.7, 0.5,                                                                                 \
      "share of the cache that keeps operands between repetitions of a measurement, matrix units")                     \
    X(cache_attention, 0.05, 2, 0.7, 0.5, "the same, fused attention; a step repeats no kernel")

typedef enum adept_kernel_parameter {
#define X(name, low, high, def, prior, text) ADEPT_KP_##name,
    ADEPT_KERNEL_PARAMETER_LIST(X)
#undef X
    ADEPT_KP_COUNT
} adept_kernel_parameter;

/* One kernel of a matrix library: output rows and columns of a block's tile. `winograd` is 0 for the product itself; e:
 * F(e x e, 3 x 3), which multiplies (e+2)^2 times per e^2 outputs instead of 9 e^2. */
typedef struct adept_tile {
    int winograd;
    double m, n;
} adept_tile;

#define ADEPT_MAX_TILES 8
typedef struct adept_tile_menu {
    size_t n; /* >= 1 */
    adept_tile tiles[ADEPT_MAX_TILES];
} adept_tile_menu;

/* Menu used where no measurement has chosen one. */
ADEPT_API extern const adept_tile_menu adept_tile_menu_default[ADEPT_TILED_FAMILIES];

/** "128x64", or "winograd4:128x64" for F(4 x 4, 3 x 3). @return false if the text is none: sides are powers of two from
 * 8 to 512 */
ADEPT_API bool adept_tile_parse(adept_tile *out, const char *text);
ADEPT_API void adept_tile_print(char *text, size_t size, const adept_tile *tile);

/* Of a measurement that repeats one kernel: bytes of it that stay in the cache where all that it touches meanwhile
 * fits. */
typedef struct adept_kept {
    double bytes, among;
} adept_kept;

/* One kernel, however often and in whichever pass it runs, whatever the GPU. */
typedef struct adept_kernel_case {
    adept_kernel_family family;
    adept_unit unit;
    adept_dtype dtype;
    /* matrix product, or implicit product of a convolution: `batch` times (m x k) by (k x n); 0 for others */
    double m, n, k, batch;
    double width, causal;    /* attention: of a head; as a kernel's */
    double element_bytes;    /* of the operands */
    double pitch_bytes;      /* row pitch of operands read along k; 0 if they are not */
    /* what matrix units or attention want in another layout: moved besides, before and after; else 0 */
    double transposed_bytes;
    double pointwise;        /* 1: such a convolution of one pixel's window */
    /* convolution that Winograd's algorithm applies to: images, output side in pixels, channels; images 0: it does not
     */
    double images, side, channels_in, channels_out;
    /* every kernel */
    double bytes;            /* compulsory traffic */
    adept_kept kept[2];      /* of it, of families on matrix units; 0 in steps */
    double alu_flops;        /* element-wise arithmetic */
    /* 1: over planes of channels; a backward pass. Of families whose law it matters for, else 0 */
    double planes, backward;
    double row_elements;     /* what softmax and normalisations reduce over; 0 for others */
    /* in steps: how many launches are counted together, and what energy is counted on, of all of them */
    double repeats, counted_alu_flops, counted_matrix_flops;
} adept_kernel_case;

/* What its time asks of the GPU. */
typedef struct adept_kernel_gpu {
    double flops_per_s;     /* peak of the unit that multiplies */
    double alu_flops_per_s; /* of element-wise arithmetic */
    double clock_hz;        /* the sheet's boost clock, of attention and batch normalisations */
    double bytes_per_s;     /* memory bandwidth of the sheet */
    double sm_count;
    double flight_sms;      /* whose bytes in flight limit a stream: adept_streaming_sms(); 0: nothing does */
    double l2_bytes;        /* last cache that all SMs share; 0: not told */
} adept_kernel_gpu;

/** Time of one execution in s, without launch. Compute and memory overlap; `core_s` is the arithmetic's part,
 *  which follows the core clock. `executed` is the share of a product's
 *  multiplications that it makes: Winograd's algorithm makes fewer. */
typedef struct adept_kernel_time {
    double time_s, core_s, executed;
} adept_kernel_time;

/** Sums that derivatives are added to, weight * d / d theta (of the tile chosen). */
typedef struct adept_kernel_gradient {
    double time_s[ADEPT_KP_COUNT], core_s[ADEPT_KP_COUNT];
} adept_kernel_gradient;

/**
 * @param theta     ADEPT_KP_COUNT values within their bounds
 * @param menus     of the tiled families; each must have a tile without Winograd
 * @param gradient  NULL, or sums to add to
 * Reentrant, deterministic, no allocation. About 30 ns per tile and split of the depth.
 */
ADEPT_API adept_kernel_time adept_kernel_law(const adept_kernel_case *c, const adept_kernel_gpu *gpu,
                                             const double *theta, const adept_tile_menu *menus, double weight,
                                             adept_kernel_gradient *gradient);

/** Does it wait for what it has read before it reads on, as products do for each tile and normalisations for each row?
 *  Else it is a stream, all of whose threads have their loads in flight. */
ADEPT_API bool adept_kernel_waits(const adept_kernel_case *c);

/** Exponentials that an SM makes in a clock: 16 from the V100 to the H100 (NVIDIA CUDA C++ Programming Guide, table
 *  'Throughput of native arithmetic instructions'). */
#define ADEPT_EXP_PER_CLOCK 16.0

/** Keys that a query of causal attention meets, on average over `queries` of which the first sees the first so many;
 *  rounded up to whole blocks. */
ADEPT_API double adept_kernel_causal_keys(double queries, double keys, double first, double block);

/** Do operands miss the cache less, in proportion to l2_bytes / sm_count? Else these do not matter for it. */
ADEPT_API bool adept_kernel_l2_matters(const adept_kernel_gpu *gpu);

#endif
