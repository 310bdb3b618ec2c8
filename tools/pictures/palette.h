/** @file palette.h  One look for all pictures: colours of Okabe and Ito, which the colour-blind tell apart, each with a
 *  hatch and a lightness of its own, so that a copy in grey is as good; frame, legend and labels of the pictures that
 *  are SVG of our own. Calls: markup. */
#ifndef ADEPT_PALETTE_H
#define ADEPT_PALETTE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* X(id, fill, text on it, hatch, what it stands for in a legend) */
#define ADEPT_SHADE_LIST(X)                                                                                            \
    X(COMPUTE, "#0072B2", "#ffffff", HATCH_NONE, "bound by compute")                                                   \
    X(MEMORY, "#F2B134", "#000000", HATCH_SLASH, "bound by memory")                                                    \
    X(LAUNCH, "#E3C1D6", "#000000", HATCH_DOTS, "kernel launches")                                                     \
    X(COMMUNICATION, "#D55E00", "#000000", HATCH_CROSS, "communication")                                               \
    X(OPTIMIZER, "#009E73", "#000000", HATCH_BARS, "optimizer")                                                        \
    X(FIXED, "#C4C4C4", "#000000", HATCH_NONE, "fixed")                                                                \
    X(GEMM, "#0072B2", "#ffffff", HATCH_NONE, "matrix products")                                                       \
    X(CONV, "#56B4E9", "#000000", HATCH_BACKSLASH, "convolutions")                                                     \
    X(ALU, "#F0E442", "#000000", HATCH_NONE, "other arithmetic")                                                       \
    X(POWER, "#CC79A7", "#000000", HATCH_SLASH, "the power limit")                                                     \
    X(HIDDEN, "#F6CFB2", "#000000", HATCH_CROSS, "hidden")                                                             \
    X(FREE, "#ffffff", "#000000", HATCH_NONE, "free")

typedef enum adept_shade {
#define X(id, fill, ink, hatch, text) ADEPT_SHADE_##id,
    ADEPT_SHADE_LIST(X)
#undef X
        ADEPT_SHADE_COUNT
} adept_shade;

typedef struct adept_shade_look {
    const char *fill, *ink; /* "#0072B2"; of text on it */
    const char *text;       /* of a legend */
    int hatch;
} adept_shade_look;
extern const adept_shade_look adept_shades[ADEPT_SHADE_COUNT];

/** A rectangle: its fill, and its hatch above it. `id` makes its hatches differ from
 * those of other pictures of a page. */
void adept_shade_rect(FILE *out, const char *id, adept_shade shade, double x, double y, double width, double height);

#define ADEPT_INK "#1a1a1a"   /* text */
#define ADEPT_QUIET "#595959" /* text of less weight: 7:1 on white */
#define ADEPT_GRID "#dddddd"
#define ADEPT_FONT "font-family=\"system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif\""

#define ADEPT_SVG_WIDTH 1000.0
#define ADEPT_SVG_TOP 34.0    /* what the title takes */
#define ADEPT_SVG_BOTTOM 28.0 /* what the legend takes */

/** Open the picture: white ground, title, hatches. */
void adept_svg_begin(FILE *out, const char *id, const char *title, double height);
void adept_svg_end(FILE *out);

/** One line of the shades whose bit is set in `used`, in their order. */
void adept_svg_legend(FILE *out, const char *id, unsigned used, double y);

/** Does a text of a font size surely fit into a width? Fonts differ between machines. */
bool adept_svg_fits(const char *text, double width, double font_px);

/** Text at a place, cut to what fits into the width. `more` are further attributes. */
void adept_svg_label(FILE *out, const char *text, size_t length, double x, double y, double width, double font_px,
                     const char *more);

#endif
