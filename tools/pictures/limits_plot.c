/** @file limits_plot.c  Three panels above one axis, with the limits of interest as lines across them. */
#include "limits_plot.h"
#include "adept_append.h"
#include "adept_grow.h"
#include "chart.h"
#include "gnuplot.h"
#include <math.h>
#include <stdlib.h>

#define PANELS ADEPT_LIMIT_QUANTITIES
#define PANEL_HEIGHT 178.0
#define TOP 66.0 /* title, and the names of the marks */

adept_status adept_limit_curve_of(adept_limit_curve *out, const adept_power_limits *limits,
                                  const adept_profile *profile, const adept_hwprofile *hw, const adept_run *run,
                                  adept_error *err)
{
    adept_status status = ADEPT_OK;
    adept_prediction *p = malloc(sizeof *p);

    if (!p) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory while drawing");
    *out = (adept_limit_curve){.limits = limits, .set_w = run->power_limit_w, .level = NAN};
    for (size_t i = 0; i < ADEPT_LIMIT_POINTS && status == ADEPT_OK; i++) {
        double share = (double)i / (ADEPT_LIMIT_POINTS - 1);
        adept_run limited = *run;
        limited.power_limit_w = limits->low_w + share * (limits->high_w - limits->low_w);
        status = adept_predict(p, profile, hw, &limited, err);
        if (status != ADEPT_OK) break;
        out->level = p->interval_level;
        out->points[i] = (adept_limit_point){limited.power_limit_w,
                                             {p->step_time_s, p->power_avg_w, p->energy_step_j},
                                             {{p->interval_time_s[0], p->interval_power_w[0], NAN},
                                              {p->interval_time_s[1], p->interval_power_w[1], NAN}}};
    }
    free(p);
    return status;
}

/* ---------------------------------------------------------------- panels ----------------------------------------- */

typedef struct panel {
    double value[ADEPT_LIMIT_POINTS],
        band[2][ADEPT_LIMIT_POINTS]; /* as the axis shows them; without a band the values */
    char axis[64];
    bool has_band;
    adept_chart chart;
} panel;

static void fill_panel(panel *p, int which, const adept_limit_curve *c)
{
    static const char *const names[] = {"Step time", "Power", "Energy per step"}, *const units[] = {"s", "W", "J"};
    double low = INFINITY, high = 0;

    *p = (panel){.has_band = true};
    for (size_t i = 0; i < ADEPT_LIMIT_POINTS; i++)
        for (int side = 0; side < 2; side++)
            p->has_band &= isfinite(c->points[i].band[side][which]);
    for (size_t i = 0; i < ADEPT_LIMIT_POINTS; i++) {
        p->value[i] = c->points[i].value[which];
        for (int side = 0; side < 2; side++)
            p->band[side][i] = p->has_band ? c->points[i].band[side][which] : p->value[i];
        low = fmin(low, fmin(p->value[i], p->band[0][i]));
        high = fmax(high, fmax(p->value[i], p->band[1][i]));
    }
    double scale = adept_chart_scale(p->axis, sizeof p->axis, names[which], units[which], high);
    for (size_t i = 0; i < ADEPT_LIMIT_POINTS; i++) {
        p->value[i] *= scale;
        p->band[0][i] *= scale;
        p->band[1][i] *= scale;
    }
    double room = fmax(high - low, 0.02 * high) * 0.12;
    p->chart = adept_chart_of(1000, TOP + PANELS * PANEL_HEIGHT + 40);
    p->chart.frame.y = TOP + which * PANEL_HEIGHT;
    p->chart.frame.height = PANEL_HEIGHT - 22;
    adept_chart_ranges(&p->chart, c->limits->low_w, c->limits->high_w, fmax(low - room, 0) * scale,
                       (high + room) * scale);
}

static void put_data(FILE *out, const panel *p, int which, const adept_limit_curve *c)
{
    fprintf(out, "$panel%d << EOD\n", which);
    for (size_t i = 0; i < ADEPT_LIMIT_POINTS; i++)
        fprintf(out, "%.9g %.9g %.9g %.9g\n", c->points[i].limit_w, p->value[i], p->band[0][i], p->band[1][i]);
    fputs("EOD\n", out);
}

/* ---------------------------------------------------------------- marks ------------------------------------------ */

#define MARKS 4

typedef struct mark {
    const char *name;
    double limit_w;
    const char *dash;
    int point; /* gnuplot's */
    const char *color;
} mark;

static size_t find_marks(mark *out, const adept_limit_curve *c)
{
    const adept_power_limits *l = c->limits;
    const mark all[MARKS] = {
        {"default of the board", l->unset.limit_w, "1", 7, ADEPT_INK},
        {"least energy", l->energy_optimal.limit_w, "'-'", 9, "#009E73"},
        {"least energy x time", l->edp_optimal.limit_w, "'.-'", 5, "#D55E00"},
        {"limit of this run", c->set_w, "'.'", 13, "#0072B2"},
    };
    size_t n = 0;

    for (size_t i = 0; i < MARKS; i++)
        if (all[i].limit_w >= l->low_w && all[i].limit_w <= l->high_w) out[n++] = all[i];
    return n;
}

