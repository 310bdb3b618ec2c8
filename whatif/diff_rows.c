/** @file diff_rows.c  Modules that differ in list indices only and changed alike become one row again. */
#include "diff_private.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EQUAL_WITHIN 1e-9 /* the same sums in another order */

/* A pair with what decides which row it belongs to. */
typedef struct member {
    const adept_diff_module *old, *now; /* NULL: not there */
    adept_diff_status status;
    int64_t amounts[2 * ADEPT_DIFF_AMOUNTS]; /* rounded to some nine digits */
    size_t order;
} member;

typedef struct maker {
    adept_arena *arena;
    adept_diff_row *rows;
    size_t n;
    int32_t *scratch;
} maker;

static const adept_diff_module *any_of(const member *m)
{
    return m->now ? m->now : m->old;
}

/* ---------------------------------------------------------------- what a pair is ---------------------------------- */

static adept_diff_status status_of(const adept_diff_pair *pair, const adept_diff_modules *old,
                                   const adept_diff_modules *now)
{
    if (pair->old == ADEPT_DIFF_NONE) return ADEPT_DIFF_ADDED;
    if (pair->now == ADEPT_DIFF_NONE) return ADEPT_DIFF_REMOVED;
    if (pair->renamed) return ADEPT_DIFF_RENAMED;
    if (!adept_diff_modules_alike(old, pair->old, now, pair->now)) return ADEPT_DIFF_CHANGED;
    for (int i = 0; i < ADEPT_DIFF_AMOUNTS; i++) {
        double x = old->items[pair->old].amounts.v[i], y = now->items[pair->now].amounts.v[i];
        if (isnan(x) != isnan(y) || fabs(x - y) > EQUAL_WITHIN * fmax(fabs(x), fabs(y))) return ADEPT_DIFF_CHANGED;
    }
    return ADEPT_DIFF_SAME;
}

/* Nine digits and the exponent. Two sums that rounding sets apart may still fall on two sides: then there are two rows.
 */
static int64_t rounded(double value)
{
    int exponent;

    if (!isfinite(value)) return INT64_MIN;
    return llrint(frexp(value, &exponent) * (1 << 30)) * 4096 + exponent;
}

static member member_of(const adept_diff_pair *pair, const adept_diff_modules *old, const adept_diff_modules *now,
                        size_t order)
{
    member m = {.old = pair->old == ADEPT_DIFF_NONE ? NULL : &old->items[pair->old],
                .now = pair->now == ADEPT_DIFF_NONE ? NULL : &now->items[pair->now],
                .status = status_of(pair, old, now),
                .order = order};

    for (int i = 0; i < ADEPT_DIFF_AMOUNTS; i++) {
        m.amounts[2 * i] = m.old ? rounded(m.old->amounts.v[i]) : 0;
        m.amounts[2 * i + 1] = m.now ? rounded(m.now->amounts.v[i]) : 0;
    }
    return m;
}

/* ---------------------------------------------------------------- which belong together -------------------------- */

static const char *pattern_of(const adept_diff_module *m)
{
    return m ? m->pattern : "";
}

static const char *class_of(const adept_diff_module *m)
{
    return m ? m->module_class : "";
}

/* 0: one row. */
static int compare_kinds(const member *x, const member *y)
{
    int order = strcmp(pattern_of(any_of(x)), pattern_of(any_of(y)));

    if (order == 0) order = (int)x->status - (int)y->status;
    if (order == 0) order = strcmp(pattern_of(x->old), pattern_of(y->old));
    if (order == 0) order = strcmp(class_of(x->now), class_of(y->now));
    if (order == 0) order = strcmp(class_of(x->old), class_of(y->old));
    for (int i = 0; order == 0 && i < 2 * ADEPT_DIFF_AMOUNTS; i++)
        order = (x->amounts[i] > y->amounts[i]) - (x->amounts[i] < y->amounts[i]);
    return order;
}

