/** @file report.c  What a model says of recordings: energy of intervals summed by what is asked for, and over time. */
#include "adept_attribution.h"
#include "adept_grow.h"
#include "adept_statistics.h"
#include "name_map.h"
#include "nearest.h"
#include "rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Processes by command, user, ...: which group each of a recording's processes belongs to. */

/** Groups that no process makes stand first; in a report, last. */
enum { ADEPT_GROUP_OTHER, ADEPT_GROUP_STATIC, ADEPT_GROUP_IDLE_GPU, ADEPT_SPECIAL_GROUPS };

typedef struct adept_process_groups {
    adept_arena *arena; /* of their texts */
    adept_attribution_by by;
    adept_name_map keys;
    adept_attribution_group *list;
    size_t n, capacity;
    size_t **of_process; /* of each process of each recording */
    size_t n_sources;
} adept_process_groups;

#define NAME(name, word) word,
ADEPT_NAMES(adept_attribution_by_name, ADEPT_ATTRIBUTION_BY_LIST(NAME))
#undef NAME

static const char *label_of(const adept_process_groups *g, const adept_process *p)
{
    switch (g->by) {
    case ADEPT_BY_PROCESS:
        return adept_arena_printf(g->arena, "%s [%d]", p->command, (int)p->pid);
    case ADEPT_BY_COMMAND:
        return adept_arena_printf(g->arena, "%s", p->command);
    case ADEPT_BY_USER:
        return adept_arena_printf(g->arena, "uid %u", (unsigned)p->uid);
    case ADEPT_BY_CGROUP:
        return adept_arena_printf(g->arena, "%s", *p->cgroup ? p->cgroup : "(not known)");
    default:
        return p->job >= 0 ? adept_arena_printf(g->arena, "job %lld", (long long)p->job) : "no job";
    }
}

static bool add(adept_process_groups *g, const char *label, const char *key)
{
    adept_attribution_group *grown = adept_grow(g->list, &g->capacity, g->n + 1, sizeof *grown);

    if (!grown) return false;
    g->list = grown;
    g->list[g->n++] = (adept_attribution_group){.label = label, .key = key, .low = NAN, .high = NAN};
    return true;
}

/* A process that lives through two recordings is one. */
static bool find(size_t *group, adept_process_groups *g, const adept_process *p)
{
    const char *label = label_of(g, p), *key = label;

    if (g->by == ADEPT_BY_PROCESS)
        key = adept_arena_printf(g->arena, "%d %llu %s", (int)p->pid, (unsigned long long)p->start_ticks, p->command);
    uintptr_t *known = adept_name_map_get(&g->keys, key);
    *group = known ? (size_t)*known : g->n;
    if (!known && (!adept_name_map_put(&g->keys, key, g->n) || !add(g, label, key))) return false;
    g->list[*group].n_processes++;
    return !adept_arena_failed(g->arena);
}

/* @param arena  of the texts. @return false when memory is out; process_groups_free() in any case */
static bool process_groups_make(adept_process_groups *g, adept_arena *arena, adept_attribution_by by,
                                const adept_attribution_source *sources, size_t n_sources)
{
    *g = (adept_process_groups){
        .arena = arena, .by = by, .of_process = calloc(n_sources, sizeof *g->of_process), .n_sources = n_sources};
    bool ok = g->of_process && add(g, "Other", "") && add(g, "static", "") && add(g, "idle GPUs", "");

    for (size_t i = 0; i < n_sources && ok; i++) {
        const adept_activity_log *log = sources[i].log;
        g->of_process[i] = calloc(log->n_processes + 1, sizeof **g->of_process);
        ok = g->of_process[i] != NULL;
        for (size_t p = 0; p < log->n_processes && ok; p++)
            ok = find(&g->of_process[i][p], g, &log->processes[p]);
    }
    return ok;
}

static void process_groups_free(adept_process_groups *g)
{
    for (size_t i = 0; g->of_process && i < g->n_sources; i++)
        free(g->of_process[i]);
    free(g->of_process);
    free(g->list);
    adept_name_map_free(&g->keys);
    *g = (adept_process_groups){.n = 0};
}

