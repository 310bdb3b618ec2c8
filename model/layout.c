/** @file layout.c  A step under a layout: stages as workloads of their own, what is sent around them, what waits; see
 * adept_layout.h. */
#include "layout_own.h"
#include "hosts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers with their sources ---- */

/* "trial": the fit to measured layouts in the shared specification (llm-training.md, layout-trial.md), sections 2
 * and 5. */

/* What is sent beside kernels takes their memory and SMs: by this share of the shorter of both they take longer (trial,
 * law 10). */
#define SLOWED_BY_SENDING 0.36
/* Gradients of a last micro-batch hide behind so much of its backward pass, and one bucket does not (trial, law 10). */
#define HIDES_BACKWARD 0.97
#define LAST_BUCKET 0.06
/* NeMo's user buffers overlap tensor parallel sends with products, but for this share (trial, law 8). */
#define TENSOR_EXPOSED_NEMO 0.13
/* Sends of an interleaved pipeline, of those of a plain one (trial, law 9: 60 % hidden). */
#define SENDS_EXPOSED_INTERLEAVED 0.4
/* Of a step, for each doubling of nodes: the slowest of many. InternEvo's steps whose shards stay in a node grow by 0.2
 * % a doubling up to 1,024 GPUs. */
#define JITTER_BY_DOUBLING 0.0025
/* One hop of a ring between nodes of a training run, if nothing else is said. 50 to 60 us predict eleven files of
 * measured layouts best (5.8 % on average; 10 us, communication.c's of a benchmark, 6.0 %); InternEvo's rings over all
 * ranks want most. */
#define HOP_BETWEEN_NODES_S 5e-5
/* A board that waits for another draws neither idle nor busy power: measured 43 to 55 % of the limit on an A100-PCIe
 * and 28 to 39 % on an A40 (Perseus, recomputed per rank; the specification's section 2, Energy). Boards with stacks of
 * HBM as the first, others as the second. */
#define WAIT_SHARE_HBM 0.48
#define WAIT_SHARE_GDDR 0.32
#define HBM_BUS_BITS 2048.0
/* NCCL's channels and buffers of a communicator, and the allocator's share that is lost between blocks. Rounded: the
 * specification's section 2 has 1.2 times the activations in the mean, and a job of 58.8 of 80 GB that ran out until
 * segments could grow. */
#define COMMUNICATOR_BYTES (400.0 * 1024 * 1024)
#define CONTEXT_BYTES (600.0 * 1024 * 1024)
/* Megatron-DeepSpeed's buckets, contiguous copies and workspaces: what fits BLOOM's rows beside the bytes of states and
 * activations is 10.3 GB (trial, section 5), of which contexts and communicators are counted here already. */
#define DEEPSPEED_BYTES 8.5e9
/* They are no larger than what they hold: the 1.3B model's rows on V100s want 2 to 7 bytes a parameter of the rank. */
#define DEEPSPEED_BYTES_A_PARAMETER 4.0
/* cuDNN's attention on Hopper, which Transformer Engine takes, beside FlashAttention-2's, by which kernels are timed:
 * FlashAttention-3 (arXiv 2407.08608, figures 5 and 6) has both at 1.5 to 2 times FlashAttention-2 forward and 1.5
 * to 1.75 backward. */
#define CUDNN_ATTENTION 1.6
/* Parameters of a bucket: Megatron's 40 million, of which Megatron Core makes a million for each rank where that is
 * more (distributed_data_parallel.py); DeepSpeed's reduce_bucket_size and allgather_bucket_size. That rings take the
 * longer the more ranks they have was measured by InternEvo: 2.7 ms for each rank and step of 7B parameters (trial, law
 * 10). */
#define MEGATRON_BUCKET 40e6
#define MEGATRON_BUCKET_BY_RANK 1e6
#define DEEPSPEED_BUCKET 5e8
/* Products of attention written out, of a head's width that is no multiple of 8: 8 to 12 times slower (trial, law 4,
 * BLOOM's heads of 108 and 150). */
#define MISALIGNED 10.0
/* A layer of experts waits for the host in each pass: how many tokens each expert gets is known on the device, and its
 * grouped products are launched for as many. What it takes of a micro-batch, forward and backward: 2 ms predict Grok
 * (19 rows of NeMo) to 5.6 % instead of 9.2, FlagPerf's Qwen1.5 to 11.9 instead of 16.3, Megatron Bridge's Qwen3 and
 * GPT-OSS to 23 instead of 32; 1 to 4 ms were tried. Containers of one configuration differ by 7 ms. */
#define ROUTES_S 2e-3
/* Megatron's cross entropy works in the place of a copy of its logits in 32 bits (exp(), and the gradient): 6 bytes a
 * logit with those in 16. What its tests' peaks are above what is allocated between steps, without Korthikanti's bytes
 * of the blocks, is 6.0 to 6.6 bytes a logit in 38 of 42 different tests of a GPT. */
#define LOGITS_IN_PLACE 0.5
/* DeepSpeed's fork of it has exponentials beside them: 10 bytes. */
#define LOGITS_OF_FORK 1.5
/* A loss in chunks has so many of them (torchtune's CEWithChunkedOutputLoss). */
#define LOSS_CHUNKS 8.0
/* A search works a rank's clock out for a step of so many passes: a sharded optimizer, which draws less, is a small
 * part of it. */
#define PASSES_OF_A_SEARCH 64
/* Copies between a GPU and pinned memory of its host, of one direction of the sheet's PCIe: rounded, as measured on
 * links of 16 and 32 GB/s. An optimizer on the host, of a node of two sockets: ZeRO-Offload (arXiv 2101.06840, table 4)
 * has 0.22 s for a billion parameters and 2.57 for ten with its Adam in vector instructions (from memory). */
#define PCIE_SHARE 0.8
#define HOST_OPTIMIZER_S 0.25e-9
#define FRAGMENTATION_LOW ADEPT_LAYOUT_LOST
#define FRAGMENTATION_HIGH 0.15
/* Independent of the kernels' own error, of a step's time by a layout: mean error of the trial on sources left out,
 * rounded up. */
#define LAYOUT_ERROR 0.12

/* Where GPUs of that name stand in, if nobody says: the vendor's own server. */
static const struct {
    const char *board, *node;
} usual[] = {{"v100-sxm", "dgx-1"},    {"a100-sxm", "dgx-a100"}, {"a800-sxm", "dgx-a100"}, {"h100-sxm", "dgx-h100"},
             {"h800-sxm", "dgx-h100"}, {"h200-sxm", "dgx-h100"}, {"h20-sxm", "dgx-h100"},  {"b200", "dgx-b200"},
             {"b300", "dgx-b200"},     {"gb200", "dgx-gb200"},   {"gh200", "quad-gh200"},  {"mi300x", "mi300x-8"},
             {"mi325x", "mi300x-8"},   {"mi355x", "mi300x-8"}};
#define USUAL_NODE_GPUS 8.0

/* ---- what is known before any stage ---- */

static bool trains(const adept_layout_state *x)
{
    return adept_mode_trains(x->prof->mode);
}

const char *adept_layout_usual_node(const adept_hwprofile *hw)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strncmp(hw->name, usual[i].board, strlen(usual[i].board)) == 0) return usual[i].node;
    return NULL;
}

/* The server, how many there are, and the network between them. */
static adept_status find_nodes(adept_layout_state *x)
{
    adept_run *run = &x->run, room;
    const double gpus = (double)x->mesh.gpus;
    const char *node = adept_layout_usual_node(x->hw);
    const adept_run *says = run;
    if (run->node == 0 && node && gpus > 1.0 && run->internode_bytes_per_s == 0.0 && run->node_gpus == 0) {
        says = adept_node_at(adept_name_index(node, adept_node_name));
        x->out->node = node;
    } else if (run->node > 0) {
        x->out->node = adept_node_name((size_t)run->node);
        adept_status status = adept_node_resolve(&says, &room, x->err);
        if (status != ADEPT_OK) return status;
    }
    const double of_node = says->node_gpus > 0 ? (double)says->node_gpus : USUAL_NODE_GPUS;
    double nodes = run->nodes > 0 ? (double)run->nodes : ceil(gpus / of_node);
    if (fmod(gpus, nodes) != 0.0)
        return adept_error_set(x->err, ADEPT_E_USAGE,
                               "%.0f GPUs cannot be shared equally by %.0f nodes of %.0f: say --nodes", gpus, nodes,
                               of_node);
    x->out->nodes = nodes;
    x->out->node_gpus = gpus / nodes;
    x->out->server_gpus = of_node;
    const double bytes_per_s =
        run->internode_bytes_per_s > 0.0 ? run->internode_bytes_per_s : says->internode_bytes_per_s;
    if (nodes > 1.0 && !(bytes_per_s > 0.0))
        return adept_error_set(x->err, ADEPT_E_USAGE,
                               "%.0f GPUs are %.0f nodes, and nothing is known of what joins them: "
                               "--node or --internode-bandwidth",
                               gpus, nodes);
    if (nodes < 2.0 && x->run.node == 0) x->out->node = NULL;
    x->out->adapter_bytes_per_s =
        nodes > 1.0 ? bytes_per_s / fmax(x->out->node_gpus, says->node_gpus > 0 ? (double)says->node_gpus : 1.0) : 0.0;
    run->gpus = x->mesh.gpus;
    run->nodes = (int64_t)nodes;
    if (nodes > 1.0) run->internode_bytes_per_s = bytes_per_s;
    return ADEPT_OK;
}

