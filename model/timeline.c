/** @file timeline.c  The tasks of a step as events; see adept_timeline.h. */
#include "adept_timeline.h"
#include "adept_json_writer.h"
#include "nearest.h"
#include "plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

ADEPT_NAMES(adept_timeline_row_name, "host", "compute", "optimizer", "links in the node", "links between nodes")

/* One execution of an operator at the step's clock, by pass. */
typedef struct execution {
    double time_s[2], launches[2];
} execution;

typedef struct drawing {
    const adept_profile *prof;
    const adept_plan *plan;
    const adept_step *step;
    execution *executions; /* of the profile's operators; owned */
    adept_timeline *out;
    size_t room;
} drawing;

static const char *part_name(adept_part part)
{
    return part == ADEPT_PART_OPTIMIZER ? "optimizer" : adept_pass_name((adept_pass)part);
}

static void draw(drawing *d, adept_timeline_event event)
{
    if (!(event.time_s > 0.0) || d->out->n == d->room) return;
    if (event.bytes == 0.0) event.bytes = NAN;
    if (!event.op) event.op_index = -1;
    event.micro_batch = NAN;
    d->out->row_s[event.row] += event.time_s;
    d->out->events[d->out->n++] = event;
}

static adept_status time_operators(drawing *d, adept_error *err)
{
    const adept_plan_kernels *known = &d->plan->kernels;
    for (size_t i = 0; i < d->prof->n_ops; i++) {
        const adept_profile_op *op = &d->prof->ops[i];
        for (size_t k = 0; k < op->n_kernels; k++) {
            adept_timed_kernel t;
            adept_status status = adept_operator_kernel_time(&t, op, &op->kernels[k], d->prof->precision, d->plan->hw,
                                                             known->theta, known->menus, err);
            if (status != ADEPT_OK) return status;
            if (t.time_s > 0.0)
                d->executions[i].time_s[op->kernels[k].pass] +=
                    t.repeats * adept_timed_kernel_at(&t, &known->list.board, d->step->clock_ratio).time_s;
            d->executions[i].launches[op->kernels[k].pass] += op->kernels[k].launches;
        }
    }
    return ADEPT_OK;
}

/* Operators of one pass from `start_s` on. Between them are the gaps of launches and, where the pass waits for the host
 * until `end_s`, an equal share of the wait. */
static void draw_operators(drawing *d, adept_part part, double start_s, double end_s)
{
    const adept_program *program = &d->prof->program;
    double time_s = 0.0, launches = 0.0;
    for (size_t i = 0; i < program->n_operators; i++) {
        int32_t op = program->operators[i].op;
        if (op >= 0) time_s += d->executions[op].time_s[part], launches += d->executions[op].launches[part];
    }
    double gap_s = launches > 0.0 ? fmax(0.0, (end_s - start_s - time_s) / launches) : 0.0;
    for (size_t i = 0; i < program->n_operators; i++) {
        const adept_program_operator *o =
            &program->operators[part == ADEPT_PART_BACKWARD ? program->n_operators - 1 - i : i];
        if (o->op < 0) continue;
        const execution *x = &d->executions[o->op];
        draw(d, (adept_timeline_event){.row = ADEPT_TIMELINE_COMPUTE,
                                       .name = program->kinds[o->kind].kind,
                                       .module = d->prof->modules[o->module].path,
                                       .op = program->kinds[o->kind].op,
                                       .op_index = o->op,
                                       .part = part_name(part),
                                       .passes = 1.0,
                                       .start_s = start_s,
                                       .time_s = x->time_s[part]});
        start_s += x->time_s[part] + gap_s * x->launches[part];
    }
}

/* When a part is done and launched; passes between the first and the last may run on meanwhile. */
static double end_of_part(const adept_schedule *s, size_t index)
{
    const adept_task *t = &s->tasks[index], *launched = t + 1; /* the host's stands behind it */
    double end_s = fmax(t->start_s + t->time_s, launched->start_s + launched->time_s);
    for (size_t i = index + 2; i < s->n; i++)
        if (s->tasks[i].kind == ADEPT_TASK_PART && s->tasks[i].lane == ADEPT_LANE_COMPUTE)
            return fmin(end_s, s->tasks[i].start_s);
    return end_s;
}

