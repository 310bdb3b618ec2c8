/* Dropout in its variants, and bernoulli. The mode decides, not the flag baked into the file: active in training unless
 * the probability is 0, nothing at all in inference. 2 FLOPs per element: draw and scale. */
#include "gemm_cost.h"

typedef enum kind {
    ELEMENT, /* one fused kernel; keeps a mask of one byte per element */
    NATIVE,  /* the same, and the mask is a result */
    CHANNEL, /* noise for every channel of every image, in the input's type; multiplied in */
    ALPHA,   /* noise that keeps mean and variance of SELU's output: a chain of elementwise kernels */
    DRAW     /* bernoulli: ones and zeros, in every mode; its gradient is zero */
} kind;

typedef struct form {
    kind kind;
    bool channel; /* ALPHA only: noise per channel */
} form;

static const adept_op ops[] = {
    {"aten::dropout", ADEPT_ROLE_DROPOUT, &(const form){.kind = ELEMENT}},
    {"aten::native_dropout", ADEPT_CAST_NONE, &(const form){.kind = NATIVE}},
    {"aten::feature_dropout", ADEPT_CAST_NONE, &(const form){.kind = CHANNEL}},
    {"aten::alpha_dropout", ADEPT_CAST_NONE, &(const form){.kind = ALPHA}},
    {"aten::feature_alpha_dropout", ADEPT_CAST_NONE, &(const form){.kind = ALPHA, .channel = true}},
    {"aten::bernoulli", ADEPT_CAST_NONE, &(const form){.kind = DRAW}},
    {0},
};

/* PyTorch drops channels of two dimensions at least: where there are fewer, it was traced without effect. */
static bool drops(adept_call *c, const adept_tensor *x)
{
    const form *f = adept_call_data(c);
    return adept_call_training(c) && adept_arg_float(c, "p", 0.5) > 0 &&
           (x->ndim >= 2 || !(f->kind == CHANNEL || f->channel));
}

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    if (f->kind == DRAW) {
        const adept_tensor *self = adept_arg_tensor(c, "self");
        if (adept_call_ok(c)) adept_out_result(c, self, self->dtype, self->ndim, self->dims);
        return;
    }
    const adept_tensor *x = adept_arg_tensor(c, "input");
    double p = adept_arg_float(c, "p", 0.5);
    if (!(p >= 0 && p <= 1)) adept_call_fail(c, "probability %g is not between 0 and 1", p);
    if ((f->kind == CHANNEL || f->channel) && x->ndim < 2 && adept_arg_bool(c, "train", false))
        adept_call_fail(c, "whole channels are dropped of 2 dimensions at least");
    if (adept_arg_bool(c, "train", false) && p > 0 && !adept_dtype_has_fraction(x->dtype))
        adept_call_fail(c, "%s is not scaled by a fraction", adept_call_shape(c, x));
    if (!adept_call_ok(c)) return;
    if (drops(c, x))
        adept_out_result(c, x, x->dtype, x->ndim, x->dims);
    else
        adept_out_alias(c, x);
    if (f->kind == NATIVE) adept_out_tensor(c, ADEPT_BOOL, x->ndim, x->dims);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    if (f->kind == DRAW) {
        const adept_tensor *self = adept_arg_tensor(c, "self"), *out = adept_result_tensor(c, 0);
        const adept_value *p = adept_arg(c, "p");
        double drawn = (double)adept_tensor_numel(out), read = 0;
        if (p && p->kind == ADEPT_VALUE_TENSOR)
            read = adept_tensor_unique_bytes(p->u.t);
        else if (!adept_arg_given(c, "p") && !adept_call_inplace(c))
            read = adept_tensor_unique_bytes(self); /* the probabilities */
        adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, drawn, drawn, read, adept_tensor_bytes(out));
        return;
    }
    const adept_tensor *x = adept_arg_tensor(c, "input");
    if (!drops(c, x)) return;
    double n = (double)adept_tensor_numel(x), bytes = adept_tensor_bytes(x), read = adept_tensor_unique_bytes(x);
    if (f->kind != CHANNEL && f->kind != ALPHA) {
        /* one kernel draws, drops and scales, and notes in the mask what it kept; the backward is mask * dy * scale */
        double mask_bytes = n;
        adept_cost_alu(cost, ADEPT_FORWARD, x->dtype, n, 2 * n, read, bytes + mask_bytes);
        adept_cost_alu(cost, ADEPT_BACKWARD, x->dtype, n, 4 * n, bytes + mask_bytes, bytes);
        adept_cost_save_bytes(cost, mask_bytes);
        return;
    }
    double noise = f->kind == CHANNEL || f->channel ? (double)x->dims[0] * (double)x->dims[1] : n;
    double noise_bytes = noise * adept_dtype_bytes(x->dtype);
    if (f->kind == CHANNEL) { /* bernoulli_ and div_ on the noise, then x * noise */
        adept_cost_stream(cost, ADEPT_FORWARD, x->dtype, noise, 2 * noise, noise_bytes, 2 * noise_bytes, 2);
        adept_cost_alu(cost, ADEPT_FORWARD, x->dtype, n, n, read + noise_bytes, bytes);
    } else { /* noise ~ bernoulli; b = (noise - 1) * c1 + c2, three kernels; noise *= a; x * noise + b, two */
        adept_cost_stream(cost, ADEPT_FORWARD, x->dtype, 5 * noise, 5 * noise, 4 * noise_bytes, 5 * noise_bytes, 5);
        adept_cost_stream(cost, ADEPT_FORWARD, x->dtype, 2 * n, 2 * n, read + bytes + 2 * noise_bytes, 2 * bytes, 2);
    }
    adept_cost_alu(cost, ADEPT_BACKWARD, x->dtype, n, n, bytes + noise_bytes, bytes); /* dy * noise */
    adept_cost_save_bytes(cost, noise_bytes);
}

const adept_handler adept_handler_dropout = {
    .kind = "dropout", .shard = ADEPT_SHARD_ELEMENTWISE, .ops = ops, .shape = shape, .cost = cost};
