/** @file clock.h  The monotonic clock. Calls: nothing. */
#ifndef ADEPT_CLOCK_H
#define ADEPT_CLOCK_H

/** Seconds since some point in the past that stays the same while the machine runs. */
double adept_clock_s(void);

#endif
