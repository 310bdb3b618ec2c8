/** @file operator_step.c  Kernels' times, the step they make, and its derivatives; see operator_step.h for the
 * equations. */
#include "operator_step.h"
#include "operator_own.h"
#include <math.h>
#include <string.h>

adept_status adept_operator_check_saturation(const char *name, adept_error *err)
{
    if (!name || strcmp(name, "sigmoid") == 0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE,
                           "granularity \"operator\" saturates by the sigmoid, not by \"%.80s\": that is for "
                           "granularity \"model\"",
                           name);
}

/* Python launches the forward pass module by module, and autograd's threads of C++ the backward pass, in less than half
 * the time a launch. Steps between those that wait for the host and those that wait for the GPU say so, on three hosts
 * (docs/accuracy/NOTES.md). The mean of both passes stays t_host. */
#define FORWARD_TO_BACKWARD 2.1

/* AdamW by foreach counts steps for each tensor, and makes lists of corrections and step sizes of them in Python: 32 us
 * a tensor, which no kernel hides, as against 2 us by SGD. Of 161, 148 and 201 tensors on an H200's host, PyTorch 2.11
 * (data/measurements/h200-sxm-141gb/optimizers.csv). A CUDA graph has its counts on the GPU. */
#define NUMBERS_IN_TENSORS 15.0

adept_operator_numbers adept_operator_numbers_of(const adept_placed *placed, const adept_hwprofile *hw)
{
    const adept_specs *specs = &hw->specs;
    const adept_work *work = &placed->work;
    const double passes = placed->numbers.pass[ADEPT_PASS_PASSES];
    adept_operator_numbers n = {
        .passes = passes,
        .launches = {passes * work->kernels[ADEPT_FORWARD], passes * work->kernels[ADEPT_BACKWARD],
                     work->optimizer.kernels},
        .tensors =
            placed->updated_tensors + (placed->host_share > 0.0 ? NUMBERS_IN_TENSORS * work->optimizer.numbers : 0.0),
        .samples = placed->samples,
        .waits = work->optimizer.waits,
        .optimizer_bytes = work->optimizer.moved_bytes + work->optimizer.moved_gradients * work->gradient_bytes,
        .optimizer_flops = work->optimizer.flops,
        .bytes_per_s = specs->mem_bytes_per_s,
        .flight_sms = adept_streaming_sms(hw),
        .optimizer_streams = work->optimizer.streams,
        /* a fused multiply and add is two FLOPs */
        .optimizer_double_s = work->optimizer.double_operations > 0.0 && specs->vector_fp64_flops_per_s > 0.0
                                  ? work->optimizer.double_operations / (0.5 * specs->vector_fp64_flops_per_s)
                                  : 0.0,
        .gradient_bytes = work->gradient_elements * work->gradient_bytes,
        .tdp_w = specs->tdp_w,
        .rests = adept_board_rests(specs),
        .averages = adept_board_averages(hw),
        .min_clock = placed->numbers.row[ADEPT_ROW_MIN_CLOCK],
    };
    double forward = n.launches[ADEPT_PART_FORWARD], backward = n.launches[ADEPT_PART_BACKWARD];
    double slower = placed->eager && backward > 0.0 ? FORWARD_TO_BACKWARD : 1.0;
    double mean = backward > 0.0 ? (slower * forward + backward) / (forward + backward) : 1.0;
    double share = placed->host_share / mean;
    n.host_share[ADEPT_PART_FORWARD] = slower * share;
    n.host_share[ADEPT_PART_BACKWARD] = share;
    n.host_share[ADEPT_PART_OPTIMIZER] = placed->host_share;
    adept_operator_set_run(&n, placed->numbers.row, &placed->network);
    return n;
}

void adept_operator_set_run(adept_operator_numbers *n, const double *row, const adept_network *net)
{
    n->gpus = row[ADEPT_ROW_GPUS];
    n->limit_w = row[ADEPT_ROW_LIMIT_W];
    n->max_clock = row[ADEPT_ROW_MAX_CLOCK];
    n->host_launch_s = row[ADEPT_ROW_HOST_S];
    n->host_step_s = row[ADEPT_ROW_HOST_STEP_S];
    n->host_sample_s = row[ADEPT_ROW_HOST_SAMPLE_S];
    adept_network_of_nccl(&n->network, net, n->gpus);
}

/* ---- one kernel at full clock ---- */

void adept_operator_time_of(adept_timed_kernel *out, adept_timed_slopes *slopes, const adept_operator_kernel *k,
                            const double *theta, const adept_tile_menu *menus, adept_cached_kernel known[2])
{
    adept_kernel_gradient g;
    adept_operator_kernel on_alus;
    if (slopes) memset(&g, 0, sizeof g);
    adept_kernel_time t = known ? adept_kernel_cache_time(&known[0], &k->work, &k->gpu, theta, menus)
                                : adept_kernel_law(&k->work, &k->gpu, theta, menus, 1.0, slopes ? &g : NULL);
    if (k->or_alus_flops_per_s > 0.0) {
        on_alus = adept_operator_on_alus(k);
        adept_kernel_time other =
            known ? adept_kernel_cache_time(&known[1], &on_alus.work, &on_alus.gpu, theta, menus)
                  : adept_kernel_law(&on_alus.work, &on_alus.gpu, theta, menus, 1.0, NULL);
        if (other.time_s < t.time_s) {
            t = other;
            k = &on_alus;
            if (slopes) memset(&g, 0, sizeof g);
            if (slopes) adept_kernel_law(&k->work, &k->gpu, theta, menus, 1.0, &g);
        }
    }
    /* What a kernel reads next it asks for after a latency that follows the core clock, unless many bytes are in
     * flight: a product waits for each tile, a normalisation for each row, a stream for nothing. */
    double share = adept_kernel_waits(&k->work) ? theta[ADEPT_OP_mem_core_share] : 0.0;
    *out = (adept_timed_kernel){k->work.unit,  t.time_s,        t.core_s,      t.core_s + share * (t.time_s - t.core_s),
                                k->simt_flops, k->tensor_flops, k->work.bytes, t.executed,
                                k->work.repeats};
    if (!slopes) return;
    memset(slopes, 0, sizeof *slopes);
    memcpy(slopes->time_s, g.time_s, sizeof g.time_s);
    for (int i = 0; i < ADEPT_KP_COUNT; i++)
        slopes->clocked_s[i] = g.core_s[i] + share * (g.time_s[i] - g.core_s[i]);
    if (adept_kernel_waits(&k->work)) slopes->clocked_s[ADEPT_OP_mem_core_share] = out->time_s - out->core_s;
}

