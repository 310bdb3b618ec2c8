/** @file policy_hades.c  Least energy times time, weighed by what its user has used (algorithm 9). */
#include "packer.h"
#include <math.h>

static const adept_packing row = {
    .placement = ADEPT_BY_EDP, .ordering = ADEPT_BY_EDP, .slowdown = INFINITY, .is_fair = true};

const adept_policy adept_policy_hades = {
    .name = "hades",
    .what = "as zeus, but times what the job's user has used over the mean instead of its age",
    .packing = &row,
    .is_time_blind = true,
};
