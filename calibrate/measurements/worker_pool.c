/** @file worker_pool.c  A few threads that share loops over an index; see worker_pool.h. Whoever is awake takes the
 * next chunk, so that nobody waits for a thread that the system has not woken. */
#include "worker_pool.h"
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_THREADS 256

struct adept_pool {
    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t wake, done;
    adept_pool_fn *fn;
    void *context;
    size_t next, n, chunk;
    size_t n_working; /* chunks under way */
    bool quit;
    int n_started;
    int n_threads;
    pthread_t threads[]; /* n_threads - 1 */
};

/* Take chunks until there are none. The mutex is held on entry and on return. */
static void take_chunks(adept_pool *pool, int worker)
{
    while (pool->next < pool->n) {
        size_t begin = pool->next, end = pool->n - begin > pool->chunk ? begin + pool->chunk : pool->n;
        pool->next = end;
        pool->n_working++;
        pthread_mutex_unlock(&pool->mutex);
        pool->fn(pool->context, worker, begin, end);
        pthread_mutex_lock(&pool->mutex);
        pool->n_working--;
    }
    if (pool->n_working == 0) pthread_cond_signal(&pool->done);
}

static void *work(void *argument)
{
    adept_pool *pool = argument;
    pthread_mutex_lock(&pool->mutex);
    int worker = ++pool->n_started;
    while (!pool->quit) {
        take_chunks(pool, worker);
        pthread_cond_wait(&pool->wake, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Those this process may use, which containers limit. */
static int count_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

adept_pool *adept_pool_new(int n_threads)
{
    int n = n_threads > 0 ? n_threads : count_cores();
    if (n > MAX_THREADS) n = MAX_THREADS;
    adept_pool *pool = calloc(1, sizeof *pool + (size_t)n * sizeof pool->threads[0]);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->n_threads = 1;
    while (pool->n_threads < n && pthread_create(&pool->threads[pool->n_threads - 1], NULL, work, pool) == 0)
        pool->n_threads++;
    return pool;
}

int adept_pool_threads(const adept_pool *pool)
{
    return pool->n_threads;
}

void adept_pool_run(adept_pool *pool, adept_pool_fn *fn, void *context, size_t n, size_t chunk)
{
    pthread_mutex_lock(&pool->mutex);
    pool->fn = fn;
    pool->context = context;
    pool->next = 0;
    pool->n = n;
    pool->chunk = chunk;
    if (n > chunk) pthread_cond_broadcast(&pool->wake);
    take_chunks(pool, 0);
    while (pool->n_working > 0)
        pthread_cond_wait(&pool->done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void adept_pool_free(adept_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->mutex);
    pool->quit = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 1; i < pool->n_threads; i++)
        pthread_join(pool->threads[i - 1], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}
