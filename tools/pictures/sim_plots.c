/** @file sim_plots.c  Power of the first seed; what a policy gains and what it costs. */
#include "sim_plots.h"
#include "adept_grow.h"
#include "chart.h"
#include "gnuplot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PANELS_TOP 40.0
#define PANEL_PITCH 150.0
#define PANELS_BOTTOM 36.0

/* ---------------------------------------------------------------- power ------------------------------------------ */

/* The runs that have a curve. */
static size_t curves(const adept_comparison *c, size_t policies[ADEPT_POWER_CURVES])
{
    size_t n = 0;

    for (size_t p = 0; c->drawn && p < c->n_policies && n < ADEPT_POWER_CURVES; p++)
        if (c->drawn[p].result && c->drawn[p].result->n_series > 0) policies[n++] = p;
    return n;
}

/* Rows "time, watts". @return the highest */
static double put_curve(FILE *out, const adept_run_result *r, size_t number, double end_s, double time_unit_s,
                        bool *thinned)
{
    double highest_w = 0, bin_s = end_s / ADEPT_POWER_POINTS, bin_w = 0;
    bool thin = r->n_series > ADEPT_POWER_POINTS;
    long bin = -1;

    *thinned = *thinned || thin;
    fprintf(out, "$power%zu << EOD\n", number);
    for (size_t i = 0; i < r->n_series; i++) {
        const adept_power_point *p = &r->series[i];
        long at = thin ? (long)(p->time_s / bin_s) : (long)i;
        highest_w = fmax(highest_w, p->power_w);
        if (at == bin) {
            bin_w = fmax(bin_w, p->power_w);
            continue;
        }
        if (bin >= 0)
            fprintf(out, "%.9g %.9g\n", (thin ? (double)bin * bin_s : r->series[i - 1].time_s) / time_unit_s, bin_w);
        bin = at;
        bin_w = p->power_w;
    }
    fprintf(out, "%.9g %.9g\n%.9g %.9g\nEOD\n",
            (thin ? (double)bin * bin_s : r->series[r->n_series - 1].time_s) / time_unit_s, bin_w,
            r->outcome.end_s / time_unit_s, r->series[r->n_series - 1].power_w);
    return highest_w;
}

static void put_panel(FILE *out, const adept_comparison *c, adept_chart *chart, size_t i, size_t n, size_t policy)
{
    chart->frame.y = PANELS_TOP + (double)i * PANEL_PITCH;
    chart->frame.height = PANEL_PITCH - 22;
    adept_chart_panel(out, chart);
    adept_chart_label(out, chart, c->policies[policy], chart->frame.x + chart->frame.width - 6, chart->frame.y + 12,
                      "right");
    if (i + 1 == n) fputs("set format x\nset xlabel time_axis\n", out);
    fprintf(out, "plot $power%zu using 1:2 with steps lw 1.2 lc rgb '#0072B2' notitle", i);
    if (isfinite(c->cap_w)) fprintf(out, ", %.9g with lines lw 1.5 dt 2 lc rgb '#D55E00' notitle", c->cap_w);
    fputs("\nunset label\n", out); /* the next panel would draw them again */
}

char *adept_sim_power_script(const adept_comparison *c, bool *thinned)
{
    size_t policies[ADEPT_POWER_CURVES], n = curves(c, policies);
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);
    adept_chart chart = adept_chart_of(1000, PANELS_TOP + (double)n * PANEL_PITCH + PANELS_BOTTOM);
    double end_s = 1, highest_w = isfinite(c->cap_w) ? c->cap_w : 1;

    *thinned = false;
    if (!out) return NULL;
    for (size_t i = 0; i < n; i++)
        end_s = fmax(end_s, c->drawn[policies[i]].result->outcome.end_s);
    bool in_hours = end_s >= 7200;
    double unit_s = in_hours ? 3600 : 1;
    for (size_t i = 0; i < n; i++)
        highest_w = fmax(highest_w, put_curve(out, c->drawn[policies[i]].result, i, end_s, unit_s, thinned));
    adept_chart_ranges(&chart, 0, end_s / unit_s, 0, 1.25 * highest_w);
    adept_chart_begin(out, &chart, "Power of the cluster");
    fprintf(out, "time_axis = 'Time (%s)'\nset multiplot\nset ylabel 'Power (W)'\nset format x ''\n",
            in_hours ? "h" : "s");
    for (size_t i = 0; i < n; i++)
        put_panel(out, c, &chart, i, n, policies[i]);
    fputs("unset multiplot\n", out);
    return adept_buffer_close(&text, out);
}

/* ---------------------------------------------------------------- energy against something ------------------------ */

typedef struct point {
    double x, y, x_sd, y_sd; /* x NAN: not known */
} point;

