/* Windows that slide over images: convolutions, plain and transposed, of one to three dimensions, as the implicit
 * matrix products cuDNN runs; pooling. */
#include "elementwise_cost.h"
#include "gemm_cost.h"
#include <string.h>

typedef struct window {
    int64_t kernel, stride, padding, dilation;
} window;

/* No real layer comes near; with these bounds no product or sum below can overflow 64 bits. */
#define MAX_ARGUMENT ((int64_t)1 << 30)
#define MAX_SIZE ((int64_t)1 << 32)

static bool is_sane(adept_call *c, int64_t size, const window *w)
{
    if (!adept_call_ok(c)) return false;
    bool sane = size >= 0 && size <= MAX_SIZE && w->kernel >= 1 && w->kernel <= MAX_ARGUMENT && w->stride >= 1 &&
                w->stride <= MAX_ARGUMENT && w->dilation >= 1 && w->dilation <= MAX_ARGUMENT && w->padding >= 0 &&
                w->padding <= MAX_ARGUMENT;
    if (!sane)
        adept_call_fail(c, "size %lld with kernel %lld, stride %lld, padding %lld and dilation %lld makes no window",
                        (long long)size, (long long)w->kernel, (long long)w->stride, (long long)w->padding,
                        (long long)w->dilation);
    return sane;
}

/* Positions of the window on `size` elements; fails the call when it does not fit or an argument is out of range.
 *  @param ceil_mode a last window may start inside the data or left padding and end beyond it */
static int64_t window_positions(adept_call *c, int64_t size, const window *w, bool ceil_mode)
{
    if (!is_sane(c, size, w)) return 0;
    int64_t span = w->dilation * (w->kernel - 1) + 1, room = size + 2 * w->padding - span;
    if (ceil_mode) room += w->stride - 1;
    if (adept_call_refuse(c, room < 0, "a window of %lld elements does not fit into %lld with padding %lld",
                          (long long)span, (long long)size, (long long)w->padding))
        return 0;
    int64_t n = room / w->stride + 1;
    /* PyTorch drops a last window that would start in the right padding */
    if (ceil_mode && (n - 1) * w->stride >= size + w->padding) n--;
    return n;
}

/* Output size of a transposed convolution: how far `size` windows reach. Of no images it may be nothing (`least`). */
static int64_t window_reach(adept_call *c, int64_t size, const window *w, int64_t output_padding, int64_t least)
{
    if (!is_sane(c, size, w)) return 0;
    if (adept_call_refuse(c, output_padding > 0 && output_padding >= w->stride && output_padding >= w->dilation,
                          "output padding %lld is not smaller than stride %lld or dilation %lld",
                          (long long)output_padding, (long long)w->stride, (long long)w->dilation))
        return 0;
    int64_t n = (size - 1) * w->stride - 2 * w->padding + w->dilation * (w->kernel - 1) + 1;
    if (output_padding < 0 || output_padding > MAX_ARGUMENT || n + output_padding < least) {
        adept_call_fail(c,
                        "transposed window of kernel %lld, padding %lld and output padding %lld leaves nothing of %lld",
                        (long long)w->kernel, (long long)w->padding, (long long)output_padding, (long long)size);
        return 0;
    }
    return n + output_padding;
}

static bool has_text_padding(const adept_call *c)
{
    const adept_value *padding = adept_arg(c, "padding");
    return padding && padding->kind == ADEPT_VALUE_STRING;
}

/* Those of n dimensions behind the first `skip`. */
static void arguments(adept_call *c, const char *name, int64_t *out, int n, int skip, int64_t fallback)
{
    adept_arg_ints_n(c, name, out, n + skip, fallback);
    memmove(out, out + skip, (size_t)n * sizeof *out);
}

/* Read kernel_size-like arguments: stride, padding and dilation of n dimensions into w[0..n). Kernels are not touched.
 */