adept_status adept_operator_kernel_time(adept_timed_kernel *out, const adept_profile_op *op, const adept_kernel *k,
                                        adept_precision precision, const adept_hwprofile *hw, const double *theta,
                                        const adept_tile_menu *menus, adept_error *err)
{
    adept_kernel_case c;
    adept_operator_kernel placed;
    adept_status status = adept_kernel_case_of(&c, op, k, err);
    if (status == ADEPT_OK) status = adept_operator_place(&placed, &c, precision, hw, err);
    if (status == ADEPT_OK) adept_operator_time_of(out, NULL, &placed, theta, menus, NULL);
    return status;
}

/* Its kernels go from tensor to tensor. @param of_device  NULL, or: the device memory's share of the sum of fourth
 * powers */
static double optimizer_memory_s(double *of_device, const adept_operator_numbers *n, const double *theta)
{
    double scale = n->optimizer_streams ? 1.0 : theta[ADEPT_OP_c_opt];
    double device = 1.0 / (n->bytes_per_s * theta[ADEPT_KP_beta_mem]);
    double sms = n->flight_sms > 0.0 ? 1.0 / (n->flight_sms * theta[ADEPT_KP_sm_bytes_per_s]) : 0.0;
    double ratio = sms / device, sum = 1.0 + ratio * ratio * ratio * ratio;
    if (of_device) *of_device = 1.0 / sum;
    return scale * n->optimizer_bytes * device * sqrt(sqrt(sum));
}

void adept_operator_optimizer_time(adept_timed_kernel *out, adept_timed_slopes *slopes,
                                   const adept_operator_numbers *n, const double *theta)
{
    double of_device, memory_s = optimizer_memory_s(&of_device, n, theta);
    bool computes = n->optimizer_double_s > memory_s;
    double core_s = computes ? n->optimizer_double_s : 0.0;
    *out = (adept_timed_kernel){
        ADEPT_UNIT_ALU, computes ? core_s : memory_s, core_s, core_s, n->optimizer_flops, 0.0, n->optimizer_bytes,
        1.0, 1.0};
    if (!slopes) return;
    memset(slopes, 0, sizeof *slopes);
    if (computes) return;
    slopes->time_s[ADEPT_OP_c_opt] = n->optimizer_streams ? 0.0 : memory_s / theta[ADEPT_OP_c_opt];
    slopes->time_s[ADEPT_KP_beta_mem] = -memory_s * of_device / theta[ADEPT_KP_beta_mem];
    slopes->time_s[ADEPT_KP_sm_bytes_per_s] = -memory_s * (1.0 - of_device) / theta[ADEPT_KP_sm_bytes_per_s];
}

/* ---- the step ---- */

static double host_launch_s(const adept_operator_numbers *n, adept_part p, const double *theta)
{
    return n->host_share[p] * (n->host_launch_s > 0.0 ? n->host_launch_s : theta[ADEPT_OP_t_host_s]);
}

/* Those that the parameter counts: it is of programs that launch, and a CUDA graph is replayed without them. */
static double parameter_samples(const adept_operator_numbers *n)
{
    bool replays = !(n->host_share[ADEPT_PART_FORWARD] > 0.0);
    return n->host_sample_s > 0.0 || replays ? 0.0 : n->samples;
}

/* Of an all-reduce that is not in buckets. */
static double exposed_share(const adept_operator_numbers *n, const double *theta)
{
    return n->network.flat ? 1.0 : 1.0 - theta[ADEPT_OP_overlap];
}

/* Gradients are copied together, and back: each reads and writes all of them. */
static double flat_copies_s(const adept_operator_numbers *n, const double *theta)
{
    bool flat = n->network.flat && n->network.n > 0;
    return flat ? 4.0 * n->gradient_bytes / (n->bytes_per_s * theta[ADEPT_KP_beta_mem]) : 0.0;
}

/* What the board draws while it waits, of u_wait * the active power. */
static double awake_share(const adept_operator_numbers *n, double busy)
{
    return n->rests ? busy : 1.0;
}

/* What takes as long at every clock; by part of all passes. */
typedef struct clockless {
    double gaps_s[ADEPT_PARTS], host_s[ADEPT_PARTS]; /* between kernels, on the GPU; of launches */
    double tensors_s;                                /* in both, of the optimizer: the host's */
    double samples_s;                                /* in the forward pass's launches */
    double rest_s;
    const adept_buckets *buckets; /* NULL: the share `overlap` of the all-reduce is hidden */
    double bucket_bytes, backward_launch_s;
    adept_linear_laws laws;
    const adept_allreduce_law *law; /* without buckets; NULL: nothing is sent */
    double bytes, all_reduce_s, exposed_s, copies_s;
} clockless;

