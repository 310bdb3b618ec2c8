/** @file floors.c  The naive predictors that a fit must beat: one efficiency for all times, one share of the board's
 * power limit for all powers; and power by utilisation, where that was measured. Calls: model (roofline). */
#include "fit_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static double power_at_tdp(const adept_dataset_row *row)
{
    return row->hw->specs.tdp_w * (double)row->run.gpus;
}

/* Of the error |factor * base - measured| / measured: zero at factor = measured / base, with slope base / measured. A
 * row without work at that base says nothing. */
static void add_term(term *terms, size_t *n, double base, double measured, double weight)
{
    double slope = weight * base / measured;
    if (slope > 0.0 && isfinite(slope)) terms[(*n)++] = (term){measured / base, slope};
}

/* ---- power by utilisation ---- */

#define X(name, word, ...) word,
const char *const adept_utilisation_words[ADEPT_UTILISATIONS] = {ADEPT_UTILISATION_LIST(X)};
#undef X
#define X(name, word, shape, ...) shape,
const char *const adept_utilisation_shapes[ADEPT_UTILISATIONS] = {ADEPT_UTILISATION_LIST(X)};
#undef X

static double shape_at(size_t form, double u)
{
#define X(name, word, shape, value) value,
    const double values[ADEPT_UTILISATIONS] = {ADEPT_UTILISATION_LIST(X)};
#undef X
    return values[form];
}

static double power_by_utilisation(const adept_floor_values *values, size_t form, const adept_dataset_row *row)
{
    return power_at_tdp(row) * (values->a[form] + values->b[form] * shape_at(form, row->gpu_utilization));
}

adept_status adept_floors_fit(adept_floor_values *out, const adept_dataset_row *rows, size_t n, const bool *use,
                              adept_error *err)
{
    term *times = calloc(n ? n : 1, sizeof *times), *powers = calloc(n ? n : 1, sizeof *powers);
    adept_status status = ADEPT_OK;
    if (!times || !powers) status = adept_error_set(err, ADEPT_E_NOMEM, "floors of %zu rows: out of memory", n);
    size_t n_times = 0, n_powers = 0;
    for (size_t i = 0; i < n && status == ADEPT_OK; i++) {
        adept_roofline peak;
        if (use && !use[i]) continue;
        status = adept_roofline_step(&peak, rows[i].profile, rows[i].hw, err);
        if (status != ADEPT_OK) continue;
        add_term(times, &n_times, peak.compute_s, rows[i].step_time_s, rows[i].weight);
        add_term(powers, &n_powers, power_at_tdp(&rows[i]), rows[i].power_avg_w, rows[i].weight);
    }
    if (status == ADEPT_OK) {
        out->efficiency = 1.0 / weighted_median(times, n_times);
        out->tdp_share = weighted_median(powers, n_powers);
    }
    for (size_t form = 0; form < ADEPT_UTILISATIONS; form++) {
        /* P / TDP = a + b g(u): least squares of (predicted - measured) / measured. */
        double s1 = 0, sg = 0, sgg = 0, s = 0, gs = 0;
        for (size_t i = 0; i < n; i++) {
            double share = rows[i].power_avg_w / power_at_tdp(&rows[i]), g = shape_at(form, rows[i].gpu_utilization);
            if ((use && !use[i]) || !isfinite(share) || !isfinite(g)) continue;
            double weight = rows[i].weight / (share * share);
            s1 += weight, sg += weight * g, sgg += weight * g * g, s += weight * share, gs += weight * g * share;
        }
        double determinant = s1 * sgg - sg * sg;
        bool is_known = determinant > 1e-9 * s1 * sgg;
        out->b[form] = is_known ? (s1 * gs - sg * s) / determinant : NAN;
        out->a[form] = is_known ? (s - out->b[form] * sg) / s1 : NAN;
    }
    free(times);
    free(powers);
    return status;
}

adept_status adept_floors_predict(double *time_s, double *power_w, const adept_floor_values *values,
                                  const adept_dataset_row *row, adept_error *err)
{
    adept_roofline peak;
    adept_status status = adept_roofline_step(&peak, row->profile, row->hw, err);
    if (status != ADEPT_OK) return status;
    *time_s = peak.compute_s > 0.0 ? peak.compute_s / values->efficiency : NAN;
    *power_w = power_at_tdp(row) * values->tdp_share;
    return ADEPT_OK;
}

