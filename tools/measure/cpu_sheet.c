/** @file cpu_sheet.c  The numbers of a hardware profile for one CPU core, measured: clock, FP32 and FP64 peak, memory
 *  bandwidth, and read bandwidth by working set, which shows the caches. Part of no build:
 *
 *      cc -O3 -march=native -mprefer-vector-width=512 -ffp-contract=fast -o cpu_sheet tools/measure/cpu_sheet.c
 *      taskset -c 1 ./cpu_sheet
 *
 *  Every figure is the best of several tries: a peak is what the core does when nothing disturbs it. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES 10
#define VECTOR_BYTES 64 /* compiled to two halves where vectors have 32 bytes */
#define CHAINS 12       /* independent multiply-adds: more than latency (4) times units (2) */

typedef float floats __attribute__((vector_size(VECTOR_BYTES)));
typedef double doubles __attribute__((vector_size(VECTOR_BYTES)));

/* CPU time: while another program has the core, it does not run. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double lower(double a, double b)
{
    return a < b ? a : b;
}

/* A chain of exclusive ors each waiting for the last: one cycle each. (Additions of constants will not do: recent cores
 * fold those into one.) */
static double clock_hz(void)
{
    const long n = 20000000;
    double best_s = 1e9;
    for (int try = 0; try < TRIES; try++) {
        uint64_t x = 1, y = 0x5555;
        double start_s = now_s();
        for (long i = 0; i < n; i++)
            for (int k = 0; k < 8; k++) {
                x ^= y;
                __asm__ volatile("" : "+r"(x), "+r"(y)); /* keeps the compiler from working it out */
            }
        best_s = lower(best_s, now_s() - start_s);
    }
    return 8 * (double)n / best_s;
}

/* Named accumulators: compilers leave an array in memory. */
#define EACH_CHAIN(X) X(a0) X(a1) X(a2) X(a3) X(a4) X(a5) X(a6) X(a7) X(a8) X(a9) X(a10) X(a11)
#define START(a) a = y,
#define MULTIPLY_ADD(a) a = a * x + y;
#define KEEP(a) __asm__ volatile("" : : "m"(a));

#define DEFINE_PEAK(name, vector, element)                                                                             \
    static double name(void)                                                                                           \
    {                                                                                                                  \
        const long n = 10000000;                                                                                       \
        double best_s = 1e9;                                                                                           \
        for (int try = 0; try < TRIES; try++) {                                                                        \
            vector x, y;                                                                                               \
            for (size_t j = 0; j < VECTOR_BYTES / sizeof(element); j++) {                                              \
                x[j] = (element)0.999;                                                                                 \
                y[j] = (element)0.001;                                                                                 \
            }                                                                                                          \
            vector EACH_CHAIN(START) unused = y;                                                                       \
            double start_s = now_s();                                                                                  \
            for (long i = 0; i < n; i++) {                                                                             \
                EACH_CHAIN(MULTIPLY_ADD)                                                                               \
            }                                                                                                          \
            best_s = lower(best_s, now_s() - start_s);                                                                 \
            EACH_CHAIN(KEEP)                                                                                           \
            (void)unused;                                                                                              \
        }                                                                                                              \
        return 2.0 * (VECTOR_BYTES / sizeof(element)) * CHAINS * (double)n / best_s;                                   \
    }

DEFINE_PEAK(peak_fp32, floats, float)
DEFINE_PEAK(peak_fp64, doubles, double)

typedef struct arrays {
    double *a, *b, *c;
    size_t n;
} arrays;

static void copy(arrays *v)
{
    for (size_t i = 0; i < v->n; i++)
        v->c[i] = v->a[i];
}

static void scale(arrays *v)
{
    for (size_t i = 0; i < v->n; i++)
        v->b[i] = 3.0 * v->c[i];
}

static void add(arrays *v)
{
    for (size_t i = 0; i < v->n; i++)
        v->c[i] = v->a[i] + v->b[i];
}

static void triad(arrays *v)
{
    for (size_t i = 0; i < v->n; i++)
        v->a[i] = v->b[i] + 3.0 * v->c[i];
}

/* STREAM's four loops (McCalpin) and its way of counting: the bytes named in the loop, not the cache lines fetched to
 * be overwritten. */
static void stream(size_t n)
{
    static const struct {
        const char *name;
        void (*run)(arrays *v);
        double words;
    } loops[] = {{"copy", copy, 2}, {"scale", scale, 2}, {"add", add, 3}, {"triad", triad, 3}};
    arrays v = {malloc(n * sizeof(double)), malloc(n * sizeof(double)), malloc(n * sizeof(double)), n};
    if (!v.a || !v.b || !v.c) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < n; i++)
        v.a[i] = v.b[i] = v.c[i] = 1.0;
    for (size_t l = 0; l < sizeof loops / sizeof loops[0]; l++) {
        double best_s = 1e9;
        for (int try = 0; try < TRIES; try++) {
            double start_s = now_s();
            loops[l].run(&v);
            best_s = lower(best_s, now_s() - start_s);
            __asm__ volatile("" : : : "memory");
        }
        printf("stream %-6s %8.2f GB/s\n", loops[l].name, loops[l].words * sizeof(double) * (double)n / best_s / 1e9);
    }
    free(v.a);
    free(v.b);
    free(v.c);
}

/* Bytes per second of reading the same `size` bytes over and over. */
static double read_bytes_per_s(const doubles *data, size_t size)
{
    size_t n = size / sizeof *data / 8 * 8;
    long rounds = (long)(((size_t)1 << 30) / size) + 1;
    double best_s = 1e9;
    for (int try = 0; try < TRIES; try++) {
        doubles sum[8] = {{0}};
        double start_s = now_s();
        for (long round = 0; round < rounds; round++) {
            for (size_t i = 0; i < n; i += 8)
                for (size_t k = 0; k < 8; k++)
                    sum[k] += data[i + k];
            __asm__ volatile("" : : : "memory");
        }
        best_s = lower(best_s, now_s() - start_s);
        for (size_t k = 0; k < 8; k++)
            __asm__ volatile("" : : "m"(sum[k]));
    }
    return (double)rounds * (double)n * sizeof *data / best_s;
}

int main(void)
{
    const size_t largest = (size_t)1 << 30;
    printf("clock %.4g Hz\n", clock_hz());
    printf("peak fp32 %.4g FLOP/s\n", peak_fp32());
    printf("peak fp64 %.4g FLOP/s\n", peak_fp64());
    stream(((size_t)512 << 20) / sizeof(double));
    doubles *data = aligned_alloc(VECTOR_BYTES, largest);
    if (!data) return 1;
    memset(data, 1, largest);
    for (size_t size = (size_t)16 << 10; size <= largest; size *= 2)
        printf("read %8zu KiB: %7.2f GB/s\n", size >> 10, read_bytes_per_s(data, size) / 1e9);
    free(data);
    return 0;
}
