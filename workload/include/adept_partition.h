/** @file adept_partition.h  One rank's part of a profile: its operators with kernels of their own dimensions, what it
 * sends, what it keeps. Calls: adept_profile, adept_mesh.
 *
 *  Tensor parallel GPUs share products by their weights. A product is split by columns where all that reads its result
 * can go on with a part of the last dimension, up to the next product, which is then split by rows; parts of a sum are
 * added up behind it. Which these are is found along the program, by shard words and shapes alone, so that a traced
 * model and one of a config.json take one road. A table of embeddings is split by its rows, and the loss by the
 * vocabulary. What nothing can be done with stays whole on every GPU.
 *
 *  Context parallel GPUs share the tokens of all operators, expert parallel ones the experts of grouped products.
 *
 *  Blocks are the modules whose paths have the first index ("model.layers.3"), in the order in which they run; block 0
 * is what runs before them, the last one what runs behind. Stages of a pipeline, FSDP's units and recomputation go by
 * blocks. */
#ifndef ADEPT_PARTITION_H
#define ADEPT_PARTITION_H
#include "adept_mesh.h"

/* X(kind, name) */
#define ADEPT_COLLECTIVE_LIST(X)                                                                                       \
    X(ALL_REDUCE, "all-reduce") X(ALL_GATHER, "all-gather") X(REDUCE_SCATTER, "reduce-scatter")                        \
    X(ALL_TO_ALL, "all-to-all") X(SEND, "send")
typedef enum adept_collective {
#define X(kind, name) ADEPT_##kind,
    ADEPT_COLLECTIVE_LIST(X)
#undef X
        ADEPT_COLLECTIVES
} adept_collective;

/* Whom it is with. */
typedef enum adept_axis { ADEPT_AXIS_TENSOR, ADEPT_AXIS_CONTEXT, ADEPT_AXIS_EXPERT, ADEPT_AXES } adept_axis;

/* What autograd keeps of an operator: what it read; what it made, masks that it drew, statistics. */
typedef enum adept_autograd_keeps { ADEPT_AUTOGRAD_OPERANDS = 1, ADEPT_AUTOGRAD_RESULTS = 2 } adept_autograd_keeps;

/* Of one micro-batch. */
typedef struct adept_transfer {
    double n;     /* calls */
    double bytes; /* of the whole tensors, all calls; of sends what one GPU sends */
} adept_transfer;

typedef struct adept_rank_block {
    const char *path;             /* "model.layers.3"; "": before and behind */
    /* elements that train: the same on every tensor parallel GPU; a GPU's part */
    double whole_params, split_params, expert_params;
    double frozen_bytes;          /* of weights that do not train, on a GPU */
    double weight_bytes;          /* of those that do, on a GPU, as stored */
    /* elements of a GPU that train, of weights that are tied: those of the block `tied_to` before it, of which a stage
     * without that block has a copy; and their bytes as stored */
    double tied_params, tied_bytes;
    int32_t tied_to;
    double tensors;               /* parameters that train */
    double saved_bytes;           /* that autograd keeps of one micro-batch */
    double core_bytes;            /* of them what attention's core keeps: selective recomputation drops it */
    double pointwise_bytes;       /* of them what neither products nor attention made */
    double copies_bytes;          /* of weights, that autocast makes and backward needs */
    double input_bytes;           /* that come from the block before */
    size_t n_kept;                /* of a generation: what a GPU's part of the cache takes */
    adept_kept_tokens kept[ADEPT_KEPT_WINDOWS];
    double alive_bytes;           /* without backward: the most that is in memory at one time beside weights */
    adept_transfer sent[2][ADEPT_AXES][ADEPT_COLLECTIVES]; /* by adept_pass */
    /* with sequence parallel: gathers of backward for gradients of weights, beside products */
    adept_transfer again;
} adept_rank_block;

typedef struct adept_partition {
    adept_arena *arena;
    const adept_profile *profile; /* borrowed */
    adept_profile_op *ops; /* as many as the profile's, with kernels of a rank */
    size_t n_blocks;       /* with the first and the last */
    adept_rank_block *blocks;
    int32_t *block_of;     /* by operator of the program */
    bool *is_core;         /* by operator: the core of attention */
    bool *is_product;      /* by operator: a product with weights */
    uint8_t *keeps;        /* by operator: adept_autograd_keeps of what its own backward pass is the first to need */
    double logits_bytes;   /* of what is kept, what is as wide as the vocabulary */
    size_t n_split, n_whole; /* products with weights: split over tensor parallel GPUs, and not */
    const char *whole;     /* the first of those not, NULL: none */
} adept_partition;

/** Has it products of experts, which expert parallel GPUs can share? No allocation, thread-safe. */
ADEPT_API bool adept_program_has_experts(const adept_program *program);
/** @return ADEPT_E_USAGE naming operator and module of what cannot be split as asked; ADEPT_E_NOMEM.
 * adept_partition_free() whatever it is. */
ADEPT_API adept_status adept_partition_new(adept_partition *out, const adept_profile *profile, const adept_mesh *mesh,
                                           adept_error *err);
ADEPT_API void adept_partition_free(adept_partition *partition);

#endif
