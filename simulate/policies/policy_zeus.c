/** @file policy_zeus.c  Least energy times time (algorithm 6, equation 5.1). */
#include "packer.h"
#include <math.h>

static const adept_packing row = {.placement = ADEPT_BY_EDP, .ordering = ADEPT_BY_EDP, .slowdown = INFINITY};

const adept_policy adept_policy_zeus = {
    .name = "zeus",
    .alias = "edp",
    .what = "placement and order by least energy times time, divided by 1 + 0.001 a second of age",
    .packing = &row,
    .is_time_blind = true,
};
