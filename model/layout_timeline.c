/** @file layout_timeline.c  A step under a layout, event by event; see adept_timeline.h.
 *
 *  1F1B and interleaved schedules say what each stage does next. In zero-bubble schedules it does what is ready: a
 * backward pass before a forward one, forward passes only while there is room for their activations, and gradients of
 * weights, which they put off, when nothing else can run. */
#include "adept_timeline.h"
#include "plan.h"
#include <math.h>
#include <stdlib.h>

#define MOST_EVENTS 1000000

enum { FORWARD, BACKWARD, WEIGHTS, KINDS };

typedef struct pipeline {
    const adept_layout_prediction *l;
    adept_timeline *out;
    int64_t p, v, m;              /* stages, chunks of each, micro-batches */
    int64_t in_a_row;             /* micro-batches of a chunk before the next chunk's */
    bool folds, splits;           /* the second chunks run backwards through the stages; backward is two passes */
    double *done[2];              /* when a chunk of a stage has gone forward, and back; NAN: not yet */
    int64_t *next;                /* micro-batch of each stage, kind and chunk */
    double *free_s, *kept, *back; /* of each stage: when it is, passes whose activations it keeps, passes back */
    double send_s;                /* to the next stage, exposed */
} pipeline;

static size_t at(const pipeline *x, int64_t stage, int64_t chunk, int64_t micro)
{
    return (size_t)((stage * x->v + chunk) * x->m + micro);
}

/* A chunk in the order of the model's blocks: which of all, and whose it is. */
static int64_t part_of(const pipeline *x, int64_t stage, int64_t chunk)
{
    return chunk * x->p + (x->folds && chunk == 1 ? x->p - 1 - stage : stage);
}

static double done_at(const pipeline *x, int kind, int64_t part, int64_t micro)
{
    const int64_t chunk = part / x->p, place = part % x->p;
    return x->done[kind][at(x, x->folds && chunk == 1 ? x->p - 1 - place : place, chunk, micro)];
}

/* When a pass can begin; NAN: what it needs is not known yet. */
static double ready_s(const pipeline *x, int64_t stage, int kind, int64_t chunk, int64_t micro)
{
    const int64_t part = part_of(x, stage, chunk), last = x->p * x->v - 1;
    if (kind == WEIGHTS) return x->done[BACKWARD][at(x, stage, chunk, micro)];
    if (kind == FORWARD) return part == 0 ? 0.0 : done_at(x, FORWARD, part - 1, micro) + x->send_s;
    return part == last ? x->done[FORWARD][at(x, stage, chunk, micro)]
                        : done_at(x, BACKWARD, part + 1, micro) + x->send_s;
}

/* The place among all of its kind in an interleaved schedule: micro-batches in groups. */
static int64_t rank_of(const pipeline *x, int kind, int64_t chunk, int64_t micro)
{
    const int64_t order = kind == BACKWARD ? x->v - 1 - chunk : chunk;
    return (micro / x->in_a_row * x->v + order) * x->in_a_row + micro % x->in_a_row;
}

typedef struct choice {
    int kind;
    int64_t chunk, micro, rank;
    double start_s;
} choice;

/* A stage of 1F1B, interleaved or not, goes forward so often, then forward and back in turns. Zero-bubble schedules go
 * forward while they have room. @param full  as if they had */
static bool may_run(const pipeline *x, int64_t stage, int kind, bool full)
{
    const double all = (double)(x->m * x->v), kept = x->kept[stage];
    const double warm =
        x->v > 1 ? (double)(2 * (x->p - stage - 1) + (x->v - 1) * x->in_a_row) : (double)(x->p - stage - 1);
    if (x->splits) return kind != FORWARD || full || kept + 0.5 < x->l->stages[stage].in_flight * (double)x->v;
    const bool forward = kept + x->back[stage] < all - 0.5 && kept < warm + 0.5;
    return forward == (kind == FORWARD);
}

/* What a stage does next: what can begin first, of equals backward passes before others, and the order of an
 * interleaved schedule. start_s NAN: nothing that can be said yet. */
