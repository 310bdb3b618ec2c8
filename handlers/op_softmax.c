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

const adept_handler adept_handler_softmax = {
    .kind = "softmax", .shard = ADEPT_SHARD_ROWS, .ops = ops, .shape = shape, .cost = cost};