static int by_kind(const void *a, const void *b)
{
    const member *x = a, *y = b;
    const adept_diff_module *p = any_of(x), *q = any_of(y);
    int order = compare_kinds(x, y);

    for (size_t i = 0; order == 0 && i < p->n_indices; i++) /* equal patterns have equally many */
        order = (p->indices[i] > q->indices[i]) - (p->indices[i] < q->indices[i]);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* ---------------------------------------------------------------- rows -------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static const adept_diff_module *side_of(const member *m, bool old)
{
    return old ? m->old : m->now;
}

/* The distinct indices of some modules at one place, as ranges. @return false when memory is out */
static bool collect(const maker *k, adept_index_list *list, const member *members, size_t n, bool old, size_t place)
{
    adept_index_range *ranges = adept_arena_array(k->arena, n, sizeof *ranges);
    *list = (adept_index_list){.ranges = ranges};
    for (size_t i = 0; i < n; i++)
        k->scratch[i] = side_of(&members[i], old)->indices[place];
    qsort(k->scratch, n, sizeof *k->scratch, by_value);
    for (size_t i = 0; i < n && ranges; i++) {
        int32_t v = k->scratch[i];
        if (i > 0 && v == k->scratch[i - 1]) continue;
        bool goes_on = i > 0 && v == k->scratch[i - 1] + 1;
        if (!goes_on) ranges[list->n_ranges++].first = v;
        ranges[list->n_ranges - 1].last = v;
        list->n++;
    }
    return ranges != NULL;
}

/* The path that stands for n modules of one pattern. NULL with *full false: lists cannot say which combinations there
 * are; NULL otherwise: memory is out. */
static const char *path_of(maker *k, const member *members, size_t n, bool old, bool *full)
{
    const adept_diff_module *m = side_of(&members[0], old);
    adept_index_list lists[ADEPT_DIFF_PATH_INDICES];
    int64_t product = 1;

    *full = true;
    if (!m->apart) return adept_module_path_print(k->arena, m->pattern, NULL);
    for (size_t i = 0; i < m->n_indices; i++) {
        if (!collect(k, &lists[i], members, n, old, i)) return NULL;
        if (__builtin_mul_overflow(product, lists[i].n, &product)) product = INT64_MAX;
    }
    *full = product == (int64_t)n;
    return *full ? adept_module_path_print(k->arena, m->pattern, lists) : NULL;
}

static void add_amounts(adept_diff_amounts *sum, const adept_diff_module *m)
{
    for (int i = 0; m && i < ADEPT_DIFF_AMOUNTS; i++)
        sum->v[i] += m->amounts.v[i];
}

static bool add_rows(maker *k, const member *members, size_t n);

/* Sorted members of one kind -> one row, or several. */
static bool add_rows(maker *k, const member *members, size_t n)
{
    adept_diff_row row = {.status = members[0].status};
    bool full = true, old_full = true;

    if (members[0].now) row.path = path_of(k, members, n, false, &full);
    if (members[0].old && full) row.old_path = path_of(k, members, n, true, &old_full);
    if (!full || !old_full) {
        /* Combinations of indices that no product of lists gives: once more for each index at the first place that has
         * several. */
        const adept_diff_module *first = any_of(&members[0]);
        size_t place = 0;
        while (place + 1 < first->n_indices && any_of(&members[n - 1])->indices[place] == first->indices[place])
            place++;
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && any_of(&members[end])->indices[place] == any_of(&members[i])->indices[place];)
                end++;
            if (end - i == n) end = i + 1; /* the same path twice cannot be, but must not recur for ever */
            if (!add_rows(k, members + i, end - i)) return false;
        }
        return true;
    }
    if (!row.path) row.path = row.old_path;
    if (!row.old_path) row.old_path = row.path;
    if (!row.path) return false;
    for (size_t i = 0; i < n; i++) {
        const member *m = &members[i];
        row.modules += any_of(m)->apart;
        row.count += m->now ? m->now->count : 0;
        row.old_count += m->old ? m->old->count : 0;
        add_amounts(&row.now, m->now);
        add_amounts(&row.old, m->old);
    }
    row.module_class = class_of(members[0].now);
    row.old_class = class_of(members[0].old);
    k->rows[k->n++] = row;
    return true;
}

bool adept_diff_rows(adept_arena *arena, adept_diff_row **out, size_t *n, const adept_diff_pair *pairs, size_t n_pairs,
                     const adept_diff_modules *old, const adept_diff_modules *now)
{
    maker k = {.arena = arena};
    member *members = calloc(n_pairs + 1, sizeof *members);
    bool ok;

    k.scratch = calloc(n_pairs + 1, sizeof *k.scratch);
    k.rows = adept_arena_array(arena, n_pairs + 1, sizeof *k.rows);
    ok = members && k.scratch && k.rows;
    for (size_t i = 0; ok && i < n_pairs; i++)
        members[i] = member_of(&pairs[i], old, now, i);
    if (ok) qsort(members, n_pairs, sizeof *members, by_kind);
    for (size_t i = 0, end; ok && i < n_pairs; i = end) {
        for (end = i + 1; end < n_pairs && compare_kinds(&members[i], &members[end]) == 0;)
            end++;
        ok = add_rows(&k, members + i, end - i);
    }
    *out = k.rows;
    *n = k.n;
    free(members);
    free(k.scratch);
    return ok;
}
