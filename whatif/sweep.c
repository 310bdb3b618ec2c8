/** @file sweep.c  The points of a grid, one after the other; see adept_sweep.h. */
#include "adept_mix.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Axes that vary, outermost first. */
typedef struct grid {
    const adept_sweep *sweep;
    size_t n;
    size_t axis[ADEPT_SWEEP_MAX_AXES];    /* of the sweep's */
    size_t first[ADEPT_SWEEP_LEVELS + 1]; /* of a level; the last is n */
    size_t at[ADEPT_SWEEP_MAX_AXES];      /* by axis of the sweep */
} grid;

typedef struct walk {
    grid grid;
    adept_sweep_point point;
    adept_sweep_sink sink;
    void *sink_context;
    uint64_t end; /* index behind the last point */
    bool stopped;
    adept_hwprofile **opened; /* by value of the axis of GPUs; owned */
    const adept_sweep_axis *gpus;
    adept_plan_family *family;   /* of the point's profile; owned */
    adept_hwprofile hw;          /* of the point */
    adept_parameter parameters[ADEPT_MOST_PARAMETERS]; /* its fit's */
    adept_run run;
    adept_workload_config given; /* of the point */
    adept_pass_table passes;     /* of its run, where queries arrive; owned */
    adept_mix_prediction mix;
    adept_error why;
    adept_status fatal; /* ended the sweep, and is said in: */
    adept_error *err;
} walk;

static const adept_sweep_axis *axis_at(const grid *g, size_t i)
{
    return &g->sweep->axes[g->axis[i]];
}

/* ---- numbering ---- */

static void take_axes(grid *g, size_t from, size_t to)
{
    g->n = 0;
    for (int level = 0; level < ADEPT_SWEEP_LEVELS; level++) {
        g->first[level] = g->n;
        for (size_t i = from; i < to; i++)
            if ((int)g->sweep->axes[i].level == level) g->axis[g->n++] = i;
    }
    g->first[ADEPT_SWEEP_LEVELS] = g->n;
}

static adept_status size_of_all(uint64_t *out, const adept_sweep *s, adept_error *err)
{
    uint64_t size = s->one_at_a_time ? 0 : 1;
    if (s->n_axes == 0 || s->n_axes > ADEPT_SWEEP_MAX_AXES)
        return adept_error_set(err, ADEPT_E_USAGE, "%zu keys vary, 1 to %d can", s->n_axes, ADEPT_SWEEP_MAX_AXES);
    for (size_t i = 0; i < s->n_axes; i++) {
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->axes[i].key, s->axes[j].key) == 0)
                return adept_error_set(err, ADEPT_E_USAGE, "%s is varied twice", s->axes[i].key);
        if (s->axes[i].level == ADEPT_SWEEP_TRAFFIC && !s->mix)
            return adept_error_set(err, ADEPT_E_USAGE, "%s is of queries that arrive: it needs their mix",
                                   s->axes[i].key);
        uint64_t n = s->axes[i].n;
        if (!s->one_at_a_time && n > (UINT64_MAX >> 11) / size) /* indices stay exact as doubles */
            return adept_error_set(err, ADEPT_E_USAGE, "more points than can be numbered");
        size = s->one_at_a_time ? size + n : size * n;
    }
    *out = size;
    return ADEPT_OK;
}

/* Of the points that a shard has, the index of the first and their number. */
static adept_status take_shard(uint64_t *first, uint64_t *n, const adept_sweep *s, adept_error *err)
{
    uint64_t all = 0;
    adept_status status = size_of_all(&all, s, err);
    if (status != ADEPT_OK) return status;
    uint64_t of = s->shard.of > 1 ? s->shard.of : 1, before = s->shard.of > 1 ? s->shard.index - 1 : 0;
    uint64_t larger = all % of; /* so many shards, the first ones, have one point more */
    *first = all / of * before + (before < larger ? before : larger);
    *n = all / of + (before < larger);
    return ADEPT_OK;
}

adept_status adept_sweep_size(uint64_t *out, const adept_sweep *s, adept_error *err)
{
    uint64_t first;
    return take_shard(&first, out, s, err);
}

void adept_sweep_at(size_t *at, const adept_sweep *s, uint64_t index)
{
    grid g = {.sweep = s};
    for (size_t i = 0; i < s->n_axes; i++)
        at[i] = ADEPT_SWEEP_UNVARIED;
    for (size_t i = 0; i < s->n_axes && s->one_at_a_time; i++) {
        if (index < s->axes[i].n) {
            at[i] = (size_t)index;
            return;
        }
        index -= s->axes[i].n;
    }
    take_axes(&g, 0, s->n_axes);
    for (size_t i = g.n; i-- > 0;) {
        at[g.axis[i]] = (size_t)(index % axis_at(&g, i)->n);
        index /= axis_at(&g, i)->n;
    }
}

