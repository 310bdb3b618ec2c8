/** @file adept_fields.h  The words of a workload and of a run, a row each. Members, options, CSV columns, JSON, keys of
 * sweeps, requests of libadept and over HTTP, Python's keywords and docs/WORDS.md are loops over the rows: a new word
 * is a row, and the code that uses it.
 *
 *  A word has one name at every door: `power_limit_w`, as an option --power-limit-w. The option's short name,
 * --power-limit, is an alias everywhere: power_limit. Calls: nothing. */
#ifndef ADEPT_FIELDS_H
#define ADEPT_FIELDS_H
#include "adept_error.h"
#include "nearest.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which C type a member has, and what is not given. */
typedef enum adept_field_kind {
    ADEPT_FIELD_WORD,   /* an enum: one of names() */
    ADEPT_FIELD_NAME,   /* const char *: one of names(); NULL */
    ADEPT_FIELD_SET,    /* unsigned: bits, named by names() */
    ADEPT_FIELD_SWITCH, /* bool */
    ADEPT_FIELD_SIZED,  /* int: a name and, of "hybrid:N", the number: adept_sized_name(), adept_sized_number() */
    ADEPT_FIELD_STAGES, /* adept_stage_list: a number for each stage of a pipeline, "8/6/6/4"; none */
    ADEPT_FIELD_COUNT,  /* int64_t of 1 or more; 0 */
    ADEPT_FIELD_AMOUNT  /* double above 0; 0 */
} adept_field_kind;

#define ADEPT_MOST_LISTED_STAGES 16
#define ADEPT_STAGES_MEANS "whole numbers above 0 and below 65536 by stage, at most 16: 8/6/6/4"
typedef struct adept_stage_list {
    uint16_t n, at[ADEPT_MOST_LISTED_STAGES]; /* whole numbers above 0 */
} adept_stage_list;
#define ADEPT_FIELD_NODE ADEPT_FIELD_WORD /* of which the option takes a file as well */

/* What a number counts, for units behind it; "launches" and the like have none. */
typedef enum adept_field_unit {
    ADEPT_NO_UNIT,
    ADEPT_WATTS,
    ADEPT_HERTZ,
    ADEPT_SECONDS,
    ADEPT_BYTES,
    ADEPT_BYTES_PER_S
} adept_field_unit;

/* Where the help has the option: in --help, or only in --help-all. */
enum { ADEPT_USUAL, ADEPT_EXPERT };

/* X(name, KIND, type, names, text of what is not given, unit, short option, its value in the help, help, who uses it).
 * In the order in which predict --json says them. */
