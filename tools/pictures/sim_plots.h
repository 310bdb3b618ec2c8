/** @file sim_plots.h  Simulated policies as charts, drawn by gnuplot. Calls: chart, adept_sim_results. */
#ifndef ADEPT_SIM_PLOTS_H
#define ADEPT_SIM_PLOTS_H
#include "adept_sim_results.h"

#define ADEPT_POWER_CURVES 4    /* that are drawn, the first ones, each in a panel of its own */
#define ADEPT_POWER_POINTS 1000 /* of a curve */

/** Watts over time of the drawn runs, and the cap. *thinned: curves had more changes than are drawn; of each interval
 *  the highest one is. @return the program, malloc'ed; NULL when memory is out */
char *adept_sim_power_script(const adept_comparison *c, bool *thinned);

/** Energy over another metric: a point for each policy, with one deviation to all sides. @return likewise */
char *adept_sim_trade_off_script(const adept_comparison *c, const char *title, const char *metric, const char *axis,
                                 const char *unit);

#endif
