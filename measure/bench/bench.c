/** @file bench.c  A kernel's data, and running it in each way. */
#include "nearest.h"
#include "passes.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 4096

struct adept_bench {
    adept_bench_kernel kernel;
    adept_bench_data d;
    int threads;
    adept_bench_copy *copy; /* on the GPU; NULL: there is none */
};

#define X(name, word) word,
ADEPT_NAMES(adept_bench_name, ADEPT_BENCH_LIST(X))
ADEPT_NAMES(adept_bench_way_name, ADEPT_BENCH_WAY_LIST(X))
#undef X

static adept_bench_pass *const *vector_passes(const char **name)
{
#ifdef ADEPT_BENCH_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *name = "AVX2 with FMA";
        return adept_passes_avx2;
    }
#endif
#if defined __SSE2__
    *name = "SSE2";
#elif defined __ARM_NEON
    *name = "NEON";
#else
    *name = "the compiler's";
#endif
    return adept_passes_baseline;
}

const char *adept_bench_vectors(void)
{
    const char *name;

    vector_passes(&name);
    return name;
}

/* ---------------------------------------------------------------- data ------------------------------------------- */

/* What a kernel's arrays hold, and how many of them. Of `size` 1 they are 100 to 200 MB, more than caches have, but for
 * gemm's. */
static void plan(adept_bench_data *d, adept_bench_kernel kernel, double size)
{
    const double side = sqrt(size);

    switch (kernel) {
    case ADEPT_BENCH_GEMM:
        d->n = 16 * (uint32_t)ceil(1024 / 16 * cbrt(size));
        d->rows = d->n / GEMM_ROWS;
        d->n_a = d->n_b = d->n_c = (size_t)d->n * d->n;
        break;
    case ADEPT_BENCH_SPMV:
        d->n = d->rows = (uint32_t)ceil(size * (1 << 20));
        d->n_a = d->n_columns = (size_t)d->rows * SPMV_ENTRIES;
        d->n_b = d->n_c = d->n;
        break;
    case ADEPT_BENCH_TRIAD:
        d->n = d->rows = (uint32_t)ceil(size * (1 << 24));
        d->n_a = d->n_b = d->n_c = d->n;
        break;
    case ADEPT_BENCH_STENCIL:
        d->rows = (uint32_t)ceil(side * 4096);
        d->n = d->rows + 2;
        d->n_a = d->n_c = (size_t)d->n * d->n;
        break;
    case ADEPT_BENCH_MONTE_CARLO:
        d->n_c = d->rows = (uint32_t)ceil(size * (1 << 13));
        break;
    case ADEPT_BENCH_DISTANCE:
        d->n = d->rows = (uint32_t)ceil(side * 4096);
        d->n_a = 3 * (size_t)d->n;
        d->n_c = (size_t)d->n * d->n;
        break;
    case ADEPT_BENCHES:
        break;
    }
}

/* The next of some numbers that are the same everywhere (Numerical Recipes' congruence). */
static uint32_t next(uint32_t *x)
{
    return *x = *x * 1664525u + 1013904223u;
}

/* Numbers from 0 to 1, and columns. */
static adept_status make_data(adept_bench_data *d, adept_error *err)
{
    uint32_t x = 1;

    d->a = calloc(d->n_a + 1, sizeof *d->a);
    d->b = calloc(d->n_b + 1, sizeof *d->b);
    d->c = calloc(d->n_c + 1, sizeof *d->c);
    d->columns = calloc(d->n_columns + 1, sizeof *d->columns);
    if (!d->a || !d->b || !d->c || !d->columns) return adept_no_memory(err, "the data of a bench");
    for (size_t i = 0; i < d->n_a; i++)
        d->a[i] = (float)(next(&x) >> 8) / 16777216.0f;
    for (size_t i = 0; i < d->n_b; i++)
        d->b[i] = (float)(next(&x) >> 8) / 16777216.0f;
    for (size_t i = 0; i < d->n_columns; i++)
        d->columns[i] = (uint32_t)((uint64_t)next(&x) * d->n >> 32);
    return ADEPT_OK;
}

