/** @file report_pictures.c  From a prediction to the numbers of each picture. */
#include "report_pictures.h"
#include "adept_grow.h"
#include "bars.h"
#include "gnuplot.h"
#include "limits_plot.h"
#include "roofline_plot.h"
#include "treemap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *adept_picture_file(adept_picture_id id)
{
    static const char *const files[] = {"step.svg",     "time-by-layer.svg", "energy-by-layer.svg",
                                        "roofline.svg", "memory.svg",        "power-limit.svg"};
    return files[id];
}

void adept_pictures_free(adept_pictures *pictures)
{
    for (int i = 0; i < ADEPT_PICTURE_COUNT; i++)
        free(pictures->svg[i]);
    *pictures = (adept_pictures){.interval_level = NAN};
}

static adept_status no_memory(adept_cli *cli)
{
    return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while drawing");
}

/* The end of an SVG of our own. */
static adept_status keep(adept_cli *cli, adept_pictures *out, adept_picture_id id, adept_buffer *text, FILE *stream)
{
    char *svg = adept_buffer_close(text, stream);
    if (!svg) return no_memory(cli);
    out->svg[id] = svg;
    out->size[id] = strlen(svg);
    return ADEPT_OK;
}

static adept_status keep_drawn(adept_cli *cli, adept_pictures *out, adept_picture_id id, char *script)
{
    return adept_gnuplot_picture(&out->svg[id], &out->size[id], script, adept_picture_file(id), &cli->err);
}

/* ---------------------------------------------------------------- bars ------------------------------------------- */

static double pass_energy_j(const adept_predicted_step *r)
{
    double sum_j = 0;

    for (size_t i = 0; i < r->groups.n; i++)
        sum_j += r->groups.rows[i].energy_j;
    return sum_j;
}

/* The watts of pass and optimizer are the mean of all kernels where each has its own: what the pass leaves of both is
 * the optimizer's. */
static double optimizer_energy_j(const adept_predicted_step *r, double pass_j)
{
    const adept_prediction *p = &r->prediction;

    return p->pass_w * p->pass_s + p->optimizer_w * p->optimizer_s - pass_j;
}

static adept_bar time_bar(const adept_predicted_step *r)
{
    const adept_prediction *p = &r->prediction;
    adept_bar bar = {.scale = p->step_time_s, .print = adept_units_time};

    snprintf(bar.title, sizeof bar.title, "step time\n%s", adept_units_time(p->step_time_s).s);
    if (adept_granularity_of(r->hw, r->run) == ADEPT_GRANULARITY_OPERATOR) {
        adept_bar_add(&bar, "matrix products", p->gemm_s, ADEPT_SHADE_GEMM);
        adept_bar_add(&bar, "convolutions", p->conv_s, ADEPT_SHADE_CONV);
        adept_bar_add(&bar, "other arithmetic", p->alu_s, ADEPT_SHADE_ALU);
        adept_bar_add(&bar, "waiting for memory", p->memory_s, ADEPT_SHADE_MEMORY);
    } else { /* by these equations arithmetic and traffic overlap: their times are no parts of the pass */
        adept_bar_add(&bar, adept_mode_trains(r->profile->mode) ? "forward and backward" : "forward", p->pass_s,
                      ADEPT_SHADE_GEMM);
    }
    adept_bar_add(&bar, "kernel launches", p->kernel_launch_s, ADEPT_SHADE_LAUNCH);
    adept_bar_add(&bar, "communication", p->comm_s, ADEPT_SHADE_COMMUNICATION);
    adept_bar_add(&bar, "optimizer", p->optimizer_s, ADEPT_SHADE_OPTIMIZER);
    adept_bar_add(&bar, "fixed", p->fixed_s, ADEPT_SHADE_FIXED);
    return bar;
}

/* Behind what the all-reduce hides, and where the rest of it stands in the step: on the step's own scale. */
static adept_bar allreduce_bar(const adept_predicted_step *r)
{
    const adept_prediction *p = &r->prediction;
    adept_bar bar = {.scale = p->step_time_s, .print = adept_units_time};

    snprintf(bar.title, sizeof bar.title, "all-reduce\n%s", adept_units_time(p->comm_s + p->comm_hidden_s).s);
    bar.start = fmax(p->pass_s + p->kernel_launch_s - p->comm_hidden_s, 0);
    adept_bar_add(&bar, "beside backward", p->comm_hidden_s, ADEPT_SHADE_HIDDEN);
    adept_bar_add(&bar, "waited for", p->comm_s, ADEPT_SHADE_COMMUNICATION);
    return bar;
}