/* ---- on the folds of a fit ---- */

typedef struct naive_refits {
    const adept_dataset_row *rows;
    size_t n;
    const adept_held_out *of_fit; /* what the fit itself could predict */
    size_t n_schemes;
    size_t form; /* of power by utilisation; ADEPT_UTILISATIONS: the constants */
} naive_refits;

static bool fit_has_failed(const naive_refits *c, const char *fold_id)
{
    for (size_t i = 0; i < c->n_schemes; i++)
        for (size_t f = 0; f < c->of_fit[i].n_folds; f++)
            if (c->of_fit[i].folds[f].failed && strcmp(c->of_fit[i].folds[f].id, fold_id) == 0) return true;
    return false;
}

/* An adept_refit: the best values of the rows that may be seen. */
static adept_status refit(void *context, const char *fold_id, const bool *train, double *time_s, double *power_w,
                          adept_fit **fit, bool *stopped, adept_error *err)
{
    const naive_refits *c = context;
    adept_floor_values values;
    (void)fit;
    *stopped = fit_has_failed(c, fold_id);
    adept_status status = *stopped ? ADEPT_OK : adept_floors_fit(&values, c->rows, c->n, train, err);
    for (size_t i = 0; i < c->n && status == ADEPT_OK && !*stopped; i++)
        if (!train[i] && c->form < ADEPT_UTILISATIONS)
            power_w[i] = power_by_utilisation(&values, c->form, &c->rows[i]);
        else if (!train[i])
            status = adept_floors_predict(&time_s[i], &power_w[i], &values, &c->rows[i], err);
    return status;
}

adept_status adept_floors_new(adept_floors *out, adept_arena *arena, const adept_dataset_row *rows, size_t n,
                              const adept_held_out *of_fit, const adept_held_out_options *options, adept_error *err)
{
    adept_scored *scored = adept_arena_array(arena, n + 1, sizeof *scored);
    if (!scored) return adept_error_set(err, ADEPT_E_NOMEM, "floors of %zu rows: out of memory", n);
    adept_status status = adept_floors_fit(&out->values, rows, n, NULL, err);
    bool one_kind = n > 0;
    for (size_t i = 0; i < n && status == ADEPT_OK; i++) {
        scored[i] = adept_scored_without_interval(&rows[i], NAN, NAN);
        status = adept_floors_predict(&scored[i].time_s, &scored[i].power_w, &out->values, &rows[i], err);
        one_kind = one_kind && rows[i].hw == rows[0].hw;
    }
    out->power_w = one_kind ? out->values.tdp_share * rows[0].hw->specs.tdp_w : NAN;
    if (status == ADEPT_OK)
        status = adept_evaluation_of(&out->in_sample, arena, scored, n, options->by, options->n_by, err);
    adept_held_out_options same_folds = *options;
    same_folds.threads = 1;
    same_folds.stop = NULL;
    same_folds.progress = NULL;
    same_folds.without_intervals = true;
    naive_refits context = {rows, n, of_fit, options->n_schemes, ADEPT_UTILISATIONS};
    if (status == ADEPT_OK)
        status = adept_held_out_run(&out->held_out, arena, rows, n, refit, &context, &same_folds, err);
    for (size_t form = 0; form < ADEPT_UTILISATIONS && status == ADEPT_OK; form++) {
        if (isnan(out->values.b[form])) continue;
        for (size_t i = 0; i < n; i++)
            scored[i] =
                adept_scored_without_interval(&rows[i], NAN, power_by_utilisation(&out->values, form, &rows[i]));
        context.form = form;
        status =
            adept_evaluation_of(&out->utilisation_in_sample[form], arena, scored, n, options->by, options->n_by, err);
        if (status == ADEPT_OK)
            status =
                adept_held_out_run(&out->utilisation_held_out[form], arena, rows, n, refit, &context, &same_folds, err);
    }
    return status;
}
