/** @file gemm_cost.c  Kernels of a (batched) matrix product, forward and backward. Calls: adept_handler. */
#include "gemm_cost.h"

adept_gemm_side adept_gemm_side_of(const adept_cost *cost, const adept_tensor *t)
{
    return (adept_gemm_side){adept_tensor_unique_bytes(t), (double)adept_tensor_numel(t), adept_dtype_bytes(t->dtype),
                             adept_cost_wants_grad(cost, t)};
}

void adept_gemm_kernel(adept_cost *cost, adept_pass pass, const adept_gemm *g, double repeat, double bytes_read,
                       double bytes_written, double flops_alu)
{
    adept_cost_kernel(cost, &(adept_kernel){.pass = pass,
                                            .unit = ADEPT_UNIT_GEMM,
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

void adept_gemm_forward(adept_cost *cost, const adept_gemm *g)
{
    adept_gemm_kernel(cost, ADEPT_FORWARD, g, 1, g->a.bytes + g->b.bytes + g->extra_bytes, g->out_bytes,
                      g->extra_flops);
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

void adept_gemm_save(adept_cost *cost, const adept_tensor *a, const adept_tensor *b)
{
    if (adept_cost_wants_grad(cost, b)) adept_cost_save(cost, a);
    if (adept_cost_wants_grad(cost, a)) adept_cost_save(cost, b);
}

void adept_bias_gradient(adept_cost *cost, const adept_tensor *bias, const adept_tensor *out, bool shared_pass)
{
    if (!adept_cost_wants_grad(cost, bias)) return;
    double n = (double)adept_tensor_numel(out);
    adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n, n, shared_pass ? 0 : adept_tensor_bytes(out),
                   adept_tensor_bytes(bias));
}

void adept_alu_kernels(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double flops,
                       double bytes_read, double bytes_written, double launches)
{
    adept_cost_kernel(cost, &(adept_kernel){.pass = pass,
                                            .unit = ADEPT_UNIT_ALU,
                                            .dtype = dtype,
                                            .flops = flops,
                                            .bytes_read = bytes_read,
                                            .bytes_written = bytes_written,
                                            .launches = launches,
                                            .elements = elements});
}
