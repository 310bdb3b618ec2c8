/** @file activity.c  Names of what is counted, and the energy of a meter between two times. */
#include "adept_activity.h"
#include <math.h>

const char *adept_activity_name(size_t kind)
{
    static const char *const names[] = {
#define X(name, word) word,
        ADEPT_ACTIVITY_LIST(X)
#undef X
    };
    return kind < ADEPT_ACTIVITIES ? names[kind] : NULL;
}

/* The last sample at or before a time that lies between the first and the last; never the last of them. */
static size_t sample_before(const adept_meter_log *meter, double time_s)
{
    size_t low = 0, high = meter->n_samples - 1;

    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (meter->samples[middle].time_s <= time_s)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double energy_until(const adept_meter_log *meter, double time_s)
{
    const adept_meter_sample *a = &meter->samples[sample_before(meter, time_s)], *b = a + 1;

    return a->energy_j + (b->energy_j - a->energy_j) * (time_s - a->time_s) / (b->time_s - a->time_s);
}

double adept_meter_energy_j(const adept_meter_log *meter, double begin_s, double end_s)
{
    size_t n = meter->n_samples;

    if (n < 2 || !(begin_s <= end_s) || begin_s < meter->samples[0].time_s || end_s > meter->samples[n - 1].time_s)
        return NAN;
    return energy_until(meter, end_s) - energy_until(meter, begin_s);
}