/* The next combination of the axes of a level; false: it was the last, and the first is set again. */
static bool next(grid *g, int level)
{
    for (size_t i = g->first[level + 1]; i-- > g->first[level];) {
        if (++g->at[g->axis[i]] < axis_at(g, i)->n) return true;
        g->at[g->axis[i]] = 0;
    }
    return false;
}

/* ---- points ---- */

static void emit(walk *w)
{
    if (!w->sink(&w->point, w->sink_context)) w->stopped = true;
    if (++w->point.index == w->end) w->stopped = true;
}

static void emit_failed(walk *w, adept_status status, const char *reason)
{
    /* What would end the sweep, and not be a point's own trouble. */
    if (status == ADEPT_E_NOMEM || status == ADEPT_E_INTERNAL) {
        w->fatal = adept_error_set(w->err, status, "%s", reason);
        w->stopped = true;
        return;
    }
    w->point.status = status;
    w->point.reason = reason;
    adept_estimate_none(&w->point.result, status);
    emit(w);
}

/* @return NULL, or the axis that cannot be set */
static const adept_sweep_axis *set_runs(walk *w)
{
    const grid *g = &w->grid;
    w->run = g->sweep->run;
    for (size_t i = g->first[ADEPT_SWEEP_RUN]; i < g->first[ADEPT_SWEEP_TRAFFIC]; i++)
        if (!adept_sweep_set_run(&w->run, axis_at(g, i), g->at[g->axis[i]], &w->hw.specs)) return axis_at(g, i);
    return NULL;
}

/* The run has everything else that it depends on. */
static adept_status set_best_limit(walk *w)
{
    adept_power_limits limits;
    bool of_energy = w->run.power_limit_w == ADEPT_SWEEP_LIMIT_ENERGY;
    w->run.power_limit_w = 0.0;
    adept_status status = adept_predict_power_limits(&limits, w->point.profile, &w->hw, &w->run, &w->why);
    if (status != ADEPT_OK) return status;
    if (!limits.known) return adept_error_set(&w->why, ADEPT_E_USAGE, "no best limit: %s", limits.reason);
    w->run.power_limit_w = of_energy ? limits.energy_optimal.limit_w : limits.edp_optimal.limit_w;
    return ADEPT_OK;
}

/* From where the walk is to the last point that shares the axes outside a level. */
static void fail_inside(walk *w, int level, adept_status status)
{
    bool more;
    char reason[sizeof w->why.message];
    memcpy(reason, w->why.message, sizeof reason);
    do {
        if (level < ADEPT_SWEEP_TRAFFIC) (void)set_runs(w); /* so that rows show their runs */
        emit_failed(w, status, reason);
        more = false;
        for (int l = ADEPT_SWEEP_TRAFFIC; l >= level && !more; l--)
            more = next(&w->grid, l);
    } while (more && !w->stopped);
}

/* A profile of the point's workload at the lengths of a pass. */
static adept_status at_lengths(const adept_profile **out, const adept_workload_config *given, void *context,
                               adept_error *err)
{
    const walk *w = context;
    adept_workload_config all = w->given;
    adept_workload_config_over(&all, given);
    return w->grid.sweep->profile_of(out, &all, w->grid.sweep->mix_context, err);
}

/* Queries at every rate, over the same passes. @param step  of the mean query */
static void predict_mix(walk *w, const adept_estimate *step)
{
    const grid *g = &w->grid;
    adept_sweep_point *p = &w->point;
    do {
        adept_mix mix = *g->sweep->mix;
        for (size_t i = g->first[ADEPT_SWEEP_TRAFFIC]; i < g->first[ADEPT_SWEEP_MACHINE]; i++)
            mix.rate_per_s = axis_at(g, i)->numbers[g->at[g->axis[i]]];
        p->status =
            adept_mix_predict(&w->mix, &w->passes, &mix, p->profile, at_lengths, w, &w->hw, &w->run, &w->why);
        if (p->status == ADEPT_OK && !w->mix.result.steady && !mix.trace)
            p->status = adept_error_set(&w->why, ADEPT_E_USAGE,
                                        "more queries arrive than are answered: %.4g/s, of which %.4g are",
                                        mix.rate_per_s, w->mix.replicas * w->mix.result.queries_per_s);
        if (p->status != ADEPT_OK && !w->passes.tokens.x) {
            fail_inside(w, ADEPT_SWEEP_TRAFFIC, p->status); /* at no rate */
            return;
        }
        if (p->status != ADEPT_OK) {
            emit_failed(w, p->status, w->why.message);
            continue;
        }
        p->result = *step;
        adept_mix_estimate(&p->result, &w->mix);
        p->mix = &w->mix;
        p->reason = "";
        emit(w);
        p->mix = NULL;
    } while (!w->stopped && next(&w->grid, ADEPT_SWEEP_TRAFFIC));
    adept_pass_table_free(&w->passes);
}

