/** @file fit.h  What the parts of a fit hand to one another. Calls: rows, lasso. */
#ifndef ADEPT_ATTRIBUTION_FIT_H
#define ADEPT_ATTRIBUTION_FIT_H
#include "lasso.h"
#include "rows.h"

#define ADEPT_LEAST_ROWS 30

/** The rows of which all is known, in order of time. */
typedef struct adept_fit_data {
    size_t n, n_columns; /* features and the duration */
    double *x;           /* n x n_columns */
    double *energy_j;
} adept_fit_data;

/** How weights are made of rows. */
typedef struct adept_estimator {
    bool is_free, keeps_shrinkage;
    double lambda1, lambda2; /* a row; whose sum is the price of the objective */
} adept_estimator;

/** @return ADEPT_E_NOMEM */
adept_status adept_fit_data_make(adept_fit_data *d, const adept_rows *rows, adept_error *err);
void adept_fit_data_free(adept_fit_data *d);
/** The sums of rows `begin` to `end`. */
adept_lasso adept_fit_sums(const adept_fit_data *d, size_t begin, size_t end);
/** Energy by weights. */
double adept_fit_energy_j(const adept_fit_data *d, size_t row, const double *w);

/**
 * Weights: by the prices, and then, unless shrinkage is kept, the least squares of what is not 0.
 * @param w      in: where to begin
 * @param kkt    of the last of these searches; NULL: not wanted
 * @param order  see adept_lasso_solve()
 */
adept_status adept_estimate(double *w, double *kkt, const adept_lasso *sums, const adept_estimator *how,
                            const size_t *order, adept_error *err);

/** lambda1 of a row, by cross-validation over contiguous blocks: the largest within a standard error of the best. */
adept_status adept_choose_lambda(double *lambda1, const adept_fit_data *d, size_t n, const adept_estimator *how,
                                 adept_error *err);

/** How late the meter is, and how much of its energy the features then explain. Leaves the rows measured so. */
adept_status adept_find_lag(double *lag_s, double *r2, adept_rows *rows, bool is_free, adept_error *err);

/** Weights of rows drawn again in blocks, `n_draws` times. */
adept_status adept_bootstrap(double *draws, size_t n_draws, size_t *block, const adept_fit_data *d,
                             const adept_estimator *how, uint64_t seed, adept_error *err);

#endif