static void find_clockless(clockless *c, const adept_operator_numbers *n, const adept_buckets *buckets,
                           double bucket_bytes, const double *theta)
{
    c->samples_s = n->samples * n->host_sample_s + parameter_samples(n) * theta[ADEPT_OP_t_sample_s];
    c->tensors_s = n->tensors * theta[ADEPT_OP_t_tensor_s] + n->waits * theta[ADEPT_OP_t_wait_s];
    for (int p = 0; p < ADEPT_PARTS; p++) {
        double tensors_s = p == ADEPT_PART_OPTIMIZER ? c->tensors_s : 0.0;
        c->gaps_s[p] = n->launches[p] * theta[ADEPT_OP_t_launch_s] + tensors_s;
        c->host_s[p] = n->launches[p] * host_launch_s(n, p, theta) + tensors_s;
    }
    c->host_s[ADEPT_PART_FORWARD] += c->samples_s;
    c->rest_s = n->host_step_s > 0.0 ? n->host_step_s : theta[ADEPT_OP_t_fixed_s];
    c->buckets = buckets;
    c->bucket_bytes = bucket_bytes;
    c->law = NULL;
    c->all_reduce_s = c->exposed_s = c->copies_s = 0.0;
    if (buckets) {
        c->laws = adept_linear_laws_of(&n->network, theta);
        c->backward_launch_s = host_launch_s(n, ADEPT_PART_BACKWARD, theta);
    } else if (n->network.n > 0) {
        const double l_hop_s = theta[ADEPT_OP_l_hop_s], bw = theta[ADEPT_OP_bw_eff_bytes_per_s];
        c->law = adept_network_law(&n->network, n->gradient_bytes, l_hop_s, bw);
        c->bytes = n->gradient_bytes;
        c->all_reduce_s = c->law ? adept_allreduce_law_s(c->law, n->gradient_bytes, l_hop_s, bw) : 0.0;
        c->exposed_s = exposed_share(n, theta) * c->all_reduce_s;
        c->copies_s = flat_copies_s(n, theta);
    }
}

/* A step at a clock. */
typedef struct moment {
    double clock, volts2;       /* the square of the voltage */
    double stretch;             /* adept_board_stretch() */
    double part_s[ADEPT_PARTS]; /* kernels, of all passes */
    double kernels_s, step_s, busy_s /* without communication and the rest */, comm_s, hidden_s, buckets;
    double wait_w; /* above idle, between kernels */
    unsigned launches; /* that the step waits for, one behind the other */
} moment;

/* A share of a part's work: the host launches it, and its kernels begin once the host has launched all parts before. So
 * after each part the GPU goes on at max(its own end, the host's). @return where kernels begin, and where launches do
 */
static inline __attribute__((always_inline)) adept_done add_part(adept_schedule *s, adept_part part, double share,
                                                                 const moment *m, const clockless *c,
                                                                 adept_done launched, adept_done *launches)
{
    adept_task task = {ADEPT_LANE_COMPUTE,    ADEPT_TASK_PART, part, share, share * (m->part_s[part] + c->gaps_s[part]),
                       .until = ADEPT_NO_TASK};
    const adept_done kernels = adept_schedule_add(s, task, launched);
    task.lane = ADEPT_LANE_HOST;
    task.time_s = share * c->host_s[part];
    *launches = adept_schedule_add(s, task, s->lanes[ADEPT_LANE_HOST]);
    return kernels;
}

/* Of those between the first and the last only the last can be waited for longest, for time is linear in them: they are
 * taken as one. */
static inline __attribute__((always_inline)) adept_done
add_passes(adept_schedule *s, double share, bool is_one, const moment *m, const clockless *c, adept_done *launches)
{
    const adept_done launched = s->lanes[ADEPT_LANE_HOST];
    add_part(s, ADEPT_PART_FORWARD, share, m, c, launched, launches);
    return add_part(s, ADEPT_PART_BACKWARD, share, m, c, is_one ? s->lanes[ADEPT_LANE_HOST] : launched, launches);
}

/* Where the GPU waits for the host, gradients are complete when the host has launched what makes them: in a backward
 * pass of which the host's time counts in the step, and is longer. */
static bool host_completes(const adept_schedule *s, const moment *m, const clockless *c, const adept_pace *by_host,
                           const adept_pace *by_gpu)
{
    double host_s = s->lanes[ADEPT_LANE_HOST].at_s, compute_s = s->lanes[ADEPT_LANE_COMPUTE].at_s;
    double kernels_s = m->part_s[ADEPT_PART_OPTIMIZER] + c->gaps_s[ADEPT_PART_OPTIMIZER];
    bool counts = host_s > compute_s || host_s + c->host_s[ADEPT_PART_OPTIMIZER] > compute_s + kernels_s;
    const adept_backward_span *pass = &c->buckets->backward;
    return counts && adept_backward_span_s(pass, by_host) > adept_backward_span_s(pass, by_gpu);
}

/* Buckets beside the last backward pass: host and GPU alike stand for what is left of them behind it. */
static inline __attribute__((always_inline)) adept_task
send_buckets(adept_schedule *s, moment *m, const clockless *c, adept_done kernels, adept_done launches, double launch_s)
{
    const adept_pace by_host = {.launch_s = c->backward_launch_s}, by_gpu = {1.0 / m->clock, m->stretch, launch_s};
    bool by = host_completes(s, m, c, &by_host, &by_gpu);
    const adept_done pass = by ? launches : kernels;
    const adept_done passed = by ? s->lanes[ADEPT_LANE_HOST] : s->lanes[ADEPT_LANE_COMPUTE];
    double all_s;
    adept_schedule own = *s; /* whose address others need not know */
    const adept_done sent = adept_buckets_send(&own, &all_s, &m->buckets, c->buckets, &c->laws, c->bucket_bytes, pass,
                                               by ? &by_host : &by_gpu);
    *s = own;
    double left_s = sent.at_s - passed.at_s;
    bool hides_all = !(left_s > 0.0);
    m->comm_s = hides_all ? 0.0 : left_s < all_s ? left_s : all_s; /* rounding could make it more */
    m->hidden_s = all_s - m->comm_s;
    bool kept = s->keeps_sends && !hides_all;
    return (adept_task){
        .kind = ADEPT_TASK_HOLD, .time_s = m->comm_s, .until = kept ? sent.task : ADEPT_NO_TASK, .since = passed.task};
}

/* One all-reduce of which a share is hidden: it holds host and GPU for the rest. Where it lies on the links is for
 * those who look: it ends when they go on, whether or not the backward pass is as long as what is hidden. */
