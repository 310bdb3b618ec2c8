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

/* ---- groups ---- */

static int compare_values(const void *a, const void *b)
{
    const adept_grouped_residual *x = a, *y = b;
    int order = compare_doubles(&x->value, &y->value);
    return order ? order : (x->group > y->group) - (x->group < y->group);
}

static int compare_value_sizes(const void *a, const void *b)
{
    const adept_grouped_residual *x = a, *y = b;
    int order = compare_sizes(&x->value, &y->value);
    return order ? order : (x->group > y->group) - (x->group < y->group);
}

/* The probability of a residual: its group's, shared by the group's. */
static double mass(const adept_grouped_residual *residuals, size_t n, size_t i, size_t n_groups)
{
    size_t alike = 0;
    for (size_t k = 0; k < n; k++)
        alike += residuals[k].group == residuals[i].group;
    return 1.0 / ((double)(n_groups + 1) * (double)alike);
}

static size_t count_groups(const adept_grouped_residual *residuals, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (residuals[k].group != residuals[i].group)
            k++;
        count += k == i;
    }
    return count;
}

/* The first residual, from one end of the sorted list, beyond which lies no more than `tail`. */
static double bound_from_end(const adept_grouped_residual *residuals, size_t n, size_t n_groups, double tail, bool high)
{
    double beyond = 1.0 / (double)(n_groups + 1), bound = NAN;
    for (size_t i = 0; i < n && beyond <= tail + ROUNDING; i++) {
        size_t at = high ? n - 1 - i : i;
        bound = residuals[at].value;
        beyond += mass(residuals, n, at, n_groups);
    }
    return bound;
}

void adept_conformal_bounds_of_groups(double bounds[2], adept_grouped_residual *residuals, size_t n, double level)
{
    size_t n_groups = count_groups(residuals, n);
    double tail = 0.5 * (1.0 - level);
    qsort(residuals, n, sizeof *residuals, compare_values);
    bounds[0] = fmin(bound_from_end(residuals, n, n_groups, tail, false), 0.0);
    bounds[1] = fmax(bound_from_end(residuals, n, n_groups, tail, true), 0.0);
    if (1.0 / (double)(n_groups + 1) <= tail + ROUNDING && n > 0) return;
    qsort(residuals, n, sizeof *residuals, compare_value_sizes);
    bounds[1] = fabs(bound_from_end(residuals, n, n_groups, 2.0 * tail, true));
    bounds[0] = -bounds[1]; /* NAN too where there are too few groups */
}

/* ---- rows ---- */

/* Bounds from the residuals that exist, of the rows of every fold but one; SIZE_MAX leaves none out. */
static size_t bounds_from(double bounds[2], double (*residual)(const adept_scored *), const adept_scored *rows,
                          size_t n, size_t without_fold, double level, bool grouped, adept_grouped_residual *room,
                          double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double r = rows[i].fold != without_fold ? residual(&rows[i]) : NAN;
        if (isfinite(r)) room[count++] = (adept_grouped_residual){r, rows[i].fold};
    }
    if (grouped) {
        adept_conformal_bounds_of_groups(bounds, room, count, level);
        return count;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = room[i].value;
    adept_conformal_bounds(bounds, values, count, level);
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

adept_status adept_conformal_cross(adept_scored *rows, size_t n, double level, bool grouped, adept_error *err)
{
    size_t n_folds = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].fold >= n_folds) n_folds = rows[i].fold + 1;
    adept_grouped_residual *room = calloc(n ? n : 1, sizeof *room + sizeof(double));
    double *values = room ? (double *)(void *)(room + (n ? n : 1)) : NULL;
    if (!room) return adept_error_set(err, ADEPT_E_NOMEM, "intervals of %zu rows: out of memory", n);
    for (size_t fold = 0; fold < n_folds; fold++) {
        double time_log[2], power_log[2];
        bounds_from(time_log, time_residual, rows, n, fold, level, grouped, room, values);
        bounds_from(power_log, power_residual, rows, n, fold, level, grouped, room, values);
        for (size_t i = 0; i < n; i++)
            if (rows[i].fold == fold) apply(&rows[i], time_log, power_log);
    }
    free(room);
    return ADEPT_OK;
}

adept_status adept_conformal_fit(adept_conformal *out, const adept_scored *rows, size_t n, double level, bool grouped,
                                 const char *residuals, adept_error *err)
{
    adept_grouped_residual *room = calloc(n ? n : 1, sizeof *room + sizeof(double));
    double *values = room ? (double *)(void *)(room + (n ? n : 1)) : NULL;
    if (!room) return adept_error_set(err, ADEPT_E_NOMEM, "intervals of %zu rows: out of memory", n);
    adept_conformal c = {.residuals = residuals, .intervals = {.level = level}};
    c.n_time = bounds_from(c.intervals.time_log, time_residual, rows, n, SIZE_MAX, level, grouped, room, values);
    c.n_power = bounds_from(c.intervals.power_log, power_residual, rows, n, SIZE_MAX, level, grouped, room, values);
    free(room);
    *out = c;
    return ADEPT_OK;
}
