/* Resizing of images: nearest, linear, cubic. FLOPs per output element: one multiply-add (2) per tap of the kernel,
 * none for a copy of the nearest. The backward spreads each gradient over the same taps: the same number of
 * multiply-adds. */
#include "adept_handler.h"
#include <math.h>

typedef struct form {
    int spatial;
    int taps;  /* 1: nearest */
    int reach; /* antialiased: taps in each dimension where nothing shrinks, more by the factor where it does; else 0 */
} form;

static const form nearest1 = {1, 1, 0}, nearest2 = {2, 1, 0}, nearest3 = {3, 1, 0};

static const adept_op ops[] = {
    {"aten::upsample_nearest1d", ADEPT_CAST_FP32, &nearest1},
    {"aten::upsample_nearest2d", ADEPT_CAST_FP32, &nearest2},
    {"aten::upsample_nearest3d", ADEPT_CAST_FP32, &nearest3},
    {"aten::_upsample_nearest_exact1d", ADEPT_CAST_FP32, &nearest1},
    {"aten::_upsample_nearest_exact2d", ADEPT_CAST_FP32, &nearest2},
    {"aten::_upsample_nearest_exact3d", ADEPT_CAST_FP32, &nearest3},
    {"aten::upsample_linear1d", ADEPT_CAST_FP32, &(const form){1, 2, 0}},
    {"aten::upsample_bilinear2d", ADEPT_CAST_FP32, &(const form){2, 4, 0}},
    {"aten::upsample_trilinear3d", ADEPT_CAST_FP32, &(const form){3, 8, 0}},
    {"aten::upsample_bicubic2d", ADEPT_CAST_FP32, &(const form){2, 16, 0}},
    {"aten::_upsample_bilinear2d_aa", ADEPT_CAST_FP32, &(const form){2, 4, 2}},
    {"aten::_upsample_bicubic2d_aa", ADEPT_CAST_FP32, &(const form){2, 16, 4}},
    {0},
};

static const adept_tensor *input_of(adept_call *c)
{
    return adept_arg_tensor(c, adept_arg_given(c, "input") ? "input" : "self");
}

/* scale_factors: one number per dimension. PyTorch takes floor(size * scale) in double. */
static void scaled_size(adept_call *c, const adept_tensor *x, int spatial, int64_t *size)
{
    const adept_value *v = adept_arg(c, "scale_factors");
    if (adept_call_refuse(c, !adept_value_is_list(v) || v->u.list->n != (size_t)spatial,
                          "neither output_size nor %d scale_factors are given", spatial))
        return;
    for (int i = 0; i < spatial; i++) {
        double scale;
        if (!adept_value_as_float(&v->u.list->items[i], &scale)) {
            adept_call_fail(c, "scale_factors[%d] is %s, not a number", i,
                            adept_value_kind_name(v->u.list->items[i].kind));
            return;
        }
        double scaled = floor((double)x->dims[2 + i] * scale);
        if (adept_call_refuse(c, !(scaled >= 0 && scaled <= 1e12), "scale factor %g of %lld elements", scale,
                              (long long)x->dims[2 + i]))
            return;
        size[i] = (int64_t)scaled;
    }
}

/* To a size that data chooses, as that of a found object. */
static bool is_chosen(adept_call *c)
{
    const adept_value *v = adept_arg(c, "output_size");
    for (size_t i = 0; adept_value_is_list(v) && i < v->u.list->n; i++)
        if (adept_value_is_unknown(&v->u.list->items[i])) return true;
    return false;
}

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = input_of(c);
    int64_t dims[ADEPT_MAX_DIMS];
    if (!adept_call_ok(c)) return;
    if (x->ndim != f->spatial + 2) {
        adept_call_fail(c, "input %s, but %d dimensions are wanted", adept_call_shape(c, x), f->spatial + 2);
        return;
    }
    dims[0] = x->dims[0], dims[1] = x->dims[1];
    if (is_chosen(c)) {
        /* An object is at most as large as the image, which is what the model takes. Without one the size stays. */
        int64_t *size = dims + 2;
        const adept_tensor *image = adept_call_model_input(c);
        bool known = image && image->ndim > f->spatial;
        adept_call_chosen(c, x->dims[2]);
        for (int i = 0; i < f->spatial; i++)
            size[i] = known ? adept_call_chosen_side(c, image->dims[image->ndim - f->spatial + i], f->spatial)
                            : x->dims[2 + i];
        adept_call_assumes(
            c, known ? "data chooses the size: that of the model's input is taken (--assume-fraction F takes "
                       "a share of it)"
                     : "data chooses the size: that of its input is taken");
    } else if (adept_arg_given(c, "output_size")) {
        adept_arg_ints_n(c, "output_size", dims + 2, f->spatial, -1);
    } else {
        scaled_size(c, x, f->spatial, dims + 2);
    }
    for (int i = 2; i < x->ndim && adept_call_ok(c); i++)
        if (dims[i] < 1 || x->dims[i] < 1)
            adept_call_fail(c, "from %lld elements to %lld", (long long)x->dims[i], (long long)dims[i]);
    if (adept_call_ok(c)) adept_out_tensor(c, x->dtype, x->ndim, dims);
}

/* FLOPs of an output element. Antialiased: a sum over the columns of each row of its window, and one over those rows.
 */
static double element_flops(const form *f, const adept_tensor *x, const adept_tensor *y)
{
    double window[2];
    if (f->taps == 1) return 0;
    if (!f->reach) return 2 * f->taps;
    for (int i = 0; i < 2; i++) {
        double shrinks = (double)x->dims[2 + i] / (double)(y->dims[2 + i] > 0 ? y->dims[2 + i] : 1);
        window[i] = f->reach * (shrinks > 1 ? shrinks : 1);
    }
    return 2 * (window[0] * window[1] + window[0]);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = input_of(c), *y = adept_result_tensor(c, 0);
    double n = (double)adept_tensor_numel(y), flops = n * element_flops(f, x, y);
    adept_cost_alu(cost, ADEPT_FORWARD, y->dtype, n, flops, adept_tensor_unique_bytes(x), adept_tensor_bytes(y));
    adept_cost_alu(cost, ADEPT_BACKWARD, y->dtype, n, f->taps > 1 ? flops : n, adept_tensor_bytes(y),
                   adept_tensor_bytes(x));
}

const adept_handler adept_handler_interpolate = {
    .kind = "interpolate", .shard = ADEPT_SHARD_BATCH, .ops = ops, .shape = shape, .cost = cost};
