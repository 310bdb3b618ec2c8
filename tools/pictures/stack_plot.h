/** @file stack_plot.h  Watts of several over time, upon each other, and a line of what was measured. Calls: chart. */
#ifndef ADEPT_STACK_PLOT_H
#define ADEPT_STACK_PLOT_H
#include "adept_error.h"
#include <stddef.h>

typedef struct adept_stack {
    const char *title;
    const char *const *names; /* of the series, the lowest first */
    const double *power_w;    /* n_series x n_steps; NAN: not known */
    const double *line_w;     /* n_steps; NAN likewise */
    size_t n_series, n_steps;
    double step_s;
} adept_stack;

/** @param path  of the SVG. @return ADEPT_E_IO, ADEPT_E_NOMEM, ADEPT_E_INTERNAL: no gnuplot */
adept_status adept_stack_plot(const char *path, const adept_stack *stack, adept_error *err);
/** The program gnuplot is fed, malloc'ed; NULL when memory is out. For tests. */
char *adept_stack_script(const adept_stack *stack);

#endif
