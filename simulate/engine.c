/** @file engine.c  Events in order: jobs arrive, run, end, are stopped; nodes fail, come back, sleep. Between two
 * events every power is constant, so energies are exact. */
#include "engine.h"
#include "adept_grow.h"
#include "adept_random.h"
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- events ------------------------------------------ */

static bool is_before(const adept_event *a, const adept_event *b)
{
    if (a->time_s != b->time_s) return a->time_s < b->time_s;
    return a->kind != b->kind ? a->kind < b->kind : a->order < b->order;
}

void adept_engine_event(adept_engine *e, double time_s, adept_event_kind kind, size_t subject, uint64_t turn)
{
    adept_event *events = adept_grow(e->events, &e->event_capacity, e->n_events + 1, sizeof *events);
    const adept_event new = {time_s, kind, subject, turn, e->n_made++};

    if (!events) {
        e->failed = true;
        return;
    }
    e->events = events;
    size_t i = e->n_events++;
    for (; i > 0 && is_before(&new, &events[(i - 1) / 2]); i = (i - 1) / 2)
        events[i] = events[(i - 1) / 2];
    events[i] = new;
}

static adept_event take_event(adept_engine *e)
{
    adept_event *events = e->events, first = events[0], last = events[--e->n_events];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < e->n_events; i = child) {
        if (child + 1 < e->n_events && is_before(&events[child + 1], &events[child])) child++;
        if (!is_before(&events[child], &last)) break;
        events[i] = events[child];
    }
    events[i] = last;
    return first;
}

/* ---------------------------------------------------------------- time and power ---------------------------------- */

static void add_point(adept_engine *e, double power_w)
{
    adept_power_point *series = adept_grow(e->series, &e->series_capacity, e->n_series + 1, sizeof *series);

    if (!series) {
        e->failed = true;
        return;
    }
    e->series = series;
    if (e->n_series > 0 && series[e->n_series - 1].time_s == e->now_s) e->n_series--;
    if (e->n_series == 0 || series[e->n_series - 1].power_w != power_w)
        series[e->n_series++] = (adept_power_point){e->now_s, power_w};
}

/* Energy until now. Only where a power has changed: the same sums whether or not somebody looked between. */
static void add_energy(adept_engine *e)
{
    double passed_s = e->now_s - e->since_s, power_w = e->since_jobs_power_w + e->since_nodes_power_w;

    e->energy_j += passed_s * power_w;
    e->nodes_energy_j += passed_s * e->since_nodes_power_w;
    if (power_w > e->in->policy_options.cap_w) e->over_cap_s += passed_s;
    e->since_s = e->now_s;
    e->since_jobs_power_w = e->jobs_power_w;
    e->since_nodes_power_w = e->nodes_power_w;
}

static void note_power(adept_engine *e)
{
    if (e->n_series > 0 && e->jobs_power_w == e->since_jobs_power_w && e->nodes_power_w == e->since_nodes_power_w)
        return;
    add_energy(e);
    add_point(e, e->jobs_power_w + e->nodes_power_w);
}

/* ---------------------------------------------------------------- what is said, and what is true ------------------ */

/* 1, or evenly between 1 - noise and 1 + noise: once for a job and a placement, whoever asks. */
static double factor(const adept_engine *e, double noise, adept_random_stream stream, size_t job, size_t of_template)
{
    if (noise == 0) return 1;
    return 1 + noise * (2 * adept_random(e->in->seed, stream, ((uint64_t)job << 16) + of_template) - 1);
}

static double steps_left(const adept_engine *e, size_t job, const adept_job_option *option)
{
    return ceil((e->stream->jobs[job].samples - e->records[job].samples_done) /
                ((double)option->gpus * (double)option->batch));
}

adept_forecast adept_engine_forecast(const adept_engine *e, size_t job, size_t option)
{
    const adept_job_class *c = &e->classes[e->class_of[job]];
    const adept_job_option *o = &c->options[option];
    size_t number = c->of_template[option];
    double most_w = o->gpus * e->cluster->types[o->type].tdp_w;
    double power_w = o->power_w * factor(e, e->in->noise, ADEPT_RANDOM_NOISE_POWER, job, number);

    return (adept_forecast){steps_left(e, job, o) * o->step_time_s *
                                factor(e, e->in->noise, ADEPT_RANDOM_NOISE_TIME, job, number),
                            e->in->noise > 0 ? fmin(power_w, fmax(most_w, o->power_w)) : power_w};
}