static inline __attribute__((always_inline)) adept_task send_together(adept_schedule *s, moment *m, const clockless *c)
{
    m->comm_s = c->exposed_s + c->copies_s;
    m->hidden_s = c->all_reduce_s - c->exposed_s;
    m->buckets = 0.0;
    if (s->keeps_sends && c->law) {
        double begins_s = s->lanes[ADEPT_LANE_COMPUTE].at_s - m->hidden_s,
               between_s = c->law->between_s + c->law->between_s_per_byte * c->bytes;
        adept_task task = {
            ADEPT_LANE_LINK,   ADEPT_TASK_SEND, ADEPT_PART_BACKWARD,   .time_s = c->all_reduce_s - between_s,
            .bytes = c->bytes, .law = c->law,   .until = ADEPT_NO_TASK};
        adept_schedule_add(s, task, (adept_done){.at_s = begins_s > 0.0 ? begins_s : 0.0, .task = ADEPT_NO_TASK});
        task.lane = ADEPT_LANE_BETWEEN;
        task.time_s = between_s;
        adept_schedule_add(s, task, s->lanes[ADEPT_LANE_LINK]);
        task = (adept_task){ADEPT_LANE_LINK, ADEPT_TASK_COPY, ADEPT_PART_BACKWARD, .time_s = c->copies_s,
                            .until = ADEPT_NO_TASK};
        adept_schedule_add(s, task, s->lanes[ADEPT_LANE_BETWEEN]);
    }
    return (adept_task){.kind = ADEPT_TASK_HOLD, .share = 1.0, .time_s = m->comm_s, .until = ADEPT_NO_TASK};
}

/* The step at a clock, as tasks. In line: where none are kept, nothing of them is left. */
static inline __attribute__((always_inline)) void run_at(adept_schedule *s, moment *m, double clock,
                                                         const adept_kernel_list *list, const adept_operator_numbers *n,
                                                         const clockless *c, const double *theta)
{
    const adept_board *board = &list->board;
    const double v = adept_board_voltage(board, clock, NULL), one = 1.0 / n->passes;
    m->clock = clock;
    m->volts2 = v * v;
    m->stretch = adept_board_stretch_ratio(board, clock);
    m->kernels_s = 0.0;
    for (int p = 0; p < ADEPT_PARTS; p++)
        m->kernels_s += m->part_s[p] = list->part[p].clocked_s / clock + list->part[p].memory_s * m->stretch;
    adept_done launches, kernels = add_passes(s, one, true, m, c, &launches);
    if (n->passes > 2.0) add_passes(s, (n->passes - 2.0) / n->passes, false, m, c, &launches);
    if (n->passes > 1.0) kernels = add_passes(s, one, true, m, c, &launches);
    const adept_task holds =
        c->buckets ? send_buckets(s, m, c, kernels, launches, theta[ADEPT_OP_t_launch_s]) : send_together(s, m, c);
    if (c->buckets || c->law) {
        adept_task task = holds;
        task.lane = ADEPT_LANE_HOST;
        adept_schedule_add(s, task, s->lanes[ADEPT_LANE_HOST]);
        task.lane = ADEPT_LANE_COMPUTE;
        adept_schedule_add(s, task, s->lanes[ADEPT_LANE_COMPUTE]);
    }
    add_part(s, ADEPT_PART_OPTIMIZER, 1.0, m, c, s->lanes[ADEPT_LANE_HOST], &launches);
    m->busy_s = adept_later(s->lanes[ADEPT_LANE_COMPUTE], s->lanes[ADEPT_LANE_HOST]).at_s - m->comm_s;
    adept_schedule_add(s, (adept_task){ADEPT_LANE_HOST, ADEPT_TASK_REST, .time_s = c->rest_s, .until = ADEPT_NO_TASK},
                       s->lanes[ADEPT_LANE_COMPUTE]);
    m->step_s = s->lanes[ADEPT_LANE_HOST].at_s;
    m->launches = s->lanes[ADEPT_LANE_HOST].launches;
    m->wait_w = m->volts2 * awake_share(n, m->kernels_s / m->step_s) * board->wait_share * board->active_w * clock;
}

/* What the step's time owes to its parts, and to what is sent. */
static void find_path(adept_step_path *path, adept_schedule *s)
{
    *path = (adept_step_path){.exposed = 0.0};
    adept_schedule_weigh(s);
    for (size_t i = 0; i < s->n; i++) {
        const adept_task *t = &s->tasks[i];
        if (t->weight == 0.0) continue;
        if (t->kind == ADEPT_TASK_PART)
            (t->lane == ADEPT_LANE_HOST ? path->host : path->compute)[t->part] += t->weight * t->share;
        if (t->kind == ADEPT_TASK_HOLD) path->exposed += t->weight * t->share;
        if (t->kind != ADEPT_TASK_SEND || t->lane != ADEPT_LANE_LINK) continue;
        path->hops += t->weight * t->law->hops;
        path->volume_bytes += t->weight * t->law->volume * t->bytes;
        if (!t->within) continue;
        if (s->tasks[t->from].lane == ADEPT_LANE_HOST) {
            path->host_launches += t->weight * t->ready.launches;
            continue;
        }
        path->ready = t->weight;
        path->gradient = t->gradient;
        path->before = t->ready;
    }
}

