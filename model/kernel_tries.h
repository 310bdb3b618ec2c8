/** @file kernel_tries.h  The tiles and splits that a product may be cut into, before the GPU is known: what of the law
 * of adept_kernel_law.h stays when only the GPU's numbers change. Private to model/. Calls: nothing. */
#ifndef ADEPT_KERNEL_TRIES_H
#define ADEPT_KERNEL_TRIES_H
#include "adept_kernel_law.h"

#define ADEPT_MAX_SPLITS 5 /* 1, 2, 4, 8, 16 */
#define ADEPT_MAX_TRIES (ADEPT_MAX_TILES * ADEPT_MAX_SPLITS)

typedef struct adept_kernel_try {
    double blocks;                /* tiles and parts of the depth: one runs on one SM at a time */
    double flops;                 /* of one block */
    double efficiency, wave_s;    /* share of the peak; start and end of one wave */
    double bytes, reload_bytes;   /* overlap with the arithmetic: compulsory, and tile operands if none were kept */
    double serial_bytes, split_s; /* of kernels before and after, and their cost beside their traffic */
    double executed;              /* share of the product's multiplications */
    /* for derivatives */
    double tile_sat, depth_sat, side, depth, scaled_bytes;
    int split;
} adept_kernel_try;

/** In the order in which they are compared. Of tiled families only. @return how many, at least 1 */
size_t adept_kernel_tries(adept_kernel_try tries[ADEPT_MAX_TRIES], const adept_kernel_case *c,
                          const adept_kernel_gpu *gpu, const double *theta, const adept_tile_menu *menu);

/** Arithmetic of one try. */
double adept_kernel_try_compute_s(const adept_kernel_try *r, const adept_kernel_gpu *gpu);

/** The law, with the bits of adept_kernel_law().
 *  @param compute_s  adept_kernel_try_compute_s() of each try
 *  @param fastest    in: any of them, sooner done if it is the fastest; out: the one that is */
adept_kernel_time adept_kernel_law_of_tries(const adept_kernel_case *c, const adept_kernel_gpu *gpu,
                                            const double *theta, const adept_kernel_try *tries,
                                            const double *compute_s, size_t n, size_t *fastest);

#endif