static void draw_kernels(drawing *d, const adept_schedule *s, size_t index)
{
    const adept_task *t = &s->tasks[index];
    const adept_span *all = &d->plan->kernels.list.part[t->part];
    double passes = t->share * d->plan->kernels.numbers.passes;
    bool optimizes = t->part == ADEPT_PART_OPTIMIZER;
    if (!optimizes && d->prof->program.n_operators > 0 && fabs(passes - 1.0) < 0.5) {
        draw_operators(d, t->part, t->start_s, end_of_part(s, index));
        return;
    }
    draw(d, (adept_timeline_event){.row = optimizes ? ADEPT_TIMELINE_OPTIMIZER : ADEPT_TIMELINE_COMPUTE,
                                   .name = optimizes && d->prof->optimizer ? d->prof->optimizer : part_name(t->part),
                                   .part = part_name(t->part),
                                   .passes = optimizes ? 0.0 : passes,
                                   .start_s = t->start_s,
                                   .time_s = t->share *
                                             adept_span_s(all, &d->plan->kernels.list.board, d->step->clock_ratio)});
}

static void draw_task(drawing *d, const adept_schedule *s, size_t index)
{
    const adept_task *t = &s->tasks[index];
    static const char *const launches[ADEPT_PARTS] = {"launch forward", "launch backward", "launch optimizer"};
    adept_timeline_event event = {
        .row = ADEPT_TIMELINE_HOST, .name = "fixed", .part = "", .start_s = t->start_s, .time_s = t->time_s};
    switch (t->kind) {
    case ADEPT_TASK_PART:
        if (t->lane == ADEPT_LANE_COMPUTE) {
            draw_kernels(d, s, index);
            return;
        }
        event.name = launches[t->part];
        event.part = part_name(t->part);
        event.passes = t->part == ADEPT_PART_OPTIMIZER ? 0.0 : t->share * d->plan->kernels.numbers.passes;
        break;
    case ADEPT_TASK_SEND:
        event.row = t->lane == ADEPT_LANE_LINK ? ADEPT_TIMELINE_LINK : ADEPT_TIMELINE_BETWEEN;
        event.name = "all-reduce";
        event.bytes = t->bytes;
        break;
    case ADEPT_TASK_COPY:
        event.row = ADEPT_TIMELINE_LINK;
        event.name = "copies of gradients";
        break;
    case ADEPT_TASK_HOLD: /* nothing runs */
        return;
    case ADEPT_TASK_REST:
        break;
    }
    draw(d, event);
}

int adept_timeline_order(const void *a, const void *b)
{
    const adept_timeline_event *x = a, *y = b;
    if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

static adept_status draw_step(drawing *d, const adept_checked_run *run, adept_error *err)
{
    const adept_plan_kernels *k = &d->plan->kernels;
    const size_t n_buckets = run->bucket_bytes > 0.0 ? k->buckets.n + 1 : 0;
    adept_task *tasks = malloc((ADEPT_STEP_TASKS + 2 * n_buckets) * sizeof *tasks);
    adept_schedule s;
    adept_operator_numbers numbers = k->numbers;
    adept_operator_set_run(&numbers, run->row, &run->network);
    d->room = ADEPT_STEP_TASKS + 2 * n_buckets + 4 * d->prof->program.n_operators;
    d->executions = calloc(d->prof->n_ops + 1, sizeof *d->executions);
    d->out->events = malloc(d->room * sizeof *d->out->events);
    adept_status status = tasks && d->executions && d->out->events
                              ? time_operators(d, err)
                              : adept_no_memory(err, "a timeline");
    if (status == ADEPT_OK) {
        adept_operator_schedule(&s, tasks, d->step, &k->list, &numbers, n_buckets > 0 ? &k->buckets : NULL,
                                run->bucket_bytes, k->theta);
        for (size_t i = 0; i < s.n; i++)
            draw_task(d, &s, i);
        qsort(d->out->events, d->out->n, sizeof *d->out->events, adept_timeline_order);
        d->out->step_s = s.lanes[ADEPT_LANE_HOST].at_s;
    }
    free(tasks);
    free(d->executions);
    return status;
}

adept_status adept_predict_timeline(adept_timeline *out, const adept_profile *prof, const adept_hwprofile *hw,
                                    const adept_run *run, adept_error *err)
{
    static const adept_run default_run = {0};
    adept_plan plan;
    adept_step step;
    adept_estimate estimate;
    adept_checked_run checked;
    drawing d = {.prof = prof, .plan = &plan, .step = &step, .out = out};
    *out = (adept_timeline){.n = 0};
    if (!run) run = &default_run;
    if (adept_granularity_of(hw, run) != ADEPT_GRANULARITY_OPERATOR)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "a timeline needs the time of every operator: granularity \"model\" has none");
    if (prof->n_legs > 0)
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "a timeline shows one pass: of a generation, or of several denoise_steps, there is none");
    adept_status status = adept_plan_init(&plan, prof, hw, run, run->gpus > 1, NULL, err);
    if (status == ADEPT_OK) status = adept_plan_check_run(&checked, &plan, run, err);
    if (status == ADEPT_OK) {
        adept_plan_step(&step, &plan, &checked);
        status = adept_plan_report(&estimate, &plan, &step, &checked, err);
    }
    if (status == ADEPT_OK) status = draw_step(&d, &checked, err);
    adept_plan_clear(&plan);
    if (status != ADEPT_OK) adept_timeline_free(out);
    return status;
}

