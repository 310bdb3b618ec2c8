/** @file sweep_picture.h  A sweep as a picture: curves or maps over what varies, and the front of time and energy.
 * Calls: whatif, chart. */
#ifndef ADEPT_SWEEP_PICTURE_H
#define ADEPT_SWEEP_PICTURE_H
#include "adept_sweep_answers.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADEPT_SWEEP_DOTS 4096 /* kept of a grid: beyond, one point in 2, 4, ... */

/** A point of the grid that can run. */
typedef struct adept_sweep_dot {
    adept_sweep_found found;
    bool fits;
} adept_sweep_dot;

/** Points as they come, in memory that does not grow with the grid. */
typedef struct adept_sweep_cloud {
    uint64_t stride; /* a power of two: one point in so many is kept; 1: all */
    size_t n;
    adept_sweep_dot *dots;
} adept_sweep_cloud;

/** Is a point of the grid one of those that are kept? @param stride  a power of two */
bool adept_sweep_is_sampled(uint64_t index, uint64_t stride);
/** @return ADEPT_E_NOMEM */
adept_status adept_sweep_cloud_new(adept_sweep_cloud *out, adept_error *err);
void adept_sweep_cloud_free(adept_sweep_cloud *cloud); /* zeroed is fine */
void adept_sweep_cloud_add(adept_sweep_cloud *cloud, const adept_sweep_point *point);

typedef struct adept_sweep_picture {
    const adept_sweep *sweep;
    const adept_sweep_answers *answers; /* finished */
    const adept_sweep_cloud *cloud;
    const char *title;
    bool of_runs; /* whole runs were measured, no steps */
} adept_sweep_picture;

/** Write it to a file. A sweep without a point that runs gives a picture that says so. gnuplot has been asked for
 * before.
 *  @return ADEPT_E_NOMEM, ADEPT_E_IO, ADEPT_E_INTERNAL */
adept_status adept_sweep_plot(const char *path, const adept_sweep_picture *picture, adept_error *err);

#endif
