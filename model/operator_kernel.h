/** @file operator_kernel.h  A profile's kernel as the kernel law sees it. Private to model/. Calls: workload. */
#ifndef ADEPT_OPERATOR_KERNEL_H
#define ADEPT_OPERATOR_KERNEL_H
#include "adept_kernel_law.h"
#include "adept_model.h"

/* One kernel, however often and in whichever pass it runs, without the GPU. Equal ones have equal bytes, padding
 * included. */
typedef struct adept_operator_shape {
    adept_kernel_case work;         /* what the GPU says is 0 */
    double alu_flops, matrix_flops; /* of all launches that are counted together */
    double repeats;                 /* how many these are */
    adept_unit unit;
    adept_dtype dtype;
} adept_operator_shape;

/* The same on a GPU. */
typedef struct adept_operator_kernel {
    adept_kernel_case work;
    adept_unit unit;
    double simt_flops, tensor_flops; /* of one execution; the latter in operations on 16-bit operands: TF32's are two */
    bool or_alus; /* of TF32: libraries take FP32 where that is faster, as by Winograd's algorithm */
    adept_kernel_case on_alus;
    double on_alus_flops; /* in place of both */
} adept_operator_kernel;

/** @return ADEPT_E_INVALID if its counts are no kernel's */
adept_status adept_operator_shape_of(adept_operator_shape *out, const adept_profile_op *op, const adept_kernel *k,
                                     adept_error *err);
/** @return ADEPT_E_USAGE if the GPU has no unit for it */
adept_status adept_operator_place(adept_operator_kernel *out, const adept_operator_shape *shape,
                                  adept_precision precision, const adept_hwprofile *hw, adept_error *err);
uint64_t adept_operator_shape_hash(const adept_operator_shape *shape);

#endif