static void widen(double *low, double *high, double value, double sd)
{
    if (isnan(value)) return;
    *low = fmin(*low, value - sd);
    *high = fmax(*high, value + sd);
}

/* Room below the lowest, but nothing below 0 where nothing can be. */
static double clear_of_0(double low, double room)
{
    return low >= 0 ? fmax(0, low - room) : low - room;
}

/* 0 where there is one seed */
static double mean_of(const adept_comparison *c, size_t policy, const char *metric, double *sd)
{
    adept_statistics s = {.mean = NAN, .sd = NAN};

    adept_comparison_statistics(&s, c, policy, adept_sim_metric_by_name(metric), NULL);
    *sd = isnan(s.sd) ? 0 : s.sd;
    return s.mean;
}

static void put_points(FILE *out, const adept_comparison *c, const adept_chart *chart, const point *points)
{
    adept_labels labels = {.frame = chart->frame};

    fputs("$points << EOD\n", out);
    for (size_t p = 0; p < c->n_policies; p++) {
        if (isnan(points[p].x) || isnan(points[p].y)) continue;
        fprintf(out, "%.9g %.9g %.9g %.9g\n", points[p].x, points[p].y, points[p].x_sd, points[p].y_sd);
        adept_labels_take(&labels, (adept_box){adept_chart_x(chart, points[p].x) - 5,
                                               adept_chart_y(chart, points[p].y) - 5, 10, 10, false});
    }
    fputs("EOD\n", out);
    for (size_t p = 0; p < c->n_policies; p++)
        if (!isnan(points[p].x) && !isnan(points[p].y))
            adept_chart_place(out, chart, &labels, c->policies[p], adept_chart_x(chart, points[p].x),
                              adept_chart_y(chart, points[p].y), 5);
    adept_labels_free(&labels);
}

char *adept_sim_trade_off_script(const adept_comparison *c, const char *title, const char *metric, const char *axis,
                                 const char *unit)
{
    point *points = calloc(c->n_policies + 1, sizeof *points);
    char x_axis[96], y_axis[96];
    adept_buffer text = {.data = NULL};
    FILE *out = points ? adept_buffer_stream(&text) : NULL;
    adept_chart chart = adept_chart_of(1000, 420);
    double low_x = INFINITY, high_x = -INFINITY, low_y = INFINITY, high_y = -INFINITY;

    for (size_t p = 0; out && p < c->n_policies; p++) {
        points[p].x = mean_of(c, p, metric, &points[p].x_sd);
        points[p].y = mean_of(c, p, "energy_j", &points[p].y_sd) / 3.6e3;
        points[p].y_sd /= 3.6e3;
        if (isnan(points[p].y)) points[p].x = NAN;
        widen(&low_x, &high_x, points[p].x, points[p].x_sd);
        widen(&low_y, &high_y, isnan(points[p].x) ? NAN : points[p].y, points[p].y_sd);
    }
    if (!(high_x >= low_x)) low_x = low_y = 0, high_x = high_y = 1; /* nothing is known */
    bool in_hours = strcmp(unit, "s") == 0 && high_x >= 7200;
    double scale_x = in_hours ? 1 / 3600. : adept_chart_scale(x_axis, sizeof x_axis, axis, unit, high_x);
    if (in_hours) snprintf(x_axis, sizeof x_axis, "%s (h)", axis);
    double scale_y = adept_chart_scale(y_axis, sizeof y_axis, "Energy", "Wh", high_y);
    double room_x = fmax(0.12 * (high_x - low_x), 0.02 * fabs(high_x) + 1e-9),
           room_y = fmax(0.12 * (high_y - low_y), 0.02 * fabs(high_y) + 1e-9);
    if (out) {
        for (size_t p = 0; p < c->n_policies; p++)
            points[p] = (point){points[p].x * scale_x, points[p].y * scale_y, points[p].x_sd * scale_x,
                                points[p].y_sd * scale_y};
        adept_chart_ranges(&chart, clear_of_0(low_x, room_x) * scale_x, (high_x + room_x) * scale_x,
                           clear_of_0(low_y, room_y) * scale_y, (high_y + room_y) * scale_y);
        adept_chart_begin(out, &chart, title);
        fputs("set xlabel ", out);
        adept_gnuplot_text(out, x_axis);
        fputs("\nset ylabel ", out);
        adept_gnuplot_text(out, y_axis);
        fputs("\n", out);
        put_points(out, c, &chart, points);
        fputs("plot $points using 1:2:3:4 with xyerrorbars pt 7 ps 0.8 lw 1.2 lc rgb '#0072B2' notitle\n", out);
    }
    free(points);
    return out ? adept_buffer_close(&text, out) : NULL;
}
