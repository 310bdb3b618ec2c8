/** @file labels.c  Greedy: the caller asks for the most important labels first. */
#include "labels.h"
#include "adept_grow.h"
#include <math.h>
#include <stdlib.h>

#define FARTHEST 104.0
#define LINE_STEP 3.0

static bool overlap(const adept_box *a, const adept_box *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

static bool is_free(const adept_labels *labels, const adept_box *box)
{
    const adept_box *f = &labels->frame;

    if (box->x < f->x || box->y < f->y || box->x + box->width > f->x + f->width ||
        box->y + box->height > f->y + f->height)
        return false;
    for (size_t i = 0; i < labels->n; i++)
        if (overlap(box, &labels->taken[i])) return false;
    return true;
}

bool adept_labels_fits(const adept_labels *labels, adept_box box)
{
    return is_free(labels, &box);
}

bool adept_labels_take(adept_labels *labels, adept_box box)
{
    adept_box *grown = adept_grow(labels->taken, &labels->capacity, labels->n + 1, sizeof *grown);
    if (!grown) return false;
    labels->taken = grown;
    labels->taken[labels->n++] = box;
    return true;
}

void adept_labels_free(adept_labels *labels)
{
    free(labels->taken);
    *labels = (adept_labels){.n = 0};
}

bool adept_labels_far(const adept_box *box, double x, double y, double radius, double *near_x, double *near_y)
{
    *near_x = fmin(fmax(x, box->x), box->x + box->width);
    *near_y = fmin(fmax(y, box->y), box->y + box->height);
    return hypot(*near_x - x, *near_y - y) > radius + 9;
}

/* Can the line be drawn? If so, and asked to, no later label may lie on it. */
static bool lead(adept_labels *labels, const adept_box *box, double x, double y, double radius, bool take)
{
    double near_x, near_y;

    if (!adept_labels_far(box, x, y, radius, &near_x, &near_y)) return true;
    double length = hypot(near_x - x, near_y - y);
    for (double at = radius; at < length; at += LINE_STEP) {
        adept_box dot = {x + (near_x - x) * at / length - 1, y + (near_y - y) * at / length - 1, 2, 2, false};
        for (size_t i = 0; i < labels->n && !take; i++)
            if (labels->taken[i].text && overlap(&dot, &labels->taken[i])) return false;
        if (take && !adept_labels_take(labels, dot)) return false;
    }
    return true;
}

bool adept_labels_place(adept_box *out, adept_labels *labels, double x, double y, double radius, double width,
                        double height)
{
    /* right, left, above, below, and between them; in half widths and heights of the label */
    static const double sides[][2] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}};
    const adept_box *f = &labels->frame;

    for (double far = 4; far <= FARTHEST; far += 10) {
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            double reach = radius + far, diagonal = sides[i][0] != 0 && sides[i][1] != 0 ? 0.7 : 1;
            double left = x + sides[i][0] * (reach * diagonal + width / 2) - width / 2;
            double top = y + sides[i][1] * (reach * diagonal + height / 2) - height / 2;
            if (sides[i][1] != 0) left = fmax(fmin(left, f->x + f->width - width), f->x); /* may be shifted */
            adept_box box = {left, top, width, height, true};
            if (!is_free(labels, &box) || !lead(labels, &box, x, y, radius, false)) continue;
            *out = box;
            return lead(labels, &box, x, y, radius, true) && adept_labels_take(labels, box);
        }
    }
    return false;
}
