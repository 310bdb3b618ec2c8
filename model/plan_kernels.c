/** @file plan_kernels.c  Kernels of one step summed once, and the step under any run; see plan_kernels.h. */
#include "plan_kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

adept_status adept_plan_kernels_theta(double *theta, const adept_hwprofile *hw, adept_error *err)
{
    adept_status status = adept_operator_parameters_get(theta, hw, err);
    return status == ADEPT_OK ? adept_step_check_static_w(theta[ADEPT_OP_p_static_w], hw, err) : status;
}

/* ---- sums ---- */

/* Kernels without time run nothing; the rest stays in place. @return how many are left */
static size_t sum_entries(adept_plan_kernels *plan, adept_operator_entry *entries, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const adept_operator_entry e = entries[i];
        if (!(e.time_s > 0.0)) continue;
        double all = adept_executions_all(&e.executions);
        for (int p = 0; p < ADEPT_PARTS; p++) {
            plan->part[p].core_s += e.executions.part[p] * e.core_s;
            plan->part[p].memory_s += e.executions.part[p] * (e.time_s - e.core_s);
        }
        plan->unit_core_s[adept_operator_unit_of(e.family)] +=
            (e.executions.part[ADEPT_PART_FORWARD] + e.executions.part[ADEPT_PART_BACKWARD]) * e.core_s;
        plan->core_j +=
            all * (plan->theta[ADEPT_OP_e_simt_j] * e.simt_flops + plan->theta[ADEPT_OP_e_tensor_j] * e.tensor_flops);
        plan->memory_j += all * plan->theta[ADEPT_OP_e_mem_j] * e.bytes;
        entries[kept++] = e;
    }
    return kept;
}

/* ---- gradients ---- */

static void advance(adept_plan_span *now, double executions, const adept_plan_span *by)
{
    now->core_s += executions * by->core_s;
    now->memory_s += executions * by->memory_s;
    now->launches += executions * by->launches;
}

/* One execution's backward of every operator. */
static void sum_backward(adept_plan_span *backward, const adept_kernel_set *set, const adept_operator_entry *entries)
{
    for (size_t i = 0; i < set->n_uses; i++) {
        const adept_kernel_use *use = &set->uses[i];
        const adept_operator_entry *e = &entries[use->kernel];
        backward[use->op].core_s += use->repeats * e->core_s;
        backward[use->op].memory_s += use->repeats * (e->time_s - e->core_s);
        backward[use->op].launches += use->launches;
    }
}

static adept_status order_gradients(adept_plan_kernels *plan, const adept_kernel_set *set,
                                    const adept_operator_entry *entries, adept_error *err)
{
    const adept_backward_plan *order = &set->order;
    adept_plan_span *backward = calloc(set->n_ops + 1, sizeof *backward);
    for (size_t i = 0; i < order->n; i++)
        plan->n_gradients += order->pieces[i].gradient_bytes > 0.0;
    plan->gradients = calloc(plan->n_gradients + 1, sizeof *plan->gradients);
    plan->rest_bytes = order->rest_bytes;
    if (!plan->gradients || !backward) {
        free(backward);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu gradients", plan->n_gradients);
    }
    sum_backward(backward, set, entries);
    for (size_t i = 0, at = 0; i < order->n; i++) {
        const adept_backward_piece *p = &order->pieces[i];
        advance(&plan->backward, p->executions, &backward[p->op]);
        if (p->gradient_bytes > 0.0)
            plan->gradients[at++] = (adept_plan_gradient){.before = plan->backward, .bytes = p->gradient_bytes};
    }
    free(backward);
    return ADEPT_OK;
}

/* ---- making ---- */

/* Times of all kernels at full clock, the optimizer's behind them. */
static adept_status time_kernels(adept_operator_entry *entries, const adept_plan_kernels *plan,
                                 const adept_kernel_set *set, adept_kernel_cache *cache, const adept_placement *at,
                                 adept_error *err)
{
    adept_operator_time t;
    for (size_t i = 0; i < set->n; i++) {
        adept_operator_kernel k;
        adept_status status = adept_operator_place(&k, &set->shapes[i], at->profile->precision, at->hw, err);
        if (status == ADEPT_OK && cache)
            status = adept_kernel_cache_time(&t, cache, i, &k, plan->theta, plan->menus, err);
        if (status != ADEPT_OK) return status;
        if (!cache) adept_operator_time_of(&t, &k, plan->theta, plan->menus, false);
        entries[i] = adept_operator_entry_of(&t, &set->executions[i]);
    }
    adept_operator_optimizer_time(&t, &plan->numbers, plan->theta, false);
    entries[set->n] = adept_operator_entry_of(&t, &set->executions[set->n]);
    return ADEPT_OK;
}

