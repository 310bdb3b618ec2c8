/* Operators that write the elements of one tensor in another order, some of them several times or replaced by zero:
 * one kernel that reads the tensor and writes the result, and one backward the other way round. */
#include "elementwise_cost.h"
#include "host_value.h"
#include "layout.h"
#include <inttypes.h>
#include <string.h>

typedef void rearrange_shape(adept_call *c, const adept_tensor *self);

typedef struct rearrange_row {
    rearrange_shape *shape;
    bool sums; /* an element occurs several times: backward adds as many gradients */
} rearrange_row;

static bool multiply(adept_call *c, int64_t *value, int64_t factor)
{
    if (factor >= 0 && !__builtin_mul_overflow(*value, factor, value)) return true;
    adept_call_fail(c, "a dimension of %" PRId64 " times %" PRId64, *value, factor);
    return false;
}

static void out_of_type(adept_call *c, const adept_tensor *self, int ndim, const int64_t *dims)
{
    adept_out_tensor(c, self->dtype, ndim, dims);
}

/* ---------------------------------------------------------------- the same shape ---------------- */

static void same_shape(adept_call *c, const adept_tensor *self)
{
    adept_tensor *out = adept_out_result(c, self, self->dtype, self->ndim, self->dims);
    out->n_values = 0;
    if (adept_call_ok(c) && !strncmp(adept_call_op(c), "aten::flip", strlen("aten::flip")))
        adept_elem_set_strides(out, &self, 1);
}

static void flip(adept_call *c, const adept_tensor *self)
{
    int64_t dims[ADEPT_MAX_DIMS];
    bool seen[ADEPT_MAX_DIMS] = {false};
    int n = adept_arg_ints(c, "dims", dims, ADEPT_MAX_DIMS);
    for (int i = 0; i < n && adept_call_ok(c); i++) {
        int dim = adept_call_dim(c, dims[i], self->ndim);
        if (self->ndim > 0 && seen[dim]) adept_call_fail(c, "dimension %d appears twice", dim);
        seen[dim] = true;
    }
    same_shape(c, self);
}

static void roll(adept_call *c, const adept_tensor *self)
{
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "dims", dims, ADEPT_MAX_DIMS);
    for (int i = 0; i < n && adept_tensor_numel(self) > 0; i++)
        adept_call_dim(c, dims[i], self->ndim);
    if (n > 0 && self->ndim == 0) adept_call_fail(c, "the tensor has no dimensions");
    same_shape(c, self);
}

static void triangle(adept_call *c, const adept_tensor *self)
{
    if (self->ndim < 2 && adept_tensor_numel(self) > 0) adept_call_fail(c, "a matrix or a batch of them expected");
    same_shape(c, self);
}

static void swap(int64_t *values, int a, int b)
{
    int64_t first = values[a];
    values[a] = values[b];
    values[b] = first;
}

/* PyTorch copies the tensor, or flips it, which keeps the order in memory, and swaps the axes where the turn is odd. */
static void rot90(adept_call *c, const adept_tensor *self)
{
    int64_t axes[2] = {0, 1};
    int64_t k = adept_arg_int(c, "k", 1);
    int n = adept_arg_ints(c, "dims", axes, 2);
    int a = adept_call_dim(c, axes[0], self->ndim), b = adept_call_dim(c, axes[1], self->ndim);
    if ((n != 2 && n != -1) || self->ndim < 2 || a == b) adept_call_fail(c, "rot90: two different dimensions expected");
    if (!adept_call_ok(c)) return;
    adept_tensor turned = *self;
    adept_strides_contiguous(turned.ndim, turned.dims, turned.strides);
    if (k % 4 != 0) adept_elem_set_strides(&turned, &self, 1);
    if (k % 2 != 0) {
        swap(turned.dims, a, b);
        swap(turned.strides, a, b);
    }
    adept_tensor *out = adept_out_tensor(c, self->dtype, turned.ndim, turned.dims);
    memcpy(out->strides, turned.strides, sizeof out->strides);
}

/* ---------------------------------------------------------------- repetition ---------------- */

static void repeat(adept_call *c, const adept_tensor *self)
{
    bool tile = !strcmp(adept_call_op(c), "aten::tile");
    int64_t times[ADEPT_MAX_DIMS], dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, tile ? "dims" : "repeats", times, ADEPT_MAX_DIMS);
    if (n < 0 || (!tile && n < self->ndim))
        adept_call_fail(c, "repetitions for each of %d dimensions expected", self->ndim);
    if (!adept_call_ok(c)) return;
    int ndim = n > self->ndim ? n : self->ndim;
    for (int d = 0; d < ndim; d++) {
        int own = d - (ndim - self->ndim), given = d - (ndim - n);
        dims[d] = own >= 0 ? self->dims[own] : 1;
        if (given >= 0 && !multiply(c, &dims[d], times[given])) return;
    }
    out_of_type(c, self, ndim, dims);
}

