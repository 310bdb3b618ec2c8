/** @file kernel_set.h  The distinct kernels of a profile and how often a step runs them: what does not depend on the
 * GPU, worked out once for plans on many. Private to model/. Calls: workload. */
#ifndef ADEPT_KERNEL_SET_H
#define ADEPT_KERNEL_SET_H
#include "kernel_list.h"
#include "operator_kernel.h"

/* One kernel of an operator's backward. */
typedef struct adept_kernel_use {
    uint32_t op, kernel;
    double repeats, launches; /* of one execution of the operator */
} adept_kernel_use;

typedef struct adept_kernel_set {
    size_t n;
    adept_kernel_case *cases;
    adept_executions *executions; /* of a step; the optimizer's come behind those of the kernels */
    size_t n_ops, n_uses;
    adept_kernel_use *uses;
    bool has_uses;
} adept_kernel_set;

/** @param uses  of operators' backward, in the order of the profile's ops: are they wanted?
 *  @return as adept_kernel_case_of(); adept_kernel_set_free() whatever it is */
adept_status adept_kernel_set_new(adept_kernel_set *out, const adept_profile *prof, bool uses, adept_error *err);
void adept_kernel_set_free(adept_kernel_set *set); /* zeroed is fine */

#endif
