/** @file sweep_picture.c  A frame, rows of panels of curves or maps over what varies, and the front below them. */
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
#define ROW_HEIGHT 262.0 /* of a row of curves or maps */
#define FRONT_HEIGHT 400.0
#define TOP 34.0
#define KEY_X 828.0 /* where keys begin: right of the panels */

/* ---------------------------------------------------------------- what panels share ------------------------------ */

/* A number of a point: time or energy, of a step or of a sample as the answers compare them. */
typedef struct quantity {
    bool energy, per_sample, known; /* known: of every point */
    double scale;                   /* to what the axis shows */
    double low, high;               /* of all points, scaled */
    char axis[64];                  /* "Step time (ms)" */
} quantity;

/* Points worth a mark: the best, and the knee. Those that come first are larger, so that none hides another. */
typedef struct mark {
    const char *name;
    int point; /* gnuplot's, and its size */
    double size;
    const char *color;
    adept_sweep_found found;
} mark;
#define MARKS (ADEPT_SWEEP_OBJECTIVES + 1)

static double value_of(const quantity *q, const adept_sweep_found *f)
{
    return q->scale * (q->energy ? f->energy_step_j : f->step_time_s) / (q->per_sample ? f->samples : 1);
}

static void take_value(quantity *q, const adept_sweep_found *f)
{
    double value = value_of(q, f);

    q->known &= isfinite(value) && value > 0;
    q->low = fmin(q->low, value);
    q->high = fmax(q->high, value);
}

static quantity quantity_of(const adept_sweep_picture *p, bool energy)
{
    static const char *const names[2][2] = {{"Step time", "Time per sample"}, {"Energy per step", "Energy per sample"}};
    static const char *const of_runs[2] = {"Time of a run", "Energy of a run"};
    quantity q = {.energy = energy,
                  .per_sample = p->answers->per_sample,
                  .known = p->cloud->n > 0,
                  .scale = 1,
                  .low = INFINITY,
                  .high = 0};

    for (size_t i = 0; i < p->cloud->n; i++)
        take_value(&q, &p->cloud->dots[i].found);
    for (size_t i = 0; i < p->answers->front.n; i++) { /* of a large grid these may not be among the dots */
        const adept_sweep_found f = adept_sweep_answers_front(p->answers, i);
        take_value(&q, &f);
    }
    const char *name = p->of_runs ? of_runs[energy] : names[energy][q.per_sample];
    q.scale = adept_chart_scale(q.axis, sizeof q.axis, name, energy ? "J" : "s", q.high);
    q.low *= q.scale;
    q.high *= q.scale;
    return q;
}

static void widen(double *low, double *high, bool *is_log)
{
    double span = *high - *low;

    *is_log = *low > 0 && *high > 12 * *low;
    if (*is_log) {
        *low /= 1.3;
        *high *= 1.5;
    } else if (*low >= 0 && *low < 0.6 * *high) {
        *low = 0;
        *high *= 1.1;
    } else {
        span = fmax(span, 0.02 * fabs(*high));
        *low -= 0.15 * span;
        *high += 0.15 * span;
    }
}

