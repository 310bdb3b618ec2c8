/* softmax and log_softmax along one dimension. */
#include "elementwise_cost.h"

/* The decomposed forms have a flag that turns fp16 input into fp32 output instead of a dtype. */
static const char half_to_float;

static const adept_op ops[] = {
    {"aten::softmax", ADEPT_CAST_FP32 | ADEPT_CAST_WIDENS | ADEPT_ROLE_SOFTMAX, NULL},
    {"aten::log_softmax", ADEPT_CAST_FP32 | ADEPT_CAST_WIDENS, NULL},
    {"aten::special_softmax aten::special_log_softmax aten::_safe_softmax", ADEPT_CAST_FP32, NULL},
    {"aten::_softmax", ADEPT_CAST_FP32 | ADEPT_ROLE_SOFTMAX, &half_to_float},
    {"aten::_log_softmax", ADEPT_CAST_FP32, &half_to_float},
    {0},
};

static void shape(adept_call *c)
{
    const adept_tensor *x = adept_arg_tensor(c, "self");
    adept_dtype dtype = x->dtype;
    adept_call_dim(c, adept_arg_int(c, "dim", -1), x->ndim);
    if (adept_call_data(c)) {
        if (adept_arg_bool(c, "half_to_float", false)) dtype = adept_call_dtype(c, ADEPT_F32);
    } else if (adept_arg_given(c, "dtype")) {
        dtype = adept_arg_dtype(c, "dtype");
    } else if (dtype == ADEPT_F16 && adept_call_autocast(c)) {
        dtype = ADEPT_F32; /* autocast asks for that type, and the kernel writes it (SoftMax.cpp, half_to_float) */
    }
    if (adept_call_ok(c) && !adept_dtype_is_float(dtype)) adept_call_fail(c, "element type is not floating");
    if (adept_call_ok(c)) adept_out_tensor(c, dtype, x->ndim, x->dims);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *x = adept_arg_tensor(c, "self"), *y = adept_result_tensor(c, 0);
    double n = (double)adept_tensor_numel(y), bytes = adept_tensor_bytes(y);
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", -1), x->ndim);
    double row = x->ndim > 0 ? (double)x->dims[dim] : 1;
    adept_softmax_kernel(cost, ADEPT_FORWARD, y->dtype, n, row, adept_tensor_unique_bytes(x), bytes);
    if (!adept_cost_wants_grad(cost, x)) return;
    /* from the result and its gradient, both of the result's type */
    adept_softmax_kernel(cost, ADEPT_BACKWARD, y->dtype, n, row, 2 * bytes, n * adept_dtype_bytes(x->dtype));
    adept_cost_save(cost, y);
}

static const adept_handler_case cases[] = {
    /* 2x12x197x197 = 931416 scores */
    {.name = "attention scores",
     .call = "aten::softmax(self=f32:2x12x197x197*, dim=-1, dtype=none) -> f32:2x12x197x197",
     .forward = {.alu = 4657080, .read = 3725664, .written = 3725664, .row_elements = 197},
     .backward = {.alu = 9314160, .read = 7451328, .written = 3725664, .saved = 3725664}},
    /* dtype 6 is float32: reads 2, writes 4 bytes of 40 elements; dx is bf16 again */
    {.name = "widened",
     .call = "aten::log_softmax(self=bf16:4x10*, dim=1, dtype=6) -> f32:4x10",
     .forward = {.alu = 200, .read = 80, .written = 160, .row_elements = 10},
     .backward = {.alu = 400, .read = 320, .written = 80, .saved = 160}},
    {.name = "decomposed, fp16 to fp32, no gradient",
     .call = "aten::_softmax(self=f16:4x10, dim=0, half_to_float=true) -> f32:4x10",
     .forward = {.alu = 200, .read = 80, .written = 160, .row_elements = 4}},
    {0},
};

const adept_handler adept_handler_softmax = {
    .kind = "softmax", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