static void repeat_interleave(adept_call *c, const adept_tensor *self)
{
    int64_t dims[ADEPT_MAX_DIMS], times, size = adept_arg_int(c, "output_size", -1);
    bool flat = !adept_arg_given(c, "dim");
    int dim = flat ? 0 : adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    const adept_tensor *each = adept_value_tensor(adept_arg(c, "repeats"));
    if (each && each->n_values > 1 && size < 0) {
        size = 0;
        for (int i = 0; i < each->n_values; i++)
            size += (int64_t)each->values[i];
        if (size < 0) adept_call_fail(c, "negative repetitions");
    }
    if (!adept_value_as_int(adept_arg(c, "repeats"), &times) && size < 0) {
        adept_call_unsupported(c, "the size depends on data: repetitions from a tensor without output_size");
        return;
    }
    if (!flat && self->ndim == 0) adept_call_fail(c, "the tensor has no dimension");
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    if (flat) dims[0] = adept_tensor_numel(self);
    if (size >= 0)
        dims[dim] = size;
    else if (!multiply(c, &dims[dim], times))
        return;
    out_of_type(c, self, flat ? 1 : self->ndim, dims);
}

/* ---------------------------------------------------------------- channels and pixels ---------------- */

static void pixel_shuffle(adept_call *c, const adept_tensor *self)
{
    bool up = !strcmp(adept_call_op(c), "aten::pixel_shuffle");
    int64_t factor = adept_arg_int(c, up ? "upscale_factor" : "downscale_factor", 1), dims[ADEPT_MAX_DIMS],
            area = factor;
    if (self->ndim < 3 || factor <= 0 || factor > 65536) adept_call_fail(c, "an image and a positive factor expected");
    if (!adept_call_ok(c)) return;
    area *= factor;
    memcpy(dims, self->dims, sizeof dims);
    int64_t *channels = &dims[self->ndim - 3], *height = &dims[self->ndim - 2], *width = &dims[self->ndim - 1];
    if (adept_call_refuse(c, up ? *channels % area != 0 : *height % factor != 0 || *width % factor != 0,
                          "the image cannot be divided by a factor of %" PRId64, factor))
        return;
    if (up) {
        *channels /= area;
        if (!multiply(c, height, factor) || !multiply(c, width, factor)) return;
    } else {
        *height /= factor;
        *width /= factor;
        if (!multiply(c, channels, area)) return;
    }
    out_of_type(c, self, self->ndim, dims);
}

static void channel_shuffle(adept_call *c, const adept_tensor *self)
{
    int64_t groups = adept_arg_int(c, "groups", 1);
    if (self->ndim < 3 || groups <= 0 || self->dims[1] % groups != 0)
        adept_call_fail(c, "channels that %" PRId64 " groups divide expected", groups);
    if (adept_call_ok(c)) adept_out_like(c, self);
}

/* Number of positions of a window along one dimension, -1 if it does not fit. */
static int64_t positions(int64_t size, int64_t kernel, int64_t dilation, int64_t padding, int64_t stride)
{
    int64_t padded, reach;
    if (kernel <= 0 || dilation <= 0 || padding < 0 || stride <= 0 || padding > INT64_MAX / 4 ||
        __builtin_add_overflow(size, 2 * padding, &padded) || __builtin_mul_overflow(dilation, kernel - 1, &reach) ||
        reach >= padded)
        return -1;
    return (padded - reach - 1) / stride + 1;
}

