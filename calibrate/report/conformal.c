/** @file conformal.c  Split-conformal intervals from residuals ln(measured / predicted). Calls: nothing. */
#include "fit_report.h"
#include <math.h>
#include <stdlib.h>

#define ROUNDING 1e-9 /* nine times a tenth is a little less than 0.9 in binary */

static int compare_groups(const void *a, const void *b)
{
    const adept_residual *x = a, *y = b;
    return (x->group > y->group) - (x->group < y->group);
}

static int compare_values(const void *a, const void *b)
{
    const adept_residual *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : compare_groups(a, b);
}

static int compare_sizes(const void *a, const void *b)
{
    double x = fabs(((const adept_residual *)a)->value), y = fabs(((const adept_residual *)b)->value);
    return x != y ? (x > y) - (x < y) : compare_values(a, b);
}

/* The first residual, from one end of the sorted list, beyond which lies no more than `tail`. As much as a group's
 * probability lies at infinity. */
static double bound_from_end(const adept_residual *residuals, size_t n, double infinity, double tail, bool high)
{
    double beyond = infinity, bound = NAN;
    for (size_t i = 0; i < n && beyond <= tail + ROUNDING; i++) {
        size_t at = high ? n - 1 - i : i;
        bound = residuals[at].value;
        beyond += residuals[at].mass;
    }
    return bound;
}

void adept_conformal_bounds(double bounds[2], adept_residual *residuals, size_t n, double level)
{
    /* Every group has the same probability, which its residuals share. */
    size_t n_groups = 0;
    qsort(residuals, n, sizeof *residuals, compare_groups);
    for (size_t i = 0; i < n; i++)
        n_groups += i == 0 || residuals[i].group != residuals[i - 1].group;
    double each = 1.0 / (double)(n_groups + 1);
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && residuals[end].group == residuals[begin].group; end++)
            ;
        for (size_t i = begin; i < end; i++)
            residuals[i].mass = each / (double)(end - begin);
    }
    double tail = 0.5 * (1.0 - level); /* each: as much lies at infinity */
    qsort(residuals, n, sizeof *residuals, compare_values);
    bounds[0] = fmin(bound_from_end(residuals, n, each, tail, false), 0.0);
    bounds[1] = fmax(bound_from_end(residuals, n, each, tail, true), 0.0);
    if (each <= tail + ROUNDING) return;
    qsort(residuals, n, sizeof *residuals, compare_sizes);
    bounds[1] = fabs(bound_from_end(residuals, n, each, 2.0 * tail, true));
    bounds[0] = -bounds[1]; /* NAN too where there are too few groups */
}

/* ---- rows ---- */

/* Bounds from the residuals that exist, of the rows of every fold but one; SIZE_MAX leaves none out. */
static size_t bounds_from(double bounds[2], bool power, const adept_scored *rows, size_t n, size_t without_fold,
                          bool grouped, adept_residual *room)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double r = rows[i].fold != without_fold ? (power ? log(rows[i].measured->power_avg_w / rows[i].power_w)
                                                         : log(rows[i].measured->step_time_s / rows[i].time_s))
                                                : NAN;
        if (!isfinite(r)) continue;
        room[count] = (adept_residual){.value = r, .group = grouped ? rows[i].fold : count};
        count++;
    }
    adept_conformal_bounds(bounds, room, count, ADEPT_INTERVAL_LEVEL);
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

adept_status adept_conformal_cross(adept_scored *rows, size_t n, bool grouped, adept_error *err)
{
    size_t n_folds = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].fold >= n_folds) n_folds = rows[i].fold + 1;
    adept_residual *room = calloc(n + 1, sizeof *room);
    if (!room) return adept_error_set(err, ADEPT_E_NOMEM, "intervals of %zu rows: out of memory", n);
    for (size_t fold = 0; fold < n_folds; fold++) {
        double time_log[2], power_log[2];
        bounds_from(time_log, false, rows, n, fold, grouped, room);
        bounds_from(power_log, true, rows, n, fold, grouped, room);
        for (size_t i = 0; i < n; i++)
            if (rows[i].fold == fold) apply(&rows[i], time_log, power_log);
    }
    free(room);
    return ADEPT_OK;
}

adept_status adept_conformal_fit(adept_conformal *out, const adept_scored *rows, size_t n, bool grouped,
                                 const char *residuals, adept_error *err)
{
    adept_residual *room = calloc(n + 1, sizeof *room);
    if (!room) return adept_error_set(err, ADEPT_E_NOMEM, "intervals of %zu rows: out of memory", n);
    adept_conformal c = {.residuals = residuals, .intervals = {.level = ADEPT_INTERVAL_LEVEL}};
    c.n_time = bounds_from(c.intervals.time_log, false, rows, n, SIZE_MAX, grouped, room);
    c.n_power = bounds_from(c.intervals.power_log, true, rows, n, SIZE_MAX, grouped, room);
    free(room);
    *out = c;
    return ADEPT_OK;
}
