/** @file plot.c  Scatters and bars of errors, drawn by gnuplot. */
#include "plot.h"
#include "adept_grow.h"
#include "adept_file.h"
#include "chart.h"
#include "gnuplot.h"
#include "units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct quantity {
    const char *name, *label, *axis;
    double scale;
    bool time;
} quantity;

static const quantity quantities[] = {
    {"time", "Step time", "ms", 1e3, true},
    {"power", "Power", "W", 1, false},
};

static bool values_of(const adept_scored *s, const quantity *q, double *measured, double *predicted)
{
    *measured = q->scale * (q->time ? s->measured->step_time_s : s->measured->power_avg_w);
    *predicted = q->scale * (q->time ? s->time_s : s->power_w);
    return isfinite(*measured) && isfinite(*predicted) && *measured > 0 && *predicted > 0;
}

static size_t put_points(FILE *out, const char *set, const adept_evaluation *e, const quantity *q)
{
    size_t n = 0;
    double x, y;

    fprintf(out, "$%s_%s << EOD\n", q->name, set);
    for (size_t i = 0; e && i < e->n; i++) {
        if (!values_of(&e->rows[i], q, &x, &y)) continue;
        fprintf(out, "%.9g %.9g\n", x, y);
        n++;
    }
    fputs("EOD\n", out);
    return n;
}

/* Mean absolute error in percent; NAN without rows. */
static double mean_error(const adept_evaluation *e, const char *model, const quantity *q)
{
    double sum = 0, n = 0, x, y;

    for (size_t i = 0; e && i < e->n; i++) {
        if (strcmp(e->rows[i].measured->model_name, model) != 0 || !values_of(&e->rows[i], q, &x, &y)) continue;
        sum += 100 * fabs(y / x - 1);
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

/* The errors of each model, as groups that are made here: the caller may have grouped by something else.
 * Leaves the largest to gnuplot, which makes room for its key above it. */
static void put_models(FILE *out, const adept_evaluation *e, const adept_evaluation *held_out)
{
    double largest = 1e-3;

    fputs("$models << EOD\n", out);
    for (size_t i = 0; i < e->n; i++) {
        const char *model = e->rows[i].measured->model_name;
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = strcmp(e->rows[j].measured->model_name, model) != 0;
        if (!first) continue;
        adept_gnuplot_text(out, model);
        for (int k = 0; k < 2; k++)
            for (int set = 0; set < 2; set++) {
                double error = mean_error(set == 0 ? e : held_out, model, &quantities[k]);
                fprintf(out, " %s", isnan(error) ? "NaN" : adept_cell("%.6g", error).s);
                largest = fmax(largest, error);
            }
        fputc('\n', out);
    }
    fprintf(out, "EOD\nlargest = %.6g\n", largest);
}

#define HELD_OUT_COLOR "#D55E00" /* hollow marks; in grey they differ by that */

static void put_scatter(FILE *out, const quantity *q, bool held_out)
{
    fprintf(out,
            "set title '%s'\nset xlabel 'measured (%s)'\nset ylabel 'predicted (%s)'\nset logscale xy\n"
            "set xtics rotate by 0\nset key top left\n",
            q->label, q->axis, q->axis);
    fprintf(out, "plot x with lines lc rgb '" ADEPT_INK "' lw 1 title 'equal', 1.1*x with lines lc rgb '" ADEPT_QUIET
                 "' dt 2 title '10 %% off', x/1.1 with lines lc rgb '" ADEPT_QUIET "' dt 2 notitle");
    if (held_out)
        fprintf(out, ", $%s_held_out using 1:2 with points pt 6 ps 0.9 lw 1.3 lc rgb '%s' title 'held out'", q->name,
                HELD_OUT_COLOR);
    fprintf(out, ", $%s_rows using 1:2 with points pt 7 ps 0.45 lc rgb '%s' title '%s'\n", q->name, "#0072B2",
            held_out ? "in-sample" : "rows");
    fputs("unset logscale\n", out);
}

static void put_bars(FILE *out, bool held_out, const bool *has)
{
    static const char *const fills[2] = {"solid 1", "pattern 4"}; /* in-sample, held out */
    bool any = false;

    fputs("set title 'Mean absolute error by model'\nunset xlabel\nset ylabel 'percent'\nset yrange [0:1.8*largest]\n"
          "set style data histograms\nset style histogram clustered gap 1\nset boxwidth 0.9\n"
          "set xtics rotate by -35 textcolor rgb '" ADEPT_INK "'\nset rmargin 9\nset key top right\nplot",
          out);
    for (int k = 0; k < 2; k++) {
        for (int set = 1; set >= 0; set--) {
            if (!has[k] || (set == 1 && !held_out)) continue;
            fprintf(out, "%s $models using %d:xtic(1) fs %s border lc rgb '" ADEPT_INK "' lc rgb '%s' title '%s%s'",
                    any ? "," : "", 2 + 2 * k + set, fills[set], k == 0 ? "#0072B2" : "#F2B134", quantities[k].name,
                    !held_out  ? ""
                    : set == 1 ? ", held out"
                               : ", in-sample");
            any = true;
        }
    }
    fputc('\n', out);
}

static void put_script(FILE *out, const adept_evaluation *e, const adept_evaluation *held_out, const char *title)
{
    bool has[2], has_held_out = false;
    int panels = 1;

    for (int k = 0; k < 2; k++) {
        has[k] = put_points(out, "rows", e, &quantities[k]) > 0;
        has_held_out |= put_points(out, "held_out", held_out, &quantities[k]) > 0;
        panels += has[k];
    }
    put_models(out, e, held_out);
    fprintf(out, "eval adept_terminal(%d, 420, 12)\n", 420 * panels);
    fprintf(out, "set multiplot layout 1,%d title ", panels);
    adept_gnuplot_text(out, title);
    fputs("\nset border 3 lc rgb '" ADEPT_QUIET "'\nset tics nomirror out scale 0.6\nset grid lc rgb '" ADEPT_GRID
          "'\nset samples 200\n",
          out);
    for (int k = 0; k < 2; k++)
        if (has[k]) put_scatter(out, &quantities[k], has_held_out);
    if (has[0] || has[1]) put_bars(out, has_held_out, has);
    fputs("unset multiplot\n", out);
}

char *adept_plot_script(const adept_evaluation *e, const adept_evaluation *held_out, const char *title)
{
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);

    if (!out) return NULL;
    put_script(out, e, held_out, title);
    return adept_buffer_close(&text, out);
}

adept_status adept_plot_errors(const char *path, const adept_evaluation *e, const adept_evaluation *held_out,
                               const char *title, adept_error *err)
{
    size_t size = 0;
    char *picture = NULL;
    adept_status status = adept_gnuplot_picture(&picture, &size, adept_plot_script(e, held_out, title), path, err);

    if (status == ADEPT_OK) status = adept_file_write(path, picture, size, err);
    free(picture);
    return status;
}