/* Energy of one interval, to who caused it. */
typedef struct adept_split {
    double *activity_j;        /* of each activity: by what was learnt, and its share of the static energy */
    double *own_static_s;      /* of each: how many seconds of the static power are its */
    double *gpu_use_j;         /* of each use of a GPU */
    double static_j, static_s; /* nobody's */
    double idle_gpu_j;         /* of GPUs that nobody holds */
    double gpu_j;              /* of all GPUs whose energy goes by use */
    double predicted_j;        /* what the model says, before it is scaled to what was measured; without gpu_j */
    double measured_j;         /* of the same; NAN: not known */
    double cpu_s;              /* of all activities */
    size_t n_unknown;          /* numbers that the model needs and nobody counted */
} adept_split;

static void split_free(adept_split *s)
{
    free(s->activity_j);
    free(s->own_static_s);
    free(s->gpu_use_j);
    *s = (adept_split){.static_j = 0};
}

/* ---------------------------------------------------------------- what is learnt --------------------------------- */

/* Of the static power, how many seconds are an activity's. */
static double own_static_s(const adept_split *s, adept_static_policy policy, const adept_activity_interval *v,
                           size_t activity)
{
    double duration_s = v->end_s - v->begin_s, cpu_s = v->activities[activity].values[ADEPT_ACTIVITY_CPU_TIME_S];

    if (policy == ADEPT_STATIC_EQUAL) return duration_s / (double)v->n_activities;
    return policy == ADEPT_STATIC_CPU_SHARE && cpu_s > 0 ? duration_s * cpu_s / s->cpu_s : 0;
}

static void scale(adept_split *s, size_t n_activities, double factor)
{
    s->static_j *= factor;
    for (size_t i = 0; i < n_activities; i++)
        s->activity_j[i] *= factor;
}

/* ---------------------------------------------------------------- what GPUs used --------------------------------- */

/* How much of a GPU is a process's: by utilisation; where nobody's is above 0 by the size of its MIG instance, or by
 * memory; else each that holds it has as much. */
static double weight(const adept_gpu_use *use, int rule)
{
    double value = rule == 0 ? use->utilization : rule == 1 ? use->slices : rule == 2 ? use->memory_bytes : 1;

    return value > 0 ? value : 0;
}

/* ---------------------------------------------------------------- all of it -------------------------------------- */

static void split_interval(adept_split *s, const adept_attribution_model *model, const adept_attribution_view *view,
                           const adept_activity_interval *v, const adept_metering *meters)
{
    s->cpu_s = s->gpu_j = s->idle_gpu_j = 0;
    s->n_unknown = 0;
    for (size_t i = 0; i < v->n_activities; i++)
        if (v->activities[i].values[ADEPT_ACTIVITY_CPU_TIME_S] > 0)
            s->cpu_s += v->activities[i].values[ADEPT_ACTIVITY_CPU_TIME_S];
    for (size_t i = 0; i < v->n_gpu_uses; i++)
        s->gpu_use_j[i] = 0;
    adept_static_policy policy = view->policy;
    bool is_given =
        policy == ADEPT_STATIC_EQUAL ? v->n_activities > 0 : policy == ADEPT_STATIC_CPU_SHARE && s->cpu_s > 0;
    s->static_s = is_given ? 0 : v->end_s - v->begin_s;
    s->predicted_j = s->static_j = model->static_w * s->static_s;
    for (size_t i = 0; i < v->n_activities; i++) {
        s->own_static_s[i] = own_static_s(s, policy, v, i);
        double sum_j = 0;
        for (size_t j = 0; j < model->n_features; j++) {
            const adept_attribution_feature *f = &model->features[j];
            double value = v->activities[i].values[f->kind] - f->mean;
            if (isfinite(value))
                sum_j += f->weight_j * value;
            else
                s->n_unknown += f->weight_j != 0;
        }
        s->activity_j[i] = sum_j + model->static_w * s->own_static_s[i];
        s->predicted_j += s->activity_j[i];
    }
    s->measured_j = adept_metering_energy_j(meters, v->begin_s, v->end_s, model->lag_s);
    if (view->scale && isfinite(s->measured_j) && s->predicted_j > 0)
        scale(s, v->n_activities, s->measured_j / s->predicted_j);
    for (size_t g = 0; g < meters->n_gpus; g++) {
        double energy_j = adept_meter_series_energy_j(&meters->gpus[g], v->begin_s, v->end_s);
        if (isfinite(energy_j)) {
            uint32_t meter = meters->gpu_meters[g];
            double all = 0;
            int rule;
            s->gpu_j += energy_j;
            for (rule = 0; rule < 4 && all == 0; rule++)
                for (size_t i = 0; i < v->n_gpu_uses; i++)
                    if (v->gpu_uses[i].meter == meter) all += weight(&v->gpu_uses[i], rule);
            if (all == 0) s->idle_gpu_j += energy_j;
            for (size_t i = 0; i < v->n_gpu_uses && all > 0; i++)
                if (v->gpu_uses[i].meter == meter) s->gpu_use_j[i] = energy_j * weight(&v->gpu_uses[i], rule - 1) / all;
        }
    }
}

