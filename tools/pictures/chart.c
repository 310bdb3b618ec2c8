/** @file chart.c  One look for all charts of gnuplot's. */
#include "chart.h"
#include "gnuplot.h"
#include <math.h>

#define LABEL_PX 12.0

adept_chart adept_chart_of(double width, double height)
{
    return (adept_chart){.width = width, .height = height, .frame = {86, 40, width - 86 - 18, height - 40 - 58}};
}

void adept_chart_ranges(adept_chart *c, double low_x, double high_x, double low_y, double high_y)
{
    c->low_x = low_x;
    c->high_x = high_x;
    c->low_y = low_y;
    c->high_y = high_y;
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
    fprintf(out, "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset tmargin at screen %.5f\n",
            c->frame.x / c->width, (c->frame.x + c->frame.width) / c->width, 1 - c->frame.y / c->height);
    fprintf(out, "set bmargin at screen %.5f\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n",
            1 - (c->frame.y + c->frame.height) / c->height, c->low_x, c->high_x, c->low_y, c->high_y);
}

double adept_chart_x(const adept_chart *c, double x)
{
    return c->frame.x + c->frame.width * (x - c->low_x) / (c->high_x - c->low_x);
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

void adept_chart_label(FILE *out, const adept_chart *c, const char *text, double x, double y, const char *align)
{
    fputs("set label ", out);
    adept_gnuplot_text(out, text);
    fprintf(out, " at screen %.5f,%.5f %s front boxed font 'sans-serif,%.0f' textcolor rgb '" ADEPT_INK "'\n",
            x / c->width, 1 - y / c->height, align, LABEL_PX);
}
