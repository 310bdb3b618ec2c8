/** @file fit_key.h  The name of a sub-fit in a checkpoint. Private to fit/. Calls: objective, SHA-256. */
#ifndef ADEPT_FIT_KEY_H
#define ADEPT_FIT_KEY_H
#include "objective.h"
#include "sha256.h"

/**
 * A digest of everything that determines what a sub-fit finds. Rows enter by what the evaluator predicts for them at some
 * points, so that this need not know how it predicts.
 * @param start    on the unit cube
 * @param scratch  as adept_objective_n_scratch() says
 */
adept_status adept_fit_key(char key[ADEPT_SHA256_SIZE], const adept_objective *o, const adept_fit_options *options,
                           const double *start, double *scratch, adept_error *err);

#endif
