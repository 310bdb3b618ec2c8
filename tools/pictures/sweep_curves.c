/** @file sweep_curves.c  Time and energy over one axis, with the values of a second one as lines or, if there are many,
 * as the rows of a map. */
#include "gnuplot.h"
#include "sweep_chart.h"
#include <math.h>
#include <string.h>

#define MOST_ROWS 8
#define MOST_LINES 8    /* of a second axis: beyond, a map */
#define MOST_CELLS 2500 /* of a map: each is some 200 bytes, twice */
#define MOST_TICS 8
#define NONE ((size_t)-1)

/* What a row draws. */
typedef struct row {
    const adept_sweep_picture *p;
    size_t x, lines; /* axes; lines NONE: there is no second one */
    bool map;
    double top, height; /* of the row in the picture, and of the picture */
} row;

static bool is_drawn(const adept_sweep_axis *axis)
{
    return axis->n > 1;
}

/* The rows: each axis alone, or the one or two axes of a grid that is kept as a whole. */
static size_t find_rows(row *rows, const adept_sweep_picture *p)
{
    const adept_sweep *s = p->sweep;
    size_t found[ADEPT_SWEEP_MAX_AXES], n = 0;

    for (size_t i = 0; i < s->n_axes; i++)
        if (is_drawn(&s->axes[i])) found[n++] = i;
    if (p->cloud->n == 0 || n == 0) return 0;
    if (s->one_at_a_time || n == 1) {
        n = n < MOST_ROWS ? n : MOST_ROWS;
        for (size_t i = 0; i < n; i++)
            rows[i] = (row){.p = p, .x = found[i], .lines = NONE};
        return n;
    }
    if (n > 2 || p->cloud->stride > 1 || p->cloud->n > MOST_CELLS) return 0;
    bool words = adept_sweep_has_words(&s->axes[found[0]]), other_words = adept_sweep_has_words(&s->axes[found[1]]);
    bool swap = words != other_words ? words : s->axes[found[1]].n > s->axes[found[0]].n;
    rows[0] = (row){.p = p, .x = found[swap], .lines = found[!swap]};
    rows[0].map = s->axes[rows[0].lines].n > MOST_LINES;
    return 1;
}

size_t adept_sweep_rows_of(const adept_sweep_picture *p)
{
    row rows[MOST_ROWS];
    return find_rows(rows, p);
}

/* Where a value stands on the axis: words and rows of a map by their number. */
static double place(const adept_sweep_axis *axis, size_t at, bool by_number)
{
    return by_number || adept_sweep_has_words(axis) ? (double)at : axis->numbers[at];
}

/* ---- ranges and tics ---- */

static void set_x_range(adept_chart *c, const row *r)
{
    const adept_sweep_axis *axis = &r->p->sweep->axes[r->x];
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < axis->n; i++) {
        low = fmin(low, place(axis, i, r->map));
        high = fmax(high, place(axis, i, r->map));
    }
    c->log_x = !r->map && !adept_sweep_has_words(axis) && low > 0 && high > 12 * low;
    double room = r->map || adept_sweep_has_words(axis) ? 0.5 : 0.03 * (high - low);
    c->low_x = c->log_x ? low / pow(high / low, 0.03) : low - room;
    c->high_x = c->log_x ? high * pow(high / low, 0.03) : high + room;
}

/* Tics at values of the axis: all if they are few, else evenly chosen ones. */
static void put_tics(FILE *out, char which, const adept_sweep_axis *axis, bool by_number)
{
    size_t step = (axis->n + MOST_TICS - 1) / MOST_TICS;

    if (!by_number && !adept_sweep_has_words(axis) && axis->n > MOST_TICS) {
        fprintf(out, "set %ctics autofreq\nset format %c '%s'\n", which, which,
                fabs(axis->numbers[axis->n - 1]) >= 1e5 ? "%.1s%c" : "%g");
        return;
    }
    fprintf(out, "set %ctics (", which);
    for (size_t i = 0; i < axis->n; i += step) {
        char text[64];
        adept_sweep_print_value(text, sizeof text, axis, i);
        if (!adept_sweep_has_words(axis) && fabs(axis->numbers[i]) >= 1e5)
            snprintf(text, sizeof text, "%s", adept_units_si(axis->numbers[i], "").s);
        fputs(i > 0 ? ", " : "", out);
        adept_gnuplot_text(out, text);
        fprintf(out, " %.9g", place(axis, i, by_number));
    }
    fputs(")\n", out);
}

/* ---- one panel ---- */

static adept_chart panel_of(const row *r, bool right, bool alone)
{
    adept_chart c = {.width = ADEPT_SWEEP_WIDTH, .height = r->height};
    double width = alone ? ADEPT_SWEEP_KEY_X - 100 : (ADEPT_SWEEP_KEY_X - 180) / 2;
    double bar = r->map ? 60 : 0, head = r->map ? 32 : 14; /* room for the scale of colours, and for its name */

    c.frame = (adept_box){right ? 80 + width + 84 : 80, r->top + head, width - bar, ADEPT_SWEEP_ROW - head - 58, false};
    set_x_range(&c, r);
    return c;
}