static void window_arguments(adept_call *c, window *w, int n, int skip)
{
    int64_t stride[ADEPT_MAX_DIMS], padding[ADEPT_MAX_DIMS] = {0}, dilation[ADEPT_MAX_DIMS];
    arguments(c, "stride", stride, n, skip, 1);
    if (!has_text_padding(c)) arguments(c, "padding", padding, n, skip, 0);
    arguments(c, "dilation", dilation, n, skip, 1);
    for (int i = 0; i < n && adept_call_ok(c); i++)
        w[i].stride = stride[i], w[i].padding = padding[i], w[i].dilation = dilation[i];
}

/* ---------------------------------------------------------------- convolutions ---------------- */

#define MAX_SPATIAL 3
#define DEPTHWISE_CHANNELS 4 /* per group, in and out: no more of them make no matrix product */

typedef enum kind {
    PLAIN,
    TRANSPOSED,
    FLAGGED,  /* argument `transposed` decides */
    DEPTHWISE /* groups = input channels, not an argument */
} kind;

static const kind plain = PLAIN, transposed = TRANSPOSED;

static const adept_op ops[] = {
    {"aten::_convolution aten::convolution aten::convolution_overrideable", ADEPT_CAST_LOWER, &(const kind){FLAGGED}},
    {"aten::conv1d aten::conv2d aten::conv3d aten::_convolution_mode", ADEPT_CAST_LOWER, &plain},
    {"aten::conv_transpose1d aten::conv_transpose2d aten::conv_transpose3d", ADEPT_CAST_LOWER, &transposed},
    {"aten::cudnn_convolution", ADEPT_CAST_LOWER, &plain},
    {"aten::cudnn_convolution_transpose", ADEPT_CAST_LOWER, &transposed},
    {"aten::mkldnn_convolution aten::thnn_conv2d aten::slow_conv3d aten::slow_conv_dilated2d aten::slow_conv_dilated3d",
     ADEPT_CAST_LOWER, &plain},
    {"aten::slow_conv_transpose2d aten::slow_conv_transpose3d", ADEPT_CAST_LOWER, &transposed},
    {"quantized::conv1d quantized::conv1d_relu", ADEPT_CAST_NONE, &plain},
    {"quantized::conv_transpose1d", ADEPT_CAST_NONE, &transposed},
    {"quantized::conv2d quantized::conv3d quantized::conv2d_relu quantized::conv3d_relu", ADEPT_CAST_NONE, &plain},
    {"quantized::conv_transpose2d quantized::conv_transpose3d", ADEPT_CAST_NONE, &transposed},
    {"aten::_conv_depthwise2d aten::conv_depthwise3d", ADEPT_CAST_LOWER, &(const kind){DEPTHWISE}},
    {0},
};

/* A call read. Spatial arrays have `spatial` entries. */
typedef struct conv {
    const adept_tensor *input, *weight, *bias;
    bool transposed;
    int spatial;
    int skip; /* dimensions that the window has and the image has not: packed weights of 1 dimension are those of 2 */
    int lead; /* dimensions before the spatial ones: 2, or 1 without a batch */
    int64_t groups, channels_in, channels_out;
    int64_t out[MAX_SPATIAL];
    int64_t stride, dilation; /* the largest of all dimensions */
} conv;

static void check_channels(adept_call *c, conv *v)
{
    const int64_t *w = v->weight->dims;
    bool divides = v->groups >= 1 && w[0] >= v->groups && w[0] % v->groups == 0;
    v->channels_out = w[0];
    if (divides && v->transposed)
        divides = !__builtin_mul_overflow(w[1], v->groups, &v->channels_out) && v->channels_in == w[0];
    else if (divides)
        divides = v->channels_in % v->groups == 0 && v->channels_in / v->groups == w[1];
    if (!divides) {
        adept_call_fail(c, "input has %lld channels, which weight %s with %lld groups does not take",
                        (long long)v->channels_in, adept_call_shape(c, v->weight), (long long)v->groups);
        return;
    }
    if (v->bias && (v->bias->ndim != 1 || v->bias->dims[0] != v->channels_out))
        adept_call_fail(c, "bias %s, but %lld output channels", adept_call_shape(c, v->bias),
                        (long long)v->channels_out);
}