/* Ranks of a group stand `stride` GPUs apart. */
static adept_group_of group_of(const adept_layout_state *x, double ranks, double stride)
{
    const double here = floor(x->out->node_gpus / stride);
    return (adept_group_of){
        .ranks = ranks,
        .in_node = fmax(1.0, fmin(ranks, here)),
        .adapter_bytes_per_s = x->out->adapter_bytes_per_s,
        .latency_s = x->run.internode_latency_s > 0.0 ? x->run.internode_latency_s
                     : trains(x)                      ? HOP_BETWEEN_NODES_S
                                                      : ADEPT_INTERNODE_LATENCY_S,
        .in_switch = strcmp(x->hw->vendor, "NVIDIA") == 0 && x->hw->specs.link_bytes_per_s >= 800e9};
}

static bool gathers(const adept_layout_state *x)
{
    return x->mesh.sharding == ADEPT_SHARDED_PARAMETERS ||
           (x->mesh.sharding == ADEPT_SHARDED_GRADIENTS && x->mesh.trainer == ADEPT_TRAINER_TORCH);
}

/* Bytes of a parameter, by trainer and precision: weights, gradients, the optimizer's state, a copy in 32 bits; what is
 * sent of it. */
static void find_bytes(adept_layout_state *x)
{
    const adept_optimizer *o = adept_optimizer_by_name(x->prof->optimizer);
    const bool pure = adept_precision_is_pure(x->prof->precision),
               low = adept_precision_low_dtype(x->prof->precision) != ADEPT_DTYPE_NONE;
    /* 16 bits, and a copy in 32 beside the optimizer's state */
    const bool mixed = x->mesh.trainer != ADEPT_TRAINER_TORCH && low;
    /* FSDP's mixed precision: shards of 32 bits, gathered in 16, so that all between modules has 16 */
    const bool shards = pure && !mixed && gathers(x) && (x->prof->optimizer_extras & ADEPT_EXTRA_MASTER);
    const double words = o ? o->state_words_per_param : 0.0, own = o ? o->own_bytes_per_param : 0.0;
    x->weight_word = (pure && !shards) || mixed ? 2.0 : 4.0;
    x->state_bytes = words * (pure && !mixed && !shards ? 2.0 : 4.0) + own;
    x->master_bytes = mixed ? 4.0 : 0.0;
    x->gradient_word = mixed ? (x->mesh.trainer == ADEPT_TRAINER_MEGATRON ? 4.0 : 2.0) : pure && !shards ? 2.0 : 4.0;
    /* Megatron sums gradients of bf16 in 32 bits, 18 or 6+12/n bytes in all; those of fp16 stay, and have copies in 32
     * beside the optimizer's state: 20 or 4+16/n (its documentation of the distributed optimizer) */
    if (mixed && x->mesh.trainer == ADEPT_TRAINER_MEGATRON &&
        adept_precision_low_dtype(x->prof->precision) == ADEPT_F16)
        x->gradient_word = 2.0, x->master_bytes += 4.0;
    /* gradients in 32 bits of its shard, while it steps: 4+16/n in all, and 2+16/n where those in 16 bits are sharded,
     * too */
    x->gradient_bytes = x->gradient_word;
    /* its BF16_Optimizer, which pipelines take, sums all of them in 32 bits: BLOOM's rows want 3.6 bytes more a
     * parameter (trial, section 5) */
    const bool summed = adept_precision_low_dtype(x->prof->precision) == ADEPT_BF16 && x->mesh.pp > 1 &&
                        x->mesh.sharding < ADEPT_SHARDED_GRADIENTS;
    if (mixed && x->mesh.trainer == ADEPT_TRAINER_DEEPSPEED) {
        if (summed) x->gradient_word += 4.0;
        else x->master_bytes += x->mesh.sharding >= ADEPT_SHARDED_GRADIENTS ? 2.0 : 4.0;
    }
    x->gathered_bytes = low ? 2.0 : 4.0;
    x->overlaps = x->run.overlap == ADEPT_OVERLAP_AUTO
                      ? x->mesh.trainer == ADEPT_TRAINER_TORCH || x->mesh.trainer == ADEPT_TRAINER_NEMO
                      : x->run.overlap != ADEPT_OVERLAP_NONE;
}

/* Which block is in which stage. A pipeline's parts have as many blocks each; embedding and head count as one each
 * where that is what divides. */
static adept_status find_stages(adept_layout_state *x)
{
    const int64_t blocks = (int64_t)x->part.n_blocks - 2, p = x->mesh.pp;
    const int64_t v = x->mesh.schedule == ADEPT_PIPELINE_ZBV ? 2 : x->mesh.virtual_stages, parts = p * v;
    if (p > ADEPT_MOST_STAGES)
        return adept_error_set(x->err, ADEPT_E_USAGE, "pp %lld: at most %d stages", (long long)p, ADEPT_MOST_STAGES);
    /* embedding and head alone can be a part */
    if (parts > 1 && blocks < parts && (blocks < 1 || blocks + 2 != parts))
        return adept_error_set(
            x->err, ADEPT_E_USAGE,
            "pp %lld x virtual_stages %lld: the model has %lld blocks (modules by number) to share out", (long long)p,
            (long long)v, (long long)blocks);
    const bool ends_count = blocks % parts != 0 && (blocks + 2) % parts == 0;
    /* of operators alone, all blocks are looked at as one stage */
    const adept_stage_list none = {0}, *said = x->said->stage_blocks.n == p ? &x->said->stage_blocks : &none;
    int64_t block = 1, all = 0;
    for (int64_t i = 0; i < said->n; i++)
        all += said->at[i];
    if (said->n > 0 && (v > 1 || all != blocks))
        return adept_error_set(x->err, ADEPT_E_USAGE,
                               v > 1 ? "stage_blocks: stages of an interleaved pipeline are parts of several sizes"
                                     : "stage_blocks says %lld blocks, and the model has %lld (modules by number)",
                               (long long)all, (long long)blocks);
    x->stage_of[0] = 0;
    for (int64_t part = 0; part < parts; part++) {
        int64_t n = said->n > 0  ? said->at[part]
                    : ends_count ? (blocks + 2) / parts - (part == 0) - (part == parts - 1)
                                 : blocks / parts;
        /* what is left over goes to parts in the middle: the ends have embedding and head */
        if (said->n == 0 && !ends_count && blocks % parts > 0) {
            const int64_t left = blocks % parts, from = (parts - left + 1) / 2;
            n += part >= from && part < from + left;
        }
        for (; n > 0; n--)
            x->stage_of[block++] = (int32_t)(part < p                                 ? part
                                             : x->mesh.schedule == ADEPT_PIPELINE_ZBV ? 2 * p - 1 - part
                                                                                      : part % p);
    }
    x->stage_of[block] = (int32_t)(x->mesh.schedule == ADEPT_PIPELINE_ZBV ? 0 : p - 1);
    x->out->n_stages = (size_t)p;
    return ADEPT_OK;
}

/* ---- kernels' times, by block ---- */

/* Tied weights lie once in a stage: that of a head without the embedding has a copy. */
static bool has_copy(const adept_layout_state *x, const adept_rank_block *b)
{
    return b->tied_params > 0.0 && x->stage_of[b->tied_to] != x->stage_of[b - x->part.blocks];
}

/* Parameters that are no experts'. */
static double dense_params(const adept_layout_state *x, const adept_rank_block *b)
{
    return b->whole_params + b->split_params + (has_copy(x, b) ? b->tied_params : 0.0);
}

static void add_span(adept_span *to, const adept_span *by, double times)
{
    to->clocked_s += times * by->clocked_s;
    to->memory_s += times * by->memory_s;
}

/* Heads of attention written out lie side by side: of a width of 16-bit numbers that is no multiple of 8, every second
 * begins where matrix units cannot load. */
static bool is_misaligned(const adept_kernel *k)
{
    return k->family == ADEPT_FAMILY_BMM && adept_dtype_bytes(k->dtype) == 2.0 &&
           (fmod(k->n, 8.0) != 0.0 || fmod(k->k, 8.0) != 0.0);
}

