/** @file evaluation.c  Errors of predictions against measurements (eq 4.16-4.18), and scored rows in groups. Calls:
 * measurements, model, GSL (sorting). */
#include "adept_layout.h"
#include "adept_statistics.h"
#include "fit_report.h"
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS_PER_GROUP 8
#define SHARE_TIME 0.6 /* eq 4.16 */
#define SHARE_POWER 0.4

/* ---- errors ---- */

typedef struct sample {
    double measured, predicted;
    double low, high; /* NAN: no interval */
} sample;

typedef enum quantity { TIME, POWER, ENERGY, MEMORY, CLOCK } quantity;

/* Energy is NAN as soon as one factor is. */
static sample sample_of(const adept_scored *s, quantity of)
{
    const adept_dataset_row *m = s->measured;
    if (of == TIME) return (sample){m->step_time_s, s->time_s, s->time_low_s, s->time_high_s};
    if (of == MEMORY)
        return (sample){m->peak_memory_bytes > 0 ? m->peak_memory_bytes : NAN,
                        s->memory_bytes > 0 ? s->memory_bytes : NAN, NAN, NAN};
    if (of == CLOCK) return (sample){m->clock_avg_hz, s->clock_hz > 0 ? s->clock_hz : NAN, NAN, NAN};
    if (of == POWER) return (sample){m->power_avg_w, s->power_w, s->power_low_w, s->power_high_w};
    return (sample){m->step_time_s * m->power_avg_w, s->time_s * s->power_w, NAN, NAN};
}

void adept_error_sum_add(adept_error_sum *sum, double measured, double predicted, double low, double high)
{
    const double error = 100.0 * (predicted - measured) / measured;
    sum->absolute[sum->stats.n++] = fabs(error);
    sum->sum += fabs(error);
    sum->sum_signed += error;
    if (isnan(low) || isnan(high)) return;
    sum->stats.n_interval++;
    sum->inside += measured >= low && measured <= high;
}

adept_error_stats adept_error_sum_end(adept_error_sum *sum)
{
    adept_error_stats s = {.n = sum->stats.n,
                           .n_interval = sum->stats.n_interval,
                           .mape = NAN,
                           .median = NAN,
                           .p90 = NAN,
                           .max = NAN,
                           .bias = NAN,
                           .coverage = NAN};
    if (s.n == 0) return s;
    gsl_sort(sum->absolute, 1, s.n);
    s.mape = sum->sum / (double)s.n;
    s.bias = sum->sum_signed / (double)s.n;
    s.median = adept_quantile(sum->absolute, s.n, 0.5);
    s.p90 = adept_quantile(sum->absolute, s.n, 0.9);
    s.max = sum->absolute[s.n - 1];
    if (s.n_interval > 0) s.coverage = 100.0 * (double)sum->inside / (double)s.n_interval;
    return s;
}

/* `absolute` is room for n numbers. Returns how many measured values lie inside their interval. */
static size_t stats_of(adept_error_stats *out, quantity of, const adept_scored *rows,
                       const size_t *index, size_t n, double *absolute)
{
    adept_error_sum sum = {.absolute = absolute};
    for (size_t i = 0; i < n; i++) {
        sample x = sample_of(&rows[index ? index[i] : i], of);
        if (!isnan(x.measured) && !isnan(x.predicted))
            adept_error_sum_add(&sum, x.measured, x.predicted, x.low, x.high);
    }
    *out = adept_error_sum_end(&sum);
    return sum.inside;
}

adept_status adept_metrics_get(adept_metrics *out, const adept_scored *rows, const size_t *index, size_t n,
                               adept_error *err)
{
    double *room = malloc((n ? n : 1) * sizeof *room);
    if (!room) return adept_error_set(err, ADEPT_E_NOMEM, "errors of %zu rows: out of memory", n);
    adept_metrics m = {.n = n, .coverage = NAN};
    size_t inside = stats_of(&m.time, TIME, rows, index, n, room);
    inside += stats_of(&m.power, POWER, rows, index, n, room);
    stats_of(&m.energy, ENERGY, rows, index, n, room);
    stats_of(&m.memory, MEMORY, rows, index, n, room);
    stats_of(&m.clock, CLOCK, rows, index, n, room);
    free(room);
    m.mape_combined = SHARE_TIME * m.time.mape + SHARE_POWER * m.power.mape;
    size_t n_interval = m.time.n_interval + m.power.n_interval;
    if (n_interval > 0) m.coverage = 100.0 * (double)inside / (double)n_interval;
    *out = m;
    return ADEPT_OK;
}

/* ---- groups ---- */

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

/* Append the groups of one --by entry. */
static adept_status add_groups(adept_evaluation *e, adept_arena *arena, const adept_dataset_row *const *rows,
                               const char *by, adept_error *err)
{
    adept_metrics_group g = {.n_columns = 0};
    adept_row_groups found = {.n = 0};
    const char **columns = NULL;
    adept_status status = split_columns(&columns, &g.n_columns, arena, by, err);
    g.columns = columns;
    if (status == ADEPT_OK) status = adept_rows_group(&found, arena, rows, e->n, columns, g.n_columns, err);
    if (status != ADEPT_OK) return status;
    adept_metrics_group *groups = adept_arena_array(arena, e->n_groups + found.n, sizeof *groups);
    if (!groups) return adept_no_memory(err, "errors by group");
    if (e->n_groups > 0) memcpy(groups, e->groups, e->n_groups * sizeof *groups);
    e->groups = groups;
    for (size_t i = 0; i < found.n && status == ADEPT_OK; i++) {
        adept_metrics_group *of = &groups[e->n_groups++];
        const size_t *index = found.rows + found.begin[i];
        const char **values = adept_arena_array(arena, g.n_columns, sizeof *values);
        for (size_t c = 0; c < g.n_columns && values; c++)
            values[c] = adept_dataset_row_text(e->rows[index[0]].measured, g.columns[c]);
        *of = g;
        of->values = values;
        status = values ? adept_metrics_get(&of->metrics, e->rows, index, found.begin[i + 1] - found.begin[i], err)
                        : adept_no_memory(err, "errors by group");
    }
    return status;
}

