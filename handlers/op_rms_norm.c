/* rms_norm, as the one fused kernel the specification counts: square, sum, scale, weight = 4 FLOPs per element. */
#include "norm_cost.h"

static const char with_statistics; /* fused form: returns the reciprocal root mean square too */

/* torch.autocast has no rule for it: it runs in its input's type, and its result has that type. */
static const adept_op ops[] = {
    {"aten::rms_norm", ADEPT_CAST_NONE, NULL},
    {"aten::_fused_rms_norm", ADEPT_CAST_NONE, &with_statistics},
    {0},
};

static void shape(adept_call *c)
{
    const adept_tensor *x = adept_arg_tensor(c, "input");
    int n = adept_norm_trailing(c, x, adept_arg_tensor_opt(c, "weight"), NULL);
    if (!adept_call_ok(c)) return;
    adept_out_tensor(c, x->dtype, x->ndim, x->dims);
    if (adept_call_data(c)) adept_norm_out_statistics(c, x, n);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *x = adept_arg_tensor(c, "input"), *weight = adept_arg_tensor_opt(c, "weight");
    adept_norm norm = {.family = ADEPT_FAMILY_NORM,
                       .input = x,
                       .weight = weight,
                       .out = adept_result_tensor(c, 0),
                       .flops = 4,
                       .passes = 1,
                       .row_elements = adept_norm_trailing_elements(x, adept_norm_trailing(c, x, weight, NULL)),
                       .statistics = 1,
                       .forward_launches = 1,
                       .backward_launches = 1};
    adept_norm_cost(cost, &norm);
}

static const adept_handler_case cases[] = {
    /* 80 elements in 10 rows: 320 FLOPs; reads 2 (80 + 8), writes 160 and 10 fp32 statistics */
    {.name = "rows of eight",
     .call = "aten::rms_norm(input=bf16:2x5x8*, normalized_shape=[8], weight=bf16:8*, eps=0.00001)",
     .out = "bf16:2x5x8",
     .forward = {.alu = 320, .read = 176, .written = 200, .launches = 1},
     .backward = {.alu = 640, .read = 160 + 160 + 40 + 16, .written = 176, .launches = 1},
     .saved_bytes = 160 + 16 + 40,
     .row_elements = 8},
    {.name = "fused form, frozen weight",
     .call = "aten::_fused_rms_norm(input=f32:2x8*, normalized_shape=[8], weight=f32:8, eps=none)",
     .out = "f32:2x8, f32:2x1",
     .forward = {.alu = 64, .read = 96, .written = 64 + 8, .launches = 1},
     .backward = {.alu = 128, .read = 64 + 64 + 8 + 32, .written = 64, .launches = 1},
     .saved_bytes = 64 + 32 + 8,
     .row_elements = 8},
    {0},
};

const adept_handler adept_handler_rms_norm = {
    .kind = "rms_norm", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
