/** @file rows.c */
#include "rows.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_UNKNOWN 0.05 /* of the intervals: a feature that is not known in more is left out */
#define UNKNOWN_WORK                                                                                                   \
    0.05 /* of an interval's CPU time: of processes that have less a number may not be known, and counts as 0 */
#define LEAST_WORK_S 1e-4 /* every process counts for that */

void adept_note(adept_attribution_notes *notes, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (notes->n < ADEPT_MOST_NOTES) notes->texts[notes->n++] = adept_arena_printf(notes->arena, "%s", text);
}

/* ---------------------------------------------------------------- sums ------------------------------------------- */

/* Memory is no work but a state, and only of processes that did something; the authors dropped network traffic, which
 * was that of their own remote shell. */
static bool is_usual(size_t kind)
{
    return kind != ADEPT_ACTIVITY_MEMORY_BYTES && kind != ADEPT_ACTIVITY_NETWORK_BYTES;
}

static adept_status choose_features(adept_rows *rows, const adept_attribution_source *sources, size_t n_sources,
                                    const adept_attribution_options *options, adept_attribution_notes *notes,
                                    adept_error *err)
{
    for (size_t kind = 0; kind < ADEPT_ACTIVITIES; kind++) {
        bool wanted = options->has_features ? options->features[kind] : is_usual(kind);
        bool counted = true;
        for (size_t i = 0; i < n_sources; i++)
            counted = counted && sources[i].log->has[kind];
        if (wanted && counted)
            rows->kinds[rows->n_features++] = (adept_activity_kind)kind;
        else if (wanted && options->has_features)
            return adept_error_set(err, ADEPT_E_INVALID, "%s: %s was not counted", sources[0].path,
                                   adept_activity_name(kind));
        else if (wanted && kind < ADEPT_ACTIVITY_INSTRUCTIONS) /* few machines count those */
            adept_note(notes, "%s was not counted", adept_activity_name(kind));
    }
    return ADEPT_OK;
}

/* NAN where it is not known of processes that had a good part of the CPU time. */
static double sum_feature(const adept_activity_interval *v, adept_activity_kind kind)
{
    double sum = 0, work_s = 0, unknown_s = 0;

    for (size_t i = 0; i < v->n_activities; i++) {
        double value = v->activities[i].values[kind];
        double own_s = LEAST_WORK_S + fmax(0, v->activities[i].values[ADEPT_ACTIVITY_CPU_TIME_S]);
        work_s += own_s;
        if (isfinite(value))
            sum += value;
        else
            unknown_s += own_s;
    }
    return unknown_s <= UNKNOWN_WORK * work_s ? sum : NAN;
}

static void drop_feature(adept_rows *rows, size_t feature)
{
    size_t n = rows->n_features--, to = 0;

    for (size_t i = 0; i < rows->n * n; i++)
        if (i % n != feature) rows->sums[to++] = rows->sums[i];
    for (size_t j = feature; j + 1 < n; j++)
        rows->kinds[j] = rows->kinds[j + 1];
}

/* What is wrong with a feature; NULL: nothing. */
static const char *flaw(const adept_rows *rows, size_t feature)
{
    double least = INFINITY, most = -INFINITY;
    size_t unknown = 0;

    for (size_t i = 0; i < rows->n; i++) {
        double rate = rows->sums[i * rows->n_features + feature] / rows->duration_s[i];
        unknown += !isfinite(rate);
        least = fmin(least, rate), most = fmax(most, rate);
    }
    if (unknown > MOST_UNKNOWN * (double)rows->n) return "is not known of much of the work in many intervals";
    return most - least > 1e-9 * fabs(most) ? NULL : "never varies";
}

/* ---------------------------------------------------------------- scale ------------------------------------------ */

/* Records that a feature's deviation is of: those that are not 0; of z-scores all. */
typedef struct moments {
    double n, mean, squares; /* of deviations; Welford's way */
} moments;

static void scale_feature(adept_rows *rows, size_t j, const adept_attribution_source *sources, bool centre)
{
    moments m = {0};

    for (size_t i = 0; i < rows->n_sources; i++)
        for (size_t k = 0; k < sources[i].log->n_intervals; k++) {
            const adept_activity_interval *v = &sources[i].log->intervals[k];
            for (size_t r = 0; r < v->n_activities; r++) {
                double value = v->activities[r].values[rows->kinds[j]];
                if (isfinite(value) && (centre || value != 0)) {
                    double from = value - m.mean;
                    m.n++;
                    m.mean += from / m.n;
                    m.squares += from * (value - m.mean);
                }
            }
        }
    double sd = sqrt(m.squares / fmax(1, m.n));
    rows->mean[j] = centre ? m.mean : 0;
    rows->scale[j] = sd > 1e-9 * fabs(m.mean) ? sd : fabs(m.mean);
}

/* ---------------------------------------------------------------- all of it -------------------------------------- */