static void put_step(adept_step *out, const moment *m, const adept_kernel_list *list, const adept_operator_numbers *n,
                     const clockless *c)
{
    const adept_board *board = &list->board;
    const double core = 1.0 / m->clock, one = 1.0 / n->passes;
    const double shares[] = {one, n->passes > 2.0 ? 1.0 - 2.0 * one : one, one};
    double host[ADEPT_PARTS] = {0.0}; /* of each part's launches, the share that the step waits for */
    unsigned bit = 1;
    for (int i = 0; i < 3 && i < n->passes; i++, bit <<= 2) {
        host[ADEPT_PART_FORWARD] += m->launches & bit ? shares[i] : 0.0;
        host[ADEPT_PART_BACKWARD] += m->launches & bit << 1 ? shares[i] : 0.0;
    }
    host[ADEPT_PART_OPTIMIZER] = m->launches & bit ? 1.0 : 0.0;
    *out = (adept_step){.clock_ratio = m->clock};
    out->pass_s = m->part_s[ADEPT_PART_FORWARD] + m->part_s[ADEPT_PART_BACKWARD];
    out->optimizer_s = m->part_s[ADEPT_PART_OPTIMIZER];
    out->optimizer_computes = list->part[ADEPT_PART_OPTIMIZER].clocked_s > 0.0;
    out->gemm_s = list->unit_core_s[ADEPT_UNIT_GEMM] * core;
    out->conv_s = list->unit_core_s[ADEPT_UNIT_CONV] * core;
    out->alu_s = list->unit_core_s[ADEPT_UNIT_ALU] * core;
    out->memory_s = fmax(0.0, out->pass_s - out->gemm_s - out->conv_s - out->alu_s);
    double gaps_s = 0.0;
    out->host_s = c->rest_s + (1.0 - host[ADEPT_PART_OPTIMIZER]) * c->tensors_s;
    for (int p = 0; p < ADEPT_PARTS; p++) {
        gaps_s += c->gaps_s[p];
        out->host_s += host[p] * c->host_s[p];
        out->hidden_s[p] = host[p] * m->part_s[p];
    }
    /* the last gradients may be on their way while the host still launches: how much of it counts is not told */
    if (c->buckets && m->comm_s > 0.0) out->host_s = 0.0;
    double waits_s = m->busy_s - m->kernels_s - gaps_s;
    out->launch_s = gaps_s + (waits_s < 0.0 ? 0.0 : waits_s); /* gaps, and waiting for the host */
    out->samples_s = host[ADEPT_PART_FORWARD] * c->samples_s;
    out->comm_s = m->comm_s;
    out->comm_hidden_s = m->hidden_s;
    out->buckets = m->buckets;
    out->fixed_s = c->rest_s;
    out->step_s = m->step_s;
    double kernels_j = m->volts2 * (list->core_j + board->active_w * m->clock * m->kernels_s) + list->memory_j;
    out->energy_j = kernels_j + m->wait_w * (out->step_s - m->kernels_s);
    out->power_w = board->static_w + out->energy_j / out->step_s;
    out->pass_w = out->optimizer_w = board->static_w + (m->kernels_s > 0.0 ? kernels_j / m->kernels_s : 0.0);
    out->comm_w = out->idle_w = board->static_w + m->wait_w;
}

/* A step at a clock, and the limit under which it runs at that: kernels and waits are at it together. NAN: not asked
 * for, by kernels_w. */
typedef struct held {
    double clock, limit_w;
} held;

static held hold_at(moment *m, double clock, double kernels_w, const adept_kernel_list *list,
                    const adept_operator_numbers *n, const clockless *c, const double *theta)
{
    const adept_board *b = &list->board;
    adept_schedule s;
    adept_schedule_begin(&s, NULL, false);
    run_at(&s, m, clock, list, n, c, theta);
    if (isnan(kernels_w)) return (held){clock, NAN};
    const double load = m->kernels_s * adept_board_load(b, kernels_w) +
                        (m->step_s - m->kernels_s) * adept_board_load(b, b->static_w + m->wait_w);
    return (held){clock, adept_board_unload(b, load / m->step_s)};
}

/* The same where a cell begins, kept for other plain runs. */
static held hold_at_end(moment *m, size_t cell, const adept_kernel_list *list, const adept_operator_numbers *n,
                        const clockless *c, const double *theta)
{
    _Atomic double *kept = &list->cells[cell].limit_w;
    held end = {list->clock[cell], n->plain ? atomic_load_explicit(kept, memory_order_relaxed) : NAN};
    m->clock = NAN;
    if (!isnan(end.limit_w)) return end;
    end = hold_at(m, end.clock, adept_kernel_list_begins_w(list, cell), list, n, c, theta);
    if (n->plain) atomic_store_explicit(kept, end.limit_w, memory_order_relaxed);
    return end;
}

/* A limit closer than this is met: rounding leaves a hundredth of it. */
#define MET 1e-13
#define MOST_POINTS 6 /* after which a search begins anew */
#define MOST_CLOCKS 80

/* The clock of a plain run by its limit, where nothing in the cell makes a kink: as exact as the cell's power. */
static double plain_clock(size_t cell, const adept_kernel_list *list, const adept_operator_numbers *n,
                          const clockless *c, const double *theta)
{
    adept_clock_cell *kept = &list->cells[cell];
    adept_clock_curve room, *curve = adept_clock_curve_begin(&kept->plain, &kept->plain_state, &room);
    if (!curve) return adept_clock_curve_at(&kept->plain, n->limit_w);
    double clock_at[ADEPT_CELL_POINTS], held_w[ADEPT_CELL_POINTS];
    for (int i = 0; i < ADEPT_CELL_POINTS; i++) {
        clock_at[i] = adept_kernel_list_point(list, cell, i);
        held_w[i] = adept_kernel_list_inside_w(list, cell, clock_at[i]);
    }
    for (int i = 0; i < ADEPT_CELL_POINTS; i++) {
        moment m;
        held_w[i] = hold_at(&m, clock_at[i], held_w[i], list, n, c, theta).limit_w;
    }
    adept_clock_curve_through(curve, held_w, clock_at);
    const double clock = adept_clock_curve_at(curve, n->limit_w);
    adept_clock_curve_end(curve, &room, &kept->plain_state);
    return clock;
}

