/** @file adept_sweep_answers.h  What a sweep's points say together: the best ones, and the front of time and energy.
 * Calls: model. */
#ifndef ADEPT_SWEEP_ANSWERS_H
#define ADEPT_SWEEP_ANSWERS_H
#include "adept_chooser.h"
#include "adept_pareto.h"
#include "adept_sweep.h"

/* Aims that a step alone can be best for: those before the cost. */
#define ADEPT_SWEEP_OBJECTIVES ADEPT_AIM_COST
/** As the command line and JSON call such an aim; NULL for others. */
ADEPT_API const char *adept_sweep_objective_name(size_t aim);

/** Joules of a token of a generation; NAN of others. */
ADEPT_API double adept_sweep_token_j(const adept_sweep_point *point);
ADEPT_API adept_sweep_found adept_sweep_found_of(const adept_sweep_point *point);

typedef struct adept_sweep_answers {
    uint64_t points, failed,
        too_large;      /* of all points those that cannot run, and those whose memory does not suffice */
    uint64_t uncalibrated, outside; /* likewise those whose parameters nobody fitted to their GPU and precision, and
                                       those outside what a fit covers */
    bool ignore_memory; /* points that do not fit count as if they did */
    bool per_sample;    /* steps of different points have different numbers of samples: time and energy are compared per
                           sample */
    bool found[ADEPT_SWEEP_OBJECTIVES];
    adept_sweep_found best[ADEPT_SWEEP_OBJECTIVES]; /* of equals the first */
    /* Is first place within another point's interval, and whose? That with the lowest end. */
    bool contested[ADEPT_SWEEP_OBJECTIVES];
    adept_sweep_found rival[ADEPT_SWEEP_OBJECTIVES];
    adept_pareto front;
    double first_samples;
    adept_sweep_found lowest[ADEPT_SWEEP_OBJECTIVES][2]; /* the two whose intervals reach lowest */
    size_t n_lowest[ADEPT_SWEEP_OBJECTIVES];
} adept_sweep_answers;

/** @return ADEPT_E_NOMEM */
ADEPT_API adept_status adept_sweep_answers_new(adept_sweep_answers *out, bool ignore_memory, adept_error *err);
ADEPT_API void adept_sweep_answers_free(adept_sweep_answers *a);
ADEPT_API void adept_sweep_answers_add(adept_sweep_answers *a, const adept_sweep_point *point);
/** After the last point. */
ADEPT_API void adept_sweep_answers_finish(adept_sweep_answers *a);
/** Point number `i` of the front. */
ADEPT_API adept_sweep_found adept_sweep_answers_front(const adept_sweep_answers *a, size_t i);

#endif
