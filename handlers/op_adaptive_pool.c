/* Adaptive pooling: the output's size is given, window i covers floor(i in / out) to ceil((i + 1) in / out). */
#include "adept_handler.h"

#define MAX_SPATIAL 3

typedef struct form {
    int spatial;
    bool max;
    bool own; /* the form autograd sees: adaptive_avg_pool to size 1 is a mean before it gets there */
} form;

static const adept_op ops[] = {
    {"aten::adaptive_avg_pool1d", ADEPT_CAST_NONE, &(const form){1, false, false}},
    {"aten::adaptive_avg_pool2d", ADEPT_CAST_NONE, &(const form){2, false, false}},
    {"aten::adaptive_avg_pool3d", ADEPT_CAST_NONE, &(const form){3, false, false}},
    {"aten::_adaptive_avg_pool2d", ADEPT_CAST_NONE, &(const form){2, false, true}},
    {"aten::_adaptive_avg_pool3d", ADEPT_CAST_NONE, &(const form){3, false, true}},
    {"aten::adaptive_max_pool1d", ADEPT_CAST_NONE, &(const form){1, true, false}},
    {"aten::adaptive_max_pool2d", ADEPT_CAST_NONE, &(const form){2, true, false}},
    {"aten::adaptive_max_pool3d", ADEPT_CAST_NONE, &(const form){3, true, false}},
    {0},
};

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self");
    int64_t dims[ADEPT_MAX_DIMS], size[MAX_SPATIAL];
    int lead = x->ndim - f->spatial;
    adept_arg_ints_n(c, "output_size", size, f->spatial, -1);
    if (!adept_call_ok(c)) return;
    if (lead < 1 || lead > 2) {
        adept_call_fail(c, "input %s, but %d or %d dimensions are wanted", adept_call_shape(c, x), f->spatial + 1,
                        f->spatial + 2);
        return;
    }
    for (int i = 0; i < x->ndim; i++)
        dims[i] = i < lead ? x->dims[i] : size[i - lead];
    adept_out_tensor(c, x->dtype, x->ndim, dims);
    if (f->max) adept_out_tensor(c, ADEPT_I64, x->ndim, dims);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a;
}

/* Elements of all windows along one dimension: they tile it where out divides in, else neighbours share an element.
 * sum over i of ceil((i + 1) in / out) - floor(i in / out) = in + out - gcd(in, out). */
static double covered(int64_t in, int64_t out)
{
    return in > 0 && out > 0 ? (double)in + (double)out - (double)gcd(in, out) : 0;
}

static void cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self"), *y = adept_result_tensor(c, 0);
    double taps = 1, index_bytes = f->max ? (double)adept_tensor_numel(y) * adept_dtype_bytes(ADEPT_I64) : 0;
    bool mean = !f->max && !f->own;
    for (int i = 0; i < x->ndim; i++) {
        taps *= i < x->ndim - f->spatial ? (double)x->dims[i] : covered(x->dims[i], y->dims[i]);
        if (i >= x->ndim - f->spatial && y->dims[i] != 1) mean = false;
    }
    adept_cost_alu(cost, ADEPT_FORWARD, x->dtype, (double)adept_tensor_numel(x), taps, adept_tensor_unique_bytes(x),
                   adept_tensor_bytes(y) + index_bytes);
    adept_cost_alu(cost, ADEPT_BACKWARD, x->dtype, (double)adept_tensor_numel(x), 2 * taps,
                   adept_tensor_bytes(y) + index_bytes, adept_tensor_bytes(x));
    if (mean) return; /* its backward needs the shape only */
    adept_cost_save(cost, x);
    if (f->max) adept_cost_save(cost, adept_result_tensor(c, 1));
}

static const adept_handler_case cases[] = {
    {.name = "global average: a mean, which keeps nothing",
     .call = "aten::adaptive_avg_pool2d(self=f32:2x8x7x7*, output_size=[1,1])",
     .out = "f32:2x8x1x1",
     .forward = {.alu = 784, .read = 3136, .written = 64, .launches = 1},
     .backward = {.alu = 1568, .read = 64, .written = 3136, .launches = 1}},
    {.name = "the same as autograd's own operator",
     .call = "aten::_adaptive_avg_pool2d(self=f32:2x8x7x7*, output_size=[1,1])",
     .out = "f32:2x8x1x1",
     .forward = {.alu = 784, .read = 3136, .written = 64, .launches = 1},
     .backward = {.alu = 1568, .read = 64, .written = 3136, .launches = 1},
     .saved_bytes = 3136},
    /* 7 to 3: windows [0,3) [2,5) [4,7) = 9 elements each way; 4 channels of 9 x 9 = 324 */
    {.name = "windows that overlap",
     .call = "aten::adaptive_avg_pool2d(self=f32:1x4x7x7*, output_size=3)",
     .out = "f32:1x4x3x3",
     .forward = {.alu = 324, .read = 784, .written = 144, .launches = 1},
     .backward = {.alu = 648, .read = 144, .written = 784, .launches = 1},
     .saved_bytes = 784},
    /* 10 to 5 tile: 4 rows of 10 */
    {.name = "maximum",
     .call = "aten::adaptive_max_pool1d(self=f32:4x10*, output_size=[5])",
     .out = "f32:4x5, i64:4x5",
     .forward = {.alu = 40, .read = 160, .written = 80 + 160, .launches = 1},
     .backward = {.alu = 80, .read = 240, .written = 160, .launches = 1},
     .saved_bytes = 160 + 160},
    {0},
};

const adept_handler adept_handler_adaptive_pool = {
    .kind = "adaptive_pool", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