static conv read_conv(adept_call *c)
{
    conv v = {.input = adept_arg_tensor(c, adept_arg_given(c, "qx")      ? "qx"
                                           : adept_arg_given(c, "input") ? "input"
                                                                         : "self"),
              .weight = adept_arg_tensor(c, "weight"),
              .bias = adept_arg_tensor_opt(c, "bias")};
    kind form = *(const kind *)adept_call_data(c);
    if (!adept_call_ok(c)) return v;
    v.skip = !strncmp(adept_call_op(c), "quantized::conv", 15) && strstr(adept_call_op(c), "1d") && v.weight->ndim == 4;
    v.spatial = v.weight->ndim - 2 - v.skip;
    v.lead = v.input->ndim - v.spatial;
    v.transposed = form == TRANSPOSED || (form == FLAGGED && adept_arg_bool(c, "transposed", false));
    if (v.spatial < 1 || v.spatial > MAX_SPATIAL || v.lead < 1 || v.lead > 2) {
        adept_call_fail(c, "input %s and weight %s do not make a convolution of 1 to 3 dimensions",
                        adept_call_shape(c, v.input), adept_call_shape(c, v.weight));
        return v;
    }
    v.channels_in = v.input->dims[v.lead - 1];
    v.groups = form == DEPTHWISE ? v.input->dims[v.lead - 1] : adept_arg_int(c, "groups", 1);
    if (v.channels_in != 0 && (v.lead == 1 || v.input->dims[0] > 0) && adept_tensor_numel(v.input) == 0)
        adept_call_fail(c, "images of no pixels: %s", adept_call_shape(c, v.input));
    if (adept_call_ok(c)) check_channels(c, &v);
    if (adept_call_ok(c)) {
        /* padding may be "same" or "valid" instead of numbers */
        window w[MAX_SPATIAL] = {{0}};
        int64_t extra[MAX_SPATIAL + 1];
        bool is_text = has_text_padding(c);
        const char *mode = is_text ? adept_arg_string(c, "padding", "") : "valid";
        bool same = !strcmp(mode, "same");
        for (int i = 0; i < v.spatial; i++)
            w[i].kernel = v.weight->dims[2 + v.skip + i];
        window_arguments(c, w, v.spatial, v.skip);
        if (!is_text) arguments(c, "output_padding", extra, v.spatial, v.skip, 0);
        if (!same && strcmp(mode, "valid") != 0) adept_call_fail(c, "padding '%s' is neither 'same' nor 'valid'", mode);
        for (int i = 0; i < v.spatial && adept_call_ok(c); i++) {
            int64_t size = v.input->dims[v.lead + i];
            if (same && w[i].stride != 1) adept_call_fail(c, "padding 'same' wants stride 1");
            v.out[i] = same ? is_sane(c, size, &w[i]) * size
                       : v.transposed && !is_text
                           ? window_reach(c, size, &w[i], extra[i], adept_tensor_numel(v.input) > 0)
                           : window_positions(c, size, &w[i], false);
        }
        for (int i = 0; i < v.spatial; i++) {
            if (w[i].stride > v.stride) v.stride = w[i].stride;
            if (w[i].dilation > v.dilation) v.dilation = w[i].dilation;
        }
    }
    return v;
}

