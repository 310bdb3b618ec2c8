/** @file policy_thrift.c  Our own: least added energy within a slack. */
#include "packer.h"
#include <math.h>

static bool decide(adept_view *view, const adept_policy_options *options)
{
    static const adept_packing row = {.placement = ADEPT_BY_THRIFT,
                                      .ordering = ADEPT_BY_TIME,
                                      .slowdown = 0.5,
                                      .urgent_first = true,
                                      .keeps_cap = true,
                                      .sees_cap = true,
                                      .looks_ahead = true};
    return adept_pack(view, options, &row);
}

const adept_policy adept_policy_thrift = {
    .name = "thrift",
    .what = "least added energy",
    .uses_limits = true,
    .is_packer = true,
    .decide = decide,
};
