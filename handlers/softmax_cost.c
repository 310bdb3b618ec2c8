/** @file softmax_cost.c  Kernels of softmax and log_softmax. Calls: adept_handler. */
#include "softmax_cost.h"

void adept_softmax_kernel(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double row_elements,
                          double bytes_read, double bytes_written)
{
    adept_cost_kernel(cost, &(adept_kernel){.pass = pass,
                                            .unit = ADEPT_UNIT_ALU,
                                            .family = ADEPT_FAMILY_SOFTMAX,
                                            .dtype = dtype,
                                            .flops = (pass == ADEPT_BACKWARD ? 2 : 1) * ADEPT_SOFTMAX_FLOPS * elements,
                                            .bytes_read = bytes_read,
                                            .bytes_written = bytes_written,
                                            .launches = 1,
                                            .elements = elements,
                                            .row_elements = row_elements});
}