static adept_bar energy_bar(const adept_predicted_step *r)
{
    const adept_prediction *p = &r->prediction;
    double pass_j = pass_energy_j(r);
    double optimizer_j = optimizer_energy_j(r, pass_j);
    double rest_j = p->energy_step_j - pass_j - optimizer_j - p->comm_w * p->comm_s;
    adept_bar bar = {.scale = p->energy_step_j, .print = adept_units_joule};

    snprintf(bar.title, sizeof bar.title, "energy\n%s", adept_units_si(p->energy_step_j, "J").s);
    adept_bar_add(&bar, adept_mode_trains(r->profile->mode) ? "forward and backward" : "forward", pass_j,
                  ADEPT_SHADE_GEMM);
    adept_bar_add(&bar, "communication", p->comm_w * p->comm_s, ADEPT_SHADE_COMMUNICATION);
    adept_bar_add(&bar, "optimizer", optimizer_j, ADEPT_SHADE_OPTIMIZER);
    adept_bar_add(&bar, "launches, fixed", rest_j, ADEPT_SHADE_FIXED);
    return bar;
}

/* Shares that sum to one. Under a power limit one may be negative: what takes less time draws more power. Such a one
 * has no place in a bar; the sentences name it. */
static adept_bar wait_bar(const adept_elasticities *e)
{
    static const adept_shade shades[ADEPT_WAITS] = {
        [ADEPT_WAIT_arithmetic] = ADEPT_SHADE_GEMM, [ADEPT_WAIT_waves] = ADEPT_SHADE_CONV,
        [ADEPT_WAIT_memory] = ADEPT_SHADE_MEMORY,   [ADEPT_WAIT_network] = ADEPT_SHADE_COMMUNICATION,
        [ADEPT_WAIT_host] = ADEPT_SHADE_LAUNCH,     [ADEPT_WAIT_gaps] = ADEPT_SHADE_FIXED,
        [ADEPT_WAIT_power] = ADEPT_SHADE_POWER};
    adept_bar bar = {.scale = 0, .title = "waits for", .print = adept_units_percent};

    for (size_t i = 0; i < ADEPT_WAITS; i++) {
        bar.scale += e->wait[i] > 0 ? e->wait[i] : 0;
        adept_bar_add(&bar, adept_wait_name(i), e->wait[i], shades[i]);
    }
    return bar;
}

static adept_status draw_step(adept_cli *cli, adept_pictures *out, const adept_predicted_step *r,
                              const adept_elasticities *elasticities)
{
    adept_buffer text = {.data = NULL};
    FILE *file = adept_buffer_stream(&text);
    adept_bar bars[4];
    size_t n = 0;

    if (!file) return no_memory(cli);
    bars[n++] = time_bar(r);
    if (r->prediction.comm_s + r->prediction.comm_hidden_s > 0) bars[n++] = allreduce_bar(r);
    if (isfinite(r->prediction.energy_step_j)) bars[n++] = energy_bar(r);
    bars[n] = wait_bar(elasticities);
    if (bars[n].n > 0) n++;
    adept_bars_draw(file, "step", "Where the step goes", bars, n);
    return keep(cli, out, ADEPT_PICTURE_STEP, &text, file);
}

static adept_status draw_memory(adept_cli *cli, adept_pictures *out, const adept_predicted_step *r)
{
    const adept_memory *m = &r->prediction.memory;
    adept_buffer text = {.data = NULL};
    FILE *file = adept_buffer_stream(&text);
    adept_bar bar = {.scale = 1.02 * fmax(m->peak_bytes, m->capacity_bytes), .print = adept_units_bytes};
    char mark[96];

    if (!file) return no_memory(cli);
    snprintf(bar.title, sizeof bar.title, "memory\n%s", adept_units_bytes(m->peak_bytes).s);
    adept_bar_add(&bar, "weights", m->weights_bytes, ADEPT_SHADE_GEMM);
    adept_bar_add(&bar, "gradients", m->gradients_bytes, ADEPT_SHADE_CONV);
    adept_bar_add(&bar, "optimizer state", m->optimizer_bytes, ADEPT_SHADE_OPTIMIZER);
    adept_bar_add(&bar, "activations", m->activations_bytes, ADEPT_SHADE_MEMORY);
    adept_bar_add(&bar, "other", m->other_bytes, ADEPT_SHADE_FIXED);
    adept_bar_add(&bar, "free", m->capacity_bytes - m->peak_bytes, ADEPT_SHADE_FREE);
    snprintf(mark, sizeof mark, "capacity %s: %s", adept_units_bytes(m->capacity_bytes).s,
             m->fits ? "fits" : "DOES NOT FIT");
    bar.mark = m->capacity_bytes;
    bar.mark_name = mark;
    adept_bars_draw(file, "memory", r->run->gpus > 1 ? "Memory of each GPU" : "Memory of the GPU", &bar, 1);
    return keep(cli, out, ADEPT_PICTURE_MEMORY, &text, file);
}

/* ---------------------------------------------------------------- treemaps --------------------------------------- */

static adept_shade shade_of(adept_bound bound)
{
    static const adept_shade shades[] = {ADEPT_SHADE_COMPUTE, ADEPT_SHADE_MEMORY, ADEPT_SHADE_LAUNCH,
                                         ADEPT_SHADE_COMMUNICATION};
    return shades[bound];
}

