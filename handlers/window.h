/** @file window.h  Windows that slide over one dimension: convolutions and pooling. Private to handlers/. Calls:
 * adept_handler. */
#ifndef ADEPT_WINDOW_H
#define ADEPT_WINDOW_H
#include "adept_handler.h"

typedef struct adept_window {
    int64_t kernel, stride, padding, dilation;
} adept_window;

/** Positions of the window on `size` elements; fails the call when it does not fit or an argument is out of range.
 *  @param ceil_mode a last window may start inside the data or left padding and end beyond it */
int64_t adept_window_positions(adept_call *c, int64_t size, const adept_window *w, bool ceil_mode);
/** Output size of a transposed convolution: how far `size` windows reach. */
int64_t adept_window_reach(adept_call *c, int64_t size, const adept_window *w, int64_t output_padding);
/** Read kernel_size-like arguments: stride, padding and dilation of n dimensions into w[0..n). Kernels are not touched.
 */
void adept_window_arguments(adept_call *c, adept_window *w, int n);
#endif
