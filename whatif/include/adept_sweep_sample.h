/** @file adept_sweep_sample.h  Points of a sweep to draw: all of them, or evenly thinned where there are too many.
 * Calls: model. */
#ifndef ADEPT_SWEEP_SAMPLE_H
#define ADEPT_SWEEP_SAMPLE_H
#include "adept_sweep_answers.h"

#define ADEPT_SWEEP_SAMPLE_MOST 20000

/** Points that can run and whose index is a multiple of `stride`, in order; adept_sweep_at() tells their values. */
typedef struct adept_sweep_sample {
    size_t n;
    uint64_t stride;           /* 1: all */
    adept_sweep_found *points; /* owned */
    double *axis_numbers;      /* owned: n_axes of each point, as adept_sweep_number_at() says */
    const adept_sweep *sweep;
} adept_sweep_sample;

/** @return ADEPT_E_NOMEM */
ADEPT_API adept_status adept_sweep_sample_new(adept_sweep_sample *out, const adept_sweep *sweep, adept_error *err);
ADEPT_API void adept_sweep_sample_free(adept_sweep_sample *s); /* zeroed is fine */
ADEPT_API void adept_sweep_sample_add(adept_sweep_sample *s, const adept_sweep_point *point);

#endif
