/** @file clock.c  The monotonic clock. */
#include "adept_clock.h"
#include <time.h>

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
