/** @file fit_rows.h  The rows of a fit: those that are used and tell something. Private to fit/. Calls:
 *  adept_evaluate. */
#ifndef ADEPT_FIT_ROWS_H
#define ADEPT_FIT_ROWS_H
#include "adept_calibrate.h"

typedef struct adept_fit_rows {
    size_t n;
    const adept_measurement *rows; /* copies */
    bool limited; /* one has a power limit of its own */
} adept_fit_rows;

/** Rows with use[i] (NULL: all), a positive weight and a time or a power. @return ADEPT_E_FIT if there is none */
adept_status adept_fit_rows_pick(adept_fit_rows *out, adept_arena *arena, const adept_measurement *rows, size_t n,
                                 const bool *use, adept_error *err);

/** An evaluator of any rows. */
adept_status adept_fit_rows_evaluator(adept_evaluator **out, const adept_measurement *rows, size_t n,
                                      adept_granularity granularity, const char *saturation,
                                      const adept_scalar *scalars, size_t n_scalars, adept_error *err);

#endif
