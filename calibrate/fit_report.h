/** @file fit_report.h  What the parts of a fit's report share. Private to calibrate/. */
#ifndef ADEPT_FIT_REPORT_PRIVATE_H
#define ADEPT_FIT_REPORT_PRIVATE_H
#include "adept_fit_report.h"

/** printf into the arena; NULL when memory is out. */
const char *adept_report_text(adept_arena *arena, const char *format, ...) ADEPT_PRINTF(2, 3);

/** Set the intervals of rows from the residuals of the rows of other folds: what a row's own fold taught nothing. */
adept_status adept_conformal_cross(adept_scored *rows, size_t n, double level, adept_error *err);

/** Bounds from the residuals of all rows. `residuals` is a name for the result; the range is left empty. */
adept_status adept_conformal_fit(adept_conformal *out, const adept_scored *rows, size_t n, double level,
                                 const char *residuals, adept_error *err);
/** Set the intervals of rows by bounds as they are. */
void adept_conformal_apply(adept_scored *rows, size_t n, const adept_intervals *intervals);

/** What a fit says of new rows: the fitted parameters free and, for what to measure next, those undetermined too.
 *  Coordinates are in units of what is known from the bounds alone: the standard deviation of a uniform distribution
 * over the range, of the logarithm for scale parameters. */
typedef struct adept_information {
    size_t n;           /* parameters considered */
    size_t *index;      /* theta index of each */
    double *unit;       /* prior standard deviation: of ln(theta), or of theta */
    double *covariance; /* n x n, of the coordinates */
    double
        *sensitivity; /* length of each parameter's column before the bounds are added: 0 means no row depends on it */
    double *directions; /* n x n, columns: right singular vectors, best known first */
    double *deviation;  /* standard deviation along each: at most 1 */
    double noise_time, noise_power;
} adept_information;

/**
 * Fisher information of ln(time) and ln(power) of the rows at the fitted parameters, and that of the bounds.
 * @param scored  in-sample predictions: their residuals give the noise
 * @param with_undetermined  also the parameters that no row depends on
 */
adept_status adept_information_new(adept_information *out, adept_arena *arena, const adept_scored *scored, size_t n,
                                   const adept_fit *fit, bool with_undetermined, adept_error *err);

/** d ln(time) and d ln(power) in the coordinates, from a row of adept_evaluate_gradient(); zeros where not finite. */
void adept_information_row(double *out, const adept_information *info, const adept_fit *fit, double value,
                           const double *gradient);

adept_status adept_identify(adept_identifiability *out, adept_arena *arena, const adept_scored *scored, size_t n,
                            const adept_fit *fit, adept_error *err);

/** @param n_wanted  at most; out->... fewer if there are not as many that tell anything */
adept_status adept_suggest(adept_suggestion **out, size_t *n, adept_arena *arena, adept_dataset *d,
                           const adept_scored *scored, const adept_fit *fit, size_t n_wanted, adept_error *err);
#endif
