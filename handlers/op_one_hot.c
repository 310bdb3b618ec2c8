/* one_hot: zeros, then a one for each number. */
#include "elementwise_cost.h"
#include <string.h>

static const adept_op ops[] = {
    {"aten::one_hot", ADEPT_CAST_NONE, NULL},
    {0},
};

static void shape(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    int64_t dims[ADEPT_MAX_DIMS], classes = adept_arg_int(c, "num_classes", -1);
    if (classes < 0) adept_call_unsupported(c, "without num_classes the size of the result depends on data");
    if (classes == 0 && adept_tensor_numel(self) > 0) adept_call_fail(c, "no class is smaller than num_classes 0");
    if (self->ndim == ADEPT_MAX_DIMS) adept_call_fail(c, "a result of more than %d dimensions", ADEPT_MAX_DIMS);
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    dims[self->ndim] = classes;
    adept_out_tensor(c, ADEPT_I64, self->ndim + 1, dims);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *out = adept_result_tensor(c, 0);
    double n = (double)adept_tensor_numel(self);
    adept_elem_fill(cost, ADEPT_FORWARD, out);
    if (n > 0)
        adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, n, 0, adept_elem_read(self), n * adept_dtype_bytes(out->dtype));
}

const adept_handler adept_handler_one_hot = {
    .kind = "scatter", .shard = ADEPT_SHARD_ROWS, .ops = ops, .shape = shape, .cost = cost};
