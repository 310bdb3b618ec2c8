/* bilinear: y[b,o] = x1[b,:] W[o] x2[b,:] + bias[o]. PyTorch goes through the outputs o one by one: a product of x1
 * with W[o], the row-wise dot product of that with x2, and an addition into column o of the zeroed result. */
#include "gemm_cost.h"

static const adept_op ops[] = {
    {"aten::bilinear", ADEPT_CAST_PROMOTE, NULL},
    {0},
};

static void shape(adept_call *c)
{
    const adept_tensor *a = adept_arg_tensor(c, "input1"), *b = adept_arg_tensor(c, "input2");
    const adept_tensor *w = adept_arg_tensor(c, "weight"), *bias = adept_arg_tensor_opt(c, "bias");
    int64_t dims[ADEPT_MAX_DIMS];
    if (!adept_call_ok(c)) return;
    int n = a->ndim;
    bool fits = n > 0 && b->ndim == n && w->ndim == 3 && a->dims[n - 1] == w->dims[1] && b->dims[n - 1] == w->dims[2];
    for (int i = 0; i + 1 < n && fits; i++)
        fits = (dims[i] = a->dims[i]) == b->dims[i];
    fits = fits && w->dims[1] > 0 && w->dims[2] > 0;
    fits = fits && (!bias || (bias->ndim == 1 && bias->dims[0] == w->dims[0]));
    if (!fits) {
        adept_call_fail(c, "inputs %s and %s do not fit weight %s or its bias", adept_call_shape(c, a),
                        adept_call_shape(c, b), adept_call_shape(c, w));
        return;
    }
    dims[n - 1] = w->dims[0];
    adept_out_tensor(c, a->dtype, n, dims);
}

/* One product for every output, elements of one. */
static void products(adept_cost *cost, adept_pass pass, adept_dtype dtype, double outputs, double m, double n, double k,
                     double read, double written)
{
    double size = adept_dtype_bytes(dtype);
    adept_gemm g = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = 1};
    adept_gemm_kernel(cost, pass, &g, outputs, read * size, written * size, 0);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *a = adept_arg_tensor(c, "input1"), *b = adept_arg_tensor(c, "input2");
    const adept_tensor *w = adept_arg_tensor(c, "weight"), *bias = adept_arg_tensor_opt(c, "bias");
    const adept_tensor *out = adept_result_tensor(c, 0);
    double o = (double)w->dims[0], i = (double)w->dims[1], j = (double)w->dims[2];
    double n = (double)adept_tensor_numel(out), size = adept_dtype_bytes(out->dtype);
    double rows = adept_dims_elements(out->ndim - 1, out->dims);
    products(cost, ADEPT_FORWARD, out->dtype, o, rows, j, i, rows * i + i * j, rows * j);
    adept_gemm dots = {.dtype = out->dtype, .m = 1, .n = 1, .k = j, .batch = rows};
    adept_gemm_kernel(cost, ADEPT_FORWARD, &dots, o, 2 * rows * j * size, rows * size, 0);
    adept_cost_stream(cost, ADEPT_FORWARD, out->dtype, n, n, 2 * n * size, n * size, o);
    if (bias) adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, n, n, n * size + adept_tensor_bytes(bias), n * size);
    bool want_a = adept_cost_wants_grad(cost, a), want_b = adept_cost_wants_grad(cost, b);
    bool want_w = adept_cost_wants_grad(cost, w);
    /* each gradient is again one product for every output, with the column of dy folded into the other operand */
    if (want_a) products(cost, ADEPT_BACKWARD, out->dtype, o, rows, i, j, rows + rows * j + i * j, rows * i);
    if (want_b) products(cost, ADEPT_BACKWARD, out->dtype, o, rows, j, i, rows + rows * i + i * j, rows * j);
    if (want_w) products(cost, ADEPT_BACKWARD, out->dtype, o, i, j, rows, rows + rows * (i + j), i * j);
    adept_bias_gradient(cost, bias, out, false);
    if (want_b || want_w) adept_cost_save(cost, a);
    if (want_a || want_w) adept_cost_save(cost, b);
    if (want_a || want_b) adept_cost_save(cost, w);
}

const adept_handler adept_handler_bilinear = {
    .kind = "bilinear", .shard = ADEPT_SHARD_COLUMNS, .ops = ops, .shape = shape, .cost = cost};
