/** @file power_cap.c  Core clock, time and power of a phase under a power limit; see power_cap.h. Calls: nothing. */
#include "power_cap.h"
#include <math.h>

#define BISECTIONS 60 /* halves [0, 1] below the spacing of doubles next to 1 */

double adept_power_at_clock_w(const adept_power_demand *d, double clock_ratio)
{
    double voltage = 1.0 + d->v_slope * (clock_ratio - 1.0);
    double core = clock_ratio * voltage * voltage;
    return d->static_w + d->dynamic_w * (d->mem_power_share + (1.0 - d->mem_power_share) * core);
}

/* P rises with f, so bisection finds the crossing; the lower end is returned, where P <= limit holds. */
static double highest_clock_within(const adept_power_demand *d, double limit_w, double low, double high)
{
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = 0.5 * (low + high);
        if (adept_power_at_clock_w(d, middle) <= limit_w)
            low = middle;
        else
            high = middle;
    }
    return low;
}

adept_power_state adept_power_cap(const adept_power_demand *d, double limit_w, double min_clock_ratio)
{
    adept_power_state s = {.clock_ratio = 1.0};
    if (adept_power_at_clock_w(d, 1.0) > limit_w) {
        s.floored = adept_power_at_clock_w(d, min_clock_ratio) > limit_w;
        s.clock_ratio = s.floored ? min_clock_ratio : highest_clock_within(d, limit_w, min_clock_ratio, 1.0);
    }
    s.time_s = fmax(d->compute_s / s.clock_ratio, d->memory_s);
    s.power_w = adept_power_at_clock_w(d, s.clock_ratio);
    return s;
}
