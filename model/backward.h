/** @file backward.h  When all-reduces run beside the backward pass. Private to model/. Calls: workload. */
#ifndef ADEPT_BACKWARD_H
#define ADEPT_BACKWARD_H
#include "communication.h"
#include "operator_step.h"

/** Are gradients sent in buckets? @param places_known  adept_backward_plan_known() of the profile
 *  @return ADEPT_E_USAGE if they are asked for but cannot be */
adept_status adept_backward_wanted(bool *wanted, bool places_known, const adept_hwprofile *hw,
                                   const adept_run *run, const adept_network *net, adept_error *err);

#endif
