/** @file oracles.c  A list that is searched from end to end, for a thousand keys in a microsecond; the oracle unused
 * for longest makes room. One lock, never held while compiling. */
#include "oracles.h"
#include "adept_error.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An oracle, or where the key has no GPU a workload at other words or assumptions, which the oracles of
 * several GPUs hold: it takes a walk, an oracle a fraction of one. */
struct adept_serve_oracle {
    adept_oracle *oracle;
    adept_workload *workload;  /* owned; where the key has no GPU */
    adept_serve_oracle *sized; /* held; NULL: the oracle is of the key's workload */
    char *assume, *words;      /* owned; of the key of its entry */
    size_t holders;
    bool kept;
};

typedef struct entry {
    adept_serve_key key;
    adept_serve_oracle *oracle;
    uint64_t used; /* when it was asked for last, in requests */
} entry;

struct adept_serve_oracles {
    pthread_mutex_t lock;
    size_t capacity;
    entry *entries; /* count.kept of them */
    uint64_t uses;
    adept_serve_oracles_count count;
};

adept_serve_oracles *adept_serve_oracles_new(size_t capacity)
{
    adept_serve_oracles *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->capacity = capacity;
    c->entries = calloc(capacity, sizeof *c->entries);
    if (c->entries && pthread_mutex_init(&c->lock, NULL) == 0) return c;
    free(c->entries);
    free(c);
    return NULL;
}

/* ---- entries; the lock is held ---- */

static char granularity_of(const adept_serve_key *k)
{
    return k->granularity ? k->granularity[0] : '\0'; /* 'o' or 'm' */
}

static bool are_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static adept_serve_oracle *hold_found(adept_serve_oracles *c, const adept_serve_key *key)
{
    entry *e = c->entries, *end = e + c->count.kept;
    for (; e < end; e++) {
        const adept_serve_key *k = &e->key;
        if (k->workload == key->workload && k->gpu == key->gpu && granularity_of(k) == granularity_of(key) &&
            are_equal(k->words, key->words) && are_equal(k->assume, key->assume))
            break;
    }
    if (e == end) return NULL;
    e->used = ++c->uses;
    e->oracle->holders++;
    return e->oracle;
}

/* @return the oracle that made room, if nobody holds it: it is to be destroyed */
static adept_serve_oracle *enter(adept_serve_oracles *c, const adept_serve_key *key, adept_serve_oracle *o)
{
    entry *place = &c->entries[c->count.kept];
    adept_serve_oracle *given_up = NULL;
    if (c->count.kept == c->capacity) {
        place = c->entries;
        for (entry *e = c->entries; e < c->entries + c->count.kept; e++)
            if (e->used < place->used) place = e;
        given_up = place->oracle;
        given_up->kept = false;
        c->count.evicted++;
    } else {
        c->count.kept++;
    }
    o->holders = 1;
    o->kept = true;
    *place = (entry){*key, o, ++c->uses};
    place->key.assume = o->assume;
    place->key.words = o->words;
    return given_up && given_up->holders == 0 ? given_up : NULL;
}

/* ---- holding ---- */

/* The lock is not held. */
static void destroy(adept_serve_oracles *c, adept_serve_oracle *o)
{
    if (!o) return;
    adept_oracle_free(o->oracle);
    adept_serve_oracles_release(c, o->sized);
    adept_workload_free(o->workload);
    free(o->assume);
    free(o->words);
    free(o);
}

void adept_serve_oracles_free(adept_serve_oracles *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->count.kept; i++) {
        c->entries[i].oracle->kept = false;
        if (c->entries[i].oracle->holders == 0) destroy(c, c->entries[i].oracle);
    } /* a workload that oracles hold goes with the last of them */
    pthread_mutex_destroy(&c->lock);
    free(c->entries);
    free(c);
}

size_t adept_serve_cut(const char *texts[ADEPT_SERVE_WORDS_SIZE / 2 + 1], char *text)
{
    size_t n = 0;
    char *rest;
    for (char *one = strtok_r(text, ";", &rest); one; one = strtok_r(NULL, ";", &rest))
        texts[n++] = one;
    texts[n] = NULL;
    return n;
}

/* The key's workload by its words, and under its assumptions. */
static adept_status make_workload(adept_workload **out, const adept_serve_key *key, adept_error *err)
{
    const char *assume[ADEPT_SERVE_WORDS_SIZE / 2 + 1], *words[ADEPT_SERVE_WORDS_SIZE / 2 + 1];
    char cut[2][ADEPT_SERVE_WORDS_SIZE]; /* both texts fit by their sizes */
    snprintf(cut[0], sizeof cut[0], "%s", key->assume ? key->assume : "");
    snprintf(cut[1], sizeof cut[1], "%s", key->words ? key->words : "");
    const adept_model_options options = {.assume = adept_serve_cut(assume, cut[0]) ? assume : NULL,
                                         .words = adept_serve_cut(words, cut[1]) ? words : NULL};
    return adept_workload_with(out, key->workload, &options, err);
}

static adept_status compile_oracle(adept_serve_oracle *o, adept_serve_oracles *c, const adept_serve_key *key,
                                   adept_error *err)
{
    const adept_workload *workload = key->workload;
    if ((key->assume && !(o->assume = strdup(key->assume))) || (key->words && !(o->words = strdup(key->words))))
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    if (!key->gpu) return make_workload(&o->workload, key, err);
    if (key->words || key->assume) {
        const adept_serve_key sizes = {workload, NULL, key->words, NULL, key->assume};
        adept_status status = adept_serve_oracles_hold(&o->sized, c, &sizes, err);
        if (status != ADEPT_OK) return status;
        workload = o->sized->workload;
    }
    return adept_oracle_new(&o->oracle, workload, key->gpu, key->granularity, err);
}

/* Takes a new oracle, which another thread may have made meanwhile. @return the one to use */
static adept_serve_oracle *keep(adept_serve_oracles *c, const adept_serve_key *key, adept_serve_oracle *made)
{
    pthread_mutex_lock(&c->lock);
    adept_serve_oracle *o = hold_found(c, key), *unused = o ? made : enter(c, key, made);
    pthread_mutex_unlock(&c->lock);
    destroy(c, unused);
    return o ? o : made;
}

adept_status adept_serve_oracles_hold(adept_serve_oracle **out, adept_serve_oracles *c, const adept_serve_key *key,
                                      adept_error *err)
{
    pthread_mutex_lock(&c->lock);
    *out = hold_found(c, key);
    if (key->gpu) {
        c->count.hits += *out != NULL;
        c->count.misses += *out == NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (*out) return ADEPT_OK;
    adept_serve_oracle *made = calloc(1, sizeof *made);
    if (!made) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = compile_oracle(made, c, key, err);
    if (status == ADEPT_OK)
        *out = keep(c, key, made);
    else
        destroy(c, made);
    return status;
}

void adept_serve_oracles_release(adept_serve_oracles *c, adept_serve_oracle *held)
{
    if (!held) return;
    pthread_mutex_lock(&c->lock);
    bool last = --held->holders == 0 && !held->kept;
    pthread_mutex_unlock(&c->lock);
    if (last) destroy(c, held);
}

const adept_oracle *adept_serve_oracle_of(const adept_serve_oracle *held)
{
    return held->oracle;
}

const adept_workload *adept_serve_workload_of(const adept_serve_oracle *held)
{
    return held->workload;
}

adept_serve_oracles_count adept_serve_oracles_statistics(adept_serve_oracles *c)
{
    pthread_mutex_lock(&c->lock);
    adept_serve_oracles_count count = c->count;
    pthread_mutex_unlock(&c->lock);
    return count;
}
