/** @file track_energy.c  What a sensor measured between two times, and how far its samples let one know. */
#include "adept_recording.h"
#include <math.h>
#include <stdio.h>

#define UNKNOWN ((adept_energy){NAN, NAN, NAN, NAN, NAN, NAN, NAN, false})

/* The last of two samples or more at or before a time, the first if all are later; never the last of them. */
static size_t last_before(const adept_sample *samples, size_t n, double time_s)
{
    size_t low = 0, high = n - 1;

    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (samples[middle].time_s <= time_s)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double adept_samples_energy_until(const adept_sample *samples, size_t n, double time_s)
{
    const adept_sample *a = &samples[last_before(samples, n, time_s)], *b = a + 1;

    return a->energy_j + (b->energy_j - a->energy_j) * (time_s - a->time_s) / (b->time_s - a->time_s);
}

static size_t sample_before(const adept_track *track, double time_s)
{
    return last_before(track->samples, track->n_samples, time_s);
}

static double energy_until(const adept_track *track, double time_s)
{
    return adept_samples_energy_until(track->samples, track->n_samples, time_s);
}

/* What a device draws at the end, at most, if it goes on: a counter that moves in steps shows as little as half of what
 * flowed in two of them, and nothing between two readings. */
static double last_power_w(const adept_track *track, double late_s)
{
    const adept_sample *last = &track->samples[track->n_samples - 1];
    const adept_sample *a = &track->samples[sample_before(track, last->time_s - 2 * late_s)];

    return 2 * (last->energy_j - a->energy_j) / (last->time_s - a->time_s);
}

/* What a counter had certainly counted at a time (`least`), or what it can have counted at most. It shows at each
 * sample what had flowed some time before, at most `late_s`. */
static double counted(const adept_track *track, double time_s, double late_s, bool least)
{
    const adept_sample *first = track->samples, *last = first + track->n_samples - 1;

    if (least) return time_s < first->time_s ? energy_until(track, time_s) :
                      time_s >= last->time_s ? last->energy_j : track->samples[sample_before(track, time_s)].energy_j;
    if (time_s + late_s > last->time_s)
        return last->energy_j + last_power_w(track, late_s) * (time_s + late_s - last->time_s);
    for (size_t i = sample_before(track, time_s + late_s);; i++)
        if (track->samples[i].time_s >= time_s + late_s) return track->samples[i].energy_j;
}

/* The greater of the powers around a time. */
static double power_around_w(const adept_track *track, double time_s)
{
    const adept_sample *a = &track->samples[sample_before(track, time_s)];

    return fmax(a->power_w, a[1].power_w);
}

static double peak_power_w(const adept_track *track, double begin_s, double end_s)
{
    double peak_w = NAN;

    for (size_t i = sample_before(track, begin_s); i < track->n_samples && track->samples[i].time_s <= end_s; i++)
        if (track->samples[i].time_s >= begin_s) peak_w = fmax(peak_w, track->samples[i].power_w);
    return peak_w;
}

/* Power readings: between two of them, the power lies between the two, unless the sensor fell silent: then it was
 * anything up to the greatest that was seen. Where each is the mean of some time, the first may be of what flowed
 * before, and the last does not show yet what flowed at the end: as much as that time's whole energy each. */
static void bound_power(adept_energy *e, const adept_track *track, double begin_s, double end_s)
{
    const adept_sample *first = track->samples, *last = first + track->n_samples - 1;
    /* The mean distance of samples, several times over: periods have a random part, and a busy machine is late. */
    double silence_s = track->n_silent > 0 ? 5 * (last->time_s - first->time_s) / (double)(track->n_samples - 1) : NAN;
    double peak_w = NAN;

    e->low_j = e->high_j = e->energy_j;
    for (size_t i = sample_before(track, begin_s); i + 1 < track->n_samples && track->samples[i].time_s < end_s; i++) {
        const adept_sample *a = &track->samples[i], *b = a + 1;
        double inside_s = fmin(end_s, b->time_s) - fmax(begin_s, a->time_s);
        if (!(inside_s > 0)) continue;
        if (b->time_s - a->time_s > silence_s) {
            if (isnan(peak_w)) peak_w = peak_power_w(track, first->time_s, last->time_s);
            double guess_j =
                energy_until(track, fmin(end_s, b->time_s)) - energy_until(track, fmax(begin_s, a->time_s));
            e->low_j -= guess_j;
            e->high_j += inside_s * peak_w - guess_j;
            continue;
        }
        e->low_j -= inside_s * fabs(b->power_w - a->power_w) / 2;
        e->high_j += inside_s * fabs(b->power_w - a->power_w) / 2;
    }
    e->low_j = fmax(0, e->low_j - track->sensor->mean_s * power_around_w(track, begin_s));
    e->high_j += track->sensor->mean_s * power_around_w(track, end_s);
}

adept_energy adept_track_energy(const adept_track *track, double begin_s, double end_s)
{
    adept_energy e = UNKNOWN;

    if (!isnan(track->at_most_j)) {
        e.low_j = 0;
        e.high_j = track->at_most_j;
    }
    if (track->n_samples < 2 || track->is_contradicted) return e;
    const adept_sample *first = track->samples, *last = first + track->n_samples - 1;
    /* Until the next reading it goes on as it was; of a time far from all readings, as marks of another clock have it,
     * nothing is known. */
    const double near_s = 0.1 + 2 * (last->time_s - first->time_s) / (double)(track->n_samples - 1);
    if (end_s < begin_s ||
        (!track->lost && (begin_s < first->time_s - near_s || end_s > last->time_s + near_s)))
        return e;
    double energy_j = energy_until(track, end_s) - energy_until(track, begin_s);
    if (track->lost) {
        e.at_least_j = energy_until(track, fmax(fmin(end_s, last->time_s), first->time_s)) -
                       energy_until(track, fmax(fmin(begin_s, last->time_s), first->time_s));
        if (end_s > last->time_s || begin_s < first->time_s) return e;
    }
    e.at_least_j = NAN;
    e.energy_j = energy_j;
    e.by_counter = track->by_counter;
    e.avg_power_w = end_s > begin_s ? energy_j / (end_s - begin_s) : NAN;
    e.peak_power_w = peak_power_w(track, begin_s, end_s);
    if (begin_s <= first->time_s && end_s >= last->time_s) e.check_j = track->check_j;
    if (track->by_counter) {
        double late_s = fmax(track->sensor->refresh_s, track->refresh_s), step_j = track->sensor->resolution_j;
        e.low_j = counted(track, end_s, late_s, true) - counted(track, begin_s, late_s, false) - step_j;
        e.high_j = counted(track, end_s, late_s, false) - counted(track, begin_s, late_s, true) + step_j;
        e.low_j = fmax(0, fmin(e.low_j, e.energy_j));
        e.high_j = fmax(e.high_j, e.energy_j);
    } else
        bound_power(&e, track, begin_s, end_s);
    return e;
}

bool adept_track_warning(char *text, size_t size, const adept_track *track)
{
    if (track->mirrors)
        snprintf(text, size, "%s: it shows the counter of %s once more, which counts once", track->sensor->name,
                 track->mirrors);
    else if (track->lost)
        snprintf(text, size, "%s: %s", track->sensor->name, track->lost);
    else if (track->n_doubted > 0)
        snprintf(text, size, "%s: %zu of %zu readings are not taken: %s", track->sensor->name, track->n_doubted,
                 track->n_readings, track->doubt);
    else if (track->n_silent * 10 > track->n_readings)
        snprintf(text, size, "%s: %zu of %zu readings had no answer", track->sensor->name, track->n_silent,
                 track->n_readings);
    else
        return false;
    return true;
}