static choice choose(const pipeline *x, int64_t stage, bool full)
{
    static const int order[KINDS] = {BACKWARD, FORWARD, WEIGHTS};
    choice best = {.start_s = NAN};
    for (int i = 0; i < (x->splits ? KINDS : 2); i++) {
        choice of_kind = {.start_s = NAN, .rank = INT64_MAX};
        for (int64_t chunk = 0; chunk < x->v; chunk++) {
            const int kind = order[i];
            const int64_t micro = x->next[(stage * KINDS + kind) * x->v + chunk];
            if (micro == x->m || !may_run(x, stage, kind, full)) continue;
            const double needs_s = ready_s(x, stage, kind, chunk, micro),
                         start_s = isnan(needs_s) ? NAN : fmax(x->free_s[stage], needs_s);
            const choice c = {kind, chunk, micro, rank_of(x, kind, chunk, micro), start_s};
            if (x->folds && isnan(start_s)) continue;
            if (x->folds && start_s != of_kind.start_s ? !(of_kind.start_s < start_s) : c.rank < of_kind.rank)
                of_kind = c;
        }
        if (!isnan(of_kind.start_s) && !(best.start_s <= of_kind.start_s)) best = of_kind;
    }
    return best;
}

static void draw(pipeline *x, int64_t stage, adept_timeline_row row, const char *name, const char *part, double *at_s,
                 double time_s, int64_t micro)
{
    if (!(time_s > 0.0)) return;
    x->out->events[x->out->n++] = (adept_timeline_event){.row = row,
                                                         .name = name,
                                                         .op_index = -1,
                                                         .part = part,
                                                         .passes = 1.0,
                                                         .bytes = NAN,
                                                         .start_s = *at_s,
                                                         .time_s = time_s,
                                                         .stage = (int32_t)stage,
                                                         .micro_batch = micro < 0 ? NAN : (double)micro};
    if ((size_t)stage == x->l->slowest) x->out->row_s[row] += time_s;
    *at_s += time_s;
}

/* Of a group of so many GPUs side by side: links of the node, or what joins nodes. */
static adept_timeline_row row_of(const pipeline *x, int64_t gpus)
{
    return x->l->nodes > 1.0 && (double)gpus > x->l->node_gpus ? ADEPT_TIMELINE_BETWEEN : ADEPT_TIMELINE_LINK;
}

static void run(pipeline *x, int64_t stage, const choice *c)
{
    static const char *const names[KINDS] = {"forward", "backward", "gradients of weights"};
    const adept_stage_prediction *s = &x->l->stages[stage];
    const adept_mesh *m = &x->l->mesh;
    const bool again = m->recompute == ADEPT_RECOMPUTE_FULL;
    const char *part = c->kind == FORWARD ? "forward" : "backward";
    const double chunk = 1.0 / (double)x->v, sum_s = s->forward_s + s->backward_s,
                 /* what is sent: once forward, once backward, and where that is computed again once more */
        share = c->kind == FORWARD ? 1.0 / (again ? 3.0 : 2.0) : (again ? 2.0 / 3.0 : 0.5),
                 launch_s = s->micro_s - sum_s - s->again_s - s->tensor_s - s->context_s - s->expert_s - s->data_s;
    double at_s = c->start_s;
    if (c->kind != WEIGHTS) {
        const double of = c->kind == FORWARD ? s->forward_s / sum_s : s->backward_s / sum_s;
        draw(x, stage, ADEPT_TIMELINE_HOST, "launches", part, &at_s, chunk * launch_s * of, c->micro);
        draw(x, stage, row_of(x, m->tp * m->cp * m->dp), "shards", part, &at_s, chunk * s->data_s * of, c->micro);
        if (c->kind == BACKWARD)
            draw(x, stage, ADEPT_TIMELINE_COMPUTE, "computed again", part, &at_s, chunk * s->again_s, c->micro);
    }
    const double backward_s = chunk * s->backward_s * (x->splits ? 0.5 : 1.0);
    draw(x, stage, ADEPT_TIMELINE_COMPUTE, names[c->kind], part, &at_s,
         c->kind == FORWARD ? chunk * s->forward_s : backward_s, c->micro);
    if (c->kind != WEIGHTS) {
        draw(x, stage, row_of(x, m->tp), "tensor parallel", part, &at_s, chunk * share * s->tensor_s, c->micro);
        draw(x, stage, row_of(x, m->tp * m->cp), "context parallel", part, &at_s, chunk * share * s->context_s,
             c->micro);
        draw(x, stage, row_of(x, m->tp * m->ep), "experts", part, &at_s, chunk * share * s->expert_s, c->micro);
        x->done[c->kind][at(x, stage, c->chunk, c->micro)] = at_s;
        const int64_t place = part_of(x, stage, c->chunk);
        if (x->p > 1 && (c->kind == FORWARD ? place + 1 < x->p * x->v : place > 0)) {
            double sent_s = at_s; /* beside what the stage does next */
            draw(x, stage, row_of(x, m->gpus), "to the next stage", part, &sent_s, x->send_s, c->micro);
        }
    }
    x->next[(stage * KINDS + c->kind) * x->v + c->chunk]++;
    x->kept[stage] += c->kind == FORWARD ? 1.0 : c->kind == BACKWARD ? -1.0 : 0.0;
    x->back[stage] += c->kind == BACKWARD ? 1.0 : 0.0;
    x->free_s[stage] = at_s;
}