void adept_timeline_free(adept_timeline *timeline)
{
    free(timeline->events);
    *timeline = (adept_timeline){.n = 0};
}

/* ---- Chrome's format ---- */

static void put_name(adept_json_writer *w, const char *what, int stage, int row, const char *name)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "name %s ph %s pid %jd tid %jd", what, "M", (intmax_t)1 + stage, (intmax_t)row);
    adept_json_put_object(w, "args", "name %s", name);
    adept_json_end_object(w);
}

char *adept_timeline_to_trace(const adept_timeline *timeline, const adept_profile *prof, const adept_hwprofile *hw)
{
    adept_json_writer w = {.pretty = false};
    int32_t stage = -1, row = -1; /* of the last event: they are sorted by both */
    char name[256], of_stage[24] = "";
    adept_json_begin_object(&w, NULL);
    adept_json_put_string(&w, "displayTimeUnit", "ms");
    adept_json_begin_array(&w, "traceEvents");
    for (size_t i = 0; i < timeline->n; i++) {
        const adept_timeline_event *e = &timeline->events[i];
        if (e->stage != stage) {
            if (timeline->n_stages > 0) snprintf(of_stage, sizeof of_stage, "stage %d: ", (int)e->stage);
            snprintf(name, sizeof name, "%s%.120s on %.80s", of_stage, prof->model_path ? prof->model_path : "a step",
                     hw->name);
            put_name(&w, "process_name", e->stage, 0, name);
        }
        if (e->stage != stage || (int32_t)e->row != row)
            put_name(&w, "thread_name", e->stage, (int)e->row + 1, adept_timeline_row_name(e->row));
        stage = e->stage, row = (int32_t)e->row;
        bool in_module = e->module && *e->module;
        snprintf(name, sizeof name, "%.200s%s%.40s", in_module ? e->module : "", in_module ? " " : "", e->name);
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(&w, "name %s cat %s ph %s ts %g dur %g pid %jd tid %jd", name,
                               *e->part ? e->part : adept_timeline_row_name(e->row), "X", 1e6 * e->start_s,
                               1e6 * e->time_s, (intmax_t)1 + e->stage, (intmax_t)e->row + 1);
        adept_json_begin_object(&w, "args");
        if (e->op) adept_json_put_members(&w, "module %s operator %s", e->module, e->op);
        if (e->passes > 1.5) adept_json_put_number(&w, "passes", e->passes);
        if (!isnan(e->micro_batch)) adept_json_put_number(&w, "micro_batch", e->micro_batch);
        if (!isnan(e->bytes)) adept_json_put_number(&w, "bytes", e->bytes);
        adept_json_end_object(&w);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}