static void predict_point(walk *w, const adept_plan *plan)
{
    adept_sweep_point *p = &w->point;
    const adept_sweep_axis *wrong = set_runs(w);
    if (wrong) {
        adept_error_set(&w->why, ADEPT_E_USAGE, "%s: nothing is known that it could be relative to, or no whole number",
                        wrong->key);
        fail_inside(w, ADEPT_SWEEP_TRAFFIC, ADEPT_E_USAGE);
        return;
    }
    p->status = w->run.power_limit_w < 0.0 ? set_best_limit(w) : ADEPT_OK;
    const adept_mesh_words words = adept_run_mesh(&w->run);
    const bool shared = adept_mesh_is_said(&words); /* a layout's stages are no plan of one workload */
    if (p->status == ADEPT_OK && !shared) p->status = adept_plan_predict(&p->result, plan, &w->run, &w->why);
    if (p->status == ADEPT_OK && shared) {
        adept_prediction of_layout;
        p->status = adept_predict(&of_layout, p->profile, &w->hw, &w->run, &w->why);
        if (p->status == ADEPT_OK) p->result = of_layout.estimate;
    }
    if (p->status != ADEPT_OK) {
        fail_inside(w, ADEPT_SWEEP_TRAFFIC, p->status);
        return;
    }
    if (w->grid.sweep->mix) {
        const adept_estimate step = p->result;
        predict_mix(w, &step);
        return;
    }
    if (!shared) adept_plan_interval(&p->result, plan, &w->run);
    p->reason = "";
    emit(w);
}

/* ---- levels ---- */

static void walk_runs(walk *w)
{
    const adept_plan *plan = NULL;
    adept_status status = adept_plan_family_at(&plan, w->family, &w->hw, &w->grid.sweep->run, &w->why);
    if (status != ADEPT_OK) {
        fail_inside(w, ADEPT_SWEEP_RUN, status);
        return;
    }
    do
        predict_point(w, plan);
    while (!w->stopped && next(&w->grid, ADEPT_SWEEP_RUN));
}

static adept_status set_hardware(walk *w, const adept_hwprofile *base)
{
    const grid *g = &w->grid;
    adept_status status = ADEPT_OK;
    bool changes = g->sweep->n_fixed > 0 || g->first[ADEPT_SWEEP_HARDWARE] < g->first[ADEPT_SWEEP_RUN];
    w->hw = *base;
    if (base->n_parameters > ADEPT_MOST_PARAMETERS)
        return adept_error_set(&w->why, ADEPT_E_INVALID, "%s: more parameters than there are", base->name);
    if (base->n_parameters > 0) memcpy(w->parameters, base->parameters, base->n_parameters * sizeof *w->parameters);
    w->hw.parameters = w->parameters;
    for (size_t i = 0; i < g->sweep->n_fixed && status == ADEPT_OK; i++)
        status = adept_sweep_set_number(&w->hw, &g->sweep->fixed[i], 0, &w->why);
    for (size_t i = g->first[ADEPT_SWEEP_HARDWARE]; i < g->first[ADEPT_SWEEP_RUN] && status == ADEPT_OK; i++)
        status = adept_sweep_set_number(&w->hw, axis_at(g, i), g->at[g->axis[i]], &w->why);
    return status == ADEPT_OK && changes ? adept_hwprofile_check(&w->hw, &w->why) : status;
}

static void walk_hardware(walk *w)
{
    const adept_hwprofile *base = w->gpus ? w->opened[w->grid.at[w->gpus - w->grid.sweep->axes]] : w->grid.sweep->hw;
    do {
        adept_status status = set_hardware(w, base);
        w->point.hw = &w->hw;
        if (status == ADEPT_OK)
            walk_runs(w);
        else
            fail_inside(w, ADEPT_SWEEP_RUN, status);
    } while (!w->stopped && next(&w->grid, ADEPT_SWEEP_HARDWARE));
}