/* ---------------------------------------------------------------- runs -------------------------------------------- */

/* What has been done of a run, and how fast it goes on from now: its nodes' other jobs hold it up. */
static void update_rate(adept_engine *e, size_t run)
{
    adept_run_now *r = &e->runs[run];
    bool has_neighbours = false;

    for (size_t s = 0; s < r->n_shares; s++) {
        size_t node = r->shares[s].node;
        has_neighbours |= e->cluster->nodes[node].gpus - e->nodes[node].idle > r->shares[s].gpus;
    }
    double rate = has_neighbours ? 1 / (1 + e->in->interference) : 1, since_s = fmax(r->updated_s, r->ready_s);
    if (e->now_s > since_s) r->work_s -= (e->now_s - since_s) * r->rate;
    r->updated_s = e->now_s;
    r->rate = rate;
    r->turn = ++e->n_turns;
    adept_engine_event(e, fmax(e->now_s, r->ready_s) + fmax(0, r->work_s) / rate, ADEPT_EVENT_FINISH, r->job, r->turn);
}

static bool shares_a_node(const adept_run_now *a, const adept_allocation *shares, size_t n)
{
    for (size_t i = 0; i < a->n_shares; i++)
        for (size_t k = 0; k < n; k++)
            if (a->shares[i].node == shares[k].node) return true;
    return false;
}

static void update_neighbours(adept_engine *e, const adept_allocation *shares, size_t n)
{
    for (size_t i = 0; e->in->interference > 0 && i < e->n_runs; i++)
        if (shares_a_node(&e->runs[i], shares, n)) update_rate(e, i);
}

void adept_engine_start(adept_engine *e, size_t job, size_t option)
{
    const adept_job_class *c = &e->classes[e->class_of[job]];
    const adept_job_option *o = &c->options[option];
    const adept_forecast said = adept_engine_forecast(e, job, option);
    adept_job_record *record = &e->records[job];
    adept_run_now *runs = adept_grow(e->runs, &e->run_capacity, e->n_runs + 1, sizeof *runs);
    if (runs) e->runs = runs;
    adept_running *shown = adept_grow(e->shown, &e->shown_capacity, e->n_runs + 1, sizeof *shown);
    if (shown) e->shown = shown;
    adept_run_now r = {.job = job, .option = option};
    r.shares = runs && shown ? adept_nodes_take(e, o, &r.n_shares, &r.ready_s) : NULL;
    if (!r.shares) {
        e->failed = true;
        return;
    }
    r.step_s = o->step_time_s * factor(e, e->in->reality_noise, ADEPT_RANDOM_TRUTH_TIME, job, c->of_template[option]);
    r.power_w = o->power_w * factor(e, e->in->reality_noise, ADEPT_RANDOM_TRUTH_POWER, job, c->of_template[option]);
    r.believed_power_w = said.power_w;
    r.work_s = r.total_work_s = steps_left(e, job, o) * r.step_s;
    r.updated_s = e->now_s;
    e->jobs_power_w += r.power_w;
    e->believed_jobs_power_w += r.believed_power_w;
    if (isnan(record->first_start_s)) record->first_start_s = e->now_s;
    record->state = ADEPT_JOB_RUNNING;
    record->start_s = e->now_s;
    record->option = c->of_template[option];
    e->uses[o->type].n_starts++;
    e->uses[o->type].gpus_started += o->gpus;
    e->run_of[job] = e->n_runs;
    e->runs[e->n_runs] = r;
    e->shown[e->n_runs++] = (adept_running){.job = job,
                                            .user = e->stream->jobs[job].user,
                                            .option = option,
                                            .is_urgent = e->stream->jobs[job].is_urgent,
                                            .preemptions = record->preemptions,
                                            .start_s = e->now_s,
                                            .expected_end_s = r.ready_s + said.time_s};
    update_rate(e, e->n_runs - 1);
    update_neighbours(e, r.shares, r.n_shares);
}

