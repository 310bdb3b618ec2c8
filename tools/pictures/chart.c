/** @file chart.c  What all charts have in common. */
#include "chart.h"
#include "adept_grow.h"
#include "gnuplot.h"
#include "markup.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_PX 12.0
#define POINT_RADIUS_PX 4.5 /* of gnuplot's SVG at point size 1, with this font */

/* ---------------------------------------------------------------- labels ----------------------------------------- */

/* Greedy: the caller asks for the most important labels first. */

#define FARTHEST 104.0
#define LINE_STEP 3.0

static bool overlap(const adept_box *a, const adept_box *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

bool adept_labels_fits(const adept_labels *labels, const adept_box *box)
{
    const adept_box *f = &labels->frame;

    if (box->x < f->x || box->y < f->y || box->x + box->width > f->x + f->width ||
        box->y + box->height > f->y + f->height)
        return false;
    for (size_t i = 0; i < labels->n; i++)
        if (overlap(box, &labels->taken[i])) return false;
    return true;
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

/* Is the label so far from its point that a line should lead there? To the nearest point of its box. */
static bool is_far(const adept_box *box, double x, double y, double radius, double *near_x, double *near_y)
{
    *near_x = fmin(fmax(x, box->x), box->x + box->width);
    *near_y = fmin(fmax(y, box->y), box->y + box->height);
    return hypot(*near_x - x, *near_y - y) > radius + 9;
}

/* Can the line be drawn? If so, and asked to, no later label may lie on it. */
static bool lead(adept_labels *labels, const adept_box *box, double x, double y, double radius, bool take)
{
    double near_x, near_y;

    if (!is_far(box, x, y, radius, &near_x, &near_y)) return true;
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
            if (!adept_labels_fits(labels, &box) || !lead(labels, &box, x, y, radius, false)) continue;
            *out = box;
            return lead(labels, &box, x, y, radius, true) && adept_labels_take(labels, box);
        }
    }
    return false;
}

/* ---------------------------------------------------------------- charts ----------------------------------------- */

adept_chart adept_chart_of(double width, double height)
{
    return (adept_chart){.width = width, .height = height, .frame = {86, 40, width - 86 - 18, height - 40 - 58, false}};
}

void adept_chart_ranges(adept_chart *c, double low_x, double high_x, double low_y, double high_y)
{
    c->low_x = low_x;
    c->high_x = high_x;
    c->low_y = low_y;
    c->high_y = high_y;
}

void adept_chart_panel(FILE *out, const adept_chart *c)
{
    const adept_box *f = &c->frame;

    fprintf(out, "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset tmargin at screen %.5f\n",
            f->x / c->width, (f->x + f->width) / c->width, 1 - f->y / c->height);
    fprintf(out, "set bmargin at screen %.5f\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n",
            1 - (f->y + f->height) / c->height, c->low_x, c->high_x, c->low_y, c->high_y);
    if (c->log_x) fputs("set logscale x\n", out);
    if (c->log_y) fputs("set logscale y\n", out);
}

void adept_chart_begin(FILE *out, const adept_chart *c, const char *title)
{
    fprintf(out,
            "eval adept_terminal(%.0f, %.0f, %.0f) . ' linewidth 1'\n"
            "set encoding utf8\n",
            c->width, c->height, LABEL_PX);
    fprintf(out, "set label 9999 ");
    adept_gnuplot_text(out, title);
    fprintf(out,
            " at screen 0.002,%.5f left font 'sans-serif Bold,16' textcolor rgb '" ADEPT_INK "'\n"
            "set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.2,0.1\n"
            "set border 3 lc rgb '" ADEPT_QUIET "'\nset tics nomirror out scale 0.6 textcolor rgb '" ADEPT_INK "'\n"
            "set grid lc rgb '" ADEPT_GRID "' lw 1 dt 1\nset key textcolor rgb '" ADEPT_INK "' samplen 2\n",
            1 - 16 / c->height);
    adept_chart_panel(out, c);
}

static double along(double value, double low, double high, bool is_log)
{
    return is_log ? log(value / low) / log(high / low) : (value - low) / (high - low);
}

double adept_chart_x(const adept_chart *c, double x)
{
    return c->frame.x + c->frame.width * along(x, c->low_x, c->high_x, c->log_x);
}

double adept_chart_y(const adept_chart *c, double y)
{
    return c->frame.y + c->frame.height * (1 - along(y, c->low_y, c->high_y, c->log_y));
}

double adept_chart_scale(char *axis, size_t size, const char *name, const char *unit, double largest)
{
    static const char *const prefixes[] = {"n", "u", "m", "", "k", "M", "G", "T"};
    int i = 0;

    while (i < 7 && largest >= pow(1000, i - 2) * 0.9995)
        i++;
    snprintf(axis, size, "%s (%s%s)", name, prefixes[i], unit);
    return pow(1000, 3 - i);
}

double adept_chart_text_width(const char *text, double font_px)
{
    return font_px * adept_markup_width(text, strlen(text));
}

static void put_label(FILE *out, const adept_chart *c, const char *text, double x, double y)
{
    fputs("set label ", out);
    adept_gnuplot_text(out, text);
    fprintf(out, " at screen %.5f,%.5f", x / c->width, 1 - y / c->height);
}

void adept_chart_label(FILE *out, const adept_chart *c, const char *text, double x, double y, const char *align)
{
    put_label(out, c, text, x, y);
    fprintf(out, " %s front boxed font 'sans-serif,%.0f' textcolor rgb '" ADEPT_INK "'\n", align, LABEL_PX);
}

void adept_chart_rotated(FILE *out, const adept_chart *c, const char *text, double x, double y, double degrees)
{
    put_label(out, c, text, x, y);
    fprintf(out, " center rotate by %.1f front font 'sans-serif,%.0f' textcolor rgb '" ADEPT_INK "'\n", degrees,
            LABEL_PX);
}

bool adept_chart_place(FILE *out, const adept_chart *c, adept_labels *labels, const char *text, double x, double y,
                       double radius)
{
    double width = adept_chart_text_width(text, LABEL_PX);
    adept_box box;

    if (!adept_labels_place(&box, labels, x, y, radius, width, LABEL_PX + 4)) return false;
    double near_x, near_y;
    if (is_far(&box, x, y, radius, &near_x, &near_y))
        fprintf(out,
                "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead front lw 0.7 lc rgb '" ADEPT_QUIET "'\n",
                x / c->width, 1 - y / c->height, near_x / c->width, 1 - near_y / c->height);
    const char *align = near_x == box.x ? "left" : near_x == box.x + width ? "right" : "center";
    double at = near_x == box.x ? box.x : near_x == box.x + width ? box.x + width : box.x + width / 2;
    adept_chart_label(out, c, text, at, box.y + box.height / 2, align);
    return true;
}

double adept_chart_point_size(double share)
{
    return fmin(fmax(4.5 * sqrt(share), 0.35), 3);
}

double adept_chart_point_radius(double share)
{
    return POINT_RADIUS_PX * adept_chart_point_size(share);
}
