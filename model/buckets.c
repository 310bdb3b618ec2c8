/** @file buckets.c  Where gradients are complete in the backward pass, and their all-reduces beside it; see buckets.h.
 */
#include "buckets.h"
#include <stdlib.h>

/* ---- the backward pass ---- */

static void advance(adept_backward_span *now, const adept_backward_span *by)
{
    now->kernels.clocked_s += by->kernels.clocked_s;
    now->kernels.memory_s += by->kernels.memory_s;
    now->launches += by->launches;
}

/* One execution's backward of every operator. */
static void sum_backward(adept_backward_span *backward, const adept_kernel_set *set, const adept_timed_kernel *timed)
{
    for (size_t i = 0; i < set->n_uses; i++) {
        const adept_kernel_use *use = &set->uses[i];
        const adept_timed_kernel *k = &timed[use->kernel];
        backward[use->op].kernels.clocked_s += use->repeats * k->clocked_s;
        backward[use->op].kernels.memory_s += use->repeats * (k->time_s - k->clocked_s);
        backward[use->op].launches += use->launches;
    }
}

double adept_gradients_left(const adept_profile *prof)
{
    double bytes = prof->trainable_bytes;
    for (size_t i = 0; i < prof->program.n_gradients; i++)
        bytes -= prof->program.gradients[i].bytes;
    return bytes > 0.0 ? bytes : 0.0;
}

adept_status adept_buckets_new(adept_buckets *out, const adept_profile *prof, const adept_kernel_set *set,
                               const adept_timed_kernel *timed, adept_error *err)
{
    const adept_program *program = &prof->program;
    adept_backward_span *backward = calloc(set->n_ops + 1, sizeof *backward);
    *out = (adept_buckets){.rest_bytes = adept_gradients_left(prof)};
    out->gradients = calloc(program->n_gradients + 1, sizeof *out->gradients);
    if (!out->gradients || !backward) {
        free(backward);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu gradients", program->n_gradients);
    }
    sum_backward(backward, set, timed);
    for (size_t i = program->n_operators, next = program->n_gradients; i-- > 0;) {
        const int32_t op = program->operators[i].op;
        if (op >= 0) advance(&out->backward, &backward[op]);
        for (; next > 0 && program->gradients[next - 1].at == (int32_t)i; next--)
            out->gradients[out->n++] = (adept_ready_gradient){out->backward, program->gradients[next - 1].bytes};
    }
    free(backward);
    return ADEPT_OK;
}

adept_status adept_buckets_cut(adept_buckets *out, const adept_buckets *buckets, double bucket_bytes, adept_error *err)
{
    double filled = 0.0;
    *out = (adept_buckets){.backward = buckets->backward};
    out->gradients = malloc((buckets->n + 1) * sizeof *out->gradients);
    if (!out->gradients) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu gradients", buckets->n);
    for (size_t i = 0; i < buckets->n; i++) {
        filled += buckets->gradients[i].bytes;
        if (!adept_bucket_closes(filled, bucket_bytes, (double)out->n)) continue;
        out->gradients[out->n++] = (adept_ready_gradient){buckets->gradients[i].before, filled};
        filled = 0.0;
    }
    out->rest_bytes = filled + buckets->rest_bytes;
    return ADEPT_OK;
}

void adept_buckets_free(adept_buckets *buckets)
{
    free(buckets->gradients);
    *buckets = (adept_buckets){0};
}

/* ---- one run ---- */

adept_linear_laws adept_linear_laws_of(const adept_network *net, const double *theta)
{
    adept_linear_laws out;
    out.n = net->n;
    for (size_t i = 0; i < net->n; i++) {
        const adept_allreduce_law *law = &net->laws[i];
        out.of[i].law = law;
        out.of[i].at_0_s = law->hops * theta[ADEPT_OP_l_hop_s] + law->between_s;
        out.of[i].per_byte_s = law->volume / theta[ADEPT_OP_bw_eff_bytes_per_s] + law->between_s_per_byte;
    }
    return out;
}

