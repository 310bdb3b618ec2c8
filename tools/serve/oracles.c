/** @file oracles.c  A hash table whose entries also stand in a list by last use. One lock, never held while compiling.
 */
#include "oracles.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* An oracle, or where the key has no GPU a workload at another batch or length, which the oracles of several GPUs hold:
 * it takes a walk, an oracle a fraction of one. */
struct adept_serve_oracle {
    adept_serve_key key;
    adept_oracle *oracle;
    adept_workload *workload;  /* owned; of an entry without GPU */
    adept_serve_oracle *sized; /* held; NULL: the oracle is of key.workload */
    size_t holders;
    bool listed;                       /* in the table and the list */
    adept_serve_oracle *chain;         /* next of the same bucket */
    adept_serve_oracle *newer, *older; /* by last use */
};

struct adept_serve_oracles {
    pthread_mutex_t lock;
    size_t capacity, n_buckets; /* n_buckets is a power of 2 */
    adept_serve_oracle **buckets;
    adept_serve_oracle *newest, *oldest;
    adept_serve_oracles_count count;
};

adept_serve_oracles *adept_serve_oracles_new(size_t capacity)
{
    adept_serve_oracles *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->capacity = capacity;
    c->n_buckets = 16;
    while (c->n_buckets < 2 * capacity && c->n_buckets < (size_t)1 << 20)
        c->n_buckets *= 2;
    c->buckets = calloc(c->n_buckets, sizeof(adept_serve_oracle *));
    if (!c->buckets || pthread_mutex_init(&c->lock, NULL) != 0) {
        free(c->buckets);
        free(c);
        return NULL;
    }
    return c;
}

/* ---- table and list; the lock is held ---- */

static adept_serve_oracle **bucket_of(adept_serve_oracles *c, const adept_serve_key *k)
{
    uint64_t h = (uint64_t)(uintptr_t)k->workload;
    h = (h ^ (uint64_t)(uintptr_t)k->gpu) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 32) ^ (uint64_t)k->batch_size) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 31) ^ (uint64_t)k->seq_length) * UINT64_C(0x94d049bb133111eb);
    h ^= (h >> 29) ^ (k->granularity ? (uint64_t)(unsigned char)k->granularity[0] : 0); /* 'o' or 'm' */
    return &c->buckets[h & (c->n_buckets - 1)];
}

static bool is_same(const adept_serve_key *a, const adept_serve_key *b)
{
    return a->workload == b->workload && a->gpu == b->gpu && a->batch_size == b->batch_size &&
           a->seq_length == b->seq_length &&
           (a->granularity ? a->granularity[0] : 0) == (b->granularity ? b->granularity[0] : 0);
}

static adept_serve_oracle *find(adept_serve_oracles *c, const adept_serve_key *key)
{
    adept_serve_oracle *o = *bucket_of(c, key);
    while (o && !is_same(&o->key, key))
        o = o->chain;
    return o;
}

static void unlist(adept_serve_oracles *c, adept_serve_oracle *o)
{
    *(o->newer ? &o->newer->older : &c->newest) = o->older;
    *(o->older ? &o->older->newer : &c->oldest) = o->newer;
    o->newer = o->older = NULL;
}

static void list_newest(adept_serve_oracles *c, adept_serve_oracle *o)
{
    o->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = o;
    c->newest = o;
}

/* @return the oracle if nobody holds it: it is to be destroyed */
static adept_serve_oracle *evict_oldest(adept_serve_oracles *c)
{
    adept_serve_oracle *o = c->oldest, **link = bucket_of(c, &o->key);
    while (*link != o)
        link = &(*link)->chain;
    *link = o->chain;
    unlist(c, o);
    o->listed = false;
    c->count.kept--;
    c->count.evicted++;
    return o->holders == 0 ? o : NULL;
}

/* ---- holding ---- */

/* The lock is not held. */
static void destroy(adept_serve_oracles *c, adept_serve_oracle *o)
{
    if (!o) return;
    adept_oracle_free(o->oracle);
    adept_serve_oracles_release(c, o->sized);
    adept_workload_free(o->workload);
    free(o);
}