static size_t find_marks(mark *out, const adept_sweep_answers *a)
{
    static const mark looks[] = {{"least time", 11, 1.7, "#D55E00", {0}},
                                 {"least energy", 9, 1.35, "#009E73", {0}},
                                 {"least energy x time", 5, 0.9, "#0072B2", {0}},
                                 {"knee", 13, 0.75, "#F0E442", {0}}};
    size_t n = 0, knee = adept_pareto_knee(&a->front);

    for (size_t i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++)
        if (a->found[i]) {
            out[n] = looks[i];
            out[n++].found = a->best[i];
        }
    if (knee < a->front.n) {
        out[n] = looks[ADEPT_SWEEP_OBJECTIVES];
        out[n++].found = adept_sweep_answers_front(a, knee);
    }
    return n;
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

static void name_point(char *text, size_t size, const adept_sweep *sweep, uint64_t index)
{
    size_t at[ADEPT_SWEEP_MAX_AXES], used = 0;

    adept_sweep_at(at, sweep, index);
    text[0] = '\0';
    for (size_t i = 0; i < sweep->n_axes && used + 2 < size; i++) {
        char value[64];
        const adept_sweep_axis *axis = &sweep->axes[i];
        if (axis->n < 2 || at[i] == ADEPT_SWEEP_UNVARIED) continue;
        print_value(value, sizeof value, axis, at[i]);
        int n = snprintf(text + used, size - used, "%s%s=%s", used > 0 ? ", " : "", short_key(axis), value);
        used = n > 0 && used + (size_t)n < size ? used + (size_t)n : size - 1;
    }
}

static void put_key(FILE *out, const adept_chart *c)
{
    fprintf(out, "set key at screen %.5f,%.5f left top Left reverse vertical samplen 1.5 spacing 1.2\n",
            KEY_X / c->width, 1 - c->frame.y / c->height);
}

/* Their points stand in the blocks NAMEmark0, NAMEmark1, ... @param outlined  in white, on the colours of a map */
static void plot_marks(FILE *out, const char *name, const mark *marks, size_t n, bool outlined)
{
    for (size_t i = 0; i < n; i++) {
        if (outlined)
            fprintf(out, ", $%smark%zu using 1:2 with points pt %d ps %g lc rgb '#ffffff' notitle", name, i,
                    marks[i].point, marks[i].size + 0.5);
        fprintf(out, ", $%smark%zu using 1:2 with points pt %d ps %g lc rgb '%s' title '%s'", name, i, marks[i].point,
                marks[i].size, marks[i].color, marks[i].name);
    }
}

/* Labels and lines of a panel are forgotten. */
static void end_panel(FILE *out)
{
    fputs("unset for [i=1:400] label i\nunset for [i=1:400] arrow i\nunset label 9999\nunset logscale\nset xtics "
          "autofreq\nset format x '%g'\nset format y '%g'\nunset key\n",
          out);
}

/* ---------------------------------------------------------------- curves and maps -------------------------------- */

/* Time and energy over one axis, with the values of a second one as lines or, if there are many, as the rows of a map.
 */
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

/* The rows: each axis alone, or the one or two axes of a grid that is kept as a whole. */
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

/* Where a value stands on the axis: words and rows of a map by their number. */
static double place(const adept_sweep_axis *axis, size_t at, bool by_number)
{
    return by_number || adept_sweep_has_words(axis) ? (double)at : axis->numbers[at];
}

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
        print_value(text, sizeof text, axis, i);
        fputs(i > 0 ? ", " : "", out);
        adept_gnuplot_text(out, text);
        fprintf(out, " %.9g", place(axis, i, by_number));
    }
    fputs(")\n", out);
}

static adept_chart panel_of(const row *r, bool right, bool alone)
{
    adept_chart c = {.width = WIDTH, .height = r->height};
    double width = alone ? KEY_X - 100 : (KEY_X - 180) / 2;
    double bar = r->map ? 60 : 0, head = r->map ? 32 : 14; /* room for the scale of colours, and for its name */

    c.frame = (adept_box){right ? 80 + width + 84 : 80, r->top + head, width - bar, ROW_HEIGHT - head - 58, false};
    set_x_range(&c, r);
    return c;
}

/* A line of data, if the point lies in this panel. One at a time, a point has its place in the row of its axis only. */
static bool put_point(FILE *out, const row *r, const quantity *q, const adept_sweep_found *f, size_t line)
{
    size_t at[ADEPT_SWEEP_MAX_AXES];

    adept_sweep_at(at, r->p->sweep, f->index);
    if (at[r->x] == ADEPT_SWEEP_UNVARIED || (line != NONE && r->lines != NONE && at[r->lines] != line)) return false;
    fprintf(out, "%.9g %.9g\n", place(&r->p->sweep->axes[r->x], at[r->x], r->map),
            r->map ? (double)at[r->lines] : value_of(q, f));
    return true;
}

/* @param line  NONE: points that do not fit the memory */
static void put_data(FILE *out, const row *r, const quantity *q, size_t line)
{
    for (size_t i = 0; i < r->p->cloud->n; i++)
        if (line != NONE || !r->p->cloud->dots[i].fits) put_point(out, r, q, &r->p->cloud->dots[i].found, line);
    fputs("EOD\n", out);
}

