/* Products in 8 bits: what Transformer Engine's fp8_autocast, torchao's float8 training and their like do of a model
 * that otherwise runs in bf16. Products with weights take both operands in FP8, and the gradient in backward; what they
 * make stays in 16 bits, and so do attention and the last product, the head. An operand is read for its largest value,
 * read again and written in FP8 both by rows and by columns: 2 + 2 + 1 + 1 bytes an element, of inputs forward and of
 * gradients backward. Weights are cast once a step and not counted. Measured: casts of 6 bytes fit NeMo's steps on
 * H100. */
#include "interp.h"
#include <math.h>

#define TILE 16 /* what sizes of weights have to be multiples of */
#define CAST_READ_BYTES 4.0
#define CAST_WRITTEN_BYTES 2.0

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

static void cast(adept_cost *cost, adept_pass pass, double elements)
{
    if (elements > 0)
        adept_cost_stream(cost, pass, ADEPT_BF16, elements, elements, CAST_READ_BYTES * elements,
                          CAST_WRITTEN_BYTES * elements, 2);
}

static void lower(adept_call *call, adept_cost *cost)
{
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
        k->bytes_read = narrow ? fmax(k->bytes_read - inputs, k->bytes_read / 2) : k->bytes_read / 2;
        backward = backward || k->pass == ADEPT_BACKWARD;
    }
    cast(cost, ADEPT_FORWARD, inputs);
    if (backward) cast(cost, ADEPT_BACKWARD, results);
}

adept_status adept_fp8_products(adept_interp *in, adept_cost *costs)
{
    size_t last = in->n_records;

    for (size_t i = 0; i < in->n_records; i++)
        if (!in->records[i].skipped && has_weight(&in->records[i].call, &costs[i])) last = i;
    for (size_t i = 0; i < last && last < in->n_records; i++)
        if (!in->records[i].skipped && has_weight(&in->records[i].call, &costs[i]))
            lower(&in->records[i].call, &costs[i]);
    for (size_t i = 0; i < in->n_records; i++)
        if (in->records[i].call.failure == ADEPT_CALL_NOMEM) return adept_interp_nomem(in);
    return ADEPT_OK;
}
