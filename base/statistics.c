/** @file statistics.c  Mean, deviation and interval; quantiles. */
#include "adept_statistics.h"
#include <math.h>

/* Student's t that 95 % lie within: tables for few degrees of freedom, Cornish and Fisher's expansion (to 1e-3) for
 * more. */
static double student(size_t degrees)
{
    static const double few[] = {NAN, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706};
    const double z = 1.959964, n = (double)degrees;

    if (degrees < sizeof few / sizeof *few) return few[degrees];
    return z + (pow(z, 3) + z) / (4 * n) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n) +
           (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * n * n * n);
}

adept_statistics adept_statistics_of(const double *values, size_t n)
{
    adept_statistics s = {.n = n, .mean = NAN, .sd = NAN, .low = NAN, .high = NAN, .least = NAN, .most = NAN};
    double squares = 0;

    for (size_t i = 0; i < n; i++) {
        s.total += values[i];
        s.least = fmin(s.least, values[i]);
        s.most = fmax(s.most, values[i]);
    }
    if (n == 0) s.total = NAN;
    if (isnan(s.total)) s.least = s.most = NAN;
    s.mean = s.total / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - s.mean) * (values[i] - s.mean);
    if (n < 2) return s;
    s.sd = sqrt(squares / (double)(n - 1));
    double half = student(n - 1) * s.sd / sqrt((double)n);
    s.low = s.mean - half;
    s.high = s.mean + half;
    return s;
}

double adept_quantile(const double *sorted, size_t n, double share)
{
    if (n == 0) return NAN;
    double at = share * (double)(n - 1);
    size_t below = (size_t)at;
    return below + 1 < n ? sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]) : sorted[n - 1];
}

int adept_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
