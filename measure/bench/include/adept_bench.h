/** @file adept_bench.h  Kernels whose time and energy characterise a machine (thesis, section 3.4): each on a processor
 * without and with vectors, on all its cores, and on a GPU. What they draw is measured around them. Calls: adept_error.
 */
#ifndef ADEPT_BENCH_H
#define ADEPT_BENCH_H
#include "adept_error.h"
#include <stddef.h>
#include <stdint.h>

/* X(name, word) */
#define ADEPT_BENCH_LIST(X)                                                                                            \
    X(GEMM, "gemm")             /* c = a b, square matrices of single precision */                                     \
    X(SPMV, "spmv")             /* c = A x, 16 entries a row at scattered columns */                                   \
    X(TRIAD, "triad")           /* c = a + 3 b */                                                                      \
    X(STENCIL, "stencil")       /* a point and its four neighbours, in two dimensions */                               \
    X(MONTE_CARLO, "monte_carlo") /* pi, by points that are hashes of their numbers */                                 \
    X(DISTANCE, "distance")     /* between all pairs of points in three dimensions */

typedef enum adept_bench_kernel {
#define X(name, word) ADEPT_BENCH_##name,
    ADEPT_BENCH_LIST(X)
#undef X
        ADEPT_BENCHES
} adept_bench_kernel;

/** "gemm"; NULL behind the last. */
const char *adept_bench_name(size_t kernel);

/* X(name, word) of how a kernel runs. */
#define ADEPT_BENCH_WAY_LIST(X) X(SCALAR, "scalar") X(SIMD, "simd") X(THREADS, "threads") X(GPU, "gpu")

typedef enum adept_bench_way {
#define X(name, word) ADEPT_BENCH_##name,
    ADEPT_BENCH_WAY_LIST(X)
#undef X
        ADEPT_BENCH_WAYS
} adept_bench_way;

const char *adept_bench_way_name(size_t way);
/** The vectors of way "simd": "AVX2 with FMA", "SSE2", "NEON", "the compiler's". */
const char *adept_bench_vectors(void);

/** A GPU by NVIDIA's driver, libcuda.so.1, opened at run time. */
typedef struct adept_bench_gpu adept_bench_gpu;

/** @param out  close it; set only on ADEPT_OK
 *  @return ADEPT_E_IO: there is no driver, or no GPU; the message says why. ADEPT_E_NOMEM */
adept_status adept_bench_gpu_open(adept_bench_gpu **out, adept_error *err);
/** "NVIDIA A100-SXM4-40GB 0000:07:00.0", CUDA's first. */
const char *adept_bench_gpu_name(const adept_bench_gpu *gpu);
void adept_bench_gpu_close(adept_bench_gpu *gpu);

/** A kernel with its data. */
typedef struct adept_bench adept_bench;

/** What one pass takes: each multiply-add is two operations, each number is moved once. */
typedef struct adept_bench_work {
    double flops, bytes;
} adept_bench_work;

/**
 * @param size  of the data; 1: larger than caches
 * @param gpu   for ADEPT_BENCH_GPU; may be NULL
 * @return ADEPT_E_NOMEM; ADEPT_E_IO of the driver
 */
adept_status adept_bench_open(adept_bench **out, adept_bench_kernel kernel, double size, int threads,
                              adept_bench_gpu *gpu, adept_error *err);
adept_bench_work adept_bench_work_of(const adept_bench *bench);
/** Run it so often, and wait for its end. @return ADEPT_E_NOMEM, ADEPT_E_INTERNAL, ADEPT_E_IO of the driver */
adept_status adept_bench_run(adept_bench *bench, adept_bench_way way, int64_t passes, adept_error *err);
/** The sum of what the last run computed: that of every way, but for rounding. @return ADEPT_E_IO of the driver */
adept_status adept_bench_sum(double *sum, adept_bench *bench, adept_bench_way way, adept_error *err);
void adept_bench_close(adept_bench *bench);

#endif