/* What the curve is at a limit. */
static double value_at(const panel *p, const adept_limit_curve *c, double limit_w)
{
    double low_w = c->limits->low_w, step_w = (c->limits->high_w - low_w) / (ADEPT_LIMIT_POINTS - 1);
    double at = step_w > 0 ? (limit_w - low_w) / step_w : 0;
    size_t i = at >= ADEPT_LIMIT_POINTS - 1 ? ADEPT_LIMIT_POINTS - 2 : (size_t)at;
    return p->value[i] + (at - (double)i) * (p->value[i + 1] - p->value[i]);
}

static void put_mark_points(FILE *out, const panel *p, int which, const adept_limit_curve *c, const mark *marks,
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "$mark%d_%zu << EOD\n%.9g %.9g\nEOD\n", which, i, marks[i].limit_w,
                value_at(p, c, marks[i].limit_w));
}

/* Names above the first panel; marks at the same limit share a name. */
static void name_marks(FILE *out, const panel *first, const mark *marks, size_t n)
{
    adept_labels labels = {.frame = {0, 34, first->chart.width, TOP - 36, false}};

    for (size_t i = 0; i < n; i++) {
        char text[160];
        bool told = false;
        for (size_t j = 0; j < i; j++)
            told |= marks[j].limit_w == marks[i].limit_w;
        if (told) continue;
        snprintf(text, sizeof text, "%.0f W: %s", marks[i].limit_w, marks[i].name);
        for (size_t j = i + 1; j < n; j++)
            if (marks[j].limit_w == marks[i].limit_w) adept_append(text, sizeof text, ", %s", marks[j].name);
        double width = adept_chart_text_width(text, 12), x = adept_chart_x(&first->chart, marks[i].limit_w);
        double left = fmin(fmax(x - width / 2, 4), first->chart.width - width - 4);
        adept_box box = {left, TOP - 20, width, 14, true};
        if (!adept_labels_fits(&labels, &box)) box.y -= 15;
        adept_labels_take(&labels, box);
        adept_chart_label(out, &first->chart, text, box.x + width / 2, box.y + 7, "center");
    }
    adept_labels_free(&labels);
}

static void put_marks_lines(FILE *out, const panel *first, const panel *last, const mark *marks, size_t n)
{
    double top = 1 - (first->chart.frame.y - 4) / first->chart.height;
    double bottom = 1 - (last->chart.frame.y + last->chart.frame.height) / last->chart.height;

    for (size_t i = 0; i < n; i++) {
        double x = adept_chart_x(&first->chart, marks[i].limit_w) / first->chart.width;
        fprintf(out, "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead back dt %s lw 1 lc rgb '%s'\n", x, top,
                x, bottom, marks[i].dash, marks[i].color);
    }
}

static void put_panel(FILE *out, const panel *p, int which, const mark *marks, size_t n)
{
    adept_chart_panel(out, &p->chart);
    adept_chart_rotated(out, &p->chart, p->axis, 18, p->chart.frame.y + p->chart.frame.height / 2, 90);
    fputs("set format y '%g'\n", out);
    fputs(which == PANELS - 1 ? "set xlabel 'Power limit of each board (W)'\nset format x '%g'\n"
                              : "unset xlabel\nset format x ''\n",
          out);
    fputs("plot ", out);
    if (p->has_band)
        fprintf(out, "$panel%d using 1:3:4 with filledcurves fs solid 1 lc rgb '#d4e6f1' notitle, ", which);
    fprintf(out, "$panel%d using 1:2 with lines lw 2.5 lc rgb '#0072B2' notitle", which);
    for (size_t i = 0; i < n; i++)
        fprintf(out, ", $mark%d_%zu with points pt %d ps 1.3 lc rgb '%s' notitle", which, i, marks[i].point,
                marks[i].color);
    fputs("\nunset for [i=1:200] label i\nunset for [i=1:50] arrow i\nunset label 9999\n", out);
}

static void put_script(FILE *out, const adept_limit_curve *c, panel *panels, const char *title)
{
    mark marks[MARKS];
    size_t n = find_marks(marks, c);

    for (int i = 0; i < PANELS; i++) {
        fill_panel(&panels[i], i, c);
        put_data(out, &panels[i], i, c);
        put_mark_points(out, &panels[i], i, c, marks, n);
    }
    adept_chart_begin(out, &panels[0].chart, title);
    fputs("set multiplot\nunset key\n", out);
    name_marks(out, &panels[0], marks, n);
    put_marks_lines(out, &panels[0], &panels[PANELS - 1], marks, n);
    for (int i = 0; i < PANELS; i++)
        put_panel(out, &panels[i], i, marks, n);
    fputs("unset multiplot\n", out);
}

char *adept_limits_script(const adept_limit_curve *curve, const char *title)
{
    panel panels[PANELS];
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);

    if (!out) return NULL;
    put_script(out, curve, panels, title);
    return adept_buffer_close(&text, out);
}
