/* Pooling of one to three dimensions, maximum and average: with a window, or adaptive to the size of the output. As
 * many FLOPs as elements that the windows of all outputs cover. */
#include "window.h"

#define MAX_SPATIAL 3

typedef struct form {
    int spatial;
    bool max;
    bool indices; /* with a window: returns the winners' positions; adaptive pooling always does */
    bool own;     /* the form autograd sees: adaptive_avg_pool to size 1 is a mean before it gets there */
} form;

static const adept_op ops[] = {
    {"aten::max_pool1d", ADEPT_READS_WINDOWS, &(const form){1, true, false, false}},
    {"aten::max_pool2d", ADEPT_READS_WINDOWS, &(const form){2, true, false, false}},
    {"aten::max_pool3d", ADEPT_READS_WINDOWS, &(const form){3, true, false, false}},
    {"aten::max_pool1d_with_indices", ADEPT_READS_WINDOWS, &(const form){1, true, true, false}},
    {"aten::max_pool2d_with_indices", ADEPT_READS_WINDOWS, &(const form){2, true, true, false}},
    {"aten::max_pool3d_with_indices", ADEPT_READS_WINDOWS, &(const form){3, true, true, false}},
    {"aten::avg_pool1d", ADEPT_READS_WINDOWS, &(const form){1, false, false, false}},
    {"aten::avg_pool2d", ADEPT_READS_WINDOWS, &(const form){2, false, false, false}},
    {"aten::avg_pool3d", ADEPT_READS_WINDOWS, &(const form){3, false, false, false}},
    {0},
};

/* Dimensions before those that are pooled; fails the call if there are not one or two. */
static int lead_of(adept_call *c, const form *f, const adept_tensor *x)
{
    int lead = x->ndim - f->spatial;
    if (adept_call_ok(c) && (lead < 1 || lead > 2))
        adept_call_fail(c, "input %s, but %d or %d dimensions are wanted", adept_call_shape(c, x), f->spatial + 1,
                        f->spatial + 2);
    return lead;
}

/* Of so many elements in the windows of all outputs. */
static void kernels(adept_call *c, adept_cost *cost, double taps)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self"), *y = adept_result_tensor(c, 0);
    double n = (double)adept_tensor_numel(x);
    double pooled = adept_tensor_bytes(y) + (f->max ? (double)adept_tensor_numel(y) * adept_dtype_bytes(ADEPT_I64) : 0);
    adept_cost_alu(cost, ADEPT_FORWARD, x->dtype, n, taps, adept_tensor_unique_bytes(x), pooled);
    adept_cost_alu(cost, ADEPT_BACKWARD, x->dtype, n, 2 * taps, pooled, adept_tensor_bytes(x));
}

/* ---------------------------------------------------------------- with a window ---------------- */

/* kernel_size, and a stride that is the kernel where omitted, None or [] */
static void read_windows(adept_call *c, const form *f, adept_window *w)
{
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL];
    adept_arg_ints_n(c, "kernel_size", kernel, f->spatial, 0);
    adept_window_arguments(c, w, f->spatial);
    bool own_stride = adept_arg_ints(c, "stride", stride, MAX_SPATIAL) > 0;
    for (int i = 0; i < f->spatial && adept_call_ok(c); i++) {
        w[i].kernel = kernel[i];
        if (!own_stride) w[i].stride = kernel[i];
        if (w[i].padding > w[i].kernel / 2)
            adept_call_fail(c, "padding %lld is more than half of the kernel %lld", (long long)w[i].padding,
                            (long long)w[i].kernel);
    }
}

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self");
    adept_window w[MAX_SPATIAL] = {{0}};
    int64_t dims[ADEPT_MAX_DIMS];
    bool ceil_mode = adept_arg_bool(c, "ceil_mode", false);
    read_windows(c, f, w);
    int lead = lead_of(c, f, x);
    if (!adept_call_ok(c)) return;
    for (int i = 0; i < x->ndim && adept_call_ok(c); i++)
        dims[i] = i < lead ? x->dims[i] : adept_window_positions(c, x->dims[i], &w[i - lead], ceil_mode);
    if (!adept_call_ok(c)) return;
    adept_out_tensor(c, x->dtype, x->ndim, dims);
    if (f->indices) adept_out_tensor(c, ADEPT_I64, x->ndim, dims);
}