adept_status adept_plan_kernels_place(adept_plan_kernels *plan, const adept_kernel_set *set, adept_kernel_cache *cache,
                                      const adept_step *step, const adept_placement *at, const double *theta,
                                      adept_error *err)
{
    *plan = (adept_plan_kernels){.numbers = adept_operator_numbers_of(step, &at->hw->specs),
                                 .menus = at->hw->tiles ? at->hw->tiles : adept_tile_menu_default};
    memcpy(plan->theta, theta, sizeof plan->theta);
    adept_operator_entry *entries = malloc((set->n + 1) * sizeof *entries);
    if (!entries) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", set->n);
    adept_status status = time_kernels(entries, plan, set, cache, at, err);
    if (status == ADEPT_OK && set->ordered) status = order_gradients(plan, set, entries, err);
    if (status == ADEPT_OK) {
        size_t n = sum_entries(plan, entries, set->n + 1);
        status = adept_clock_table_build(&plan->clock, entries, n, &plan->numbers, plan->theta, err);
    }
    free(entries);
    return status;
}

adept_status adept_plan_kernels_new(adept_plan_kernels *plan, const adept_step *step, const adept_placement *at,
                                    bool places_known, const double *theta, adept_error *err)
{
    double own[ADEPT_OPERATOR_PARAMETERS];
    adept_kernel_set set;
    *plan = (adept_plan_kernels){.n_gradients = 0};
    adept_status status = adept_plan_kernels_theta(own, at->hw, err);
    if (status == ADEPT_OK && theta) status = adept_step_check_static_w(theta[ADEPT_OP_p_static_w], at->hw, err);
    if (status != ADEPT_OK) return status;
    status = adept_kernel_set_new(&set, at->profile, places_known, err);
    if (status == ADEPT_OK) status = adept_plan_kernels_place(plan, &set, NULL, step, at, theta ? theta : own, err);
    adept_kernel_set_free(&set);
    return status;
}

void adept_plan_kernels_free(adept_plan_kernels *plan)
{
    adept_clock_table_free(&plan->clock);
    free(plan->gradients);
    *plan = (adept_plan_kernels){0};
}

/* ---- one run ---- */

/* An all-reduce by the fastest law, linear in the bytes. */
typedef struct linear_laws {
    const adept_network *net;
    const double *theta;
    size_t n;
    double at_0_s[2], per_byte_s[2];
} linear_laws;

static linear_laws laws_of(const adept_network *net, const double *theta)
{
    linear_laws out = {.net = net, .theta = theta, .n = net->n};
    for (size_t i = 0; i < net->n; i++) {
        const adept_allreduce_law *law = &net->laws[i];
        out.at_0_s[i] = law->hops * theta[ADEPT_OP_l_hop_s] + law->between_s;
        out.per_byte_s[i] = law->volume / theta[ADEPT_OP_bw_eff_bytes_per_s] + law->between_s_per_byte;
    }
    return out;
}

static double send_s(const linear_laws *laws, double bytes)
{
    double takes_s = laws->at_0_s[0] + laws->per_byte_s[0] * bytes;
    return laws->n < 2 ? takes_s : fmin(takes_s, laws->at_0_s[1] + laws->per_byte_s[1] * bytes);
}

/* At one clock: seconds per second of each. */
typedef struct pace {
    double core, memory, launch_s;
} pace;

static double span_s(const adept_plan_span *span, const pace *at)
{
    return span->core_s * at->core + span->memory_s * at->memory + span->launches * at->launch_s;
}

/* What is on the link, and since when without a pause. */
typedef struct link_state {
    double free_s, total_s, n;
    adept_bucket_row *row; /* NULL: not wanted */
} link_state;