static adept_status time_blocks(adept_layout_state *x, const adept_plan *plan)
{
    const adept_program *p = &x->prof->program;
    bool *is_core = adept_arena_array(x->part.arena, x->prof->n_ops + 1, sizeof *is_core);
    if (!is_core) return adept_no_memory(x->err, "the blocks of a layout");
    for (size_t i = 0; i < p->n_operators; i++)
        if (p->operators[i].op >= 0 && x->part.is_core[i]) is_core[p->operators[i].op] = true;
    for (size_t i = 0; i < x->prof->n_ops; i++) {
        const adept_profile_op *op = &x->part.ops[i];
        for (size_t k = 0; k < op->n_kernels; k++) {
            adept_timed_kernel t;
            adept_status status = adept_operator_kernel_time(&t, op, &op->kernels[k], x->prof->precision, x->hw,
                                                             plan->kernels.theta, plan->kernels.menus, x->err);
            if (status != ADEPT_OK) return status;
            const double slow = is_core[i] && is_misaligned(&op->kernels[k]) ? MISALIGNED : 1.0;
            const adept_span span = {slow * t.clocked_s, slow * (t.time_s - t.clocked_s)};
            add_span(&x->of_op[i].pass[op->kernels[k].pass], &span, t.repeats);
        }
    }
    for (size_t i = 0; i < p->n_operators; i++) {
        const int32_t op = p->operators[i].op;
        if (op < 0) continue;
        adept_block_spans *b = &x->spans[x->part.block_of[i]];
        for (int pass = 0; pass < 2; pass++) {
            add_span(&b->pass[pass], &x->of_op[op].pass[pass], 1.0);
            if (x->part.is_core[i]) add_span(&b->core[pass], &x->of_op[op].pass[pass], 1.0);
        }
        if (!x->part.is_core[i] && !x->part.is_product[i])
            add_span(&b->pointwise, &x->of_op[op].pass[ADEPT_FORWARD], 1.0);
        if (i >= b->end) add_span(&b->tail, &x->of_op[op].pass[ADEPT_FORWARD], 1.0);
    }
    x->spans_known = true;
    return ADEPT_OK;
}

/* ---- recomputation ---- */

/* The share of an operator's forward pass that backward computes again. @param nth  of the blocks of its stage, from 0;
 * -1: it is in none */
static double again_share(const adept_layout_state *x, size_t operator_at, int64_t nth)
{
    const bool core = x->part.is_core[operator_at], product = x->part.is_product[operator_at];
    if (nth < 0 || !trains(x)) return 0.0;
    switch (x->mesh.recompute) {
    case ADEPT_RECOMPUTE_BLOCKS:
        if (nth >= x->mesh.recompute_blocks) return 0.0;
        /* fall through */
    case ADEPT_RECOMPUTE_FULL:
        return operator_at < x->spans[x->part.block_of[operator_at]].end ? 1.0 : 0.0;
    case ADEPT_RECOMPUTE_SELECTIVE: /* torch keeps every second product and attention (torchtitan's policy); Megatron
                                       all but attention's core */
        if (x->mesh.trainer == ADEPT_TRAINER_TORCH) return core ? 0.0 : product ? 0.5 : 1.0;
        return core ? 1.0 : 0.0;
    default:
        return 0.0;
    }
}

/* What a micro-batch keeps of a block until its backward pass, and what is there again while that runs. */
static double kept_bytes(const adept_layout_state *x, const adept_rank_block *b, int64_t nth, double *again)
{
    *again = 0.0;
    switch (x->mesh.recompute) {
    case ADEPT_RECOMPUTE_BLOCKS:
        if (nth >= x->mesh.recompute_blocks) return b->saved_bytes;
        /* fall through */
    case ADEPT_RECOMPUTE_FULL:
        *again = b->saved_bytes;
        return b->input_bytes;
    case ADEPT_RECOMPUTE_SELECTIVE: {
        const double products = b->saved_bytes - b->core_bytes - b->pointwise_bytes;
        if (x->mesh.trainer != ADEPT_TRAINER_TORCH) {
            *again = b->core_bytes;
            return b->saved_bytes - b->core_bytes;
        }
        *again = b->pointwise_bytes + 0.5 * products;
        return b->saved_bytes - *again + b->input_bytes;
    }
    default:
        return b->saved_bytes;
    }
}

/* ---- one stage ---- */

/* The rank's profile: its operators, as often as they run, and those that run again as entries of their own in the
 * forward pass. */
static adept_status make_profile(adept_profile *out, adept_profile_op *ops, const adept_layout_state *x, int32_t stage)
{
    const adept_program *p = &x->prof->program;
    const size_t n = x->prof->n_ops;
    double *again = calloc(n + 1, sizeof *again), params = 0.0, experts = 0.0, tensors = 0.0;
    if (!again) return adept_no_memory(x->err, "a stage");
    memcpy(ops, x->part.ops, n * sizeof *ops);
    for (size_t i = 0; i < n; i++) {
        ops[i].count = 0;
        ops[n + i] = ops[i];
    }
    int64_t nth = -1;
    int32_t last = 0;
    for (size_t i = 0; i < p->n_operators; i++) {
        const int32_t block = x->part.block_of[i], op = p->operators[i].op;
        if (x->stage_of[block] != stage) continue;
        if (block != last && block > 0) nth++, last = block;
        if (op < 0) continue;
        ops[op].count++;
        const bool inside = block > 0 && block < (int32_t)x->part.n_blocks - 1;
        again[op] += again_share(x, i, inside ? nth : -1);
    }
    size_t used = n;
    for (size_t i = 0; i < n; i++) {
        if (!(again[i] > 0.0)) continue;
        adept_profile_op *copy = &ops[n + i];
        used = n + i + 1; /* those between run no time */
        size_t forward = 0;
        *copy = x->part.ops[i];
        adept_kernel *kernels = adept_arena_array(x->part.arena, copy->n_kernels + 1, sizeof *kernels);
        if (!kernels) {
            free(again);
            return adept_no_memory(x->err, "a stage");
        }
        for (size_t k = 0; k < copy->n_kernels; k++)
            if (copy->kernels[k].pass == ADEPT_FORWARD) kernels[forward++] = copy->kernels[k];
        copy->kernels = kernels;
        copy->n_kernels = forward;
        copy->count = (int64_t)llround(again[i]);
    }
    free(again);
    for (size_t b = 0; b < x->part.n_blocks; b++) {
        if (x->stage_of[b] != stage) continue;
        params += dense_params(x, &x->part.blocks[b]);
        experts += x->part.blocks[b].expert_params;
        tensors += x->part.blocks[b].tensors;
    }
    const adept_mesh *m = &x->mesh;
    const double dense_ranks = (double)m->shard,
                 expert_ranks = m->shard > 1 ? fmax(1.0, (double)m->shard / (double)m->expert_parts) : 1.0;
    *out = *x->prof;
    out->ops = ops;
    out->n_ops = used;
    out->grad_accum = m->micro_batches;
    /* blocks of a pass that does not train count buffers too */
    out->trainable_params = (int64_t)fmin((double)x->prof->trainable_params,
                                          ceil(params / dense_ranks + experts / expert_ranks));
    out->trainable_tensors = (int64_t)tensors;
    out->trainable_bytes = x->weight_word * (double)out->trainable_params;
    out->n_matrices = 0;
    if (m->trainer != ADEPT_TRAINER_TORCH && trains(x)) {
        out->optimizer_impl = ADEPT_IMPL_FUSED; /* Apex's, over all tensors at once */
        out->could_be_fused = false;
        if (adept_precision_is_pure(out->precision)) out->optimizer_extras |= ADEPT_EXTRA_MASTER;
    }
    if (out->trainable_params == 0 || m->offload != ADEPT_OFFLOAD_NONE) out->optimizer = "none"; /* on this GPU */
    return ADEPT_OK;
}

static double calls_s(const adept_layout_state *x, adept_collective kind, const adept_group_of *g,
                      const adept_transfer *t)
{
    return t->n > 0.0 ? t->n * adept_collective_s(kind, g, t->bytes / t->n, x->l_hop_s, x->bw_bytes_per_s) : 0.0;
}

static double sent_s(const adept_layout_state *x, const adept_rank_block *b, adept_pass pass, adept_axis axis)
{
    const adept_transfer *tokens = &b->sent[pass][ADEPT_AXIS_EXPERT][ADEPT_ALL_TO_ALL];
    adept_group_of expert = x->expert;
    const adept_group_of *groups[ADEPT_AXES] = {&x->tensor, &x->context, &expert};
    double s = 0.0;
    /* NeMo's dispatcher (DeepEP, HybridEP) sends a token once to each node and GPU of its experts; Megatron's own once
     * to each expert */
    if (x->mesh.trainer == ADEPT_TRAINER_NEMO && tokens->n > 0.0 && b->input_bytes > 0.0)
        expert.copies = tokens->bytes / tokens->n / b->input_bytes;
    for (int kind = 0; kind < ADEPT_COLLECTIVES; kind++)
        s += calls_s(x, (adept_collective)kind, groups[axis], &b->sent[pass][axis][kind]);
    return s;
}

static double collective_s(const adept_layout_state *x, adept_collective kind, const adept_group_of *g, double bytes)
{
    return adept_collective_s(kind, g, bytes, x->l_hop_s, x->bw_bytes_per_s);
}

/* Gradients or weights of so many parameters, bucket after bucket: each goes around the whole ring. */
static double in_buckets_s(const adept_layout_state *x, adept_collective kind, const adept_group_of *g, double params,
                           double bytes_each)
{
    const double bucket = x->mesh.trainer == ADEPT_TRAINER_DEEPSPEED ? DEEPSPEED_BUCKET
                          : x->mesh.trainer == ADEPT_TRAINER_NEMO
                              ? fmax(MEGATRON_BUCKET, MEGATRON_BUCKET_BY_RANK * g->ranks)
                          : x->mesh.trainer == ADEPT_TRAINER_TORCH
                              ? fmax(1.0, params) /* one after the other, of which all but the last are hidden */
                              : MEGATRON_BUCKET;
    const double calls = fmax(1.0, params / bucket);
    return calls * collective_s(x, kind, g, params * bytes_each / calls);
}

