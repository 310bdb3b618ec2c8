/** @file limits_plot.h  Time, power and energy of a step over the power limit of the board. Calls: model, chart. */
#ifndef ADEPT_LIMITS_PLOT_H
#define ADEPT_LIMITS_PLOT_H
#include "adept_model.h"

#define ADEPT_LIMIT_POINTS 73

#define ADEPT_LIMIT_QUANTITIES 3 /* step time, power, energy of a step */

typedef struct adept_limit_point {
    double limit_w;
    double value[ADEPT_LIMIT_QUANTITIES];
    double band[2][ADEPT_LIMIT_QUANTITIES]; /* lower and upper end of the interval; NAN without one, as of energy */
} adept_limit_point;

typedef struct adept_limit_curve {
    const adept_power_limits *limits;             /* borrowed; known */
    double set_w;                                 /* the limit of the run; 0: none was set */
    double level;                                 /* of the intervals; NAN without */
    adept_limit_point points[ADEPT_LIMIT_POINTS]; /* evenly spaced over the range */
} adept_limit_curve;

/** @param limits known. @return as adept_predict() */
adept_status adept_limit_curve_of(adept_limit_curve *out, const adept_power_limits *limits,
                                  const adept_profile *profile, const adept_hwprofile *hw, const adept_run *run,
                                  adept_error *err);

/** The program for gnuplot, malloc'ed; NULL when memory is out. */
char *adept_limits_script(const adept_limit_curve *curve, const char *title);

#endif
