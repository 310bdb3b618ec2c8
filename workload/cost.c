/* What a handler says of its cost: kernels, and what autograd keeps.
 * Handlers count operations on elements. On complex ones a multiply-add is four of real ones (8 FLOPs), a sum two: what
 * multiplies matrices counts four times, all else twice (products of elements count 3 there: adept_elem_product()). */
#include "call.h"

bool adept_cost_backward(const adept_cost *cost)
{
    return cost->backward;
}

bool adept_cost_wants_grad(const adept_cost *cost, const adept_tensor *argument)
{
    return cost->backward && argument && argument->requires_grad;
}

void adept_cost_kernel(adept_cost *cost, const adept_kernel *kernel)
{
    if (kernel->pass == ADEPT_BACKWARD && !cost->backward) return;
    adept_kernel *grown =
        adept_arena_grow(cost->call->run->arena, cost->kernels, &cost->capacity, cost->n_kernels + 1, sizeof *grown);
    if (!grown) {
        adept_call_nomem(cost->call);
        return;
    }
    cost->kernels = grown;
    adept_kernel *added = &cost->kernels[cost->n_kernels++];
    *added = *kernel;
    if (!adept_dtype_is_complex(kernel->dtype)) return;
    added->flops *= kernel->unit == ADEPT_UNIT_ALU ? 2 : 4;
    added->flops_alu *= 2;
}

void adept_cost_rows(adept_cost *cost, adept_pass pass, adept_kernel_family family, adept_dtype dtype, double elements,
                     double row_elements, double flops, double bytes_read, double bytes_written, double launches)
{
    adept_cost_kernel(cost, &(adept_kernel){.pass = pass,
                                            .unit = ADEPT_UNIT_ALU,
                                            .family = family,
                                            .dtype = dtype,
                                            .flops = flops,
                                            .bytes_read = bytes_read,
                                            .bytes_written = bytes_written,
                                            .launches = launches,
                                            .elements = elements,
                                            .row_elements = row_elements});
}

void adept_cost_stream(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double flops,
                       double bytes_read, double bytes_written, double launches)
{
    adept_cost_rows(cost, pass, ADEPT_FAMILY_STREAM, dtype, elements, 0, flops, bytes_read, bytes_written, launches);
}

void adept_cost_alu(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double flops,
                    double bytes_read, double bytes_written)
{
    adept_cost_stream(cost, pass, dtype, elements, flops, bytes_read, bytes_written, 1);
}

void adept_cost_save(adept_cost *cost, const adept_tensor *t)
{
    if (!t || !cost->backward || t->storage < 0) return;
    adept_storage *storage = &cost->call->run->storages[t->storage];
    if (storage->resident || storage->kept_by >= 0) return;
    storage->kept_by = cost->call->record;
    cost->saved_bytes += storage->bytes;
}

void adept_cost_save_bytes(adept_cost *cost, double bytes)
{
    if (cost->backward) cost->saved_bytes += bytes;
}

void adept_cost_note_causal(adept_cost *cost)
{
    cost->causal = true;
}
