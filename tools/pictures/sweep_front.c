/** @file sweep_front.c  Every point by its time and energy, the front below them, and the best of them by name. */
#include "gnuplot.h"
#include "sweep_chart.h"
#include <math.h>

#define FRONT_POINTS 400 /* of the line; the ends among them */

static adept_chart chart_of(const adept_sweep_quantity *time, const adept_sweep_quantity *energy, double top,
                            double height)
{
    adept_chart c = {.width = ADEPT_SWEEP_WIDTH, .height = height};
    double low_x = time->low, high_x = time->high, low_y = energy->low, high_y = energy->high;

    c.frame = (adept_box){80, top + 26, ADEPT_SWEEP_KEY_X - 100, ADEPT_SWEEP_FRONT - 26 - 58, false};
    adept_sweep_range(&low_x, &high_x, &c.log_x);
    adept_sweep_range(&low_y, &high_y, &c.log_y);
    adept_chart_ranges(&c, low_x, high_x, low_y, high_y);
    return c;
}

static void put_point(FILE *out, const adept_sweep_quantity *q, const adept_sweep_found *f)
{
    fprintf(out, "%.6g %.6g\n", adept_sweep_value(&q[0], f), adept_sweep_value(&q[1], f));
}

static void put_dots(FILE *out, const adept_sweep_picture *p, const adept_sweep_quantity *q)
{
    static const char *const names[] = {"large", "dots"};

    for (int fits = 0; fits < 2; fits++) {
        fprintf(out, "$%s << EOD\n", names[fits]);
        for (size_t i = 0; i < p->cloud->n; i++)
            if (p->cloud->dots[i].fits == (fits == 1)) put_point(out, q, &p->cloud->dots[i].found);
        fputs("EOD\n", out);
    }
}

static void put_front(FILE *out, const adept_sweep_answers *a, const adept_sweep_quantity *q)
{
    size_t n = a->front.n, shown = n < FRONT_POINTS ? n : FRONT_POINTS;

    fputs("$front << EOD\n", out);
    for (size_t i = 0; i < shown; i++) {
        const adept_sweep_found f = adept_sweep_answers_front(a, shown < 2 ? 0 : i * (n - 1) / (shown - 1));
        put_point(out, q, &f);
    }
    fputs("EOD\n", out);
}

static bool same_place(const adept_sweep_mark *a, const adept_sweep_mark *b)
{
    return a->found.index == b->found.index;
}

static adept_box box_at(const adept_chart *c, const adept_sweep_quantity *q, const adept_sweep_found *f, double radius)
{
    double x = adept_chart_x(c, adept_sweep_value(&q[0], f)), y = adept_chart_y(c, adept_sweep_value(&q[1], f));
    return (adept_box){x - radius, y - radius, 2 * radius, 2 * radius, false};
}

/* Marks, the front and the points, so that labels keep off them. */
static void take_all(adept_labels *labels, const adept_sweep_picture *p, const adept_chart *c,
                     const adept_sweep_quantity *q)
{
    const adept_sweep_answers *a = p->answers;

    for (size_t i = 0; i < a->front.n; i++) {
        const adept_sweep_found f = adept_sweep_answers_front(a, i);
        adept_box box = box_at(c, q, &f, 3);
        if (i + 1 < a->front.n) { /* the step to the next point */
            const adept_sweep_found g = adept_sweep_answers_front(a, i + 1);
            box.width += adept_chart_x(c, adept_sweep_value(&q[0], &g)) - box.x - 3;
        }
        adept_labels_take(labels, box);
    }
    for (size_t i = 0; i < p->cloud->n; i++)
        adept_labels_take(labels, box_at(c, q, &p->cloud->dots[i].found, 1.5));
}

/* "least time, knee: batch=64": marks at one point share a name. False: it is told already. */
static bool name_mark(char *text, size_t size, const adept_sweep_picture *p, const adept_sweep_mark *marks, size_t n,
                      size_t at)
{
    char name[160];
    size_t used = 0;

    for (size_t j = 0; j < at; j++)
        if (same_place(&marks[at], &marks[j])) return false;
    for (size_t j = at; j < n; j++)
        if (same_place(&marks[at], &marks[j]))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", marks[j].name);
    adept_sweep_name(name, sizeof name, p->sweep, marks[at].found.index);
    snprintf(text + used, size - used, ": %s", name);
    return true;
}

static void label_marks(FILE *out, const adept_sweep_picture *p, const adept_chart *c, const adept_sweep_quantity *q,
                        const adept_sweep_mark *marks, size_t n)
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

void adept_sweep_put_front(FILE *out, const adept_sweep_picture *p, double top, double height)
{
    const adept_sweep_quantity q[] = {adept_sweep_quantity_of(p, false), adept_sweep_quantity_of(p, true)};
    const adept_chart c = chart_of(&q[0], &q[1], top, height);
    adept_sweep_mark marks[ADEPT_SWEEP_MARKS];
    size_t n = adept_sweep_marks(marks, p->answers);

    put_dots(out, p, q);
    put_front(out, p->answers, q);
    adept_chart_panel(out, &c);
    fprintf(out, "set xlabel '%s'\n", q[0].axis);
    adept_chart_rotated(out, &c, q[1].axis, 18, c.frame.y + c.frame.height / 2, 90);
    label_marks(out, p, &c, q, marks, n);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "$best%zu << EOD\n", i);
        put_point(out, q, &marks[i].found);
        fputs("EOD\n", out);
    }
    adept_sweep_key(out, &c);
    fprintf(out, "plot $dots using 1:2 with points pt 7 ps %s lc rgb '#8c8c8c' title 'point'",
            p->cloud->n < 200 ? "0.7" : "0.35");
    if (p->answers->too_large > 0)
        fputs(", $large using 1:2 with points pt 6 ps 0.5 lc rgb '#8c8c8c' title 'does not fit'", out);
    if (p->answers->front.n > 1) fputs(", $front using 1:2 with steps lw 2 lc rgb '" ADEPT_INK "' title 'front'", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, ", $best%zu using 1:2 with points pt %d ps %g lc rgb '%s' title '%s'", i, marks[i].point,
                marks[i].size, marks[i].color, marks[i].name);
    fputc('\n', out);
    adept_sweep_end_panel(out);
}