/* The step at the highest clock that the limit leaves. @return false: even the lowest is too high */
static bool hold(moment *m, const adept_kernel_list *list, const adept_operator_numbers *n, const clockless *c,
                 const double *theta)
{
    const double limit_w = n->limit_w, most = n->max_clock;
    size_t last = list->n_cells, cell;
    while (last > 1 && list->clock[last - 1] >= most)
        last--;
    /* Waits draw less than kernels: a step is only held where its kernels are, and at no lower clock than these alone.
     */
    if (isnan(limit_w) || !(adept_kernel_list_begins_w(list, last) > limit_w)) {
        hold_at(m, most, NAN, list, n, c, theta);
        return true;
    }
    for (cell = last; cell > 0 && adept_kernel_list_begins_w(list, cell) > limit_w;)
        cell--;
    held low = hold_at_end(m, cell, list, n, c, theta), high = low;
    while (low.limit_w > limit_w && cell > 0)
        low = hold_at_end(m, --cell, list, n, c, theta);
    bool floored = low.limit_w > limit_w;
    for (; !floored && cell < last; cell++) {
        high = list->clock[cell + 1] <= most
                   ? hold_at_end(m, cell + 1, list, n, c, theta)
                   : hold_at(m, most, adept_kernel_list_inside_w(list, cell, most), list, n, c, theta);
        if (high.limit_w > limit_w) break;
        low = high;
    }
    if (floored || cell == last) {
        if (isnan(m->clock)) hold_at(m, low.clock, NAN, list, n, c, theta);
        return !floored;
    }
    /* Where the step begins to wait for something else, the curve has a kink, and halves help. */
    adept_clock_curve of;
    of.n = 0;
    for (int i = 0; i < MOST_CLOCKS; i++) {
        if (of.n == 0 || of.n == MOST_POINTS) {
            of.n = 0;
            adept_clock_curve_add(&of, low.limit_w, low.clock);
            adept_clock_curve_add(&of, high.limit_w, high.clock);
        }
        double next = i == 0 && n->plain ? plain_clock(cell, list, n, c, theta) : adept_clock_curve_at(&of, limit_w);
        if (!(next > low.clock && next < high.clock) || i % MOST_POINTS == MOST_POINTS - 1) {
            next = 0.5 * (low.clock + high.clock);
            of.n = 0;
        }
        const held at = hold_at(m, next, adept_kernel_list_inside_w(list, cell, next), list, n, c, theta);
        if (fabs(at.limit_w - limit_w) <= MET * limit_w || !(next > low.clock && next < high.clock)) break;
        *(at.limit_w > limit_w ? &high : &low) = at;
        if (of.n > 0) adept_clock_curve_add(&of, at.limit_w, at.clock);
    }
    return true;
}

void adept_operator_step(adept_step *out, const adept_kernel_list *list, const adept_operator_numbers *n,
                         const adept_buckets *buckets, double bucket_bytes, const double *theta)
{
    clockless c;
    moment m;
    find_clockless(&c, n, buckets, bucket_bytes, theta);
    const bool keeps = hold(&m, list, n, &c, theta);
    put_step(out, &m, list, n, &c);
    out->floored = !keeps;
    out->limited = !keeps || m.clock < n->max_clock;
}

void adept_operator_schedule(adept_schedule *out, adept_task *tasks, const adept_step *step,
                             const adept_kernel_list *list, const adept_operator_numbers *n,
                             const adept_buckets *buckets, double bucket_bytes, const double *theta)
{
    clockless c;
    moment m;
    find_clockless(&c, n, buckets, bucket_bytes, theta);
    adept_schedule_begin(out, tasks, true);
    run_at(out, &m, step->clock_ratio, list, n, &c, theta);
}

void adept_operator_path(adept_step_path *path, adept_task *tasks, const adept_step *step,
                         const adept_kernel_list *list, const adept_operator_numbers *n, const adept_buckets *buckets,
                         double bucket_bytes, const double *theta)
{
    adept_schedule s;
    adept_operator_schedule(&s, tasks, step, list, n, buckets, bucket_bytes, theta);
    find_path(path, &s);
}

/* ---- derivatives ---- */

void adept_list_slopes_add(adept_list_slopes *sum, const adept_timed_kernel *k, const adept_timed_slopes *slopes,
                           const adept_executions *executions)
{
    double all = adept_executions_all(executions);
    for (int p = 0; p < ADEPT_PARTS; p++) {
        double in = executions->part[p];
        for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS && in > 0.0; i++) {
            if (slopes->time_s[i] == 0.0 && slopes->clocked_s[i] == 0.0) continue;
            sum->time_s[p][i] += in * slopes->time_s[i];
            sum->clocked_s[p][i] += in * slopes->clocked_s[i];
        }
    }
    sum->simt_flops += all * k->simt_flops;
    sum->tensor_flops += all * k->tensor_flops;
    sum->bytes += all * k->bytes;
}

/* What energy depends on beside times, at one clock. Waiting counts as the share of its time that draws as much. */
typedef struct energy_terms {
    double simt_flops, tensor_flops, bytes, time_s;
    double core_j; /* at full voltage */
} energy_terms;

/* d energy / d theta[i] at a fixed clock and time. */
static double energy_slope(size_t i, const energy_terms *e, const adept_board *board, double clock, double tdp_w,
                           const double *theta)
{
    bool lowest;
    double v = adept_board_voltage(board, clock, &lowest);
    switch (i) {
    case ADEPT_OP_e_simt_j:
        return v * v * e->simt_flops;
    case ADEPT_OP_e_tensor_j:
        return v * v * e->tensor_flops;
    case ADEPT_OP_e_mem_j:
        return e->bytes;
    case ADEPT_OP_u_active:
        return v * v * (tdp_w - board->static_w) * clock * e->time_s;
    case ADEPT_OP_p_static_w:
        return -v * v * theta[ADEPT_OP_u_active] * clock * e->time_s;
    case ADEPT_OP_v_slope:
        return lowest ? 0.0 : -2.0 * v * (1.0 - clock) * e->core_j;
    case ADEPT_OP_v_min:
        return lowest ? 2.0 * v * e->core_j : 0.0;
    default:
        return 0.0;
    }
}

/* Of a span of time and of its energy by the clock. */
typedef struct clock_slope {
    double time, energy;
} clock_slope;

