/** @file softmax_cost.h  Kernels of softmax and log_softmax, also inside losses and attention. Private to handlers/.
 *  Calls: adept_handler. */
#ifndef ADEPT_SOFTMAX_COST_H
#define ADEPT_SOFTMAX_COST_H
#include "adept_handler.h"

#define ADEPT_SOFTMAX_FLOPS 5 /* per element: maximum, subtract, exp, sum, divide (spec 2.1) */

/** One kernel over rows of row_elements each; backward with twice the FLOPs. */
void adept_softmax_kernel(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double row_elements,
                          double bytes_read, double bytes_written);
#endif
