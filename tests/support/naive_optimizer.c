#include "naive_optimizer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kernels as "what is read>what is written", one letter a tensor: p parameter, g gradient, m and v (s, u) state, the
 * rest temporaries; x is of 16 bits, no word. `fused`: all in as few kernels as there can be. `kernels`: where PyTorch
 * runs more, on single numbers of each tensor. */
static const struct recipe {
    const char *name, *kept, *kernels, *fused;
    double extra_kernels, flops;
} recipes[] = {
    {"sgd", "", "pg>p", "pg>p", 0, 2},
    {"momentum", "v", "v>v vg>v pv>p", "pvg>pv", 0, 4},
    {"nesterov", "v", "v>v vg>v gv>g pg>p", "pvg>pv", 0, 6},
    {"adam", "mv", "mg>m v>v vg>v v>d d>d d>d pmd>p", "pmvg>pmv", 5, 18},
    {"adamw", "mv", "p>p mg>m v>v vg>v v>d d>d d>d pmd>p", "pmvg>pmv", 4, 18},
    {"adamax", "mu", "mg>m u>u g>t t>t ut>u pmu>p", "pmug>pmu", 0, 10},
    {"nadam", "mv", "mg>m v>v vg>v v>d d>d d>d pgd>p pmd>p", "pmvg>pmv", 0, 16},
    {"adadelta", "uv", "v>v vg>v v>s s>s u>d d>d ds>d dg>d u>u ud>u pd>p", "puvg>puv", 0, 16},
    {"adagrad", "s", "sg>s s>d d>d g>t ptd>p", "psg>ps", 0, 7},
    {"rmsprop", "v", "v>v vg>v v>d d>d pgd>p", "pvg>pv", 0, 9},
    {"lion", "m", "m>c cg>c c>c p>p pc>p m>m mg>m", "pmg>pm", 0, 11},
    /* fused, the step is written before its norm is known, and read after */
    {"lamb", "mv", "mg>m v>v vg>v v>d d>d d>d umd>u up>u p> u> u>u pu>p", "pmvg>umv pu>p", 3, 24},
    {"adafactor", "", "p> g> g> >d d>d d>d d>d dg>d d> pd>p", "pg>p", 8, 15},
    {"muon", "m", "mg>m mg>u u>x x> x>x p>p px>p", "pmg>pm", 1, 12}, /* and its products, which run beside */
    {"bertadam", "mv", "g> g>g m>m mg>m v>v vg>v v>d d>d md>u p>t ut>u u>u pu>p", "pmvg>pmv", 3, 24},
};

/* Lines of PyTorch's fused_adam_utils.cuh for each parameter: FP32 numbers made doubles, FP64 instructions (a product
 * and a sum are one), and the result made FP32. Constants apart. */
static double adam_doubles(bool decays)
{
    double decay = 1 + 1 + 1;        /* p - (lr wd) p */
    double first = 2 + 2 + 1;        /* b1 m + (1 - b1) g */
    double second = 1 + 3 + 1;       /* b2 v + (1 - b2) g g, where g is a double already */
    double denominator = 1 + 1 + 1;  /* sqrt(v) / c + eps */
    return (decays ? decay : 0) + first + second + denominator;
}

static double count(const char *text, bool of_gradient)
{
    double n = 0;
    for (; *text; text++)
        if (*text != ' ' && *text != '>' && *text != 'x') n += (*text == 'g') == of_gradient;
    return n;
}

static const struct recipe *recipe_of(const char *name)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (strcmp(recipes[i].name, name) == 0) return &recipes[i];
    abort();
}

naive_words naive_optimizer_words(const char *name)
{
    /* one kernel: parameter in and out; the moments are no words */
    if (strcmp(name, "adamw8bit") == 0) return (naive_words){2, 2, 1, 0, 1};
    const struct recipe *r = recipe_of(name);
    double kernels = 1 + r->extra_kernels;
    for (const char *at = r->kernels; *at; at++)
        kernels += *at == ' ';
    return (naive_words){count(r->fused, false), count(r->kernels, false), count(r->kernels, true),
                         (double)strlen(r->kept), kernels};
}

naive_optimizer naive_optimizer_of(const adept_profile *prof, double gradient_bytes)
{
    naive_optimizer o = {0};
    double params = (double)prof->trainable_params, tensors = (double)prof->trainable_tensors;
    const char *name = prof->optimizer ? prof->optimizer : "none";
    if (prof->mode != ADEPT_MODE_TRAIN || params == 0 || strcmp(name, "none") == 0) return o;
    naive_words words = naive_optimizer_words(name);
    bool factored = strcmp(name, "adafactor") == 0; /* squares of params / tensors, a word for each row and column */
    bool one_by_one = strcmp(name, "bertadam") == 0 || factored, scaled = prof->precision == ADEPT_AMP_FP16;
    bool fused = prof->optimizer_impl == ADEPT_IMPL_FUSED && !one_by_one;
    bool master = prof->optimizer_extras & ADEPT_EXTRA_MASTER;
    bool half = prof->precision == ADEPT_PURE_BF16 || prof->precision == ADEPT_PURE_FP16;
    double word = half && !master ? 2 : 4, copies = 0, gradients = fused ? 1 : words.gradients;
    double kernels = fused ? 1 : words.kernels, extra_bytes = 0;
    if (prof->optimizer_extras & ADEPT_EXTRA_CLIP) gradients += 1 + 2, kernels += 2; /* norm, scaled */
    if (scaled || (prof->optimizer_extras & ADEPT_EXTRA_UNSCALE)) gradients += 2, kernels += 1;
    if (prof->optimizer_extras & ADEPT_EXTRA_ZERO_GRAD) gradients += 1, kernels += 1;
    if (prof->optimizer_extras & ADEPT_EXTRA_EMA) extra_bytes += 3 * 4, copies += 4, kernels += 1;
    double of_gradient = gradients * gradient_bytes;
    if (master) { /* 16-bit gradients made FP32 ones, FP32 parameters made 16-bit ones */
        of_gradient = gradients * 4;
        extra_bytes += gradient_bytes + 4 + 4 + 2, copies += 8, kernels += 2;
    }
    o.flops = params * (strcmp(name, "adamw8bit") == 0 ? 22 : recipe_of(name)->flops);
    o.kernels = kernels * (one_by_one || prof->optimizer_impl == ADEPT_IMPL_FORLOOP ? tensors : ceil(tensors / 64));
    o.waits = factored ? 2 * tensors : one_by_one ? tensors : 0;
    o.corrects = prof->optimizer_impl <= ADEPT_IMPL_FOREACH && strstr("adam adamw adamax nadam", name);
    o.streams = fused && prof->framework == ADEPT_TORCH2 && strcmp(name, "muon") != 0;
    if (fused && prof->framework == ADEPT_TORCH2 && (strcmp(name, "adam") == 0 || strcmp(name, "adamw") == 0))
        o.doubles = params * adam_doubles(strcmp(name, "adamw") == 0);
    double own = 0;
    if (strcmp(name, "adamw8bit") == 0) own = params * 2 + params / 256 * 2 * 4;
    if (factored) own = tensors * 2 * sqrt(params / tensors) * word;
    o.once_bytes = params * word * words.once + 2 * own;
    o.moved_bytes = params * (word * (fused ? words.once : words.moved) + of_gradient + extra_bytes) + 2 * own;
    o.state_bytes = params * (word * words.state + copies) + own;
    return o;
}