/* Two things at once. */
static double beside_s(double compute_s, double sent_s)
{
    return fmax(compute_s + SLOWED_BY_SENDING * fmin(compute_s, sent_s), sent_s);
}

/* What FSDP sends of a block: its weights, or its gradients; experts among the ranks that have the same ones. */
static double block_s(const adept_layout_state *x, const adept_rank_block *block, adept_collective kind,
                      double bytes_each)
{
    double s = collective_s(x, kind, &x->shard, dense_params(x, block) * bytes_each);
    if (block->expert_params > 0.0 && x->expert_data.ranks > 1.0)
        s += collective_s(x, kind, &x->expert_data, block->expert_params * bytes_each);
    return s;
}

/* FSDP: each block's weights are gathered beside the block before, its gradients reduced beside the one behind. @param
 * forward_s, backward_s of each block, at the stage's clock. @return by how much a micro-batch is longer */
static double fsdp_s(const adept_layout_state *x, int32_t stage, const double *forward_s, const double *backward_s,
                     double *hidden_s)
{
    const bool again = x->mesh.sharding == ADEPT_SHARDED_PARAMETERS;
    double before_s = 0.0, total_s = 0.0, compute_s = 0.0, sent = 0.0;
    bool first = true;
    for (size_t b = 0; b < x->part.n_blocks; b++) { /* forward: block b's gather beside the block before it */
        if (x->stage_of[b] != stage) continue;
        const double gather_s = block_s(x, &x->part.blocks[b], ADEPT_ALL_GATHER, x->gathered_bytes);
        total_s += first ? gather_s : beside_s(before_s, gather_s);
        before_s = forward_s[b];
        compute_s += forward_s[b];
        sent += gather_s;
        first = false;
    }
    total_s += before_s;
    before_s = 0.0;
    double reduce_s = 0.0;
    /* backward: beside a block the gather of the next and the reduction of the last one */
    for (size_t b = x->part.n_blocks; b-- > 0;) {
        if (x->stage_of[b] != stage) continue;
        const adept_rank_block *block = &x->part.blocks[b];
        double gather_s = 0.0;
        for (size_t next = b; again && next-- > 0;) {
            if (x->stage_of[next] != stage) continue;
            gather_s = block_s(x, &x->part.blocks[next], ADEPT_ALL_GATHER, x->gathered_bytes);
            break;
        }
        total_s += beside_s(backward_s[b], gather_s + reduce_s);
        compute_s += backward_s[b];
        sent += gather_s + reduce_s;
        reduce_s = block_s(x, block, ADEPT_REDUCE_SCATTER, x->gradient_bytes);
        if (x->replicas.ranks > 1.0)
            reduce_s += collective_s(x, ADEPT_ALL_REDUCE, &x->replicas,
                                     dense_params(x, block) * x->gradient_bytes / x->shard.ranks);
    }
    total_s += reduce_s;
    sent += reduce_s;
    *hidden_s = fmax(0.0, sent - (total_s - compute_s));
    return fmax(0.0, total_s - compute_s);
}

/* Is all of a stage's nth block computed again? */
static bool is_again(const adept_mesh *m, int64_t nth)
{
    return m->recompute == ADEPT_RECOMPUTE_FULL ||
           (m->recompute == ADEPT_RECOMPUTE_BLOCKS && nth < m->recompute_blocks);
}

/* Memory of a GPU of a stage at its peak. */
static void find_memory(adept_stage_prediction *s, const adept_layout_state *x, int32_t stage)
{
    const adept_mesh *m = &x->mesh;
    const size_t n_blocks = x->part.n_blocks;
    const double shard = (double)m->shard,
                 expert_shard = m->shard > 1 ? fmax(1.0, shard / (double)m->expert_parts) : 1.0;
    double dense = 0.0, experts = 0.0, of_blocks = 0.0, frozen = 0.0, kept = 0.0, most_again = 0.0, largest = 0.0,
           second = 0.0, ends = 0.0, stored = 0.0, alive = 0.0, cast = 0.0, cast_again = 0.0;
    int64_t nth = 0;
    s->n_kept = 0;
    for (size_t b = 0; b < n_blocks; b++) {
        const adept_rank_block *block = &x->part.blocks[b];
        if (x->stage_of[b] != stage) continue;
        const double params = dense_params(x, block);
        dense += params;
        experts += block->expert_params;
        frozen += block->frozen_bytes;
        stored += block->weight_bytes + (has_copy(x, block) ? block->tied_bytes : 0.0);
        alive = fmax(alive, block->alive_bytes);
        for (size_t i = 0; i < block->n_kept; i++) /* no more windows than of the model */
            adept_kept_add(s->kept, &s->n_kept, &block->kept[i], (double)m->micro_batches);
        const double gathered = params + (expert_shard > 1.0 ? block->expert_params : 0.0);
        if (gathered > largest) second = largest, largest = gathered;
        else if (gathered > second) second = gathered;
        const bool inside = b > 0 && b < n_blocks - 1;
        if (inside && is_again(m, nth))
            cast_again = fmax(cast_again, block->copies_bytes);
        else cast += block->copies_bytes;
        if (!inside) {
            ends += block->saved_bytes;
            continue;
        }
        of_blocks += params + block->expert_params;
        double again;
        kept += kept_bytes(x, block, nth++, &again);
        most_again = fmax(most_again, again);
    }
    if (m->chunked_loss) ends -= x->part.logits_bytes * (1.0 - 1.0 / LOSS_CHUNKS);
    const bool gather = gathers(x), grads = m->sharding >= ADEPT_SHARDED_GRADIENTS,
               opt = m->sharding >= ADEPT_SHARDED_OPTIMIZER;
    const double by_grads = grads ? shard : 1.0, by_opt = opt ? shard : 1.0;
    const bool torch_shards = gather; /* weights in 32 bits lie in shards, those that are gathered have 16 */
    const double by_weights = torch_shards ? shard : 1.0, expert_by = opt ? expert_shard : 1.0;
    adept_memory *out = &s->memory;
    out->capacity_bytes = x->hw->specs.mem_bytes;
    out->weights_bytes = x->weight_word * (dense / by_weights + experts / (torch_shards ? expert_shard : 1.0)) + frozen;
    /* Transformer Engine keeps weights of scaled products by rows and by columns, beside those of 16 bits; NeMo has
     * them in their place */
    if (adept_precision_is_scaled(x->prof->precision) &&
        (m->trainer == ADEPT_TRAINER_MEGATRON || m->trainer == ADEPT_TRAINER_DEEPSPEED))
        out->weights_bytes += 2.0 * adept_precision_scaled_bytes(x->prof->precision) * of_blocks;
    if (!trains(x)) out->weights_bytes = stored + frozen;
    out->kv_bytes = adept_kept_bytes(s->kept, s->n_kept, x->kept_tokens);
    s->unsharded_bytes = 0.0;
    if (gather && m->sharding == ADEPT_SHARDED_GRADIENTS)
        s->unsharded_bytes = x->gathered_bytes * (dense + (expert_shard > 1.0 ? experts : 0.0));
    if (gather && m->sharding == ADEPT_SHARDED_PARAMETERS)
        s->unsharded_bytes = x->gathered_bytes * (largest + second) + x->gradient_word * largest;
    if (trains(x)) {
        out->gradients_bytes = x->gradient_word * (dense / by_grads + experts / (grads ? expert_shard : 1.0));
        if (x->prof->mode == ADEPT_MODE_TRAIN)
            out->optimizer_bytes = (x->state_bytes + x->master_bytes) * (dense / by_opt + experts / expert_by);
    }
    s->host_bytes = 0.0;
    if (m->offload != ADEPT_OFFLOAD_NONE) s->host_bytes = out->optimizer_bytes, out->optimizer_bytes = 0.0;
    if (m->offload == ADEPT_OFFLOAD_PARAMETERS) {
        s->host_bytes += out->weights_bytes - frozen + out->gradients_bytes;
        out->weights_bytes = frozen;
        out->gradients_bytes = 0.0;
    }
    /* activations: of the passes in flight; of what runs before and behind the blocks, too */
    const double v = m->schedule == ADEPT_PIPELINE_ZBV ? 2.0 : (double)m->virtual_stages, p = (double)m->pp,
                 r = (double)stage, passes = (double)m->micro_batches;
    double in_flight = fmin(p - r, passes);
    if (m->schedule == ADEPT_PIPELINE_INTERLEAVED)
        in_flight = fmin((2.0 * (p - r - 1.0) + (v - 1.0) * (double)m->in_a_row + 1.0) / v, passes);
    if (m->schedule == ADEPT_PIPELINE_ZBV) in_flight = fmin(p, passes);
    if (!trains(x)) in_flight = 1.0;
    s->in_flight = in_flight;
    out->activations_bytes =
        trains(x) ? in_flight * kept + most_again + cast + cast_again +
                        (stage == (int32_t)p - 1 || p == 1.0 ? ends : in_flight * ends)
                  : alive;
    const double communicators = (m->tp > 1) + (m->pp > 1) + (x->data.ranks > 1.0) + (m->cp > 1) + (m->ep > 1);
    const double copies = m->trainer != ADEPT_TRAINER_DEEPSPEED
                              ? 0.0
                              : fmin(DEEPSPEED_BYTES, DEEPSPEED_BYTES_A_PARAMETER * (dense + experts));
    const double passed_on = copies + (m->pp > 1 ? 2.0 * x->part.blocks[1].input_bytes : 0.0);
    s->buffers_bytes = CONTEXT_BYTES + communicators * COMMUNICATOR_BYTES + passed_on;
    double gradient_of_logits =
        stage == (int32_t)p - 1 || p == 1.0 ? x->prof->temporary_bytes / ((double)m->tp * (double)m->cp) : 0.0;
    if (m->trainer != ADEPT_TRAINER_TORCH)
        gradient_of_logits =
            fmin(gradient_of_logits,
                 (m->trainer == ADEPT_TRAINER_DEEPSPEED ? LOGITS_OF_FORK : LOGITS_IN_PLACE) * x->part.logits_bytes);
    const double temporary = gradient_of_logits / (m->chunked_loss ? LOSS_CHUNKS : 1.0);
    out->reused_bytes =
        m->trainer == ADEPT_TRAINER_TORCH && passes == 1.0 ? adept_reused_bytes(x->prof, out, temporary) : 0.0;
    const double tensors = out->weights_bytes + out->gradients_bytes + out->optimizer_bytes + out->activations_bytes +
                           s->unsharded_bytes + temporary + out->kv_bytes - out->reused_bytes;
    s->allocated_bytes = tensors + passed_on;
    out->other_bytes = s->unsharded_bytes + s->buffers_bytes + temporary + FRAGMENTATION_LOW * tensors;
    out->peak_bytes = out->weights_bytes + out->gradients_bytes + out->optimizer_bytes + out->activations_bytes +
                      out->kv_bytes + out->other_bytes - out->reused_bytes;
    out->fits = out->peak_bytes <= out->capacity_bytes;
    s->states_bytes = out->weights_bytes + out->gradients_bytes + out->optimizer_bytes;
}

