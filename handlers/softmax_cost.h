/** @file softmax_cost.h  Kernels of softmax and log_softmax, also inside losses and attention. Private to handlers/.
 *  Calls: adept_handler. */
#ifndef ADEPT_SOFTMAX_COST_H
#define ADEPT_SOFTMAX_COST_H
#include "adept_handler.h"

/** One kernel over rows of row_elements each: maximum, subtract, exp, sum, divide are 5 FLOPs per element (spec 2.1);
 *  backward twice as many. */
void adept_softmax_kernel(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double row_elements,
                          double bytes_read, double bytes_written);
#endif
