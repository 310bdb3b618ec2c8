/** @file sweep_picture.c  Time and energy over what varies, as curves or as maps, and every point by both below them.
 */
#include "sweep_picture.h"
#include "adept_append.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "chart.h"
#include "gnuplot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1000.0
#define ROW_PX 280.0
#define FRONT_PX 380.0
#define MOST_ROWS 8
#define MOST_LINES 8    /* of a second axis: beyond, a map */
#define MOST_CELLS 2500 /* of lines and maps */
#define MOST_TICS 8
#define NONE ((size_t)-1)

/* A number of a point: time or energy, of a step or of a sample as the answers compare them. */
typedef struct quantity {
    bool energy, per_sample, known; /* known: of every point */
    double scale;                   /* to what the axis shows */
    char axis[64];                  /* "Step time (ms)" */
} quantity;

static double value_of(const quantity *q, const adept_sweep_found *f)
{
    return q->scale * (q->energy ? f->energy_step_j : f->step_time_s) / (q->per_sample ? f->samples : 1);
}

static quantity quantity_of(const adept_sweep_picture *p, bool energy)
{
    static const char *const names[2][2] = {{"Step time", "Time per sample"}, {"Energy per step", "Energy per sample"}};
    static const char *const of_runs[2] = {"Time of a run", "Energy of a run"};
    quantity q = {.energy = energy, .per_sample = p->answers->per_sample, .known = p->cloud->n > 0, .scale = 1};
    double high = 0;

    for (size_t i = 0; i < p->cloud->n; i++) {
        const double value = value_of(&q, &p->cloud->dots[i].found);
        q.known &= isfinite(value) && value > 0;
        high = fmax(high, value);
    }
    q.scale = adept_chart_scale(q.axis, sizeof q.axis, p->of_runs ? of_runs[energy] : names[energy][q.per_sample],
                                energy ? "J" : "s", high);
    return q;
}

/* "l2_bytes" of "specs.l2_bytes" */
static const char *short_key(const adept_sweep_axis *axis)
{
    const char *dot = strrchr(axis->key, '.');
    return dot ? dot + 1 : axis->key;
}

static void print_value(char *text, size_t size, const adept_sweep_axis *axis, size_t at)
{
    if (!adept_sweep_has_words(axis) && fabs(axis->numbers[at]) >= 1e5)
        snprintf(text, size, "%s", adept_units_si(axis->numbers[at], "").s);
    else
        adept_sweep_print_value(text, size, axis, at);
}

/* Where a value stands: words, and cells of a map, by their number. */
static double place(const adept_sweep_axis *axis, size_t at, bool by_number)
{
    return by_number || adept_sweep_has_words(axis) ? (double)at : axis->numbers[at];
}

/* Values of an axis whose places are numbers: all, or evenly some. */
static void put_tics(FILE *out, char which, const adept_sweep_axis *axis, bool by_number)
{
    const size_t step = (axis->n + MOST_TICS - 1) / MOST_TICS;

    if (!by_number && !adept_sweep_has_words(axis)) {
        fprintf(out, "set %ctics autofreq\nset format %c '%s'\n", which, which,
                fabs(axis->numbers[axis->n - 1]) >= 1e5 ? "%.1s%c" : "%g");
        return;
    }
    fprintf(out, "set %ctics (", which);
    for (size_t i = 0; i < axis->n; i += step) {
        char text[64];
        print_value(text, sizeof text, axis, i);
        fputs(i > 0 ? ", " : "", out);
        adept_gnuplot_text(out, text);
        fprintf(out, " %zu", i);
    }
    fputs(")\n", out);
}

static void put_axis_name(FILE *out, char which, const adept_sweep_axis *axis)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s", axis->key, axis->relative ? " (times what is there)" : "");
    fprintf(out, "set %clabel ", which);
    adept_gnuplot_text(out, text);
    fputc('\n', out);
}

/* ---------------------------------------------------------------- curves and maps -------------------------------- */

/* What a row draws: an axis, with the values of a second one as lines or as the rows of a map. */
typedef struct row {
    size_t x, lines; /* axes; lines NONE: there is no second one */
    bool map;
} row;

static size_t find_rows(row *rows, const adept_sweep_picture *p)
{
    const adept_sweep *s = p->sweep;
    size_t found[ADEPT_SWEEP_MAX_AXES], n = 0;

    for (size_t i = 0; i < s->n_axes; i++)
        if (s->axes[i].n > 1) found[n++] = i;
    if (p->cloud->n == 0 || n == 0) return 0;
    if (s->one_at_a_time || n == 1) {
        n = n < MOST_ROWS ? n : MOST_ROWS;
        for (size_t i = 0; i < n; i++)
            rows[i] = (row){found[i], NONE, false};
        return n;
    }
    if (n > 2 || p->cloud->stride > 1 || p->cloud->n > MOST_CELLS) return 0;
    bool words = adept_sweep_has_words(&s->axes[found[0]]), other_words = adept_sweep_has_words(&s->axes[found[1]]);
    bool swap = words != other_words ? words : s->axes[found[1]].n > s->axes[found[0]].n;
    rows[0] = (row){found[swap], found[!swap], s->axes[found[!swap]].n > MOST_LINES};
    return 1;
}