adept_status adept_evaluation_of(adept_evaluation **out, adept_arena *arena, const adept_scored *rows, size_t n,
                                 const char *const *by, size_t n_by, adept_error *err)
{
    adept_evaluation *e = adept_arena_alloc(arena, sizeof *e);
    adept_scored *copies = adept_arena_array(arena, n + 1, sizeof *copies);
    const adept_dataset_row **measured = adept_arena_array(arena, n + 1, sizeof *measured);
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

adept_scored adept_scored_without_interval(const adept_dataset_row *row, double time_s, double power_w)
{
    return (adept_scored){.measured = row,
                          .time_s = time_s,
                          .power_w = power_w,
                          .time_low_s = NAN,
                          .time_high_s = NAN,
                          .power_low_w = NAN,
                          .power_high_w = NAN};
}

/* Where a row does not say what is computed again, times of none and of all of it are in the interval. */
static void widen(adept_scored *s, const adept_dataset_row *m)
{
    adept_run other = m->run;
    adept_prediction p;

    if (!(m->unsaid & ADEPT_UNSAID_RECOMPUTATION) || isnan(s->time_low_s)) return;
    other.activation_checkpoint =
        m->run.activation_checkpoint == ADEPT_RECOMPUTE_NONE ? ADEPT_RECOMPUTE_FULL : ADEPT_RECOMPUTE_NONE;
    if (adept_predict(&p, m->profile, m->hw, &other, NULL) != ADEPT_OK) return;
    const double ratio = p.step_time_s / s->time_s;
    s->time_low_s *= fmin(ratio, 1);
    s->time_high_s *= fmax(ratio, 1);
}

/* Whose memory a row says. Megatron's tests log what PyTorch's allocator handed out on the last rank; FlagPerf lists
 * all stages and keeps the most. Else it is that of rank 0, which trainers log, or of the first node, which people
 * watch: in BigScience's rows on V100s two stages with 8 samples take 15 GiB of 32 and run out of 16, as the last stage
 * does, and the first would not. */
static adept_status predict_seen(adept_scored *s, const adept_dataset_row *m, adept_error *err)
{
    const char *notes = adept_dataset_row_text(m, "notes");

    if (!m->layouts || !(m->peak_memory_bytes > 0) || (notes && strstr(notes, "worst stage"))) return ADEPT_OK;
    adept_layout_prediction *p = malloc(sizeof *p);
    if (!p) return adept_no_memory(err, "a layout");
    const adept_status status = adept_predict_layout(p, m->profile, m->hw, &m->run, err);
    if (status == ADEPT_OK && !p->mesh.plain)
        s->memory_bytes = notes && strstr(notes, "mem_allocated_bytes=") ? p->stages[p->n_stages - 1].allocated_bytes
                                                                         : p->stages[0].memory.peak_bytes;
    free(p);
    return status;
}

static adept_status predict_row(adept_scored *s, const adept_dataset_row *m, adept_error *err)
{
    adept_prediction p;
    adept_error cause = {0};
    adept_status status = adept_predict(&p, m->profile, m->hw, &m->run, &cause);
    if (status != ADEPT_OK) return adept_row_error(m, status, cause.message, err);
    /* Which optimizer ran is not known: neither is taken, but what lies between, and the interval has both. */
    const bool either = !isnan(p.fused_step_time_s) && !adept_row_fit_counts_foreach(m);
    *s = (adept_scored){
        .measured = m,
        .time_s = either ? sqrt(p.step_time_s * p.fused_step_time_s) : p.step_time_s,
        .power_w = either ? sqrt(p.power_avg_w * p.fused_power_w) : p.power_avg_w,
        .time_low_s = p.interval_time_s[0],
        .time_high_s = p.interval_time_s[1],
        .power_low_w = p.interval_power_w[0],
        .power_high_w = p.interval_power_w[1],
        .memory_bytes = p.memory.peak_bytes,
        .fullest_bytes = p.memory.peak_bytes,
        .capacity_bytes = p.memory.capacity_bytes,
        .clock_hz = p.clock_hz,
    };
    widen(s, m);
    status = predict_seen(s, m, &cause);
    if (status != ADEPT_OK) return adept_row_error(m, status, cause.message, err);
    status = adept_row_work(&s->samples, &s->ideal_s, m, &cause);
    return status == ADEPT_OK ? ADEPT_OK : adept_row_error(m, status, cause.message, err);
}

adept_status adept_evaluation_new(adept_evaluation **out, adept_arena *arena, const adept_dataset_row *rows, size_t n,
                                  const char *const *by, size_t n_by, adept_error *err)
{
    adept_scored *scored = adept_arena_array(arena, n + 1, sizeof *scored);
    adept_status status = scored ? ADEPT_OK : adept_no_memory(err, "errors by group");
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        status = predict_row(&scored[i], &rows[i], err);
    return status == ADEPT_OK ? adept_evaluation_of(out, arena, scored, n, by, n_by, err) : status;
}
