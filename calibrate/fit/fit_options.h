/** @file fit_options.h  Private to fit/. Calls: nothing. */
#ifndef ADEPT_FIT_OPTIONS_H
#define ADEPT_FIT_OPTIONS_H
#include "adept_calibrate.h"

/** @return ADEPT_E_USAGE for numbers that make no sense */
adept_status adept_fit_options_check(const adept_fit_options *options, adept_error *err);

#endif
