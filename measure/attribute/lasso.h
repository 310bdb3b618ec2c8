/** @file lasso.h  Least squares with a price on weights, each of them at least 0 where it is asked for, by cyclic
 * coordinate descent on the Gram matrix (Friedman, Hastie and Tibshirani 2010, section 2.2), with a step of Newton
 * where that is slow. Thread-safe. Calls: adept_error. */
#ifndef ADEPT_LASSO_H
#define ADEPT_LASSO_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>

#define ADEPT_LASSO_MOST 32
#define ADEPT_LASSO_TOLERANCE 1e-9 /* of the KKT residual, as a share of the largest gradient at 0 */

/** min over w of sum_t (y_t - x_t'w)^2 + sum_j penalty_j |w_j|. All zero but n: no rows yet. */
typedef struct adept_lasso {
    size_t n, n_rows;
    double gram[ADEPT_LASSO_MOST][ADEPT_LASSO_MOST]; /* sum of x x' */
    double xy[ADEPT_LASSO_MOST], yy, y;              /* sums of x y, y^2, y */
    double penalty[ADEPT_LASSO_MOST];
    bool is_free[ADEPT_LASSO_MOST]; /* it may be below 0 */
    bool is_out[ADEPT_LASSO_MOST];  /* it stays 0 */
} adept_lasso;

void adept_lasso_row(adept_lasso *l, const double *x, double y);
/** Add or (sign -1) take away the rows of another. */
void adept_lasso_add(adept_lasso *l, const adept_lasso *rows, double sign);
/** Sum of squared residuals, without penalties. */
double adept_lasso_squares(const adept_lasso *l, const double *w);
/** How far the conditions of Karush, Kuhn and Tucker are missed, as a share of the largest gradient at 0. */
double adept_lasso_kkt(const adept_lasso *l, const double *w);
/**
 * @param w      in: where to begin; out: the minimum, to ADEPT_LASSO_TOLERANCE
 * @param order  in which weights are visited: of several minima it decides which is found; NULL: 0, 1, ...
 * @return ADEPT_E_FIT: the tolerance was not met
 */
adept_status adept_lasso_solve(double *w, const adept_lasso *l, const size_t *order, adept_error *err);

#endif
