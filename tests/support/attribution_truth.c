/** @file attribution_truth.c */
#include "attribution_truth.h"
#include "adept_random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BEGIN_S 1.7e9
#define EDGE_S 6.0 /* the meter is read for so long before and after */
#define SAMPLE_S 0.25

static void *room(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p) abort();
    return p;
}

/* Streams by number; a draw depends on process, use and index. */
static double draw(const attribution_truth *t, uint64_t process, uint64_t use, uint64_t index)
{
    return adept_random(t->seed * 1000003 + process * 64 + use, ADEPT_RANDOM_TEMPLATES, index);
}

static double normal(const attribution_truth *t, uint64_t process, uint64_t use, uint64_t index)
{
    return sqrt(-2 * log1p(-draw(t, process, use, 2 * index))) *
           cos(2 * 3.14159265358979324 * draw(t, process, use, 2 * index + 1));
}

/* 10 to the power of what lies between two exponents. */
static double magnitude(const attribution_truth *t, uint64_t process, uint64_t use, double low, double high)
{
    return pow(10, low + (high - low) * draw(t, process, use, 0));
}

/* Bursts of 5 to 60 s, pauses of 5 to 120 s: how busy the process is in each second, in processors. */
static void make_load(const attribution_truth *t, uint64_t process, double *load)
{
    uint64_t n = 0;

    for (size_t i = 0; i < t->n_intervals;) {
        size_t pause = (size_t)(5 + 115 * draw(t, process, 1, n)), burst = (size_t)(5 + 55 * draw(t, process, 2, n));
        double level = 0.1 + 0.9 * draw(t, process, 3, n);
        n++;
        for (size_t k = 0; k < pause && i < t->n_intervals; k++)
            load[i++] = 0;
        for (size_t k = 0; k < burst && i < t->n_intervals; k++, i++)
            load[i] = level * (0.9 + 0.2 * draw(t, process, 4, i));
    }
}

static void do_work(const attribution_truth *t, uint64_t process, size_t interval, double load, float *values)
{
    double mix[ADEPT_ACTIVITIES] = {
        [ADEPT_ACTIVITY_CPU_TIME_S] = 1,
        [ADEPT_ACTIVITY_SWITCHES] = magnitude(t, process, 10, 2, 4.3),
        [ADEPT_ACTIVITY_SYSCALLS] = magnitude(t, process, 11, 2, 5),
        [ADEPT_ACTIVITY_READ_BYTES] = draw(t, process, 12, 0) < 0.5 ? magnitude(t, process, 13, 5, 8.5) : 0,
        [ADEPT_ACTIVITY_WRITE_BYTES] = draw(t, process, 14, 0) < 0.5 ? magnitude(t, process, 15, 5, 8) : 0};

    if (t->in_step)
        for (size_t k = 0; k < ADEPT_ACTIVITIES; k++)
            mix[k] = k == (process == 0 ? ADEPT_ACTIVITY_CPU_TIME_S : ADEPT_ACTIVITY_SWITCHES)
                         ? (process == 0 ? 1 : 10000)
                         : 0;
    for (uint64_t k = 0; k < ADEPT_ACTIVITIES; k++) {
        double around = k == 0 || t->in_step ? 1 : 0.7 + 0.6 * draw(t, process, 20 + k, interval);
        values[k] = (float)(mix[k] * load * around);
    }
}

static void make_activities(attribution_truth *t, double *energy_j)
{
    double *loads = room(t->n_processes * t->n_intervals, sizeof *loads);
    size_t n = 0;

    for (size_t p = 0; p < t->n_processes; p++)
        make_load(t, t->in_step ? 0 : p, loads + p * t->n_intervals);
    for (size_t i = 0; i < t->n_intervals; i++) {
        adept_activity_interval *v = &t->intervals[i];
        *v = (adept_activity_interval){
            .begin_s = BEGIN_S + (double)i, .end_s = BEGIN_S + (double)i + 1, .activities = t->activities + n};
        energy_j[i] = TRUTH_STATIC_W;
        for (size_t p = 0; p < t->n_processes; p++) {
            double load = loads[p * t->n_intervals + i];
            if (load == 0) continue;
            adept_activity *a = &t->activities[n++];
            a->process = (uint32_t)p;
            do_work(t, p, i, load, a->values);
            v->n_activities++;
            v->machine_cpu_s += a->values[ADEPT_ACTIVITY_CPU_TIME_S];
            for (size_t k = 0; k < ADEPT_ACTIVITIES; k++) {
                t->process_j[p] += t->weights[k] * a->values[k];
                energy_j[i] += t->weights[k] * a->values[k];
            }
        }
        t->static_j += TRUTH_STATIC_W;
        t->all_j += energy_j[i];
        energy_j[i] *= 1 + t->noise * normal(t, 1000, 0, i);
    }
    free(loads);
}

