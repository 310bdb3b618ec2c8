/** @file track.c  Readings of one sensor become energy: differences of a counter, or the trapezoid rule over the times
 * at which the power was really read. Nothing is integrated over a nominal period (the error of EA2P, docs/MEASURE.md).
 */
#include "track.h"
#include "adept_grow.h"
#include "units.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void adept_track_begin(adept_track_state *track, const adept_sensor *sensor)
{
    *track = (adept_track_state){.shown.sensor = sensor, .shown.counter_j = NAN, .shown.at_most_j = NAN,
                                 .last_counter_j = NAN, .last_power_w = NAN, .check.low_w = NAN, .check.high_w = NAN};
    for (size_t i = 0; i < ADEPT_MOST_GAUGES; i++) {
        track->shown.gauges[i] = (adept_gauge_range){NAN, NAN, NAN};
        track->last_gauges[i] = NAN;
    }
}

void adept_track_free(adept_track_state *track)
{
    free(track->samples);
}

void adept_track_lose(adept_track_state *track, const char *format, ...)
{
    va_list words;

    if (track->shown.lost) return;
    va_start(words, format);
    vsnprintf(track->lost, sizeof track->lost, format, words);
    va_end(words);
    track->shown.lost = track->lost;
}

/* ---------------------------------------------------------------- readings to samples ----------------------------- */

size_t adept_track_take(adept_track_state *track, adept_sample *samples, size_t most)
{
    size_t left = track->shown.n_samples - track->n_taken, n = left < most ? left : most;

    if (n == 0) return 0;
    memcpy(samples, track->samples + track->n_taken, n * sizeof *samples);
    size_t forgotten = track->n_taken + n - 1; /* all before the last that was taken */
    track->shown.n_samples -= forgotten;
    memmove(track->samples, track->samples + forgotten, track->shown.n_samples * sizeof *samples);
    track->n_taken = 1;
    return n;
}

bool adept_track_put(adept_track_state *track, adept_sample sample, bool says_power)
{
    if (track->shown.n_samples >= ADEPT_MOST_SAMPLES) {
        /* Half of the samples, the first and the last among them: their energies are sums, which stay true. */
        size_t kept = 0, last = track->shown.n_samples - 1;
        for (size_t i = 0; i <= last; i++)
            if (i % 2 == 0 || i == last) track->samples[kept++] = track->samples[i];
        track->shown.n_samples = kept;
        track->n_taken = (track->n_taken + 1) / 2;
    }
    adept_sample *samples = adept_grow(track->samples, &track->capacity, track->shown.n_samples + 1, sizeof *samples);
    if (!samples) {
        adept_track_lose(track, "out of memory for samples");
        return false;
    }
    track->samples = samples;
    track->shown.samples = samples;
    const adept_sample *last = track->shown.n_samples > 0 ? &samples[track->shown.n_samples - 1] : NULL;
    if (last && last->energy_j < sample.energy_j)
        track->shown.refresh_s = fmax(track->shown.refresh_s, last->time_s - track->changed_s);
    if (!last || last->energy_j < sample.energy_j) track->changed_s = sample.time_s;
    if (last && says_power && track->last_says_power) {
        double passed_s = sample.time_s - last->time_s;
        track->check.time_s += passed_s;
        track->check.counter_j += sample.energy_j - last->energy_j;
        track->check.power_j += passed_s * (last->power_w + sample.power_w) / 2;
        track->check.spread_j += passed_s * fabs(sample.power_w - last->power_w) / 2;
        track->check.low_w = fmin(track->check.low_w, fmin(last->power_w, sample.power_w));
        track->check.high_w = fmax(track->check.high_w, fmax(last->power_w, sample.power_w));
    }
    track->last_says_power = says_power;
    samples[track->shown.n_samples++] = sample;
    return true;
}

/* A power that can be one. What runs draws something: 0 is how devices that sleep, second dies and firmware without a
 * number say nothing. What is beyond all that such a device draws is no number either. */
static double credible_w(adept_track_state *track, const adept_reading *reading)
{
    double power_w = reading->power_w, most_w = adept_sensor_most_w(track->shown.sensor);

    if (isnan(power_w) || adept_says_nothing(power_w)) {
        const char *why = isnan(power_w) ? reading->why : ADEPT_NO_NUMBER;
        if (why) snprintf(track->doubt, sizeof track->doubt, "%s", why);
    } else if (!(power_w > 0)) {
        snprintf(track->doubt, sizeof track->doubt, "it tells %s, which no running device draws",
                 adept_units_watt(power_w).s);
    } else if (power_w > most_w) {
        snprintf(track->doubt, sizeof track->doubt, "it tells %s, more than such a device can draw (%s)",
                 adept_units_watt(power_w).s, adept_units_watt(most_w).s);
        track->shown.doubt = track->doubt;
        track->shown.n_doubted++;
    } else {
        return power_w;
    }
    return NAN;
}

