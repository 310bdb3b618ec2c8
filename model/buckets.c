/** @file buckets.c  Where gradients are complete in the backward pass, and their all-reduces beside it; see buckets.h.
 */
#include "buckets.h"
#include <math.h>
#include <stdlib.h>

/* ---- the backward pass ---- */

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
    /* One execution's backward of every operator. */
    for (size_t i = 0; i < set->n_uses; i++) {
        const adept_kernel_use *use = &set->uses[i];
        const adept_timed_kernel *k = &timed[use->kernel];
        backward[use->op].kernels.clocked_s += use->repeats * k->clocked_s;
        backward[use->op].kernels.memory_s += use->repeats * (k->time_s - k->clocked_s);
        backward[use->op].launches += use->launches;
    }
    for (size_t i = program->n_operators, next = program->n_gradients; i-- > 0;) {
        const int32_t op = program->operators[i].op;
        if (op >= 0) {
            out->backward.kernels.clocked_s += backward[op].kernels.clocked_s;
            out->backward.kernels.memory_s += backward[op].kernels.memory_s;
            out->backward.launches += backward[op].launches;
        }
        for (; next > 0 && program->gradients[next - 1].at == (int32_t)i; next--)
            out->gradients[out->n++] = (adept_ready_gradient){out->backward, program->gradients[next - 1].bytes, 0.0};
    }
    free(backward);
    return ADEPT_OK;
}

/* Longest period of repeats that is looked for, in buckets. */
#define LONGEST_PERIOD 64

static bool close_to(double a, double b, double all)
{
    return fabs(a - b) <= 4e-15 * all;
}

/* Does it follow on the bucket before it as `period` buckets ago? */
static bool repeats(const adept_buckets *of, size_t i, size_t period)
{
    const adept_ready_gradient *now = &of->gradients[i], *then = now - period;
    const adept_span *a = &now[0].before.kernels, *b = &now[-1].before.kernels, *c = &then[0].before.kernels,
                     *d = &then[-1].before.kernels, *all = &of->backward.kernels;
    return now->bytes == then->bytes &&
           close_to(a->clocked_s - b->clocked_s, c->clocked_s - d->clocked_s, all->clocked_s) &&
           close_to(a->memory_s - b->memory_s, c->memory_s - d->memory_s, all->memory_s) &&
           now[0].before.launches - now[-1].before.launches == then[0].before.launches - then[-1].before.launches;
}

/* All sends end at the largest of sums: of the time at which a bucket is complete, and of all sends from it on. Over
 * even repeats that moves in equal steps, and is largest in the first or in the last of them. */
static void fold(adept_buckets *of)
{
    size_t kept = 0;
    for (size_t i = 0; i < of->n; i++) {
        size_t period = 0, most = 0;
        for (size_t p = 1; i > 0 && p <= LONGEST_PERIOD; p++) {
            size_t end = i + p;
            while (end < of->n && repeats(of, end, p))
                end++;
            const size_t times = (end - i) / p;
            if (times > 2 && (times - 2) * p > most) most = (times - 2) * p, period = p;
        }
        for (size_t k = 0; k < period; k++, i++) {
            of->gradients[kept] = of->gradients[i];
            of->gradients[kept++].more = (double)(most / period);
        }
        i += most;
        of->gradients[kept++] = of->gradients[i];
    }
    of->n = kept;
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
        out->gradients[out->n++] = (adept_ready_gradient){buckets->gradients[i].before, filled, 0.0};
        filled = 0.0;
    }
    out->rest_bytes = filled + buckets->rest_bytes;
    fold(out);
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

/* The fastest way to send a bucket. @return its time; *between_s: of it, between nodes, where it ends */
static double fastest_s(const adept_allreduce_law **law, double *between_s, const adept_linear_laws *laws, double bytes)
{
    double best_s = laws->of[0].at_0_s + laws->of[0].per_byte_s * bytes;
    size_t best = 0;
    for (size_t i = 1; i < laws->n; i++) {
        double time_s = laws->of[i].at_0_s + laws->of[i].per_byte_s * bytes;
        if (time_s < best_s) best_s = time_s, best = i;
    }
    *law = laws->of[best].law;
    *between_s = (*law)->between_s + (*law)->between_s_per_byte * bytes;
    return best_s;
}

adept_done adept_buckets_send(adept_schedule *s, double *all_s, double *n, const adept_buckets *buckets,
                              const adept_linear_laws *laws, double bucket_bytes, adept_done pass, const adept_pace *at)
{
    const adept_ready_gradient rest = {buckets->backward, buckets->rest_bytes, 0.0};
    double filled = 0.0, sent_s = 0.0, left_out_s = 0.0;
    *all_s = *n = 0.0;
    for (size_t i = 0; i <= buckets->n; i++) {
        const bool last = i == buckets->n;
        const adept_ready_gradient *next = last ? &rest : &buckets->gradients[i];
        filled += next->bytes;
        if (last ? !(filled > 0.0) : !adept_bucket_closes(filled, bucket_bytes, *n)) continue;
        const adept_allreduce_law *law;
        double between_s, time_s = fastest_s(&law, &between_s, laws, filled);
        adept_done complete = pass;
        complete.at_s += adept_backward_span_s(&next->before, at);
        if (s->keeps_sends) {
            const adept_ready_gradient ready = {next->before, filled, 0.0};
            /* Inside nodes, then between them. */
            adept_task task = {
                ADEPT_LANE_LINK,       ADEPT_TASK_SEND, ADEPT_PART_BACKWARD, .time_s = time_s - between_s,
                .bytes = ready.bytes,  .law = law,      .gradient = i,       .ready = ready.before,
                .until = ADEPT_NO_TASK};
            adept_schedule_add(s, task, adept_later(s->lanes[ADEPT_LANE_BETWEEN], complete));
            if (between_s > 0.0) {
                task.lane = ADEPT_LANE_BETWEEN;
                task.time_s = between_s;
                adept_schedule_add(s, task, s->lanes[ADEPT_LANE_LINK]);
            }
        }
        if (next->more == 0.0) sent_s += left_out_s, left_out_s = 0.0;
        left_out_s += next->more * time_s;
        sent_s = (sent_s < complete.at_s ? complete.at_s : sent_s) + time_s;
        *all_s += time_s + next->more * time_s;
        *n += 1.0 + next->more;
        filled = 0.0;
    }
    return s->keeps_sends ? adept_later(s->lanes[ADEPT_LANE_LINK], s->lanes[ADEPT_LANE_BETWEEN])
                          : (adept_done){.at_s = sent_s, .task = ADEPT_NO_TASK};
}

/* ---- are there buckets? ---- */

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
    /* A fit to steps of several GPUs has the share that fits them. */
    if (asked || (places_known && !(adept_calibrated_for(hw, run) && hw->intervals && hw->intervals->high.gpus > 1.0)))
        *bucket_bytes = run->bucket_bytes > 0.0 ? run->bucket_bytes : ADEPT_BUCKET_BYTES;
    return ADEPT_OK;
}
