/** @file engine_view.c  The simulation as a policy sees it, and what a policy does to it. */
#include "engine.h"
#include "adept_grow.h"
#include <stdlib.h>
#include <string.h>

static adept_engine *engine_of(const adept_view *view)
{
    return view->self;
}

static adept_forecast forecast(const adept_view *view, size_t queued, size_t option)
{
    return adept_engine_forecast(engine_of(view), view->queued[queued].job, option);
}

static int most_idle(const adept_view *view, size_t type)
{
    return adept_nodes_most_idle(engine_of(view), type);
}

static bool fits(const adept_view *view, const adept_job_option *option)
{
    return adept_nodes_fit(engine_of(view), option);
}

static bool ever_fits(const adept_view *view, const adept_job_option *option)
{
    return adept_nodes_ever_fit(engine_of(view), option);
}

static double fits_at(const adept_view *view, const adept_job_option *option)
{
    return adept_nodes_fit_at(engine_of(view), option);
}

static bool fits_beside(const adept_view *view, const adept_job_option *option, double at_s,
                        const adept_job_option *started)
{
    return adept_nodes_fit_beside(engine_of(view), option, at_s, started);
}

static double added_power_w(const adept_view *view, size_t queued, size_t option)
{
    return forecast(view, queued, option).power_w +
           adept_nodes_added_power_w(engine_of(view), &view->queued[queued].options[option]);
}

static bool frees_for(const adept_view *view, const size_t *running, size_t n, const adept_job_option *option)
{
    return adept_nodes_fit_without(engine_of(view), running, n, option);
}

static double lost_gpu_s(const adept_view *view, size_t running)
{
    return adept_engine_lost_gpu_s(engine_of(view), running);
}

static void refresh(adept_view *view)
{
    adept_engine *e = engine_of(view);

    view->queued = e->queue + e->queue_first;
    view->n_queued = e->n_queue;
    view->running = e->shown;
    view->n_running = e->n_runs;
    view->power_w = e->believed_jobs_power_w + e->nodes_power_w;
}

static void start(adept_view *view, size_t queued, size_t option)
{
    adept_engine *e = engine_of(view);

    if (queued >= e->n_queue || option >= e->queue[e->queue_first + queued].n_options ||
        !adept_nodes_fit(e, &view->queued[queued].options[option])) {
        e->broken = "it started a job that does not fit, or that is not queued";
        return;
    }
    adept_engine_start(e, view->queued[queued].job, option);
    e->queue[e->queue_first + queued].n_options = 0;
    e->classes[e->class_of[view->queued[queued].job]].n_queued--;
    e->n_queued--;
    e->has_acted = true;
    refresh(view);
}

static void preempt(adept_view *view, size_t running)
{
    adept_engine *e = engine_of(view);

    if (running >= e->n_runs || e->shown[running].is_urgent) {
        e->broken = "it preempted a job that is urgent, or that does not run";
        return;
    }
    adept_engine_stop(e, running, false);
    e->has_acted = true;
    refresh(view);
}

static void wake_at(adept_view *view, double time_s)
{
    adept_engine *e = engine_of(view);

    if (time_s > e->now_s || e->in->tick_s > 0) e->wake_at_s = fmin(e->wake_at_s, time_s);
}

/* ---------------------------------------------------------------- the queue --------------------------------------- */

static adept_candidate candidate(const adept_engine *e, size_t job)
{
    const adept_stream_job *j = &e->stream->jobs[job];
    const adept_job_class *c = &e->classes[e->class_of[job]];

    return (adept_candidate){.job = job,
                             .user = j->user,
                             .submit_s = j->submit_s,
                             .is_urgent = j->is_urgent,
                             .deadline_s = j->deadline_s,
                             .preemptions = e->records[job].preemptions,
                             .options = c->options,
                             .n_options = c->n_options};
}

static int by_number(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Those that arrived or came back, where they stand by submission: from the end, since most belong there. */
static void take_returned(adept_engine *e)
{
    size_t needed = e->queue_first + e->n_queue + e->n_returned;
    adept_candidate *queue = adept_grow(e->queue, &e->queue_capacity, needed, sizeof *queue);

    if (!queue) {
        e->failed = true;
        return;
    }
    e->queue = queue;
    queue += e->queue_first;
    qsort(e->returned, e->n_returned, sizeof *e->returned, by_number);
    for (size_t i = 0; i < e->n_returned; i++)
        e->classes[e->class_of[e->returned[i]]].n_queued++;
    size_t from = e->n_queue, to = e->n_queue + e->n_returned;
    e->n_queue = to;
    e->n_queued += e->n_returned;
    while (e->n_returned > 0)
        if (from > 0 && queue[from - 1].job > e->returned[e->n_returned - 1])
            queue[--to] = queue[--from];
        else
            queue[--to] = candidate(e, e->returned[--e->n_returned]);
}

/* Those at the front at once, others when they are many: a long queue is not moved for each job that starts. */
static void drop_started(adept_engine *e)
{
    size_t kept = 0, end = e->queue_first + e->n_queue;

    for (; e->n_queue > 0 && e->queue[e->queue_first].n_options == 0; e->n_queue--)
        e->queue_first++;
    if (e->n_queue - e->n_queued + e->queue_first <= e->n_queue / 5) return;
    for (size_t i = e->queue_first; i < end; i++)
        if (e->queue[i].n_options > 0) e->queue[kept++] = e->queue[i];
    e->queue_first = 0;
    e->n_queue = kept;
}

bool adept_engine_may_start(const adept_engine *e)
{
    for (size_t i = 0; i < e->n_classes; i++)
        for (size_t o = 0; e->classes[i].n_queued > 0 && o < e->classes[i].n_options; o++)
            if (adept_nodes_fit(e, &e->classes[i].options[o])) return true;
    return false;
}

void adept_engine_decide(adept_engine *e)
{
    adept_view view = {.now_s = e->now_s,
                       .n_types = e->cluster->n_types,
                       .user_gpu_s = e->shown_user_gpu_s,
                       .n_users = e->stream->n_users,
                       .self = e,
                       .forecast = forecast,
                       .most_idle = most_idle,
                       .fits = fits,
                       .ever_fits = ever_fits,
                       .fits_at = fits_at,
                       .fits_beside = fits_beside,
                       .added_power_w = added_power_w,
                       .start = start,
                       .preempt = preempt,
                       .lost_gpu_s = lost_gpu_s,
                       .frees_for = frees_for,
                       .wake_at = wake_at};

    if (e->n_returned > 0) take_returned(e);
    e->n_decisions++;
    e->has_acted = false;
    e->wake_at_s = INFINITY;
    if (e->n_queued == 0 || e->failed) return;
    memcpy(e->shown_user_gpu_s, e->user_gpu_s, e->stream->n_users * sizeof *e->user_gpu_s);
    for (size_t i = 0; i < e->n_runs; i++)
        e->shown_user_gpu_s[e->shown[i].user] +=
            (e->now_s - e->shown[i].start_s) *
            e->classes[e->class_of[e->shown[i].job]].options[e->shown[i].option].gpus;
    refresh(&view);
    if (!adept_policy_decide(e->in->policy, &view, &e->in->policy_options)) e->failed = true;
    drop_started(e);
}
