#include "six_ways.h"
#include <math.h>
#include <string.h>

/* Up to some point the host's time counts, from there on the GPU's; with accumulation the time is linear in the pass in
 * which that point lies. */
static double busy_s(double exposed[ADEPT_PARTS], const double device_s[ADEPT_PARTS], const double host_s[ADEPT_PARTS],
                     double passes)
{
    const double ways[][ADEPT_PARTS] = {
        {1.0, 1.0, 1.0},                                         /* the GPU is never idle */
        {(passes - 1.0) / passes, 1.0, 1.0},                     /* from the first backward pass on */
        {(passes - 1.0) / passes, (passes - 1.0) / passes, 1.0}, /* from the second pass on */
        {0.0, 1.0 / passes, 1.0},                                /* from the last backward pass on */
        {0.0, 0.0, 1.0},                                         /* the optimizer */
        {0.0, 0.0, 0.0},                                         /* the GPU always waits */
    };
    double longest = 0.0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        double time_s = 0.0;
        for (int p = 0; p < ADEPT_PARTS; p++)
            time_s += ways[i][p] * device_s[p] + (1.0 - ways[i][p]) * host_s[p];
        if (i > 0 && !(time_s > longest)) continue;
        longest = time_s;
        memcpy(exposed, ways[i], sizeof ways[i]);
    }
    return longest;
}

static double host_launch_s(const adept_operator_numbers *n, adept_part p, const double *theta)
{
    return n->host_share[p] * (n->host_launch_s > 0.0 ? n->host_launch_s : theta[ADEPT_OP_t_host_s]);
}

static double samples_s(const adept_operator_numbers *n, const double *theta)
{
    if (n->host_sample_s > 0.0) return n->samples * n->host_sample_s;
    return n->host_share[ADEPT_PART_FORWARD] > 0.0 ? n->samples * theta[ADEPT_OP_t_sample_s] : 0.0;
}

static double span_s(const adept_backward_span *span, const adept_board *board, double clock, double host_s,
                     double launch_s)
{
    if (host_s > 0.0) return span->launches * host_s;
    return adept_span_s(&span->kernels, board, clock) + span->launches * launch_s;
}

/* From the beginning of the last backward pass on. @param host_s  of a launch, 0: the GPU does not wait for it */
static void send(adept_step *out, const adept_buckets *b, double bucket_bytes, const adept_operator_numbers *n,
                 const double *theta, const adept_board *board, double host_s)
{
    double l_hop_s = theta[ADEPT_OP_l_hop_s], bw = theta[ADEPT_OP_bw_eff_bytes_per_s],
           launch_s = theta[ADEPT_OP_t_launch_s];
    double by_gpu_s = span_s(&b->backward, board, out->clock_ratio, 0.0, launch_s);
    if (b->backward.launches * host_s <= by_gpu_s) host_s = 0.0;
    double end_s = span_s(&b->backward, board, out->clock_ratio, host_s, launch_s);
    double filled = 0.0, most = fmin(ADEPT_FIRST_BUCKET_BYTES, bucket_bytes), free_s = 0.0, all_s = 0.0;
    for (size_t i = 0; i <= b->n; i++) {
        bool last = i == b->n;
        filled += last ? b->rest_bytes : b->gradients[i].bytes;
        if (last ? !(filled > 0.0) : !(filled >= most)) continue;
        double now_s = last ? end_s : span_s(&b->gradients[i].before, board, out->clock_ratio, host_s, launch_s);
        double takes_s = adept_network_allreduce_s(&n->network, filled, l_hop_s, bw);
        free_s = fmax(free_s, now_s) + takes_s;
        all_s += takes_s;
        out->buckets += 1.0;
        filled = 0.0;
        most = bucket_bytes;
    }
    out->comm_s = fmin(all_s, fmax(0.0, free_s - end_s));
    out->comm_hidden_s = all_s - out->comm_s;
}

