/** @file packer.c */
#include "packer.h"
#include "score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- names ------------------------------------------- */

bool adept_rule_by_name(adept_rule *out, const char *name)
{
    static const struct {
        const char *name;
        adept_rule metric;
    } names[] = {{"fcfs", ADEPT_BY_SUBMISSION},
                 {"sjf", ADEPT_BY_TIME},
                 {"time", ADEPT_BY_TIME},
                 {"edp", ADEPT_BY_EDP},
                 {"energy", ADEPT_BY_ENERGY}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) {
            *out = names[i].metric;
            return true;
        }
    return false;
}

/* ---------------------------------------------------------------- room -------------------------------------------- */

bool adept_room_begin(adept_room *room, const adept_view *view)
{
    *room = (adept_room){malloc((view->n_types + 1) * sizeof *room->idle), view->n_types};
    for (size_t t = 0; room->idle && t < view->n_types; t++)
        room->idle[t] = view->most_idle(view, t);
    return room->idle != NULL;
}

bool adept_room_is_none(const adept_room *room)
{
    for (size_t t = 0; t < room->n_types; t++)
        if (room->idle[t] > 0) return false;
    return true;
}

bool adept_room_fits(const adept_room *room, const adept_option *option)
{
    return option->gpus <= room->idle[option->type];
}

void adept_room_start(adept_room *room, adept_view *view, size_t queued, size_t option)
{
    size_t type = view->queued[queued].options[option].type;

    view->start(view, queued, option);
    room->idle[type] = view->most_idle(view, type);
}

void adept_room_end(adept_room *room)
{
    free(room->idle);
}

/* ---------------------------------------------------------------- placements -------------------------------------- */

bool adept_may_run_as(const adept_policy_options *options, const adept_candidate *job, size_t option)
{
    const adept_option *first = &job->options[0], *o = &job->options[option];
    return !options->is_rigid || (o->gpus == first->gpus && o->batch == first->batch);
}

bool adept_fastest(const adept_view *view, const adept_policy_options *options, const adept_room *room, size_t queued,
                   size_t *option)
{
    const adept_candidate *job = &view->queued[queued];
    double least_s = INFINITY;

    for (size_t o = 0; o < job->n_options; o++) {
        if (!adept_room_fits(room, &job->options[o]) || !adept_may_run_as(options, job, o)) continue;
        double time_s = view->forecast(view, queued, o).time_s;
        if (time_s >= least_s) continue;
        least_s = time_s;
        *option = o;
    }
    return least_s < INFINITY;
}

/* An option of a job, while its options are compared. */
typedef struct considered {
    adept_forecast forecast;
    double end_s; /* from now; NAN: it is no choice */
} considered;

/* A queued job in its best placement. */
typedef struct ranked {
    size_t queued, option;
    bool is_urgent;
    double score;
} ranked;

typedef struct pass {
    adept_view *view;
    const adept_policy_options *options;
    adept_packing packing;
    double age_weight, slowdown, cap_w, scarcity, mean_gpu_s;
    adept_room room;
    considered *considered; /* of one job */
    double *ahead_s;        /* of each type: run times of jobs that wait for it */
    ranked *heap;
    size_t n_heap;
} pass;

static bool keeps_cap(const pass *p, size_t queued, size_t option)
{
    return p->cap_w == INFINITY || p->view->power_w + p->view->added_power_w(p->view, queued, option) <= p->cap_w;
}

static double metric_of(const pass *p, adept_rule metric, size_t queued, size_t option, adept_forecast f)
{
    switch (metric) {
    case ADEPT_BY_SUBMISSION:
        return 0;
    case ADEPT_BY_TIME:
        return f.time_s;
    case ADEPT_BY_EDP:
        return adept_score_edp(f.time_s, f.power_w);
    case ADEPT_BY_ENERGY:
        return f.power_w * f.time_s;
    case ADEPT_BY_THRIFT:
        break;
    }
    /* A table may say that a job draws less than idle GPUs do; no job is free. */
    double added_w = fmax(p->view->added_power_w(p->view, queued, option), 0.01 * f.power_w);
    return adept_score_thrift(added_w * f.time_s, p->view->queued[queued].options[option].gpus * f.time_s, p->scarcity);
}

static void consider(pass *p, size_t queued, bool looks_ahead)
{
    const adept_candidate *job = &p->view->queued[queued];

    for (size_t o = 0; o < job->n_options; o++) {
        considered *c = &p->considered[o];
        bool fits = adept_room_fits(&p->room, &job->options[o]);
        c->end_s = NAN;
        if ((!fits && !looks_ahead) || !adept_may_run_as(p->options, job, o)) continue;
        if (p->packing.sees_cap && !keeps_cap(p, queued, o)) continue;
        c->forecast = p->view->forecast(p->view, queued, o);
        c->end_s = c->forecast.time_s;
        if (!fits)
            c->end_s += fmax(0, p->view->fits_at(p->view, &job->options[o]) - p->view->now_s) +
                        p->ahead_s[job->options[o].type];
    }
}