/* For pictures. @param end_s  NAN: it still runs in the end */
static void add_spans(adept_engine *e, size_t run, double end_s)
{
    const adept_run_now *r = &e->runs[run];
    adept_job_span *spans = adept_grow(e->spans, &e->span_capacity, e->n_spans + r->n_shares, sizeof *spans);

    if (!spans) {
        e->failed = true;
        return;
    }
    e->spans = spans;
    for (size_t i = 0; i < r->n_shares; i++)
        spans[e->n_spans++] = (adept_job_span){.job = r->job,
                                               .node = r->shares[i].node,
                                               .option = e->records[r->job].option,
                                               .gpus = r->shares[i].gpus,
                                               .start_s = e->records[r->job].start_s,
                                               .end_s = end_s};
}

/* What a run drew and used until now goes to its job; its GPUs are free. */
static void close_run(adept_engine *e, size_t run)
{
    adept_run_now r = e->runs[run];
    const adept_job_option *o = &e->classes[e->class_of[r.job]].options[r.option];
    adept_job_record *record = &e->records[r.job];
    double ran_s = e->now_s - record->start_s;

    if (e->in->keeps_series) add_spans(e, run, e->now_s);
    record->energy_j += r.power_w * ran_s;
    record->gpu_s += o->gpus * ran_s;
    e->user_gpu_s[e->stream->jobs[r.job].user] += o->gpus * ran_s;
    e->done_jobs_energy_j += r.power_w * ran_s;
    e->uses[o->type].jobs_energy_j += r.power_w * ran_s;
    e->uses[o->type].gpu_s += o->gpus * ran_s;
    e->jobs_power_w -= r.power_w;
    e->believed_jobs_power_w -= r.believed_power_w;
    e->run_of[r.job] = NONE;
    e->n_runs--;
    e->runs[run] = e->runs[e->n_runs];
    e->shown[run] = e->shown[e->n_runs];
    if (run < e->n_runs) e->run_of[e->runs[run].job] = run;
    if (e->n_runs == 0) e->jobs_power_w = e->believed_jobs_power_w = 0; /* no rest of rounding */
    adept_nodes_give(e, r.shares, r.n_shares);
    update_neighbours(e, r.shares, r.n_shares);
    free(r.shares);
}

/* Of what a run has done, in seconds at full speed, what would be kept: whole steps, until the last checkpoint. */
static double kept_steps(const adept_engine *e, const adept_run_now *r)
{
    double since_s = fmax(r->updated_s, r->ready_s);
    double left_s = r->work_s - (e->now_s > since_s ? (e->now_s - since_s) * r->rate : 0);
    double done = r->total_work_s - fmax(0, left_s);

    if (e->in->loss == ADEPT_LOSS_ALL) return 0;
    if (e->in->loss == ADEPT_LOSS_CHECKPOINT) done = floor(done / e->in->checkpoint_s) * e->in->checkpoint_s;
    return floor(done / r->step_s * (1 + 1e-12));
}

double adept_engine_lost_gpu_s(const adept_engine *e, size_t run)
{
    const adept_run_now *r = &e->runs[run];
    const adept_job_option *o = &e->classes[e->class_of[r->job]].options[r->option];

    return o->gpus * fmax(0, e->now_s - e->records[r->job].start_s - kept_steps(e, r) * r->step_s);
}

static void queue_again(adept_engine *e, size_t job)
{
    size_t *returned = adept_grow(e->returned, &e->returned_capacity, e->n_returned + 1, sizeof *returned);

    if (!returned) {
        e->failed = true;
        return;
    }
    e->returned = returned;
    returned[e->n_returned++] = job;
}

void adept_engine_stop(adept_engine *e, size_t run, bool is_failure)
{
    const adept_run_now *r = &e->runs[run];
    const adept_job_option *o = &e->classes[e->class_of[r->job]].options[r->option];
    size_t job = r->job;
    adept_job_record *record = &e->records[job];
    double lost_gpu_s = adept_engine_lost_gpu_s(e, run), samples = kept_steps(e, r) * o->gpus * (double)o->batch;

    record->lost_gpu_s += lost_gpu_s;
    record->lost_energy_j += r->power_w * lost_gpu_s / o->gpus;
    record->samples_done = fmin(e->stream->jobs[job].samples, record->samples_done + samples);
    record->state = ADEPT_JOB_QUEUED;
    *(is_failure ? &record->failures : &record->preemptions) += 1;
    *(is_failure ? &e->n_failures : &e->n_preemptions) += 1;
    close_run(e, run);
    queue_again(e, job);
}

