/* layer_norm: one kernel reads each row once, keeps it in registers, writes it normalised. 7 FLOPs per element. */
#include "norm_cost.h"

static const char with_statistics; /* native form: returns mean and reciprocal deviation too */

static const adept_op ops[] = {
    {"aten::layer_norm", ADEPT_CAST_FP32, NULL},
    {"aten::native_layer_norm", ADEPT_CAST_FP32, &with_statistics},
    {0},
};

static void shape(adept_call *c)
{
    const adept_tensor *x = adept_arg_tensor(c, "input");
    int n = adept_norm_trailing(c, x, adept_arg_tensor_opt(c, "weight"), adept_arg_tensor_opt(c, "bias"));
    if (!adept_call_ok(c)) return;
    adept_out_tensor(c, x->dtype, x->ndim, x->dims);
    if (!adept_call_data(c)) return;
    adept_norm_out_statistics(c, x, n);
    adept_norm_out_statistics(c, x, n);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *x = adept_arg_tensor(c, "input");
    const adept_tensor *weight = adept_arg_tensor_opt(c, "weight"), *bias = adept_arg_tensor_opt(c, "bias");
    adept_norm norm = {.family = ADEPT_FAMILY_NORM,
                       .input = x,
                       .weight = weight,
                       .bias = bias,
                       .out = adept_result_tensor(c, 0),
                       .flops = 7,
                       .passes = 1,
                       .row_elements = adept_norm_trailing_elements(x, adept_norm_trailing(c, x, weight, bias)),
                       .statistics = 2,
                       .forward_launches = 1,
                       .backward_launches = 1};
    adept_norm_cost(cost, &norm);
}

static const adept_handler_case cases[] = {
    /* 2x5x8 = 80 elements in 10 rows: 560 FLOPs; reads 4 (80 + 8 + 8), writes 4 * 80 + mean and rstd of 10 rows: 80
     * bytes. backward reads x, dy, statistics and weight, writes dx, dweight, dbias; keeps x, weight, statistics */
    {.name = "rows of eight",
     .call = "aten::layer_norm(input=f32:2x5x8*, normalized_shape=[8], weight=f32:8*, bias=f32:8*, eps=0.00001)",
     .out = "f32:2x5x8",
     .forward = {.alu = 560, .read = 384, .written = 400, .launches = 1},
     .backward = {.alu = 1120, .read = 320 + 320 + 80 + 32, .written = 384, .launches = 1},
     .saved_bytes = 320 + 32 + 80,
     .row_elements = 8},
    /* two rows of 40; statistics stay fp32 */
    {.name = "statistics returned, no parameters",
     .call = "aten::native_layer_norm(input=bf16:2x5x8*, normalized_shape=[5,8], weight=none, bias=none, eps=0.00001)",
     .out = "bf16:2x5x8, f32:2x1x1, f32:2x1x1",
     .forward = {.alu = 560, .read = 160, .written = 160 + 16, .launches = 1},
     .backward = {.alu = 1120, .read = 320 + 16, .written = 160, .launches = 1},
     .saved_bytes = 160 + 16,
     .row_elements = 40},
    {.name = "inference",
     .call = "aten::layer_norm(input=f32:2x8, normalized_shape=[8], weight=f32:8, bias=none) @infer",
     .out = "f32:2x8",
     .forward = {.alu = 112, .read = 64 + 32, .written = 64 + 16, .launches = 1},
     .row_elements = 8},
    {0},
};

const adept_handler adept_handler_layer_norm = {
    .kind = "layer_norm", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
