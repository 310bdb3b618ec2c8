/** @file backward.c  Does the backward pass hide all-reduces in buckets? See backward.h. */
#include "backward.h"

/* A fit to steps of several GPUs has the share that fits them. */
static bool fitted_share(const adept_hwprofile *hw, const adept_run *run)
{
    return adept_calibrated_for(hw, run) && hw->intervals && hw->intervals->high.gpus > 1.0;
}

adept_status adept_backward_wanted(bool *wanted, bool places_known, const adept_hwprofile *hw,
                                   const adept_run *run, const adept_network *net, adept_error *err)
{
    bool by_operator = adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR,
         asked = run->overlap == ADEPT_OVERLAP_BUCKETED;
    *wanted = false;
    if (asked && !by_operator)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "buckets need the time of every operator: granularity \"model\" has none");
    if (net->n == 0 || !by_operator || run->overlap == ADEPT_OVERLAP_FIXED) return ADEPT_OK;
    if (asked && !places_known)
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "buckets: the profile does not say where its parameters are; make it anew with adept profile");
    *wanted = asked || (places_known && !fitted_share(hw, run));
    return ADEPT_OK;
}
