/** @file row_groups.c  Rows that agree, put together. */
#include "adept_measurements.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What rows are compared by: texts in columns, or their configurations where there are no columns. */
typedef struct keys {
    const adept_dataset_row *const *rows;
    size_t n_columns;
    const char **texts; /* n_columns of each row */
} keys;

static int compare_pointers(const void *a, const void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int compare_configurations(const adept_dataset_row *x, const adept_dataset_row *y)
{
    int order = compare_pointers(x->profile, y->profile);
    if (order == 0) order = compare_pointers(x->hw, y->hw);
#define X(field, ...) if (order == 0) order = memcmp(&x->run.field, &y->run.field, sizeof x->run.field);
    ADEPT_RUN_FIELDS(X)
#undef X
    return order;
}

static int compare_keys(const keys *k, size_t a, size_t b)
{
    int order = k->n_columns == 0 ? compare_configurations(k->rows[a], k->rows[b]) : 0;
    for (size_t c = 0; c < k->n_columns && order == 0; c++)
        order = strcmp(k->texts[a * k->n_columns + c], k->texts[b * k->n_columns + c]);
    return order;
}

static int by_key_then_row(const void *a, const void *b, void *context)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = compare_keys(context, x, y);
    return order != 0 ? order : (x > y) - (x < y);
}

static adept_status read_texts(keys *k, size_t n, const char *const *columns, adept_error *err)
{
    for (size_t i = 0; i < n * k->n_columns; i++) {
        const adept_dataset_row *row = k->rows[i / k->n_columns];
        const char *column = columns[i % k->n_columns];
        k->texts[i] = adept_dataset_row_text(row, column);
        if (!k->texts[i])
            return adept_error_set(err, ADEPT_E_USAGE, "no column \"%.200s\" in %s", column, row->file);
    }
    return ADEPT_OK;
}

adept_status adept_rows_group(adept_row_groups *out, adept_arena *arena, const adept_dataset_row *const *rows, size_t n,
                              const char *const *columns, size_t n_columns, adept_error *err)
{
    keys k = {rows, n_columns, adept_arena_array(arena, n * n_columns + 1, sizeof *k.texts)};
    adept_row_groups g = {.of_row = adept_arena_array(arena, n + 1, sizeof *g.of_row),
                          .rows = adept_arena_array(arena, n + 1, sizeof *g.rows),
                          .begin = adept_arena_array(arena, n + 1, sizeof *g.begin)};
    size_t *sorted = adept_arena_array(arena, n + 1, sizeof *sorted), *first = g.rows;
    if (!k.texts || !g.of_row || !g.rows || !g.begin || !sorted)
        return adept_error_set(err, ADEPT_E_NOMEM, "groups of %zu rows: out of memory", n);
    adept_status status = read_texts(&k, n, columns, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < n; i++)
        sorted[i] = i;
    qsort_r(sorted, n, sizeof *sorted, by_key_then_row, &k);
    for (size_t i = 0; i < n; i++) { /* the row that each one's group begins with */
        bool repeat = i > 0 && compare_keys(&k, sorted[i - 1], sorted[i]) == 0;
        first[sorted[i]] = repeat ? first[sorted[i - 1]] : sorted[i];
    }
    for (size_t i = 0; i < n; i++)
        g.of_row[i] = first[i] == i ? g.n++ : g.of_row[first[i]];
    for (size_t i = 0; i < n; i++)
        g.begin[g.of_row[i] + 1]++;
    for (size_t group = 0; group < g.n; group++)
        sorted[group + 1] = g.begin[group + 1] += g.begin[group];
    sorted[0] = 0; /* of each group: where its next row goes */
    for (size_t i = 0; i < n; i++)
        g.rows[sorted[g.of_row[i]]++] = i;
    *out = g;
    return ADEPT_OK;
}
