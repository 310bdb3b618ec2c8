/** @file power_cap.c  Core clock, time and power of a phase under a power limit; see power_cap.h. Calls: nothing. */
#include "power_cap.h"
#include <math.h>

#define MAX_STEPS 100 /* far more than needed: the slowest case, f^3 = h from f = 1, takes about 3 a decade of h */

/* Core power relative to full clock, f V(f)^2. */
static double core_power(double clock_ratio, double v_slope)
{
    double voltage = 1.0 + v_slope * (clock_ratio - 1.0);
    return clock_ratio * voltage * voltage;
}

double adept_power_at_clock_w(const adept_power_demand *d, double clock_ratio)
{
    double core = core_power(clock_ratio, d->v_slope);
    return d->static_w + d->dynamic_w * (d->mem_power_share + (1.0 - d->mem_power_share) * core);
}

/* P(f) = limit. Core power rises with f and is convex there, so Newton's method from f = 1 comes down to the solution
 * without passing it; it has arrived when rounding keeps it from falling further. */
static double clock_at_limit(const adept_power_demand *d, double limit_w, double low)
{
    double target = ((limit_w - d->static_w) / d->dynamic_w - d->mem_power_share) / (1.0 - d->mem_power_share);
    double f = 1.0, v = d->v_slope;
    for (int i = 0; i < MAX_STEPS; i++) {
        double voltage = 1.0 + v * (f - 1.0);
        double next = f - (core_power(f, v) - target) / (voltage * (voltage + 2.0 * f * v));
        if (!(next < f)) break;
        f = next;
    }
    return fmax(f, low);
}

adept_power_state adept_power_cap(const adept_power_demand *d, double limit_w, double min_clock_ratio,
                                  double max_clock_ratio)
{
    adept_power_state s = {.clock_ratio = max_clock_ratio, .power_w = d->static_w + d->dynamic_w};
    s.limited = d->dynamic_w > limit_w - d->static_w;
    if (max_clock_ratio < 1.0) {
        s.power_w = adept_power_at_clock_w(d, max_clock_ratio);
        s.limited = s.power_w > limit_w;
    }
    if (s.limited) {
        s.floored = adept_power_at_clock_w(d, min_clock_ratio) > limit_w;
        s.clock_ratio = s.floored ? min_clock_ratio : clock_at_limit(d, limit_w, min_clock_ratio);
        s.power_w = s.floored ? adept_power_at_clock_w(d, min_clock_ratio) : limit_w;
    }
    s.time_s = fmax(d->compute_s / s.clock_ratio, d->memory_s);
    return s;
}