#define ADEPT_WORKLOAD_FIELDS(X)                                                                                       \
    X(mode, WORD, adept_mode, adept_mode_name, "train", ADEPT_NO_UNIT, "mode", "MODE",                                 \
      "train (forward, backward, optimizer; the default), fwbw (without the optimizer), infer, or generate (--prompt " \
      "tokens read, --tokens tokens written one by one)",                                                              \
      ADEPT_USUAL)                                                                                                     \
    X(precision, WORD, adept_precision, adept_precision_name, "fp32", ADEPT_NO_UNIT, "precision", "P",                 \
      "fp32 (default), tf32, bf16 or fp16 (autocast over fp32 weights), pure-bf16 or pure-fp16 (the whole model in "   \
      "16 "                                                                                                            \
      "bits), fp8 (bf16, of which products with weights run in FP8; a scale a tensor), fp8:row, fp8:block, mxfp8 or "  \
      "nvfp4 (other scales; Blackwell's 4 bits), or pure- before any of these",                                        \
      ADEPT_USUAL)                                                                                                     \
    X(batch_size, COUNT, int64_t, NULL, "as in the file", ADEPT_NO_UNIT, "batch", "N",                                 \
      "Samples per GPU and pass; replaces the leading dimension of every input, or B", ADEPT_USUAL)                    \
    X(seq_length, COUNT, int64_t, NULL, "as in the file", ADEPT_NO_UNIT, "seq-length", "N",                            \
      "Sequence length: replaces S, or where no shape has one the L of the inputs i64:BxL", ADEPT_USUAL)               \
    X(optimizer, NAME, const char *, adept_optimizer_name, "adamw", ADEPT_NO_UNIT, "optimizer", "NAME",                \
      "none, sgd, momentum, adam, adamw (default), ...", ADEPT_USUAL)                                                  \
    X(grad_accum, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "grad-accum", "N",                                         \
      "Forward-backward passes per optimizer step (default 1)", ADEPT_USUAL)                                           \
    X(attention, WORD, adept_attention, adept_attention_name, "auto", ADEPT_NO_UNIT, "attention", "HOW",               \
      "auto (as the file says; default), eager or fused", ADEPT_EXPERT)                                                \
    X(memory_format, WORD, adept_memory_format, adept_memory_format_name, "auto", ADEPT_NO_UNIT, "memory-format",      \
      "HOW", "Of images: auto (as the file says, else nchw; default), nchw or channels_last", ADEPT_EXPERT)            \
    X(execution, WORD, adept_execution, adept_execution_name, "eager", ADEPT_NO_UNIT, "execution", "HOW",              \
      "eager (default), graphs (CUDA graphs: no launches by the host) or compile (torch.compile)", ADEPT_USUAL)        \
    X(framework, WORD, adept_framework, adept_framework_name, "torch2", ADEPT_NO_UNIT, "framework", "NAME",            \
      "Whose kernels run: torch2 (default) or torch1 (PyTorch 1, with libraries of CUDA 10 or 11)", ADEPT_EXPERT)      \
    X(optimizer_impl, WORD, adept_optimizer_impl, adept_optimizer_impl_name, "auto", ADEPT_NO_UNIT, "optimizer-impl",  \
      "HOW", "foreach (default, as PyTorch's), fused or forloop", ADEPT_EXPERT)                                        \
    X(optimizer_extras, SET, unsigned, adept_optimizer_extra_name, "none", ADEPT_NO_UNIT, "optimizer-extras", "LIST",  \
      "What the step does beside it: clip, unscale, master, ema, zero_grad", ADEPT_EXPERT)                             \
    X(grad_scaler, SWITCH, bool, adept_switch_name, "false", ADEPT_NO_UNIT, "grad-scaler", NULL,                       \
      "Unscale gradients and look for infinities before the optimizer, as torch.amp.GradScaler does", ADEPT_EXPERT)    \
    X(clip_grad_norm, SWITCH, bool, adept_switch_name, "false", ADEPT_NO_UNIT, "clip-grad-norm", NULL,                 \
      "Clip gradients by their norm before the optimizer, as torch.nn.utils.clip_grad_norm_ does", ADEPT_EXPERT)       \
    X(prompt, COUNT, int64_t, NULL, "", ADEPT_NO_UNIT, "prompt", "N", "Tokens of a query's prompt, in mode generate",  \
      ADEPT_USUAL)                                                                                                     \
    X(tokens, COUNT, int64_t, NULL, "", ADEPT_NO_UNIT, "tokens", "N",                                                  \
      "Tokens of its answer, a pass each, in mode generate", ADEPT_USUAL)                                              \
    X(weights, WORD, adept_stored, adept_weights_name, "auto", ADEPT_NO_UNIT, "weights", "TYPE",                       \
      "How the weights of a model's blocks lie in memory, in mode generate: auto (as the precision; default), fp32, "  \
      "bf16, fp16, fp8, int8 or int4; kernels widen what they read",                                                   \
      ADEPT_EXPERT)                                                                                                    \
    X(kv_cache, WORD, adept_stored, adept_kv_cache_name, "auto", ADEPT_NO_UNIT, "kv-cache", "TYPE",                    \
      "The same of the key-value cache: auto, fp32, bf16, fp16, fp8 or int8", ADEPT_EXPERT)                            \
    X(prefill_chunk, COUNT, int64_t, NULL, "", ADEPT_NO_UNIT, "prefill-chunk", "N",                                    \
      "Read a prompt in passes of so many tokens, in mode generate; with --mix answers are written in the same "       \
      "passes, and N counts their tokens, too",                                                                        \
      ADEPT_EXPERT)                                                                                                    \
    X(cached_tokens, COUNT, int64_t, NULL, "", ADEPT_NO_UNIT, "cached-tokens", "N",                                    \
      "Tokens of the prompt that the cache has already, as prefix caching finds them", ADEPT_EXPERT)                   \
    X(denoise_steps, COUNT, int64_t, NULL, "", ADEPT_NO_UNIT, "denoise-steps", "N",                                    \
      "Passes that make a sample, in mode infer: a diffusion model's", ADEPT_EXPERT)

