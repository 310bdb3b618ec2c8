/** @file elementwise_cost.h  Kernels that touch every element once, and the gradients they cause. Calls: workload.
 *
 *  FLOPs per element. Specification 2.1 fixes add 1, scale and mask 1, ReLU 1, GELU 8, SiLU 5, tanh 5. One rule gives
 *  all of them, and every table of the handlers follows it:
 *    1  one instruction: add, multiply, divide, compare, select, and/or, negate, absolute value, floor, min, max
 *    1  one call of the special-function unit: exp, log, square root, reciprocal, sine, cosine
 *    4  a function evaluated by a polynomial: erf, arcus and area functions, gamma functions
 *  so SiLU = x / (1 + exp(-x)): negate, exp, add, divide, multiply = 5; tanh = (e - 1) / (e + 1) with e = exp(2x): 5;
 *  GELU = x/2 (1 + erf(x / sqrt 2)): 1 + 4 + 1 + 1 + 1 = 8.
 *  Backward: activations twice the forward (specification 2.1), arithmetic as in the formula of its derivative
 *  (PyTorch, tools/autograd/derivatives.yaml), each elementary operation of which is a kernel of its own.
 */
#ifndef ADEPT_ELEMENTWISE_COST_H
#define ADEPT_ELEMENTWISE_COST_H
#include "adept_handler.h"

/* A sequence of elementwise kernels over one tensor, counted per element and in passes over all of it. */
typedef struct adept_chain {
    double flops;    /* per element, of all kernels together */
    double reads;    /* tensors of that size read */
    double writes;   /* tensors of that size written */
    double launches; /* kernels */
} adept_chain;

/** Argument by position; NULL past the end, omitted or not a tensor. */
const adept_tensor *adept_elem_tensor_at(const adept_call *c, int position);
/** The first argument, which must be a tensor; NULL and a failed call if it is not. */
const adept_tensor *adept_elem_self(adept_call *c);
/** A tensor of known elements lives on the host: scalars of a trace. Reading it costs no device memory traffic. */
bool adept_elem_on_host(const adept_tensor *t);
/** Every tensor argument and result lives on the host: nothing runs on the device. False without tensors. */
bool adept_elem_all_on_host(const adept_call *c);
/** What a product counts where a sum counts 1: of complex numbers, four products and two sums where a sum is two, 3. */
double adept_elem_product(adept_dtype dtype);
/** Bytes read from device memory: each distinct element once. 0 for NULL and for host scalars. */
double adept_elem_read(const adept_tensor *t);
/** One forward kernel that writes `out`. */
void adept_elem_forward(adept_cost *cost, const adept_tensor *out, double flops_per_element, double bytes_read);
/** Kernels as counted by `chain` over a tensor like `like`, reading extra_read bytes besides. */
void adept_elem_chain(adept_cost *cost, adept_pass pass, const adept_tensor *like, const adept_chain *chain,
                      double extra_read);
#define ADEPT_SOFTMAX_FLOPS 5 /* per element: maximum, subtract, exp, sum, divide (spec 2.1) */
/** softmax or log_softmax, also of losses and attention: rows of row_elements each; backward with twice the FLOPs. */
void adept_softmax_kernel(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double row_elements,
                          double bytes_read, double bytes_written);
/** Plain copy of a tensor into new memory of type `to`. */
void adept_elem_copy(adept_cost *cost, adept_pass pass, const adept_tensor *from, adept_dtype to);
/** Fill a tensor with a constant. */
void adept_elem_fill(adept_cost *cost, adept_pass pass, const adept_tensor *t);
/** Backward of what broadcast or converted `arg` to the shape and type of `out`: a sum, a cast, or nothing. */
void adept_elem_grad_to(adept_cost *cost, const adept_tensor *out, const adept_tensor *arg);
/** Autograd keeps argument `t`. If the operator overwrites it in place, autograd keeps a copy made before that. */
void adept_elem_save_input(const adept_call *c, adept_cost *cost, const adept_tensor *t);
/** Backward of a view or gather that used part of `whole`: zeros of its shape, then the gradient `part` copied in. */
void adept_elem_scatter_back(adept_cost *cost, const adept_tensor *whole, const adept_tensor *part);
/** Backward of what chose elements of `whole`: zeros, into which the gradient of `chosen` goes at the indices kept. */
void adept_elem_scatter_chosen(adept_cost *cost, const adept_tensor *whole, const adept_tensor *chosen,
                               const adept_tensor *indices);
/** First output of an elementwise operator on two operands, tensors or scalars: broadcast, in place if so written. */
adept_tensor *adept_elem_out_binary(adept_call *c, const adept_value *a, const adept_value *b, adept_dtype dtype);
/** First output of an elementwise operator on one tensor. */
adept_tensor *adept_elem_out_unary(adept_call *c, const adept_tensor *self, adept_dtype dtype);
/** Memory order of an elementwise result: that of the operands (TensorIterator's rule). Not for views and aliases. */
void adept_elem_set_strides(adept_tensor *out, const adept_tensor *const *operands, int n);
#endif
