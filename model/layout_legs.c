/** @file layout_legs.c  A layout of a workload of several legs: a prompt and its answer, passes of a diffusion model;
 * see adept_layout.h.
 *
 *  Every leg is shared out as a step of its own. Stages of a pipeline work on as many batches as there are
 * micro-batches: a prompt, or a chunk of one, follows the one before it, and a token waits for the one before it of its
 * own batch, so that tokens come every sum of the stages, or every so many times the slowest stage, whichever is
 * longer. */
#include "layout_own.h"
#include <math.h>
#include <stdlib.h>

typedef struct legs {
    adept_layout_state *x;
    adept_layout_prediction *one; /* of a leg */
    adept_legs_sum sum;
    double *energy_j;             /* by stage, of one GPU */
    double bytes_read, bytes_written, launches, flops;
} legs;

/* One pass of a leg through all stages, of every micro-batch: behind another chunk of the prompt, behind tokens that
 * it needs, or behind nothing. @return seconds */
static double pass_s(double *send_s, const legs *l, const adept_profile_leg *leg)
{
    const adept_layout_prediction *one = l->one;
    const double m = (double)l->x->mesh.micro_batches, p = (double)one->n_stages;
    const double hop_s = one->send_s / m, slowest_s = one->stages[one->slowest].micro_s;
    double through_s = (p - 1.0) * hop_s, all_s;
    for (size_t i = 0; i < one->n_stages; i++)
        through_s += one->stages[i].micro_s;
    if (l->sum.has_first && leg->reads)
        all_s = m * (slowest_s + hop_s);
    else if (l->sum.has_first)
        all_s = fmax(through_s, m * (slowest_s + hop_s));
    else
        all_s = through_s + (m - 1.0) * (slowest_s + hop_s);
    *send_s = fmin(all_s - m * slowest_s, fmax(p - 1.0, m) * hop_s);
    return all_s;
}

/* What a leg adds to the whole, and to each stage. */
static void add_leg(legs *l, const adept_profile_leg *leg, const adept_stage_work *work)
{
    const adept_layout_prediction *one = l->one;
    adept_layout_prediction *out = l->x->out;
    const double m = (double)l->x->mesh.micro_batches, times = (double)leg->times,
                 each = (double)l->x->mesh.gpus / (double)one->n_stages;
    const adept_stage_prediction *slow = &one->stages[one->slowest];
    const adept_stage_work *w = &work[one->slowest];
    double send_s, boards_w = 0.0;
    const double time_s = pass_s(&send_s, l, leg);
    for (size_t i = 0; i < one->n_stages; i++) {
        const adept_stage_prediction *s = &one->stages[i];
        const adept_step *step = &work[i].step;
        adept_stage_prediction *all = &out->stages[i];
        const double busy_s = fmin(time_s, step->step_s - step->fixed_s);
        const double busy_w = (step->power_w * step->step_s - step->idle_w * step->fixed_s) /
                              (step->step_s - step->fixed_s);
        const double energy_j = busy_w * busy_s + fmin(out->wait_w, busy_w) * (time_s - busy_s);
        l->energy_j[i] += times * energy_j;
        boards_w += each * energy_j / time_s;
        const adept_memory memory = s->memory.peak_bytes > all->memory.peak_bytes ? s->memory : all->memory;
        const double clock = (all->clock_ratio * all->busy_s + s->clock_ratio * times * busy_s) /
                             (all->busy_s + times * busy_s);
        adept_stage_prediction sum = *s;
        sum.forward_s = all->forward_s + times * s->forward_s;
        sum.tensor_s = all->tensor_s + times * s->tensor_s;
        sum.expert_s = all->expert_s + times * s->expert_s;
        sum.micro_s = all->micro_s + times * s->micro_s;
        sum.prompt_s = all->prompt_s + (leg->reads ? times * s->micro_s : 0.0);
        sum.busy_s = all->busy_s + times * busy_s;
        sum.wait_s = all->wait_s + times * (time_s - busy_s);
        sum.clock_ratio = clock;
        sum.memory = memory;
        *all = sum;
    }
    out->compute_s += times * m * slow->forward_s;
    out->tensor_s += times * m * slow->tensor_s;
    out->expert_s += times * m * slow->expert_s;
    out->send_s += times * send_s;
    out->bubble_s += times * (time_s - send_s - m * slow->micro_s);
    adept_step step = w->step;
    step.pass_s = m * slow->forward_s;
    step.comm_s = m * (slow->tensor_s + slow->expert_s) + send_s;
    step.step_s = time_s + step.fixed_s;
    step.power_w = (boards_w / (double)l->x->mesh.gpus * time_s + step.idle_w * step.fixed_s) / step.step_s;
    adept_legs_add(&l->sum, &step, times, leg->reads);
    l->bytes_read += times * w->plan.bytes_read;
    l->bytes_written += times * w->plan.bytes_written;
    l->launches += times * w->plan.launches;
    l->flops += times * w->plan.flops;
}