/* A block of the points of a line; of a map of all. One at a time, a point has its place in the row of its axis only.
 */
static void put_points(FILE *out, const adept_sweep_picture *p, const row *r, const quantity *q, size_t line)
{
    for (size_t i = 0; i < p->cloud->n; i++) {
        const adept_sweep_found *f = &p->cloud->dots[i].found;
        size_t at[ADEPT_SWEEP_MAX_AXES];
        adept_sweep_at(at, p->sweep, f->index);
        if (at[r->x] == ADEPT_SWEEP_UNVARIED || (r->lines != NONE && !r->map && at[r->lines] != line)) continue;
        fprintf(out, "%.9g ", place(&p->sweep->axes[r->x], at[r->x], r->map));
        if (r->map) fprintf(out, "%zu ", at[r->lines]);
        fprintf(out, "%.6g\n", value_of(q, f));
    }
    fputs("EOD\n", out);
}

/* Okabe and Ito's, dark and light in turn, each with a mark and a dash of its own. */
static const struct {
    const char *color, *dash;
    int point;
} looks[MOST_LINES] = {{"#0072B2", "1", 7}, {"#E69F00", "'-'", 6},    {"#009E73", "'.'", 8},    {"#CC79A7", "'-.'", 4},
                       {"#000000", "1", 5}, {"#56B4E9", "'--.'", 12}, {"#D55E00", "'-..'", 10}, {"#8c8c8c", "'--'", 3}};

static void put_panel(FILE *out, const adept_sweep_picture *p, const row *r, const quantity *q)
{
    const adept_sweep_axis *axis = &p->sweep->axes[r->x], *second = r->lines == NONE ? NULL : &p->sweep->axes[r->lines];
    const bool words = adept_sweep_has_words(axis);
    const size_t n = second && !r->map ? second->n : 1;

    for (size_t i = 0; i < n; i++) {
        fprintf(out, "$line%zu << EOD\n", i);
        put_points(out, p, r, q, i);
    }
    put_axis_name(out, 'x', axis);
    put_tics(out, 'x', axis, r->map);
    fprintf(out, "set autoscale\nset offsets %s, graph 0.05, graph 0.02\n",
            words || r->map ? "0.5, 0.5" : "graph 0.02, graph 0.02");
    if (r->map) {
        put_axis_name(out, 'y', second);
        put_tics(out, 'y', second, true);
        fprintf(
            out,
            "set palette defined (0 '#00204d', 0.25 '#31446b', 0.5 '#7c7b78', 0.75 '#bbaf71', 1 '#ffea46')\n"
            "set cblabel '%s'\nset style fill solid noborder\n"
            "plot $line0 using 1:2:(0.5):(0.5):3 with boxxyerror lc palette notitle\nunset cblabel\nunset colorbox\n",
            q->axis);
        return;
    }
    fprintf(out, "set ylabel '%s'\nset ytics autofreq\nset format y '%%g'\n%splot ", q->axis,
            words ? "set yrange [0:*]\n" : "");
    for (size_t i = 0; i < n; i++) {
        char value[64], text[128] = "";
        if (second) adept_sweep_print_value(value, sizeof value, second, i);
        if (second) snprintf(text, sizeof text, "%.40s=%s", short_key(second), value);
        fprintf(out, "%s$line%zu using 1:2 %s lw %d dt %s pt %d ps 0.6 lc rgb '%s' title ", i > 0 ? ", " : "", i,
                words && !second ? "with impulses"
                : axis->n > 40   ? "smooth unique with lines"
                : words          ? "with points"
                                 : "smooth unique with linespoints",
                words && !second ? 8 : 2, looks[i].dash, looks[i].point, looks[i].color);
        adept_gnuplot_text(out, text);
    }
    fputs("\nset autoscale\n", out);
}

/* ---------------------------------------------------------------- the front -------------------------------------- */

/* "batch=64, gpus=2" */
static void name_point(char *text, size_t size, const adept_sweep *sweep, uint64_t index)
{
    size_t at[ADEPT_SWEEP_MAX_AXES];

    adept_sweep_at(at, sweep, index);
    text[0] = '\0';
    for (size_t i = 0; i < sweep->n_axes; i++) {
        char value[64];
        const adept_sweep_axis *axis = &sweep->axes[i];
        if (axis->n < 2 || at[i] == ADEPT_SWEEP_UNVARIED) continue;
        print_value(value, sizeof value, axis, at[i]);
        adept_append(text, size, "%s%s=%s", *text ? ", " : "", short_key(axis), value);
    }
}