/* Until a time; as in the first and the last second before and after them. */
static double counted(const double *energy_j, size_t n, double until_s)
{
    double sum_j = until_s < 0 ? energy_j[0] * until_s : 0;

    for (size_t i = 0; i < n && (double)i < until_s; i++)
        sum_j += energy_j[i] * fmin(1, until_s - (double)i);
    return until_s > (double)n ? sum_j + energy_j[n - 1] * (until_s - (double)n) : sum_j;
}

static void make_meter(attribution_truth *t, const double *energy_j)
{
    size_t n = (size_t)(((double)t->n_intervals + 2 * EDGE_S) / SAMPLE_S), last = t->n_intervals - 1;
    double sum_j = 0;

    t->samples = room(n, sizeof *t->samples);
    for (size_t k = 0; k < n; k++) {
        adept_sample *s = &t->samples[k];
        s->time_s = BEGIN_S - EDGE_S + SAMPLE_S * (double)k + t->jitter_s * (2 * draw(t, 1001, 0, k) - 1);
        double at = s->time_s - t->lag_s - BEGIN_S;
        size_t i = at < 0 ? 0 : at > (double)last ? last : (size_t)at;
        s->power_w = t->counts ? NAN : energy_j[i]; /* intervals are seconds */
        if (k > 0) sum_j += (s->power_w + s[-1].power_w) / 2 * (s->time_s - s[-1].time_s);
        s->energy_j = t->counts ? counted(energy_j, t->n_intervals, at) : sum_j;
    }
    t->meter = (adept_meter_log){
        .name = "node", .source = "made", .component = ADEPT_COMPONENT_NODE, .samples = t->samples, .n_samples = n};
}

void attribution_truth_make(attribution_truth *t)
{
    static const char *const sources[] = {"made"};
    double *energy_j = room(t->n_intervals, sizeof *energy_j);

    t->weights[ADEPT_ACTIVITY_CPU_TIME_S] = 8;
    t->weights[ADEPT_ACTIVITY_SWITCHES] = 4e-4;
    t->weights[ADEPT_ACTIVITY_READ_BYTES] = t->in_step ? 0 : 4e-8;
    t->processes = room(t->n_processes, sizeof *t->processes);
    t->process_j = room(t->n_processes, sizeof *t->process_j);
    t->intervals = room(t->n_intervals, sizeof *t->intervals);
    t->activities = room(t->n_intervals * t->n_processes, sizeof *t->activities);
    for (size_t p = 0; p < t->n_processes; p++) {
        char *name = room(16, 1);
        snprintf(name, 16, "p%u", (unsigned)p % 1000);
        t->processes[p] = (adept_process){.pid = 100 + (int32_t)p,
                                          .uid = 1000 + (uint32_t)(p % 3),
                                          .start_ticks = 5000 + p,
                                          .command = name,
                                          .cgroup = p % 2 ? "/a" : "/b",
                                          .job = p % 4 ? (int64_t)(p % 4) : -1};
    }
    make_activities(t, energy_j);
    make_meter(t, energy_j);
    free(energy_j);
    t->log = (adept_activity_log){.host = "n1",
                                  .sources = sources,
                                  .n_sources = 1,
                                  .period_s = 1,
                                  .n_cpus = 64,
                                  .processes = t->processes,
                                  .n_processes = t->n_processes,
                                  .intervals = t->intervals,
                                  .n_intervals = t->n_intervals,
                                  .meters = &t->meter,
                                  .n_meters = 1};
    for (size_t k = 0; k < ADEPT_ACTIVITIES; k++)
        t->log.has[k] = k < ADEPT_ACTIVITY_NETWORK_BYTES;
}

void attribution_truth_free(attribution_truth *t)
{
    for (size_t p = 0; p < t->n_processes; p++)
        free((char *)t->processes[p].command);
    free(t->processes);
    free(t->process_j);
    free(t->intervals);
    free(t->activities);
    free(t->samples);
}
