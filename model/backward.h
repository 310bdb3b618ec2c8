/** @file backward.h  The backward pass of granularity "operator" as a timeline, and the all-reduces beside it. Private
 * to model/. Calls: workload. */
#ifndef ADEPT_BACKWARD_H
#define ADEPT_BACKWARD_H
#include "communication.h"
#include "operator_step.h"

/* One execution of an operator's backward at full clock. */
typedef struct adept_backward_op {
    double core_s, memory_s, launches;
} adept_backward_op;

typedef struct adept_backward {
    adept_backward_plan plan;
    adept_backward_op *ops; /* one per operator of the profile */
    double *time_s;         /* likewise, at the clock asked for last */
    double launches;        /* of one pass */
    size_t n_ops;
    double bucket_bytes;
} adept_backward;

/** Are gradients sent in buckets? @param places_known  adept_backward_plan_known() of the profile
 *  @return ADEPT_E_USAGE if they are asked for but cannot be */
adept_status adept_backward_wanted(bool *wanted, bool places_known, const adept_hwprofile *hw,
                                   const adept_run *run, const adept_network *net, adept_error *err);

/** @return ADEPT_E_NOMEM, or as adept_operator_kernel_of(); free with adept_backward_free() in every case */
adept_status adept_backward_init(adept_backward *out, const adept_profile *prof, const adept_hwprofile *hw,
                                 const adept_run *run, const double *theta, const adept_tile_menu *menus,
                                 adept_error *err);
void adept_backward_free(adept_backward *b); /* zeroed is fine */

/** The all-reduces of a step whose core runs at `clock`, relative to the highest. */
adept_communication adept_backward_communicate(adept_backward *b, double clock, const adept_network *net,
                                               const double *theta);

#endif
