/** @file roofline_plot.c  What the roofline shows, dots from the prediction and ceilings from the sheet, as a program
 * for gnuplot. Margins and ranges are set, so that it is known where every point lies and labels can be placed around
 *  them. */
#include "roofline_plot.h"
#include "adept_grow.h"
#include "chart.h"
#include "gnuplot.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the numbers ------------------------------------ */

/* "matrix units, BF16" of "tensor_bf16_flops_per_s" */
static void name_ceiling(adept_ceiling *c, const char *key)
{
    const char *type = strchr(key, '_') + 1, *end = strstr(key, "_flops_per_s");
    int at =
        snprintf(c->name, sizeof c->name, "%s, ", strncmp(key, "tensor", 6) == 0 ? "matrix units" : "vector units");

    for (const char *p = type; p < end; p++)
        c->name[at++] = (char)toupper((unsigned char)*p);
    c->name[at] = '\0';
}

static void add_ceiling(adept_roofline_picture *out, const char *key, double peak)
{
    size_t at = 0;

    while (at < out->n_ceilings && out->ceilings[at].flops_per_s > peak * (1 + 1e-9))
        at++;
    bool known = at < out->n_ceilings && out->ceilings[at].flops_per_s > peak * (1 - 1e-9);
    if (known || out->n_ceilings == sizeof out->ceilings / sizeof *out->ceilings) return;
    memmove(&out->ceilings[at + 1], &out->ceilings[at], (out->n_ceilings - at) * sizeof *out->ceilings);
    out->n_ceilings++;
    out->ceilings[at].flops_per_s = peak;
    name_ceiling(&out->ceilings[at], key);
}

/* The peaks that kernels of the model work under. */
static void find_ceilings(adept_roofline_picture *out, const adept_profile *profile, const adept_specs *specs)
{
#define X(field, required, text) {#field, specs->field},
    const struct {
        const char *key;
        double value;
    } rows[ADEPT_SPECS] = {ADEPT_SPEC_LIST(X)};
#undef X
    bool used[ADEPT_SPECS + 1] = {false};

    for (size_t i = 0; i < profile->n_ops; i++)
        for (const adept_kernel *k = profile->ops[i].kernels; k < profile->ops[i].kernels + profile->ops[i].n_kernels;
             k++) {
            if (k->flops > 0) used[adept_peak_spec(specs, profile->precision, k->unit, k->dtype)] = true;
            if (k->flops_alu > 0) used[adept_peak_spec(specs, profile->precision, ADEPT_UNIT_ALU, k->dtype)] = true;
        }
    for (int i = ADEPT_SPECS; i-- > 0;) /* of equal peaks that of the matrix units, which stand behind the others */
        if (used[i]) add_ceiling(out, rows[i].key, rows[i].value);
}

static bool make_dot(adept_roofline_dot *dot, const adept_profile_op *op, double passes, double time_s,
                     double step_time_s)
{
    double flops[ADEPT_UNIT_ALU + 1] = {0}, bytes = 0, all = 0;
    static const adept_shade shades[] = {ADEPT_SHADE_GEMM, ADEPT_SHADE_CONV, ADEPT_SHADE_ALU};

    for (size_t k = 0; k < op->n_kernels; k++) {
        flops[op->kernels[k].unit] += op->kernels[k].flops;
        flops[ADEPT_UNIT_ALU] += op->kernels[k].flops_alu;
        bytes += op->kernels[k].bytes_read + op->kernels[k].bytes_written;
    }
    int most = ADEPT_UNIT_GEMM;
    for (int unit = 0; unit <= ADEPT_UNIT_ALU; unit++) {
        all += flops[unit];
        if (flops[unit] > flops[most]) most = unit;
    }
    *dot = (adept_roofline_dot){.name = op->path,
                                .kind = op->kind,
                                .intensity_flops_per_byte = all / bytes,
                                .rate_flops_per_s = all * (double)op->count * passes / time_s,
                                .share = time_s / step_time_s,
                                .shade = shades[most]};
    return all > 0 && bytes > 0 && time_s > 0;
}

static int by_share(const void *a, const void *b)
{
    double x = ((const adept_roofline_dot *)a)->share, y = ((const adept_roofline_dot *)b)->share;
    return x < y ? 1 : x > y ? -1 : 0;
}