static void shape(adept_call *c)
{
    conv v = read_conv(c);
    int64_t dims[ADEPT_MAX_DIMS];
    if (!adept_call_ok(c)) return;
    if (v.lead == 1 || v.input->dims[0] == 1) /* a trace of the former shows the latter */
        adept_call_takes_sample(c, v.spatial + 1, v.channels_in);
    if (v.lead == 2) dims[0] = v.input->dims[0];
    dims[v.lead - 1] = v.channels_out;
    for (int i = 0; i < v.spatial; i++)
        dims[v.lead + i] = v.out[i];
    adept_out_tensor(c, v.input->dtype, v.lead + v.spatial, dims);
}

/* Sizes as the cost functions need them. Of complex numbers PyTorch makes three convolutions of real ones: of the real
 * parts, of the imaginary parts and of their sums (complex_convolution() in Convolution.cpp). */
typedef struct sizes {
    double convolutions; /* that one call makes; bytes are of one of them */
    double images, in_pixels, out_pixels, taps, in_group, out_group;
    double x_bytes, w_bytes, y_bytes, dx_bytes, dw_bytes;
} sizes;

/* Few channels a group: libraries have kernels of their own. A convolution of nothing fills its result with zeros. */
static adept_kernel_family family_of(const conv *v, const sizes *s, double flops)
{
    if (flops == 0) return ADEPT_FAMILY_STREAM;
    bool few = s->in_group <= DEPTHWISE_CHANNELS && s->out_group <= DEPTHWISE_CHANNELS;
    return v->groups > 1 && few ? ADEPT_FAMILY_DEPTHWISE : ADEPT_FAMILY_CONV;
}

/* The images that a kernel makes by sliding the layer's window. */
static void set_window(adept_kernel *k, const conv *v, const int64_t *image)
{
    const int64_t *taps = v->weight->dims + 2 + v->skip;
    bool flat = v->spatial == 1;
    if (v->spatial > 2) return;
    k->image_height = flat ? 1 : (double)image[0], k->image_width = (double)image[flat ? 0 : 1];
    k->window_height = flat ? 1 : (double)taps[0], k->window_width = (double)taps[flat ? 0 : 1];
    k->window_stride = (double)v->stride, k->window_dilation = (double)v->dilation;
}

/* Each of a layer's three products is 2 * positions * taps * Cin * Cout / groups FLOPs, whatever its implicit m n k:
 * the zeros that strides and padding put into the implicit matrices are not multiplied. */