/* The last leg's plan stands for all: what it says of one pass becomes that of the step. */
static adept_status fill(legs *l, adept_stage_work *work)
{
    adept_layout_state *x = l->x;
    adept_layout_prediction *out = x->out;
    const adept_mesh *m = &x->mesh;
    adept_step all;
    double boards_j = 0.0;
    adept_legs_end(&all, &l->sum);
    for (size_t i = 0; i < out->n_stages; i++) {
        adept_stage_prediction *s = &out->stages[i];
        const double energy_j = l->energy_j[i] + work[i].step.idle_w * all.fixed_s;
        s->wait_s += all.fixed_s;
        s->power_w = energy_j / all.step_s;
        boards_j += energy_j * (double)m->gpus / (double)out->n_stages;
        if (s->micro_s > out->stages[out->slowest].micro_s) out->slowest = i;
        if (s->memory.peak_bytes > out->stages[out->worst].memory.peak_bytes) out->worst = i;
    }
    out->boards_power_w = isnan(x->hw->specs.tdp_w) ? NAN : boards_j / all.step_s;
    out->rest_s = all.step_s - (out->compute_s + out->tensor_s + out->expert_s + out->send_s + out->bubble_s);
    const adept_stage_prediction *worst = &out->stages[out->worst];
    adept_stage_work *w = &work[out->slowest];
    adept_plan *plan = &w->plan;
    w->profile = *x->prof;
    plan->tokens = x->prof->mode == ADEPT_MODE_GENERATE ? (double)x->prof->tokens : 0.0;
    plan->described.mode = x->prof->mode;
    plan->samples = (double)m->global_batch / (double)m->gpus;
    plan->queries = (double)(m->micro_batch * m->micro_batches);
    plan->n_kept = worst->n_kept;
    plan->positions = (double)x->prof->prompt + plan->tokens + x->prof->positions_left;
    memcpy(plan->kept, worst->kept, sizeof plan->kept);
    plan->passing_bytes = worst->memory.activations_bytes;
    plan->lost_share = ADEPT_LAYOUT_LOST;
    plan->bytes_read = l->bytes_read;
    plan->bytes_written = l->bytes_written;
    plan->launches = l->launches;
    plan->flops = l->flops;
    adept_status status = adept_layout_fill(x, w, &all, all.step_s);
    const bool of_answer = plan->tokens > 0.0 && all.step_s > 2.0 * all.first_s;
    /* without the pipeline's bubble */
    out->prediction.bound = of_answer || !(plan->tokens > 0.0) ? all.rest_bound : all.first_bound;
    return status;
}

adept_status adept_layout_of_legs(adept_layout_state *x)
{
    const size_t n_stages = (size_t)x->mesh.pp;
    legs l = {.x = x, .one = calloc(1, sizeof *l.one), .energy_j = calloc(n_stages, sizeof *l.energy_j)};
    adept_stage_work *work = NULL;
    adept_status status = l.one && l.energy_j ? ADEPT_OK : adept_no_memory(x->err, "a layout");
    x->out->wait_w = adept_layout_wait_w(x);
    for (size_t i = 0; i < x->prof->n_legs && status == ADEPT_OK; i++) {
        const adept_profile_leg *leg = &x->prof->legs[i];
        adept_layout_state of = *x;
        double step_s;
        of.prof = leg->profile;
        of.out = l.one;
        of.kept_tokens = (double)x->prof->prompt + (double)x->prof->tokens;
        l.one->nodes = x->out->nodes;
        adept_stage_work_clear(work, n_stages);
        work = calloc(n_stages, sizeof *work);
        status = work ? adept_layout_split(&of) : adept_no_memory(x->err, "stages");
        if (status == ADEPT_OK) status = adept_layout_times(&step_s, &of, work);
        if (status == ADEPT_OK) add_leg(&l, leg, work);
        x->out->n_stages = n_stages;
        x->out->n_split = l.one->n_split, x->out->n_whole = l.one->n_whole;
        adept_layout_end(&of);
    }
    if (status == ADEPT_OK) status = fill(&l, work);
    adept_stage_work_clear(work, n_stages);
    free(l.one);
    free(l.energy_j);
    return status;
}
