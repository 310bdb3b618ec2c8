/** @file operator_kernel.h  A profile's kernel as the kernel law sees it. Private to model/. Calls: workload. */
#ifndef ADEPT_OPERATOR_KERNEL_H
#define ADEPT_OPERATOR_KERNEL_H
#include "adept_kernel_law.h"
#include "adept_model.h"

/* A kernel on a GPU. */
typedef struct adept_operator_kernel {
    adept_kernel_case work; /* of the family that it is of there */
    adept_kernel_gpu gpu;
    double simt_flops, tensor_flops; /* of one execution; the latter in operations on 16-bit operands: TF32's are two */
    /* Of TF32: libraries take FP32 where that is faster, as by Winograd's algorithm. Its peak; 0: they do not */
    double or_alus_flops_per_s;
    adept_kernel_family family_on_alus;
} adept_operator_kernel;

/** The kernel without the GPU: equal ones have equal bytes, padding included.
 *  @return ADEPT_E_INVALID if its counts are no kernel's */
adept_status adept_kernel_case_of(adept_kernel_case *out, const adept_profile_op *op, const adept_kernel *k,
                                  adept_error *err);
/** @return ADEPT_E_USAGE if the GPU has no unit for it */
adept_status adept_operator_place(adept_operator_kernel *out, const adept_kernel_case *of, adept_precision precision,
                                  const adept_hwprofile *hw, adept_error *err);
/** The same in FP32 on ALUs, where or_alus_flops_per_s is not 0. */
adept_operator_kernel adept_operator_on_alus(const adept_operator_kernel *k);
uint64_t adept_kernel_case_hash(const adept_kernel_case *c);

#endif
