/** @file norm_cost.c  What layer, group, batch and RMS normalisation have in common. Calls: adept_handler. */
#include "norm_cost.h"
#include <string.h>

static double optional_bytes(const adept_tensor *t)
{
    return t ? adept_tensor_unique_bytes(t) : 0;
}

/* Elements that share a mean meet in one row; with statistics known before, each stands on its own. */
static void norm_kernel(adept_cost *cost, const adept_norm *norm, adept_pass pass, double flops, double bytes_read,
                        double bytes_written)
{
    double n = (double)adept_tensor_numel(norm->out);
    adept_cost_kernel(
        cost, &(adept_kernel){.pass = pass,
                              .unit = ADEPT_UNIT_ALU,
                              .family = norm->row_elements > 0 ? norm->family : ADEPT_FAMILY_STREAM,
                              .dtype = norm->out->dtype,
                              .flops = flops * n,
                              .bytes_read = bytes_read,
                              .bytes_written = bytes_written,
                              .launches = pass == ADEPT_FORWARD ? norm->forward_launches : norm->backward_launches,
                              .elements = n,
                              .planes = norm->row_elements > 0 ? norm->planes : 0,
                              .row_elements = norm->row_elements});
}

void adept_norm_cost(adept_cost *cost, const adept_norm *norm)
{
    double n = (double)adept_tensor_numel(norm->out), rows = norm->row_elements > 0 ? n / norm->row_elements : 0;
    double x_bytes = adept_tensor_unique_bytes(norm->input), y_bytes = adept_tensor_bytes(norm->out);
    double parameters = optional_bytes(norm->weight) + optional_bytes(norm->bias);
    double statistics_bytes =
        rows * norm->statistics * adept_dtype_bytes(adept_norm_statistics_type(norm->input->dtype));
    norm_kernel(cost, norm, ADEPT_FORWARD, norm->flops, norm->passes * x_bytes + parameters + norm->running_read_bytes,
                y_bytes + statistics_bytes + norm->running_written_bytes);
    double written = 0;
    if (adept_cost_wants_grad(cost, norm->input)) written += adept_tensor_bytes(norm->input);
    if (adept_cost_wants_grad(cost, norm->weight)) written += adept_tensor_bytes(norm->weight);
    if (adept_cost_wants_grad(cost, norm->bias)) written += adept_tensor_bytes(norm->bias);
    norm_kernel(cost, norm, ADEPT_BACKWARD, 2 * norm->flops,
                norm->passes * (x_bytes + y_bytes) + statistics_bytes + optional_bytes(norm->weight), written);
    adept_cost_save(cost, norm->input);
    adept_cost_save(cost, norm->weight);
    adept_cost_save_bytes(cost, statistics_bytes);
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

double adept_norm_trailing_elements(const adept_tensor *input, int n_trailing)
{
    double elements = 1;
    for (int i = input->ndim - n_trailing; i < input->ndim; i++)
        elements *= (double)input->dims[i];
    return elements;
}

void adept_norm_out_statistics(adept_call *c, const adept_tensor *input, int n_trailing)
{
    int64_t dims[ADEPT_MAX_DIMS];
    for (int i = 0; i < input->ndim; i++)
        dims[i] = i < input->ndim - n_trailing ? input->dims[i] : 1;
    adept_out_tensor(c, adept_norm_statistics_type(input->dtype), input->ndim, dims);
}
