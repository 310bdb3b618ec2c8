/** @file power_plot.h  What a machine drew while something ran: watts over time, components upon each other, regions
 * behind them. Calls: measure, chart. */
#ifndef ADEPT_POWER_PLOT_H
#define ADEPT_POWER_PLOT_H
#include "adept_recording.h"

/** @param path  of the SVG. @return ADEPT_E_IO, ADEPT_E_NOMEM, ADEPT_E_INTERNAL: no gnuplot, or nothing to draw */
adept_status adept_power_plot(const char *path, const adept_recording *recording, double begin_s, double end_s,
                              const char *title, adept_error *err);
/** The program gnuplot is fed, malloc'ed; NULL when memory is out. For tests. */
char *adept_power_script(const adept_recording *recording, double begin_s, double end_s, const char *title);

#endif