/* Inside nodes, then between them, which is where it ends. @return its time */
static double send(adept_schedule *s, const adept_linear_laws *laws, const adept_ready_gradient *ready, size_t gradient,
                   adept_done complete)
{
    double best_s = laws->of[0].at_0_s + laws->of[0].per_byte_s * ready->bytes;
    size_t best = 0;
    for (size_t i = 1; i < laws->n; i++) {
        double time_s = laws->of[i].at_0_s + laws->of[i].per_byte_s * ready->bytes;
        if (time_s < best_s) best_s = time_s, best = i;
    }
    const adept_allreduce_law *law = laws->of[best].law;
    double between_s = law->between_s + law->between_s_per_byte * ready->bytes;
    adept_task task = {ADEPT_LANE_LINK,       ADEPT_TASK_SEND, ADEPT_PART_BACKWARD,  .time_s = best_s - between_s,
                       .bytes = ready->bytes, .law = law,      .gradient = gradient, .ready = ready->before,
                       .until = ADEPT_NO_TASK};
    adept_schedule_add(s, task, adept_later(s->lanes[ADEPT_LANE_BETWEEN], complete));
    if (between_s > 0.0) {
        task.lane = ADEPT_LANE_BETWEEN;
        task.time_s = between_s;
        adept_schedule_add(s, task, s->lanes[ADEPT_LANE_LINK]);
    }
    return best_s;
}

adept_done adept_buckets_send(adept_schedule *s, double *all_s, double *n, const adept_buckets *buckets,
                              const adept_linear_laws *laws, double bucket_bytes, adept_done pass, const adept_pace *at)
{
    adept_task *const kept = s->tasks;
    adept_done complete = pass;
    double filled = 0.0;
    *all_s = *n = 0.0;
    if (!s->keeps_sends) s->tasks = NULL;
    for (size_t i = 0; i < buckets->n; i++) {
        filled += buckets->gradients[i].bytes;
        if (!adept_bucket_closes(filled, bucket_bytes, *n)) continue;
        const adept_ready_gradient ready = {buckets->gradients[i].before, filled};
        complete.at_s = pass.at_s + adept_backward_span_s(&ready.before, at);
        *all_s += send(s, laws, &ready, i, complete);
        *n += 1.0;
        filled = 0.0;
    }
    filled += buckets->rest_bytes;
    if (filled > 0.0) {
        const adept_ready_gradient ready = {buckets->backward, filled};
        complete.at_s = pass.at_s + adept_backward_span_s(&ready.before, at);
        *all_s += send(s, laws, &ready, buckets->n, complete);
        *n += 1.0;
    }
    s->tasks = kept;
    return adept_later(s->lanes[ADEPT_LANE_LINK], s->lanes[ADEPT_LANE_BETWEEN]);
}

/* ---- are there buckets? ---- */

/* A fit to steps of several GPUs has the share that fits them. */
static bool fitted_share(const adept_hwprofile *hw, const adept_run *run)
{
    return adept_calibrated_for(hw, run) && hw->intervals && hw->intervals->high.gpus > 1.0;
}

adept_status adept_buckets_bytes(double *bucket_bytes, bool places_known, const adept_hwprofile *hw,
                                 const adept_run *run, const adept_network *net, adept_error *err)
{
    bool by_operator = adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR,
         asked = run->overlap == ADEPT_OVERLAP_BUCKETED;
    *bucket_bytes = 0.0;
    if (asked && !by_operator)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "buckets need the time of every operator: granularity \"model\" has none");
    if (net->n == 0 || !by_operator || net->flat || run->overlap == ADEPT_OVERLAP_FIXED) return ADEPT_OK;
    if (asked && !places_known)
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "buckets: the profile does not say where its parameters are; make it anew with adept profile");
    if (asked || (places_known && !fitted_share(hw, run)))
        *bucket_bytes = run->bucket_bytes > 0.0 ? run->bucket_bytes : ADEPT_BUCKET_BYTES;
    return ADEPT_OK;
}
