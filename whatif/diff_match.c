/** @file diff_match.c  Equal paths first; then modules without a partner that do the same work under another path. */
#include "diff_private.h"
#include <stdlib.h>
#include <string.h>

#define MAX_SUFFIX 8 /* components at the end of a path that are compared */

/* A module without a partner. */
typedef struct lone {
    uint64_t signature;
    const char *suffix; /* the last components of its key; "" in the last round, which looks at none */
    bool silent;        /* nothing in its path can tell anything in this round */
    size_t order, index;
    bool taken;
} lone;

typedef struct lone_list {
    const adept_diff_modules *modules;
    lone *items;
    size_t n;
} lone_list;

typedef struct matcher {
    adept_diff_pair *pairs;
    size_t n;
    lone_list old, now;
} matcher;

static void add_lone(lone_list *list, size_t index)
{
    const adept_diff_module *m = &list->modules->items[index];

    list->items[list->n++] = (lone){.signature = m->signature, .order = m->order, .index = index};
}

/* Both sides are sorted by key. */
static void match_paths(matcher *m)
{
    const adept_diff_modules *old = m->old.modules, *now = m->now.modules;
    size_t i = 0, j = 0;

    while (i < old->n || j < now->n) {
        int order = i == old->n ? 1 : j == now->n ? -1 : strcmp(old->items[i].key, now->items[j].key);
        if (order == 0)
            m->pairs[m->n++] = (adept_diff_pair){i++, j++, false};
        else if (order < 0)
            add_lone(&m->old, i++);
        else
            add_lone(&m->now, j++);
    }
}

/* The last n components of a path; NULL if it has fewer. */
static const char *suffix_of(const char *path, int n)
{
    const char *p = path + strlen(path);

    while (p > path && n > 0)
        n -= *--p == '.';
    if (p == path) return n <= 1 ? p : NULL;
    return p + 1;
}

static int bucket_order(const lone *x, const lone *y)
{
    int order = (x->signature > y->signature) - (x->signature < y->signature);

    if (order == 0) order = (int)x->silent - (int)y->silent;
    return order != 0 ? order : strcmp(x->suffix, y->suffix);
}

static int by_likeness(const void *a, const void *b)
{
    const lone *x = a, *y = b;
    int order = bucket_order(x, y);

    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* Drop what has a partner and order the rest for a round. */
static void prepare(lone_list *list, int n_suffix)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        if (!list->items[i].taken) list->items[n++] = list->items[i];
    list->n = n;
    for (size_t i = 0; i < n; i++) {
        const char *key = list->modules->items[list->items[i].index].key;
        const char *suffix = n_suffix > 0 ? suffix_of(key, n_suffix) : "";
        list->items[i].suffix = suffix ? suffix : "";
        list->items[i].silent = !suffix || !*key; /* the model itself cannot have been renamed */
    }
    qsort(list->items, n, sizeof *list->items, by_likeness);
}

static size_t bucket_end(const lone_list *list, size_t at)
{
    size_t end = at + 1;

    while (end < list->n && bucket_order(&list->items[at], &list->items[end]) == 0)
        end++;
    return end;
}

/* Pair two buckets in the order of execution, as many as the shorter has. */
static void pair_buckets(matcher *m, size_t i, size_t i_end, size_t j, size_t j_end)
{
    for (; i < i_end && j < j_end; i++, j++) {
        lone *old = &m->old.items[i], *now = &m->now.items[j];
        if (!adept_diff_modules_alike(m->old.modules, old->index, m->now.modules, now->index)) continue;
        m->pairs[m->n++] = (adept_diff_pair){old->index, now->index, true};
        old->taken = now->taken = true;
    }
}

static void match_round(matcher *m, int n_suffix)
{
    prepare(&m->old, n_suffix);
    prepare(&m->now, n_suffix);
    for (size_t i = 0, j = 0; i < m->old.n && j < m->now.n;) {
        const lone *old = &m->old.items[i], *now = &m->now.items[j];
        size_t i_end = bucket_end(&m->old, i), j_end = bucket_end(&m->now, j);
        int order = bucket_order(old, now);
        /* Without a name in common only a full house tells who is who. */
        bool may = !old->silent && (n_suffix > 0 || i_end - i == j_end - j);
        if (order == 0 && may) pair_buckets(m, i, i_end, j, j_end);
        if (order <= 0) i = i_end;
        if (order >= 0) j = j_end;
    }
}

bool adept_diff_match(adept_arena *arena, adept_diff_pair **out, size_t *n, const adept_diff_modules *old,
                      const adept_diff_modules *now)
{
    matcher m = {.old = {.modules = old}, .now = {.modules = now}};

    m.pairs = adept_arena_array(arena, old->n + now->n + 1, sizeof *m.pairs);
    m.old.items = adept_arena_array(arena, old->n + 1, sizeof *m.old.items);
    m.now.items = adept_arena_array(arena, now->n + 1, sizeof *m.now.items);
    if (!m.pairs || !m.old.items || !m.now.items) return false;
    match_paths(&m);
    for (int n_suffix = MAX_SUFFIX; n_suffix >= 0; n_suffix--)
        match_round(&m, n_suffix);
    for (size_t i = 0; i < m.old.n; i++)
        if (!m.old.items[i].taken) m.pairs[m.n++] = (adept_diff_pair){m.old.items[i].index, ADEPT_DIFF_NONE, false};
    for (size_t i = 0; i < m.now.n; i++)
        if (!m.now.items[i].taken) m.pairs[m.n++] = (adept_diff_pair){ADEPT_DIFF_NONE, m.now.items[i].index, false};
    *out = m.pairs;
    *n = m.n;
    return true;
}