adept_status adept_bench_open(adept_bench **out, adept_bench_kernel kernel, double size, int threads,
                              adept_bench_gpu *gpu, adept_error *err)
{
    adept_bench *b = calloc(1, sizeof *b);

    if (!b) return adept_no_memory(err, "a bench");
    b->kernel = kernel;
    b->threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    plan(&b->d, kernel, size);
    adept_status status = make_data(&b->d, err);
    if (status == ADEPT_OK && gpu)
        status = adept_bench_copy_new(&b->copy, gpu, adept_bench_name(kernel), adept_bench_gpu_threads(kernel, &b->d),
                                      &b->d, err);
    if (status != ADEPT_OK) {
        adept_bench_close(b);
        return status;
    }
    *out = b;
    return ADEPT_OK;
}

void adept_bench_close(adept_bench *b)
{
    if (!b) return;
    adept_bench_copy_free(b->copy);
    free(b->d.a);
    free(b->d.b);
    free(b->d.c);
    free(b->d.columns);
    free(b);
}

adept_bench_work adept_bench_work_of(const adept_bench *b)
{
    const double n = b->d.n, rows = b->d.rows, entries = (double)b->d.n_columns;

    switch (b->kernel) {
    case ADEPT_BENCH_GEMM:
        return (adept_bench_work){2 * n * n * n, 12 * n * n};
    case ADEPT_BENCH_SPMV: /* an entry and its column; the vectors once */
        return (adept_bench_work){2 * entries, 8 * entries + 8 * rows};
    case ADEPT_BENCH_TRIAD:
        return (adept_bench_work){2 * n, 12 * n};
    case ADEPT_BENCH_STENCIL:
        return (adept_bench_work){5 * rows * rows, 8 * rows * rows};
    case ADEPT_BENCH_MONTE_CARLO: /* two products and a sum; what hashes is no floating point, and nothing is moved */
        return (adept_bench_work){3 * rows * MONTE_CARLO_POINTS, 4 * rows};
    default: /* three differences, three products, two sums and a root */
        return (adept_bench_work){9 * n * n, 4 * n * n};
    }
}

/* ---------------------------------------------------------------- running ---------------------------------------- */

typedef struct part {
    adept_bench_pass *pass;
    const adept_bench_data *d;
    uint32_t begin, end;
    int64_t passes;
    pthread_t thread;
} part;

static void *run_part(void *data)
{
    const part *p = data;

    for (int64_t i = 0; i < p->passes; i++)
        p->pass(p->d, p->begin, p->end);
    return NULL;
}

/* Rows are independent, so that no thread waits for another one between passes. */
static adept_status run_threads(const adept_bench *b, adept_bench_pass *pass, int64_t passes, adept_error *err)
{
    size_t n = (size_t)b->threads, started = 0;
    part *parts = calloc(n, sizeof *parts);
    int failed = 0;

    if (!parts) return adept_no_memory(err, "the threads of a bench");
    for (size_t i = 0; i < n && !failed; i++) {
        parts[i] = (part){.pass = pass, .d = &b->d, .passes = passes};
        parts[i].begin = (uint32_t)((uint64_t)b->d.rows * i / n);
        parts[i].end = (uint32_t)((uint64_t)b->d.rows * (i + 1) / n);
        failed = pthread_create(&parts[i].thread, NULL, run_part, &parts[i]);
        started += !failed;
    }
    for (size_t i = 0; i < started; i++)
        pthread_join(parts[i].thread, NULL);
    free(parts);
    if (!failed) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_INTERNAL, "%s: thread %zu of %zu cannot be started: %s",
                           adept_bench_name(b->kernel), started + 1, n, strerror(failed));
}

adept_status adept_bench_run(adept_bench *b, adept_bench_way way, int64_t passes, adept_error *err)
{
    const char *name;
    part all = {.d = &b->d, .end = b->d.rows, .passes = passes};

    switch (way) {
    case ADEPT_BENCH_GPU:
        return adept_bench_copy_run(b->copy, passes, err);
    case ADEPT_BENCH_THREADS:
        return run_threads(b, vector_passes(&name)[b->kernel], passes, err);
    default:
        all.pass = (way == ADEPT_BENCH_SIMD ? vector_passes(&name) : adept_passes_scalar)[b->kernel];
        run_part(&all);
        return ADEPT_OK;
    }
}

adept_status adept_bench_sum(double *sum, adept_bench *b, adept_bench_way way, adept_error *err)
{
    adept_status status = way == ADEPT_BENCH_GPU ? adept_bench_copy_result(b->copy, b->d.c, err) : ADEPT_OK;

    *sum = 0;
    for (size_t i = 0; i < b->d.n_c; i++)
        *sum += (double)b->d.c[i];
    memset(b->d.c, 0, b->d.n_c * sizeof *b->d.c); /* no way is checked by what another one computed */
    return status;
}
