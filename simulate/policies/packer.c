/** @file packer.c */
#include "packer.h"
#include "adept_score.h"
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

bool adept_room_fits(const adept_room *room, const adept_job_option *option)
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
    const adept_job_option *first = &job->options[0], *o = &job->options[option];
    return !options->is_rigid || (o->gpus == first->gpus && o->batch == first->batch);
}

static bool leaves_room(const adept_view *view, adept_reservation *kept, const adept_job_option *option)
{
    size_t at = (size_t)option->gpus % (sizeof kept->asked / sizeof *kept->asked);

    if (kept->asked[at].gpus != option->gpus) {
        kept->asked[at].gpus = option->gpus;
        kept->asked[at].leaves_room = view->fits_beside(view, kept->option, kept->start_s, option);
    }
    return kept->asked[at].leaves_room;
}

bool adept_fastest(const adept_view *view, const adept_policy_options *options, const adept_room *room,
                   adept_reservation *kept, size_t queued, size_t *option)
{
    const adept_candidate *job = &view->queued[queued];
    double least_s = INFINITY;

    for (size_t o = 0; o < job->n_options; o++) {
        if (!adept_room_fits(room, &job->options[o]) || !adept_may_run_as(options, job, o)) continue;
        double time_s = view->forecast(view, queued, o).time_s;
        if (time_s >= least_s) continue;
        bool delays = kept && job->options[o].type == kept->option->type && view->now_s + time_s > kept->start_s &&
                      !leaves_room(view, kept, &job->options[o]);
        if (delays) continue;
        least_s = time_s;
        *option = o;
    }
    return least_s < INFINITY;
}

