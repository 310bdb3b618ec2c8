/* Images sampled where another tensor says, or put back where pooling took them from: grid_sampler,
 * affine_grid_generator, max_unpool, fractional pooling. */
#include "elementwise_cost.h"
#include "form.h"
#include "gemm_cost.h"
#include <string.h>

/* ---------------------------------------------------------------- at positions of a grid ---------------- */

/* Input N x C x sizes, grid N x new sizes x coordinates. */
static void grid_sampler(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0), *grid = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    int n = x->ndim;
    if (adept_call_refuse(
            c, n < 4 || n > 5 || grid->ndim != n || grid->dims[n - 1] != n - 2 || grid->dims[0] != x->dims[0],
            "grid %s does not fit %s", adept_call_shape(c, grid), adept_call_shape(c, x)))
        return;
    memcpy(dims, x->dims, sizeof dims);
    for (int d = 2; d < n; d++)
        dims[d] = grid->dims[d - 1];
    adept_form_out(c, x->dtype, n, dims);
}

enum { BILINEAR, NEAREST, BICUBIC };

/* A multiply-add for each tap of an output element; for each coordinate of a position a scale, a shift and a floor, and
 * for each tap the product of its weights. */
static double grid_sampler_flops(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0), *grid = adept_form_tensor(c, 1), *out = adept_result_tensor(c, 0);
    int64_t mode = adept_arg_int(c, "interpolation_mode", BILINEAR);
    double coordinates = x->ndim - 2, taps = mode == BICUBIC ? 16 : mode == NEAREST ? 0 : x->ndim == 5 ? 8 : 4;
    double positions = (double)adept_tensor_numel(grid) / coordinates;
    return 2 * taps * (double)adept_tensor_numel(out) + positions * (3 * coordinates + (coordinates - 1) * taps);
}

/* ---------------------------------------------------------------- pooling ---------------- */

/* Argument output_size in the place of the last `spatial` dimensions. */
static void resized(adept_call *c, int spatial, bool indices)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t dims[ADEPT_MAX_DIMS], size[ADEPT_MAX_DIMS], window[ADEPT_MAX_DIMS] = {0};
    adept_arg_ints_n(c, "output_size", size, spatial, -1);
    if (adept_call_refuse(c, x->ndim < spatial + 1, "%s is no image", adept_call_shape(c, x)) || !adept_call_ok(c))
        return;
    memcpy(dims, x->dims, sizeof dims);
    if (indices) adept_arg_ints_n(c, "kernel_size", window, spatial, 1);
    for (int i = 0; i < spatial; i++) {
        int64_t own = dims[x->ndim - spatial + i];
        if (adept_call_refuse(c, indices && (window[i] < 1 || window[i] > own || size[i] > own - window[i] + 1),
                              "windows of %lld at %lld places of %lld", (long long)window[i], (long long)size[i],
                              (long long)own))
            return;
        dims[x->ndim - spatial + i] = size[i];
    }
    adept_form_out(c, x->dtype, x->ndim, dims);
    if (indices) adept_form_out(c, ADEPT_I64, x->ndim, dims)->requires_grad = false;
}

static void unpool2d(adept_call *c)
{
    resized(c, 2, false);
}

static void unpool3d(adept_call *c)
{
    resized(c, 3, false);
}

static void fractional2d(adept_call *c)
{
    resized(c, 2, true);
}

static void fractional3d(adept_call *c)
{
    resized(c, 3, true);
}

/* A comparison for each element of each window. */
static double fractional_flops(adept_call *c)
{
    int spatial = !strcmp(adept_call_op(c), "aten::fractional_max_pool3d") ? 3 : 2;
    int64_t kernel[3];
    double flops = (double)adept_tensor_numel(adept_result_tensor(c, 0));
    adept_arg_ints_n(c, "kernel_size", kernel, spatial, 1);
    for (int i = 0; i < spatial; i++)
        flops *= (double)kernel[i];
    return flops;
}

static const adept_form grid_row = {grid_sampler,          {0, 0, 1},          {2, 0, 2},
                                    ADEPT_KEEPS_ARGUMENTS, grid_sampler_flops, NULL};

static const adept_op ops[] = {
    {"aten::grid_sampler aten::grid_sampler_2d aten::grid_sampler_3d", ADEPT_CAST_FP32, &grid_row},
    /* zeros, elements to their places; the gradient gathered */
    {"aten::max_unpool2d", ADEPT_CAST_NONE,
     &(const adept_form){unpool2d, {0, 0, 2}, {0, 0, 1}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    {"aten::max_unpool3d", ADEPT_CAST_NONE,
     &(const adept_form){unpool3d, {0, 0, 2}, {0, 0, 1}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    {"aten::fractional_max_pool2d", ADEPT_READS_WINDOWS,
     &(const adept_form){fractional2d, {0, 0, 1}, {1, 0, 2}, ADEPT_KEEPS_BOTH, fractional_flops, NULL}},
    {"aten::fractional_max_pool3d", ADEPT_READS_WINDOWS,
     &(const adept_form){fractional3d, {0, 0, 1}, {1, 0, 2}, ADEPT_KEEPS_BOTH, fractional_flops, NULL}},
    {0},
};

const adept_handler adept_handler_sampling = {
    .kind = "sampling", .shard = ADEPT_SHARD_BATCH, .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost};

/* ---------------------------------------------------------------- the grid of an affine map ---------------- */

static const adept_op affine_ops[] = {
    {"aten::affine_grid_generator", ADEPT_CAST_NONE, NULL},
    {0},
};

/* theta N x 2 x 3 (or 3 x 4) and the size N x C x H x W (or D x H x W) of the image. */
static void affine_shape(adept_call *c)
{
    const adept_tensor *theta = adept_arg_tensor(c, "theta");
    int64_t size[ADEPT_MAX_DIMS], dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "size", size, ADEPT_MAX_DIMS);
    if (!adept_call_ok(c) ||
        adept_call_refuse(c,
                          n < 4 || n > 5 || theta->ndim != 3 || theta->dims[0] != size[0] || theta->dims[1] != n - 2 ||
                              theta->dims[2] != n - 1,
                          "maps %s do not fit an image of %d dimensions", adept_call_shape(c, theta), n))
        return;
    dims[0] = theta->dims[0];
    for (int d = 2; d < n; d++)
        dims[d - 1] = size[d];
    dims[n - 1] = n - 2;
    adept_out_tensor(c, theta->dtype, n, dims);
}

/* The coordinates of the unchanged grid, written column by column; their product with each map. */
static void affine_cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *theta = adept_arg_tensor(c, "theta"), *out = adept_result_tensor(c, 0);
    double maps = (double)theta->dims[0], columns = (double)theta->dims[2], size = adept_dtype_bytes(out->dtype);
    double pixels = maps > 0 ? (double)adept_tensor_numel(out) / (maps * (columns - 1)) : 0,
           n = maps * pixels * columns;
    if (n == 0) return;
    adept_cost_stream(cost, ADEPT_FORWARD, out->dtype, n, n, 0, n * size, columns);
    adept_gemm_cost(cost, &(adept_gemm){.dtype = out->dtype,
                                        .m = pixels,
                                        .n = columns - 1,
                                        .k = columns,
                                        .batch = maps,
                                        .a = {NULL, n * size, n, size, false},
                                        .b = adept_gemm_side_of(cost, theta),
                                        .out_bytes = adept_tensor_bytes(out)});
}

const adept_handler adept_handler_affine_grid = {
    .kind = "affine_grid", .shard = ADEPT_SHARD_BATCH, .ops = affine_ops, .shape = affine_shape, .cost = affine_cost};
