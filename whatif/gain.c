/** @file gain.c  Ratios of means, and how far those of equal settings lie apart. */
#include "adept_gain.h"
#include <math.h>

adept_taken adept_taken_of(const double *time_s, const double *energy_j, size_t n, double *scratch)
{
    adept_taken t = {.time_s = adept_statistics_of(time_s, n), .energy_j = adept_statistics_of(energy_j, n)};

    for (size_t i = 0; i < n; i++)
        scratch[i] = energy_j[i] * time_s[i];
    t.edp_js = adept_statistics_of(scratch, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] *= time_s[i];
    t.ed2p_js2 = adept_statistics_of(scratch, n);
    return t;
}

/* now / baseline - 1, with the half width of its 95 % interval: relative ones of a quotient add up by their squares. */
static adept_change change_of(const adept_statistics *baseline, const adept_statistics *now)
{
    double ratio = now->mean / baseline->mean;
    double before = (baseline->high - baseline->mean) / baseline->mean, after = (now->high - now->mean) / now->mean;

    return (adept_change){ratio - 1, ratio * hypot(before, after)};
}

static adept_change saved(const adept_statistics *baseline, const adept_statistics *now)
{
    adept_change change = change_of(baseline, now);

    change.share = 0 - change.share; /* 0, not -0 */
    return change;
}

adept_gain adept_gain_of(const adept_taken *baseline, const adept_taken *now)
{
    return (adept_gain){
        .time = change_of(&baseline->time_s, &now->time_s),
        .energy = saved(&baseline->energy_j, &now->energy_j),
        .edp = saved(&baseline->edp_js, &now->edp_js),
        .ed2p = saved(&baseline->ed2p_js2, &now->ed2p_js2),
    };
}