/* A line of data, if the point lies in this panel. One at a time, a point has its place in the row of its axis only. */
static bool put_point(FILE *out, const row *r, const adept_sweep_quantity *q, const adept_sweep_found *f, size_t line)
{
    size_t at[ADEPT_SWEEP_MAX_AXES];

    adept_sweep_at(at, r->p->sweep, f->index);
    if (at[r->x] == ADEPT_SWEEP_UNVARIED || (line != NONE && r->lines != NONE && at[r->lines] != line)) return false;
    fprintf(out, "%.9g %.9g\n", place(&r->p->sweep->axes[r->x], at[r->x], false), adept_sweep_value(q, f));
    return true;
}

static void put_line_data(FILE *out, const row *r, const adept_sweep_quantity *q, const char *name, size_t line)
{
    fprintf(out, "$%s%zu << EOD\n", name, line);
    for (size_t i = 0; i < r->p->cloud->n; i++)
        put_point(out, r, q, &r->p->cloud->dots[i].found, line);
    fputs("EOD\n", out);
}

static void put_large(FILE *out, const row *r, const adept_sweep_quantity *q, const char *name)
{
    fprintf(out, "$%slarge << EOD\n", name);
    for (size_t i = 0; i < r->p->cloud->n; i++)
        if (!r->p->cloud->dots[i].fits) put_point(out, r, q, &r->p->cloud->dots[i].found, NONE);
    fputs("EOD\n", out);
}

static void put_mark_data(FILE *out, const row *r, const adept_sweep_quantity *q, const char *name,
                          const adept_sweep_mark *marks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "$%smark%zu << EOD\n", name, i);
        if (!put_point(out, r, q, &marks[i].found, NONE)) fputs("NaN NaN\n", out);
        fputs("EOD\n", out);
    }
}

/* Okabe and Ito's, dark and light in turn, each with a mark and a dash of its own. */
static const struct {
    const char *color, *dash;
    int point;
} line_looks[MOST_LINES] = {{"#0072B2", "1", 7},      {"#E69F00", "'-'", 6}, {"#009E73", "'.'", 8},
                            {"#CC79A7", "'-.'", 4},   {"#000000", "1", 5},   {"#56B4E9", "'--.'", 12},
                            {"#D55E00", "'-..'", 10}, {"#8c8c8c", "'--'", 3}};

static void put_curves(FILE *out, const row *r, const char *name, const adept_sweep_mark *marks, size_t n_marks)
{
    const adept_sweep_axis *axis = &r->p->sweep->axes[r->x];
    size_t n = r->lines == NONE ? 1 : r->p->sweep->axes[r->lines].n;
    bool words = adept_sweep_has_words(axis), dense = axis->n > 40;

    fputs("plot ", out);
    for (size_t i = 0; i < n; i++) {
        char text[128] = "";
        if (r->lines != NONE) {
            const char *key = r->p->sweep->axes[r->lines].key, *dot = strrchr(key, '.');
            char value[64];
            adept_sweep_print_value(value, sizeof value, &r->p->sweep->axes[r->lines], i);
            snprintf(text, sizeof text, "%.40s=%s", strlen(dot ? dot + 1 : key) > 12 ? "" : dot ? dot + 1 : key, value);
        }
        fprintf(out, "%s$%s%zu using 1:2 %s lw %s dt %s pt %d ps 0.6 lc rgb '%s' %s", i > 0 ? ", " : "", name, i,
                words   ? "with impulses"
                : dense ? "smooth unique with lines"
                        : "smooth unique with linespoints",
                words ? "8" : "2", words ? "1" : line_looks[i].dash, line_looks[i].point,
                words && n == 1 ? "#9ecbe8" : line_looks[i].color, *text ? "title " : "notitle");
        if (*text) adept_gnuplot_text(out, text[0] == '=' ? text + 1 : text);
    }
    if (r->p->answers->too_large > 0)
        fprintf(out, ", $%slarge using 1:2 with points pt 6 ps 1.1 lc rgb '#8c8c8c' title 'does not fit'", name);
    for (size_t i = 0; i < n_marks; i++)
        fprintf(out, ", $%smark%zu using 1:2 with points pt %d ps %g lc rgb '%s' title '%s'", name, i, marks[i].point,
                marks[i].size, marks[i].color, marks[i].name);
    fputc('\n', out);
}

