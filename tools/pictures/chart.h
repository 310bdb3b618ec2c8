/** @file chart.h  Charts with axes as programs for gnuplot: one look, and where in the picture a value lies, so that
 * labels can be placed. Calls: gnuplot, markup. */
#ifndef ADEPT_CHART_H
#define ADEPT_CHART_H
#include "units.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define ADEPT_INK "#1a1a1a"   /* text */
#define ADEPT_QUIET "#595959" /* text of less weight: 7:1 on white */
#define ADEPT_GRID "#dddddd"

/* Where labels go beside their points without covering each other. Pixels, y downwards. */

typedef struct adept_box {
    double x, y, width, height;
    bool text; /* a line to another label may not cross it */
} adept_box;

typedef struct adept_labels {
    adept_box frame; /* nothing lies outside */
    size_t n, capacity;
    adept_box *taken;
} adept_labels;

/** @return false when memory is out. Free with adept_labels_free(). */
bool adept_labels_take(adept_labels *labels, adept_box box);
void adept_labels_free(adept_labels *labels);

/** Is there room for it? */
bool adept_labels_fits(const adept_labels *labels, const adept_box *box);

/**
 * Find room for a label around a point, nearest first, and take it; and for a line to it where it is far.
 * @param radius of the point's mark
 * @return false if there is none: then the label had better not be drawn
 */
bool adept_labels_place(adept_box *out, adept_labels *labels, double x, double y, double radius, double width,
                        double height);

typedef struct adept_chart {
    double width, height; /* of the picture in pixels */
    adept_box frame;      /* what the axes enclose */
    double low_x, high_x, low_y, high_y;
    bool log_x, log_y;
} adept_chart;

/** A chart of that size with the usual margins. */
adept_chart adept_chart_of(double width, double height);
void adept_chart_ranges(adept_chart *c, double low_x, double high_x, double low_y, double high_y);

/** Terminal, title, margins, ranges, grid. */
void adept_chart_begin(FILE *out, const adept_chart *c, const char *title);
/** Margins and ranges alone, for a further panel of a multiplot. */
void adept_chart_panel(FILE *out, const adept_chart *c);

/* Pixels of a value, from the picture's left and upper edge. */
double adept_chart_x(const adept_chart *c, double x);
double adept_chart_y(const adept_chart *c, double y);

/** What an axis multiplies values by so that its numbers are short, and its title: "Step time (ms)". */
double adept_chart_scale(char *axis, size_t size, const char *name, const char *unit, double largest);

/* Texts at pixels. `align` is gnuplot's: left, center, right. */
void adept_chart_label(FILE *out, const adept_chart *c, const char *text, double x, double y, const char *align);
void adept_chart_rotated(FILE *out, const adept_chart *c, const char *text, double x, double y, double degrees);
double adept_chart_text_width(const char *text, double font_px);
/** Beside a point, with a thin line to it if it is far; nowhere if there is no room. @return was there any? */
bool adept_chart_place(FILE *out, const adept_chart *c, adept_labels *labels, const char *text, double x, double y,
                       double radius);

/* Marks whose area grows with a share, within bounds: gnuplot's point size, and the radius in pixels that it has. */
double adept_chart_point_size(double share);
double adept_chart_point_radius(double share);

#endif
