/** @file fit_report.h  What the parts of a fit's report share. Private to report/. */
#ifndef ADEPT_FIT_REPORT_PRIVATE_H
#define ADEPT_FIT_REPORT_PRIVATE_H
#include "adept_fit_report.h"
#include "adept_json_writer.h"

#define ADEPT_INTERVAL_LEVEL 0.8

/** Intervals NAN. */
adept_scored adept_scored_without_interval(const adept_dataset_row *row, double time_s, double power_w);

/** Whether folds of that scheme are what is exchangeable, and not their rows: GPUs. */
bool adept_held_out_is_grouped(const char *scheme);

/** Set the intervals of rows from the residuals of the rows of other folds: what a row's own fold taught nothing.
 *  @param grouped  folds are groups, else every row is its own */
adept_status adept_conformal_cross(adept_scored *rows, size_t n, bool grouped, adept_error *err);

/** Bounds from the residuals of all rows. `residuals` is a name for the result; the range is left empty. */
adept_status adept_conformal_fit(adept_conformal *out, const adept_scored *rows, size_t n, bool grouped,
                                 const char *residuals, adept_error *err);
/** Set the intervals of rows by bounds as they are. */
void adept_conformal_apply(adept_scored *rows, size_t n, const adept_intervals *intervals);

/** All of the naive predictors, on the folds of a fit.
 *  @param of_fit  one for each of options->schemes: rows that it could not predict are left out here too */
adept_status adept_floors_new(adept_floors *out, adept_arena *arena, const adept_dataset_row *rows, size_t n,
                              const adept_held_out *of_fit, const adept_held_out_options *options, adept_error *err);

/** What rows say of parameters. Coordinates are in units of what the bounds alone say: the standard deviation of a
 * uniform distribution over the range, of the logarithm for scale parameters. */
typedef struct adept_information {
    size_t n;           /* parameters considered */
    size_t *index;      /* theta index of each */
    double *unit;       /* that standard deviation: of ln(theta), or of theta */
    double *covariance; /* n x n, with the bounds as prior: a diagonal entry is at most 1 */
    double *sensitivity; /* length of each parameter's column of the Jacobian, prior not counted: 0, no row depends on
                            it */
    double *directions; /* n x n: column k is a combination of coordinates that is known by itself, best known first */
    double *deviation;  /* standard deviation along each, at most 1 */
    double noise_time, noise_power; /* standard deviation of ln(measured / predicted); NAN: none measured */
} adept_information;

/** The part that is arithmetic: info->n set, `jacobian` m x n in the coordinates, divided by the noise. Everything but
 *  index, unit and noise is filled in. @return ADEPT_E_NOMEM, ADEPT_E_INTERNAL if the decomposition fails */
adept_status adept_information_solve(adept_information *info, adept_arena *arena, const double *jacobian, size_t m,
                                     adept_error *err);

/**
 * Fisher information of ln(time) and ln(power) of rows at the fitted parameters.
 * @param scored  in-sample predictions of the same n rows: their residuals give the noise
 * @param with_undetermined  also the parameters that no row depends on
 */
adept_status adept_information_new(adept_information *info, adept_arena *arena, const adept_dataset_row *rows,
                                   const adept_scored *scored, size_t n, const adept_fit *fit, bool with_undetermined,
                                   adept_error *err);

/** The Jacobian that any rows have, divided by the noise: two lines of info->n numbers each, for time and power. What
 *  is unknown is 0. @param lines  in the arena */
adept_status adept_information_lines(double **lines, adept_arena *arena, const adept_information *info,
                                     const adept_dataset_row *rows, size_t n, const adept_fit *fit, adept_error *err);

/** @param refits  whose folds' fits show how the parameters spread; NULL, or with fewer than 3: not known */
adept_status adept_identify(adept_identifiability *out, adept_arena *arena, const adept_dataset_row *rows,
                            const adept_scored *scored, size_t n, const adept_fit *fit, const adept_held_out *refits,
                            adept_error *err);

/** At most n_wanted configurations, best first. */
adept_status adept_suggest(adept_suggestion **out, size_t *n, adept_arena *arena, adept_dataset *d,
                           const adept_scored *scored, const adept_fit *fit, size_t n_wanted, adept_error *err);

/* Errors of measured values, one by one. */
typedef struct adept_error_sum {
    adept_error_stats stats; /* n and n_interval, until adept_error_sum_end() */
    double *absolute;        /* room for all */
    double sum, sum_signed;
    size_t inside;
} adept_error_sum;

/** One value more. @param low, high  its interval; NAN: none */
void adept_error_sum_add(adept_error_sum *sum, double measured, double predicted, double low, double high);
/** What they come to; NAN where there are none. The room is sorted. */
adept_error_stats adept_error_sum_end(adept_error_sum *sum);

/** The keys of CONTRACT's `overall`, into an object. */
void adept_put_metrics(adept_json_writer *w, const adept_metrics *m);

/** The `fit` of a hardware profile. date NULL: left out. */
void adept_put_fit(adept_json_writer *w, const adept_fit_report *r, const char *date);

#endif
