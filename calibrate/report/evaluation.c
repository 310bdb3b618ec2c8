/** @file evaluation.c  Scored rows and their groups. Calls: measurements, model. */
#include "adept_fit_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS_PER_GROUP 8

static adept_status no_memory(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "errors by group: out of memory");
}

/* A row and its texts in the columns it is grouped by. */
typedef struct keyed {
    const char *texts[MAX_COLUMNS_PER_GROUP];
    size_t n, row, group;
} keyed;

static int compare_texts(const keyed *a, const keyed *b)
{
    for (size_t i = 0; i < a->n; i++) {
        int order = strcmp(a->texts[i], b->texts[i]);
        if (order != 0) return order;
    }
    return 0;
}

static int by_text_then_row(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = compare_texts(x, y);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static int by_group_then_row(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = (x->group > y->group) - (x->group < y->group);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* Equal texts next to each other, the groups in order of first appearance. Returns how many there are. */
static size_t sort_into_groups(keyed *keys, size_t n)
{
    size_t n_groups = 0;
    qsort(keys, n, sizeof *keys, by_text_then_row);
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || compare_texts(&keys[i - 1], &keys[i]) != 0;
        n_groups += first;
        keys[i].group = first ? keys[i].row : keys[i - 1].group; /* the row a group begins with */
    }
    qsort(keys, n, sizeof *keys, by_group_then_row);
    return n_groups;
}

/* "a+b" -> columns in the arena. */
static adept_status split_columns(const char ***out, size_t *n, adept_arena *arena, const char *by, adept_error *err)
{
    const char **columns = adept_arena_array(arena, MAX_COLUMNS_PER_GROUP, sizeof *columns);
    if (!columns) return no_memory(err);
    size_t count = 0;
    for (const char *at = by; at; count++) {
        size_t length = strcspn(at, "+");
        if (count == MAX_COLUMNS_PER_GROUP)
            return adept_error_set(err, ADEPT_E_USAGE, "\"%.200s\": groups by more than %d columns", by,
                                   MAX_COLUMNS_PER_GROUP);
        columns[count] = adept_arena_strndup(arena, at, length);
        if (!columns[count]) return no_memory(err);
        at = at[length] == '+' ? at + length + 1 : NULL;
    }
    *out = columns;
    *n = count;
    return ADEPT_OK;
}

static adept_status read_keys(keyed *keys, const adept_scored *rows, size_t n, const char *const *columns,
                              size_t n_columns, adept_error *err)
{
    for (size_t i = 0; i < n; i++) {
        keys[i] = (keyed){.n = n_columns, .row = i};
        for (size_t c = 0; c < n_columns; c++) {
            keys[i].texts[c] = adept_measurement_text(rows[i].measured, columns[c]);
            if (!keys[i].texts[c])
                return adept_error_set(err, ADEPT_E_USAGE, "no column \"%.200s\" in %s", columns[c],
                                       rows[i].measured->file);
        }
    }
    return ADEPT_OK;
}

/* One group from its keys [from, to); `room` holds as many rows. */
static adept_status fill_group(adept_group *g, adept_arena *arena, const adept_scored *rows, const keyed *keys,
                               size_t n, adept_scored *room, adept_error *err)
{
    const char **values = adept_arena_array(arena, keys[0].n, sizeof *values);
    if (!values) return no_memory(err);
    for (size_t c = 0; c < keys[0].n; c++) {
        values[c] = adept_arena_strdup(arena, keys[0].texts[c]);
        if (!values[c]) return no_memory(err);
    }
    for (size_t i = 0; i < n; i++)
        room[i] = rows[keys[i].row];
    g->values = values;
    return adept_metrics_get(&g->metrics, room, n, err);
}

/* Append the groups of one --by entry. */
static adept_status add_groups(adept_evaluation *e, const char *by, keyed *keys, adept_scored *room, adept_error *err)
{
    const char **columns = NULL;
    size_t n_columns = 0;
    adept_status status = split_columns(&columns, &n_columns, e->arena, by, err);
    if (status == ADEPT_OK) status = read_keys(keys, e->rows, e->n, columns, n_columns, err);
    if (status != ADEPT_OK) return status;
    size_t n_new = sort_into_groups(keys, e->n);
    adept_group *groups = adept_arena_array(e->arena, e->n_groups + n_new, sizeof *groups);
    if (!groups) return no_memory(err);
    if (e->n_groups > 0) memcpy(groups, e->groups, e->n_groups * sizeof *groups);
    e->groups = groups;
    for (size_t from = 0, to; from < e->n && status == ADEPT_OK; from = to) {
        for (to = from + 1; to < e->n && keys[to].group == keys[from].group;)
            to++;
        adept_group *g = &groups[e->n_groups++];
        g->n_columns = n_columns;
        g->columns = columns;
        status = fill_group(g, e->arena, e->rows, keys + from, to - from, room, err);
    }
    return status;
}

static adept_status fill(adept_evaluation *e, const char *const *by, size_t n_by, adept_error *err)
{
    adept_status status = adept_metrics_get(&e->overall, e->rows, e->n, err);
    if (status != ADEPT_OK || e->n == 0) return status;
    keyed *keys = calloc(e->n, sizeof *keys);
    adept_scored *room = calloc(e->n, sizeof *room);
    if (!keys || !room) status = no_memory(err);
    for (size_t i = 0; i < n_by && status == ADEPT_OK; i++)
        status = add_groups(e, by[i], keys, room, err);
    free(keys);
    free(room);
    return status;
}

/* With n rows to be filled in. */
static adept_evaluation *new_evaluation(size_t n)
{
    adept_arena *arena = adept_arena_new();
    if (!arena) return NULL;
    adept_evaluation *e = adept_arena_alloc(arena, sizeof *e);
    adept_scored *rows = adept_arena_array(arena, n ? n : 1, sizeof *rows);
    if (!e || !rows) {
        adept_arena_free(arena);
        return NULL;
    }
    *e = (adept_evaluation){.arena = arena, .n = n, .rows = rows};
    return e;
}

adept_status adept_evaluation_of(adept_evaluation **out, const adept_scored *rows, size_t n, const char *const *by,
                                 size_t n_by, adept_error *err)
{
    adept_evaluation *e = new_evaluation(n);
    if (!e) return no_memory(err);
    if (n > 0) memcpy(e->rows, rows, n * sizeof *rows);
    adept_status status = fill(e, by, n_by, err);
    if (status == ADEPT_OK)
        *out = e;
    else
        adept_evaluation_free(e);
    return status;
}

static adept_status predict_row(adept_scored *s, const adept_measurement *m, adept_error *err)
{
    adept_prediction p;
    adept_error cause = {0};
    adept_status status = adept_predict(&p, m->profile, m->hw, &m->run, &cause);
    if (status != ADEPT_OK) return adept_error_set(err, status, "%s:%ld: %s", m->file, m->line, cause.message);
    *s = (adept_scored){
        .measured = m,
        .time_s = p.step_time_s,
        .power_w = p.power_avg_w,
        .time_low_s = p.interval_time_s[0],
        .time_high_s = p.interval_time_s[1],
        .power_low_w = p.interval_power_w[0],
        .power_high_w = p.interval_power_w[1],
    };
    return ADEPT_OK;
}

adept_status adept_evaluation_new(adept_evaluation **out, const adept_measurement *rows, size_t n,
                                  const char *const *by, size_t n_by, adept_error *err)
{
    adept_evaluation *e = new_evaluation(n);
    if (!e) return no_memory(err);
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        status = predict_row(&e->rows[i], &rows[i], err);
    if (status == ADEPT_OK) status = fill(e, by, n_by, err);
    if (status == ADEPT_OK)
        *out = e;
    else
        adept_evaluation_free(e);
    return status;
}

void adept_evaluation_free(adept_evaluation *e)
{
    if (e) adept_arena_free(e->arena); /* e itself lies in it */
}