/* torch.nn.Unfold and Fold between images (batch, channels, h, w) and columns (batch, channels * taps, positions). */
static void columns(adept_call *c, const adept_tensor *self)
{
    bool to_image = !strcmp(adept_call_op(c), "aten::col2im");
    int64_t kernel[2], dilation[2], padding[2], stride[2], image[2], dims[ADEPT_MAX_DIMS], taps = 1, n = 1;
    int lead = self->ndim - (to_image ? 2 : 3); /* batch dimension or none */
    adept_arg_ints_n(c, "kernel_size", kernel, 2, 1);
    adept_arg_ints_n(c, "dilation", dilation, 2, 1);
    adept_arg_ints_n(c, "padding", padding, 2, 0);
    adept_arg_ints_n(c, "stride", stride, 2, 1);
    if (to_image) adept_arg_ints_n(c, "output_size", image, 2, 1);
    if (lead < 0 || lead > 1 || __builtin_mul_overflow(kernel[0], kernel[1], &taps) || taps <= 0)
        adept_call_fail(c, "an image or its columns and a positive kernel expected");
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    for (int i = 0; i < 2; i++) {
        if (!to_image) image[i] = self->dims[lead + 1 + i];
        int64_t along = positions(image[i], kernel[i], dilation[i], padding[i], stride[i]);
        if (adept_call_refuse(c, along < 0 || __builtin_mul_overflow(n, along, &n),
                              "the kernel does not fit the image"))
            return;
    }
    if (!to_image) {
        if (!multiply(c, &dims[lead], taps)) return;
        dims[lead + 1] = n;
    } else if (dims[lead] % taps != 0 || dims[lead + 1] != n) {
        adept_call_fail(c, "%" PRId64 " columns of %" PRId64 " do not make the image", dims[lead + 1], dims[lead]);
        return;
    } else {
        dims[lead] /= taps;
        memcpy(dims + lead + 1, image, sizeof image);
    }
    out_of_type(c, self, lead + (to_image ? 3 : 2), dims);
}

/* ---------------------------------------------------------------- table and cost ---------------- */

static const rearrange_row roll_row = {roll, false};
static const rearrange_row columns_row = {columns, true};

static const adept_op ops[] = {
    {"aten::roll", ADEPT_CAST_NONE, &roll_row},
    {"aten::flip aten::fliplr aten::flipud", ADEPT_CAST_NONE, &(const rearrange_row){flip, false}},
    {"aten::rot90", ADEPT_CAST_NONE, &(const rearrange_row){rot90, false}},
    {"aten::tril aten::triu", ADEPT_CAST_NONE, &(const rearrange_row){triangle, false}},
    {"aten::repeat aten::tile", ADEPT_CAST_NONE, &(const rearrange_row){repeat, true}},
    {"aten::repeat_interleave", ADEPT_CAST_NONE, &(const rearrange_row){repeat_interleave, true}},
    {"aten::pixel_shuffle aten::pixel_unshuffle", ADEPT_CAST_NONE, &(const rearrange_row){pixel_shuffle, false}},
    {"aten::channel_shuffle aten::native_channel_shuffle", ADEPT_CAST_NONE,
     &(const rearrange_row){channel_shuffle, false}},
    {"aten::im2col aten::col2im", ADEPT_CAST_NONE, &columns_row},
    {0},
};

static void shape(adept_call *c)
{
    const rearrange_row *row = adept_call_data(c);
    const adept_tensor *self = adept_arg_tensor(c, "self");
    if (adept_call_ok(c)) row->shape(c, self);
}

static bool is_fold(const adept_call *c)
{
    return !strcmp(adept_call_op(c), "aten::col2im");
}

/* PyTorch rolls one dimension after the other, each by a kernel; the loop of im2col has one per image. */
static double kernels(adept_call *c, const adept_tensor *self)
{
    const rearrange_row *row = adept_call_data(c);
    int64_t dims[ADEPT_MAX_DIMS];
    if (row == &roll_row) {
        int n = adept_arg_ints(c, "dims", dims, ADEPT_MAX_DIMS);
        return n > 1 ? n : 1;
    }
    return row == &columns_row && self->ndim == (is_fold(c) ? 3 : 4) ? (double)self->dims[0] : 1;
}

static void cost(adept_call *c, adept_cost *cost)
{
    const rearrange_row *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    bool folds = is_fold(c); /* the other way round: adds forward, copies backward */
    double n = kernels(c, self), passes = row == &roll_row ? n : 1;
    double small = adept_tensor_bytes(self), large = adept_tensor_bytes(out), in = (double)adept_tensor_numel(self);
    if (large == 0) return;
    double out_elements = (double)adept_tensor_numel(out);
    adept_cost_stream(cost, ADEPT_FORWARD, self->dtype, passes * out_elements, folds ? in : 0,
                      passes * adept_elem_read(self), passes * large, n);
    adept_cost_stream(cost, ADEPT_BACKWARD, self->dtype, passes * out_elements, row->sums && !folds ? out_elements : 0,
                      passes * large, passes * small, n);
}

const adept_handler adept_handler_rearrange = {
    .kind = "rearrange", .shard = ADEPT_SHARD_ROWS, .ops = ops, .shape = shape, .cost = cost};
