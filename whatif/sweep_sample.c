/** @file sweep_sample.c  When the room is used up every second point goes, and only those in step are taken from then
 * on. */
#include "adept_sweep_sample.h"
#include <stdlib.h>
#include <string.h>

adept_status adept_sweep_sample_new(adept_sweep_sample *out, const adept_sweep *sweep, adept_error *err)
{
    *out = (adept_sweep_sample){
        .stride = 1,
        .sweep = sweep,
        .points = calloc(ADEPT_SWEEP_SAMPLE_MOST, sizeof *out->points),
        .axis_numbers = calloc(ADEPT_SWEEP_SAMPLE_MOST * (sweep->n_axes + 1), sizeof *out->axis_numbers),
    };
    if (out->points && out->axis_numbers) return ADEPT_OK;
    adept_sweep_sample_free(out);
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the points of a picture");
}

void adept_sweep_sample_free(adept_sweep_sample *s)
{
    free(s->points);
    free(s->axis_numbers);
    *s = (adept_sweep_sample){.n = 0};
}

static void thin(adept_sweep_sample *s)
{
    size_t kept = 0, width = s->sweep->n_axes;
    s->stride *= 2;
    for (size_t i = 0; i < s->n; i++) {
        if (s->points[i].index % s->stride != 0) continue;
        s->points[kept] = s->points[i];
        memmove(s->axis_numbers + kept * width, s->axis_numbers + i * width, width * sizeof *s->axis_numbers);
        kept++;
    }
    s->n = kept;
}

void adept_sweep_sample_add(adept_sweep_sample *s, const adept_sweep_point *point)
{
    if (point->status != ADEPT_OK || point->index % s->stride != 0) return;
    while (s->n == ADEPT_SWEEP_SAMPLE_MOST)
        thin(s);
    if (point->index % s->stride != 0) return;
    for (size_t i = 0; i < s->sweep->n_axes; i++)
        s->axis_numbers[s->n * s->sweep->n_axes + i] = adept_sweep_number_at(&s->sweep->axes[i], point->at[i], point);
    s->points[s->n++] = adept_sweep_found_of(point);
}