static clock_slope by_clock(const adept_span *span, const energy_terms *e, const adept_board *board, double clock)
{
    bool lowest;
    double v = adept_board_voltage(board, clock, &lowest), v_by_f = lowest ? 0.0 : board->v_slope;
    double time = -span->clocked_s / (clock * clock) + span->memory_s * adept_board_stretch(board, clock).by_clock;
    return (clock_slope){
        .time = time,
        .energy = 2.0 * v * v_by_f * e->core_j + v * v * board->active_w * (e->time_s + clock * time)};
}

/* d time / d theta[i] of a span at a fixed clock. */
static double span_slope(size_t i, double time_by, double clocked_by, double memory_s, const adept_stretch *stretch,
                         double clock)
{
    double slope = clocked_by / clock + (time_by - clocked_by) * stretch->ratio;
    return i == ADEPT_OP_clock_knee ? slope + memory_s * stretch->by_knee : slope;
}

/* What the balance depends on by other than a kernel's time. */
static const int of_energy[] = {ADEPT_OP_e_simt_j,   ADEPT_OP_e_tensor_j, ADEPT_OP_e_mem_j, ADEPT_OP_u_active,
                                ADEPT_OP_p_static_w, ADEPT_OP_v_slope,    ADEPT_OP_v_min};

void adept_balance_slopes_add(adept_balance_slopes *sum, const adept_timed_kernel *k, const adept_timed_slopes *slopes,
                              double executions, double clock, const adept_board *board,
                              const adept_operator_numbers *n, const double *theta)
{
    if (!(k->time_s > 0.0)) return;
    const adept_clocked_kernel x = adept_timed_kernel_at(k, board, clock);
    const energy_terms e = {k->simt_flops, k->tensor_flops, k->bytes, x.time_s, x.core_j};
    const adept_span span = {k->clocked_s, k->time_s - k->clocked_s};
    const adept_stretch stretch = adept_board_stretch(board, clock);
    const clock_slope by_f = by_clock(&span, &e, board, clock);
    double v = adept_board_voltage(board, clock, NULL), draw_w = x.energy_j / x.time_s;
    double load = (board->static_w + draw_w) / n->limit_w, loaded = adept_board_load(board, load);
    double over = loaded - 1.0, by_load = adept_board_exponent(board) * loaded / load / n->limit_w;
    double active_w = v * v * board->active_w * clock;
    sum->by_clock += executions * (by_f.time * over + by_load * (by_f.energy - draw_w * by_f.time));
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) { /* a kernel's time depends on few */
        if (slopes->time_s[i] == 0.0 && slopes->clocked_s[i] == 0.0 && i != ADEPT_OP_clock_knee) continue;
        double time = span_slope(i, slopes->time_s[i], slopes->clocked_s[i], span.memory_s, &stretch, clock);
        sum->by_theta[i] += executions * (time * over + by_load * (active_w * time - draw_w * time));
    }
    for (size_t j = 0; j < sizeof of_energy / sizeof *of_energy; j++) {
        size_t i = (size_t)of_energy[j];
        double idle = i == ADEPT_OP_p_static_w ? x.time_s : 0.0;
        sum->by_theta[i] += executions * (by_load * (idle + energy_slope(i, &e, board, clock, n->tdp_w, theta)));
    }
}

static double comm_slope(size_t i, const adept_operator_numbers *n, const double *theta)
{
    if (i == ADEPT_KP_beta_mem) return -flat_copies_s(n, theta) / theta[ADEPT_KP_beta_mem];
    if (i != ADEPT_OP_l_hop_s && i != ADEPT_OP_bw_eff_bytes_per_s && i != ADEPT_OP_overlap) return 0.0;
    double exposed = exposed_share(n, theta), l_hop_s = theta[ADEPT_OP_l_hop_s];
    double bw = theta[ADEPT_OP_bw_eff_bytes_per_s];
    const adept_allreduce_law *law = adept_network_law(&n->network, n->gradient_bytes, l_hop_s, bw);
    if (!law) return 0.0;
    if (i == ADEPT_OP_l_hop_s) return exposed * law->hops;
    if (i == ADEPT_OP_bw_eff_bytes_per_s) return -exposed * law->volume * n->gradient_bytes / (bw * bw);
    return n->network.flat ? 0.0 : -adept_allreduce_law_s(law, n->gradient_bytes, l_hop_s, bw);
}

/* Of the step by a parameter of launches, of samples and of what is sent, the kernels' own times apart. */
static double path_slope(size_t i, const adept_step_path *path, const adept_operator_numbers *n, const double *theta)
{
    const double optimizer = path->compute[ADEPT_PART_OPTIMIZER] + path->host[ADEPT_PART_OPTIMIZER];
    double slope = path->exposed > 0.0 ? path->exposed * comm_slope(i, n, theta) : 0.0;
    switch (i) {
    case ADEPT_OP_t_tensor_s:
        return optimizer * n->tensors;
    case ADEPT_OP_t_wait_s:
        return optimizer * n->waits;
    case ADEPT_OP_t_sample_s:
        return path->host[ADEPT_PART_FORWARD] * parameter_samples(n);
    case ADEPT_OP_t_fixed_s:
        return n->host_step_s > 0.0 ? 0.0 : 1.0;
    case ADEPT_OP_t_launch_s:
        for (int p = 0; p < ADEPT_PARTS; p++)
            slope += path->compute[p] * n->launches[p];
        return slope + path->ready * path->before.launches;
    case ADEPT_OP_t_host_s:
        for (int p = 0; p < ADEPT_PARTS; p++)
            slope += path->host[p] * n->launches[p] * n->host_share[p];
        return n->host_launch_s > 0.0 ? 0.0 : slope + path->host_launches * n->host_share[ADEPT_PART_BACKWARD];
    case ADEPT_OP_l_hop_s:
        return slope + path->hops;
    case ADEPT_OP_bw_eff_bytes_per_s:
        return slope - path->volume_bytes / (theta[i] * theta[i]);
    default:
        return slope;
    }
}

