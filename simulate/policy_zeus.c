/** @file policy_zeus.c  Least energy times time (algorithm 6, equation 5.1). */
#include "packer.h"
#include <math.h>

static bool decide(adept_view *view, const adept_policy_options *options)
{
    static const adept_packing row = {.placement = ADEPT_BY_EDP, .ordering = ADEPT_BY_EDP, .slowdown = INFINITY};
    return adept_pack(view, options, &row);
}

const adept_policy adept_policy_zeus = {
    .name = "zeus",
    .alias = "edp",
    .what = "placement and order by least energy times time, divided by 1 + 0.001 a second of age",
    .is_packer = true,
    .is_time_blind = true,
    .decide = decide,
};