/* The best placement of a job. */
static bool choose(pass *p, size_t queued, bool looks_ahead, size_t *option)
{
    const adept_candidate *job = &p->view->queued[queued];
    double soonest_s = INFINITY, least = INFINITY;

    consider(p, queued, looks_ahead);
    for (size_t o = 0; o < job->n_options; o++)
        soonest_s = fmin(soonest_s, p->considered[o].end_s);
    if (soonest_s == INFINITY) return false;
    double most_s = p->slowdown < INFINITY ? soonest_s * (1 + p->slowdown) : INFINITY;
    if (p->packing.urgent_first && job->is_urgent)
        most_s = fmin(most_s, fmax(soonest_s, job->deadline_s - p->view->now_s));
    for (size_t o = 0; o < job->n_options; o++) {
        if (!(p->considered[o].end_s <= most_s)) continue;
        double metric = metric_of(p, p->packing.placement, queued, o, p->considered[o].forecast);
        if (metric > least || (metric == least && p->considered[o].end_s >= p->considered[*option].end_s)) continue;
        least = metric;
        *option = o;
    }
    return least < INFINITY;
}

/* ---------------------------------------------------------------- order ------------------------------------------- */

static ranked rank(const pass *p, size_t queued, size_t option)
{
    const adept_candidate *job = &p->view->queued[queued];
    const adept_forecast f = p->considered[option].forecast;
    bool is_urgent = p->packing.urgent_first && job->is_urgent;
    double age_s = p->view->now_s - job->submit_s, metric = metric_of(p, p->packing.ordering, queued, option, f);
    double score = adept_score_aged(metric, p->age_weight, age_s);

    if (is_urgent)
        score = adept_score_slack(job->deadline_s, p->view->now_s, f.time_s);
    else if (p->packing.is_fair)
        score = adept_score_fair(metric, p->view->user_gpu_s[job->user], p->mean_gpu_s, p->options->printed_fairness);
    else if (p->packing.ordering == ADEPT_BY_TIME)
        score = adept_score_aged_time(metric, p->age_weight, age_s);
    return (ranked){queued, option, is_urgent, score};
}

static bool is_before(const ranked *a, const ranked *b)
{
    if (a->is_urgent != b->is_urgent) return a->is_urgent;
    return a->score != b->score ? a->score < b->score : a->queued < b->queued;
}

static void sift_down(ranked *heap, size_t n, size_t i)
{
    const ranked moved = heap[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &moved)) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

static ranked take_best(pass *p)
{
    const ranked best = p->heap[0];

    p->heap[0] = p->heap[--p->n_heap];
    sift_down(p->heap, p->n_heap, 0);
    return best;
}

static void rank_all(pass *p)
{
    size_t option = 0;

    for (size_t i = 0; i < p->view->n_queued; i++)
        if (choose(p, i, false, &option)) p->heap[p->n_heap++] = rank(p, i, option);
    for (size_t i = p->n_heap / 2; i-- > 0;)
        sift_down(p->heap, p->n_heap, i);
}

/* ---------------------------------------------------------------- a decision -------------------------------------- */

static void dispatch(pass *p)
{
    while (p->n_heap > 0 && !adept_room_is_none(&p->room)) {
        ranked best = take_best(p);
        const adept_option *options = p->view->queued[best.queued].options;
        if (p->packing.looks_ahead && !choose(p, best.queued, true, &best.option)) continue;
        if (adept_room_fits(&p->room, &options[best.option])) {
            if (keeps_cap(p, best.queued, best.option)) adept_room_start(&p->room, p->view, best.queued, best.option);
        } else if (p->packing.looks_ahead) {
            p->ahead_s[options[best.option].type] += p->considered[best.option].forecast.time_s;
        }
    }
}

static adept_rule replaced(adept_rule own, const char *name)
{
    adept_rule_by_name(&own, name ? name : "own");
    return own;
}

static double mean(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return n > 0 ? sum / (double)n : 0;
}

/* What the options leave of a row. */
static void resolve(pass *p, const adept_packing *own)
{
    const adept_policy_options *o = p->options;
    size_t n_open = 0;

    p->packing = *own;
    p->packing.placement = replaced(own->placement, o->placement);
    p->packing.ordering = replaced(own->ordering, o->ordering);
    p->packing.looks_ahead &= p->packing.placement == own->placement;
    p->age_weight = !isnan(o->age_weight) ? o->age_weight : p->packing.ordering == ADEPT_BY_TIME ? 0.1 : 0.001;
    p->cap_w = own->keeps_cap ? o->cap_w * (1 - o->cap_margin) : INFINITY;
    p->mean_gpu_s = mean(p->view->user_gpu_s, p->view->n_users);
    for (size_t i = 0; i < p->view->n_queued; i++)
        n_open += p->view->queued[i].n_options > 0;
    p->scarcity = n_open > 0 ? adept_score_scarcity((double)(n_open - 1), (double)p->view->n_running) : 0;
    p->slowdown = isnan(o->slowdown) ? own->slowdown : o->slowdown;
    if (p->packing.placement == ADEPT_BY_THRIFT) p->slowdown /= 1 + p->scarcity;
}

bool adept_pack(adept_view *view, const adept_policy_options *options, const adept_packing *own)
{
    pass p = {.view = view, .options = options};
    size_t most_options = 1;

    if (!adept_room_begin(&p.room, view)) return false;
    if (adept_room_is_none(&p.room)) {
        adept_room_end(&p.room);
        return true;
    }
    for (size_t i = 0; i < view->n_queued; i++)
        if (view->queued[i].n_options > most_options) most_options = view->queued[i].n_options;
    resolve(&p, own);
    p.considered = malloc(most_options * sizeof *p.considered);
    p.ahead_s = calloc(view->n_types + 1, sizeof *p.ahead_s);
    p.heap = malloc((view->n_queued + 1) * sizeof *p.heap);
    bool done = p.considered && p.ahead_s && p.heap;
    if (done) {
        rank_all(&p);
        dispatch(&p);
    }
    free(p.considered);
    free(p.ahead_s);
    free(p.heap);
    adept_room_end(&p.room);
    return done;
}
