/** @file clock.c  The monotonic clock, others, and the date. */
#include "adept_clock.h"
#include <math.h>

uint64_t adept_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double adept_clock_s(void)
{
    return 1e-9 * (double)adept_clock_ns();
}

double adept_clock_of_s(clockid_t clock)
{
    struct timespec t;

    return clock_gettime(clock, &t) ? NAN : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

adept_date adept_clock_date(void)
{
    adept_date date = {""};
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc)) strftime(date.s, sizeof date.s, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return date;
}