/* Are there points of more than one GPU? */
static bool several(const walk *w)
{
    bool varied = w->grid.sweep->run.gpus > 1;
    for (size_t i = 0; i < w->grid.n; i++)
        varied = varied || adept_sweep_varies_run(axis_at(&w->grid, i), ADEPT_RUN_FIELD_gpus);
    return varied;
}

static void walk_workload(walk *w)
{
    const grid *g = &w->grid;
    const adept_sweep *s = g->sweep;
    adept_status status = ADEPT_OK;
    w->given = (adept_workload_config){.batch_size = 0}; /* nothing */
    for (size_t i = 0; i < g->first[ADEPT_SWEEP_GPU]; i++)
        if (!adept_sweep_set_workload(&w->given, axis_at(g, i), g->at[g->axis[i]]))
            status = adept_error_set(&w->why, ADEPT_E_USAGE, "%s: no whole number above 0", axis_at(g, i)->key);
    w->point.profile = NULL;
    w->point.hw = NULL;
    w->hw = (adept_hwprofile){.name = NULL}; /* rows without a profile show no numbers of the GPU before */
    if (status == ADEPT_OK) status = s->profile_of(&w->point.profile, &w->given, s->context, &w->why);
    if (status == ADEPT_OK) status = adept_plan_family_new(&w->family, w->point.profile, several(w), &w->why);
    if (status != ADEPT_OK) {
        w->point.profile = NULL;
        fail_inside(w, ADEPT_SWEEP_GPU, status);
        return;
    }
    do
        walk_hardware(w);
    while (!w->stopped && next(&w->grid, ADEPT_SWEEP_GPU));
    adept_plan_family_free(w->family);
    w->family = NULL;
}

static void walk_grid(walk *w, size_t from, size_t to)
{
    const adept_sweep *s = w->grid.sweep;
    adept_sweep_at(w->grid.at, s, w->point.index); /* a shard begins anywhere */
    take_axes(&w->grid, from, to);
    w->gpus = NULL;
    for (size_t i = from; i < to; i++)
        if (s->axes[i].kind == ADEPT_VARY_GPU) w->gpus = &s->axes[i];
    do
        walk_workload(w);
    while (!w->stopped && next(&w->grid, ADEPT_SWEEP_WORKLOAD));
}

/* All before the first point: a wrong name is found at once. */
static adept_status open_gpus(walk *w, adept_error *err)
{
    const adept_sweep *s = w->grid.sweep;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < s->n_axes; i++) {
        const adept_sweep_axis *axis = &s->axes[i];
        if (axis->kind != ADEPT_VARY_GPU) continue;
        w->opened = calloc(axis->n, sizeof *w->opened);
        if (!w->opened) return adept_no_memory(err, "GPUs");
        for (size_t j = 0; j < axis->n && status == ADEPT_OK; j++)
            status = adept_hwprofile_open(&w->opened[j], axis->words[j], err);
        w->gpus = axis;
    }
    if (status == ADEPT_OK && !s->hw && (!w->gpus || s->one_at_a_time))
        return adept_error_set(err, ADEPT_E_USAGE, "no GPU is given");
    return status;
}

adept_status adept_sweep_run(const adept_sweep *s, adept_sweep_sink sink, void *sink_context, adept_error *err)
{
    uint64_t n, behind = 0;
    walk w = {.grid = {.sweep = s}, .sink = sink, .sink_context = sink_context, .err = err};
    adept_status status = take_shard(&w.point.index, &n, s, err);
    if (status == ADEPT_OK) status = open_gpus(&w, err);
    const adept_sweep_axis *opened = w.gpus;
    w.point.at = w.grid.at;
    w.point.run = &w.run;
    if (status == ADEPT_OK) {
        w.end = w.point.index + n;
        w.stopped = n == 0;
    }
    for (size_t i = 0; i < s->n_axes && s->one_at_a_time && status == ADEPT_OK && !w.stopped; i++) {
        behind += s->axes[i].n;
        if (w.point.index < behind) walk_grid(&w, i, i + 1);
    }
    if (status == ADEPT_OK && !s->one_at_a_time && !w.stopped) walk_grid(&w, 0, s->n_axes);
    for (size_t j = 0; opened && w.opened && j < opened->n; j++)
        adept_hwprofile_free(w.opened[j]);
    free(w.opened);
    return status == ADEPT_OK ? w.fatal : status;
}