/* Max pooling on the GPU always writes the indices, and autograd keeps them and the input (for its shape). */
static void cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    adept_window w[MAX_SPATIAL] = {{0}};
    double outputs = (double)adept_tensor_numel(adept_result_tensor(c, 0)), taps = outputs;
    read_windows(c, f, w);
    for (int i = 0; i < f->spatial; i++)
        taps *= (double)w[i].kernel;
    kernels(c, cost, taps);
    adept_cost_save(cost, adept_arg_tensor(c, "self"));
    if (f->indices)
        adept_cost_save(cost, adept_result_tensor(c, 1));
    else if (f->max)
        adept_cost_save_bytes(cost, outputs * adept_dtype_bytes(ADEPT_I64));
}

static const adept_handler_case cases[] = {
    /* ResNet's: (112 + 2 - 3) / 2 + 1 = 56; 2x4x56x56 = 25088 outputs of 9 taps; x 401408, y 100352, indices 200704
           bytes */
    {.name = "maximum, overlapping windows",
     .call = "aten::max_pool2d(self=f32:2x4x112x112*, kernel_size=[3,3], stride=[2,2], padding=[1,1], dilation=[1,1], "
             "ceil_mode=false) -> f32:2x4x56x56",
     .forward = {.alu = 225792, .read = 401408, .written = 301056},
     .backward = {.alu = 451584, .read = 301056, .written = 401408, .saved = 401408 + 200704}},
    /* the default stride is the kernel; ceil((5 - 2) / 2) + 1 = 3; 2x3 outputs of 2 taps */
    {.name = "average, ceil mode, no batch",
     .call = "aten::avg_pool1d(self=f32:2x5*, kernel_size=[2], stride=[], padding=[0], ceil_mode=true, "
             "count_include_pad=true) -> f32:2x3",
     .forward = {.alu = 12, .read = 40, .written = 24},
     .backward = {.alu = 24, .read = 24, .written = 40, .saved = 40}},
    /* dilated: a window of 3 spans 5; (8 - 5) / 1 + 1 = 4; 1x4x4 = 16 outputs of 9 taps; no gradient */
    {.name = "maximum with indices, dilated",
     .call = "aten::max_pool2d_with_indices(self=bf16:1x1x8x8, kernel_size=3, stride=1, padding=0, dilation=2) -> "
             "bf16:1x1x4x4, i64:1x1x4x4",
     .forward = {.alu = 144, .read = 128, .written = 32 + 128}},
    /* a last window that would start in the right padding is dropped: ceil((4 + 2 - 2) / 3) + 1 = 3, but 2 * 3 >= 4 + 1
     */
    {.name = "ceil mode drops a window of padding only",
     .call = "aten::max_pool1d(self=f32:1x1x4, kernel_size=[2], stride=[3], padding=[1], dilation=[1], ceil_mode=true) "
             "@infer -> f32:1x1x2",
     .forward = {.alu = 4, .read = 16, .written = 8 + 16}},
    {0},
};

const adept_handler adept_handler_pool = {.kind = "pool", .ops = ops, .shape = shape, .cost = cost, .cases = cases};

/* ---------------------------------------------------------------- adaptive ---------------- */

