/** @file policy_min_energy.c  Least energy of the job, however long it takes. */
#include "packer.h"
#include <math.h>

static const adept_packing row = {.placement = ADEPT_BY_ENERGY, .ordering = ADEPT_BY_ENERGY, .slowdown = INFINITY};

const adept_policy adept_policy_min_energy = {
    .name = "min-energy",
    .alias = "energy",
    .what = "placement and order by least energy of the job's GPUs, divided by 1 + 0.001 a second of age",
    .packing = &row,
    .is_time_blind = true,
};
