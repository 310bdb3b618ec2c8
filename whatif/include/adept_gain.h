/** @file adept_gain.h  What a setting gains against a baseline, as chapter 3.5 of the thesis counts it: less energy
 * times time is a gain, more time a loss. Whether that is more than runs of one setting differ by. Calls: statistics.
 */
#ifndef ADEPT_GAIN_H
#define ADEPT_GAIN_H
#include "adept_statistics.h"
#include <stdbool.h>

/** What the runs at one setting took; of one run, a mean without a deviation. */
typedef struct adept_taken {
    adept_statistics time_s, energy_j, edp_js, ed2p_js2;
} adept_taken;

/** @param scratch  room for n numbers */
adept_taken adept_taken_of(const double *time_s, const double *energy_j, size_t n, double *scratch);

/** A share: 0.1 is 10 %. NAN: not known. */
typedef struct adept_change {
    double share;
    /* 95 % of such shares differ by less than this where nothing changes; NAN: fewer than two runs of either */
    double noise;
} adept_change;

typedef struct adept_gain {
    adept_change time;              /* 0.05: takes 5 % longer */
    adept_change energy, edp, ed2p; /* 0.05: 5 % less */
} adept_gain;

adept_gain adept_gain_of(const adept_taken *baseline, const adept_taken *now);
/** "+5.0 %, beyond noise": is it known to be more than noise? */
static inline bool adept_change_is_beyond_noise(const adept_change *change)
{
    return change->share > change->noise || -change->share > change->noise;
}

#endif
