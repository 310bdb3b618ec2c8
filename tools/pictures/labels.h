/** @file labels.h  Where labels go beside their points without covering each other. Pixels, y downwards. Calls:
 * nothing. */
#ifndef ADEPT_LABELS_H
#define ADEPT_LABELS_H
#include <stdbool.h>
#include <stddef.h>

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
bool adept_labels_fits(const adept_labels *labels, adept_box box);

/**
 * Find room for a label around a point, nearest first, and take it; and for a line to it where it is far.
 * @param radius of the point's mark
 * @return false if there is none: then the label had better not be drawn
 */
bool adept_labels_place(adept_box *out, adept_labels *labels, double x, double y, double radius, double width,
                        double height);

/** Is the label so far from its point that a line should lead there? To the nearest point of its box. */
bool adept_labels_far(const adept_box *box, double x, double y, double radius, double *near_x, double *near_y);

#endif
