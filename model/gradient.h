/** @file gradient.h  Exact derivatives of a placed step, by granularity. Private to model/. Calls: workload, handlers.
 */
#ifndef ADEPT_GRADIENT_PRIVATE_H
#define ADEPT_GRADIENT_PRIVATE_H
#include "adept_gradient.h"
#include "placed_step.h"

/** Fill the derivatives of one that is zeroed; powers are those of one GPU by granularity "operator". */
adept_status adept_gradient_operator(adept_gradient *out, const adept_placed_step *s, const adept_run *run,
                                     adept_error *err);
adept_status adept_gradient_model(adept_gradient *out, adept_placed_step *s, const adept_run *run,
                                  adept_error *err);

static inline void adept_slope_add(adept_slope *sum, double factor, const adept_slope *by)
{
    sum->time_s += factor * by->time_s;
    sum->power_w += factor * by->power_w;
}

#endif