size_t adept_start_in_order(adept_view *view, const adept_policy_options *options, adept_room *room)
{
    size_t i = 0, option = 0;

    for (; i < view->n_queued; i++) {
        if (view->queued[i].n_options == 0) continue;
        if (!adept_fastest(view, options, room, NULL, i, &option)) break;
        adept_room_start(room, view, i, option);
    }
    return i;
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

/* When a placement will fit, as long as nothing is started. */
typedef struct promise {
    size_t type, n_started;
    int gpus; /* 0: nothing is kept here */
    double time_s;
} promise;

#define PROMISES 64

typedef struct pass {
    adept_view *view;
    const adept_policy_options *options;
    adept_packing packing;
    double age_weight, slowdown, cap_w, scarcity, mean_gpu_s;
    adept_room room;
    considered *considered; /* of one job */
    double *ahead_s;        /* of each type: run times of jobs that wait for it */
    double *sample_gpu_s;   /* of each type: the least GPU-seconds of one job's sample; INFINITY: it cannot run there */
    ranked *heap;
    size_t n_heap, n_started;
    promise promises[PROMISES];
} pass;

static bool keeps_cap(const pass *p, size_t queued, size_t option)
{
    return p->cap_w == INFINITY || p->view->power_w + p->view->added_power_w(p->view, queued, option) <= p->cap_w;
}

static double fits_at(pass *p, const adept_job_option *option)
{
    promise *kept = &p->promises[(option->type * 31 + (size_t)option->gpus) % PROMISES];

    if (kept->gpus != option->gpus || kept->type != option->type || kept->n_started != p->n_started)
        *kept = (promise){option->type, p->n_started, option->gpus, p->view->fits_at(p->view, option)};
    return kept->time_s;
}

/* How much slower a job is on a type of GPU than on all types on average. */
static double relative_time(const pass *p, size_t queued, size_t type)
{
    const adept_candidate *job = &p->view->queued[queued];
    double sum = 0, n = 0;

    for (size_t t = 0; t < p->view->n_types; t++)
        p->sample_gpu_s[t] = INFINITY;
    for (size_t o = 0; o < job->n_options; o++) {
        const adept_job_option *option = &job->options[o];
        p->sample_gpu_s[option->type] =
            fmin(p->sample_gpu_s[option->type], option->step_time_s / (double)option->batch);
    }
    for (size_t t = 0; t < p->view->n_types; t++)
        if (p->sample_gpu_s[t] < INFINITY) {
            sum += log(p->sample_gpu_s[t]);
            n++;
        }
    return p->sample_gpu_s[type] / exp(sum / n);
}

/* By a rule that knows the job alone: the same for placements and orders. */
static double metric_of(adept_rule rule, adept_forecast f)
{
    switch (rule) {
    case ADEPT_BY_TIME:
        return f.time_s;
    case ADEPT_BY_EDP:
        return adept_score_edp(f.time_s, f.power_w);
    case ADEPT_BY_ENERGY:
        return f.power_w * f.time_s;
    case ADEPT_BY_SUBMISSION:
    case ADEPT_BY_THRIFT:
        break;
    }
    return 0;
}

static double placement_metric(const pass *p, size_t queued, size_t option, adept_forecast f)
{
    if (p->packing.placement != ADEPT_BY_THRIFT) return metric_of(p->packing.placement, f);
    /* A table may say that a job draws less than idle GPUs do; no job is free. */
    double added_w = fmax(p->view->added_power_w(p->view, queued, option), 0.01 * f.power_w);
    return adept_score_thrift(added_w * f.time_s, p->view->queued[queued].options[option].gpus * f.time_s, p->scarcity);
}

/* @return when the job would have ended, from now, in the fastest placement */
static double consider(pass *p, size_t queued, bool looks_ahead)
{
    const adept_candidate *job = &p->view->queued[queued];
    double soonest_s = INFINITY;

    for (size_t o = 0; o < job->n_options; o++) {
        considered *c = &p->considered[o];
        bool fits = adept_room_fits(&p->room, &job->options[o]);
        c->end_s = NAN;
        if ((!fits && !looks_ahead) || !adept_may_run_as(p->options, job, o)) continue;
        if (p->packing.sees_cap && !keeps_cap(p, queued, o)) continue;
        c->forecast = p->view->forecast(p->view, queued, o);
        c->end_s = c->forecast.time_s;
        /* It would wait. What is promised counts twice: others will come and want the same GPUs. */
        if (!fits)
            c->end_s += 2 * fmax(0, fits_at(p, &job->options[o]) - p->view->now_s) + p->ahead_s[job->options[o].type];
        soonest_s = fmin(soonest_s, c->end_s);
    }
    return soonest_s;
}

/* How long a job may take: so much longer than as it would run for the least product of energy and time, without power
 * limits. */
static double longest(const pass *p, const adept_candidate *job, double soonest_s)
{
    double least = INFINITY, end_s = soonest_s;

    if (p->slowdown == INFINITY) return INFINITY;
    for (size_t o = 0; o < job->n_options; o++) {
        const considered *c = &p->considered[o];
        double edp = c->forecast.power_w * c->forecast.time_s * c->end_s;
        if (isnan(c->end_s) || job->options[o].limit_w > 0 || edp >= least) continue;
        least = edp;
        end_s = c->end_s;
    }
    return end_s * (1 + p->slowdown);
}

/* The best placement of a job. */
static bool choose(pass *p, size_t queued, bool looks_ahead, size_t *option)
{
    const adept_candidate *job = &p->view->queued[queued];
    double soonest_s = consider(p, queued, looks_ahead), least = INFINITY;

    if (soonest_s == INFINITY) return false;
    double most_s = longest(p, job, soonest_s);
    if (p->packing.urgent_first && job->is_urgent)
        most_s = fmin(most_s, fmax(soonest_s, job->deadline_s - p->view->now_s));
    for (size_t o = 0; o < job->n_options; o++) {
        const considered *c = &p->considered[o];
        if (!(c->end_s <= most_s)) continue;
        double metric = placement_metric(p, queued, o, c->forecast);
        if (metric > least || (metric == least && c->end_s >= p->considered[*option].end_s)) continue;
        least = metric;
        *option = o;
    }
    return least < INFINITY;
}

/* ---------------------------------------------------------------- order ------------------------------------------- */

static double ordering_metric(const pass *p, size_t queued, size_t option)
{
    const adept_forecast f = p->considered[option].forecast;

    if (p->packing.ordering != ADEPT_BY_THRIFT) return metric_of(p->packing.ordering, f);
    double relative = relative_time(p, queued, p->view->queued[queued].options[option].type);
    return metric_of(ADEPT_BY_EDP, f) * relative * relative;
}

static ranked rank(const pass *p, size_t queued, size_t option)
{
    const adept_candidate *job = &p->view->queued[queued];
    double age_s = p->view->now_s - job->submit_s, metric = ordering_metric(p, queued, option), score;
    bool is_urgent = p->packing.urgent_first && job->is_urgent;

    if (is_urgent)
        score = adept_score_slack(job->deadline_s, p->view->now_s, p->considered[option].forecast.time_s);
    else if (p->packing.is_fair)
        score = adept_score_fair(metric, p->view->user_gpu_s[job->user], p->mean_gpu_s, p->options->printed_fairness);
    else if (p->packing.ordering == ADEPT_BY_TIME)
        score = adept_score_aged_time(metric, p->age_weight, age_s);
    else
        score = adept_score_aged(metric, p->age_weight, age_s);
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

/* ---------------------------------------------------------------- a decision -------------------------------------- */

static void dispatch(pass *p)
{
    while (p->n_heap > 0 && !adept_room_is_none(&p->room)) {
        ranked best = p->heap[0];
        p->heap[0] = p->heap[--p->n_heap];
        sift_down(p->heap, p->n_heap, 0);
        const adept_job_option *options = p->view->queued[best.queued].options;
        if (p->packing.looks_ahead && !choose(p, best.queued, true, &best.option)) continue;
        if (!adept_room_fits(&p->room, &options[best.option])) {
            if (p->packing.looks_ahead)
                p->ahead_s[options[best.option].type] += p->considered[best.option].forecast.time_s;
        } else if (keeps_cap(p, best.queued, best.option)) {
            adept_room_start(&p->room, p->view, best.queued, best.option);
            p->n_started++;
        }
    }
}

static adept_rule replaced(adept_rule own, const char *name)
{
    adept_rule_by_name(&own, name ? name : "own");
    return own;
}

/* By how many others wait. */
static double scarcity_of(const adept_view *view)
{
    size_t n_open = 0;

    for (size_t i = 0; i < view->n_queued; i++)
        n_open += view->queued[i].n_options > 0;
    return n_open > 0 ? adept_score_scarcity((double)(n_open - 1), (double)view->n_running) : 0;
}

/* What the options leave of a row. */
static void resolve(pass *p, const adept_packing *own)
{
    const adept_policy_options *o = p->options;
    double gpu_s = 0;

    p->packing = *own;
    p->packing.placement = replaced(own->placement, o->placement);
    p->packing.ordering = replaced(own->ordering, o->ordering);
    p->packing.looks_ahead &= p->packing.placement == own->placement;
    p->age_weight = !isnan(o->age_weight) ? o->age_weight : p->packing.ordering == ADEPT_BY_TIME ? 0.1 : 0.001;
    p->cap_w = own->keeps_cap ? o->cap_w * (1 - o->cap_margin) : INFINITY;
    for (size_t i = 0; i < p->view->n_users; i++)
        gpu_s += p->view->user_gpu_s[i];
    p->mean_gpu_s = p->view->n_users > 0 ? gpu_s / (double)p->view->n_users : 0;
    p->scarcity = isnan(o->scarcity) ? scarcity_of(p->view) : o->scarcity;
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
    p.considered = calloc(most_options, sizeof *p.considered);
    p.ahead_s = calloc(view->n_types + 1, sizeof *p.ahead_s);
    p.sample_gpu_s = malloc((view->n_types + 1) * sizeof *p.sample_gpu_s);
    p.heap = malloc((view->n_queued + 1) * sizeof *p.heap);
    bool done = p.considered && p.ahead_s && p.sample_gpu_s && p.heap;
    if (done) {
        size_t option = 0;
        for (size_t i = 0; i < view->n_queued; i++)
            if (choose(&p, i, false, &option)) p.heap[p.n_heap++] = rank(&p, i, option);
        for (size_t i = p.n_heap / 2; i-- > 0;)
            sift_down(p.heap, p.n_heap, i);
        dispatch(&p);
    }
    free(p.considered);
    free(p.ahead_s);
    free(p.sample_gpu_s);
    free(p.heap);
    adept_room_end(&p.room);
    return done;
}
