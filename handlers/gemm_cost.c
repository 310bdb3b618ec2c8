/** @file gemm_cost.c  Kernels of a (batched) matrix product, forward and backward. Calls: adept_handler. */
#include "gemm_cost.h"

adept_gemm_side adept_gemm_side_of(const adept_cost *cost, const adept_tensor *t)
{
    return (adept_gemm_side){t, adept_cost_stored_bytes(cost, t), (double)adept_tensor_numel(t),
                             adept_dtype_bytes(t->dtype), adept_cost_wants_grad(cost, t)};
}

bool adept_gemm_dims_merge(int n, const int64_t *sizes, const int64_t *strides)
{
    int inner = -1; /* the last dimension looked at that has more than one element */
    for (int i = n - 1; i >= 0; i--) {
        int64_t step;
        if (sizes[i] == 1) continue;
        if (inner >= 0 && (__builtin_mul_overflow(strides[inner], sizes[inner], &step) || strides[i] != step))
            return false;
        inner = i;
    }
    return true;
}

adept_gemm_side adept_gemm_side_copied(adept_cost *cost, const adept_tensor *t, double elements)
{
    adept_gemm_side side = adept_gemm_side_of(cost, t);
    adept_cost_alu(cost, ADEPT_FORWARD, t->dtype, elements, 0, side.bytes, elements * side.size);
    side.bytes = elements * side.size;
    side.tensor = NULL;
    return side;
}

void adept_gemm_kernel(adept_cost *cost, adept_pass pass, const adept_gemm *g, double repeat, double bytes_read,
                       double bytes_written, double flops_alu)
{
    bool nothing = g->m * g->n * g->k * g->batch == 0; /* the result is filled with zeros */
    adept_cost_kernel(cost, &(adept_kernel){.pass = pass,
                                            .unit = ADEPT_UNIT_GEMM,
                                            .family = nothing        ? ADEPT_FAMILY_STREAM
                                                      : g->batch > 1 ? ADEPT_FAMILY_BMM
                                                                     : ADEPT_FAMILY_GEMM,
                                            .dtype = g->dtype,
                                            .flops = repeat * 2 * g->m * g->n * g->k * g->batch,
                                            .flops_alu = flops_alu,
                                            .bytes_read = repeat * bytes_read,
                                            .bytes_written = repeat * bytes_written,
                                            .launches = repeat,
                                            .m = g->m,
                                            .n = g->n,
                                            .k = g->k,
                                            .batch = g->batch});
}

/* One gradient product, and the sum over the batch when the operand was broadcast along it. */
static void operand_gradient(adept_cost *cost, const adept_gemm *g, const adept_gemm_side *operand, double other_bytes)
{
    double made = g->m * g->n * g->batch;
    bool summed = made > operand->elements && operand->elements > 0;
    adept_gemm_kernel(cost, ADEPT_BACKWARD, g, 1, g->out_bytes + other_bytes, made * operand->size, 0);
    if (summed)
        adept_cost_alu(cost, ADEPT_BACKWARD, g->dtype, made, made, made * operand->size,
                       operand->elements * operand->size);
}

void adept_gemm_backward(adept_cost *cost, const adept_gemm *g)
{
    adept_gemm da = *g, db = *g;
    da.n = g->k, da.k = g->n; /* (m x n) (n x k) */
    db.m = g->k, db.k = g->m; /* (k x m) (m x n) */
    if (g->a.grad) operand_gradient(cost, &da, &g->a, g->b.bytes);
    if (g->b.grad) operand_gradient(cost, &db, &g->b, g->a.bytes);
}

static void save_side(adept_cost *cost, const adept_gemm_side *side)
{
    if (side->tensor)
        adept_cost_save(cost, side->tensor);
    else
        adept_cost_save_bytes(cost, side->bytes);
}

void adept_gemm_save(adept_cost *cost, const adept_gemm *g)
{
    if (g->b.grad) save_side(cost, &g->a);
    if (g->a.grad) save_side(cost, &g->b);
}

void adept_gemm_cost(adept_cost *cost, const adept_gemm *g)
{
    adept_gemm_kernel(cost, ADEPT_FORWARD, g, 1, g->a.bytes + g->b.bytes + g->extra_bytes, g->out_bytes,
                      g->extra_flops);
    adept_gemm_backward(cost, g);
    adept_gemm_save(cost, g);
}

void adept_bias_gradient(adept_cost *cost, const adept_tensor *bias, const adept_tensor *out, bool shared_pass)
{
    if (!adept_cost_wants_grad(cost, bias)) return;
    double n = (double)adept_tensor_numel(out);
    adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n, n, shared_pass ? 0 : adept_tensor_bytes(out),
                   adept_tensor_bytes(bias));
}
