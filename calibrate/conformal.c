/** @file conformal.c  Split-conformal intervals from residuals ln(measured / predicted). Calls: nothing. */
#include "fit_report.h"
#include <math.h>
#include <stdlib.h>

#define ROUNDING 1e-9 /* (n + 1)(1 - 0.8)/2 of n = 9 is a little less than 1 in binary */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_sizes(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return x != y ? (x > y) - (x < y) : compare_doubles(a, b);
}

void adept_conformal_bounds(double bounds[2], double *residuals, size_t n, double level)
{
    double places = (double)n + 1.0, tail = 0.5 * (1.0 - level);
    double low = floor(places * tail + ROUNDING), high = ceil(places * (1.0 - tail) - ROUNDING);
    double both = ceil(places * level - ROUNDING);
    bounds[0] = bounds[1] = NAN;
    if (low >= 1.0 && high <= (double)n) {
        qsort(residuals, n, sizeof *residuals, compare_doubles);
        bounds[0] = fmin(residuals[(size_t)low - 1], 0.0);
        bounds[1] = fmax(residuals[(size_t)high - 1], 0.0);
    } else if (both <= (double)n) {
        qsort(residuals, n, sizeof *residuals, compare_sizes);
        bounds[1] = fabs(residuals[(size_t)both - 1]);
        bounds[0] = -bounds[1];
    }
}

static double time_residual(const adept_scored *s)
{
    return log(s->measured->step_time_s / s->time_s);
}

static double power_residual(const adept_scored *s)
{
    return log(s->measured->power_avg_w / s->power_w);
}

/* Residuals that exist, of the rows of every fold but one; SIZE_MAX leaves none out. */
static size_t collect(double *out, double (*residual)(const adept_scored *), const adept_scored *rows, size_t n,
                      size_t without_fold)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double r = rows[i].fold != without_fold ? residual(&rows[i]) : NAN;
        if (isfinite(r)) out[count++] = r;
    }
    return count;
}

static void apply(adept_scored *s, const double time_log[2], const double power_log[2])
{
    s->time_low_s = s->time_s * exp(time_log[0]);
    s->time_high_s = s->time_s * exp(time_log[1]);
    s->power_low_w = s->power_w * exp(power_log[0]);
    s->power_high_w = s->power_w * exp(power_log[1]);
}

void adept_conformal_apply(adept_scored *rows, size_t n, const adept_intervals *intervals)
{
    for (size_t i = 0; i < n; i++)
        apply(&rows[i], intervals->time_log, intervals->power_log);
}

adept_status adept_conformal_cross(adept_scored *rows, size_t n, double level, adept_error *err)
{
    size_t n_folds = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].fold >= n_folds) n_folds = rows[i].fold + 1;
    double *room = malloc((n ? n : 1) * sizeof *room);
    if (!room) return adept_error_set(err, ADEPT_E_NOMEM, "intervals of %zu rows: out of memory", n);
    for (size_t fold = 0; fold < n_folds; fold++) {
        double time_log[2], power_log[2];
        adept_conformal_bounds(time_log, room, collect(room, time_residual, rows, n, fold), level);
        adept_conformal_bounds(power_log, room, collect(room, power_residual, rows, n, fold), level);
        for (size_t i = 0; i < n; i++)
            if (rows[i].fold == fold) apply(&rows[i], time_log, power_log);
    }
    free(room);
    return ADEPT_OK;
}

adept_status adept_conformal_fit(adept_conformal *out, const adept_scored *rows, size_t n, double level,
                                 const char *residuals, adept_error *err)
{
    double *room = malloc((n ? n : 1) * sizeof *room);
    if (!room) return adept_error_set(err, ADEPT_E_NOMEM, "intervals of %zu rows: out of memory", n);
    adept_conformal c = {.residuals = residuals, .intervals = {.level = level}};
    c.n_time = collect(room, time_residual, rows, n, SIZE_MAX);
    adept_conformal_bounds(c.intervals.time_log, room, c.n_time, level);
    c.n_power = collect(room, power_residual, rows, n, SIZE_MAX);
    adept_conformal_bounds(c.intervals.power_log, room, c.n_power, level);
    free(room);
    *out = c;
    return ADEPT_OK;
}