/* Behind the last backward pass. */
static void finish(pipeline *x)
{
    const adept_layout_prediction *l = x->l;
    const adept_mesh *m = &l->mesh;
    double end_s = 0.0;
    for (int64_t i = 0; i < x->p; i++)
        end_s = fmax(end_s, x->free_s[i]);
    for (int64_t i = 0; i < x->p; i++) {
        double at_s = end_s;
        const double data_s = l->data_s - (double)x->m * l->stages[l->slowest].data_s;
        draw(x, i, row_of(x, m->tp * m->cp * m->dp), "gradients and weights", "", &at_s, data_s, -1);
        draw(x, i, ADEPT_TIMELINE_HOST, "copies to and from the host", "", &at_s, l->stages[i].offload_s, -1);
        draw(x, i, ADEPT_TIMELINE_OPTIMIZER, "optimizer", "optimizer", &at_s, l->stages[i].optimizer_s, -1);
        x->out->step_s = fmax(x->out->step_s, at_s);
    }
}

adept_status adept_layout_timeline(adept_timeline *out, const adept_layout_prediction *l, adept_error *err)
{
    const adept_mesh *m = &l->mesh;
    pipeline x = {.l = l, .out = out, .p = m->pp, .m = m->micro_batches, .v = m->virtual_stages};
    x.in_a_row = m->in_a_row > 0 ? m->in_a_row : x.p;
    x.folds = m->schedule == ADEPT_PIPELINE_ZBV;
    x.splits = m->pp > 1 && m->schedule > ADEPT_PIPELINE_INTERLEAVED;
    if (x.folds) x.v = 2;
    *out = (adept_timeline){.n_stages = (size_t)x.p};
    const double passes = (double)x.p * (double)x.v * (double)x.m, most = 14.0 * passes + 3.0 * (double)x.p;
    if (most > MOST_EVENTS)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "a timeline of %.0f micro-batches on %.0f stages would have more than %d events: "
                               "a smaller --global-batch has the same schedule",
                               (double)x.m, (double)x.p, MOST_EVENTS);
    x.send_s = x.p > 1 ? l->send_s / (2.0 * (double)(x.m * x.v)) : 0.0;
    out->events = malloc((size_t)most * sizeof *out->events);
    for (int i = 0; i < 2; i++)
        x.done[i] = malloc((size_t)passes * sizeof **x.done);
    x.next = calloc((size_t)(x.p * KINDS * x.v), sizeof *x.next);
    x.free_s = calloc(3 * (size_t)x.p, sizeof *x.free_s);
    adept_status status =
        out->events && x.done[0] && x.done[1] && x.next && x.free_s ? ADEPT_OK : adept_no_memory(err, "a timeline");
    if (status == ADEPT_OK) {
        x.kept = x.free_s + x.p;
        x.back = x.kept + x.p;
        for (size_t i = 0; i < (size_t)passes; i++)
            x.done[0][i] = x.done[1][i] = NAN;
        for (double left = passes * (x.splits ? 3.0 : 2.0); left > 0.5; left -= 1.0) {
            choice first = {.start_s = NAN}, c;
            int64_t stage = 0;
            for (int full = 0; full < 2 && isnan(first.start_s); full++) /* never stuck for want of room */
                for (int64_t i = 0; i < x.p; i++) {
                    c = choose(&x, i, full > 0);
                    if (!isnan(c.start_s) && (isnan(first.start_s) || c.start_s < first.start_s)) first = c, stage = i;
                }
            run(&x, stage, &first);
        }
        finish(&x);
        qsort(out->events, out->n, sizeof *out->events, adept_timeline_order);
    }
    free(x.done[0]);
    free(x.done[1]);
    free(x.next);
    free(x.free_s);
    if (status != ADEPT_OK) adept_timeline_free(out);
    return status;
}
