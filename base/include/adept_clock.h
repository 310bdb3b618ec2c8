/** @file adept_clock.h  The monotonic clock: what passes, whatever the wall says; other clocks; and the date.
 * Thread-safe. Calls: nothing. */
#ifndef ADEPT_CLOCK_H
#define ADEPT_CLOCK_H
#include <stdint.h>
#include <time.h>

uint64_t adept_clock_ns(void);
double adept_clock_s(void);
/** Another of the system's clocks, in seconds; NAN: there is none, as of a process that is gone. */
double adept_clock_of_s(clockid_t clock);

/** The date and time now, "2026-11-23T04:25:24Z"; "" if the system does not know it. */
typedef struct adept_date {
    char s[32];
} adept_date;
adept_date adept_clock_date(void);

#endif
