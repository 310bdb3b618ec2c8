/** @file passes.h  What the files of the benches share: a kernel's data, and a pass over some of its rows. Private to
 * measure/bench/. Calls: adept_bench. */
#ifndef ADEPT_PASSES_H
#define ADEPT_PASSES_H
#include "adept_bench.h"

#define SPMV_ENTRIES 16u      /* of a row */
#define MONTE_CARLO_POINTS 4096u /* of a row */
#define GEMM_ROWS 4u             /* of the result are a row of passes; sizes are multiples of 16 */

/** Rows are independent of one another. What of it is used depends on the kernel. */
typedef struct adept_bench_data {
    uint32_t n;    /* width of matrices and grids; numbers of vectors; points */
    uint32_t rows; /* of the result */
    float *a, *b, *c;
    uint32_t *columns;
    size_t n_a, n_b, n_c, n_columns;
} adept_bench_data;

typedef void adept_bench_pass(const adept_bench_data *d, uint32_t begin, uint32_t end);

/** One for each kernel, of each width of vectors. */
extern adept_bench_pass *const adept_passes_scalar[ADEPT_BENCHES], *const adept_passes_baseline[ADEPT_BENCHES],
    *const adept_passes_avx2[ADEPT_BENCHES];

/** The text of all kernels for NVIDIA's driver; each has its name and takes a, b, c, columns, n, and how many threads
 * have work. */
extern const char adept_bench_ptx[];
/** How many threads have work. */
uint32_t adept_bench_gpu_threads(adept_bench_kernel kernel, const adept_bench_data *d);

/** Data on the GPU. */
typedef struct adept_bench_copy adept_bench_copy;
/** @param name, threads  of the kernel, and how many have work */
adept_status adept_bench_copy_new(adept_bench_copy **out, adept_bench_gpu *gpu, const char *name, uint32_t threads,
                                  const adept_bench_data *d, adept_error *err);
adept_status adept_bench_copy_run(adept_bench_copy *copy, int64_t passes, adept_error *err);
/** Fetch the result. */
adept_status adept_bench_copy_result(adept_bench_copy *copy, float *c, adept_error *err);
void adept_bench_copy_free(adept_bench_copy *copy);

#endif
