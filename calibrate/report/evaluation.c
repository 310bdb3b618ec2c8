/** @file evaluation.c  Scored rows and their groups. Calls: measurements, model. */
#include "fit_report.h"
#include <math.h>
#include <string.h>

#define MAX_COLUMNS_PER_GROUP 8

/* "a+b" -> columns in the arena. */
static adept_status split_columns(const char ***out, size_t *n, adept_arena *arena, const char *by, adept_error *err)
{
    const char **columns = adept_arena_array(arena, MAX_COLUMNS_PER_GROUP, sizeof *columns);
    if (!columns) return adept_no_memory(err, "errors by group");
    size_t count = 0;
    for (const char *at = by; at; count++) {
        size_t length = strcspn(at, "+");
        if (count == MAX_COLUMNS_PER_GROUP)
            return adept_error_set(err, ADEPT_E_USAGE, "\"%.200s\": groups by more than %d columns", by,
                                   MAX_COLUMNS_PER_GROUP);
        columns[count] = adept_arena_strndup(arena, at, length);
        if (!columns[count]) return adept_no_memory(err, "errors by group");
        at = at[length] == '+' ? at + length + 1 : NULL;
    }
    *out = columns;
    *n = count;
    return ADEPT_OK;
}

/* Of the n rows e->rows[index[..]]. */
static adept_status fill_group(adept_group *g, adept_arena *arena, const adept_evaluation *e, const size_t *index,
                               size_t n, adept_error *err)
{
    const char **values = adept_arena_array(arena, g->n_columns, sizeof *values);
    for (size_t c = 0; c < g->n_columns && values; c++)
        values[c] = adept_measurement_text(e->rows[index[0]].measured, g->columns[c]);
    g->values = values;
    return values ? adept_metrics_get(&g->metrics, e->rows, index, n, err) : adept_no_memory(err, "errors by group");
}

/* Append the groups of one --by entry. */
static adept_status add_groups(adept_evaluation *e, adept_arena *arena, const adept_measurement *const *rows,
                               const char *by, adept_error *err)
{
    adept_group g = {.n_columns = 0};
    adept_row_groups found = {.n = 0};
    const char **columns = NULL;
    adept_status status = split_columns(&columns, &g.n_columns, arena, by, err);
    g.columns = columns;
    if (status == ADEPT_OK) status = adept_rows_group(&found, arena, rows, e->n, columns, g.n_columns, err);
    if (status != ADEPT_OK) return status;
    adept_group *groups = adept_arena_array(arena, e->n_groups + found.n, sizeof *groups);
    if (!groups) return adept_no_memory(err, "errors by group");
    if (e->n_groups > 0) memcpy(groups, e->groups, e->n_groups * sizeof *groups);
    e->groups = groups;
    for (size_t i = 0; i < found.n && status == ADEPT_OK; i++) {
        groups[e->n_groups] = g;
        status = fill_group(&groups[e->n_groups++], arena, e, found.rows + found.begin[i],
                            found.begin[i + 1] - found.begin[i], err);
    }
    return status;
}

adept_status adept_evaluation_of(adept_evaluation **out, adept_arena *arena, const adept_scored *rows, size_t n,
                                 const char *const *by, size_t n_by, adept_error *err)
{
    adept_evaluation *e = adept_arena_alloc(arena, sizeof *e);
    adept_scored *copies = adept_arena_array(arena, n + 1, sizeof *copies);
    const adept_measurement **measured = adept_arena_array(arena, n + 1, sizeof *measured);
    if (!e || !copies || !measured) return adept_no_memory(err, "errors by group");
    *e = (adept_evaluation){.n = n, .rows = copies};
    for (size_t i = 0; i < n; i++) {
        copies[i] = rows[i];
        measured[i] = rows[i].measured;
    }
    adept_status status = adept_metrics_get(&e->overall, e->rows, NULL, n, err);
    for (size_t i = 0; i < n_by && status == ADEPT_OK && n > 0; i++)
        status = add_groups(e, arena, measured, by[i], err);
    if (status == ADEPT_OK) *out = e;
    return status;
}

adept_scored adept_scored_without_interval(const adept_measurement *row, double time_s, double power_w)
{
    return (adept_scored){.measured = row,
                          .time_s = time_s,
                          .power_w = power_w,
                          .time_low_s = NAN,
                          .time_high_s = NAN,
                          .power_low_w = NAN,
                          .power_high_w = NAN};
}

static adept_status predict_row(adept_scored *s, const adept_measurement *m, adept_error *err)
{
    adept_prediction p;
    adept_error cause = {0};
    adept_status status = adept_predict(&p, m->profile, m->hw, &m->run, &cause);
    if (status != ADEPT_OK) return adept_row_error(m, status, cause.message, err);
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

adept_status adept_evaluation_new(adept_evaluation **out, adept_arena *arena, const adept_measurement *rows, size_t n,
                                  const char *const *by, size_t n_by, adept_error *err)
{
    adept_scored *scored = adept_arena_array(arena, n + 1, sizeof *scored);
    adept_status status = scored ? ADEPT_OK : adept_no_memory(err, "errors by group");
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        status = predict_row(&scored[i], &rows[i], err);
    return status == ADEPT_OK ? adept_evaluation_of(out, arena, scored, n, by, n_by, err) : status;
}