/* What flowed since the last sample, by the counter. NAN, and the track is lost, where nobody can know. */
static double counted(adept_track_state *track, const adept_reading *reading, double passed_s)
{
    const adept_sensor *sensor = track->shown.sensor;
    double flowed_j = reading->energy_j - track->last_counter_j;

    if (sensor->range_j > 0 && sensor->most_power_w > 0 && passed_s * sensor->most_power_w >= sensor->range_j) {
        adept_track_lose(track,
                         "not read for %.3g s, in which the counter of %.6g J may have started again more than once",
                         passed_s, sensor->range_j);
        return NAN;
    }
    double around_j = flowed_j + sensor->range_j;
    if (flowed_j < 0 && sensor->range_j > 0 && around_j >= 0 &&
        (sensor->most_power_w <= 0 || around_j <= passed_s * sensor->most_power_w))
        return around_j;
    /* It may show now what flowed since it changed last, or since its last update before the first sample. */
    double late_s = fmax(sensor->refresh_s, track->shown.refresh_s),
           shown_s = reading->time_s - track->changed_s + late_s;
    bool has_changed = track->samples[track->shown.n_samples - 1].energy_j > 0;
    if ((has_changed || late_s > 0) && flowed_j > shown_s * adept_sensor_most_w(sensor) + sensor->resolution_j) {
        adept_track_lose(track, "its counter rose by %s within %.3g s, more than such a device can draw (%s)",
                         adept_units_joule(flowed_j).s, shown_s, adept_units_watt(adept_sensor_most_w(sensor)).s);
        return NAN;
    }
    if (flowed_j >= 0) return flowed_j;
    /* The counter was set back, as a driver does that is loaded again: no device draws what starting again would mean.
     */
    if (!isnan(reading->power_w) && !isnan(track->last_power_w))
        return passed_s * (reading->power_w + track->last_power_w) / 2;
    adept_track_lose(track, "the counter went back by %.6g J", -flowed_j);
    return NAN;
}

bool adept_track_add(adept_track_state *track, const adept_reading *reading)
{
    adept_track *shown = &track->shown;
    const adept_sample *last = shown->n_samples > 0 ? &track->samples[shown->n_samples - 1] : NULL;

    double since_s = shown->n_readings > 0 ? reading->time_s - track->last_reading_s : 0;
    for (size_t i = 0; i < ADEPT_MOST_GAUGES && shown->sensor->gauges[i].name; i++) {
        double value = reading->gauges[i], before = track->last_gauges[i];
        adept_gauge_range *range = &shown->gauges[i];
        track->last_gauges[i] = value;
        if (isnan(value)) continue;
        range->least = fmin(range->least, value);
        range->most = fmax(range->most, value);
        if (!isnan(before)) {
            track->gauge_sums[i] += since_s * (before + value) / 2;
            track->gauge_times_s[i] += since_s;
        }
        range->mean = track->gauge_times_s[i] > 0 ? track->gauge_sums[i] / track->gauge_times_s[i] : value;
    }
    shown->n_readings++;
    track->last_reading_s = reading->time_s;
    if (!last) track->shown.by_counter = !isnan(reading->energy_j);
    double power_w = credible_w(track, reading), said = track->shown.by_counter ? reading->energy_j : power_w;
    double passed_s = last ? reading->time_s - last->time_s : 0;
    if (isnan(said) || (last && !(passed_s > 0))) {
        shown->n_silent++;
        return false;
    }
    if (shown->lost) return false;
    adept_sample sample = {.time_s = reading->time_s, .power_w = power_w};
    if (last) {
        double check_j = passed_s * (power_w + track->last_power_w) / 2;
        double flowed_j = track->shown.by_counter ? counted(track, reading, passed_s) : check_j;
        if (isnan(flowed_j)) return false;
        sample.energy_j = last->energy_j + flowed_j;
        if (isnan(sample.power_w)) sample.power_w = flowed_j / passed_s;
        track->shown.check_j += check_j;
    } else {
        if (isnan(sample.power_w) || !shown->by_counter) shown->check_j = NAN;
        shown->counter_j = reading->energy_j;
    }
    track->last_counter_j = reading->energy_j;
    track->last_power_w = power_w;
    return adept_track_put(track, sample, !isnan(power_w));
}

void adept_track_compare(adept_track_state *track)
{
    const double disagreement = 0.1;
    const adept_check *c = &track->check;

    if (track->shown.lost || !track->shown.by_counter || !(c->time_s > 0)) return;
    /* A mean of some time, and a counter that shows what flowed some time ago, may differ by what changed within that.
     */
    double late_s = fmax(track->shown.sensor->refresh_s, track->shown.refresh_s),
           mean_s = fmax(track->shown.sensor->mean_s, late_s);
    /* The widest swing of the counter's own power in the last `mean_s`: what the mean of so long has not shown yet. */
    const adept_sample *first = track->samples, *last = first + track->shown.n_samples - 1, *after = last;
    double low_w = NAN, high_w = NAN;
    for (const adept_sample *s = last; s > first && last->time_s - s->time_s < mean_s; s--) {
        if (s[-1].energy_j == after->energy_j) continue; /* it shows the same from one change to the next */
        if (after < last) {                              /* the last one may show part of a step */
            low_w = fmin(low_w, (after->energy_j - s[-1].energy_j) / (after->time_s - s[-1].time_s));
            high_w = fmax(high_w, (after->energy_j - s[-1].energy_j) / (after->time_s - s[-1].time_s));
        }
        after = &s[-1];
    }
    double excused_j =
        c->spread_j + mean_s * fmax(c->high_w - c->low_w, isnan(low_w) ? 0 : high_w - low_w) + late_s * c->high_w;
    if (fabs(c->power_j - c->counter_j) - excused_j <= disagreement * fmax(c->power_j, c->counter_j)) return;
    adept_track_lose(track, "in %.3g s its counter says %s, its power %s: which is right is not known", c->time_s,
                     adept_units_joule(c->counter_j).s, adept_units_joule(c->power_j).s);
    track->shown.is_contradicted = true;
}
