/** @file metrics.c  Errors of predictions against measurements (eq 4.16-4.18). Calls: GSL (sorting). */
#include "adept_fit_report.h"
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

#define SHARE_TIME 0.6 /* eq 4.16 */
#define SHARE_POWER 0.4

typedef struct sample {
    double measured, predicted;
    double low, high; /* NAN: no interval */
} sample;

static sample time_of(const adept_scored *s)
{
    return (sample){s->measured->step_time_s, s->time_s, s->time_low_s, s->time_high_s};
}

static sample power_of(const adept_scored *s)
{
    return (sample){s->measured->power_avg_w, s->power_w, s->power_low_w, s->power_high_w};
}

/* NAN as soon as one factor is. */
static sample energy_of(const adept_scored *s)
{
    return (sample){s->measured->step_time_s * s->measured->power_avg_w, s->time_s * s->power_w, NAN, NAN};
}

static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (sorted[i + 1] - sorted[i]) * (at - (double)i) : sorted[n - 1];
}

/* `absolute` is room for n numbers. Returns how many measured values lie inside their interval. */
static size_t stats_of(adept_error_stats *out, sample (*get)(const adept_scored *), const adept_scored *rows,
                       const size_t *index, size_t n, double *absolute)
{
    adept_error_stats s = {.mape = NAN, .median = NAN, .p90 = NAN, .max = NAN, .bias = NAN, .coverage = NAN};
    double sum = 0.0, sum_signed = 0.0;
    size_t inside = 0;
    for (size_t i = 0; i < n; i++) {
        sample x = get(&rows[index ? index[i] : i]);
        if (isnan(x.measured) || isnan(x.predicted)) continue;
        double error = 100.0 * (x.predicted - x.measured) / x.measured;
        absolute[s.n++] = fabs(error);
        sum += fabs(error);
        sum_signed += error;
        if (isnan(x.low) || isnan(x.high)) continue;
        s.n_interval++;
        inside += x.measured >= x.low && x.measured <= x.high;
    }
    if (s.n > 0) {
        gsl_sort(absolute, 1, s.n);
        s.mape = sum / (double)s.n;
        s.bias = sum_signed / (double)s.n;
        s.median = quantile(absolute, s.n, 0.5);
        s.p90 = quantile(absolute, s.n, 0.9);
        s.max = absolute[s.n - 1];
    }
    if (s.n_interval > 0) s.coverage = 100.0 * (double)inside / (double)s.n_interval;
    *out = s;
    return inside;
}

adept_status adept_metrics_get(adept_metrics *out, const adept_scored *rows, const size_t *index, size_t n,
                               adept_error *err)
{
    double *room = malloc((n ? n : 1) * sizeof *room);
    if (!room) return adept_error_set(err, ADEPT_E_NOMEM, "errors of %zu rows: out of memory", n);
    adept_metrics m = {.n = n, .coverage = NAN};
    size_t inside = stats_of(&m.time, time_of, rows, index, n, room);
    inside += stats_of(&m.power, power_of, rows, index, n, room);
    stats_of(&m.energy, energy_of, rows, index, n, room);
    free(room);
    m.mape_combined = SHARE_TIME * m.time.mape + SHARE_POWER * m.power.mape;
    size_t n_interval = m.time.n_interval + m.power.n_interval;
    if (n_interval > 0) m.coverage = 100.0 * (double)inside / (double)n_interval;
    *out = m;
    return ADEPT_OK;
}
