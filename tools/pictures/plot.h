/** @file plot.h  Plots of errors as SVG, drawn by gnuplot. Calls: calibrate. */
#ifndef ADEPT_PLOT_H
#define ADEPT_PLOT_H
#include "adept_fit_report.h"

/**
 * Predicted against measured, for time and for power (the thesis's fig 4.8), and the error by model (fig 4.9).
 * @param e         what is drawn filled
 * @param held_out  the same rows when held out, drawn hollow; NULL: none
 */
adept_status adept_plot_errors(const char *path, const adept_evaluation *e, const adept_evaluation *held_out,
                               const char *title, adept_error *err);

/** The program gnuplot is fed, malloc'ed; NULL when memory is out. For tests. */
char *adept_plot_script(const adept_evaluation *e, const adept_evaluation *held_out, const char *title);

#endif
