/** @file sweep_picture.c  The frame of the picture, and what its panels share. */
#include "sweep_picture.h"
#include "gnuplot.h"
#include "sweep_chart.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double adept_sweep_value(const adept_sweep_quantity *q, const adept_sweep_found *f)
{
    return q->scale * (q->energy ? f->energy_step_j : f->step_time_s) / (q->per_sample ? f->samples : 1);
}

static void take_value(adept_sweep_quantity *q, const adept_sweep_found *f)
{
    double value = adept_sweep_value(q, f);

    q->known &= isfinite(value) && value > 0;
    q->low = fmin(q->low, value);
    q->high = fmax(q->high, value);
}

adept_sweep_quantity adept_sweep_quantity_of(const adept_sweep_picture *p, bool energy)
{
    static const char *const names[2][2] = {{"Step time", "Time per sample"}, {"Energy per step", "Energy per sample"}};
    adept_sweep_quantity q = {.energy = energy,
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
    q.scale = adept_chart_scale(q.axis, sizeof q.axis, names[energy][q.per_sample], energy ? "J" : "s", q.high);
    q.low *= q.scale;
    q.high *= q.scale;
    return q;
}

void adept_sweep_range(double *low, double *high, bool *is_log)
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

size_t adept_sweep_marks(adept_sweep_mark *out, const adept_sweep_answers *a)
{
    static const adept_sweep_mark looks[] = {{"least time", 11, 1.7, "#D55E00", {0}},
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

void adept_sweep_name(char *text, size_t size, const adept_sweep *sweep, uint64_t index)
{
    size_t at[ADEPT_SWEEP_MAX_AXES], used = 0;

    adept_sweep_at(at, sweep, index);
    text[0] = '\0';
    for (size_t i = 0; i < sweep->n_axes && used + 2 < size; i++) {
        char value[64];
        const char *key = sweep->axes[i].key, *dot = strrchr(key, '.');
        if (sweep->axes[i].n < 2 || at[i] == ADEPT_SWEEP_UNVARIED) continue;
        adept_sweep_print_value(value, sizeof value, &sweep->axes[i], at[i]);
        if (!adept_sweep_has_words(&sweep->axes[i]) && fabs(sweep->axes[i].numbers[at[i]]) >= 1e5)
            snprintf(value, sizeof value, "%s", adept_units_si(sweep->axes[i].numbers[at[i]], "").s);
        int n = snprintf(text + used, size - used, "%s%s=%s", used > 0 ? ", " : "", dot ? dot + 1 : key, value);
        used = n > 0 && used + (size_t)n < size ? used + (size_t)n : size - 1;
    }
}

void adept_sweep_key(FILE *out, const adept_chart *c)
{
    fprintf(out, "set key at screen %.5f,%.5f left top Left reverse vertical samplen 1.5 spacing 1.2\n",
            ADEPT_SWEEP_KEY_X / c->width, 1 - c->frame.y / c->height);
}

void adept_sweep_end_panel(FILE *out)
{
    fputs("unset for [i=1:400] label i\nunset for [i=1:400] arrow i\nunset label 9999\nunset logscale\nset xtics "
          "autofreq\nset format x '%g'\nset format y '%g'\nunset key\n",
          out);
}

static void put_nothing(FILE *out)
{
    fputs("set label 'No point can run' at screen 0.5,0.5 center\nunset border\nunset tics\nset xrange [0:1]\n"
          "set yrange [0:1]\nplot 2 notitle\n",
          out);
}

static void put_script(FILE *out, const adept_sweep_picture *p)
{
    size_t rows = adept_sweep_rows_of(p);
    bool front = adept_sweep_quantity_of(p, true).known && p->cloud->n > 1;
    double height = ADEPT_SWEEP_TOP + (double)rows * ADEPT_SWEEP_ROW + (front ? ADEPT_SWEEP_FRONT : 0);
    adept_chart whole = adept_chart_of(ADEPT_SWEEP_WIDTH, fmax(height, 140));

    adept_chart_ranges(&whole, 0, 1, 0, 1);
    adept_chart_begin(out, &whole, p->title);
    fputs("set multiplot\nunset key\n", out);
    if (p->cloud->n == 0 || (rows == 0 && !front)) put_nothing(out);
    if (rows > 0) adept_sweep_put_rows(out, p, whole.height);
    if (front) adept_sweep_put_front(out, p, ADEPT_SWEEP_TOP + (double)rows * ADEPT_SWEEP_ROW, whole.height);
    fputs("unset multiplot\n", out);
}

char *adept_sweep_script(const adept_sweep_picture *picture)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    put_script(out, picture);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}