/* ---- a stage predicted ---- */

/* A stage's kernels as a plan, and its step without all that is sent. */
static adept_status work_out(adept_stage_work *w, adept_layout_state *x, int32_t stage)
{
    adept_run alone = x->run;
    alone.gpus = 1;
    alone.nodes = 0;
    alone.internode_bytes_per_s = alone.internode_latency_s = 0.0;
    alone.power_scope = ADEPT_SCOPE_GPU;
    alone.overlap = ADEPT_OVERLAP_AUTO;
    if (x->said->stage_clocks_mhz.n > 0) alone.clock_hz = 1e6 * x->said->stage_clocks_mhz.at[stage];
    if (x->said->stage_limits_w.n > 0) alone.power_limit_w = x->said->stage_limits_w.at[stage];
    double theta[ADEPT_MOST_PARAMETERS];
    size_t n_theta;
    w->ops = malloc((2 * x->prof->n_ops + 1) * sizeof *w->ops);
    if (!w->ops) return adept_no_memory(x->err, "a stage");
    adept_status status = make_profile(&w->profile, w->ops, x, stage);
    if (status != ADEPT_OK) return status;
    status = adept_parameters_of(theta, &n_theta, x->hw, &alone, x->err);
    if (status != ADEPT_OK) return status;
    const bool faster = x->mesh.trainer == ADEPT_TRAINER_NEMO &&
                        adept_granularity_of(x->hw, &alone) == ADEPT_GRANULARITY_OPERATOR &&
                        (strcmp(x->hw->architecture, "Hopper") == 0 || strcmp(x->hw->architecture, "Blackwell") == 0);
    if (faster) theta[ADEPT_KP_beta_attention] *= CUDNN_ATTENTION;
    status = adept_plan_init(&w->plan, &w->profile, x->hw, &alone, false, faster ? theta : NULL, x->err);
    if (status == ADEPT_OK) status = adept_plan_check_run(&w->checked, &w->plan, &alone, x->err);
    if (status != ADEPT_OK) return status;
    if (!w->plan.by_operator)
        return adept_error_set(x->err, ADEPT_E_USAGE,
                               "a layout needs the time of every kernel: granularity \"model\" has none");
    adept_plan_step(&w->step, &w->plan, &w->checked);
    x->l_hop_s = w->plan.kernels.theta[ADEPT_OP_l_hop_s];
    x->bw_bytes_per_s = w->plan.kernels.theta[ADEPT_OP_bw_eff_bytes_per_s];
    return x->spans_known ? ADEPT_OK : time_blocks(x, &w->plan);
}

/* The same of what a search knows of the rank: its clock, and shares of its launches and of the optimizer. */
static void take_numbers(adept_stage_work *w, const adept_stage_prediction *s, const adept_layout_state *x)
{
    const adept_rank_numbers *q = x->quick;
    const double m = (double)x->mesh.micro_batches, shard = (double)x->mesh.shard;
    w->step =
        (adept_step){.clock_ratio = q->clock_ratio, .power_w = q->power_w, .idle_w = q->idle_w, .fixed_s = q->fixed_s};
    w->step.launch_s = (m * q->launch_s + q->tensors_s) * (s->blocks / q->blocks);
    w->step.optimizer_s = q->optimizer_s * s->params / shard;
    w->step.step_s =
        m * (s->forward_s + s->backward_s + s->again_s) + w->step.launch_s + w->step.optimizer_s + q->fixed_s;
}

/* What is sent of a block and pass, by axis, and beside products. Blocks are mostly alike: what the one before took is
 * kept. */
typedef struct block_sends {
    const adept_rank_block *of;
    double tensor_s[2], ring_s[2], expert_s[2], beside_s;
} block_sends;

/* As adept_span_s(), of a clock whose stretch is known. */
static double at_clock(const adept_span *span, double clock, double stretch)
{
    return span->clocked_s / clock + span->memory_s * stretch;
}

