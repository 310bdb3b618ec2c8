/* Quantisation: numbers of 8 bits with a scale and a zero point, and their imitation in training (QAT). Layers whose
 * weights are packed into objects (quantized::linear, quantized::conv2d, ...) are matrix products and convolutions: the
 * loader unpacks the weights. */
#include "elementwise_cost.h"
#include "form.h"
#include <string.h>

static void like_of_type(adept_call *c, adept_dtype dtype)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (adept_call_ok(c)) adept_form_out(c, dtype, x->ndim, x->dims);
}

static void quantize(adept_call *c)
{
    static const adept_dtype types[] = {ADEPT_I8, ADEPT_U8, ADEPT_I32}; /* PyTorch's 12 to 14: qint8, quint8, qint32 */
    int64_t type = adept_arg_int(c, "dtype", 12);
    bool known = type >= 12 && type <= 14;
    adept_call_refuse(c, !known, "%lld is no type of quantised numbers", (long long)type);
    like_of_type(c, types[known ? type - 12 : 0]);
}

static void dequantize(adept_call *c)
{
    like_of_type(c, ADEPT_F32);
}

static void pairs(adept_call *c)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_elem_tensor_at(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    if (!adept_call_ok(c)) return;
    int n = b ? adept_broadcast(c, a, b, dims) : a->ndim;
    if (!b) memcpy(dims, a->dims, sizeof dims);
    if (adept_call_ok(c)) adept_form_out(c, a->dtype, n, dims);
}

static void with_mask(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (!adept_call_ok(c)) return;
    adept_form_out(c, x->dtype, x->ndim, x->dims);
    adept_form_out(c, ADEPT_BOOL, x->ndim, x->dims)->requires_grad = false;
}

static void number(adept_call *c)
{
    adept_form_tensor(c, 0);
    adept_out_unknown(c);
}

/* divide, round, add, two comparisons, subtract, multiply; the gradient passes where nothing was cut off */
static const adept_form fake = {adept_form_like_first, {7, 0, 1}, {1, 0, 1}, ADEPT_KEEPS_MASK, NULL, NULL};
/* the extrema, their moving averages and the scale before */
static const adept_form observed = {adept_form_like_first, {9, 0, 4}, {1, 0, 1}, ADEPT_KEEPS_MASK, NULL, NULL};
/* quantised in and out: scaled, computed, rounded to the scale of the result */
static const adept_form pointwise = {adept_form_like_first, {8, 0, 1}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL};

static const adept_op ops[] = {
    {"aten::fake_quantize_per_tensor_affine aten::fake_quantize_per_channel_affine", ADEPT_CAST_FP32, &fake},
    /* and gradients of scale and zero point */
    {"aten::_fake_quantize_learnable_per_tensor_affine aten::_fake_quantize_learnable_per_channel_affine",
     ADEPT_CAST_FP32,
     &(const adept_form){adept_form_like_first, {7, 0, 1}, {12, 2, 3}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    {"aten::fused_moving_avg_obs_fake_quant", ADEPT_CAST_FP32, &observed},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", ADEPT_CAST_FP32,
     &(const adept_form){with_mask, {7, 0, 1}, {1, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::_fused_moving_avg_obs_fq_helper", ADEPT_CAST_FP32,
     &(const adept_form){with_mask, {9, 0, 4}, {1, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::quantize_per_tensor aten::quantize_per_channel", ADEPT_CAST_NONE,
     &(const adept_form){quantize, {5, 0, 1}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::dequantize", ADEPT_CAST_NONE,
     &(const adept_form){dequantize, {2, 0, 1}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::int_repr", ADEPT_CAST_NONE,
     &(const adept_form){adept_form_like_first, {0, 0, 1}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::q_scale aten::q_zero_point", ADEPT_CAST_NONE,
     &(const adept_form){number, {0, 0, 0}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"quantized::relu6 quantized::clamp quantized::threshold quantized::hardswish quantized::sigmoid quantized::elu "
     "quantized::celu quantized::leaky_relu quantized::dropout",
     ADEPT_CAST_NONE, &pointwise},
    {"quantized::add quantized::add_relu quantized::mul quantized::mul_relu quantized::add_scalar "
     "quantized::add_scalar_relu quantized::mul_scalar quantized::mul_scalar_relu",
     ADEPT_CAST_NONE, &(const adept_form){pairs, {8, 0, 1}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {0},
};

const adept_handler adept_handler_quantized = {
    .kind = "quantized", .shard = ADEPT_SHARD_ELEMENTWISE,
    .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost};
