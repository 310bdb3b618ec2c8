/** @file norm_cost.c  What layer, group, batch and RMS normalisation have in common. Calls: adept_handler. */
#include "norm_cost.h"
#include "gemm_cost.h"
#include <string.h>

static double optional_bytes(const adept_tensor *t)
{
    return t ? adept_tensor_unique_bytes(t) : 0;
}

void adept_norm_cost(adept_cost *cost, const adept_norm *norm)
{
    double n = (double)adept_tensor_numel(norm->out), x_bytes = adept_tensor_unique_bytes(norm->input);
    double y_bytes = adept_tensor_bytes(norm->out),
           parameters = optional_bytes(norm->weight) + optional_bytes(norm->bias);
    adept_alu_kernels(cost, ADEPT_FORWARD, norm->out->dtype, n, norm->flops * n,
                      norm->passes * x_bytes + parameters + norm->running_read_bytes,
                      y_bytes + norm->statistics_bytes + norm->running_written_bytes, norm->forward_launches);
    double written = 0;
    if (adept_cost_wants_grad(cost, norm->input)) written += adept_tensor_bytes(norm->input);
    if (adept_cost_wants_grad(cost, norm->weight)) written += adept_tensor_bytes(norm->weight);
    if (adept_cost_wants_grad(cost, norm->bias)) written += adept_tensor_bytes(norm->bias);
    adept_alu_kernels(cost, ADEPT_BACKWARD, norm->out->dtype, n, 2 * norm->flops * n,
                      norm->passes * (x_bytes + y_bytes) + norm->statistics_bytes + optional_bytes(norm->weight),
                      written, norm->backward_launches);
    adept_cost_save(cost, norm->input);
    adept_cost_save(cost, norm->weight);
    adept_cost_save_bytes(cost, norm->statistics_bytes);
}

adept_dtype adept_norm_statistics_type(adept_dtype input)
{
    return input == ADEPT_F64 ? ADEPT_F64 : ADEPT_F32;
}

void adept_norm_check_vector(adept_call *c, const char *what, const adept_tensor *t, int64_t n)
{
    char text[160];
    if (adept_call_ok(c) && t && (t->ndim != 1 || t->dims[0] != n))
        adept_call_fail(c, "%s %s, but %lld channels", what, adept_tensor_print(t, text, sizeof text), (long long)n);
}

static void check_trailing(adept_call *c, const char *what, const adept_tensor *t, int n, const int64_t *dims)
{
    char text[160];
    if (adept_call_ok(c) && t && (t->ndim != n || memcmp(t->dims, dims, (size_t)n * sizeof *dims) != 0))
        adept_call_fail(c, "%s %s does not have the normalised shape", what, adept_tensor_print(t, text, sizeof text));
}

int adept_norm_trailing(adept_call *c, const adept_tensor *input, const adept_tensor *weight, const adept_tensor *bias)
{
    int64_t dims[ADEPT_MAX_DIMS];
    char text[160];
    int n = adept_arg_ints(c, "normalized_shape", dims, ADEPT_MAX_DIMS);
    if (!adept_call_ok(c)) return 0;
    if (n < 1 || n > input->ndim || memcmp(dims, input->dims + input->ndim - n, (size_t)n * sizeof *dims) != 0) {
        adept_call_fail(c, "input %s does not end in the normalised shape (%d dimension%s, the first %lld)",
                        adept_tensor_print(input, text, sizeof text), n > 0 ? n : 0, n == 1 ? "" : "s",
                        n > 0 ? (long long)dims[0] : 0LL);
        return 0;
    }
    check_trailing(c, "weight", weight, n, dims);
    check_trailing(c, "bias", bias, n, dims);
    return n;
}