static void put_map(FILE *out, const row *r, const adept_sweep_quantity *q, const adept_chart *c, const char *name,
                    const adept_sweep_mark *marks, size_t n_marks)
{
    size_t at[ADEPT_SWEEP_MAX_AXES];

    fprintf(out, "$%smap << EOD\n", name);
    for (size_t i = 0; i < r->p->cloud->n; i++) {
        const adept_sweep_found *f = &r->p->cloud->dots[i].found;
        adept_sweep_at(at, r->p->sweep, f->index);
        fprintf(out, "%zu %zu %.6g\n", at[r->x], at[r->lines], adept_sweep_value(q, f));
    }
    fputs("EOD\n", out);
    for (size_t i = 0; i < n_marks; i++) {
        adept_sweep_at(at, r->p->sweep, marks[i].found.index);
        fprintf(out, "$%smark%zu << EOD\n%zu %zu\nEOD\n", name, i, at[r->x], at[r->lines]);
    }
    const adept_box *f = &c->frame;
    fprintf(out,
            "set palette defined (0 '#00204d', 0.25 '#31446b', 0.5 '#7c7b78', 0.75 '#bbaf71', 1 '#ffea46')\n"
            "set colorbox user origin screen %.5f,%.5f size screen 0.012,%.5f\nset cbrange [%.6g:%.6g]\n%s"
            "set style fill solid noborder\nplot $%smap using 1:2:(0.5):(0.5):3 with boxxyerror lc palette notitle",
            (f->x + f->width + 8) / c->width, 1 - (f->y + f->height) / c->height, f->height / c->height, q->low,
            q->high > q->low ? q->high : q->low * 1.01 + 1e-9,
            q->low > 0 && q->high > 3 * q->low ? "set logscale cb\n" : "", name);
    for (size_t i = 0; i < n_marks; i++)
        fprintf(out,
                ", $%smark%zu using 1:2 with points pt %d ps %g lc rgb '#ffffff' notitle"
                ", $%smark%zu using 1:2 with points pt %d ps %g lc rgb '%s' title '%s'",
                name, i, marks[i].point, marks[i].size + 0.5, name, i, marks[i].point, marks[i].size, marks[i].color,
                marks[i].name);
    fputs("\nunset logscale cb\nunset colorbox\n", out);
}

static void put_panel(FILE *out, const row *r, const adept_sweep_quantity *q, bool right, bool alone, const char *name)
{
    const adept_sweep_axis *axis = &r->p->sweep->axes[r->x];
    adept_chart c = panel_of(r, right, alone);
    adept_sweep_mark marks[ADEPT_SWEEP_MARKS];
    char text[128];
    size_t n_marks = adept_sweep_marks(marks, r->p->answers), n = r->lines == NONE ? 1 : r->p->sweep->axes[r->lines].n;

    c.low_y = q->low;
    c.high_y = q->high;
    if (r->map) {
        c.low_y = -0.5;
        c.high_y = (double)n - 0.5;
    } else {
        adept_sweep_range(&c.low_y, &c.high_y, &c.log_y);
        if (adept_sweep_has_words(axis)) c.low_y = 0, c.log_y = false;
        for (size_t i = 0; i < n; i++)
            put_line_data(out, r, q, name, i);
        put_large(out, r, q, name);
        put_mark_data(out, r, q, name, marks, n_marks);
    }
    adept_chart_panel(out, &c);
    put_tics(out, 'x', axis, r->map);
    snprintf(text, sizeof text, "%s%s", axis->key, axis->relative ? " (times what is there)" : "");
    fputs("set xlabel ", out);
    adept_gnuplot_text(out, text);
    fputc('\n', out);
    if (r->map) {
        put_tics(out, 'y', &r->p->sweep->axes[r->lines], true);
        adept_chart_rotated(out, &c, r->p->sweep->axes[r->lines].key, c.frame.x - 58, c.frame.y + c.frame.height / 2,
                            90);
        adept_chart_label(out, &c, q->axis, c.frame.x, c.frame.y - 18, "left");
    } else {
        fputs("set ytics autofreq\n", out);
        adept_chart_rotated(out, &c, q->axis, c.frame.x - 62, c.frame.y + c.frame.height / 2, 90);
    }
    if (!right) adept_sweep_key(out, &c);
    if (r->map)
        put_map(out, r, q, &c, name, marks, n_marks);
    else
        put_curves(out, r, name, marks, n_marks);
    adept_sweep_end_panel(out);
}

void adept_sweep_put_rows(FILE *out, const adept_sweep_picture *p, double height)
{
    row rows[MOST_ROWS];
    size_t n = find_rows(rows, p);
    const adept_sweep_quantity time = adept_sweep_quantity_of(p, false), energy = adept_sweep_quantity_of(p, true);

    for (size_t i = 0; i < n; i++) {
        char name[32];
        rows[i].top = ADEPT_SWEEP_TOP + (double)i * ADEPT_SWEEP_ROW;
        rows[i].height = height;
        snprintf(name, sizeof name, "time%zu_", i);
        put_panel(out, &rows[i], &time, false, !energy.known, name);
        snprintf(name, sizeof name, "energy%zu_", i);
        if (energy.known) put_panel(out, &rows[i], &energy, true, false, name);
    }
    fputs("set ytics autofreq\n", out);
}
