/** @file stack_plot.c */
#include "stack_plot.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "chart.h"
#include "gnuplot.h"
#include <math.h>
#include <stdlib.h>

static void put_value(FILE *out, double value)
{
    fprintf(out, isnan(value) ? " ?" : " %.9g", value);
}

/* Rows "time, sum until the first series, until the second, ..., line", each twice so that steps are level. @return the
 * highest value */
static double put_rows(FILE *out, const adept_stack *s)
{
    double highest_w = 0;

    fputs("$watts << EOD\n", out);
    for (size_t row = 0; row < 2 * s->n_steps; row++) {
        size_t step = row / 2;
        double sum_w = 0;
        fprintf(out, "%.9g", (double)(step + row % 2) * s->step_s);
        for (size_t i = 0; i < s->n_series; i++) {
            sum_w += s->power_w[i * s->n_steps + step];
            put_value(out, sum_w);
        }
        put_value(out, s->line_w[step]);
        highest_w = fmax(highest_w, fmax(sum_w, s->line_w[step]));
        fputc('\n', out);
    }
    fputs("EOD\n", out);
    return highest_w;
}

static void put_curves(FILE *out, const adept_stack *s)
{
    static const char *const fills[] = {"#0072B2", "#F2B134", "#009E73", "#CC79A7",
                                        "#56B4E9", "#D55E00", "#F0E442", "#E3C1D6"};

    fputs("plot ", out);
    for (size_t i = 0; i < s->n_series; i++) {
        if (i == 0)
            fputs("$watts using 1:2 with filledcurves x1", out);
        else
            fprintf(out, "$watts using 1:%zu:%zu with filledcurves", i + 1, i + 2);
        fprintf(out, " fs solid 0.8 lc rgb '%s' title ", fills[i % (sizeof fills / sizeof *fills)]);
        adept_gnuplot_text(out, s->names[i]);
        fputs(", ", out);
    }
    fprintf(out, "$watts using 1:%zu with lines lw 1 lc rgb '%s' title \"measured\"\n", s->n_series + 2, ADEPT_INK);
}

char *adept_stack_script(const adept_stack *s)
{
    adept_buffer text = {0};
    FILE *out = adept_buffer_stream(&text);
    adept_chart c = adept_chart_of(1000, 420);

    if (!out) return NULL;
    double highest_w = put_rows(out, s);
    adept_chart_ranges(&c, 0, (double)s->n_steps * s->step_s, 0, fmax(1e-3, 1.3 * highest_w));
    adept_chart_begin(out, &c, s->title);
    fputs("set datafile missing '?'\nset key top right horizontal\nset xlabel 'Time (s)'\nset ylabel 'Power (W)'\n",
          out);
    put_curves(out, s);
    return adept_buffer_close(&text, out);
}

adept_status adept_stack_plot(const char *path, const adept_stack *stack, adept_error *err)
{
    char *svg = NULL;
    size_t size = 0;
    adept_status status = adept_gnuplot_picture(&svg, &size, adept_stack_script(stack), path, err);

    if (status == ADEPT_OK) status = adept_file_write(path, svg, size, err);
    free(svg);
    return status;
}
