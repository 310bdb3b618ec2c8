/** @file activity.c  Names of what is counted, and the energy of a meter between two times. */
#include "adept_activity.h"
#include "nearest.h"
#include <math.h>

#define NAME(name, word) word,
ADEPT_NAMES(adept_activity_name, ADEPT_ACTIVITY_LIST(NAME))
#undef NAME

double adept_meter_energy_j(const adept_meter_log *meter, double begin_s, double end_s)
{
    size_t n = meter->n_samples;

    if (n < 2 || !(begin_s <= end_s) || begin_s < meter->samples[0].time_s || end_s > meter->samples[n - 1].time_s)
        return NAN;
    return adept_samples_energy_until(meter->samples, n, end_s) - adept_samples_energy_until(meter->samples, n, begin_s);
}
