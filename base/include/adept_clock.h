/** @file adept_clock.h  The monotonic clock: what passes, whatever the wall says. Thread-safe. Calls: nothing. */
#ifndef ADEPT_CLOCK_H
#define ADEPT_CLOCK_H
#include <stdint.h>

uint64_t adept_clock_ns(void);
double adept_clock_s(void);

#endif
