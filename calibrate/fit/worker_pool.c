/** @file worker_pool.c  A few threads that share loops over an index; see worker_pool.h.
 *
 *  `remaining` counts down: whoever takes from it while it is positive owns that piece of the current job, and a job is
 *  replaced only after all its pieces were reported done. So a thread that wakes late finds nothing, or work of the
 * next job, and nobody ever waits for a thread that has no piece. A generation of differential evolution takes a
 * fraction of a millisecond: threads spin for a while before they sleep. */
#include "worker_pool.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_THREADS 256
#define SPINS 4000
#define CHUNK 8 /* items per piece */

typedef struct worker {
    adept_pool *pool;
    int index;
    pthread_t thread;
} worker;

struct adept_pool {
    atomic_llong remaining;
    atomic_size_t done;
    adept_pool_fn *fn;
    void *context;
    atomic_int sleepers;
    atomic_bool quit;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int n_threads;
    worker workers[]; /* n_threads - 1 */
};

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* @return false if there was nothing to take */
static bool work_once(adept_pool *pool, int worker_index)
{
    if (atomic_load(&pool->remaining) <= 0) return false;
    long long end = atomic_fetch_sub(&pool->remaining, CHUNK);
    if (end <= 0) return false;
    size_t begin = end > CHUNK ? (size_t)(end - CHUNK) : 0;
    pool->fn(pool->context, worker_index, begin, (size_t)end);
    atomic_fetch_add(&pool->done, (size_t)end - begin);
    return true;
}

static void sleep_until_work(adept_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->remaining) <= 0 && !atomic_load(&pool->quit))
        pthread_cond_wait(&pool->wake, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *argument)
{
    worker *self = argument;
    adept_pool *pool = self->pool;
    int idle = 0;
    while (!atomic_load(&pool->quit)) {
        if (work_once(pool, self->index)) {
            idle = 0;
        } else if (++idle < SPINS) {
            pause_cpu();
        } else {
            sleep_until_work(pool);
            idle = 0;
        }
    }
    return NULL;
}

static int count_threads(int asked)
{
    long n = asked > 0 ? asked : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

adept_pool *adept_pool_new(int n_threads)
{
    int n = count_threads(n_threads);
    adept_pool *pool = calloc(1, sizeof *pool + (size_t)(n - 1) * sizeof pool->workers[0]);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->n_threads = 1;
    for (int i = 1; i < n; i++) {
        worker *w = &pool->workers[i - 1];
        *w = (worker){.pool = pool, .index = i};
        if (pthread_create(&w->thread, NULL, work, w) != 0) break;
        pool->n_threads = i + 1;
    }
    return pool;
}

int adept_pool_threads(const adept_pool *pool)
{
    return pool->n_threads;
}

void adept_pool_run(adept_pool *pool, adept_pool_fn *fn, void *context, size_t n)
{
    if (n == 0) return;
    if (pool->n_threads == 1) {
        fn(context, 0, 0, n);
        return;
    }
    pool->fn = fn;
    pool->context = context;
    atomic_store(&pool->done, 0);
    atomic_store(&pool->remaining, (long long)n);
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->mutex);
    }
    while (work_once(pool, 0)) {
    }
    for (int spins = 0; atomic_load(&pool->done) < n; spins++) {
        if (spins < SPINS)
            pause_cpu();
        else
            sched_yield();
    }
}

void adept_pool_free(adept_pool *pool)
{
    if (!pool) return;
    atomic_store(&pool->quit, true);
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 1; i < pool->n_threads; i++)
        pthread_join(pool->workers[i - 1].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}
