/** @file adept_statistics.h  What some numbers have in common. Thread-safe, allocates nothing. Calls: nothing. */
#ifndef ADEPT_STATISTICS_H
#define ADEPT_STATISTICS_H
#include <stddef.h>

/** Of n values. */
typedef struct adept_statistics {
    size_t n;
    double mean, sd;  /* sd with divisor n - 1; NAN of fewer than two */
    double low, high; /* 95 % interval of the mean, by Student's t; NAN of fewer than two */
    double least, most, total;
} adept_statistics;

/** NAN where any value is not known. */
adept_statistics adept_statistics_of(const double *values, size_t n);

/** The value below which a share of sorted values lies, evenly between the two next to it; NAN of none. */
double adept_quantile(const double *sorted, size_t n, double share);
/** For qsort() of doubles, or of what begins with one. */
int adept_by_size(const void *a, const void *b);

#endif
