/** @file bars.h  Bars of parts: where the step goes, what fills the memory. Each is a line of labelled parts below each
 *  other with one scale, which gnuplot's stacked histograms cannot label. Calls: svg. */
#ifndef ADEPT_BARS_H
#define ADEPT_BARS_H
#include "palette.h"
#include "units.h"
#include <stddef.h>
#include <stdio.h>

typedef struct adept_bar_part {
    const char *name;
    double value;
    adept_shade shade;
} adept_bar_part;

#define ADEPT_BAR_PARTS 10

typedef struct adept_bar {
    char title[96]; /* to its left: "step time 13.6 ms" */
    double start;   /* where its first part begins, in the unit of the values */
    double scale;   /* value of the full width */
    size_t n;
    adept_bar_part parts[ADEPT_BAR_PARTS];
    adept_text (*print)(double value);
    double mark;           /* a line across, at a value; 0: none */
    const char *mark_name; /* what it is */
} adept_bar;

/** Add a part, if there is one. */
void adept_bar_add(adept_bar *bar, const char *name, double value, adept_shade shade);

/** The bars below each other, as SVG. */
void adept_bars_draw(FILE *out, const char *id, const char *title, const adept_bar *bars, size_t n);

#endif
