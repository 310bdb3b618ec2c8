/** @file policy_charon.c  As zeus, under a power cap (algorithm 8). */
#include "packer.h"
#include <math.h>

static const adept_packing row = {
    .placement = ADEPT_BY_EDP, .ordering = ADEPT_BY_EDP, .slowdown = INFINITY, .keeps_cap = true};

const adept_policy adept_policy_charon = {
    .name = "charon",
    .what = "as zeus; starts nothing that would exceed the power cap",
    .packing = &row,
    .is_time_blind = true,
};