#define NAME(name, word) word,
ADEPT_NAMES(adept_static_policy_name, ADEPT_STATIC_LIST(NAME))
#undef NAME

typedef struct work {
    const adept_attribution_model *model;
    const adept_attribution_source *sources;
    size_t n_sources;
    const adept_attribution_view *view;
    adept_metering *meters;
    adept_split split;
    adept_process_groups groups;
    size_t *row_of; /* of each group in the report */
    double machine_cpu_s, cpu_s;
    size_t n_unknown;
    bool lacks_meters;
    adept_attribution_report *out;
    adept_attribution_notes notes;
} work;

/* ---------------------------------------------------------------- sums ------------------------------------------- */

typedef void (*taker)(work *w, const adept_activity_interval *v, const size_t *group_of);

static void for_all(work *w, taker take)
{
    for (size_t i = 0; i < w->n_sources; i++)
        for (size_t k = 0; k < w->sources[i].log->n_intervals; k++) {
            const adept_activity_interval *v = &w->sources[i].log->intervals[k];
            if (!(v->end_s > v->begin_s)) continue;
            split_interval(&w->split, w->model, w->view, v, &w->meters[i]);
            take(w, v, w->groups.of_process[i]);
        }
}

static void sum_interval(work *w, const adept_activity_interval *v, const size_t *group_of)
{
    adept_attribution_report *out = w->out;
    const adept_split *s = &w->split;

    for (size_t i = 0; i < v->n_activities; i++) {
        /* Sums of features too, of which shares by other weights are made. */
        const adept_activity *a = &v->activities[i];
        adept_attribution_group *g = &w->groups.list[group_of[a->process]];
        double cpu_s = a->values[ADEPT_ACTIVITY_CPU_TIME_S];
        for (size_t j = 0; j < w->model->n_features; j++) {
            double value = a->values[w->model->features[j].kind] - w->model->features[j].mean;
            if (isfinite(value)) g->features[j] += value;
        }
        if (cpu_s > 0) g->cpu_time_s += cpu_s;
        g->static_s += s->own_static_s[i];
        g->energy_j += s->activity_j[i];
    }
    for (size_t i = 0; i < v->n_gpu_uses; i++) {
        adept_attribution_group *g = &w->groups.list[group_of[v->gpu_uses[i].process]];
        g->gpu_j += s->gpu_use_j[i];
        g->energy_j += s->gpu_use_j[i];
    }
    w->groups.list[ADEPT_GROUP_STATIC].energy_j += s->static_j;
    w->groups.list[ADEPT_GROUP_STATIC].static_s += s->static_s;
    w->groups.list[ADEPT_GROUP_IDLE_GPU].energy_j += s->idle_gpu_j;
    w->groups.list[ADEPT_GROUP_IDLE_GPU].gpu_j += s->idle_gpu_j;
    w->machine_cpu_s += v->machine_cpu_s;
    w->cpu_s += s->cpu_s;
    w->n_unknown += s->n_unknown;
    out->all_s += v->end_s - v->begin_s;
    if (!isfinite(s->measured_j)) return;
    out->covered_s += v->end_s - v->begin_s;
    out->predicted_j += s->predicted_j + s->gpu_j;
    out->measured_j += s->measured_j + s->gpu_j;
}

static void add_series(work *w, size_t group, size_t step, double energy_j)
{
    ((double *)w->out->series_j)[w->row_of[group] * w->out->n_steps + step] += energy_j;
}

