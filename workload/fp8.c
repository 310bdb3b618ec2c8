/* Products in 8 or 4 bits: what Transformer Engine's fp8_autocast, torchao's float8 and MX training and their like do
 * of a model that otherwise runs in bf16. Products with weights take both operands so, and the gradient in backward;
 * what they make stays in 16 bits, and so do attention, norms and the last product, the head. An operand is cast by
 * rows and by columns, for the product forward and those backward, of inputs forward and of gradients backward. Weights
 * are cast once a step and not counted. Measured: casts of 2 + 2 + 1 + 1 bytes fit NeMo's steps on H100. */
#include "interp.h"
#include <math.h>

#define TILE 16 /* what sizes of weights have to be multiples of */

/* What a cast reads, how many kernels it is, and what an element takes then, with its share of scales. */
static const struct {
    double read_bytes, launches, bytes;
} recipes[] = {
    {4.0, 2.0, 1.0},               /* fp8: the largest of all values, then both copies */
    {6.0, 3.0, 1.0},               /* row: a row at once; columns are read for their largest values, and once more */
    {2.0, 1.0, 1.0 + 4.0 / 128.0}, /* block: both copies of a tile at once, scales of 32 bits */
    {4.0, 2.0, 1.0 + 1.0 / 32.0},  /* mxfp8: rows, then columns */
    {6.0, 3.0,
     0.5 + 1.0 / 16.0}, /* nvfp4: a scale of the tensor beside those of 16; columns after a Hadamard transform */
};

double adept_precision_scaled_bytes(adept_precision precision)
{
    return adept_precision_is_scaled(precision) ? recipes[(precision - ADEPT_FP8) / 2].bytes : NAN;
}

static bool is_product(const adept_kernel *k)
{
    return (k->family == ADEPT_FAMILY_GEMM || k->family == ADEPT_FAMILY_BMM) && k->dtype == ADEPT_BF16;
}

/* Of activations with a parameter. */
static bool has_weight(const adept_call *call, const adept_cost *cost)
{
    adept_tensor_cursor at = adept_call_arguments(call);
    bool weight = false, product = false;

    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        weight = weight ||
                 (t->param >= 0 && t->ndim > 1 && t->dims[t->ndim - 1] % TILE == 0 && t->dims[t->ndim - 2] % TILE == 0);
    for (size_t i = 0; i < cost->n_kernels; i++)
        product = product || is_product(&cost->kernels[i]);
    return weight && product;
}

static void lower(adept_call *call, adept_cost *cost, adept_precision precision)
{
    const int recipe = (precision - ADEPT_FP8) / 2;
    const double bytes = recipes[recipe].bytes;
    double inputs = 0, results = 0;
    bool backward = false, narrow = false; /* of weights that are stored in 8 bits or fewer */
    adept_tensor_cursor arguments = adept_call_arguments(call), made = adept_call_results(call);

    for (const adept_tensor *t; (t = adept_next_tensor(&arguments));) {
        if (t->param < 0 && t->dtype == ADEPT_BF16) inputs += (double)adept_tensor_numel(t);
        if (t->param >= 0 && t->ndim > 1) narrow = adept_cost_stored_bytes(cost, t) <= (double)adept_tensor_numel(t);
    }
    for (const adept_tensor *t; (t = adept_next_tensor(&made));)
        results += (double)adept_tensor_numel(t);
    for (size_t i = 0; i < cost->n_kernels; i++) {
        adept_kernel *k = &cost->kernels[i];
        if (!is_product(k)) continue;
        k->dtype = ADEPT_F8E4M3;
        const double scaled = k->bytes_read * bytes / 2;
        k->bytes_read = narrow ? fmax(k->bytes_read - (2 - bytes) * inputs, scaled) : scaled;
        backward = backward || k->pass == ADEPT_BACKWARD;
    }
    for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++) {
        const double n = pass == ADEPT_FORWARD ? inputs : backward ? results : 0;
        if (n > 0)
            adept_cost_stream(cost, (adept_pass)pass, ADEPT_BF16, n, n, recipes[recipe].read_bytes * n, 2 * bytes * n,
                              recipes[recipe].launches);
    }
}

adept_status adept_scaled_products(adept_interp *in, adept_cost *costs)
{
    size_t last = in->n_records;

    for (size_t i = 0; i < in->n_records; i++)
        if (!in->records[i].skipped && has_weight(&in->records[i].call, &costs[i])) last = i;
    for (size_t i = 0; i < last && last < in->n_records; i++)
        if (!in->records[i].skipped && has_weight(&in->records[i].call, &costs[i]))
            lower(&in->records[i].call, &costs[i], in->run.precision);
    for (size_t i = 0; i < in->n_records; i++)
        if (in->records[i].call.failure == ADEPT_CALL_NOMEM) return adept_interp_nomem(in);
    return ADEPT_OK;
}
