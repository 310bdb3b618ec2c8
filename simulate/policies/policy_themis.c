/** @file policy_themis.c  Shortest first, weighed by what its user has used (algorithm 4; not the finish-time fairness
 * of Mahajan 2020). */
#include "packer.h"
#include <math.h>

static const adept_packing row = {
    .placement = ADEPT_BY_TIME, .ordering = ADEPT_BY_TIME, .slowdown = INFINITY, .is_fair = true};

const adept_policy adept_policy_themis = {
    .name = "themis",
    .alias = "fairshare",
    .what = "fastest placement; shortest first, times what its user has used over the mean",
    .packing = &row,
    .is_time_blind = true,
};