static void put_dot(FILE *out, const quantity q[2], const adept_sweep_found *f)
{
    fprintf(out, "%.6g %.6g\n", value_of(&q[0], f), value_of(&q[1], f));
}

/* Every point by its time and energy, the front that no point lies below, and the best with their names. */
static void put_front(FILE *out, const adept_sweep_picture *p, const quantity q[2])
{
    static const char *const names[] = {"least time", "least energy", "least energy x time"};
    static const char *const blocks[] = {"large", "fits"};
    const adept_sweep_answers *a = p->answers;

    for (int fits = 0; fits < 2; fits++) {
        fprintf(out, "$%s << EOD\n", blocks[fits]);
        for (size_t i = 0; i < p->cloud->n; i++)
            if (p->cloud->dots[i].fits == (fits == 1)) put_dot(out, q, &p->cloud->dots[i].found);
        fputs("EOD\n", out);
    }
    fputs("$front << EOD\n", out);
    for (size_t i = 0; i < a->front.n; i++) {
        const adept_sweep_found f = adept_sweep_answers_front(a, i);
        put_dot(out, q, &f);
    }
    fputs("EOD\n", out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!a->found[i]) continue;
        fprintf(out, "$best%zu << EOD\n", i);
        put_dot(out, q, &a->best[i]);
        fputs("EOD\n", out);
    }
    fprintf(out,
            "set offsets graph 0.03, graph 0.03, graph 0.05, graph 0.05\nset xtics autofreq\nset ytics autofreq\n"
            "set format x '%%g'\nset format y '%%g'\nset xlabel '%s'\nset ylabel '%s'\n"
            "plot $fits using 1:2 with points pt 7 ps %s lc rgb '#8c8c8c' title 'point'",
            q[0].axis, q[1].axis, p->cloud->n < 200 ? "0.7" : "0.35");
    if (a->too_large > 0)
        fputs(", $large using 1:2 with points pt 6 ps 0.6 lc rgb '#8c8c8c' title 'does not fit'", out);
    if (a->front.n > 1) fputs(", $front using 1:2 with steps lw 2 lc rgb '" ADEPT_INK "' title 'front'", out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char point[160], text[224];
        if (!a->found[i]) continue;
        name_point(point, sizeof point, p->sweep, a->best[i].index);
        snprintf(text, sizeof text, "%s: %s", names[i], point);
        fprintf(out, ", $best%zu using 1:2 with points pt %d ps %g lw 2 lc rgb '%s' title ", i, looks[i].point + 1,
                2.2 - 0.5 * (double)i, looks[2 * i].color);
        adept_gnuplot_text(out, text);
    }
    fputc('\n', out);
}

/* ---------------------------------------------------------------- the whole -------------------------------------- */

static void put_script(FILE *out, const adept_sweep_picture *p)
{
    row rows[MOST_ROWS];
    const quantity q[] = {quantity_of(p, false), quantity_of(p, true)};
    const size_t n = find_rows(rows, p), columns = q[1].known ? 2 : 1;
    const bool front = q[1].known && p->cloud->n > 1;
    const double height = 34 + (double)n * ROW_PX + (front ? FRONT_PX : 0);
    adept_chart whole = adept_chart_of(WIDTH, fmax(height, 140));

    adept_chart_ranges(&whole, 0, 1, 0, 1);
    adept_chart_begin(out, &whole, p->title);
    if (n == 0 && !front) {
        fprintf(out, "set label '%s' at screen 0.5,0.5 center\nunset border\nunset tics\nplot 2 notitle\n",
                p->cloud->n == 0 ? "No point can run" : "One point");
        return;
    }
    fputs("unset lmargin\nunset rmargin\nunset tmargin\nunset bmargin\nset key outside top center horizontal\nset "
          "multiplot\n",
          out);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < columns; c++) {
            fprintf(out, "set origin %.4f,%.4f\nset size %.4f,%.4f\n", (double)c / (double)columns,
                    1 - (34 + (double)(i + 1) * ROW_PX) / height, 1 / (double)columns, ROW_PX / height);
            if (rows[i].map) fputs("set colorbox\n", out);
            put_panel(out, p, &rows[i], &q[c]);
            fputs("unset label 9999\n", out);
        }
    fprintf(out, "set origin 0,0\nset size 1,%.4f\nset key outside right top vertical width -4\n", FRONT_PX / height);
    if (front) put_front(out, p, q);
    fputs("unset multiplot\n", out);
}

adept_status adept_sweep_plot(const char *path, const adept_sweep_picture *picture, adept_error *err)
{
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);
    char *drawn = NULL;
    size_t size = 0;

    if (out) put_script(out, picture);
    adept_status status = adept_gnuplot_picture(&drawn, &size, adept_buffer_close(&text, out), path, err);
    if (status == ADEPT_OK) status = adept_file_write(path, drawn, size, err);
    free(drawn);
    return status;
}
