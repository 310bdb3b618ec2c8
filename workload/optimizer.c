/* What one optimizer step computes and moves. Algorithms as in the documentation of torch.optim (Lion: Chen et al.
 * 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2; LAMB: You et al. 2020, algorithm 2; BertAdam: as
 * in NVIDIA's DeepLearningExamples; Adafactor: Shazeer and Stern 2018, algorithm 4; Muon: torch.optim.Muon), without
 * weight decay unless the name implies it. Operations are those of PyTorch's foreach implementation, with what each
 * reads and writes; AdamW's 12 launches are the specification's.
 *
 * PyTorch's fused Adam has its constants as doubles (fused_adam_utils.cuh). So FP32 numbers are converted, multiplied
 * in FP64 and converted back: 9 conversions and 7 operations for AdamW, without weight decay 7 and 6. A conversion
 * takes as long as an operation on GPUs with few FP64 units (CUDA C++ Programming Guide, "Arithmetic Instructions"). */
#include "adept_optimizer.h"
#include "adept_fields.h"
#include "nearest.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MASTER_BYTES 4
#define HALF_BYTES 2
#define TENSORS_PER_GROUP 64
#define ROUNDED_USES 5 /* of what Muon multiplies, besides: written, read for its norm, divided in place, subtracted   \
                        */

