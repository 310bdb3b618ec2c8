/** @file memory.h  Device memory one GPU needs for a workload. Private to model/. Calls: nothing. */
#ifndef ADEPT_MEMORY_H
#define ADEPT_MEMORY_H
#include "adept_model.h"

/** Estimate for PyTorch with DistributedDataParallel when gpus > 1; the allowances are in docs/MODEL.md. */
adept_memory adept_memory_estimate(const adept_profile *prof, double optimizer_state_bytes, double capacity_bytes,
                                   int64_t gpus);

#endif