/* Of the wait's part of the balance, wait_s * ((W / L)^q - 1). */
typedef struct wait_terms {
    double step_s, busy, wait_s, awake; /* share of the step with kernels; the wait, and how awake the board is in it */
    double active_w;                    /* awake * wait_share of it is drawn above idle */
    double over, by_w;                  /* (W / L)^q - 1, and its slope by W */
} wait_terms;

static wait_terms wait_terms_of(const adept_step *step, const adept_board *board, const adept_operator_numbers *n,
                                double wait_s, double awake, double active_w)
{
    double loaded = adept_board_load(board, step->idle_w / n->limit_w);
    return (wait_terms){step->step_s,
                        1.0 - wait_s / step->step_s,
                        wait_s,
                        awake,
                        active_w,
                        loaded - 1.0,
                        adept_board_exponent(board) * loaded / step->idle_w};
}

/* What the board wakes by more kernels in a longer step. */
static double awake_slope(const wait_terms *w, const adept_operator_numbers *n, double kernels_by, double time_by)
{
    return n->rests ? (kernels_by - w->busy * time_by) / w->step_s : 0.0;
}

static double wait_balance_by_clock(const wait_terms *w, const adept_board *board, const adept_operator_numbers *n,
                                    double clock, const clock_slope *kernels, double time_by)
{
    bool lowest;
    double v = adept_board_voltage(board, clock, &lowest), v_by_f = lowest ? 0.0 : board->v_slope;
    double by_volts = w->awake * (2.0 * v_by_f / v + 1.0 / clock);
    double draw_by = w->active_w * (awake_slope(w, n, kernels->time, time_by) + by_volts);
    return (time_by - kernels->time) * w->over + w->wait_s * w->by_w * board->wait_share * draw_by;
}

static double wait_balance_slope(size_t i, const wait_terms *w, const adept_board *board,
                                 const adept_operator_numbers *n, double clock, double kernels_by, double time_by,
                                 const double *theta)
{
    double share = w->awake * board->wait_share;
    const energy_terms e = {.time_s = share, .core_j = share * board->active_w * clock};
    double draw = energy_slope(i, &e, board, clock, n->tdp_w, theta) +
                  w->active_w * board->wait_share * awake_slope(w, n, kernels_by, time_by);
    if (i == ADEPT_OP_p_static_w) draw += 1.0;
    if (i == ADEPT_OP_u_wait) draw += w->awake * w->active_w;
    return (time_by - kernels_by) * w->over + w->wait_s * w->by_w * draw;
}

void adept_operator_step_slopes(double dtime_s[ADEPT_OPERATOR_PARAMETERS], double dpower_w[ADEPT_OPERATOR_PARAMETERS],
                                const adept_step *step, const adept_step_path *path, const adept_kernel_list *list,
                                const adept_list_slopes *slopes, const adept_ready_slopes *ready,
                                const adept_balance_slopes *balance, const adept_operator_numbers *n,
                                const double *theta)
{
    const adept_board *board = &list->board;
    double f = step->clock_ratio, v = adept_board_voltage(board, f, NULL), active = v * v * board->active_w * f;
    double kernels_s = step->pass_s + step->optimizer_s, wait_s = step->step_s - kernels_s;
    double busy = kernels_s / step->step_s, awake = awake_share(n, busy), wait_share = board->wait_share * awake;
    energy_terms e = {slopes->simt_flops, slopes->tensor_flops, slopes->bytes, kernels_s + wait_share * wait_s, 0.0};
    e.core_j = list->core_j + board->active_w * f * e.time_s;
    adept_span all = {0};
    for (int p = 0; p < ADEPT_PARTS; p++) {
        all.clocked_s += list->part[p].clocked_s;
        all.memory_s += list->part[p].memory_s;
    }
    const adept_stretch stretch = adept_board_stretch(board, f);
    const clock_slope all_by_f = by_clock(&all, &e, board, f);
    const adept_span *before = &path->before.kernels;
    double time_by_f = path->ready * by_clock(before, &e, board, f).time, mean_w = step->energy_j / step->step_s;
    for (int p = 0; p < ADEPT_PARTS; p++)
        time_by_f += path->compute[p] * by_clock(&list->part[p], &e, board, f).time;
    const wait_terms waits = wait_terms_of(step, board, n, wait_s, awake, active);
    double balance_by_f = balance->by_clock + wait_balance_by_clock(&waits, board, n, f, &all_by_f, time_by_f);
    bool moves = step->limited && !step->floored && balance_by_f != 0.0;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        double kernels = 0.0, time = path_slope(i, path, n, theta);
        if (path->ready != 0.0)
            time += path->ready * span_slope(i, ready->time_s[i], ready->clocked_s[i], before->memory_s, &stretch, f);
        for (int p = 0; p < ADEPT_PARTS; p++) {
            double part =
                span_slope(i, slopes->time_s[p][i], slopes->clocked_s[p][i], list->part[p].memory_s, &stretch, f);
            kernels += part;
            time += path->compute[p] * part;
        }
        /* under a limit the clock moves so that the limit still holds */
        double of_waits = wait_balance_slope(i, &waits, board, n, f, kernels, time, theta);
        double f_by = moves ? -(balance->by_theta[i] + of_waits) / balance_by_f : 0.0;
        time += f_by * time_by_f;
        double kernels_by = kernels + f_by * all_by_f.time, wait = time - kernels_by;
        double awake_by = n->rests ? (kernels_by - busy * time) / step->step_s : 0.0;
        double energy = energy_slope(i, &e, board, f, n->tdp_w, theta) + active * kernels + f_by * all_by_f.energy +
                        active * (wait_share * wait + board->wait_share * awake_by * wait_s +
                                  (i == ADEPT_OP_u_wait ? awake * wait_s : 0.0));
        dtime_s[i] = time;
        dpower_w[i] = (energy - mean_w * time) / step->step_s + (i == ADEPT_OP_p_static_w ? 1.0 : 0.0);
    }
}
