/** @file policy_chronos.c  Urgent jobs by slack, then as pollux (algorithm 5; after Chronus, Gao 2021). */
#include "packer.h"
#include <math.h>

static const adept_packing row = {
    .placement = ADEPT_BY_TIME, .ordering = ADEPT_BY_TIME, .slowdown = INFINITY, .urgent_first = true};

const adept_policy adept_policy_chronos = {
    .name = "chronos",
    .alias = "slack",
    .what = "fastest placement; urgent jobs by slack, then shortest first with age",
    .packing = &row,
    .is_time_blind = true,
};