/* The output's size is given, window i covers floor(i in / out) to ceil((i + 1) in / out). */
static const adept_op adaptive_ops[] = {
    {"aten::adaptive_avg_pool1d", ADEPT_CAST_NONE, &(const form){1, false, false, false}},
    {"aten::adaptive_avg_pool2d", ADEPT_CAST_NONE, &(const form){2, false, false, false}},
    {"aten::adaptive_avg_pool3d", ADEPT_CAST_NONE, &(const form){3, false, false, false}},
    {"aten::_adaptive_avg_pool2d", ADEPT_CAST_NONE, &(const form){2, false, false, true}},
    {"aten::_adaptive_avg_pool3d", ADEPT_CAST_NONE, &(const form){3, false, false, true}},
    {"aten::adaptive_max_pool1d", ADEPT_CAST_NONE, &(const form){1, true, true, false}},
    {"aten::adaptive_max_pool2d", ADEPT_CAST_NONE, &(const form){2, true, true, false}},
    {"aten::adaptive_max_pool3d", ADEPT_CAST_NONE, &(const form){3, true, true, false}},
    {0},
};

static void adaptive_shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self");
    int64_t dims[ADEPT_MAX_DIMS], size[MAX_SPATIAL];
    adept_arg_ints_n(c, "output_size", size, f->spatial, -1);
    int lead = lead_of(c, f, x);
    if (!adept_call_ok(c)) return;
    for (int i = 0; i < x->ndim; i++)
        dims[i] = i < lead ? x->dims[i] : size[i - lead];
    adept_out_tensor(c, x->dtype, x->ndim, dims);
    if (f->indices) adept_out_tensor(c, ADEPT_I64, x->ndim, dims);
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

static void adaptive_cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self"), *y = adept_result_tensor(c, 0);
    double taps = 1;
    bool mean = !f->max && !f->own;
    for (int i = 0; i < x->ndim; i++) {
        taps *= i < x->ndim - f->spatial ? (double)x->dims[i] : covered(x->dims[i], y->dims[i]);
        if (i >= x->ndim - f->spatial && y->dims[i] != 1) mean = false;
    }
    kernels(c, cost, taps);
    if (mean) return; /* its backward needs the shape only */
    adept_cost_save(cost, x);
    if (f->max) adept_cost_save(cost, adept_result_tensor(c, 1));
}

static const adept_handler_case adaptive_cases[] = {
    {.name = "global average: a mean, which keeps nothing",
     .call = "aten::adaptive_avg_pool2d(self=f32:2x8x7x7*, output_size=[1,1]) -> f32:2x8x1x1",
     .forward = {.alu = 784, .read = 3136, .written = 64},
     .backward = {.alu = 1568, .read = 64, .written = 3136}},
    {.name = "the same as autograd's own operator",
     .call = "aten::_adaptive_avg_pool2d(self=f32:2x8x7x7*, output_size=[1,1]) -> f32:2x8x1x1",
     .forward = {.alu = 784, .read = 3136, .written = 64},
     .backward = {.alu = 1568, .read = 64, .written = 3136, .saved = 3136}},
    /* 7 to 3: windows [0,3) [2,5) [4,7) = 9 elements each way; 4 channels of 9 x 9 = 324 */
    {.name = "windows that overlap",
     .call = "aten::adaptive_avg_pool2d(self=f32:1x4x7x7*, output_size=3) -> f32:1x4x3x3",
     .forward = {.alu = 324, .read = 784, .written = 144},
     .backward = {.alu = 648, .read = 144, .written = 784, .saved = 784}},
    /* 10 to 5 tile: 4 rows of 10 */
    {.name = "maximum",
     .call = "aten::adaptive_max_pool1d(self=f32:4x10*, output_size=[5]) -> f32:4x5, i64:4x5",
     .forward = {.alu = 40, .read = 160, .written = 80 + 160},
     .backward = {.alu = 80, .read = 240, .written = 160, .saved = 160 + 160}},
    {0},
};

const adept_handler adept_handler_adaptive_pool = {.kind = "adaptive_pool",
                                                   .ops = adaptive_ops,
                                                   .shape = adaptive_shape,
                                                   .cost = adaptive_cost,
                                                   .cases = adaptive_cases};
