/** @file passes.c  The kernels in C. The build compiles this file several times, without vectors and with each width of
 * them, and calls the table PASSES. */
#include "passes.h"
#include <math.h>
#include <string.h>

/* One of four rows of c, of four rows of b. Parameters, since compilers believe only these that nothing overlaps. */
static inline void add_rows(size_t n, float *restrict c, const float *restrict a, const float *restrict b0,
                            const float *restrict b1, const float *restrict b2, const float *restrict b3)
{
    const float a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];

    for (size_t j = 0; j < n; j++)
        c[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
}

static void gemm(const adept_bench_data *d, uint32_t begin, uint32_t end)
{
    const size_t n = d->n;

    memset(d->c + GEMM_ROWS * n * begin, 0, GEMM_ROWS * n * (end - begin) * sizeof *d->c);
    for (size_t i = (size_t)GEMM_ROWS * begin; i < (size_t)GEMM_ROWS * end; i += GEMM_ROWS)
        for (size_t k = 0; k < n; k += 4)
            for (size_t r = 0; r < GEMM_ROWS; r++) { /* b's four rows stay in the first cache meanwhile */
                const float *b = d->b + k * n;
                add_rows(n, d->c + (i + r) * n, d->a + (i + r) * n + k, b, b + n, b + 2 * n, b + 3 * n);
            }
}

static void spmv(const adept_bench_data *d, uint32_t begin, uint32_t end)
{
    for (size_t i = begin; i < end; i++) {
        const float *a = d->a + i * SPMV_ENTRIES;
        const uint32_t *columns = d->columns + i * SPMV_ENTRIES;
        float sum = 0;
        for (size_t k = 0; k < SPMV_ENTRIES; k++)
            sum += a[k] * d->b[columns[k]];
        d->c[i] = sum;
    }
}

static void triad(const adept_bench_data *d, uint32_t begin, uint32_t end)
{
    const float *restrict a = d->a, *restrict b = d->b;
    float *restrict c = d->c;

    for (size_t i = begin; i < end; i++)
        c[i] = a[i] + 3.0f * b[i];
}

static void stencil(const adept_bench_data *d, uint32_t begin, uint32_t end)
{
    const size_t n = d->n;

    for (size_t i = begin; i < end; i++) {
        const float *restrict a = d->a + (i + 1) * n; /* the first row and the last are the edge */
        float *restrict c = d->c + (i + 1) * n;
        for (size_t j = 1; j + 1 < n; j++)
            c[j] = 0.2f * (a[j] + a[j - 1] + a[j + 1] + a[j - n] + a[j + n]);
    }
}

/* The last steps of MurmurHash3 (Austin Appleby, public domain), which mix 32 bits. */
static inline uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

static void monte_carlo(const adept_bench_data *d, uint32_t begin, uint32_t end)
{
    const float scale = 1.0f / 16777216.0f; /* of 24 bits, which a float has */

    for (uint32_t i = begin; i < end; i++) {
        int32_t hits = 0;
        for (uint32_t k = 0; k < MONTE_CARLO_POINTS; k++) {
            uint32_t number = i * MONTE_CARLO_POINTS + k;
            float x = scale * (float)(int32_t)(mixed(number) >> 8), y = scale * (float)(int32_t)(mixed(~number) >> 8);
            hits += x * x + y * y <= 1.0f;
        }
        d->c[i] = (float)hits;
    }
}

static void distance(const adept_bench_data *d, uint32_t begin, uint32_t end)
{
    const size_t n = d->n;
    const float *restrict x = d->a, *restrict y = d->a + n, *restrict z = d->a + 2 * n;

    for (size_t i = begin; i < end; i++) {
        float *restrict c = d->c + i * n;
        for (size_t j = 0; j < n; j++) {
            float dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
            c[j] = sqrtf(dx * dx + dy * dy + dz * dz);
        }
    }
}

adept_bench_pass *const PASSES[ADEPT_BENCHES] = {
    [ADEPT_BENCH_GEMM] = gemm,       [ADEPT_BENCH_SPMV] = spmv,
    [ADEPT_BENCH_TRIAD] = triad,     [ADEPT_BENCH_STENCIL] = stencil,
    [ADEPT_BENCH_MONTE_CARLO] = monte_carlo, [ADEPT_BENCH_DISTANCE] = distance,
};