static const adept_optimizer optimizers[] = {
    /* name, state, read, written, FLOPs, operations, words they move, uses of the gradient, waits, bytes of state
     * besides, factors, iterations, FP64 instructions if fused, numbers of each tensor */
    {"none", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    /* p -= lr g: multiply, subtract. add_ (p g -> p) */
    {"sgd", 0, 1, 1, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0},
    /* v = mu v + g; p -= lr v. mul_ (v), add_ (v g), add_ (p v) */
    {"momentum", 1, 2, 2, 4, 3, 7, 1, 0, 0, 0, 0, 0, 0},
    /* v = mu v + g; p -= lr (g + mu v). mul_ (v), add_ (v g), add_ (g v -> g), add_ (p g) */
    {"nesterov", 1, 2, 2, 6, 4, 7, 4, 0, 0, 0, 0, 0, 0},
    /* m, v, bias corrections, root, epsilon, quotient, step, decay: eq 4.5. lerp_ (m g), mul_ (v), addcmul_ (v g),
       sqrt, div_, add_, addcdiv_ (p m d); AdamW: and mul_ (p) */
    {"adam", 2, 3, 3, 18, 12, 16, 2, 0, 0, 0, 0, 13, 1},
    {"adamw", 2, 3, 3, 18, 12, 18, 2, 0, 0, 0, 0, 16, 1},
    /* m = b1 m + (1 - b1) g (3); u = max(b2 u, |g| + e) (4); p -= c m / u (3). lerp_ (m g), mul_ (u), abs (g -> t),
       add_ (t), maximum_ (u t), addcdiv_ (p m u) */
    {"adamax", 2, 3, 3, 10, 6, 14, 2, 0, 0, 0, 0, 0, 1},
    /* m (3); v = b2 v + (1 - b2) g g (4); sqrt(v / c) + e (3); p -= c1 g / that, p -= c2 m / that (3 + 3).
     * lerp_ (m g), mul_ (v), addcmul_ (v g), div, sqrt_, add_, addcdiv_ (p g d), addcdiv_ (p m d) */
    {"nadam", 2, 3, 3, 16, 8, 19, 3, 0, 0, 0, 0, 0, 1},
    /* v = r v + (1 - r) g g (4); d = g sqrt(u + e) / sqrt(v + e) (6); u = r u + (1 - r) d d (4); p -= lr d (2).
     * mul_ (v), addcmul_ (v g), add, sqrt_, add, sqrt_, div_, mul_ (d g), mul_ (u), addcmul_ (u d), add_ (p d) */
    {"adadelta", 2, 3, 3, 16, 11, 25, 2, 0, 0, 0, 0, 0, 0},
    /* s += g g (2); p -= lr g / (sqrt(s) + e) (5). addcmul_ (s g), sqrt, add_, mul (g -> t), addcdiv_ (p t d) */
    {"adagrad", 1, 2, 2, 7, 5, 11, 2, 0, 0, 0, 0, 0, 0},
    /* v = a v + (1 - a) g g (4); p -= lr g / (sqrt(v) + e) (5). mul_ (v), addcmul_ (v g), sqrt, add_, addcdiv_ (p g d)
     */
    {"rmsprop", 1, 2, 2, 9, 5, 11, 2, 0, 0, 0, 0, 0, 0},
    /* c = sign(b1 m + (1 - b1) g) (4); p -= lr (c + l p) (4); m = b2 m + (1 - b2) g (3).
     * mul (m -> c), add_ (c g), sign_, mul_ (p), add_ (p c), mul_ (m), add_ (m g) */
    {"lion", 1, 2, 2, 11, 7, 15, 2, 0, 0, 0, 0, 0, 0},
    /* AdamW's step u, then p -= lr |p| / |u| u. Two kernels and two norms if fused: u is written and read. As AdamW,
     * into u instead of p (u m d), with decay add_ (u p), two norms (p, u), mul_ (u), add_ (p u) */
    {"lamb", 2, 5, 4, 24, 15, 26, 2, 0, 0, 0, 0, 0, 0},
    /* m and v in 8 bits with an FP32 scale for each block of 256 (bitsandbytes): 2 + 8 / 256 bytes. One kernel */
    {"adamw8bit", 0, 1, 1, 22, 1, 2, 1, 0, 2 + 8.0 / 256, 0, 0, 0, 0},
    /* Without first moment: the host takes norms of p and of the step (2 + 2); of squares of g, sums by row and by
     * column (4); their outer product over a mean, clamped (3); 1 / root, times g, p += (4). norm (p), norm (g) twice,
     * matmul (-> d), div_ (d), clamp_ (d), rsqrt_ (d), mul_ (d g), norm (d), add_ (p d), and 8 on rows and columns */
    {"adafactor", 0, 1, 1, 15, 18, 14, 3, 2, 0, 2, 0, 0, 0},
    /* Each tensor's gradient is clipped by its own norm, which the host looks at. norm (g), mul_ (g), mul_ (m), add_ (m
     * g), mul_ (v), addcmul_ (v g), sqrt, add_, div (m d), mul (p -> t), add_ (u t), mul_ (u), add_ (p u), and 3 of
     * single numbers */
    {"bertadam", 2, 3, 3, 24, 16, 25, 5, 1, 0, 0, 0, 0, 0},
    /* Momentum v, u = g + mu (v - g), then X = u / |u| in bf16 becomes orthogonal: 5 times G = X X^T, U = b G + c G G,
     * X = a X + U X, on the smaller side. The first, and both sums, are products; their addends are copied before (10).
     * p decays and p -= lr X. lerp_ (v g), lerp (v g -> u), to bf16 (u -> x), norm (x), clamp, div_ (x), mul_ (p),
     * add_ (p x): 9 words, and x five times, which are bytes of their own */
    {"muon", 1, 2, 2, 12, 8, 9, 2, 0, 0, 0, 5, 0, 0},
};

#define N_OPTIMIZERS (sizeof optimizers / sizeof *optimizers)

static const char *const extra_names[] = {"clip", "unscale", "master", "ema", "zero_grad", NULL};

/* PyTorch 2.3: Adam, AdamW and SGD; Adagrad's is of CPUs. */
bool adept_optimizer_can_fuse(const adept_optimizer *optimizer)
{
    static const char *const names[] = {"adam", "adamw", "sgd", "momentum", "nesterov"};
    for (size_t i = 0; optimizer && i < sizeof names / sizeof *names; i++)
        if (strcmp(optimizer->name, names[i]) == 0) return true;
    return false;
}

const adept_optimizer *adept_optimizer_by_name(const char *name)
{
    size_t i = adept_name_index(name, adept_optimizer_name);
    return i < N_OPTIMIZERS ? &optimizers[i] : NULL;
}

const char *adept_optimizer_name(size_t index)
{
    return index < N_OPTIMIZERS ? optimizers[index].name : NULL;
}

const char *adept_optimizer_extra_name(size_t index)
{
    return index < sizeof extra_names / sizeof *extra_names ? extra_names[index] : NULL;
}

static const adept_field extras_of = {.kind = ADEPT_FIELD_SET, .names = adept_optimizer_extra_name};

bool adept_optimizer_extras_parse(unsigned *out, const char *text)
{
    return adept_field_set_text(&extras_of, out, text);
}

char *adept_optimizer_extras_print(char *text, size_t size, unsigned extras)
{
    char all[ADEPT_FIELD_TEXT_BYTES];
    snprintf(text, size, "%s", adept_field_text(all, &extras_of, &extras));
    return text;
}

/* Kernels of what runs, over all tensors. */
static double launches(const adept_optimizer_run *run, double operations)
{
    double groups = ceil(run->tensors / TENSORS_PER_GROUP);
    return operations * (run->impl == ADEPT_IMPL_FORLOOP || run->optimizer->waits > 0 ? run->tensors : groups);
}

static bool is_fused(const adept_optimizer_run *run)
{
    return run->impl == ADEPT_IMPL_FUSED && run->optimizer->waits == 0;
}

static void add_plain_step(adept_optimizer_cost *cost, const adept_optimizer_run *run)
{
    const adept_optimizer *o = run->optimizer;
    bool fused = is_fused(run);
    double word_bytes = run->extras & ADEPT_EXTRA_MASTER ? MASTER_BYTES : run->word_bytes,
           words = word_bytes * run->params;
    /* rows and columns as if tensors were squares of one size: some percent of a word */
    double own_bytes =
        o->own_bytes_per_param * run->params + o->factors * word_bytes * sqrt(run->params * run->tensors);
    if (o->read_words_per_param == 0 || run->params == 0) return; /* none: not even the gradient is read */
    cost->flops += o->flops_per_param * run->params;
    cost->bytes_read += words * o->read_words_per_param + own_bytes;
    cost->bytes_written += words * o->write_words_per_param + own_bytes;
    cost->moved_bytes += 2 * own_bytes;
    cost->moved_bytes += words * (fused ? o->read_words_per_param + o->write_words_per_param : o->moved_words);
    cost->moved_gradients += run->params * (fused ? 1 : o->gradient_uses);
    cost->kernels += launches(run, fused ? 1 : o->operations);
    if (fused && !run->floats) cost->double_operations += o->double_operations * run->params;
    cost->state_bytes += words * o->state_words_per_param + own_bytes;
    cost->waits += o->waits * run->tensors;
    if (run->impl != ADEPT_IMPL_FUSED && run->impl != ADEPT_IMPL_FORLOOP) cost->numbers += o->numbers * run->tensors;
}

/* ---- of matrices ---- */

/* X is kept as the smaller side by the larger. */
void adept_optimizer_products(adept_kernel out[ADEPT_MUON_PRODUCTS], const adept_matrices *of)
{
    bool tall = of->rows > of->columns;
    double s = (double)(tall ? of->columns : of->rows), l = (double)(tall ? of->rows : of->columns);
    const double dims[ADEPT_MUON_PRODUCTS][3] = {{s, s, l}, {s, s, s}, {s, l, s}}; /* X X^T, G G, U X */
    for (int i = 0; i < ADEPT_MUON_PRODUCTS; i++) {
        double m = dims[i][0], n = dims[i][1], k = dims[i][2], added = i > 0 ? m * n : 0.0;
        out[i] = (adept_kernel){.pass = ADEPT_BACKWARD,
                                .unit = ADEPT_UNIT_GEMM,
                                .family = ADEPT_FAMILY_GEMM,
                                .dtype = ADEPT_BF16,
                                .flops = 2.0 * m * n * k,
                                .bytes_read = HALF_BYTES * (m * k + k * n + added),
                                .bytes_written = HALF_BYTES * m * n,
                                .launches = 1.0,
                                .m = m,
                                .n = n,
                                .k = k,
                                .batch = 1.0};
    }
}

/* Matrices one after the other, AdamW on the rest. */
static void add_matrix_step(adept_optimizer_cost *cost, const adept_optimizer_run *run)
{
    adept_optimizer_run own = *run, rest = *run;
    own.impl = ADEPT_IMPL_FORLOOP;
    own.params = own.tensors = 0;
    rest.optimizer = adept_optimizer_by_name("adamw");
    for (size_t i = 0; i < run->n_matrices; i++) {
        const adept_matrices *m = &run->matrices[i];
        own.params += (double)m->rows * (double)m->columns * (double)m->n;
        own.tensors += (double)m->n;
        adept_kernel products[ADEPT_MUON_PRODUCTS];
        double times = run->optimizer->iterations * (double)m->n, elements = (double)m->rows * (double)m->columns;
        adept_optimizer_products(products, m);
        cost->moved_bytes += ROUNDED_USES * HALF_BYTES * elements * (double)m->n;
        for (int k = 0; k < ADEPT_MUON_PRODUCTS; k++) {
            double copies = k > 0 ? 1.0 : 0.0; /* of what is added: read and written */
            cost->product_flops += times * products[k].flops;
            cost->kernels += times * (1.0 + copies);
            cost->moved_bytes += times * copies * 2.0 * products[k].bytes_written;
        }
    }
    rest.params -= own.params, rest.tensors -= own.tensors;
    add_plain_step(cost, &own);
    add_plain_step(cost, &rest);
}

adept_optimizer_cost adept_optimizer_step(const adept_optimizer_run *run)
{
    bool multiplies = run->optimizer->iterations > 0;
    adept_optimizer_cost cost = {.streams = is_fused(run) && !run->floats && !multiplies};
    (multiplies ? add_matrix_step : add_plain_step)(&cost, run);
    if (!(cost.bytes_read > 0.0)) return cost; /* nothing runs */
    if (run->extras & ADEPT_EXTRA_CLIP) cost.moved_gradients += 3 * run->params, cost.kernels += launches(run, 2);
    if (run->extras & ADEPT_EXTRA_UNSCALE) cost.moved_gradients += 2 * run->params, cost.kernels += launches(run, 1);
    if (run->extras & ADEPT_EXTRA_ZERO_GRAD) cost.moved_gradients += run->params, cost.kernels += launches(run, 1);
    if (run->extras & ADEPT_EXTRA_EMA) {
        cost.moved_bytes += 3 * MASTER_BYTES * run->params;
        cost.state_bytes += MASTER_BYTES * run->params;
        cost.kernels += launches(run, 1);
    }
    if (run->extras & ADEPT_EXTRA_MASTER) {
        /* gradients become FP32 ones, which the optimizer takes; parameters are copied back */
        cost.moved_bytes +=
            (MASTER_BYTES * cost.moved_gradients / run->params + 2 * MASTER_BYTES + HALF_BYTES) * run->params;
        cost.moved_gradients = run->params;
        cost.state_bytes += 2 * MASTER_BYTES * run->params;
        cost.kernels += launches(run, 2);
    }
    return cost;
}