static void step_at(adept_step *out, double f, const adept_kernel_list *list, const adept_operator_numbers *n,
                    const adept_buckets *buckets, double bucket_bytes, const double *theta)
{
    const adept_board *board = &list->board;
    double v = adept_board_voltage(board, f, NULL), part_s[ADEPT_PARTS], device_s[ADEPT_PARTS], host_s[ADEPT_PARTS];
    double exposed[ADEPT_PARTS], all_s = 0.0, gaps_s = 0.0;
    *out = (adept_step){.clock_ratio = f};
    for (int p = 0; p < ADEPT_PARTS; p++) {
        double tensors_s = p == ADEPT_PART_OPTIMIZER
                               ? n->tensors * theta[ADEPT_OP_t_tensor_s] + n->waits * theta[ADEPT_OP_t_wait_s]
                               : 0.0;
        double part_gaps_s = n->launches[p] * theta[ADEPT_OP_t_launch_s] + tensors_s;
        all_s += part_s[p] = adept_span_s(&list->part[p], board, f);
        host_s[p] = n->launches[p] * host_launch_s(n, p, theta) + tensors_s;
        device_s[p] = part_s[p] + part_gaps_s;
        gaps_s += part_gaps_s;
    }
    host_s[ADEPT_PART_FORWARD] += samples_s(n, theta);
    out->pass_s = part_s[ADEPT_PART_FORWARD] + part_s[ADEPT_PART_BACKWARD];
    out->optimizer_s = part_s[ADEPT_PART_OPTIMIZER];
    double both_s = busy_s(exposed, device_s, host_s, n->passes);
    for (int p = 0; p < ADEPT_PARTS; p++)
        out->hidden_s[p] = (1.0 - exposed[p]) * part_s[p];
    out->launch_s = gaps_s + fmax(0.0, both_s - all_s - gaps_s);
    out->samples_s = (1.0 - exposed[ADEPT_PART_FORWARD]) * samples_s(n, theta);
    if (buckets) {
        bool host_bound = !(exposed[ADEPT_PART_BACKWARD] > 0.0); /* the last backward pass, then all of them */
        send(out, buckets, bucket_bytes, n, theta, board,
             host_bound ? host_launch_s(n, ADEPT_PART_BACKWARD, theta) : 0.0);
    } else {
        double all_comm_s = adept_network_allreduce_s(&n->network, n->gradient_bytes, theta[ADEPT_OP_l_hop_s],
                                                      theta[ADEPT_OP_bw_eff_bytes_per_s]);
        out->comm_s = (n->network.flat ? 1.0 : 1.0 - theta[ADEPT_OP_overlap]) * all_comm_s;
        out->comm_hidden_s = all_comm_s - out->comm_s;
        if (n->network.flat && n->network.n > 0)
            out->comm_s += 4.0 * n->gradient_bytes / (n->bytes_per_s * theta[ADEPT_KP_beta_mem]);
    }
    out->fixed_s = n->host_step_s > 0.0 ? n->host_step_s : theta[ADEPT_OP_t_fixed_s];
    out->step_s = both_s + out->comm_s + out->fixed_s;
    double kernels_j = v * v * (list->core_j + board->active_w * f * all_s) + list->memory_j;
    double wait_w = v * v * (n->rests ? all_s / out->step_s : 1.0) * board->wait_share * board->active_w * f;
    out->energy_j = kernels_j + wait_w * (out->step_s - all_s);
    out->power_w = board->static_w + out->energy_j / out->step_s;
    out->comm_w = out->idle_w = board->static_w + wait_w;
}

/* The limit that kernels and waits together are at. */
static double limit_w_of(const adept_step *s, const adept_kernel_list *list)
{
    const adept_board *b = &list->board;
    double kernels_s = s->pass_s + s->optimizer_s;
    double load = kernels_s * adept_board_load(b, adept_kernel_list_power_w(list, s->clock_ratio)) +
                  (s->step_s - kernels_s) * adept_board_load(b, s->idle_w);
    return adept_board_unload(b, load / s->step_s);
}

/* The clock that kernels and waits together leave, by halves and kernel by kernel. */
void six_ways_step(adept_step *out, const adept_kernel_list *list, const adept_operator_numbers *n,
                   const adept_buckets *buckets, double bucket_bytes, const double *theta)
{
    double low = list->board.min_clock, high = n->max_clock;
    step_at(out, high, list, n, buckets, bucket_bytes, theta);
    if (!(adept_kernel_list_power_w(list, high) > n->limit_w) || !(limit_w_of(out, list) > n->limit_w)) return;
    step_at(out, low, list, n, buckets, bucket_bytes, theta);
    const bool floored = limit_w_of(out, list) > n->limit_w;
    while (!floored && high - low > 1e-16) {
        const double clock = 0.5 * (low + high);
        if (!(clock > low && clock < high)) break;
        step_at(out, clock, list, n, buckets, bucket_bytes, theta);
        *(limit_w_of(out, list) > n->limit_w ? &high : &low) = clock;
    }
    out->limited = true;
    out->floored = floored;
}
