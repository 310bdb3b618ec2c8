/** @file floors.c  The two naive predictors that a fit must beat: one efficiency for all times, one share of the
 * board's power limit for all powers. Calls: model (roofline). */
#include "adept_fit_report.h"
#include <math.h>
#include <stdlib.h>

/* |ratio - x| weighs `weight`. */
typedef struct term {
    double ratio, weight;
} term;

static int compare_terms(const void *a, const void *b)
{
    double x = ((const term *)a)->ratio, y = ((const term *)b)->ratio;
    return (x > y) - (x < y);
}

/* The x with the least sum of weight * |ratio - x|; NAN without terms. */
static double weighted_median(term *terms, size_t n)
{
    double total = 0.0, below = 0.0;
    qsort(terms, n, sizeof *terms, compare_terms);
    for (size_t i = 0; i < n; i++)
        total += terms[i].weight;
    for (size_t i = 0; i < n; i++) {
        below += terms[i].weight;
        if (below >= 0.5 * total) return terms[i].ratio;
    }
    return NAN;
}

/* Seconds that the FLOPs of a step's passes take on one GPU, each at the dense peak of its unit and type. */
static adept_status time_at_peak(double *out, const adept_measurement *row, adept_error *err)
{
    double sum_s = 0.0;
    for (size_t i = 0; i < row->profile->n_ops; i++) {
        adept_roofline bound;
        adept_status status = adept_roofline_op(&bound, &row->profile->ops[i], row->profile->precision, row->hw, err);
        if (status != ADEPT_OK) return status;
        sum_s += bound.compute_s;
    }
    *out = sum_s * (double)row->profile->grad_accum;
    return ADEPT_OK;
}

static double power_at_tdp(const adept_measurement *row)
{
    return row->hw->specs.tdp_w * (double)row->gpus;
}

/* Of the error |factor * base - measured| / measured: zero at factor = measured / base, with slope base / measured. A
 * row without work at that base says nothing. */
static void add_term(term *terms, size_t *n, double base, double measured, double weight)
{
    double slope = weight * base / measured;
    if (slope > 0.0 && isfinite(slope)) terms[(*n)++] = (term){measured / base, slope};
}

adept_status adept_floors_fit(adept_floor_values *out, const adept_measurement *rows, size_t n, const bool *use,
                              adept_error *err)
{
    term *times = calloc(n ? n : 1, sizeof *times), *powers = calloc(n ? n : 1, sizeof *powers);
    adept_status status = ADEPT_OK;
    if (!times || !powers) status = adept_error_set(err, ADEPT_E_NOMEM, "floors of %zu rows: out of memory", n);
    size_t n_times = 0, n_powers = 0;
    for (size_t i = 0; i < n && status == ADEPT_OK; i++) {
        double peak_s;
        if (use && !use[i]) continue;
        status = time_at_peak(&peak_s, &rows[i], err);
        if (status != ADEPT_OK) continue;
        add_term(times, &n_times, peak_s, rows[i].step_time_s, rows[i].weight);
        add_term(powers, &n_powers, power_at_tdp(&rows[i]), rows[i].power_avg_w, rows[i].weight);
    }
    if (status == ADEPT_OK) {
        out->efficiency = 1.0 / weighted_median(times, n_times);
        out->tdp_share = weighted_median(powers, n_powers);
    }
    free(times);
    free(powers);
    return status;
}

adept_status adept_floors_predict(double *time_s, double *power_w, const adept_floor_values *values,
                                  const adept_measurement *row, adept_error *err)
{
    double peak_s;
    adept_status status = time_at_peak(&peak_s, row, err);
    if (status != ADEPT_OK) return status;
    *time_s = peak_s > 0.0 ? peak_s / values->efficiency : NAN;
    *power_w = power_at_tdp(row) * values->tdp_share;
    return ADEPT_OK;
}