static void cost(adept_call *c, adept_cost *cost)
{
    conv v = read_conv(c);
    const adept_tensor *out = adept_result_tensor(c, 0);
    double part = adept_dtype_is_complex(out->dtype) ? 0.5 : 1;
    sizes s = (sizes){.convolutions = part < 1 ? 3 : 1,
                      .images = v.lead == 2 ? (double)v.input->dims[0] : 1,
                      .in_pixels = adept_dims_elements(v.spatial, v.input->dims + v.lead),
                      .out_pixels = adept_dims_elements(v.spatial, v.out),
                      .taps = adept_dims_elements(v.spatial, v.weight->dims + 2 + v.skip),
                      .in_group = (double)v.channels_in / (double)v.groups,
                      .out_group = (double)v.channels_out / (double)v.groups,
                      .x_bytes = part * adept_tensor_unique_bytes(v.input),
                      .w_bytes = part * adept_tensor_unique_bytes(v.weight),
                      .y_bytes = part * adept_tensor_bytes(out),
                      .dx_bytes = part * adept_tensor_bytes(v.input),
                      .dw_bytes = part * adept_tensor_bytes(v.weight)};
    double positions = s.images * (v.transposed ? s.in_pixels : s.out_pixels);
    double flops = s.convolutions * 2 * positions * s.taps * s.in_group * (double)v.channels_out;
    double sums = adept_dtype_is_complex(out->dtype) ? 2 : 1;
    adept_kernel layer = {.pass = ADEPT_FORWARD,
                          .unit = ADEPT_UNIT_CONV,
                          .family = family_of(&v, &s, flops),
                          .dtype = adept_dtype_real(out->dtype),
                          .flops = flops,
                          .flops_alu = v.bias ? sums * (double)adept_tensor_numel(out) : 0,
                          .bytes_read = s.convolutions * (s.x_bytes + s.w_bytes) +
                                        (v.bias ? adept_tensor_unique_bytes(v.bias) : 0),
                          .bytes_written = s.convolutions * s.y_bytes,
                          .launches = s.convolutions,
                          .m = s.images * s.out_pixels,
                          .n = s.out_group,
                          .k = s.in_group * s.taps,
                          .batch = (double)v.groups,
                          .channels_in = (double)v.channels_in,
                          .channels_out = (double)v.channels_out,
                          .pixels = s.out_pixels,
                          .taps = s.taps,
                          .groups = (double)v.groups,
                          .planes = flops > 0 && adept_call_memory_format(c) == ADEPT_NCHW};
    adept_kernel forward = layer;
    set_window(&forward, &v, v.out);
    adept_cost_kernel(cost, &forward);
    /* dx: the output gradient spread through the weights. dw: input and output gradient correlated. */
    adept_kernel k = layer;
    k.pass = ADEPT_BACKWARD;
    k.flops_alu = 0;
    if (adept_cost_wants_grad(cost, v.input)) {
        k.m = s.images * s.in_pixels, k.n = s.in_group, k.k = s.out_group * s.taps;
        k.bytes_read = k.launches * (s.y_bytes + s.w_bytes), k.bytes_written = k.launches * s.dx_bytes;
        adept_kernel sliding = k;
        set_window(&sliding, &v, v.input->dims + v.lead);
        adept_cost_kernel(cost, &sliding);
    }
    if (adept_cost_wants_grad(cost, v.weight)) {
        k.m = (v.transposed ? s.out_group : s.in_group) * s.taps;
        k.n = v.transposed ? s.in_group : s.out_group;
        k.k = s.images * (v.transposed ? s.in_pixels : s.out_pixels);
        k.bytes_read = k.launches * (s.y_bytes + s.x_bytes), k.bytes_written = k.launches * s.dw_bytes;
        adept_cost_kernel(cost, &k);
    }
    if (adept_dtype_is_complex(out->dtype)) {
        /* Before and behind three convolutions of parts: the sums of x's and of w's, (a - b) + i (c - a - b), where a
         * product with i is 6 operations; backward the gradients of parts put together, as TorchDispatchMode shows. */
        const adept_tensor *of[2] = {v.input, v.weight};
        adept_dtype real = adept_dtype_real(out->dtype);
        double n = (double)adept_tensor_numel(out), bytes = adept_tensor_bytes(out);
        adept_cost_stream(cost, ADEPT_FORWARD, real, 5 * n, 11 * n, 5 * bytes, 3.5 * bytes, 5);
        adept_cost_stream(cost, ADEPT_BACKWARD, real, 6 * n, 11 * n, 4.5 * bytes, 3.5 * bytes, 6);
        for (int i = 0; i < 2; i++) {
            double m = (double)adept_tensor_numel(of[i]), size = adept_tensor_bytes(of[i]);
            adept_cost_stream(cost, ADEPT_FORWARD, real, m, m, size, size / 2, 1);
            adept_cost_save_bytes(cost, size / 2);
            if (adept_cost_wants_grad(cost, of[i]))
                adept_cost_stream(cost, ADEPT_BACKWARD, real, 7 * m, 4 * m, 5 * size, 5 * size, 7);
        }
    }
    adept_bias_gradient(cost, v.bias, out, adept_cost_wants_grad(cost, v.weight));
    /* convolution_backward takes both whatever is wanted, so autograd keeps both */
    adept_cost_save(cost, v.input);
    adept_cost_save(cost, v.weight);
}

const adept_handler adept_handler_conv = {
    .kind = "conv", .shard = ADEPT_SHARD_BATCH, .ops = ops, .shape = shape, .cost = cost};