static void put_series(work *w, const adept_activity_interval *v, const size_t *group_of)
{
    adept_attribution_report *out = w->out;
    const adept_split *s = &w->split;
    size_t step = (size_t)fmin(fmax(0, (v->begin_s - out->begin_s) / out->step_s), (double)(out->n_steps - 1));

    for (size_t i = 0; i < v->n_activities; i++)
        add_series(w, group_of[v->activities[i].process], step, s->activity_j[i]);
    for (size_t i = 0; i < v->n_gpu_uses; i++)
        add_series(w, group_of[v->gpu_uses[i].process], step, s->gpu_use_j[i]);
    add_series(w, ADEPT_GROUP_STATIC, step, s->static_j);
    add_series(w, ADEPT_GROUP_IDLE_GPU, step, s->idle_gpu_j);
    ((double *)out->measured)[step] += s->measured_j + s->gpu_j; /* NAN once is NAN for all of the step */
    ((double *)out->recorded_s)[step] += v->end_s - v->begin_s;
}

/* ---------------------------------------------------------------- the top ---------------------------------------- */

static int by_energy(const void *a, const void *b)
{
    const adept_attribution_group *const *x = a, *const *y = b;

    if ((*x)->energy_j != (*y)->energy_j) return (*x)->energy_j < (*y)->energy_j ? 1 : -1;
    if ((*x)->cpu_time_s != (*y)->cpu_time_s) return (*x)->cpu_time_s < (*y)->cpu_time_s ? 1 : -1;
    return strcmp((*x)->key, (*y)->key);
}