adept_status adept_roofline_picture_of(adept_roofline_picture *out, const adept_profile *profile,
                                       const adept_hwprofile *hw, const adept_op_prediction *ops, double step_time_s,
                                       adept_error *err)
{
    adept_roofline_dot *dots = calloc(profile->n_ops + 1, sizeof *dots);
    size_t n = 0;

    if (!dots) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory while drawing");
    *out = (adept_roofline_picture){.mem_bytes_per_s = hw->specs.mem_bytes_per_s};
    for (size_t i = 0; i < profile->n_ops; i++) {
        if (make_dot(&dots[n], &profile->ops[i], (double)profile->grad_accum, ops[i].time_s, step_time_s))
            n++;
        else
            out->no_arithmetic_share += ops[i].time_s / step_time_s;
    }
    qsort(dots, n, sizeof *dots, by_share);
    for (size_t i = 0; i < n; i++) { /* what takes next to no time would only stretch the axes */
        if (out->n_dots < ADEPT_ROOFLINE_DOTS && (out->n_dots == 0 || dots[i].share >= 2e-4))
            out->dots[out->n_dots++] = dots[i];
        else
            out->left_out_share += dots[i].share;
    }
    free(dots);
    find_ceilings(out, profile, &hw->specs);
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- the picture ------------------------------------ */

#define LABELS 9
#define LABEL_CHARS 24 /* of a path */
#define LABEL_PX 12.0
#define SAME_PX 4.0 /* marks closer than this are one to the eye */

/* Lines of one chart, so that everything agrees on where things are. */
typedef struct roof {
    const adept_roofline_picture *p;
    adept_chart chart;
    adept_labels labels;
} roof;

static void set_ranges(roof *r)
{
    const adept_roofline_picture *p = r->p;
    double low_x = INFINITY, high_x = 0, low_y = INFINITY, high_y = 0;

    for (size_t i = 0; i < p->n_dots; i++) {
        low_x = fmin(low_x, p->dots[i].intensity_flops_per_byte);
        high_x = fmax(high_x, p->dots[i].intensity_flops_per_byte);
        low_y = fmin(low_y, p->dots[i].rate_flops_per_s);
        high_y = fmax(high_y, p->dots[i].rate_flops_per_s);
    }
    for (size_t i = 0; i < p->n_ceilings; i++) {
        double ridge = p->ceilings[i].flops_per_s / p->mem_bytes_per_s;
        low_x = fmin(low_x, ridge / 4);
        high_x = fmax(high_x, ridge * 4);
        high_y = fmax(high_y, p->ceilings[i].flops_per_s);
        low_y = fmin(low_y, p->ceilings[i].flops_per_s / 30);
    }
    if (!(high_x > 0)) low_x = 1, high_x = 100, low_y = 1e9, high_y = 1e12;
    adept_chart_ranges(&r->chart, low_x / 2, high_x * 5, low_y / 2, high_y * 2.5);
}

static void put_dots(FILE *out, const roof *r, adept_shade shade, const char *name)
{
    fprintf(out, "$%s << EOD\n", name);
    for (size_t i = 0; i < r->p->n_dots; i++) {
        const adept_roofline_dot *d = &r->p->dots[i];
        if (d->shade != shade) continue;
        fprintf(out, "%.9g %.9g %.4g\n", d->intensity_flops_per_byte, d->rate_flops_per_s,
                adept_chart_point_size(d->share));
    }
    fputs("EOD\n", out);
}

/* From the left edge up along the bandwidth, then along the peak. */
static void put_roofs(FILE *out, const roof *r)
{
    const adept_roofline_picture *p = r->p;
    const adept_chart *c = &r->chart;

    for (size_t i = 0; i < p->n_ceilings; i++) {
        double ridge = p->ceilings[i].flops_per_s / p->mem_bytes_per_s;
        double from = i == 0 ? fmax(c->low_x, c->low_y / p->mem_bytes_per_s) : ridge;
        fprintf(out, "$roof%zu << EOD\n", i);
        if (i == 0) fprintf(out, "%.9g %.9g\n", from, from * p->mem_bytes_per_s);
        fprintf(out, "%.9g %.9g\n%.9g %.9g\nEOD\n", ridge, p->ceilings[i].flops_per_s, c->high_x,
                p->ceilings[i].flops_per_s);
    }
}

/* Lines and marks are where no label may lie. */
static void take_lines(roof *r)
{
    const adept_roofline_picture *p = r->p;
    const adept_chart *c = &r->chart;
    double top = p->n_ceilings > 0 ? p->ceilings[0].flops_per_s : c->high_y;
    double x0 = adept_chart_x(c, c->low_x), x1 = adept_chart_x(c, top / p->mem_bytes_per_s);

    for (size_t i = 0; i < p->n_ceilings; i++) {
        double ridge_x = adept_chart_x(c, p->ceilings[i].flops_per_s / p->mem_bytes_per_s);
        adept_labels_take(&r->labels, (adept_box){ridge_x, adept_chart_y(c, p->ceilings[i].flops_per_s) - 2,
                                                  c->frame.x + c->frame.width - ridge_x, 4, false});
    }
    for (double x = x0; x < x1; x += 6) {
        double intensity = c->low_x * pow(c->high_x / c->low_x, (x - c->frame.x) / c->frame.width);
        adept_labels_take(&r->labels,
                          (adept_box){x - 3, adept_chart_y(c, intensity * p->mem_bytes_per_s) - 3, 6, 6, false});
    }
    for (size_t i = 0; i < p->n_dots; i++) {
        const adept_roofline_dot *d = &p->dots[i];
        double radius = adept_chart_point_radius(d->share);
        adept_labels_take(&r->labels,
                          (adept_box){adept_chart_x(c, d->intensity_flops_per_byte) - radius,
                                      adept_chart_y(c, d->rate_flops_per_s) - radius, 2 * radius, 2 * radius, false});
    }
}

/* Above its line or below it, as far to the right as there is room. */
static void label_ceiling(FILE *out, roof *r, const adept_ceiling *ceiling)
{
    const adept_chart *c = &r->chart;
    char text[128];
    double line_y = adept_chart_y(c, ceiling->flops_per_s);

    snprintf(text, sizeof text, "%s: %s", ceiling->name, adept_units_si(ceiling->flops_per_s, "FLOP/s").s);
    double width = adept_chart_text_width(text, LABEL_PX), right = c->frame.x + c->frame.width - 4;
    for (double x = right; x - width > c->frame.x; x -= 10) {
        for (int side = -1; side <= 1; side += 2) {
            adept_box box = {x - width, line_y + 12 * side - 8, width, 16, true};
            if (!adept_labels_fits(&r->labels, &box)) continue;
            adept_labels_take(&r->labels, box);
            adept_chart_label(out, c, text, x, line_y + 12 * side, "right");
            return;
        }
    }
    adept_chart_label(out, c, text, right, line_y - 12, "right"); /* a line without a name would say nothing */
}

/* Along the slope, below the middle of its visible part. */
static void label_slope(FILE *out, roof *r)
{
    const adept_roofline_picture *p = r->p;
    const adept_chart *c = &r->chart;
    double top = p->n_ceilings > 0 ? p->ceilings[0].flops_per_s : c->high_y;
    double from = fmax(c->low_x, c->low_y / p->mem_bytes_per_s), to = fmin(c->high_x, top / p->mem_bytes_per_s);
    char text[96];

    if (!(to > from)) return;
    double x0 = adept_chart_x(c, from), x1 = adept_chart_x(c, to), middle = sqrt(from * to);
    double y0 = adept_chart_y(c, from * p->mem_bytes_per_s), y1 = adept_chart_y(c, to * p->mem_bytes_per_s);
    double angle = atan2(y0 - y1, x1 - x0);
    double x = adept_chart_x(c, middle) - 13 * sin(angle);
    double y = adept_chart_y(c, middle * p->mem_bytes_per_s) - 13 * cos(angle);
    snprintf(text, sizeof text, "memory: %s", adept_units_si(p->mem_bytes_per_s, "B/s").s);
    adept_chart_rotated(out, c, text, x, y, angle * 180 / 3.14159265358979);
    double half = adept_chart_text_width(text, LABEL_PX) / 2;
    for (double at = -half; at < half; at += 12) /* what the slanted text covers */
        adept_labels_take(&r->labels, (adept_box){x + at * cos(angle) - 8, y - at * sin(angle) - 8, 16, 16, true});
}

/* The last parts of a path, as many as make a short label. */
static const char *path_end(const char *path)
{
    while (strlen(path) > LABEL_CHARS) {
        const char *dot = strchr(path, '.');
        if (!dot || !dot[1]) return path + strlen(path) - LABEL_CHARS;
        path = dot + 1;
    }
    return path;
}

/* Does another labelled dot belong to the same module? */
static bool is_shared(const adept_roofline_picture *p, size_t at)
{
    for (size_t i = 0; i < p->n_dots && i < LABELS; i++)
        if (i != at && strcmp(p->dots[i].name, p->dots[at].name) == 0) return true;
    return false;
}

/* Marks that lie on this one share its label. Their number, and the share of all of them. */
static size_t gather(const roof *r, size_t at, bool *told, double *share)
{
    const adept_roofline_dot *dots = r->p->dots, *d = &dots[at];
    size_t n = 0;

    *share = 0;
    for (size_t i = at; i < r->p->n_dots; i++) {
        double dx = adept_chart_x(&r->chart, dots[i].intensity_flops_per_byte) -
                    adept_chart_x(&r->chart, d->intensity_flops_per_byte);
        double dy = adept_chart_y(&r->chart, dots[i].rate_flops_per_s) - adept_chart_y(&r->chart, d->rate_flops_per_s);
        if (told[i] || hypot(dx, dy) >= SAME_PX) continue;
        told[i] = true;
        *share += dots[i].share;
        n++;
    }
    return n;
}

static void label_dots(FILE *out, roof *r)
{
    bool told[ADEPT_ROOFLINE_DOTS] = {false};

    for (size_t i = 0, labels = 0; i < r->p->n_dots && labels < LABELS; i++) {
        const adept_roofline_dot *d = &r->p->dots[i];
        char text[224], more[32] = "";
        double share;
        if (told[i]) continue;
        size_t n = gather(r, i, told, &share);
        if (n > 1) snprintf(more, sizeof more, " + %zu more", n - 1);
        snprintf(text, sizeof text, "%.100s%s%.40s%s %s", path_end(d->name), is_shared(r->p, i) ? " " : "",
                 is_shared(r->p, i) ? d->kind : "", more, adept_units_percent(share).s);
        adept_chart_place(out, &r->chart, &r->labels, text, adept_chart_x(&r->chart, d->intensity_flops_per_byte),
                          adept_chart_y(&r->chart, d->rate_flops_per_s), adept_chart_point_radius(d->share));
        labels++;
    }
}

static void put_script(FILE *out, roof *r, const char *title)
{
    static const struct {
        const char *name, *title;
        adept_shade shade;
        int mark;
    } sets[] = {{"gemm", "matrix products", ADEPT_SHADE_GEMM, 7},
                {"conv", "convolutions", ADEPT_SHADE_CONV, 5},
                {"alu", "other arithmetic", ADEPT_SHADE_MEMORY, 9}};

    adept_chart_begin(out, &r->chart, title);
    fputs("set xlabel 'Arithmetic intensity (FLOP per byte read or written)'\n"
          "set ylabel 'Arithmetic rate (FLOP/s)'\nset format y '%.0s %c'\nset format x '%g'\n"
          "set key top left Left reverse\n",
          out);
    put_roofs(out, r);
    put_dots(out, r, ADEPT_SHADE_GEMM, "gemm");
    put_dots(out, r, ADEPT_SHADE_CONV, "conv");
    put_dots(out, r, ADEPT_SHADE_ALU, "alu");
    take_lines(r);
    label_slope(out, r);
    label_dots(out, r);
    for (size_t i = 0; i < r->p->n_ceilings; i++) /* last, for they may stand anywhere along their lines */
        label_ceiling(out, r, &r->p->ceilings[i]);
    fputs("plot ", out);
    for (size_t i = 0; i < r->p->n_ceilings; i++)
        fprintf(out, "$roof%zu using 1:2 with lines lw 2 dt %s lc rgb '" ADEPT_INK "' notitle, ", i,
                i == 0 ? "1" : "2");
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        fprintf(out, "%s$%s using 1:2:3 with points pt %d ps variable lc rgb '%s' title '%s'", i > 0 ? ", " : "",
                sets[i].name, sets[i].mark, adept_shades[sets[i].shade].fill, sets[i].title);
    fputc('\n', out);
}

char *adept_roofline_script(const adept_roofline_picture *picture, const char *title)
{
    roof r = {.p = picture, .chart = adept_chart_of(1000, 480)};
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);

    if (!out) return NULL;
    r.chart.log_x = r.chart.log_y = true;
    set_ranges(&r);
    r.labels.frame = r.chart.frame;
    put_script(out, &r, title);
    adept_labels_free(&r.labels);
    return adept_buffer_close(&text, out);
}
