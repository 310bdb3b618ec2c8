/** @file policy_pollux.c  Shortest first, ages subtracted (algorithm 3 of the thesis: not the goodput-driven Pollux of
 * Qiao 2021). */
#include "packer.h"
#include <math.h>

static const adept_packing row = {.placement = ADEPT_BY_TIME, .ordering = ADEPT_BY_TIME, .slowdown = INFINITY};

const adept_policy adept_policy_pollux = {
    .name = "pollux",
    .alias = "sjf",
    .what = "fastest placement; shortest job first, less 0.1 s for each second of age",
    .packing = &row,
    .is_time_blind = true,
};
