/** @file divide.c  Kernels of a part of an operator; see divide.h. */
#include "divide.h"
#include <math.h>

static double part_of(double size, double by)
{
    return by > 1.0 ? fmax(1.0, ceil(size / by)) : size;
}

/* Of so many experts that tokens of one GPU meet, those that tokens of all GPUs meet on each: of n tokens, an expert is
 * left out with probability q^n. */
static double met_experts(double met, const adept_division *d)
{
    if (d->experts <= 1.0) return met;
    return d->all_experts / d->experts * (1.0 - pow(fmax(0.0, 1.0 - met / d->all_experts), d->experts));
}

/* A product that has m tokens in its forward pass. The gradient of its input has m x K by N, that of its weights K x N
 * over m tokens: told apart by their sizes, and where those are equal by their order. */
static void divide_product(adept_kernel *k, const adept_kernel *forward, const adept_division *d, bool *had_input)
{
    const double m = k->m, n = k->n, inner = k->k, batch = k->batch;
    const bool is_forward = k->pass == ADEPT_FORWARD || !forward;
    const bool of_input = !is_forward && m == forward->m && n == forward->k && inner == forward->n &&
                          !(*had_input && forward->m == forward->k && forward->m == forward->n);
    if (is_forward) {
        k->m = part_of(m, d->tokens * d->parts), k->n = part_of(n, d->columns), k->k = part_of(inner, d->inner);
    } else if (of_input) {
        *had_input = true;
        k->m = part_of(m, d->tokens * d->parts), k->n = part_of(n, d->inner), k->k = part_of(inner, d->columns);
    } else {
        k->m = part_of(m, d->inner), k->n = part_of(n, d->columns), k->k = part_of(inner, d->tokens * d->parts);
    }
    k->batch = met_experts(batch, d);
    if (d->experts > 1.0) { /* fewer experts, each with the tokens of as many more GPUs: as many in all */
        double *tokens = is_forward || of_input ? &k->m : &k->k;
        *tokens = *tokens * batch / k->batch;
    }
    const double results = k->m * k->n * k->batch / (m * n * batch);
    k->flops *= results * k->k / inner;
    k->flops_alu *= results;
    k->bytes_read *= (k->m + k->n) * k->k * k->batch / ((m + n) * inner * batch);
    k->bytes_written *= results;
}

bool adept_divide(adept_profile_op *out, const adept_profile_op *op, const adept_division *d, adept_arena *arena)
{
    const double by = d->tokens * d->parts * d->columns; /* experts share weights, not work */
    adept_kernel *kernels = adept_arena_array(arena, op->n_kernels + 1, sizeof *kernels);
    const adept_kernel *forward = NULL;
    bool had_input = false;
    *out = *op;
    if (!kernels) return false;
    out->kernels = kernels;
    if (d->none) out->n_kernels = 0;
    for (size_t i = 0; i < out->n_kernels; i++) {
        adept_kernel *k = &kernels[i];
        const bool matrix = op->kernels[i].family == ADEPT_FAMILY_GEMM || op->kernels[i].family == ADEPT_FAMILY_BMM;
        *k = op->kernels[i];
        if (matrix && k->pass == ADEPT_FORWARD && !forward) forward = &op->kernels[i];
        if (k->family == ADEPT_FAMILY_ATTENTION || (matrix && d->heads)) {
            /* Attention, or products of activations: by samples and heads, then by queries. */
            const double batch = fmax(1.0, k->batch / by), left = by / (k->batch / batch);
            if (left > 1.0) k->m = part_of(k->m, left);
            k->batch = batch;
            k->flops /= by;
            k->flops_alu /= by;
            k->bytes_read /= by;
            k->bytes_written /= by;
            /* Where GPUs share keys that others of them read as well: tokens of an answer, whose heads meet their keys
             * together, are fewer for each. */
            const adept_kernel *whole = &op->kernels[i];
            const bool shares = d->keys > 0.0 && d->keys < by;
            if (shares) k->bytes_read = d->query_bytes / by + (whole->bytes_read - d->query_bytes) / d->keys;
            if (shares && !(whole->causal > 0.0)) {
                k->batch = fmax(1.0, whole->batch / d->keys);
                k->m = part_of(whole->m, by / d->keys);
            }
            continue;
        }
        if (matrix && k->m > 0.0) {
            divide_product(k, forward, d, &had_input);
            continue;
        }
        /* dropout has two FLOPs an element */
        if (d->one_softmax && k->family == ADEPT_FAMILY_STREAM && k->flops <= k->elements) {
            k->flops = k->bytes_read = k->bytes_written = k->elements = k->launches = 0.0;
            continue;
        }
        const bool of_table = d->table_rows > 1.0 && k->elements == 0.0; /* zeros of its gradient */
        const double divisor = of_table ? d->table_rows : by;
        k->flops /= divisor;
        k->flops_alu /= divisor;
        k->bytes_read /= divisor;
        k->bytes_written /= divisor;
        k->elements /= divisor;
        if (d->row > 1.0) k->row_elements /= d->row;
        if (k->family == ADEPT_FAMILY_CONV) k->m /= divisor;
    }
    out->saved_bytes = op->saved_bytes / by;
    return true;
}
