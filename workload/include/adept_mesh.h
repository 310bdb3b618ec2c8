/** @file adept_mesh.h  How a step of training is shared out over GPUs: the words of a run, resolved and checked. Calls:
 * adept_profile.
 *
 *  GPUs = dp x tp x pp x cp; ep lies inside dp x cp, or with sp inside tp x dp x cp. A replica of the model is
 * tp x pp x cp GPUs. Each replica does
 * `micro_batches` passes of `micro_batch` samples a step: global_batch = micro_batch x micro_batches x dp. Ranks stand
 * in a node as Megatron places them: tensor parallel GPUs side by side, then context parallel ones, then replicas, then
 * stages.
 *
 *  States are sharded over `shard` GPUs: dp x cp of them, or groups of N (hybrid:N). */
#ifndef ADEPT_MESH_H
#define ADEPT_MESH_H
#include "adept_profile.h"

/* What is sharded: each takes what stands before it as well. In the order of the words of --zero. */
typedef enum adept_sharding {
    ADEPT_SHARDED_NOTHING,
    ADEPT_SHARDED_OPTIMIZER,
    ADEPT_SHARDED_GRADIENTS,
    ADEPT_SHARDED_PARAMETERS
} adept_sharding;

/* In the order of adept_fsdp_name(), adept_pipeline_name(), adept_checkpoint_name(), adept_loss_name() and
 * adept_trainer_name(). */
typedef enum adept_fsdp { ADEPT_FSDP_NONE, ADEPT_FSDP_FULL, ADEPT_FSDP_GRAD, ADEPT_FSDP_HYBRID } adept_fsdp;
typedef enum adept_pipeline {
    ADEPT_PIPELINE_1F1B,
    ADEPT_PIPELINE_INTERLEAVED,
    ADEPT_PIPELINE_ZB1P,
    ADEPT_PIPELINE_ZBV
} adept_pipeline;
typedef enum adept_recomputation {
    ADEPT_RECOMPUTE_NONE,
    ADEPT_RECOMPUTE_FULL,
    ADEPT_RECOMPUTE_SELECTIVE,
    ADEPT_RECOMPUTE_BLOCKS
} adept_recomputation;
typedef enum adept_offload { ADEPT_OFFLOAD_NONE, ADEPT_OFFLOAD_OPTIMIZER, ADEPT_OFFLOAD_PARAMETERS } adept_offload;
typedef enum adept_logits { ADEPT_LOGITS_WHOLE, ADEPT_LOGITS_CHUNKED } adept_logits;
typedef enum adept_trainer {
    ADEPT_TRAINER_TORCH,
    ADEPT_TRAINER_MEGATRON,
    ADEPT_TRAINER_DEEPSPEED,
    ADEPT_TRAINER_NEMO
} adept_trainer;

/* What a run says of a layout; members of adept_run. 0: nothing. */
typedef struct adept_mesh_words {
    int64_t gpus, dp, tp, pp, virtual_stages, cp, ep, global_batch;
    int fsdp, zero, schedule, activation_checkpoint, loss, offload, trainer;
    bool sp;
    /* for how many stages there are blocks, clocks and limits; 0: nothing is said by stage */
    int64_t stage_blocks, stage_clocks, stage_limits;
} adept_mesh_words;

typedef struct adept_mesh {
    int64_t gpus, dp, tp, pp, cp, ep, virtual_stages;
    /* Parts that the experts are in beside tensor parallel ones: ep; ep / tp where tensor parallel GPUs have whole
     * experts, each its own (Megatron Core's expert-tensor-parallel-size 1): as many parameters and FLOPs on each GPU
     * as with experts in tp parts. */
    int64_t expert_parts;
    int64_t micro_batch, micro_batches, global_batch;
    int64_t in_a_row; /* micro-batches that a part of an interleaved stage runs before the next part does */
    adept_sharding sharding;
    int64_t shard; /* GPUs of a group that shares the states; 1: nothing is sharded */
    bool sp, chunked_loss;
    adept_pipeline schedule;
    adept_recomputation recompute;
    int64_t recompute_blocks; /* of a stage, where they are counted */
    adept_trainer trainer;
    adept_offload offload;
    bool plain; /* every GPU has the whole model and nothing is computed again: gpus say all of it */
} adept_mesh;

/** Does a run say anything of a layout but how many GPUs there are? */
ADEPT_API bool adept_mesh_is_said(const adept_mesh_words *words);

/**
 * @param profile  its batch, grad_accum and mode are read. NULL: a micro-batch of 1, of training
 * @return ADEPT_E_USAGE where words disagree, or where the mode does not train and something of training is said
 */
ADEPT_API adept_status adept_mesh_of(adept_mesh *out, const adept_mesh_words *words, const adept_profile *profile,
                                       adept_error *err);

#endif
