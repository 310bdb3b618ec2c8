/** @file sweep_cloud.c  One point in `stride`, scattered over the grid: every stride-th one would leave out the same
 * values of the inner axes each time. */
#include "sweep_picture.h"
#include <stdlib.h>

adept_status adept_sweep_cloud_new(adept_sweep_cloud *out, adept_error *err)
{
    *out = (adept_sweep_cloud){.stride = 1, .dots = calloc(ADEPT_SWEEP_DOTS, sizeof *out->dots)};
    return out->dots ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a picture");
}

void adept_sweep_cloud_free(adept_sweep_cloud *cloud)
{
    free(cloud->dots);
    *cloud = (adept_sweep_cloud){.n = 0};
}

/* The finalizer of SplitMix64: neighbours share no bits. */
bool adept_sweep_is_sampled(uint64_t index, uint64_t stride)
{
    uint64_t h = index + 0x9E3779B97F4A7C15u;

    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
    return ((h ^ (h >> 31)) & (stride - 1)) == 0;
}

void adept_sweep_cloud_add(adept_sweep_cloud *cloud, const adept_sweep_point *point)
{
    if (point->status != ADEPT_OK || !adept_sweep_is_sampled(point->index, cloud->stride)) return;
    /* Double the stride: what is kept then is what would have been kept with it from the start. */
    while (cloud->n == ADEPT_SWEEP_DOTS) {
        cloud->n = 0;
        cloud->stride *= 2;
        for (size_t i = 0; i < ADEPT_SWEEP_DOTS; i++)
            if (adept_sweep_is_sampled(cloud->dots[i].found.index, cloud->stride))
                cloud->dots[cloud->n++] = cloud->dots[i];
    }
    if (!adept_sweep_is_sampled(point->index, cloud->stride)) return;
    cloud->dots[cloud->n++] = (adept_sweep_dot){adept_sweep_found_of(point), adept_estimate_fits(&point->result)};
}
