/** @file toy_model.h  A small GPU and a small workload with round numbers, for tests of the model. No file is read. */
#ifndef TOY_MODEL_H
#define TOY_MODEL_H
#include "adept_model.h"

#define TOY_N_PARAMETERS 28

typedef struct toy_gpu {
    adept_hwprofile hw;
    adept_parameter parameters[TOY_N_PARAMETERS];
} toy_gpu;

/** 10 TFLOP/s fp32, 80 tf32, 160 bf16 and fp16, 1 TB/s, 10 MB of L2, 300 W; every parameter the step needs is set. */
void toy_gpu_init(toy_gpu *gpu);
/** Change one of the parameters that toy_gpu_init sets; fails the test if there is none of that name. */
void toy_gpu_set(toy_gpu *gpu, const char *name, double value);

#define TOY_N_KERNELS 5

typedef struct toy_work {
    adept_profile prof;
    adept_profile_op ops[3];
    adept_kernel kernels[TOY_N_KERNELS];
} toy_work;

/** Training in fp32 with AdamW, two accumulation passes; one pass has 0.5e12 GEMM, 0.2e12 convolution and 0.25e12 ALU
 *  FLOPs, 0.3e12 bytes and 1000 launches; 1e9 parameters in 64 tensors. */
void toy_work_init(toy_work *work);
/** Multiply the FLOPs of every kernel, or its bytes. */
void toy_work_scale(toy_work *work, double flops, double bytes);

#endif
