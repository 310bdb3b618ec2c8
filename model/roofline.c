/** @file roofline.c  The classical roofline (Williams et al., CACM 2009): peaks of the sheet, no efficiency. */
#include "adept_model.h"
#include "peaks.h"

static adept_status kernel_roofline(adept_roofline *sum, const adept_kernel *k, double count, adept_precision precision,
                                    const adept_hwprofile *hw, adept_error *err)
{
    double peak = 0, alu_peak = 0;
    adept_status status = ADEPT_OK;
    if (k->flops > 0) status = adept_peak_flops_per_s(&peak, hw, precision, k->unit, k->dtype, err);
    if (status == ADEPT_OK && k->flops_alu > 0)
        status = adept_peak_flops_per_s(&alu_peak, hw, precision, ADEPT_UNIT_ALU, k->dtype, err);
    if (status != ADEPT_OK) return status;
    double compute_s = (k->flops > 0 ? k->flops / peak : 0) + (k->flops_alu > 0 ? k->flops_alu / alu_peak : 0);
    double memory_s = (k->bytes_read + k->bytes_written) / hw->specs.mem_bytes_per_s;
    sum->compute_s += count * compute_s;
    if (k->unit != ADEPT_UNIT_ALU && k->flops > 0) sum->matrix_s += count * k->flops / peak;
    sum->memory_s += count * memory_s;
    sum->least_s += count * (compute_s > memory_s ? compute_s : memory_s);
    return ADEPT_OK;
}

adept_status adept_roofline_op(adept_roofline *out, const adept_profile_op *op, adept_precision precision,
                               const adept_hwprofile *hw, adept_error *err)
{
    adept_roofline sum = {0};
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < op->n_kernels && status == ADEPT_OK; i++)
        status = kernel_roofline(&sum, &op->kernels[i], (double)op->count, precision, hw, err);
    if (status == ADEPT_OK) *out = sum;
    return status;
}

adept_status adept_roofline_step(adept_roofline *out, const adept_profile *prof, const adept_hwprofile *hw,
                                 adept_error *err)
{
    adept_roofline sum = {0}, one;
    const double passes = (double)prof->grad_accum;
    for (size_t i = 0; i < prof->n_ops; i++) {
        adept_status status = adept_roofline_op(&one, &prof->ops[i], prof->precision, hw, err);
        if (status != ADEPT_OK) return status;
        sum.compute_s += one.compute_s;
        sum.matrix_s += one.matrix_s;
        sum.memory_s += one.memory_s;
        sum.least_s += one.least_s;
    }
    *out = (adept_roofline){sum.compute_s * passes, sum.matrix_s * passes, sum.memory_s * passes, sum.least_s * passes};
    return ADEPT_OK;
}