#define ADEPT_RUN_FIELDS(X)                                                                                            \
    /* of all nodes together */                                                                                        \
    X(gpus, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "gpus", "N",                                                     \
      "Data-parallel GPUs, those of all nodes together (default 1)", ADEPT_USUAL)                                      \
    X(nodes, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "nodes", "N",                                                   \
      "Nodes that the GPUs are shared by equally (default 1); needs --internode-bandwidth", ADEPT_USUAL)               \
    X(power_limit_w, AMOUNT, double, NULL, "default", ADEPT_WATTS, "power-limit", "W",                                 \
      "Board power limit of each GPU: watts, or with a unit: 250W", ADEPT_USUAL)                                       \
    X(clock_hz, AMOUNT, double, NULL, "not locked", ADEPT_HERTZ, "clock", "MHZ",                                       \
      "Lock the core clock, in MHz as nvidia-smi prints it or with a unit: 1410, 1410MHz, 1.41GHz. A power limit, "    \
      "the "                                                                                                           \
      "board's own too, that leaves less counts",                                                                      \
      ADEPT_USUAL)                                                                                                     \
    /* by number; 0: not one of the table */                                                                           \
    X(host, WORD, int, adept_host_name, "profile", ADEPT_NO_UNIT, "host", "NAME",                                      \
      "A measured host, which says what a launch takes and how surely: torch2, torch1, dosgroup-l40, ... Default: "    \
      "the "                                                                                                           \
      "hardware profile's",                                                                                            \
      ADEPT_EXPERT)                                                                                                    \
    /* of an eager kernel. Granularity "operator" only */                                                              \
    X(host_launch_s, AMOUNT, double, NULL, "", ADEPT_SECONDS, "host-launch", "TIME",                                   \
      "What the host takes to launch a kernel eagerly: 30us. Default: the hardware profile's", ADEPT_EXPERT)           \
    X(host_step_s, AMOUNT, double, NULL, "", ADEPT_SECONDS, "host-step", "TIME",                                       \
      "What a step takes beside kernels and launches, such as loading data: 5ms. Default: the host's or the hardware " \
      "profile's",                                                                                                     \
      ADEPT_EXPERT)                                                                                                    \
    /* needed for several nodes: all adapters of one, in one direction */                                              \
    X(internode_bytes_per_s, AMOUNT, double, NULL, "", ADEPT_BYTES_PER_S, "internode-bandwidth", "RATE",               \
      "Network of one node in one direction, all adapters together: 200Gbit/s, 25GB/s", ADEPT_USUAL)                   \
    X(internode_latency_s, AMOUNT, double, NULL, "", ADEPT_SECONDS, "internode-latency", "TIME",                       \
      "One hop between nodes: 10us (the default)", ADEPT_EXPERT)                                                       \
    /* between nodes if there are several: inside them it is a ring's */                                               \
    X(allreduce, WORD, adept_allreduce, adept_allreduce_name, "ring", ADEPT_NO_UNIT, "allreduce", "NAME",              \
      "ring (default), tree (double binary), or auto: the faster for every size; between nodes if there are several",  \
      ADEPT_EXPERT)                                                                                                    \
    X(link, WORD, adept_link, adept_link_name, "board", ADEPT_NO_UNIT, "link", "NAME",                                 \
      "What joins two GPUs of a node: board (the hardware profile's link; default) or bridge (an NVLink bridge "       \
      "between "                                                                                                       \
      "two boards)",                                                                                                   \
      ADEPT_EXPERT)                                                                                                    \
    X(overlap, WORD, adept_overlap, adept_overlap_name, "auto", ADEPT_NO_UNIT, "overlap", "NAME",                      \
      "bucketed: buckets of gradients are sent while the backward pass runs, as DistributedDataParallel does; fixed: " \
      "the share that the hardware profile says is hidden; none: one all-reduce after the backward pass; auto "        \
      "(default): bucketed where the profile of the model "                                                            \
      "knows its parameters and the GPU was not fitted on several GPUs",                                               \
      ADEPT_EXPERT)                                                                                                    \
    /* 0: ADEPT_BUCKET_BYTES */                                                                                        \
    X(bucket_bytes, AMOUNT, double, NULL, "", ADEPT_BYTES, "bucket-bytes", "SIZE",                                     \
      "Size of a bucket: bytes, or with a unit (default 25MiB)", ADEPT_EXPERT)                                         \
    X(host_sample_s, AMOUNT, double, NULL, "", ADEPT_SECONDS, "host-sample", "TIME",                                   \
      "What the host takes for each sample of the batch in the forward pass, to load and copy it: 50us. Default: the " \
      "hardware profile's, which is 0 unless a fit of its host found one",                                             \
      ADEPT_EXPERT)                                                                                                    \
    X(power_scope, WORD, adept_power_scope, adept_power_scope_name, "gpu", ADEPT_NO_UNIT, "power-scope", "SCOPE",      \
      "Whose watts and joules: gpu (the boards in use; default) or node (the whole nodes at the wall: idle boards, "   \
      "hosts, fans and losses too; needs the watts of the host)",                                                      \
      ADEPT_USUAL)                                                                                                     \
    /* by number; 0: not one of the table */                                                                           \
    X(node, NODE, int, adept_node_name, "none", ADEPT_NO_UNIT, "node", "NAME|FILE",                                    \
      "The server that the GPUs are in: dgx-h100, dgx-b200, or a JSON file (a path with '/', or ending in .json). It " \
      "says words of the node and its host that are not given",                                                        \
      ADEPT_USUAL)                                                                                                     \
    X(node_gpus, COUNT, int64_t, NULL, "", ADEPT_NO_UNIT, "node-gpus", "N",                                            \
      "GPUs that a node has, idle ones too. Default: those in use", ADEPT_EXPERT)                                      \
    X(host_idle_w, AMOUNT, double, NULL, "", ADEPT_WATTS, "host-idle", "W",                                            \
      "What a node draws beside its boards while none of them works: processors, memory, adapters", ADEPT_EXPERT)      \
    X(host_active_w, AMOUNT, double, NULL, "", ADEPT_WATTS, "host-active", "W",                                        \
      "What a node draws beside its boards while all of them work; between, by the share that works", ADEPT_EXPERT)    \
    X(fan_share, AMOUNT, double, NULL, "", ADEPT_NO_UNIT, "fan-share", "X",                                            \
      "Watts of a node's fans for each watt of its boards, where host watts are without them: 0.1", ADEPT_EXPERT)      \
    X(supply_efficiency, AMOUNT, double, NULL, "", ADEPT_NO_UNIT, "supply-efficiency", "X",                            \
      "Share of a node's power at the wall that its supplies pass on, up to 1: 0.94", ADEPT_EXPERT)                    \
    /* The layout: how a step of training is shared out. See workload/include/adept_mesh.h */                          \
    X(dp, COUNT, int64_t, NULL, "", ADEPT_NO_UNIT, "dp", "N",                                                          \
      "Replicas of the model, which train on data of their own. Default: GPUs / (tp x pp x cp)", ADEPT_EXPERT)         \
    X(fsdp, SIZED, int, adept_fsdp_name, "none", ADEPT_NO_UNIT, "fsdp", "HOW",                                         \
      "Shard over the replicas: full (parameters, gradients and optimizer, as ZeRO 3), grad (gradients and "           \
      "optimizer), "                                                                                                   \
      "hybrid:N (full in groups of N) or none (default)",                                                              \
      ADEPT_USUAL)                                                                                                     \
    X(zero, WORD, int, adept_zero_name, "auto", ADEPT_NO_UNIT, "zero", "STAGE",                                        \
      "The same in DeepSpeed's words: 0, 1 (the optimizer alone), 2 (grad) or 3 (full)", ADEPT_EXPERT)                 \
    X(tp, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "tp", "N",                                                         \
      "Tensor parallel: GPUs that share every block's heads and matrices (default 1)", ADEPT_USUAL)                    \
    X(sp, SWITCH, bool, adept_switch_name, "false", ADEPT_NO_UNIT, "sp", NULL,                                         \
      "Sequence parallel between the matrices of tensor parallel, as Megatron has it", ADEPT_EXPERT)                   \
    X(pp, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "pp", "N", "Stages of a pipeline (default 1)", ADEPT_USUAL)        \
    X(virtual_stages, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "virtual-stages", "N",                                 \
      "Parts of the model that each GPU of a pipeline has, interleaved (default 1)", ADEPT_EXPERT)                     \
    X(schedule, WORD, int, adept_pipeline_name, "1f1b", ADEPT_NO_UNIT, "schedule", "NAME",                             \
      "Of a pipeline: 1f1b (default), interleaved, zb1p (zero bubble) or zbv", ADEPT_EXPERT)                           \
    X(stage_blocks, STAGES, adept_stage_list, NULL, "", ADEPT_NO_UNIT, "stage-blocks", "N/N/...",                      \
      "Blocks of the model in each stage of a pipeline: 7/6/6/5. Default: as many in each", ADEPT_EXPERT)              \
    X(stage_clocks_mhz, STAGES, adept_stage_list, NULL, "", ADEPT_NO_UNIT, "stage-clocks", "MHZ/MHZ/...",              \
      "Lock the core clocks of each stage's GPUs, in MHz: 1050/1065/1410/1410", ADEPT_EXPERT)                          \
    X(stage_limits_w, STAGES, adept_stage_list, NULL, "", ADEPT_NO_UNIT, "stage-limits", "W/W/...",                    \
      "Board power limit of each stage's GPUs, in watts: 225/225/300/250", ADEPT_EXPERT)                               \
    X(cp, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "cp", "N",                                                         \
      "Context parallel: GPUs that share each sequence (default 1)", ADEPT_EXPERT)                                     \
    X(ep, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "ep", "N",                                                         \
      "Expert parallel: GPUs, of the replicas, that share the experts (default 1)", ADEPT_EXPERT)                      \
    X(global_batch, COUNT, int64_t, NULL, "", ADEPT_NO_UNIT, "global-batch", "N",                                      \
      "Samples of a step on all GPUs: says grad-accum, which is global-batch / (batch x dp)", ADEPT_USUAL)             \
    X(activation_checkpoint, SIZED, int, adept_checkpoint_name, "none", ADEPT_NO_UNIT, "activation-checkpoint", "HOW", \
      "What the backward pass computes again instead of keeping it: none (default), full (every block), selective "    \
      "(the core of attention) or blocks:N (N blocks of a stage)",                                                     \
      ADEPT_USUAL)                                                                                                     \
    X(loss, WORD, int, adept_loss_name, "whole", ADEPT_NO_UNIT, "loss", "HOW",                                         \
      "The loss: whole (default: of all logits at once) or chunked (the logits never lie in memory together)",         \
      ADEPT_EXPERT)                                                                                                    \
    X(offload, WORD, int, adept_offload_name, "none", ADEPT_NO_UNIT, "offload", "WHAT",                                \
      "What lies in the hosts' memory and goes over PCIe: none (default), optimizer (its state, and it steps there) "  \
      "or parameters (with --fsdp full: weights and gradients, too)",                                                  \
      ADEPT_EXPERT)                                                                                                    \
    X(trainer, WORD, int, adept_trainer_name, "torch", ADEPT_NO_UNIT, "trainer", "NAME",                               \
      "Whose training program it is, which says how many bytes the states of a parameter take and what is sent "       \
      "beside "                                                                                                        \
      "what: torch (default), megatron, deepspeed or nemo",                                                            \
      ADEPT_EXPERT)

