/** @file power_cap.h  What a board does under a power limit: it lowers the core clock. Private to model/. Calls:
 * nothing. */
#ifndef ADEPT_POWER_CAP_H
#define ADEPT_POWER_CAP_H
#include <stdbool.h>

/* One phase on one GPU. The memory keeps its clock, so only the core's share of time and power follows f. */
typedef struct adept_power_demand {
    double compute_s; /* at full clock; runs beside memory_s */
    double memory_s;  /* does not depend on the core clock */
    double static_w;
    double dynamic_w;       /* above static_w, at full clock */
    double mem_power_share; /* of dynamic_w, in [0, 1], that does not follow the core clock */
    double v_slope;         /* relative voltage is 1 + v_slope * (f - 1), v_slope in [0, 1] */
} adept_power_demand;

typedef struct adept_power_state {
    double clock_ratio; /* f in [f_min, f_max] */
    double time_s;      /* max(compute_s / f, memory_s) */
    double power_w;     /* P(f) */
    bool limited;       /* the limit allows less than f_max */
    bool floored;       /* limited, and even f_min draws more */
} adept_power_state;

/** P(f) = static + dynamic * (share + (1 - share) * f * V(f)^2) in W. */
double adept_power_at_clock_w(const adept_power_demand *d, double clock_ratio);

/** The highest clock in [min_clock_ratio, max_clock_ratio] that keeps within the limit, and what follows from it. An unknown (NAN)
 *  power or limit limits nothing. max_clock_ratio is at most 1. */
adept_power_state adept_power_cap(const adept_power_demand *d, double limit_w, double min_clock_ratio,
                                  double max_clock_ratio);

#endif
