/** @file policy_themis.c  Shortest first, weighed by what its user has used (algorithm 4; not the finish-time fairness
 * of Mahajan 2020). */
#include "packer.h"
#include <math.h>

static bool decide(adept_view *view, const adept_policy_options *options)
{
    static const adept_packing row = {
        .placement = ADEPT_BY_TIME, .ordering = ADEPT_BY_TIME, .slowdown = INFINITY, .is_fair = true};
    return adept_pack(view, options, &row);
}

const adept_policy adept_policy_themis = {
    .name = "themis",
    .alias = "fairshare",
    .what = "fastest placement; shortest first, times what its user has used over the mean",
    .is_packer = true,
    .is_time_blind = true,
    .decide = decide,
};
