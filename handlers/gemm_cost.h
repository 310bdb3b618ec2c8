/** @file gemm_cost.h  Kernels of a (batched) matrix product, forward and backward. Private to handlers/. Calls:
 * adept_handler. */
#ifndef ADEPT_GEMM_COST_H
#define ADEPT_GEMM_COST_H
#include "adept_handler.h"

/* One operand of C = A B. */
typedef struct adept_gemm_side {
    const adept_tensor *tensor; /* that autograd keeps; NULL: it keeps `bytes` of an intermediate result */
    double bytes;               /* read by each kernel that uses it: distinct elements only */
    double elements;            /* of the tensor, and of its gradient */
    double size;                /* bytes of one element */
    bool grad;                  /* a gradient is wanted */
} adept_gemm_side;

/* `batch` products of (m x k) by (k x n), each in `repeat` launches after another that depend on each other. */
typedef struct adept_gemm {
    adept_dtype dtype;
    double m, n, k, batch;
    adept_gemm_side a, b;
    double out_bytes;
    double extra_bytes; /* read besides A and B by the forward kernel: the bias */
    double extra_flops; /* ALU work of the forward kernel's epilogue: adding the bias */
} adept_gemm;

/** The operand as it stands in the call: an expanded tensor is read once, its gradient has its full size. */
adept_gemm_side adept_gemm_side_of(const adept_cost *cost, const adept_tensor *t);

/** Do n dimensions lie in memory so that they can be seen as one? PyTorch reshapes operands; those that cannot are
 * copied. */
bool adept_gemm_dims_merge(int n, const int64_t *sizes, const int64_t *strides);
/** An operand copied into contiguous memory of that many elements before the product: one kernel. Its gradient still
 * has the tensor's size. */
adept_gemm_side adept_gemm_side_copied(adept_cost *cost, const adept_tensor *t, double elements);

/** One product kernel: 2 m n k batch FLOPs in each of `repeat` launches; the bytes are those of one launch. */
void adept_gemm_kernel(adept_cost *cost, adept_pass pass, const adept_gemm *g, double repeat, double bytes_read,
                       double bytes_written, double flops_alu);
/** C = A B, reading both operands and extra_bytes, writing out_bytes; its gradients; and what autograd keeps. */
void adept_gemm_cost(adept_cost *cost, const adept_gemm *g);
/** dA = dC B^T and dB = A^T dC, each only if wanted; a broadcast operand's gradient is then summed over the batch. */
void adept_gemm_backward(adept_cost *cost, const adept_gemm *g);
/** Autograd keeps A for dB and B for dA. */
void adept_gemm_save(adept_cost *cost, const adept_gemm *g);

/**
 * The column sum that makes a bias gradient: one add per output element, one launch.
 * @param shared_pass the weight's gradient product runs too. Its pass over the output gradient is then the only one
 *                    counted (spec 2.1: V_r_b = S (2 B N + K N + B K)); else the sum reads the output gradient itself.
 */
void adept_bias_gradient(adept_cost *cost, const adept_tensor *bias, const adept_tensor *out, bool shared_pass);
#endif
