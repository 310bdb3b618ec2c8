/** @file power_plot.c  Energies between the points of a grid of times become watts, so that components whose samples
 * lie at different times can stand upon each other, and the area below the curve is the energy. */
#include "power_plot.h"
#include "adept_grow.h"
#include "adept_file.h"
#include "chart.h"
#include "gnuplot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS 600
#define MOST_BANDS 40 /* of regions; more of them would only be noise */

/* Of a sensor between two times; NAN outside of what is known. */
static double watts(const adept_track *track, double from_s, double to_s)
{
    return adept_track_energy(track, from_s, to_s).avg_power_w;
}

/* Is the sensor's energy that of all summed ones, or a line above them? */
static bool is_drawn(const adept_recording *r, size_t i, bool stacked)
{
    adept_component c = adept_recording_track(r, i)->sensor->component;

    if (adept_recording_track(r, i)->n_samples < 2) return false;
    return stacked ? adept_track_is_summed(r, i)
                   : c == ADEPT_COMPONENT_PSYS || c == ADEPT_COMPONENT_NODE || c == ADEPT_COMPONENT_BATTERY;
}

/* Rows "time, sum until the first sensor, until the second, ..., and the lines", with what is not known as nothing. */
static double put_rows(FILE *out, const adept_recording *r, double begin_s, double end_s)
{
    double highest_w = 0;

    fputs("$watts << EOD\n", out);
    for (int n = 0; n < POINTS; n++) {
        double from_s = begin_s + n * (end_s - begin_s) / POINTS, to_s = begin_s + (n + 1) * (end_s - begin_s) / POINTS,
               sum_w = 0;
        fprintf(out, "%.9g", (from_s + to_s) / 2 - begin_s);
        for (int stacked = 1; stacked >= 0; stacked--)
            for (size_t i = 0; i < adept_recording_tracks(r); i++) {
                if (!is_drawn(r, i, stacked)) continue;
                double w = watts(adept_recording_track(r, i), from_s, to_s);
                if (stacked && !isnan(w)) sum_w += w;
                double shown_w = stacked ? sum_w : w;
                highest_w = fmax(highest_w, shown_w);
                fprintf(out, isnan(shown_w) ? " ?" : " %.9g", shown_w);
            }
        fputc('\n', out);
    }
    fputs("EOD\n", out);
    return highest_w;
}

/* Regions as bands behind the curves, each name once. */
static void put_regions(FILE *out, const adept_chart *c, const adept_recording *r, double begin_s)
{
    size_t n;
    const adept_region *regions = adept_recording_regions(r, &n);

    for (size_t i = 0; n <= MOST_BANDS && i < n; i++) {
        double from_s = regions[i].begin_s - begin_s, to_s = regions[i].end_s - begin_s;
        bool told = i > 0 && strcmp(regions[i].name, regions[i - 1].name) == 0;
        fprintf(
            out,
            "set object %zu rectangle from %.9g, graph 0 to %.9g, graph 1 behind fc rgb '%s' fs solid 0.35 noborder\n",
            i + 1, from_s, to_s, i % 2 ? "#eeeeee" : "#dfe8f0");
        if (!told) adept_chart_label(out, c, regions[i].name, adept_chart_x(c, from_s) + 3, c->frame.y + 9, "left");
    }
}

static void put_curves(FILE *out, const adept_recording *r)
{
    static const char *const fills[] = {"#0072B2", "#F2B134", "#009E73", "#CC79A7",
                                        "#56B4E9", "#D55E00", "#F0E442", "#C4C4C4"};
    size_t column = 2, of_stack = 0;
    const char *comma = "plot ";

    for (int stacked = 1; stacked >= 0; stacked--)
        for (size_t i = 0; i < adept_recording_tracks(r); i++) {
            const adept_sensor *s = adept_recording_track(r, i)->sensor;
            if (!is_drawn(r, i, stacked)) continue;
            const char *color = fills[(column - 2) % (sizeof fills / sizeof *fills)];
            fprintf(out, "%s$watts using ", comma);
            if (stacked && of_stack++ == 0)
                fprintf(out, "1:%zu with filledcurves x1 fs solid 0.8 lc rgb '%s'", column, color);
            else if (stacked)
                fprintf(out, "1:%zu:%zu with filledcurves fs solid 0.8 lc rgb '%s'", column - 1, column, color);
            else
                fprintf(out, "1:%zu with lines lw 2 lc rgb '%s'", column, ADEPT_INK);
            fputs(" title ", out);
            adept_gnuplot_text(out, s->name);
            comma = ", ";
            column++;
        }
    fputc('\n', out);
}

char *adept_power_script(const adept_recording *r, double begin_s, double end_s, const char *title)
{
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);
    adept_chart c = adept_chart_of(1000, 420);

    if (!out) return NULL;
    double highest_w = put_rows(out, r, begin_s, end_s);
    adept_chart_ranges(&c, 0, end_s - begin_s, 0, fmax(1, 1.15 * highest_w));
    adept_chart_begin(out, &c, title);
    fputs("set datafile missing '?'\nset key top right horizontal\nset xlabel 'Time (s)'\nset ylabel 'Power (W)'\n",
          out);
    put_regions(out, &c, r, begin_s);
    put_curves(out, r);
    return adept_buffer_close(&text, out);
}

adept_status adept_power_plot(const char *path, const adept_recording *r, double begin_s, double end_s,
                              const char *title, adept_error *err)
{
    bool any = false;
    char *svg = NULL;
    size_t size = 0;

    for (size_t i = 0; i < adept_recording_tracks(r); i++)
        any = any || is_drawn(r, i, true) || is_drawn(r, i, false);
    if (!any || !(end_s > begin_s))
        return adept_error_set(err, ADEPT_E_INTERNAL, "%s: no sensor measured anything to draw", path);
    adept_status status = adept_gnuplot_picture(&svg, &size, adept_power_script(r, begin_s, end_s, title), path, err);
    if (status == ADEPT_OK) status = adept_file_write(path, svg, size, err);
    free(svg);
    return status;
}