/* The rows of the report: who used most, and the rest of them as "Other"; then what is nobody's. */
static bool choose_rows(work *w)
{
    adept_attribution_report *out = w->out;
    const adept_attribution_group **sorted = malloc(w->groups.n * sizeof *sorted);
    size_t n = w->groups.n - ADEPT_SPECIAL_GROUPS;

    w->row_of = calloc(w->groups.n, sizeof *w->row_of);
    out->n_top = n <= w->view->top ? n : w->view->top;
    out->groups = adept_arena_array(out->arena, out->n_top + ADEPT_SPECIAL_GROUPS, sizeof *out->groups);
    if (!sorted || !w->row_of || !out->groups) {
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = &w->groups.list[ADEPT_SPECIAL_GROUPS + i];
    qsort(sorted, n, sizeof *sorted, by_energy);
    for (size_t i = 0; i < n; i++) {
        w->row_of[sorted[i] - w->groups.list] = i < out->n_top ? i : out->n_top;
        if (i < out->n_top)
            out->groups[i] = *sorted[i];
        else {
            adept_attribution_group *other = &w->groups.list[ADEPT_GROUP_OTHER];
            other->n_processes += sorted[i]->n_processes;
            other->energy_j += sorted[i]->energy_j;
            other->gpu_j += sorted[i]->gpu_j;
            other->cpu_time_s += sorted[i]->cpu_time_s;
            other->static_s += sorted[i]->static_s;
            for (size_t j = 0; j < ADEPT_ACTIVITIES; j++)
                other->features[j] += sorted[i]->features[j];
        }
    }
    for (size_t i = 0; i < ADEPT_SPECIAL_GROUPS; i++) {
        w->row_of[i] = out->n_top + i;
        out->groups[out->n_top + i] = w->groups.list[i];
    }
    out->n_groups = out->n_top + ADEPT_SPECIAL_GROUPS;
    free(sorted);
    return true;
}

/* ---------------------------------------------------------------- shares ----------------------------------------- */

/* By a draw's weights. */
static double drawn_j(const adept_attribution_model *m, const double *draw, const adept_attribution_group *g)
{
    double sum_j = g->gpu_j + draw[m->n_features] * g->static_s;

    for (size_t j = 0; j < m->n_features; j++)
        sum_j += draw[j] * g->features[j];
    return sum_j;
}

/* Where shares lie by the draws' weights. What is scaled to what was measured keeps the ratio of interval and share
 * that it has unscaled. */
static bool find_intervals(work *w)
{
    adept_attribution_report *out = w->out;
    const adept_attribution_model *m = w->model;
    double *shares = malloc((m->n_draws + 1) * out->n_groups * sizeof *shares),
           *own = malloc(sizeof *own * 2 * ADEPT_ACTIVITIES);

    for (size_t b = 0; shares && own && b <= m->n_draws; b++) {
        double total = 0;
        for (size_t j = 0; j < m->n_features && b == m->n_draws; j++)
            own[j] = m->features[j].weight_j;
        own[m->n_features] = m->static_w;
        for (size_t g = 0; g < out->n_groups; g++)
            total += shares[g * (m->n_draws + 1) + b] =
                drawn_j(m, b < m->n_draws ? m->draws + b * (m->n_features + 1) : own, &out->groups[g]);
        for (size_t g = 0; g < out->n_groups; g++)
            shares[g * (m->n_draws + 1) + b] /= total;
    }
    for (size_t g = 0; shares && own && m->n_draws > 0 && g < out->n_groups; g++) {
        double *of_group = shares + g * (m->n_draws + 1), unscaled = of_group[m->n_draws];
        double factor = unscaled > 0 && w->view->scale ? out->groups[g].share / unscaled : 1;
        qsort(of_group, m->n_draws, sizeof *of_group, adept_by_size);
        out->groups[g].low = factor * adept_quantile(of_group, m->n_draws, (1 - ADEPT_ATTRIBUTION_LEVEL) / 2);
        out->groups[g].high = factor * adept_quantile(of_group, m->n_draws, (1 + ADEPT_ATTRIBUTION_LEVEL) / 2);
    }
    bool ok = shares && own;
    free(shares);
    free(own);
    return ok;
}

static bool find_shares(work *w)
{
    adept_attribution_report *out = w->out;

    for (size_t g = 0; g < out->n_groups; g++)
        out->total_j += out->groups[g].energy_j;
    for (size_t g = 0; g < out->n_groups; g++)
        out->groups[g].share = out->groups[g].energy_j / out->total_j;
    out->known_cpu = w->machine_cpu_s > 0 ? w->cpu_s / w->machine_cpu_s : NAN;
    return find_intervals(w);
}

/* ---------------------------------------------------------------- all of it -------------------------------------- */

static bool make_series(work *w)
{
    adept_attribution_report *out = w->out;
    double end_s = -INFINITY, begin_s = INFINITY, period_s = fmax(w->sources[0].log->period_s, 1e-3);

    for (size_t i = 0; i < w->n_sources; i++) {
        const adept_activity_log *log = w->sources[i].log;
        begin_s = fmin(begin_s, log->n_intervals ? log->intervals[0].begin_s : INFINITY);
        end_s = fmax(end_s, log->n_intervals ? log->intervals[log->n_intervals - 1].end_s : -INFINITY);
    }
    double length_s = fmax(end_s - begin_s, period_s),
           least_s = period_s * ceil(length_s / period_s / ADEPT_MOST_STEPS - 1e-9);
    out->begin_s = begin_s;
    out->step_s = fmax(w->view->step_s, w->view->step_s > 0 ? length_s / 1e6 : least_s);
    out->n_steps = (size_t)fmax(1, ceil(length_s / out->step_s - 1e-9));
    out->series_j = adept_arena_array(out->arena, out->n_groups * out->n_steps, sizeof *out->series_j);
    out->measured = adept_arena_array(out->arena, out->n_steps, sizeof *out->measured);
    out->recorded_s = adept_arena_array(out->arena, out->n_steps, sizeof *out->recorded_s);
    if (!out->series_j || !out->measured || !out->recorded_s) return false;
    for_all(w, put_series);
    return true;
}

static void say(work *w)
{
    const adept_attribution_report *out = w->out;
    const adept_attribution_model *m = w->model;

    for (size_t i = 0; i < w->n_sources; i++) {
        if (strcmp(w->sources[i].log->host, m->host) != 0)
            adept_note(&w->notes, "%s is of host '%s', the model of '%s': weights of another machine may be far off",
                       w->sources[i].path, w->sources[i].log->host, m->host);
        if (w->sources[i].log->is_cut)
            adept_note(&w->notes, "%s ends within a block: it grows still, or its recorder was killed",
                       w->sources[i].path);
        for (size_t j = 0; j < m->n_features; j++)
            if (!w->sources[i].log->has[m->features[j].kind] && m->features[j].weight_j != 0)
                adept_note(&w->notes, "%s has no %s: its cost is in nobody's energy", w->sources[i].path,
                           adept_activity_name(m->features[j].kind));
    }
    if (w->lacks_meters) adept_note(&w->notes, "a recording lacks a meter of the model: nothing is measured there");
    if (w->n_unknown > 0)
        adept_note(&w->notes, "%zu numbers that the model needs were not counted, and count as 0", w->n_unknown);
    if (out->covered_s < out->all_s)
        adept_note(&w->notes, "meters cover %.0f s of %.0f s: what was measured is compared there only", out->covered_s,
                   out->all_s);
    if (out->known_cpu < 0.9)
        adept_note(&w->notes, "processes account for %.1f %% of the machine's CPU time only", 100 * out->known_cpu);
}

static adept_status make(work *w, adept_error *err)
{
    /* Room for the intervals of recordings. */
    adept_split *s = &w->split;
    size_t activities = 1, uses = 1;
    for (size_t i = 0; i < w->n_sources; i++)
        for (size_t k = 0; k < w->sources[i].log->n_intervals; k++) {
            const adept_activity_interval *v = &w->sources[i].log->intervals[k];
            activities = v->n_activities > activities ? v->n_activities : activities;
            uses = v->n_gpu_uses > uses ? v->n_gpu_uses : uses;
        }
    *s = (adept_split){.activity_j = calloc(activities, sizeof(double)),
                       .own_static_s = calloc(activities, sizeof(double)),
                       .gpu_use_j = calloc(uses, sizeof(double))};
    adept_status status =
        s->activity_j && s->own_static_s && s->gpu_use_j ? ADEPT_OK : adept_no_memory(err, "an interval");
    adept_attribution_report *out = w->out;

    w->meters = calloc(w->n_sources, sizeof *w->meters);
    if (status == ADEPT_OK &&
        (!w->meters || !process_groups_make(&w->groups, out->arena, w->view->by, w->sources, w->n_sources)))
        status = adept_no_memory(err, "groups of processes");
    for (size_t i = 0; i < w->n_sources && status == ADEPT_OK; i++) {
        status = adept_metering_open(&w->meters[i], &w->sources[i], w->model, true, err);
        w->lacks_meters = w->lacks_meters || w->meters[i].n_plus == 0;
    }
    if (status != ADEPT_OK) return status;
    for_all(w, sum_interval);
    if (!(out->all_s > 0))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: no interval was recorded", w->sources[0].path);
    if (!choose_rows(w) || !find_shares(w) || !make_series(w)) return adept_no_memory(err, "a report");
    if (!isfinite(out->total_j))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: energies are not finite numbers", w->sources[0].path);
    say(w);
    const char **notes = adept_arena_array(out->arena, w->notes.n + 1, sizeof *notes);
    if (!notes || adept_arena_failed(out->arena)) return adept_no_memory(err, "a report");
    memcpy(notes, w->notes.texts, w->notes.n * sizeof *notes);
    out->notes = notes;
    out->n_notes = w->notes.n;
    return ADEPT_OK;
}

adept_status adept_attribution_report_make(adept_attribution_report **out, const adept_attribution_model *model,
                                           const adept_attribution_source *sources, size_t n_sources,
                                           const adept_attribution_view *view, adept_error *err)
{
    adept_arena *arena = adept_arena_new();
    adept_attribution_report *r = arena ? adept_arena_alloc(arena, sizeof *r) : NULL;

    if (!r) {
        adept_arena_free(arena);
        return adept_no_memory(err, "a report");
    }
    r->arena = arena;
    work w = {
        .model = model, .sources = sources, .n_sources = n_sources, .view = view, .out = r, .notes = {.arena = arena}};
    adept_status status = make(&w, err);
    for (size_t i = 0; w.meters && i < w.n_sources; i++)
        adept_metering_close(&w.meters[i]);
    free(w.meters);
    free(w.row_of);
    process_groups_free(&w.groups);
    split_free(&w.split);
    if (status == ADEPT_OK)
        *out = r;
    else
        adept_arena_free(arena);
    return status;
}

void adept_attribution_report_free(adept_attribution_report *report)
{
    if (report) adept_arena_free(report->arena);
}
