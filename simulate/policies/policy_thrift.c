/** @file policy_thrift.c  Our own policy: the least energy that the cluster draws more, by power limits, fewer GPUs and
 *  short waits for better ones. A job ends at most 1 + slowdown later than in its unlimited placement of least EDP. The
 *  more jobs wait, the less it may be later, and the more GPU-seconds count (as in the drift plus penalty of Neely
 * 2010, where the queue is the price). Urgent jobs go first, and a cap is kept. */
#include "packer.h"

static const adept_packing row = {.placement = ADEPT_BY_THRIFT,
                                  .ordering = ADEPT_BY_THRIFT,
                                  .slowdown = 0.25,
                                  .urgent_first = true,
                                  .keeps_cap = true,
                                  .sees_cap = true,
                                  .looks_ahead = true};

const adept_policy adept_policy_thrift = {
    .name = "thrift",
    .what = "least added energy at about zeus's speed, by power limits, fewer GPUs and waits; GPU-seconds count when "
            "jobs wait; keeps a cap",
    .uses_limits = true,
    .packing = &row,
};