/* ---------------------------------------------------------------- pooling ---------------- */

/* Maximum and average: with a window, or adaptive to the size of the output. As many FLOPs as elements that the windows
 * of all outputs cover. */
typedef struct form {
    int spatial;
    bool max;
    bool indices; /* with a window: returns the winners' positions; adaptive pooling always does */
    bool own;     /* the form autograd sees: adaptive_avg_pool to size 1 is a mean before it gets there */
} form;

static const adept_op pool_ops[] = {
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
    for (int i = lead; i < x->ndim && adept_call_ok(c); i++)
        if (x->dims[i] == 0) adept_call_fail(c, "%s has nothing to pool", adept_call_shape(c, x));
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
static void read_windows(adept_call *c, const form *f, window *w)
{
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL];
    adept_arg_ints_n(c, "kernel_size", kernel, f->spatial, 0);
    window_arguments(c, w, f->spatial, 0);
    bool own_stride = adept_arg_ints(c, "stride", stride, MAX_SPATIAL) > 0;
    for (int i = 0; i < f->spatial && adept_call_ok(c); i++) {
        w[i].kernel = kernel[i];
        if (!own_stride) w[i].stride = kernel[i];
        if (w[i].padding > w[i].kernel / 2)
            adept_call_fail(c, "padding %lld is more than half of the kernel %lld", (long long)w[i].padding,
                            (long long)w[i].kernel);
    }
}

static void pool_shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self");
    window w[MAX_SPATIAL] = {{0}};
    int64_t dims[ADEPT_MAX_DIMS];
    bool ceil_mode = adept_arg_bool(c, "ceil_mode", false);
    read_windows(c, f, w);
    int lead = lead_of(c, f, x);
    if (adept_call_ok(c) && x->dims[lead - 1] == 0) adept_call_fail(c, "no channel to pool");
    if (!adept_call_ok(c)) return;
    for (int i = 0; i < x->ndim && adept_call_ok(c); i++)
        dims[i] = i < lead ? x->dims[i] : window_positions(c, x->dims[i], &w[i - lead], ceil_mode);
    if (!adept_call_ok(c)) return;
    adept_out_tensor(c, x->dtype, x->ndim, dims);
    if (f->indices) adept_out_tensor(c, ADEPT_I64, x->ndim, dims);
}

/* Max pooling on the GPU always writes the indices, and autograd keeps them and the input (for its shape). */
static void pool_cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    window w[MAX_SPATIAL] = {{0}};
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

const adept_handler adept_handler_pool = {
    .kind = "pool", .shard = ADEPT_SHARD_BATCH, .ops = pool_ops, .shape = pool_shape, .cost = pool_cost};

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

static void adaptive_cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self"), *y = adept_result_tensor(c, 0);
    double taps = 1;
    bool mean = !f->max && !f->own;
    for (int i = 0; i < x->ndim; i++) {
        const int64_t in = x->dims[i], out = y->dims[i];
        if (i < x->ndim - f->spatial) {
            taps *= (double)in;
            continue;
        }
        /* Elements of all windows along one dimension: they tile it where out divides in, else neighbours share an
         * element. sum over i of ceil((i + 1) in / out) - floor(i in / out) = in + out - gcd(in, out). */
        taps *= in > 0 && out > 0 ? (double)in + (double)out - (double)gcd(in, out) : 0;
        if (out != 1) mean = false;
    }
    kernels(c, cost, taps);
    if (mean) return; /* its backward needs the shape only */
    adept_cost_save(cost, x);
    if (f->max) adept_cost_save(cost, adept_result_tensor(c, 1));
}

const adept_handler adept_handler_adaptive_pool = {.kind = "adaptive_pool",
                                                   .shard = ADEPT_SHARD_BATCH,
                                                   .ops = adaptive_ops,
                                                   .shape = adaptive_shape,
                                                   .cost = adaptive_cost};
