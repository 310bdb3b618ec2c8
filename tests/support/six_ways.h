/** @file six_ways.h  A step of granularity "operator" without tasks: the longest of six ways through it, and buckets on
 * a timeline of their own. It is what the schedule is compared with. */
#ifndef SIX_WAYS_H
#define SIX_WAYS_H
#include "operator_step.h"

/** As adept_operator_step(), but for optimizer_computes and what the passes are made of. */
void six_ways_step(adept_step *out, const adept_kernel_list *list, const adept_operator_numbers *n,
                   const adept_buckets *buckets, double bucket_bytes, const double *theta);

#endif