void adept_serve_oracles_free(adept_serve_oracles *c)
{
    if (!c) return;
    while (c->oldest)
        destroy(c, evict_oldest(c)); /* a workload that oracles hold goes with the last of them */
    pthread_mutex_destroy(&c->lock);
    free(c->buckets);
    free(c);
}

static adept_status compile_oracle(adept_serve_oracle *o, adept_serve_oracles *c, adept_error *err)
{
    const adept_serve_key *key = &o->key;
    const adept_workload *workload = key->workload;
    if (key->batch_size > 0 || key->seq_length > 0) {
        const adept_serve_key sizes = {workload, NULL, key->batch_size, key->seq_length, NULL};
        adept_status status = adept_serve_oracles_hold(&o->sized, c, &sizes, err);
        if (status != ADEPT_OK) return status;
        workload = o->sized->workload;
    }
    return adept_oracle_new(&o->oracle, workload, key->gpu, key->granularity, err);
}

static adept_status compile(adept_serve_oracle **out, adept_serve_oracles *c, const adept_serve_key *key,
                            adept_error *err)
{
    adept_serve_oracle *o = calloc(1, sizeof *o);
    if (!o) {
        if (err) *err = (adept_error){.status = ADEPT_E_NOMEM, .message = "out of memory"};
        return ADEPT_E_NOMEM;
    }
    o->key = *key;
    adept_status status = key->gpu
                              ? compile_oracle(o, c, err)
                              : adept_workload_at(&o->workload, key->workload, key->batch_size, key->seq_length, err);
    if (status == ADEPT_OK)
        *out = o;
    else
        destroy(c, o);
    return status;
}

static adept_serve_oracle *hold_found(adept_serve_oracles *c, const adept_serve_key *key)
{
    adept_serve_oracle *o = find(c, key);
    if (!o) return NULL;
    unlist(c, o);
    list_newest(c, o);
    o->holders++;
    return o;
}

/* Takes a new oracle, which another thread may have made meanwhile. @return the one to use */
static adept_serve_oracle *keep(adept_serve_oracles *c, adept_serve_oracle *made)
{
    adept_serve_oracle *evicted = NULL;
    pthread_mutex_lock(&c->lock);
    adept_serve_oracle *o = hold_found(c, &made->key);
    if (!o) {
        if (c->count.kept >= c->capacity && c->oldest) evicted = evict_oldest(c);
        adept_serve_oracle **bucket = bucket_of(c, &made->key);
        made->chain = *bucket;
        *bucket = made;
        list_newest(c, made);
        made->listed = true;
        made->holders = 1;
        c->count.kept++;
    }
    pthread_mutex_unlock(&c->lock);
    destroy(c, evicted);
    if (!o) return made;
    destroy(c, made);
    return o;
}

adept_status adept_serve_oracles_hold(adept_serve_oracle **out, adept_serve_oracles *c, const adept_serve_key *key,
                                      adept_error *err)
{
    adept_serve_oracle *made = NULL;
    pthread_mutex_lock(&c->lock);
    *out = hold_found(c, key);
    if (key->gpu) {
        c->count.hits += *out != NULL;
        c->count.misses += *out == NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (*out) return ADEPT_OK;
    adept_status status = compile(&made, c, key, err);
    if (status == ADEPT_OK) *out = keep(c, made);
    return status;
}

void adept_serve_oracles_release(adept_serve_oracles *c, adept_serve_oracle *held)
{
    if (!held) return;
    pthread_mutex_lock(&c->lock);
    bool last = --held->holders == 0 && !held->listed;
    pthread_mutex_unlock(&c->lock);
    if (last) destroy(c, held);
}

const adept_oracle *adept_serve_oracle_of(const adept_serve_oracle *held)
{
    return held->oracle;
}

adept_serve_oracles_count adept_serve_oracles_statistics(adept_serve_oracles *c)
{
    pthread_mutex_lock(&c->lock);
    adept_serve_oracles_count count = c->count;
    pthread_mutex_unlock(&c->lock);
    return count;
}
