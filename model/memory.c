/** @file memory.c  The memory estimate; see plan.h. Calls: nothing. */
#include "plan.h"

/* CUDA context, cuBLAS and cuDNN handles and their workspaces: a few hundred MiB on every current GPU, more with many
 * loaded kernels. A round allowance, not a measurement. */
#define CONTEXT_BYTES (600.0 * 1024 * 1024)
/* The caching allocator rounds and splits blocks. Likewise an allowance. */
#define FRAGMENTATION_SHARE 0.04

adept_memory adept_memory_estimate(const adept_profile *prof, double optimizer_state_bytes, double capacity_bytes,
                                   int64_t gpus)
{
    bool trains = prof->mode != ADEPT_MODE_INFER;
    adept_memory m = {
        .weights_bytes = prof->weights_bytes,
        .gradients_bytes = trains ? prof->trainable_bytes : 0.0,
        .optimizer_bytes = optimizer_state_bytes,
        .activations_bytes = prof->activations_bytes,
        .capacity_bytes = capacity_bytes,
    };
    double tensors = m.weights_bytes + m.gradients_bytes + m.optimizer_bytes + m.activations_bytes +
                     prof->autocast_copy_bytes + prof->temporary_bytes;
    /* DistributedDataParallel keeps its buckets beside the gradients unless gradient_as_bucket_view is set. */
    double buckets = gpus > 1 ? m.gradients_bytes : 0.0;
    m.other_bytes = prof->autocast_copy_bytes + prof->temporary_bytes + buckets + CONTEXT_BYTES +
                    FRAGMENTATION_SHARE * (tensors + buckets);
    m.peak_bytes = m.weights_bytes + m.gradients_bytes + m.optimizer_bytes + m.activations_bytes + m.other_bytes;
    m.fits = m.peak_bytes <= capacity_bytes;
    return m;
}
