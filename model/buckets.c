/** @file buckets.c  The timeline of gradients, and what of their all-reduces the backward pass hides; see buckets.h. */
#include "buckets.h"
#include <math.h>
#include <stdlib.h>

/* ---- the timeline ---- */

static void advance(adept_backward_span *now, double executions, const adept_backward_span *by)
{
    now->kernels.clocked_s += executions * by->kernels.clocked_s;
    now->kernels.memory_s += executions * by->kernels.memory_s;
    now->launches += executions * by->launches;
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

adept_status adept_buckets_new(adept_buckets *out, const adept_kernel_set *set, const adept_timed_kernel *timed,
                               adept_error *err)
{
    const adept_backward_plan *order = &set->order;
    adept_backward_span *backward = calloc(set->n_ops + 1, sizeof *backward);
    *out = (adept_buckets){.rest_bytes = order->rest_bytes};
    for (size_t i = 0; i < order->n; i++)
        out->n += order->pieces[i].gradient_bytes > 0.0;
    out->gradients = calloc(out->n + 1, sizeof *out->gradients);
    if (!out->gradients || !backward) {
        free(backward);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu gradients", out->n);
    }
    sum_backward(backward, set, timed);
    for (size_t i = 0, at = 0; i < order->n; i++) {
        const adept_backward_piece *p = &order->pieces[i];
        advance(&out->backward, p->executions, &backward[p->op]);
        if (p->gradient_bytes > 0.0)
            out->gradients[at++] = (adept_ready_gradient){.before = out->backward, .bytes = p->gradient_bytes};
    }
    free(backward);
    return ADEPT_OK;
}

void adept_buckets_free(adept_buckets *buckets)
{
    free(buckets->gradients);
    *buckets = (adept_buckets){0};
}

/* ---- one run ---- */

/* An all-reduce by the fastest law, linear in the bytes. */
typedef struct linear_laws {
    size_t n;
    double at_0_s[ADEPT_NETWORK_LAWS], per_byte_s[ADEPT_NETWORK_LAWS];
} linear_laws;

static linear_laws laws_of(const adept_network *net, const double *theta)
{
    linear_laws out = {.n = net->n};
    for (size_t i = 0; i < net->n; i++) {
        const adept_allreduce_law *law = &net->laws[i];
        out.at_0_s[i] = law->hops * theta[ADEPT_OP_l_hop_s] + law->between_s;
        out.per_byte_s[i] = law->volume / theta[ADEPT_OP_bw_eff_bytes_per_s] + law->between_s_per_byte;
    }
    return out;
}

/* At one clock: seconds per second of each, and per launch. */
typedef struct pace {
    double clocked, memory, launch_s;
} pace;

static double span_s(const adept_backward_span *span, const pace *at)
{
    return span->kernels.clocked_s * at->clocked + span->kernels.memory_s * at->memory + span->launches * at->launch_s;
}

/* What is on the link. */
typedef struct link_state {
    double free_s, total_s, n;
} link_state;

static void send(link_state *link, const linear_laws *laws, double bytes, double now_s)
{
    double takes_s = laws->at_0_s[0] + laws->per_byte_s[0] * bytes;
    for (size_t i = 1; i < laws->n; i++)
        takes_s = fmin(takes_s, laws->at_0_s[i] + laws->per_byte_s[i] * bytes);
    link->free_s = fmax(link->free_s, now_s) + takes_s;
    link->total_s += takes_s;
    link->n += 1.0;
}

/* A bucket is sent as soon as it is full of complete gradients and the one before it has been; exposed is what remains
 * after the pass. */
double adept_buckets_send(double *exposed_s, double *hidden_s, const adept_buckets *buckets, const adept_network *net,
                          const double *theta, const adept_board *board, double clock, double host_launch_s,
                          double bucket_bytes)
{
    const linear_laws laws = laws_of(net, theta);
    const pace by_host = {.launch_s = host_launch_s},
               by_gpu = {1.0 / clock, adept_board_stretch(board, clock).ratio, theta[ADEPT_OP_t_launch_s]};
    bool host_bound = span_s(&buckets->backward, &by_host) > span_s(&buckets->backward, &by_gpu);
    const pace at = host_bound ? by_host : by_gpu;
    double filled = 0.0, most = fmin(ADEPT_FIRST_BUCKET_BYTES, bucket_bytes), end_s = span_s(&buckets->backward, &at);
    link_state link = {0};
    for (size_t i = 0; i < buckets->n; i++) {
        filled += buckets->gradients[i].bytes;
        if (!(filled >= most)) continue;
        send(&link, &laws, filled, span_s(&buckets->gradients[i].before, &at));
        filled = 0.0;
        most = bucket_bytes;
    }
    filled += buckets->rest_bytes;
    if (filled > 0.0) send(&link, &laws, filled, end_s);
    *exposed_s = fmin(link.total_s, fmax(0.0, link.free_s - end_s));
    *hidden_s = link.total_s - *exposed_s;
    return link.n;
}

/* ---- are there buckets? ---- */

/* A fit to steps of several GPUs has the share that fits them. */
static bool fitted_share(const adept_hwprofile *hw, const adept_run *run)
{
    return adept_calibrated_for(hw, run) && hw->intervals && hw->intervals->high.gpus > 1.0;
}

adept_status adept_buckets_wanted(bool *wanted, bool places_known, const adept_hwprofile *hw, const adept_run *run,
                                  const adept_network *net, adept_error *err)
{
    bool by_operator = adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR,
         asked = run->overlap == ADEPT_OVERLAP_BUCKETED;
    *wanted = false;
    if (asked && !by_operator)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "buckets need the time of every operator: granularity \"model\" has none");
    if (net->n == 0 || !by_operator || net->flat || run->overlap == ADEPT_OVERLAP_FIXED) return ADEPT_OK;
    if (asked && !places_known)
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "buckets: the profile does not say where its parameters are; make it anew with adept profile");
    *wanted = asked || (places_known && !fitted_share(hw, run));
    return ADEPT_OK;
}