static adept_status predict_stage(adept_stage_prediction *s, adept_stage_work *w, adept_layout_state *x, int32_t stage)
{
    const double m = (double)x->mesh.micro_batches;
    adept_status status = x->quick ? ADEPT_OK : work_out(w, x, stage);
    if (status != ADEPT_OK) return status;
    const adept_board *board = x->quick ? &x->quick->board : &w->plan.kernels.list.board;
    const double clock = x->quick ? x->quick->clock_ratio : w->step.clock_ratio;
    const double stretch = adept_board_stretch(board, clock).ratio;
    block_sends sends = {.of = NULL};
    w->gradient_sends_s = w->gathers_s = w->hidden_s = 0.0;
    double *forward_s = calloc(2 * x->part.n_blocks + 1, sizeof *forward_s), *backward_s = forward_s + x->part.n_blocks;
    if (!forward_s) return adept_no_memory(x->err, "a stage");
    double dense = 0.0, experts = 0.0, first_forward_s = 0.0;
    const double exposed = x->mesh.trainer == ADEPT_TRAINER_NEMO ? TENSOR_EXPOSED_NEMO : 1.0;
    int64_t nth = -1;
    *s = (adept_stage_prediction){.clock_ratio = clock};
    for (size_t b = 0; b < x->part.n_blocks; b++) {
        const adept_rank_block *block = &x->part.blocks[b];
        const bool inside = b > 0 && b < x->part.n_blocks - 1;
        if (x->stage_of[b] != stage) continue;
        if (inside) nth++, s->blocks += 1.0;
        const adept_block_spans *t = &x->spans[b];
        forward_s[b] = at_clock(&t->pass[ADEPT_FORWARD], clock, stretch);
        backward_s[b] = at_clock(&t->pass[ADEPT_BACKWARD], clock, stretch);
        const double core_s = at_clock(&t->core[ADEPT_FORWARD], clock, stretch),
                     pointwise_s = at_clock(&t->pointwise, clock, stretch);
        double again_s = 0.0, again_sent = 0.0;
        if (inside && trains(x)) {
            if (is_again(&x->mesh, nth))
                again_s = forward_s[b] - at_clock(&t->tail, clock, stretch), again_sent = 1.0;
            if (x->mesh.recompute == ADEPT_RECOMPUTE_SELECTIVE)
                again_s = x->mesh.trainer == ADEPT_TRAINER_TORCH
                              ? pointwise_s + 0.5 * (forward_s[b] - core_s - pointwise_s)
                              : core_s;
        }
        s->forward_s += forward_s[b];
        s->backward_s += backward_s[b];
        s->again_s += again_s;
        const bool same = sends.of && memcmp(sends.of->sent, block->sent, sizeof block->sent) == 0 &&
                          memcmp(&sends.of->again, &block->again, sizeof block->again) == 0;
        sends.of = block;
        if (!same) {
            for (int pass = 0; pass < 2; pass++) {
                sends.tensor_s[pass] = sent_s(x, block, (adept_pass)pass, ADEPT_AXIS_TENSOR);
                sends.ring_s[pass] = sent_s(x, block, (adept_pass)pass, ADEPT_AXIS_CONTEXT);
                sends.expert_s[pass] = sent_s(x, block, (adept_pass)pass, ADEPT_AXIS_EXPERT);
            }
            sends.beside_s = calls_s(x, ADEPT_ALL_GATHER, &x->tensor, &block->again);
        }
        s->tensor_s += exposed * ((1.0 + again_sent) * sends.tensor_s[ADEPT_FORWARD] + sends.tensor_s[ADEPT_BACKWARD]) +
                       SLOWED_BY_SENDING * fmin(sends.beside_s, backward_s[b]);
        for (int pass = 0; pass < 2; pass++) {
            const double ring_s = sends.ring_s[pass], attends_s = at_clock(&t->core[pass], clock, stretch),
                         times = pass == ADEPT_FORWARD ? 1.0 + again_sent : 1.0;
            s->context_s += times * (ring_s > 0.0 ? beside_s(attends_s, ring_s) - attends_s : 0.0);
            s->expert_s += times * sends.expert_s[pass];
        }
        if (block->expert_params > 0.0 && trains(x)) s->expert_s += ROUTES_S;
        backward_s[b] += again_s;
        dense += dense_params(x, block);
        experts += block->expert_params;
        first_forward_s += forward_s[b];
    }
    s->params = dense + experts;
    if (x->quick) take_numbers(w, s, x);
    if (gathers(x)) s->data_s = fsdp_s(x, stage, forward_s, backward_s, &w->hidden_s);
    w->hidden_s *= m;
    free(forward_s);
    const double launches_s = w->step.launch_s / m;
    s->micro_s =
        s->forward_s + s->backward_s + s->again_s + s->tensor_s + s->context_s + s->expert_s + s->data_s + launches_s;
    s->optimizer_s = w->step.optimizer_s;

    /* states on the host: gradients go there, weights come back, and it steps all that its node's GPUs have */
    if (x->mesh.offload != ADEPT_OFFLOAD_NONE) {
        const double shard = x->mesh.sharding >= ADEPT_SHARDED_OPTIMIZER ? (double)x->mesh.shard : 1.0,
                     params = dense / shard + experts / fmax(1.0, shard / (double)x->mesh.expert_parts),
                     copied_s = params / (PCIE_SHARE * 0.5 * x->hw->specs.pcie_bytes_per_s),
                     behind_s = HIDES_BACKWARD * (s->backward_s + s->again_s);
        const bool all = x->mesh.offload == ADEPT_OFFLOAD_PARAMETERS; /* in each pass, beside it */
        s->offload_s = all ? m * fmax(0.0, copied_s * (2.0 * x->gathered_bytes + x->gradient_bytes) -
                                               HIDES_BACKWARD * s->forward_s - behind_s)
                           : copied_s * x->gathered_bytes +
                                 fmax(0.0, copied_s * x->gradient_bytes - (x->overlaps ? behind_s : 0.0));
        s->optimizer_s = HOST_OPTIMIZER_S * params * fmax(1.0, x->out->node_gpus);
    }

    /* gradients and weights of a step */
    if (trains(x) && !gathers(x) && x->data.ranks > 1.0) {
        const bool reduces = x->mesh.sharding >= ADEPT_SHARDED_OPTIMIZER;
        const double each_pass = x->mesh.sharding == ADEPT_SHARDED_GRADIENTS ? m : 1.0;
        const adept_group_of *g = reduces ? &x->shard : &x->data;
        double reduce_s =
            each_pass * in_buckets_s(x, reduces ? ADEPT_REDUCE_SCATTER : ADEPT_ALL_REDUCE, g, dense, x->gradient_bytes);
        double gather_s = reduces ? in_buckets_s(x, ADEPT_ALL_GATHER, g, dense, x->gathered_bytes) : 0.0;
        if (reduces && x->replicas.ranks > 1.0) /* groups of shards among each other: each rank its part */
            reduce_s +=
                each_pass * in_buckets_s(x, ADEPT_ALL_REDUCE, &x->replicas, dense / x->shard.ranks, x->gradient_bytes);
        if (experts > 0.0) {
            reduce_s += each_pass * collective_s(x, reduces ? ADEPT_REDUCE_SCATTER : ADEPT_ALL_REDUCE, &x->expert_data,
                                                 experts * x->gradient_bytes);
            if (reduces) gather_s += collective_s(x, ADEPT_ALL_GATHER, &x->expert_data, experts * x->gathered_bytes);
        }
        w->gradient_sends_s = reduce_s;
        w->gathers_s = gather_s;
        if (x->overlaps) {
            const double behind_s = each_pass * (s->backward_s + s->again_s);
            w->gradient_sends_s = fmax(reduce_s - HIDES_BACKWARD * behind_s, LAST_BUCKET * reduce_s) +
                                  SLOWED_BY_SENDING * fmin(reduce_s, behind_s) * (1.0 - LAST_BUCKET);
            if (x->mesh.trainer != ADEPT_TRAINER_DEEPSPEED)
                w->gathers_s = fmax(gather_s - HIDES_BACKWARD * first_forward_s, LAST_BUCKET * gather_s) +
                               SLOWED_BY_SENDING * fmin(gather_s, first_forward_s) * (1.0 - LAST_BUCKET);
            w->hidden_s += reduce_s + gather_s - fmin(reduce_s + gather_s, w->gradient_sends_s + w->gathers_s);
        }
    }
    find_memory(s, x, stage);
    return ADEPT_OK;
}

/* ---- the whole ---- */

bool adept_layout_is_near(const adept_layout_prediction *l)
{
    const adept_memory *m = &l->stages[l->worst].memory;
    return m->fits && m->peak_bytes + l->fragmentation_bytes > m->capacity_bytes;
}

double adept_layout_wait_w(const adept_layout_state *x)
{
    const adept_specs *specs = &x->hw->specs;
    const bool hbm = specs->mem_bus_bits >= HBM_BUS_BITS;
    return fmax(isnan(specs->idle_w) ? 0.0 : specs->idle_w, (hbm ? WAIT_SHARE_HBM : WAIT_SHARE_GDDR) * specs->tdp_w);
}

static double add_times(adept_layout_state *x, adept_stage_work *work)
{
    adept_layout_prediction *out = x->out;
    const adept_mesh *m = &x->mesh;
    const double passes = (double)m->micro_batches, p = (double)m->pp;
    const double v = m->schedule == ADEPT_PIPELINE_ZBV ? 2.0 : (double)m->virtual_stages;
    double sum_s = 0.0, most_s = 0.0, weights_s = 0.0, data_s = 0.0, optimizer_s = 0.0, offload_s = 0.0, peak = -1.0;
    for (size_t i = 0; i < out->n_stages; i++) {
        const adept_stage_prediction *s = &out->stages[i];
        sum_s += s->micro_s;
        weights_s += 0.5 * s->backward_s; /* of a backward pass's two products one is for the weights */
        if (s->micro_s > most_s) most_s = s->micro_s, out->slowest = i;
        data_s = fmax(data_s, work[i].gradient_sends_s + work[i].gathers_s);
        optimizer_s = fmax(optimizer_s, s->optimizer_s);
        offload_s = fmax(offload_s, s->offload_s);
        if (s->memory.peak_bytes > peak) peak = s->memory.peak_bytes, out->worst = i;
    }
    const adept_stage_prediction *slow = &out->stages[out->slowest];
    adept_stage_work *w = &work[out->slowest];
    const double bubble = m->schedule == ADEPT_PIPELINE_ZB1P  ? 1.0 / 3.0
                          : m->schedule == ADEPT_PIPELINE_ZBV ? 0.0
                                                              : 1.0 / v;
    out->bubble_s = (sum_s - most_s) * bubble;
    /* fewer micro-batches than stages cannot fill the others: the first goes through all stages and back, of its
     * gradients of weights waits for the last ones alone, and each further one comes a visit of a stage later */
    if (m->schedule >= ADEPT_PIPELINE_ZB1P) {
        const double slow_w_s = 0.5 * slow->backward_s;
        out->bubble_s = fmax(out->bubble_s, sum_s - weights_s + (slow_w_s + (passes - 1.0) * (most_s - slow_w_s)) / v -
                                                passes * most_s);
    }
    out->send_s = 0.0;
    if (p > 1.0) {
        double boundary = 0.0;
        for (size_t b = 1; b < x->part.n_blocks; b++)
            boundary = fmax(boundary, x->part.blocks[b].input_bytes);
        if (!m->sp) boundary /= (double)m->tp; /* each sends a part, and the group gathers it */
        const double one = collective_s(x, ADEPT_SEND, &x->pipeline, boundary) +
                           (m->sp ? 0.0 : collective_s(x, ADEPT_ALL_GATHER, &x->tensor, boundary * (double)m->tp));
        out->send_s = passes * (trains(x) ? 2.0 : 1.0) * v * one * (v > 1.0 ? SENDS_EXPOSED_INTERLEAVED : 1.0);
    }
    out->compute_s = passes * (slow->forward_s + slow->backward_s);
    out->again_s = passes * slow->again_s;
    out->tensor_s = passes * slow->tensor_s;
    out->context_s = passes * slow->context_s;
    out->expert_s = passes * slow->expert_s;
    out->data_s = passes * slow->data_s + data_s;
    out->data_hidden_s = w->hidden_s;
    out->optimizer_s = optimizer_s;
    out->offload_s = offload_s;
    const double before_s =
        passes * most_s + out->bubble_s + out->send_s + data_s + optimizer_s + offload_s + w->step.fixed_s;
    const double step_s = before_s * (1.0 + JITTER_BY_DOUBLING * log2(out->nodes));
    out->rest_s = step_s - (out->compute_s + out->again_s + out->tensor_s + out->context_s + out->expert_s +
                            out->data_s + out->send_s + out->bubble_s + out->optimizer_s + out->offload_s);
    out->fragmentation_bytes =
        (FRAGMENTATION_HIGH - FRAGMENTATION_LOW) *
        (out->stages[out->worst].memory.activations_bytes + out->stages[out->worst].unsharded_bytes);

    /* watts: kernels as ever, and else what a board draws that waits for others */
    double boards_w = 0.0;
    const double each = (double)(m->tp * m->cp * m->dp);
    for (size_t i = 0; i < out->n_stages; i++) {
        adept_stage_prediction *s = &out->stages[i];
        const adept_step *step = &work[i].step;
        out->wait_w = adept_layout_wait_w(x);
        s->busy_s = fmin(step_s, step->step_s);
        s->wait_s = step_s - s->busy_s;
        s->power_w = (step->power_w * s->busy_s + fmin(out->wait_w, step->power_w) * s->wait_s) / step_s;
        boards_w += each * s->power_w;
    }
    if (isnan(x->hw->specs.tdp_w)) boards_w = out->wait_w = NAN;

    out->boards_power_w = boards_w;
    return step_s;
}

