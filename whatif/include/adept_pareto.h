/** @file adept_pareto.h  Points that no other point beats in both time and energy, of any number of points that come
 * one by one. Calls: nothing. */
#ifndef ADEPT_PARETO_H
#define ADEPT_PARETO_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is kept of a point of a sweep. */
typedef struct adept_sweep_found {
    uint64_t index;
    double step_time_s, power_avg_w, energy_step_j, samples, clock_hz, peak_bytes;
    double interval_level, interval_time_s[2], interval_power_w[2]; /* NAN: not known */
    double ttft_s, tpot_s, energy_per_token_j, samples_per_s; /* the first three NAN: no generation */
    uint32_t notes; /* as in adept_estimate */
} adept_sweep_found;

typedef struct adept_pareto_point {
    double time, energy; /* both to be small */
    uint64_t id;         /* of equal points the one with the smallest stays */
    adept_sweep_found found;
} adept_pareto_point;

/* Points kept: 7 to 14 MB. Beyond this many on the front every second one is dropped, both ends apart. */
#define ADEPT_PARETO_MOST 32768
#define ADEPT_PARETO_BUFFER 8192

typedef struct adept_pareto {
    size_t n, n_waiting;
    adept_pareto_point *front;   /* after adept_pareto_finish() by time, ascending: energy descends */
    adept_pareto_point *waiting; /* not compared with each other yet */
    bool thinned; /* there were more points than are kept: the front has gaps, and next to them may have points that are
                     not on it */
} adept_pareto;

/** @return ADEPT_E_NOMEM */
ADEPT_API adept_status adept_pareto_new(adept_pareto *out, adept_error *err);
ADEPT_API void adept_pareto_free(adept_pareto *p); /* zeroed is fine */
/** Times and energies that are not finite are not taken. */
ADEPT_API void adept_pareto_add(adept_pareto *p, const adept_pareto_point *point);
/** Compare what is left. More points may be added afterwards. */
ADEPT_API void adept_pareto_finish(adept_pareto *p);

/**
 * The knee: with the logarithms of time and energy scaled to 0 and 1 at the two ends of the front, the point farthest
 * below the straight line between the ends. From there on each percent of one costs more percent of the other, in
 * proportion to the whole front, in either direction.
 * @return index of a point; p->n where the front has fewer than three points, or none lies below the line, or a number
 * is not above 0
 */
ADEPT_API size_t adept_pareto_knee(const adept_pareto *p);

#endif
