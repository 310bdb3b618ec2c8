/* group_norm: a pass over the input for mean and deviation of each group, another to normalise. 7 FLOPs per element. */
#include "norm_cost.h"

static const char native; /* sizes are arguments, and mean and reciprocal deviation results */

static const adept_op ops[] = {
    {"aten::group_norm", ADEPT_CAST_FP32, NULL},
    {"aten::native_group_norm", ADEPT_CAST_FP32, &native},
    {0},
};

static int64_t groups_of(adept_call *c)
{
    return adept_arg_int(c, adept_call_data(c) ? "group" : "num_groups", 0);
}

static void shape(adept_call *c)
{
    const adept_tensor *x = adept_arg_tensor(c, "input");
    const adept_tensor *weight = adept_arg_tensor_opt(c, "weight"), *bias = adept_arg_tensor_opt(c, "bias");
    int64_t groups = groups_of(c);
    if (!adept_call_ok(c)) return;
    if (x->ndim < 2 || groups < 1 || x->dims[1] % groups != 0) {
        char text[160];
        adept_call_fail(c, "the channels of %s do not divide into %lld groups",
                        adept_tensor_print(x, text, sizeof text), (long long)groups);
        return;
    }
    adept_norm_check_vector(c, "weight", weight, x->dims[1]);
    adept_norm_check_vector(c, "bias", bias, x->dims[1]);
    if (!adept_call_ok(c)) return;
    adept_out_tensor(c, x->dtype, x->ndim, x->dims);
    if (!adept_call_data(c)) return;
    int64_t statistics[2] = {x->dims[0], groups};
    adept_out_tensor(c, adept_norm_statistics_type(x->dtype), 2, statistics);
    adept_out_tensor(c, adept_norm_statistics_type(x->dtype), 2, statistics);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *x = adept_arg_tensor(c, "input");
    double pixels = 1;
    for (int i = 2; i < x->ndim; i++)
        pixels *= (double)x->dims[i];
    adept_norm norm = {.family = ADEPT_FAMILY_NORM,
                       .input = x,
                       .weight = adept_arg_tensor_opt(c, "weight"),
                       .bias = adept_arg_tensor_opt(c, "bias"),
                       .out = adept_result_tensor(c, 0),
                       .flops = 7,
                       .passes = 2,
                       .row_elements = (double)(x->dims[1] / groups_of(c)) * pixels,
                       .statistics = 2,
                       .forward_launches = 2,
                       .backward_launches = 2};
    adept_norm_cost(cost, &norm);
}

static const adept_handler_case cases[] = {
    /* 2x6x4x4 = 192 elements, 2 images of 3 groups: 6 means and deviations, 48 bytes. The input is read twice. */
    {.name = "three groups of two channels",
     .call = "aten::group_norm(input=f32:2x6x4x4*, num_groups=3, weight=f32:6*, bias=f32:6*, eps=0.00001)",
     .out = "f32:2x6x4x4",
     .forward = {.alu = 1344, .read = 2 * 768 + 48, .written = 768 + 48, .launches = 2},
     .backward = {.alu = 2688, .read = 2 * (768 + 768) + 48 + 24, .written = 768 + 24 + 24, .launches = 2},
     .saved_bytes = 768 + 24 + 48,
     .row_elements = 32},
    {.name = "decomposed, first layer",
     .call =
         "aten::native_group_norm(input=f32:2x6x4, weight=f32:6*, bias=none, N=2, C=6, HxW=4, group=2, eps=0.00001)",
     .out = "f32:2x6x4, f32:2x2, f32:2x2",
     .forward = {.alu = 336, .read = 2 * 192 + 24, .written = 192 + 32, .launches = 2},
     .backward = {.alu = 672, .read = 2 * 384 + 32 + 24, .written = 24, .launches = 2},
     .saved_bytes = 192 + 24 + 32,
     .row_elements = 12},
    {0},
};

const adept_handler adept_handler_group_norm = {
    .kind = "group_norm", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
