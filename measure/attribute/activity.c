/** @file activity.c  Names of what is counted, and the energy of a meter between two times. */
#include "adept_activity.h"
#include "nearest.h"
#include <math.h>
#include <string.h>

#define NAME(name, word) word,
ADEPT_NAMES(adept_activity_name, ADEPT_ACTIVITY_LIST(NAME))
#undef NAME

static bool is_node(const adept_activity_log *log, size_t i)
{
    return log->meters[i].component == ADEPT_COMPONENT_NODE && log->meters[i].n_samples > 0;
}

bool adept_meter_is_of_node(const adept_activity_log *log, size_t meter)
{
    bool is_outermost = is_node(log, meter);

    for (size_t i = 0; i < meter && !log->meters[meter].inside; i++)
        is_outermost = is_outermost && !is_node(log, i);
    /* As many steps outwards as there are meters: a file may have them in a circle. */
    for (size_t n = 0, at = meter; n < log->n_meters && at < log->n_meters && log->meters[at].inside; n++) {
        const char *around = log->meters[at].inside;
        for (at = 0; at < log->n_meters && strcmp(log->meters[at].name, around) != 0;)
            at++;
        if (at < log->n_meters && at != meter) is_outermost = is_outermost && !is_node(log, at);
    }
    return is_outermost;
}

double adept_meter_energy_j(const adept_meter_log *meter, double begin_s, double end_s)
{
    size_t n = meter->n_samples;

    if (n < 2 || !(begin_s <= end_s) || begin_s < meter->samples[0].time_s || end_s > meter->samples[n - 1].time_s)
        return NAN;
    return adept_samples_energy_until(meter->samples, n, end_s) -
           adept_samples_energy_until(meter->samples, n, begin_s);
}
