/** @file metering.c  Which meters of a recording are learnt, and what they say. */
#include "adept_statistics.h"
#include "rows.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            if (isnan(at->power_w) && isnan(at->energy_j)) continue;
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

/* ---------------------------------------------------------------- the choice ------------------------------------- */

static bool has_component(const adept_activity_log *log, adept_component c)
{
    bool any = false;

    for (size_t i = 0; i < log->n_meters; i++)
        any = any || (log->meters[i].component == c && log->meters[i].n_samples > 0);
    return any;
}

/* Is it known of the GPUs that have meters who used them? */
static bool has_gpu_uses(const adept_activity_log *log)
{
    bool any = false;

    for (size_t i = 0; i < log->n_intervals && !any; i++)
        any = log->intervals[i].n_gpu_uses > 0;
    return any && has_component(log, ADEPT_COMPONENT_GPU);
}

static adept_status no_meter(const adept_attribution_source *source, const char *wanted, adept_error *err)
{
    char names[512] = "";

    for (size_t i = 0; i < source->log->n_meters; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", source->log->meters[i].name);
    }
    if (wanted)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: no meter '%s'; it has: %s", source->path, wanted,
                               *names ? names : "none");
    return adept_error_set(err, ADEPT_E_INVALID, "%s: no meter of the node, and none of cpu, dram or gpu; it has: %s",
                           source->path, *names ? names : "none");
}

adept_status adept_metering_choose(adept_attribution_model *model, const adept_attribution_source *sources,
                                   size_t n_sources, const adept_attribution_options *options, adept_error *err)
{
    const adept_activity_log *log = sources[0].log;
    bool has_node = false;
    for (size_t i = 0; i < log->n_meters; i++)
        has_node = has_node || adept_meter_is_of_node(log, i);
    const char **names = adept_arena_array(model->arena, log->n_meters + 1, sizeof *names);

    for (size_t i = 0; i < n_sources; i++)
        model->gpu_by_use = model->gpu_by_use || (!options->learn_gpu && has_gpu_uses(sources[i].log));
    for (size_t i = 0; names && i < log->n_meters; i++) {
        const adept_meter_log *m = &log->meters[i];
        bool takes = options->meter ? strcmp(m->name, options->meter) == 0
                     : has_node     ? adept_meter_is_of_node(log, i)
                                    : m->component == ADEPT_COMPONENT_CPU || m->component == ADEPT_COMPONENT_DRAM ||
                                      (m->component == ADEPT_COMPONENT_GPU && !model->gpu_by_use);
        if (!takes || model->n_meters == ADEPT_MOST_SERIES) continue;
        names[model->n_meters++] = adept_arena_strdup(model->arena, m->name);
        model->meters_hold_gpu = model->meters_hold_gpu || m->component == ADEPT_COMPONENT_NODE;
    }
    model->meters = names;
    if (adept_arena_failed(model->arena)) return adept_no_memory(err, "the meters");
    return model->n_meters > 0 ? ADEPT_OK : no_meter(&sources[0], options->meter, err);
}

/* ---------------------------------------------------------------- their energy ----------------------------------- */

static const adept_meter_log *find_meter(const adept_activity_log *log, const char *name)
{
    for (size_t i = 0; i < log->n_meters; i++)
        if (strcmp(log->meters[i].name, name) == 0) return &log->meters[i];
    return NULL;
}

adept_status adept_metering_open(adept_metering *m, const adept_attribution_source *source,
                                 const adept_attribution_model *model, bool may_lack, adept_error *err)
{
    const adept_activity_log *log = source->log;
    adept_status status = ADEPT_OK;
    bool lacks = false;

    *m = (adept_metering){.takes_gpus_off = model->gpu_by_use && model->meters_hold_gpu};
    for (size_t i = 0; i < model->n_meters && status == ADEPT_OK; i++) {
        const adept_meter_log *meter = find_meter(log, model->meters[i]);
        lacks = lacks || !meter;
        if (meter)
            status = adept_meter_series_make(&m->plus[m->n_plus++], log, meter, err);
        else if (!may_lack)
            status = no_meter(source, model->meters[i], err);
    }
    for (size_t i = 0; model->gpu_by_use && i < log->n_meters && status == ADEPT_OK && m->n_gpus < ADEPT_MOST_SERIES;
         i++) {
        if (log->meters[i].component != ADEPT_COMPONENT_GPU) continue;
        m->gpu_meters[m->n_gpus] = (uint32_t)i;
        status = adept_meter_series_make(&m->gpus[m->n_gpus++], log, &log->meters[i], err);
    }
    for (size_t i = 0; lacks && i < m->n_plus; i++)
        adept_meter_series_free(&m->plus[i]);
    if (lacks) m->n_plus = 0;
    return status;
}

void adept_metering_close(adept_metering *m)
{
    for (size_t i = 0; i < m->n_plus; i++)
        adept_meter_series_free(&m->plus[i]);
    for (size_t i = 0; i < m->n_gpus; i++)
        adept_meter_series_free(&m->gpus[i]);
    m->n_plus = m->n_gpus = 0;
}

double adept_metering_energy_j(const adept_metering *m, double begin_s, double end_s, double lag_s)
{
    double sum_j = m->n_plus > 0 ? 0 : NAN;

    for (size_t i = 0; i < m->n_plus; i++)
        sum_j += adept_meter_series_energy_j(&m->plus[i], begin_s + lag_s, end_s + lag_s);
    for (size_t i = 0; m->takes_gpus_off && i < m->n_gpus; i++)
        sum_j -= adept_meter_series_energy_j(&m->gpus[i], begin_s, end_s);
    return sum_j;
}