static bool allocate(adept_rows *rows, size_t n)
{
    size_t room = n ? n : 1;

    rows->sums = calloc(room * (rows->n_features + 1), sizeof *rows->sums);
    rows->records = calloc(room, sizeof *rows->records);
    rows->monitored = calloc(room * (ADEPT_ACTIVITIES + ADEPT_MONITORED), sizeof *rows->monitored);
    rows->begin_s = calloc(room, sizeof *rows->begin_s);
    rows->duration_s = calloc(room, sizeof *rows->duration_s);
    rows->energy_j = calloc(room, sizeof *rows->energy_j);
    rows->meters = calloc(rows->n_sources, sizeof *rows->meters);
    rows->starts = calloc(rows->n_sources + 1, sizeof *rows->starts);
    return rows->sums && rows->monitored && rows->records && rows->begin_s && rows->duration_s && rows->energy_j &&
           rows->meters && rows->starts;
}

/* Does an interval follow the last row at once, which is still too short? */
static bool continues(const adept_rows *rows, size_t first, const adept_activity_interval *v, double least_s)
{
    if (rows->n == first) return false;
    double length_s = rows->duration_s[rows->n - 1], apart_s = v->begin_s - rows->begin_s[rows->n - 1] - length_s;
    return length_s < 0.99 * least_s && fabs(apart_s) < 0.1 * (v->end_s - v->begin_s);
}

adept_status adept_rows_make(adept_rows *rows, const adept_attribution_source *sources, size_t n_sources,
                             const adept_attribution_model *model, const adept_attribution_options *options,
                             adept_attribution_notes *notes, adept_error *err)
{
    size_t n = 0;

    *rows = (adept_rows){.n_sources = n_sources};
    adept_status status = choose_features(rows, sources, n_sources, options, notes, err);
    for (size_t i = 0; i < n_sources; i++)
        n += sources[i].log->n_intervals;
    if (status == ADEPT_OK && !allocate(rows, n)) status = adept_no_memory(err, "the intervals of a recording");
    if (status != ADEPT_OK) return status;
    double least_s = options->interval_s;
    for (size_t i = 0; i < rows->n_sources; i++) {
        rows->starts[i] = rows->n;
        for (size_t k = 0; k < sources[i].log->n_intervals; k++) {
            const adept_activity_interval *v = &sources[i].log->intervals[k];
            if (!(v->end_s > v->begin_s)) continue;
            if (!continues(rows, rows->starts[i], v, least_s)) rows->n++;
            /* A row of its own, or more of the last one. */
            size_t row = rows->n - 1;
            if (rows->duration_s[row] == 0) rows->begin_s[row] = v->begin_s;
            rows->duration_s[row] = v->end_s - rows->begin_s[row];
            rows->records[row] += (double)v->n_activities;
            for (size_t j = 0; j < rows->n_features; j++)
                rows->sums[row * rows->n_features + j] += sum_feature(v, rows->kinds[j]);
            double *all = &rows->monitored[row * (ADEPT_ACTIVITIES + ADEPT_MONITORED)];
            for (size_t kind = 0; kind < ADEPT_ACTIVITIES; kind++)
                all[kind] += sum_feature(v, (adept_activity_kind)kind);
            all[ADEPT_ACTIVITIES + ADEPT_MONITORED_MACHINE_CPU_S] += v->machine_cpu_s;
            all[ADEPT_ACTIVITIES + ADEPT_MONITORED_PROCESSES] += (double)v->n_activities;
            for (size_t m = 0; m < v->n_gpu_uses; m++)
                if (isfinite(v->gpu_uses[m].utilization))
                    all[ADEPT_ACTIVITIES + ADEPT_MONITORED_GPU_USE] +=
                        v->gpu_uses[m].utilization * (v->end_s - v->begin_s);
        }
    }
    rows->starts[rows->n_sources] = rows->n;
    for (size_t j = rows->n_features; j-- > 0;) {
        const char *why = flaw(rows, j);
        if (!why) continue;
        adept_note(notes, "%s %s: it is left out", adept_activity_name(rows->kinds[j]), why);
        drop_feature(rows, j);
    }
    for (size_t j = 0; j < rows->n_features; j++)
        scale_feature(rows, j, sources, options->centre);
    for (size_t i = 0; i < n_sources && status == ADEPT_OK; i++)
        status = adept_metering_open(&rows->meters[i], &sources[i], model, false, err);
    return status;
}

void adept_rows_free(adept_rows *rows)
{
    for (size_t i = 0; rows->meters && i < rows->n_sources; i++)
        adept_metering_close(&rows->meters[i]);
    free(rows->sums);
    free(rows->records);
    free(rows->monitored);
    free(rows->begin_s);
    free(rows->duration_s);
    free(rows->energy_j);
    free(rows->meters);
    free(rows->starts);
    *rows = (adept_rows){.n = 0};
}

void adept_rows_measure(adept_rows *rows, double lag_s)
{
    for (size_t i = 0; i < rows->n_sources; i++)
        for (size_t k = rows->starts[i]; k < rows->starts[i + 1]; k++)
            rows->energy_j[k] = adept_metering_energy_j(&rows->meters[i], rows->begin_s[k],
                                                        rows->begin_s[k] + rows->duration_s[k], lag_s);
}

bool adept_rows_x(double *x, const adept_rows *rows, size_t row)
{
    bool known = true;

    for (size_t j = 0; j < rows->n_features; j++) {
        x[j] = (rows->sums[row * rows->n_features + j] - rows->records[row] * rows->mean[j]) / rows->scale[j];
        known = known && isfinite(x[j]);
    }
    x[rows->n_features] = rows->duration_s[row];
    return known;
}
