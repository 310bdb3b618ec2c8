/** @file policy_charon.c  As zeus, under a power cap (algorithm 8). */
#include "packer.h"
#include <math.h>

static bool decide(adept_view *view, const adept_policy_options *options)
{
    static const adept_packing row = {
        .placement = ADEPT_BY_EDP, .ordering = ADEPT_BY_EDP, .slowdown = INFINITY, .keeps_cap = true};
    return adept_pack(view, options, &row);
}

const adept_policy adept_policy_charon = {
    .name = "charon",
    .what = "as zeus; starts nothing that would exceed the power cap",
    .is_packer = true,
    .is_time_blind = true,
    .decide = decide,
};
