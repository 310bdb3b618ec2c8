/* What one optimizer step computes and moves. Algorithms as in the documentation of torch.optim (Lion: Chen et al.
 * 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2), without weight decay unless the name implies it.
 * Every word is read and written once, as the thesis counts AdamW (eq 4.4). Launches: the kernels of PyTorch's default
 * foreach implementation, which takes up to 64 tensors at a time; AdamW's 12 are the specification's. */
#include "adept_optimizer.h"
#include <math.h>
#include <string.h>

#define WORD_BYTES 4
#define TENSORS_PER_GROUP 64

static const adept_optimizer optimizers[] = {
    /* name, state, read, written, FLOPs, launches */
    {"none", 0, 0, 0, 0, 0},
    /* p -= lr g: multiply, subtract. add_ */
    {"sgd", 0, 1, 1, 2, 1},
    /* v = mu v + g; p -= lr v. mul_, add_, add_ */
    {"momentum", 1, 2, 2, 4, 3},
    /* v = mu v + g; p -= lr (g + mu v). mul_, add_, add_, add_ */
    {"nesterov", 1, 2, 2, 6, 4},
    /* m, v, bias corrections, root, epsilon, quotient, step, decay: eq 4.5 */
    {"adam", 2, 3, 3, 18, 12},
    {"adamw", 2, 3, 3, 18, 12},
    /* m = b1 m + (1 - b1) g (3); u = max(b2 u, |g| + e) (4); p -= c m / u (3). lerp_, mul_, abs, add_, maximum_,
       addcdiv_ */
    {"adamax", 2, 3, 3, 10, 6},
    /* m (3); v = b2 v + (1 - b2) g g (4); sqrt(v / c) + e (3); p -= c1 g / that, p -= c2 m / that (3 + 3).
     * lerp_, mul_, addcmul_, div, sqrt_, add_, addcdiv_, addcdiv_ */
    {"nadam", 2, 3, 3, 16, 8},
    /* v = r v + (1 - r) g g (4); d = g sqrt(u + e) / sqrt(v + e) (6); u = r u + (1 - r) d d (4); p -= lr d (2).
     * mul_, addcmul_, add, sqrt_, add, sqrt_, div_, mul_, mul_, addcmul_, add_ */
    {"adadelta", 2, 3, 3, 16, 11},
    /* s += g g (2); p -= lr g / (sqrt(s) + e) (5). addcmul_, sqrt, add_, mul_, addcdiv_ */
    {"adagrad", 1, 2, 2, 7, 5},
    /* v = a v + (1 - a) g g (4); p -= lr g / (sqrt(v) + e) (5). mul_, addcmul_, sqrt, add_, addcdiv_ */
    {"rmsprop", 1, 2, 2, 9, 5},
    /* c = sign(b1 m + (1 - b1) g) (4); p -= lr (c + l p) (4); m = b2 m + (1 - b2) g (3).
     * mul, add_, sign_, mul_, add_, mul_, add_ */
    {"lion", 1, 2, 2, 11, 7},
};

#define N_OPTIMIZERS (sizeof optimizers / sizeof *optimizers)

const adept_optimizer *adept_optimizer_by_name(const char *name)
{
    for (size_t i = 0; name && i < N_OPTIMIZERS; i++)
        if (!strcmp(optimizers[i].name, name)) return &optimizers[i];
    return NULL;
}

const char *adept_optimizer_name(size_t index)
{
    return index < N_OPTIMIZERS ? optimizers[index].name : NULL;
}

adept_optimizer_cost adept_optimizer_step(const adept_optimizer *optimizer, double params, double tensors,
                                          double grad_bytes)
{
    adept_optimizer_cost cost = {0};
    if (optimizer->read_words_per_param == 0) return cost; /* none: not even the gradient is read */
    cost.flops = optimizer->flops_per_param * params;
    cost.bytes_read = (WORD_BYTES * optimizer->read_words_per_param + grad_bytes) * params;
    cost.bytes_written = WORD_BYTES * optimizer->write_words_per_param * params;
    cost.kernels = optimizer->launches_per_group * ceil(tensors / TENSORS_PER_GROUP);
    cost.state_bytes = WORD_BYTES * optimizer->state_words_per_param * params;
    return cost;
}
