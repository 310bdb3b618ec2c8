/** @file lag.c  How late a meter is: as late as makes features explain most of its energy. That is the highest
 * cross-covariance of power with the features weighted at their best for each lag, so no weights need be known before.
 * R2 would not do: half an interval beside the truth two intervals' noise is averaged, which makes it better. */
#include "fit.h"
#include <math.h>

#define COARSE_S 0.1
#define FINE_S 0.01

/* By the features: squares of a row, and the share that they are of all. */
typedef struct explained {
    double squares, r2;
} explained;

static adept_status explain(explained *out, adept_rows *rows, double lag_s, bool is_free, double *w, adept_error *err)
{
    double x[ADEPT_LASSO_MOST];
    adept_lasso sums = {.n = rows->n_features + 1};

    adept_rows_measure(rows, lag_s);
    for (size_t i = 0; i < rows->n; i++)
        if (isfinite(rows->energy_j[i]) && adept_rows_x(x, rows, i)) adept_lasso_row(&sums, x, rows->energy_j[i]);
    for (size_t j = 0; j < rows->n_features; j++)
        sums.is_free[j] = is_free;
    *out = (explained){NAN, NAN};
    if (sums.n_rows < ADEPT_LEAST_ROWS) return ADEPT_OK;
    double total = sums.yy - sums.y * sums.y / (double)sums.n_rows;
    adept_status status = adept_lasso_solve(w, &sums, NULL, err);
    double left = adept_lasso_squares(&sums, w);
    if (total > 1e-12 * sums.yy) *out = (explained){(total - left) / (double)sums.n_rows, 1 - left / total};
    return status;
}

/* Lags around one, the nearest to it first, so that of equal ones it wins. */
static adept_status search(double *lag_s, explained *best, adept_rows *rows, double step_s, int steps, bool is_free,
                           adept_error *err)
{
    double w[ADEPT_LASSO_MOST] = {0}, around_s = *lag_s;
    adept_status status = ADEPT_OK;

    for (int i = 0; i <= 2 * steps && status == ADEPT_OK; i++) {
        double at_s = around_s + step_s * (i % 2 ? (i + 1) / 2 : -(i / 2));
        explained here;
        status = explain(&here, rows, at_s, is_free, w, err);
        if (here.squares > best->squares || (isnan(best->squares) && !isnan(here.squares))) *best = here, *lag_s = at_s;
    }
    return status;
}

adept_status adept_find_lag(double *lag_s, double *r2, adept_rows *rows, bool is_free, adept_error *err)
{
    explained best = {NAN, NAN};

    *lag_s = 0;
    adept_status status = search(lag_s, &best, rows, COARSE_S, (int)(ADEPT_MOST_LAG_S / COARSE_S + 0.5), is_free, err);
    if (status == ADEPT_OK)
        status = search(lag_s, &best, rows, FINE_S, (int)(COARSE_S / FINE_S + 0.5) - 1, is_free, err);
    *r2 = best.r2;
    return status;
}
