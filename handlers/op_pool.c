/* Pooling with a window: max and average, one to three dimensions. k^2 FLOPs (all taps of the window) per output. */
#include "window.h"

#define MAX_SPATIAL 3

typedef struct form {
    int spatial;
    bool max;
    bool indices; /* returns the winners' positions */
} form;

static const adept_op ops[] = {
    {"aten::max_pool1d", ADEPT_CAST_NONE, &(const form){1, true, false}},
    {"aten::max_pool2d", ADEPT_CAST_NONE, &(const form){2, true, false}},
    {"aten::max_pool3d", ADEPT_CAST_NONE, &(const form){3, true, false}},
    {"aten::max_pool1d_with_indices", ADEPT_CAST_NONE, &(const form){1, true, true}},
    {"aten::max_pool2d_with_indices", ADEPT_CAST_NONE, &(const form){2, true, true}},
    {"aten::max_pool3d_with_indices", ADEPT_CAST_NONE, &(const form){3, true, true}},
    {"aten::avg_pool1d", ADEPT_CAST_NONE, &(const form){1, false, false}},
    {"aten::avg_pool2d", ADEPT_CAST_NONE, &(const form){2, false, false}},
    {"aten::avg_pool3d", ADEPT_CAST_NONE, &(const form){3, false, false}},
    {0},
};

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
    int lead = x->ndim - f->spatial;
    read_windows(c, f, w);
    if (!adept_call_ok(c)) return;
    if (lead < 1 || lead > 2) {
        adept_call_fail(c, "input %s, but %d or %d dimensions are wanted", adept_call_shape(c, x), f->spatial + 1,
                        f->spatial + 2);
        return;
    }
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
    const adept_tensor *x = adept_arg_tensor(c, "self"), *y = adept_result_tensor(c, 0);
    adept_window w[MAX_SPATIAL] = {{0}};
    double outputs = (double)adept_tensor_numel(y), taps = 1;
    double index_bytes = f->max ? outputs * adept_dtype_bytes(ADEPT_I64) : 0;
    read_windows(c, f, w);
    for (int i = 0; i < f->spatial; i++)
        taps *= (double)w[i].kernel;
    adept_cost_alu(cost, ADEPT_FORWARD, x->dtype, (double)adept_tensor_numel(x), taps * outputs,
                   adept_tensor_unique_bytes(x), adept_tensor_bytes(y) + index_bytes);
    adept_cost_alu(cost, ADEPT_BACKWARD, x->dtype, (double)adept_tensor_numel(x), 2 * taps * outputs,
                   adept_tensor_bytes(y) + index_bytes, adept_tensor_bytes(x));
    adept_cost_save(cost, x);
    if (f->indices)
        adept_cost_save(cost, adept_result_tensor(c, 1));
    else
        adept_cost_save_bytes(cost, index_bytes);
}

static const adept_handler_case cases[] = {
    /* ResNet's: (112 + 2 - 3) / 2 + 1 = 56; 2x4x56x56 = 25088 outputs of 9 taps; x 401408, y 100352, indices 200704
       bytes */
    {.name = "maximum, overlapping windows",
     .call = "aten::max_pool2d(self=f32:2x4x112x112*, kernel_size=[3,3], stride=[2,2], padding=[1,1], dilation=[1,1], "
             "ceil_mode=false)",
     .out = "f32:2x4x56x56",
     .forward = {.alu = 225792, .read = 401408, .written = 301056, .launches = 1},
     .backward = {.alu = 451584, .read = 301056, .written = 401408, .launches = 1},
     .saved_bytes = 401408 + 200704},
    /* the default stride is the kernel; ceil((5 - 2) / 2) + 1 = 3; 2x3 outputs of 2 taps */
    {.name = "average, ceil mode, no batch",
     .call = "aten::avg_pool1d(self=f32:2x5*, kernel_size=[2], stride=[], padding=[0], ceil_mode=true, "
             "count_include_pad=true)",
     .out = "f32:2x3",
     .forward = {.alu = 12, .read = 40, .written = 24, .launches = 1},
     .backward = {.alu = 24, .read = 24, .written = 40, .launches = 1},
     .saved_bytes = 40},
    /* dilated: a window of 3 spans 5; (8 - 5) / 1 + 1 = 4; 1x4x4 = 16 outputs of 9 taps; no gradient */
    {.name = "maximum with indices, dilated",
     .call = "aten::max_pool2d_with_indices(self=bf16:1x1x8x8, kernel_size=3, stride=1, padding=0, dilation=2)",
     .out = "bf16:1x1x4x4, i64:1x1x4x4",
     .forward = {.alu = 144, .read = 128, .written = 32 + 128, .launches = 1}},
    /* a last window that would start in the right padding is dropped: ceil((4 + 2 - 2) / 3) + 1 = 3, but 2 * 3 >= 4 + 1
     */
    {.name = "ceil mode drops a window of padding only",
     .call = "aten::max_pool1d(self=f32:1x1x4, kernel_size=[2], stride=[3], padding=[1], dilation=[1], ceil_mode=true) "
             "@infer",
     .out = "f32:1x1x2",
     .forward = {.alu = 4, .read = 16, .written = 8 + 16, .launches = 1}},
    {0},
};

const adept_handler adept_handler_pool = {.kind = "pool", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