/* @param at  index of the gradient that completes the bucket */
static void send(link_state *link, const linear_laws *laws, double bytes, double now_s, size_t at)
{
    double takes_s = send_s(laws, bytes);
    if (link->row) {
        const adept_allreduce_law *law = adept_network_law(laws->net, bytes, laws->theta[ADEPT_OP_l_hop_s],
                                                           laws->theta[ADEPT_OP_bw_eff_bytes_per_s]);
        if (!(link->free_s > now_s)) *link->row = (adept_bucket_row){.first = at};
        link->row->sum.hops += law->hops;
        link->row->sum.volume += law->volume * bytes;
        link->row->sum.between_s += law->between_s;
        link->row->sum.between_s_per_byte += law->between_s_per_byte * bytes;
    }
    link->free_s = adept_larger(link->free_s, now_s) + takes_s;
    link->total_s += takes_s;
    link->n += 1.0;
}

/* All-reduces in buckets beside the backward pass: a bucket is sent as soon as it is full of complete gradients and the
 * one before it has been; exposed is what remains after the pass. @return how many */
static double send_buckets(double bucketed_s[2], const adept_plan_kernels *plan, const linear_laws *laws, pace at,
                           double bucket_bytes, adept_bucket_row *row)
{
    double filled = 0.0, most = fmin(ADEPT_FIRST_BUCKET_BYTES, bucket_bytes);
    double end_s = span_s(&plan->backward, &at), host_s = plan->backward.launches * plan->theta[ADEPT_OP_t_host_s];
    double stretch = host_s > end_s && end_s > 0.0 ? host_s / end_s : 1.0;
    link_state link = {.row = row};
    for (size_t i = 0; i < plan->n_gradients; i++) {
        filled += plan->gradients[i].bytes;
        if (!(filled >= most)) continue;
        send(&link, laws, filled, span_s(&plan->gradients[i].before, &at) * stretch, i);
        filled = 0.0;
        most = bucket_bytes;
    }
    end_s *= stretch;
    filled += plan->rest_bytes;
    if (filled > 0.0) send(&link, laws, filled, end_s, plan->n_gradients);
    bucketed_s[ADEPT_COMM_EXPOSED] = adept_smaller(link.total_s, adept_larger(0.0, link.free_s - end_s));
    bucketed_s[ADEPT_COMM_HIDDEN] = link.total_s - bucketed_s[ADEPT_COMM_EXPOSED];
    return link.n;
}

static pace pace_of(const double *theta, double f)
{
    return (pace){1.0 / f, adept_operator_stretch(theta, f), theta[ADEPT_OP_t_launch_s]};
}

void adept_plan_kernels_buckets(adept_bucket_row *out, const adept_plan_kernels *plan, const adept_network *net,
                                double clock, double bucket_bytes)
{
    double bucketed_s[2];
    const linear_laws laws = laws_of(net, plan->theta);
    *out = (adept_bucket_row){.first = plan->n_gradients};
    send_buckets(bucketed_s, plan, &laws, pace_of(plan->theta, clock), bucket_bytes, out);
}

void adept_plan_kernels_run(adept_plan_step *out, const adept_plan_kernels *plan, const double *row,
                            const adept_network *net, double bucket_bytes)
{
    const double *theta = plan->theta;
    adept_operator_numbers numbers = plan->numbers;
    numbers.gpus = row[ADEPT_ROW_GPUS];
    numbers.limit_w = row[ADEPT_ROW_LIMIT_W];
    numbers.max_clock = row[ADEPT_ROW_MAX_CLOCK];
    numbers.network = *net;
    out->clock = adept_clock_table_solve(&plan->clock, numbers.limit_w, numbers.max_clock);
    double f = out->clock.ratio, v = adept_operator_voltage(theta, f);
    const pace at = pace_of(theta, f);
    adept_operator_total total = {0};
    out->core_s = out->memory_s = 0.0;
    double all_s = 0.0;
    for (int p = 0; p < ADEPT_PARTS; p++) {
        double core_s = plan->part[p].core_s * at.core, memory_s = plan->part[p].memory_s * at.memory;
        out->part_s[p] = total.time_s[p] = core_s + memory_s;
        all_s += total.time_s[p];
        if (p == ADEPT_PART_OPTIMIZER) continue;
        out->core_s += core_s;
        out->memory_s += memory_s;
    }
    total.energy_j = v * v * (plan->core_j + adept_operator_active_w(&numbers, theta) * f * all_s) + plan->memory_j;
    out->energy_j = total.energy_j;
    out->buckets = 0.0;
    if (bucket_bytes > 0.0) {
        const linear_laws laws = laws_of(net, theta);
        out->buckets = send_buckets(numbers.bucketed_s, plan, &laws, at, bucket_bytes, NULL);
    }
    out->state = adept_operator_finish(&total, &numbers, theta);
}