/* Numbers of the rows, of either table from 0. */
enum {
#define X(name, ...) ADEPT_FIELD_##name,
    ADEPT_WORKLOAD_FIELDS(X)
#undef X
        ADEPT_N_WORKLOAD_FIELDS
};
enum {
#define X(name, ...) ADEPT_RUN_FIELD_##name,
    ADEPT_RUN_FIELDS(X)
#undef X
        ADEPT_N_RUN_FIELDS
};

/** The members of a structure, by either list. */
#define ADEPT_FIELD_MEMBER(name, kind, type, ...) type name;

typedef struct adept_field {
    const char *name; /* "power_limit_w" */
    adept_field_kind kind;
    size_t at, size; /* of the member, behind the begin of the members */
    adept_name_at names;
    const char *fallback; /* "default" */
    adept_field_unit unit;
    const char *option, *value, *help; /* "power-limit", "W"; the option's help */
    bool expert;
} adept_field;

/** A row of a table of `record`, which holds the members. */
#define ADEPT_FIELD_ROW(record, name, kind, type, ...)                                                                 \
    {#name, ADEPT_FIELD_##kind, offsetof(record, name), sizeof(type), __VA_ARGS__},

/** The words of a workload: members of adept_workload_words. NULL past the end. */
ADEPT_API const adept_field *adept_workload_field(size_t index);

/** The row of a key, or of its alias (any of '_' and '-' joins its parts); NULL: there is none. */
ADEPT_API const adept_field *adept_field_find(const adept_field *(*field_at)(size_t), const char *key, size_t length);

/** Does a record say nothing of it? Where 0 is a word, only a flag beside the record can tell. */
ADEPT_API bool adept_field_is_zero(const adept_field *f, const void *record);
/** Set a word, name, set, switch or sized word. @return false: it is none */
ADEPT_API bool adept_field_set_text(const adept_field *f, void *record, const char *text);
/** Set a count or an amount. @return false: out of range */
ADEPT_API bool adept_field_set_number(const adept_field *f, void *record, double value);
/** Either, of a text that is the whole value, in units of SI; what was there stays after an error. @return
 * ADEPT_E_USAGE */
ADEPT_API adept_status adept_field_set(const adept_field *f, void *record, const char *text, adept_error *err);
static inline bool adept_field_is_number(const adept_field *f)
{
    return f->kind >= ADEPT_FIELD_COUNT;
}
/** Of a count or an amount. */
ADEPT_API double adept_field_number(const adept_field *f, const void *record);
/** Of a member of kind SIZED: which of the names, and the number behind it; 0 where it has none. */
static inline int adept_sized_name(int sized)
{
    return sized & 15;
}
static inline int adept_sized_number(int sized)
{
    return sized >> 4;
}
static inline int adept_sized(int name, int number)
{
    return name | number << 4;
}
#define ADEPT_SIZED_MOST ((1 << 24) - 1)

/* Words of a layout; the enumerations stand in adept_mesh.h. */
ADEPT_API const char *adept_fsdp_name(size_t fsdp);           /* "none", "full", "grad", "hybrid:N" */
ADEPT_API const char *adept_zero_name(size_t zero);           /* "auto", "0", "1", "2", "3" */
ADEPT_API const char *adept_pipeline_name(size_t schedule);   /* "1f1b", "interleaved", "zb1p", "zbv" */
ADEPT_API const char *adept_checkpoint_name(size_t checkpoint); /* "none", "full", "selective", "blocks:N" */
ADEPT_API const char *adept_offload_name(size_t offload);       /* "none", "optimizer", "parameters" */
ADEPT_API const char *adept_loss_name(size_t loss);           /* "whole", "chunked" */
ADEPT_API const char *adept_trainer_name(size_t trainer);     /* "torch", "megatron", "deepspeed", "nemo" */

#define ADEPT_FIELD_TEXT_BYTES 96
/** What adept_field_set() reads; a NULL name is "". Returns text, or a word of constant data. */
ADEPT_API const char *adept_field_text(char text[ADEPT_FIELD_TEXT_BYTES], const adept_field *f, const void *record);

#endif