/* Words of the network that do not act in this layout. */
static void warn_of_idle(adept_prediction *p, const adept_layout_state *x)
{
    const adept_run *said = x->said;
    const bool alone = x->out->nodes <= 1.0 && (said->internode_bytes_per_s > 0.0 || said->internode_latency_s > 0.0);
    const char *idle[] = {
        said->bucket_bytes > 0.0 ? "bucket_bytes has no effect: buckets of a layout are the trainer's" : NULL,
        alone ? "internode_bandwidth and internode_latency have no effect: all GPUs are in one node" : NULL};
    for (size_t i = 0; i < 2; i++)
        if (idle[i] && p->n_warnings < sizeof p->warnings / sizeof p->warnings[0])
            snprintf(p->warnings[p->n_warnings++], sizeof p->warnings[0], "%s", idle[i]);
}

adept_status adept_layout_fill(adept_layout_state *x, adept_stage_work *w, const adept_step *step, double step_s)
{
    adept_layout_prediction *out = x->out;
    const adept_mesh *m = &x->mesh;
    const double passes = (double)m->micro_batches;
    adept_step all = *step;
    const adept_memory memory = out->stages[out->worst].memory;
    adept_work model;
    all.step_s = step_s;
    all.host_s = 0.0; /* of one stage: what the whole waits for is not told */
    all.pass_s = out->compute_s + out->again_s;
    all.optimizer_s = out->optimizer_s;
    all.comm_s = out->tensor_s + out->context_s + out->expert_s + out->data_s + out->send_s;
    all.comm_hidden_s = out->data_hidden_s;
    all.fixed_s = step_s - all.pass_s - all.optimizer_s - all.comm_s - all.launch_s;
    all.power_w = out->boards_power_w / (double)m->gpus;
    w->plan.memory[0] = w->plan.memory[1] = memory;
    adept_run run = x->run;
    run.overlap = ADEPT_OVERLAP_AUTO;
    adept_status status = adept_plan_check_run(&w->checked, &w->plan, &run, x->err);
    if (status == ADEPT_OK)
        status = adept_prediction_fill(&out->prediction, &w->plan, &all, &w->checked, &w->profile, &run, x->err);
    if (status == ADEPT_OK) status = adept_work_sum(&model, x->prof, x->err);
    if (status != ADEPT_OK) return status;
    adept_prediction *q = &out->prediction;
    warn_of_idle(q, x);
    all.fixed_s -= out->bubble_s; /* as long as stages take: what they wait for is what it waits for */
    q->bound = adept_step_bound(&all);
    q->samples = (double)m->global_batch;
    q->samples_per_s = q->samples / step_s;
    q->energy_per_sample_j = q->energy_step_j / q->samples;
    /* FLOPs are the model's: what is computed again, or by several GPUs, adds none */
    const double times = passes * (double)m->dp;
    double at_peak_s = 0.0, flops[ADEPT_UNIT_COUNT] = {0};
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++)
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++) {
            const double peak_flops_per_s = w->plan.placed.peaks.flops_per_s[unit][dtype];
            flops[unit] += model.flops[unit][dtype] * times;
            if (unit != ADEPT_UNIT_ALU && peak_flops_per_s > 0.0)
                at_peak_s += model.flops[unit][dtype] * times / peak_flops_per_s;
        }
    q->gemm_flops = flops[ADEPT_UNIT_GEMM];
    q->conv_flops = flops[ADEPT_UNIT_CONV];
    q->alu_flops = flops[ADEPT_UNIT_ALU];
    q->total_flops = q->gemm_flops + q->conv_flops + q->alu_flops;
    q->macs_forward = x->prof->totals.macs_forward;
    q->mfu = q->mfu_executed = at_peak_s / (step_s * (double)m->gpus);
    q->range = adept_plan_range_point(&w->plan, &run);
    q->range.flops /= passes; /* more of the same passes are no other work */
    q->range.bytes /= passes;
    const bool fitted = adept_calibrated_for(x->hw, &run) || adept_transferred_for(x->hw, &run);
    if (adept_intervals_fill(&q->estimate, fitted ? x->hw->intervals : NULL, &q->range, &w->plan.described) > 0.0)
        q->notes |= ADEPT_NOTE_OUTSIDE;
    if (!isnan(q->interval_level)) {
        double limits_w = run.power_limit_w > 0.0 ? run.power_limit_w : x->hw->specs.tdp_w;
        const adept_stage_list *by_stage = &x->said->stage_limits_w;
        for (size_t i = 0; i < by_stage->n; i++) /* on average */
            limits_w = (i > 0 ? limits_w : 0.0) + by_stage->at[i] / (double)by_stage->n;
        const double most_w = fmax(q->boards_power_w, (double)m->gpus * limits_w);
        for (int end = 0; end < 2; end++) {
            const double width = fabs(log(q->interval_time_s[end] / step_s));
            q->interval_time_s[end] = step_s * exp((end ? 1.0 : -1.0) * hypot(width, LAYOUT_ERROR));
            if (q->interval_power_w[end] > most_w) q->interval_power_w[end] = most_w;
            q->interval_power_w[end] = adept_plan_power_w(&w->checked, q->interval_power_w[end]);
        }
    }
    return ADEPT_OK;
}

/* Every GPU has the whole model: as if the GPUs alone had been said. */
static adept_status predict_plain(adept_layout_state *x)
{
    adept_profile prof = *x->prof;
    adept_layout_prediction *out = x->out;
    prof.grad_accum = x->mesh.micro_batches;
    out->n_stages = 1;
    adept_status status = adept_predict(&out->prediction, &prof, x->hw, &x->run, x->err);
    if (status != ADEPT_OK) return status;
    const adept_prediction *p = &out->prediction;
    adept_stage_prediction *s = &out->stages[0];
    out->boards_power_w = p->boards_power_w;
    out->compute_s = p->pass_s;
    out->data_s = p->comm_s;
    out->data_hidden_s = p->comm_hidden_s;
    out->optimizer_s = p->optimizer_s;
    out->rest_s = p->kernel_launch_s + p->fixed_s;
    *s = (adept_stage_prediction){.params = (double)prof.trainable_params,
                                  .micro_s = (p->pass_s + p->kernel_launch_s) / (double)prof.grad_accum,
                                  .optimizer_s = p->optimizer_s,
                                  .in_flight = 1.0,
                                  .busy_s = p->step_time_s,
                                  .power_w = p->boards_power_w / (double)x->mesh.gpus,
                                  .clock_ratio = p->clock_ratio,
                                  .memory = p->memory,
                                  .states_bytes =
                                      p->memory.weights_bytes + p->memory.gradients_bytes + p->memory.optimizer_bytes};
    return ADEPT_OK;
}

adept_status adept_layout_split(adept_layout_state *x)
{
    adept_status status = adept_partition_new(&x->part, x->prof, &x->mesh, x->err);
    if (status != ADEPT_OK) return status;
    x->stage_of = calloc(x->part.n_blocks + 1, sizeof *x->stage_of);
    x->spans = calloc(x->part.n_blocks + 1, sizeof *x->spans);
    x->of_op = calloc(x->prof->n_ops + 1, sizeof *x->of_op);
    if (!x->stage_of || !x->spans || !x->of_op) return adept_no_memory(x->err, "stages");
    if (x->mesh.chunked_loss && !(x->part.logits_bytes > 0.0))
        return adept_error_set(x->err, ADEPT_E_USAGE, "loss chunked: this model has no loss of logits");
    if (x->mesh.recompute != ADEPT_RECOMPUTE_NONE && x->part.n_blocks < 3)
        return adept_error_set(x->err, ADEPT_E_USAGE,
                               "activation_checkpoint: this model has no blocks (modules by number) to compute again");
    /* torch's checkpoints (use_reentrant=False) stop where the last tensor is there that backward needs: the last
     * product of a block keeps its input, and is not computed again, unless something behind it keeps what it reads (a
     * norm) or makes (dropout's mask). Checkpoints of Megatron and DeepSpeed compute all of a block. */
    const adept_program *p = &x->prof->program;
    const bool stops = x->mesh.trainer == ADEPT_TRAINER_TORCH && trains(x);
    for (size_t b = 0; b < x->part.n_blocks; b++)
        x->spans[b].end = stops ? 0 : p->n_operators;
    for (size_t i = 0; i < p->n_operators && stops; i++) {
        size_t *end = &x->spans[x->part.block_of[i]].end;
        if (x->part.keeps[i] & ADEPT_AUTOGRAD_RESULTS)
            *end = i + 1;
        else if (x->part.is_product[i] || x->part.keeps[i])
            *end = i;
    }
    return ADEPT_OK;
}