/* Layers, and beside them what of the step belongs to none. */
static size_t list_items(adept_treemap_item *items, const adept_predicted_step *r, bool of_energy)
{
    const adept_prediction *p = &r->prediction;
    size_t n = 0;

    for (size_t i = 0; i < r->groups.n; i++) {
        const adept_group *g = &r->groups.rows[i];
        items[n++] = (adept_treemap_item){g->name, adept_class_short(g->module_class),
                                          of_energy ? g->energy_j : g->time_s, shade_of(adept_group_bound(g)), false};
    }
    double pass_j = of_energy ? pass_energy_j(r) : 0, optimizer_j = optimizer_energy_j(r, pass_j),
           comm_j = p->comm_w * p->comm_s;
    items[n++] =
        (adept_treemap_item){"optimizer", "", of_energy ? optimizer_j : p->optimizer_s, ADEPT_SHADE_OPTIMIZER, true};
    items[n++] =
        (adept_treemap_item){"communication", "", of_energy ? comm_j : p->comm_s, ADEPT_SHADE_COMMUNICATION, true};
    if (of_energy) {
        double rest_j = p->energy_step_j - pass_j - optimizer_j - comm_j;
        items[n++] = (adept_treemap_item){"launches, fixed", "", rest_j, ADEPT_SHADE_FIXED, true};
    } else {
        items[n++] = (adept_treemap_item){"kernel launches", "", p->kernel_launch_s, ADEPT_SHADE_LAUNCH, true};
        items[n++] = (adept_treemap_item){"fixed", "", p->fixed_s, ADEPT_SHADE_FIXED, true};
    }
    return n;
}

static adept_status draw_treemap(adept_cli *cli, adept_pictures *out, const adept_predicted_step *r, bool of_energy)
{
    adept_picture_id id = of_energy ? ADEPT_PICTURE_ENERGY : ADEPT_PICTURE_TIME;
    const adept_treemap_look look = {of_energy ? "energy" : "time",
                                     of_energy ? "Energy of the step by layer" : "Time of the step by layer",
                                     of_energy ? adept_units_joule : adept_units_time};
    adept_treemap_item *items = calloc(r->groups.n + 4, sizeof *items);
    adept_buffer text = {.data = NULL};
    FILE *file = items ? adept_buffer_stream(&text) : NULL;

    if (!file) {
        free(items);
        return no_memory(cli);
    }
    adept_status status = adept_treemap_draw(file, items, list_items(items, r, of_energy), &look, &cli->err);
    free(items);
    adept_status kept = keep(cli, out, id, &text, file);
    return status == ADEPT_OK ? kept : status;
}

/* ---------------------------------------------------------------- gnuplot's -------------------------------------- */

static adept_status draw_roofline(adept_cli *cli, adept_pictures *out, const adept_predicted_step *r)
{
    adept_roofline_picture *picture = malloc(sizeof *picture);
    char title[160];

    if (!picture) return no_memory(cli);
    adept_status status =
        adept_roofline_picture_of(picture, r->profile, r->hw, r->ops, r->prediction.step_time_s, &cli->err);
    snprintf(title, sizeof title, "Operators under the roof of %s", r->hw->name);
    out->roofline_no_arithmetic = picture->no_arithmetic_share;
    out->roofline_left_out = picture->left_out_share;
    if (status == ADEPT_OK)
        status = keep_drawn(cli, out, ADEPT_PICTURE_ROOFLINE, adept_roofline_script(picture, title));
    free(picture);
    return status;
}

static adept_status draw_limits(adept_cli *cli, adept_pictures *out, const adept_predicted_step *r)
{
    adept_limit_curve *curve = malloc(sizeof *curve);

    if (!curve) return no_memory(cli);
    adept_status status = adept_limit_curve_of(curve, &r->limits, r->profile, r->hw, r->run, &cli->err);
    out->interval_level = curve->level;
    if (status == ADEPT_OK)
        status = keep_drawn(cli, out, ADEPT_PICTURE_LIMITS, adept_limits_script(curve, "What a power limit does"));
    free(curve);
    return status;
}

adept_status adept_pictures_draw(adept_cli *cli, adept_pictures *out, const adept_explanation *x)
{
    const adept_predicted_step *step = x->step;

    *out = (adept_pictures){.interval_level = NAN};
    adept_status status = draw_step(cli, out, step, &x->elasticities);
    if (status == ADEPT_OK) status = draw_treemap(cli, out, step, false);
    if (status == ADEPT_OK && isfinite(step->prediction.energy_step_j)) status = draw_treemap(cli, out, step, true);
    if (status == ADEPT_OK) status = draw_roofline(cli, out, step);
    if (status == ADEPT_OK) status = draw_memory(cli, out, step);
    if (status == ADEPT_OK && step->limits.known) status = draw_limits(cli, out, step);
    return status;
}