static void put_mark_data(FILE *out, const row *r, const quantity *q, const char *name, const mark *marks, size_t n)
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

static void put_curves(FILE *out, const row *r, const char *name, const mark *marks, size_t n_marks)
{
    const adept_sweep_axis *axis = &r->p->sweep->axes[r->x];
    size_t n = r->lines == NONE ? 1 : r->p->sweep->axes[r->lines].n;
    bool words = adept_sweep_has_words(axis), dense = axis->n > 40;

    fputs("plot ", out);
    for (size_t i = 0; i < n; i++) {
        char text[128] = "";
        if (r->lines != NONE) {
            const char *key = short_key(&r->p->sweep->axes[r->lines]);
            char value[64];
            adept_sweep_print_value(value, sizeof value, &r->p->sweep->axes[r->lines], i);
            snprintf(text, sizeof text, "%.40s=%s", strlen(key) > 12 ? "" : key, value);
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
    plot_marks(out, name, marks, n_marks, false);
    fputc('\n', out);
}

static void put_map(FILE *out, const row *r, const quantity *q, const adept_chart *c, const char *name,
                    const mark *marks, size_t n_marks)
{
    size_t at[ADEPT_SWEEP_MAX_AXES];

    fprintf(out, "$%smap << EOD\n", name);
    for (size_t i = 0; i < r->p->cloud->n; i++) {
        const adept_sweep_found *f = &r->p->cloud->dots[i].found;
        adept_sweep_at(at, r->p->sweep, f->index);
        fprintf(out, "%zu %zu %.6g\n", at[r->x], at[r->lines], value_of(q, f));
    }
    fputs("EOD\n", out);
    put_mark_data(out, r, q, name, marks, n_marks);
    const adept_box *f = &c->frame;
    fprintf(out,
            "set palette defined (0 '#00204d', 0.25 '#31446b', 0.5 '#7c7b78', 0.75 '#bbaf71', 1 '#ffea46')\n"
            "set colorbox user origin screen %.5f,%.5f size screen 0.012,%.5f\nset cbrange [%.6g:%.6g]\n%s"
            "set style fill solid noborder\nplot $%smap using 1:2:(0.5):(0.5):3 with boxxyerror lc palette notitle",
            (f->x + f->width + 8) / c->width, 1 - (f->y + f->height) / c->height, f->height / c->height, q->low,
            q->high > q->low ? q->high : q->low * 1.01 + 1e-9,
            q->low > 0 && q->high > 3 * q->low ? "set logscale cb\n" : "", name);
    plot_marks(out, name, marks, n_marks, true);
    fputs("\nunset logscale cb\nunset colorbox\n", out);
}

static void put_panel(FILE *out, const row *r, const quantity *q, bool right, bool alone, const char *name)
{
    const adept_sweep_axis *axis = &r->p->sweep->axes[r->x];
    adept_chart c = panel_of(r, right, alone);
    mark marks[MARKS];
    char text[128];
    size_t n_marks = find_marks(marks, r->p->answers), n = r->lines == NONE ? 1 : r->p->sweep->axes[r->lines].n;

    c.low_y = q->low;
    c.high_y = q->high;
    if (r->map) {
        c.low_y = -0.5;
        c.high_y = (double)n - 0.5;
    } else {
        widen(&c.low_y, &c.high_y, &c.log_y);
        if (adept_sweep_has_words(axis)) c.low_y = 0, c.log_y = false;
        for (size_t i = 0; i < n; i++) {
            fprintf(out, "$%s%zu << EOD\n", name, i);
            put_data(out, r, q, i);
        }
        fprintf(out, "$%slarge << EOD\n", name);
        put_data(out, r, q, NONE);
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
    if (!right) put_key(out, &c);
    if (r->map)
        put_map(out, r, q, &c, name, marks, n_marks);
    else
        put_curves(out, r, name, marks, n_marks);
    end_panel(out);
}

/* Time and energy, side by side. */
static void put_row(FILE *out, const row *r, const quantity q[2], size_t number)
{
    char name[32];

    snprintf(name, sizeof name, "time%zu_", number);
    put_panel(out, r, &q[0], false, !q[1].known, name);
    snprintf(name, sizeof name, "energy%zu_", number);
    if (q[1].known) put_panel(out, r, &q[1], true, false, name);
}

/* ---------------------------------------------------------------- the front -------------------------------------- */

#define FRONT_POINTS 400 /* of the line; the ends among them */

static adept_chart chart_of(const quantity *time, const quantity *energy, double top, double height)
{
    adept_chart c = {.width = WIDTH, .height = height};
    double low_x = time->low, high_x = time->high, low_y = energy->low, high_y = energy->high;

    c.frame = (adept_box){80, top + 26, KEY_X - 100, FRONT_HEIGHT - 26 - 58, false};
    widen(&low_x, &high_x, &c.log_x);
    widen(&low_y, &high_y, &c.log_y);
    adept_chart_ranges(&c, low_x, high_x, low_y, high_y);
    return c;
}

static void put_dot(FILE *out, const quantity *q, const adept_sweep_found *f)
{
    fprintf(out, "%.6g %.6g\n", value_of(&q[0], f), value_of(&q[1], f));
}

static void put_dots(FILE *out, const adept_sweep_picture *p, const quantity *q)
{
    static const char *const names[] = {"large", "dots"};

    for (int fits = 0; fits < 2; fits++) {
        fprintf(out, "$%s << EOD\n", names[fits]);
        for (size_t i = 0; i < p->cloud->n; i++)
            if (p->cloud->dots[i].fits == (fits == 1)) put_dot(out, q, &p->cloud->dots[i].found);
        fputs("EOD\n", out);
    }
}

static void put_front_line(FILE *out, const adept_sweep_answers *a, const quantity *q)
{
    size_t n = a->front.n, shown = n < FRONT_POINTS ? n : FRONT_POINTS;

    fputs("$front << EOD\n", out);
    for (size_t i = 0; i < shown; i++) {
        const adept_sweep_found f = adept_sweep_answers_front(a, shown < 2 ? 0 : i * (n - 1) / (shown - 1));
        put_dot(out, q, &f);
    }
    fputs("EOD\n", out);
}

static adept_box box_at(const adept_chart *c, const quantity *q, const adept_sweep_found *f, double radius)
{
    double x = adept_chart_x(c, value_of(&q[0], f)), y = adept_chart_y(c, value_of(&q[1], f));
    return (adept_box){x - radius, y - radius, 2 * radius, 2 * radius, false};
}

/* Marks, the front and the points, so that labels keep off them. */
static void take_all(adept_labels *labels, const adept_sweep_picture *p, const adept_chart *c, const quantity *q)
{
    const adept_sweep_answers *a = p->answers;

    for (size_t i = 0; i < a->front.n; i++) {
        const adept_sweep_found f = adept_sweep_answers_front(a, i);
        adept_box box = box_at(c, q, &f, 3);
        if (i + 1 < a->front.n) { /* the step to the next point */
            const adept_sweep_found g = adept_sweep_answers_front(a, i + 1);
            box.width += adept_chart_x(c, value_of(&q[0], &g)) - box.x - 3;
        }
        adept_labels_take(labels, box);
    }
    for (size_t i = 0; i < p->cloud->n; i++)
        adept_labels_take(labels, box_at(c, q, &p->cloud->dots[i].found, 1.5));
}

/* "least time, knee: batch=64": marks at one point share a name. False: it is told already. */
static bool name_mark(char *text, size_t size, const adept_sweep_picture *p, const mark *marks, size_t n, size_t at)
{
    char name[160];

    text[0] = '\0';
    for (size_t j = 0; j < at; j++)
        if (marks[j].found.index == marks[at].found.index) return false;
    for (size_t j = at; j < n; j++)
        if (marks[j].found.index == marks[at].found.index)
            adept_append(text, size, "%s%s", *text ? ", " : "", marks[j].name);
    name_point(name, sizeof name, p->sweep, marks[at].found.index);
    adept_append(text, size, ": %s", name);
    return true;
}

static void label_marks(FILE *out, const adept_sweep_picture *p, const adept_chart *c, const quantity *q,
                        const mark *marks, size_t n)
{
    adept_labels free_of_all = {.frame = c->frame}, free_of_marks = {.frame = c->frame};

    take_all(&free_of_all, p, c, q);
    for (size_t i = 0; i < n; i++) {
        const adept_box box = box_at(c, q, &marks[i].found, 8);
        adept_labels_take(&free_of_all, box);
        adept_labels_take(&free_of_marks, box);
    }
    for (size_t i = 0; i < n; i++) {
        char text[320];
        const adept_box box = box_at(c, q, &marks[i].found, 0);
        if (!name_mark(text, sizeof text, p, marks, n, i)) continue;
        size_t before = free_of_all.n;
        if (adept_chart_place(out, c, &free_of_all, text, box.x, box.y, 8)) /* the other one is to know of it */
            for (size_t j = before; j < free_of_all.n; j++)
                adept_labels_take(&free_of_marks, free_of_all.taken[j]);
        else
            adept_chart_place(out, c, &free_of_marks, text, box.x, box.y, 8);
    }
    adept_labels_free(&free_of_all);
    adept_labels_free(&free_of_marks);
}

static void put_front(FILE *out, const adept_sweep_picture *p, const quantity q[2], double top, double height)
{
    const adept_chart c = chart_of(&q[0], &q[1], top, height);
    mark marks[MARKS];
    size_t n = find_marks(marks, p->answers);

    put_dots(out, p, q);
    put_front_line(out, p->answers, q);
    adept_chart_panel(out, &c);
    fprintf(out, "set xlabel '%s'\n", q[0].axis);
    adept_chart_rotated(out, &c, q[1].axis, 18, c.frame.y + c.frame.height / 2, 90);
    label_marks(out, p, &c, q, marks, n);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "$bestmark%zu << EOD\n", i);
        put_dot(out, q, &marks[i].found);
        fputs("EOD\n", out);
    }
    put_key(out, &c);
    fprintf(out, "plot $dots using 1:2 with points pt 7 ps %s lc rgb '#8c8c8c' title 'point'",
            p->cloud->n < 200 ? "0.7" : "0.35");
    if (p->answers->too_large > 0)
        fputs(", $large using 1:2 with points pt 6 ps 0.5 lc rgb '#8c8c8c' title 'does not fit'", out);
    if (p->answers->front.n > 1) fputs(", $front using 1:2 with steps lw 2 lc rgb '" ADEPT_INK "' title 'front'", out);
    plot_marks(out, "best", marks, n, false);
    fputc('\n', out);
    end_panel(out);
}

/* ---------------------------------------------------------------- the whole -------------------------------------- */

static void put_nothing(FILE *out)
{
    fputs("set label 'No point can run' at screen 0.5,0.5 center\nunset border\nunset tics\nset xrange [0:1]\n"
          "set yrange [0:1]\nplot 2 notitle\n",
          out);
}

static void put_script(FILE *out, const adept_sweep_picture *p)
{
    row rows[MOST_ROWS];
    size_t n = find_rows(rows, p);
    const quantity q[] = {quantity_of(p, false), quantity_of(p, true)};
    bool front = q[1].known && p->cloud->n > 1;
    double front_top = TOP + (double)n * ROW_HEIGHT;
    adept_chart whole = adept_chart_of(WIDTH, fmax(front_top + (front ? FRONT_HEIGHT : 0), 140));

    adept_chart_ranges(&whole, 0, 1, 0, 1);
    adept_chart_begin(out, &whole, p->title);
    fputs("set multiplot\nunset key\n", out);
    if (p->cloud->n == 0 || (n == 0 && !front)) put_nothing(out);
    for (size_t i = 0; i < n; i++) {
        rows[i].top = TOP + (double)i * ROW_HEIGHT;
        rows[i].height = whole.height;
        put_row(out, &rows[i], q, i);
    }
    if (n > 0) fputs("set ytics autofreq\n", out);
    if (front) put_front(out, p, q, front_top, whole.height);
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