void adept_layout_end(adept_layout_state *x)
{
    free(x->stage_of);
    free(x->spans);
    free(x->of_op);
    x->stage_of = NULL, x->spans = x->of_op = NULL;
    adept_partition_free(&x->part);
}

void adept_stage_work_clear(adept_stage_work *work, size_t n)
{
    for (size_t i = 0; work && i < n; i++) {
        adept_plan_clear(&work[i].plan);
        free(work[i].ops);
    }
    free(work);
}

adept_status adept_layout_times(double *step_s, adept_layout_state *x, adept_stage_work *work)
{
    adept_status status = find_stages(x);
    x->out->n_split = x->part.n_split;
    x->out->n_whole = x->mesh.tp > 1 ? x->part.n_whole : 0;
    for (size_t i = 0; i < x->out->n_stages && status == ADEPT_OK; i++)
        status = predict_stage(&x->out->stages[i], &work[i], x, (int32_t)i);
    if (status == ADEPT_OK) *step_s = add_times(x, work);
    return status;
}

adept_status adept_layout_rank_numbers(adept_rank_numbers *out, adept_layout_state *x)
{
    adept_stage_work *work = calloc(1, sizeof *work);
    double params = 0.0;
    if (!work) return adept_no_memory(x->err, "stages");
    for (size_t b = 0; b < x->part.n_blocks; b++) {
        params += dense_params(x, &x->part.blocks[b]) + x->part.blocks[b].expert_params;
        x->stage_of[b] = 0;
    }
    x->mesh.micro_batches = PASSES_OF_A_SEARCH;
    adept_status status = work_out(work, x, 0);
    const double tensors_s =
        status == ADEPT_OK ? work->plan.kernels.numbers.tensors * work->plan.kernels.theta[ADEPT_OP_t_tensor_s] : 0.0;
    if (status == ADEPT_OK)
        *out = (adept_rank_numbers){.board = work->plan.kernels.list.board,
                                    .clock_ratio = work->step.clock_ratio,
                                    .launch_s = (work->step.launch_s - tensors_s) / (double)x->mesh.micro_batches,
                                    .tensors_s = tensors_s,
                                    .fixed_s = work->step.fixed_s,
                                    .optimizer_s =
                                        params > 0.0 ? work->step.optimizer_s * (double)x->mesh.shard / params : 0.0,
                                    .power_w = work->step.power_w,
                                    .idle_w = work->step.idle_w,
                                    .blocks = fmax(1.0, (double)x->part.n_blocks - 2.0),
                                    .l_hop_s = x->l_hop_s,
                                    .bw_bytes_per_s = x->bw_bytes_per_s};
    adept_stage_work_clear(work, 1);
    return status;
}

static adept_status predict_shared(adept_layout_state *x)
{
    const size_t n_stages = (size_t)x->mesh.pp;
    adept_stage_work *work = calloc(n_stages, sizeof *work);
    double step_s;
    adept_status status = work ? adept_layout_split(x) : adept_no_memory(x->err, "stages");
    if (status == ADEPT_OK) status = adept_layout_times(&step_s, x, work);
    adept_stage_work *slow = &work[x->out->slowest];
    if (status == ADEPT_OK) status = adept_layout_fill(x, slow, &slow->step, step_s);
    adept_stage_work_clear(work, n_stages);
    adept_layout_end(x);
    return status;
}

adept_status adept_layout_begin(adept_layout_state *x, const adept_run *run)
{
    const adept_mesh_words words = adept_run_mesh(run);
    x->said = run;
    x->run = *run;
    if ((run->stage_clocks_mhz.n > 0 && run->clock_hz > 0.0) || (run->stage_limits_w.n > 0 && run->power_limit_w > 0.0))
        return adept_error_set(x->err, ADEPT_E_USAGE, "%s for all stages, and by stage: say one of them",
                               run->stage_limits_w.n > 0 && run->power_limit_w > 0.0 ? "power_limit_w" : "clock_hz");
    adept_status status = adept_mesh_of(&x->mesh, &words, x->prof, x->err);
    if (status != ADEPT_OK) return status;
    x->out->mesh = x->mesh;
    x->run.dp = x->run.tp = x->run.pp = x->run.virtual_stages = x->run.cp = x->run.ep = x->run.global_batch = 0;
    x->run.fsdp = x->run.zero = x->run.schedule = x->run.activation_checkpoint = x->run.loss = x->run.trainer = 0;
    x->run.offload = 0;
    x->run.sp = false;
    x->run.stage_blocks = x->run.stage_clocks_mhz = x->run.stage_limits_w = (adept_stage_list){0};
    status = adept_mesh_is_said(&words) ? find_nodes(x) : ADEPT_OK;
    if (status != ADEPT_OK) return status;
    x->out->run = x->run;
    const adept_mesh *m = &x->mesh;
    const double tp = (double)m->tp, cp = (double)m->cp, dp = (double)m->dp, parts = (double)m->expert_parts,
                 shard = (double)m->shard;
    x->tensor = group_of(x, tp, 1.0);
    x->context = group_of(x, cp, tp);
    x->expert = group_of(x, (double)m->ep, m->expert_parts < m->ep ? 1.0 : tp);
    x->data = group_of(x, dp * cp, tp);
    x->shard = group_of(x, shard, tp);
    x->replicas = group_of(x, dp * cp / shard, tp * shard);
    x->expert_data = group_of(x, dp * cp / parts, tp * parts);
    x->pipeline = group_of(x, (double)m->pp, tp * cp * dp);
    /* neighbouring stages are in one node only where the whole pipeline is */
    if (x->pipeline.in_node < x->pipeline.ranks) x->pipeline.in_node = 1.0;
    find_bytes(x);
    if (m->offload != ADEPT_OFFLOAD_NONE && !(x->hw->specs.pcie_bytes_per_s > 0.0))
        return adept_error_set(x->err, ADEPT_E_USAGE, "offload: the sheet of %s does not say pcie_bytes_per_s",
                               x->hw->name);
    return ADEPT_OK;
}

adept_status adept_predict_layout(adept_layout_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                                  const adept_run *run, adept_error *err)
{
    adept_layout_state x = {.out = out, .prof = prof, .hw = hw, .err = err};
    memset(out, 0, sizeof *out);
    adept_status status = adept_layout_begin(&x, run);
    if (status != ADEPT_OK) return status;
    return x.mesh.plain ? predict_plain(&x) : prof->n_legs > 0 ? adept_layout_of_legs(&x) : predict_shared(&x);
}

/* The operators of one pass, all blocks on one stage. @param begun  under the whole workload's words */
static adept_status pass_ops(adept_op_prediction *out, const adept_layout_state *begun, const adept_profile *prof)
{
    adept_layout_state x = *begun;
    adept_stage_work *work = calloc(1, sizeof *work);
    const double ranks = (double)(x.mesh.dp * x.mesh.tp * x.mesh.cp);
    x.prof = prof;
    x.mesh.pp = x.mesh.virtual_stages = 1;
    adept_status status = work ? adept_layout_split(&x) : adept_no_memory(x.err, "a layout");
    if (status == ADEPT_OK) status = work_out(work, &x, 0);
    for (size_t i = 0; status == ADEPT_OK && i < work->profile.n_ops; i++) {
        adept_op_prediction *to = &out[i % prof->n_ops], op;
        status = adept_plan_op(&op, &work->plan, &work->step, &work->profile, &work->profile.ops[i], ranks, x.err);
        if (i < prof->n_ops)
            *to = op;
        else if (op.time_s > 0.0)
            to->time_s += op.time_s, to->energy_j += op.energy_j;
    }
    adept_stage_work_clear(work, 1);
    adept_layout_end(&x);
    return status;
}

adept_status adept_predict_layout_ops(adept_op_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                                      const adept_run *run, adept_error *err)
{
    adept_layout_prediction *l = calloc(1, sizeof *l);
    adept_layout_state x = {.out = l, .prof = prof, .hw = hw, .err = err};
    adept_status status = l ? adept_layout_begin(&x, run) : adept_no_memory(err, "a layout");
    if (status == ADEPT_OK && prof->n_legs == 0) status = pass_ops(out, &x, prof);
    for (size_t i = 0; i < prof->n_legs && status == ADEPT_OK; i++) {
        const adept_profile_leg *leg = &prof->legs[i];
        adept_op_prediction *ops = out + leg->first_op;
        status = pass_ops(ops, &x, leg->profile);
        for (size_t k = 0; k < leg->profile->n_ops && status == ADEPT_OK; k++)
            ops[k].time_s *= (double)leg->times, ops[k].energy_j *= (double)leg->times;
    }
    free(l);
    return status;
}

adept_status adept_predict_of_layout(adept_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                                     const adept_run *run, adept_error *err)
{
    adept_layout_prediction *all = malloc(sizeof *all);
    if (!all) return adept_no_memory(err, "a layout");
    adept_status status = adept_predict_layout(all, prof, hw, run, err);
    if (status == ADEPT_OK) *out = all->prediction;
    free(all);
    return status;
}
