/** @file interval.h  Intervals of a prediction from a fit's residuals. Private to model/. Calls: nothing. */
#ifndef ADEPT_INTERVAL_H
#define ADEPT_INTERVAL_H
#include "adept_model.h"

/** Fill the interval fields of a prediction; NAN without intervals. @return how far it lies outside the calibrated
 * range */
double adept_intervals_fill(adept_estimate *p, const adept_intervals *intervals, const adept_range_point *point,
                            const adept_profile *prof);

/** "batch_size 512 above 128, precision bf16": what lies outside. */
void adept_intervals_describe(char *text, size_t size, const adept_intervals *intervals, const adept_range_point *point,
                              adept_mode mode, adept_precision precision);

#endif
