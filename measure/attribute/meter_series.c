/** @file meter_series.c */
#include "meter_series.h"
#include "adept_statistics.h"
#include <math.h>
#include <stdlib.h>

#define GAP 5.0          /* times the median distance of samples */
#define LOAD_CHANGE 0.25 /* of the load's range over the recording, */
#define LEAST_CHANGE 0.5 /* and in processors: less may be below what a meter resolves */

/* Distances of samples, sorted in `room`. */
static double median_distance(const adept_meter_series *s, double *room)
{
    if (s->n < 2) return INFINITY;
    for (size_t i = 1; i < s->n; i++)
        room[i - 1] = s->time_s[i] - s->time_s[i - 1];
    qsort(room, s->n - 1, sizeof *room, adept_by_size);
    return room[(s->n - 1) / 2];
}

/* Least and most busy processors of the intervals within two times. */
static void load_between(const adept_activity_log *log, double begin_s, double end_s, double *least, double *most)
{
    size_t low = 0, high = log->n_intervals;

    *least = INFINITY, *most = -INFINITY;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->intervals[middle].begin_s < begin_s)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < log->n_intervals && log->intervals[i].end_s <= end_s; i++) {
        const adept_activity_interval *v = &log->intervals[i];
        double load = v->machine_cpu_s / (v->end_s - v->begin_s);
        *least = fmin(*least, load), *most = fmax(*most, load);
    }
}

/* The first sample at or behind a time that is not behind the last. */
static size_t sample_at(const adept_meter_series *s, double time_s)
{
    size_t low = 0, high = s->n - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->time_s[middle] < time_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool says_nothing(const adept_sample *s)
{
    return isnan(s->power_w) && isnan(s->energy_j);
}

static bool same_reading(const adept_sample *a, const adept_sample *b)
{
    return !isnan(a->power_w) && !isnan(b->power_w) ? a->power_w == b->power_w : a->energy_j == b->energy_j;
}

/* Mark the stretches between two times. */
static void mark(adept_meter_series *s, double from_s, double to_s)
{
    for (size_t i = sample_at(s, from_s); i < s->n && s->time_s[i] <= to_s; i++)
        s->n_bad[i] = s->time_s[i] > from_s;
    s->n_stuck++;
    s->stuck_s += to_s - from_s;
}

/* An idle machine may well draw the same for long: where a value is stuck, the load has to have changed meanwhile, in
 * the run without what a late meter shows of before and after. */
static bool is_stuck(const adept_activity_log *log, double from_s, double to_s, double change)
{
    double low, high;

    if (!(to_s - from_s >= ADEPT_STUCK_S)) return false;
    load_between(log, from_s + ADEPT_MOST_LAG_S, to_s - ADEPT_MOST_LAG_S, &low, &high);
    return high - low > change;
}

adept_status adept_meter_series_make(adept_meter_series *s, const adept_activity_log *log, const adept_meter_log *meter,
                                     adept_error *err)
{
    size_t n = meter->n_samples + 1;
    double *room = malloc(n * sizeof *room);

    *s = (adept_meter_series){.time_s = malloc(n * sizeof *s->time_s),
                              .energy_j = malloc(n * sizeof *s->energy_j),
                              .n_bad = calloc(n, sizeof *s->n_bad)};
    if (!room || !s->time_s || !s->energy_j || !s->n_bad) {
        free(room);
        return adept_no_memory(err, "the samples of a meter");
    }
    for (size_t i = 0; i < meter->n_samples; i++) {
        const adept_sample *at = &meter->samples[i];
        bool is_later = s->n == 0 || at->time_s > s->time_s[s->n - 1]; /* a stamp that comes twice says nothing new */
        if (!isfinite(at->time_s) || !isfinite(at->energy_j) || !is_later) continue;
        s->time_s[s->n] = at->time_s;
        s->energy_j[s->n++] = at->energy_j;
    }
    double gap_s = GAP * median_distance(s, room);
    free(room);
    if (s->n > 0) {
        const adept_sample *first = NULL, *last = NULL, *end = meter->samples + meter->n_samples;
        double least, most;
        load_between(log, -INFINITY, INFINITY, &least, &most);
        double change = fmax(LOAD_CHANGE * (most - least), LEAST_CHANGE);
        for (const adept_sample *at = meter->samples; at < end; at++) {
            if (says_nothing(at)) continue;
            if (first && !same_reading(first, at)) {
                if (is_stuck(log, first->time_s, last->time_s, change)) mark(s, first->time_s, last->time_s);
                first = NULL;
            }
            if (!first) first = at;
            last = at;
        }
        if (first && is_stuck(log, first->time_s, last->time_s, change)) mark(s, first->time_s, last->time_s);
    }
    /* n_bad: from marks of stretches to counts of them. */
    for (size_t i = 1; i < s->n; i++) {
        bool is_bad = s->n_bad[i] || s->time_s[i] - s->time_s[i - 1] > gap_s || s->energy_j[i] < s->energy_j[i - 1];
        s->n_bad[i] = s->n_bad[i - 1] + is_bad;
    }
    return ADEPT_OK;
}

void adept_meter_series_free(adept_meter_series *s)
{
    free(s->time_s);
    free(s->energy_j);
    free(s->n_bad);
    *s = (adept_meter_series){.n = 0};
}

/* Energy until a time that lies in the stretch before sample i. */
static double energy_until(const adept_meter_series *s, size_t i, double time_s)
{
    if (i == 0) return s->energy_j[0];
    double from_s = s->time_s[i - 1], from_j = s->energy_j[i - 1];
    return from_j + (s->energy_j[i] - from_j) * (time_s - from_s) / (s->time_s[i] - from_s);
}

double adept_meter_series_energy_j(const adept_meter_series *s, double begin_s, double end_s)
{
    if (s->n < 2 || !(begin_s < end_s) || begin_s < s->time_s[0] || end_s > s->time_s[s->n - 1]) return NAN;
    size_t from = sample_at(s, begin_s), to = sample_at(s, end_s);
    if (s->time_s[from] == begin_s) from++; /* the stretch behind it */
    if (s->n_bad[to] != s->n_bad[from - 1]) return NAN;
    return energy_until(s, to, end_s) - energy_until(s, from, begin_s);
}
