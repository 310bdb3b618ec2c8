/** @file figures.h  How near predictions are, and how much features say the same. Thread-safe. Calls: lasso,
 * adept_attribution. */
#ifndef ADEPT_FIGURES_H
#define ADEPT_FIGURES_H
#include "adept_attribution.h"
#include "lasso.h"

/** Of n pairs. @return ADEPT_E_NOMEM */
adept_status adept_figures_of(adept_attribution_figures *out, const double *predicted, const double *measured, size_t n,
                              adept_error *err);
/** Spearman's rank correlation, equal values having the mean of their ranks; NAN where one side is all equal.
 *  @return ADEPT_E_NOMEM */
adept_status adept_spearman(double *out, const double *a, const double *b, size_t n, adept_error *err);
/**
 * Of the correlations of all columns but the last, once what the last explains is taken off.
 * @param inflation  of each column's variance by the others: the diagonal of the inverse
 * @return the root of largest over least eigenvalue (Belsley's condition index); INFINITY
 */
double adept_collinearity(double *inflation, const adept_lasso *rows);

#endif