static void finish(adept_engine *e, size_t job)
{
    adept_job_record *record = &e->records[job];

    close_run(e, e->run_of[job]);
    record->state = ADEPT_JOB_DONE;
    record->finish_s = e->now_s;
    record->samples_done = e->stream->jobs[job].samples;
    e->n_finished++;
}

static void fail_node(adept_engine *e, size_t node)
{
    uint64_t draw = ((uint64_t)node << 32) + ++e->nodes[node].failures;

    for (size_t i = e->n_runs; i-- > 0;)
        for (size_t s = 0; s < e->runs[i].n_shares; s++)
            if (e->runs[i].shares[s].node == node) {
                adept_engine_stop(e, i, true);
                break;
            }
    adept_nodes_fail(e, node);
    adept_engine_event(e, e->now_s + e->cluster->repair_s, ADEPT_EVENT_REPAIR, node, 0);
    adept_engine_event(e,
                       e->now_s + e->cluster->repair_s +
                           adept_random_exponential(e->in->seed, ADEPT_RANDOM_FAILURES, draw, e->cluster->mtbf_s),
                       ADEPT_EVENT_FAIL, node, 0);
}

/* @return whether something changed that a policy may act on */
static bool handle(adept_engine *e, const adept_event *event)
{
    switch (event->kind) {
    case ADEPT_EVENT_FINISH:
        if (e->run_of[event->subject] == NONE || e->runs[e->run_of[event->subject]].turn != event->turn) return false;
        finish(e, event->subject);
        return true;
    case ADEPT_EVENT_REPAIR:
        adept_nodes_repair(e, event->subject);
        return true;
    case ADEPT_EVENT_FAIL:
        fail_node(e, event->subject);
        return true;
    case ADEPT_EVENT_SLEEP:
        adept_nodes_sleep(e, event->subject, event->turn);
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------- the loop ---------------------------------------- */

/* The first moment from `time_s` on at which the scheduler is awake. */
static double tick_from(const adept_engine *e, double time_s)
{
    double tick_s = e->in->tick_s;

    if (!(tick_s > 0) || time_s == INFINITY) return time_s;
    double at_s = ceil(time_s / tick_s) * tick_s;
    return at_s < time_s ? at_s + tick_s : at_s;
}

static void arrive(adept_engine *e)
{
    e->records[e->n_arrived].state = ADEPT_JOB_QUEUED;
    queue_again(e, e->n_arrived++);
}

static void decide(adept_engine *e)
{
    double asked_s = e->now_s;

    adept_engine_decide(e);
    double next_s = e->in->tick_s > 0 ? tick_from(e, nextafter(asked_s, INFINITY)) : asked_s;
    e->decide_at_s = INFINITY;
    /* what did not fit may do so otherwise */
    if (e->has_acted && e->n_queued + e->n_returned > 0) e->decide_at_s = next_s;
    if (!e->in->policy->is_time_blind && e->in->tick_s > 0 && adept_engine_may_start(e)) e->decide_at_s = next_s;
    if (e->wake_at_s < INFINITY) e->decide_at_s = fmin(e->decide_at_s, fmax(next_s, tick_from(e, e->wake_at_s)));
    if (e->in->never_skips && e->in->tick_s > 0) e->decide_at_s = next_s;
}

static void observe(const adept_engine *e)
{
    double jobs_energy_j = e->done_jobs_energy_j;

    if (!e->in->observe) return;
    int *idle = malloc((e->cluster->n_nodes + 1) * sizeof *idle);
    for (size_t i = 0; i < e->n_runs; i++)
        jobs_energy_j += e->runs[i].power_w * (e->now_s - e->records[e->runs[i].job].start_s);
    for (size_t i = 0; idle && i < e->cluster->n_nodes; i++)
        idle[i] = e->nodes[i].idle;
    double passed_s = e->now_s - e->since_s;
    const adept_observed now = {.now_s = e->now_s,
                                .idle_gpus = idle,
                                .power_w = e->jobs_power_w + e->nodes_power_w,
                                .energy_j = e->energy_j + passed_s * (e->since_jobs_power_w + e->since_nodes_power_w),
                                .jobs_energy_j = jobs_energy_j,
                                .idle_energy_j = e->nodes_energy_j + passed_s * e->since_nodes_power_w,
                                .n_queued = e->n_queued + e->n_returned,
                                .n_running = e->n_runs,
                                .n_finished = e->n_finished,
                                .records = e->records};
    e->in->observe(e->in->context, &now);
    free(idle);
}

/* Windows that begin before a time. */
static void mark_windows(adept_engine *e, double before_s)
{
    double first_s = e->stream->n_jobs > 0 ? e->stream->jobs[0].submit_s : 0,
           length_s = e->stream->n_jobs > 0 ? e->stream->jobs[e->stream->n_jobs - 1].submit_s - first_s : 0;

    for (; e->n_marks < e->in->n_windows; e->n_marks++) {
        double begin_s = first_s + length_s * (double)e->n_marks / (double)e->in->n_windows;
        if (begin_s >= before_s) break;
        e->now_s = begin_s;
        e->marks[e->n_marks] = adept_engine_totals(e);
        adept_engine_uses(&e->mark_uses[e->n_marks * e->cluster->n_types], e);
    }
}

/* Ends before arrivals before decisions, where they come at one time. */
static void run(adept_engine *e)
{
    const double horizon_s = e->in->horizon_s;

    while (!e->failed && !e->broken && (horizon_s < INFINITY || e->n_finished < e->stream->n_jobs)) {
        double event_s = e->n_events > 0 ? e->events[0].time_s : INFINITY;
        double arrival_s = e->n_arrived < e->stream->n_jobs ? e->stream->jobs[e->n_arrived].submit_s : INFINITY;
        double next_s = fmin(fmin(event_s, arrival_s), e->decide_at_s);
        if (next_s > horizon_s || next_s == INFINITY) break;
        mark_windows(e, next_s);
        e->now_s = next_s;
        bool changed = false;
        if (event_s == next_s) {
            const adept_event event = take_event(e);
            changed = handle(e, &event);
        } else if (arrival_s == next_s) {
            arrive(e);
            changed = true;
        } else {
            decide(e);
        }
        if (changed) e->decide_at_s = fmin(e->decide_at_s, tick_from(e, e->now_s));
        note_power(e);
        observe(e);
    }
    if (horizon_s < INFINITY) {
        mark_windows(e, horizon_s);
        e->now_s = horizon_s;
    }
    for (size_t i = 0; e->in->keeps_series && i < e->n_runs; i++)
        add_spans(e, i, NAN);
    add_energy(e);
}

/* ---------------------------------------------------------------- setting up -------------------------------------- */

static bool add_class(adept_engine *e, const adept_stream_job *job)
{
    const adept_template *t = &e->stream->templates[job->template_index];
    bool sees_limits = adept_policy_sees_limits(e->in->policy, &e->in->policy_options);
    adept_job_class *classes = adept_grow(e->classes, &e->class_capacity, e->n_classes + 1, sizeof *classes);

    if (!classes) return false;
    e->classes = classes;
    adept_job_class *c = &classes[e->n_classes++];
    *c = (adept_job_class){.template_index = job->template_index, .gpus = job->gpus, .batch = job->batch};
    c->options = calloc(t->n_options + 1, sizeof *c->options);
    c->of_template = calloc(t->n_options + 1, sizeof *c->of_template);
    for (size_t i = 0; c->options && c->of_template && i < t->n_options; i++) {
        const adept_job_option *o = &t->options[i];
        bool wanted = (job->gpus == 0 || o->gpus == job->gpus) && (job->batch == 0 || o->batch == job->batch) &&
                      (sees_limits || !(o->limit_w > 0)) && adept_nodes_ever_fit(e, o);
        if (!wanted) continue;
        c->options[c->n_options] = *o;
        c->of_template[c->n_options++] = i;
    }
    return c->options && c->of_template;
}

static adept_status classify(adept_engine *e, adept_error *err)
{
    for (size_t i = 0; i < e->stream->n_jobs; i++) {
        const adept_stream_job *job = &e->stream->jobs[i];
        size_t c = 0;
        while (c < e->n_classes && (e->classes[c].template_index != job->template_index ||
                                    e->classes[c].gpus != job->gpus || e->classes[c].batch != job->batch))
            c++;
        if (c == e->n_classes && !add_class(e, job)) return adept_no_memory(err, "a simulation");
        if (e->classes[c].n_options == 0)
            return adept_error_set(err, ADEPT_E_USAGE, "job %lld: no node can ever run '%s' on %d GPUs",
                                   (long long)job->id, e->stream->templates[job->template_index].name, job->gpus);
        e->class_of[i] = c;
        e->records[i] = (adept_job_record){.first_start_s = NAN, .start_s = NAN, .finish_s = NAN, .option = NONE};
        e->run_of[i] = NONE;
    }
    return ADEPT_OK;
}

static adept_status begin(adept_engine *e, adept_error *err)
{
    size_t n = e->stream->n_jobs;

    e->decide_at_s = e->wake_at_s = INFINITY;
    e->n_marks = 1;
    e->class_of = calloc(n + 1, sizeof *e->class_of);
    e->records = calloc(n + 1, sizeof *e->records);
    e->run_of = calloc(n + 1, sizeof *e->run_of);
    e->user_gpu_s = calloc(e->stream->n_users + 1, sizeof *e->user_gpu_s);
    e->shown_user_gpu_s = calloc(e->stream->n_users + 1, sizeof *e->shown_user_gpu_s);
    e->marks = calloc(e->in->n_windows + 1, sizeof *e->marks);
    e->uses = calloc(e->cluster->n_types + 1, sizeof *e->uses);
    e->mark_uses = calloc((e->in->n_windows + 1) * e->cluster->n_types + 1, sizeof *e->mark_uses);
    if (!e->marks || !e->uses || !e->mark_uses || !e->class_of || !e->records || !e->run_of || !e->user_gpu_s ||
        !e->shown_user_gpu_s || !adept_nodes_begin(e))
        return adept_no_memory(err, "a simulation");
    adept_status status = classify(e, err);
    note_power(e);
    return status;
}

static void end(adept_engine *e)
{
    for (size_t i = 0; i < e->n_classes; i++) {
        free(e->classes[i].options);
        free(e->classes[i].of_template);
    }
    for (size_t i = 0; i < e->n_runs; i++)
        free(e->runs[i].shares);
    void *const owned[] = {
        e->nodes,    e->lists, e->whole_gpus, e->classes, e->class_of,   e->records,          e->queue,
        e->returned, e->runs,  e->shown,      e->run_of,  e->user_gpu_s, e->shown_user_gpu_s, e->events,
        e->series,   e->spans, e->marks,      e->uses,    e->mark_uses,  e->starves};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

adept_status adept_simulate(adept_run_result *out, const adept_simulation *simulation, adept_error *err)
{
    adept_engine e = {.in = simulation, .cluster = simulation->cluster, .stream = simulation->stream};
    adept_status status = begin(&e, err);

    if (status == ADEPT_OK) run(&e);
    if (status == ADEPT_OK && e.broken)
        status = adept_error_set(err, ADEPT_E_USAGE, "policy %s: %s", simulation->policy->name, e.broken);
    if (status == ADEPT_OK && e.failed) status = adept_no_memory(err, "a simulation");
    if (status == ADEPT_OK) {
        size_t n = simulation->n_windows;
        *out = (adept_run_result){.windows = n > 0 ? calloc(n, sizeof *out->windows) : NULL,
                                  .types = calloc((n + 1) * e.cluster->n_types + 1, sizeof *out->types)};
        status = out->types && (out->windows || n == 0) ? adept_engine_outcome(out, &e, err)
                                                        : adept_no_memory(err, "a simulation");
        if (status != ADEPT_OK) adept_run_result_free(out);
    }
    if (status == ADEPT_OK) {
        out->records = e.records;
        out->starves = e.starves;
        e.records = NULL;
        e.starves = NULL;
        if (simulation->keeps_series) {
            out->series = e.series;
            out->n_series = e.n_series;
            e.series = NULL;
            out->spans = e.spans;
            out->n_spans = e.n_spans;
            e.spans = NULL;
        }
    }
    end(&e);
    return status;
}

void adept_run_result_free(adept_run_result *result)
{
    free(result->records);
    free(result->starves);
    free(result->windows);
    free(result->types);
    free(result->series);
    free(result->spans);
    *result = (adept_run_result){.records = NULL};
}
