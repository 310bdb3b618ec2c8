/* Optimizer steps. One row each: words of 4 bytes per parameter and FLOPs per parameter of one update.
 *
 * Words: theta is read and written by all; state (momenta, accumulators) is read and written once. The gradient is counted
 * apart, at its own size. Adam and AdamW are the thesis's eq 4.4 (theta, m, v read and written) and 4.5 (18 FLOPs).
 * FLOPs of the others count the multiplications, additions, divisions and roots of the update rule as PyTorch's
 * documentation of torch.optim prints it, weight decay included where it is on by default. Launches: kernels of the foreach
 * implementation for each group of up to 64 tensors (about one per elementwise step of the rule; 12 for AdamW). */
#include "adept_optimizer.h"
#include <math.h>
#include <string.h>

#define GROUP_TENSORS 64.0
#define WORD_BYTES 4.0

static const adept_optimizer rows[] = {
    /* name       state read write flops launches */
    {"none", 0, 0, 0, 0, 0},
    {"sgd", 0, 1, 1, 2, 1},       /* theta -= lr*g */
    {"momentum", 1, 2, 2, 4, 3},  /* m = mu*m + g; theta -= lr*m */
    {"nesterov", 1, 2, 2, 6, 4},  /* m = mu*m + g; theta -= lr*(g + mu*m) */
    {"adagrad", 1, 2, 2, 6, 4},   /* s += g*g; theta -= lr*g/(sqrt(s) + eps) */
    {"rmsprop", 1, 2, 2, 8, 5},   /* v = a*v + (1-a)*g*g; theta -= lr*g/(sqrt(v) + eps) */
    {"adadelta", 2, 3, 3, 16, 10}, /* v = r*v + (1-r)*g*g; d = sqrt(u+eps)/sqrt(v+eps)*g; u = r*u + (1-r)*d*d; theta -= lr*d */
    {"adam", 2, 3, 3, 18, 12},    /* eq 4.4, 4.5; the decay AdamW adds is in the thesis's 18 */
    {"adamw", 2, 3, 3, 18, 12},   /* eq 4.4, 4.5 */
    {"nadam", 2, 3, 3, 20, 14},   /* Adam with the momentum looked ahead: one more product and sum */
    {"adamax", 2, 3, 3, 12, 9},   /* m = b1*m + (1-b1)*g; u = max(b2*u, |g|+eps); theta -= lr/(1-b1^t)*m/u */
    {"lion", 1, 2, 2, 10, 7},     /* theta -= lr*(sign(b1*m + (1-b1)*g) + wd*theta); m = b2*m + (1-b2)*g */
};

#define COUNT (sizeof rows / sizeof *rows)

const adept_optimizer *adept_optimizer_by_name(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

const char *adept_optimizer_name(size_t index)
{
    return index < COUNT ? rows[index].name : NULL;
}

adept_optimizer_cost adept_optimizer_step(const adept_optimizer *optimizer, double params, double tensors, double grad_bytes)
{
    double gradient_bytes = optimizer->flops_per_param > 0 ? params * grad_bytes : 0;
    return (adept_optimizer_cost){
        .flops = params * optimizer->flops_per_param,
        .bytes_read = params * optimizer->read_words_per_param * WORD_BYTES + gradient_bytes,
        .bytes_written = params * optimizer->write_words_per_param * WORD_BYTES,
        .kernels = optimizer->launches_per_group * ceil(tensors / GROUP_TENSORS),
        .state_bytes = params * optimizer->state_words_per_param * WORD_BYTES,
    };
}
