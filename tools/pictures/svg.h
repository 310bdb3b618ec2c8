/** @file svg.h  Frame, legend and labels of the pictures that are SVG of our own. Calls: markup, palette. */
#ifndef ADEPT_SVG_H
#define ADEPT_SVG_H
#include "palette.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define ADEPT_SVG_WIDTH 1000.0
#define ADEPT_SVG_TOP 34.0    /* what the title takes */
#define ADEPT_SVG_BOTTOM 28.0 /* what the legend takes */

/** Open the picture: white ground, title, hatches. */
void adept_svg_begin(FILE *out, const char *id, const char *title, double height);
void adept_svg_end(FILE *out);

/** One line of the shades whose bit is set in `shades`, in their order. */
void adept_svg_legend(FILE *out, const char *id, unsigned shades, double y);

/** Does a text of a font size surely fit into a width? Fonts differ between machines. */
bool adept_svg_fits(const char *text, double width, double font_px);

/** Text at a place, cut to what fits into the width. `more` are further attributes. */
void adept_svg_label(FILE *out, const char *text, size_t length, double x, double y, double width, double font_px,
                     const char *more);

#endif
