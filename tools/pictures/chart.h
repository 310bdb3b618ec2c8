/** @file chart.h  Charts with axes as programs for gnuplot: one look, and where in the picture a value lies. Calls:
 *  gnuplot. */
#ifndef ADEPT_CHART_H
#define ADEPT_CHART_H
#include "units.h"
#include <stddef.h>
#include <stdio.h>

#define ADEPT_INK "#1a1a1a"   /* text */
#define ADEPT_QUIET "#595959" /* text of less weight: 7:1 on white */
#define ADEPT_GRID "#dddddd"

/** Pixels, y downwards. */
typedef struct adept_box {
    double x, y, width, height;
} adept_box;

typedef struct adept_chart {
    double width, height; /* of the picture in pixels */
    adept_box frame;      /* what the axes enclose */
    double low_x, high_x, low_y, high_y;
} adept_chart;

/** A chart of that size with the usual margins. */
adept_chart adept_chart_of(double width, double height);
void adept_chart_ranges(adept_chart *c, double low_x, double high_x, double low_y, double high_y);

/** Terminal, title, margins, ranges, grid. */
void adept_chart_begin(FILE *out, const adept_chart *c, const char *title);

/** The pixel of a value, from the picture's left edge. */
double adept_chart_x(const adept_chart *c, double x);

/** What an axis multiplies values by so that its numbers are short, and its title: "Step time (ms)". */
double adept_chart_scale(char *axis, size_t size, const char *name, const char *unit, double largest);

/** Text at a pixel. `align` is gnuplot's: left, center, right. */
void adept_chart_label(FILE *out, const adept_chart *c, const char *text, double x, double y, const char *align);

#endif
