/** @file worker_pool.h  A few threads that share loops over an index. For whatever works on rows. Calls: pthread. */
#ifndef ADEPT_WORKER_POOL_H
#define ADEPT_WORKER_POOL_H
#include <stddef.h>

typedef struct adept_pool adept_pool;

/** Work on items [begin, end). `worker` is below adept_pool_threads(): an index for scratch memory. */
typedef void adept_pool_fn(void *context, int worker, size_t begin, size_t end);

/** @param n_threads the caller's own included; 0: one per core; fewer if the system gives no more. NULL: out of memory
 */
adept_pool *adept_pool_new(int n_threads);
int adept_pool_threads(const adept_pool *pool);
/** Call fn for all of [0, n), `chunk` items at a time and in any order; the caller works too. Returns when all is done.
 */
void adept_pool_run(adept_pool *pool, adept_pool_fn *fn, void *context, size_t n, size_t chunk);
void adept_pool_free(adept_pool *pool); /* NULL allowed */

#endif
