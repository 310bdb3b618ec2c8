/** @file work.c  Sums over a profile's kernels and the GPU's rates for them; see work.h. */
#include "work.h"
#include "equations.h"
#include "peaks.h"
#include <math.h>

#define PARAMETER_WORD_BYTES 4.0

static bool is_16bit(adept_dtype dtype)
{
    return dtype == ADEPT_BF16 || dtype == ADEPT_F16 || dtype == ADEPT_C32;
}

/* Gradients have the type of their parameters. For autocast the thesis takes 2 bytes (eq 4.4) although torch.autocast
 * keeps FP32 parameters and gradients: the parameter grad_bytes_lowp decides (resolution 14). */
static double gradient_element_bytes(const adept_profile *prof, const adept_model_parameters *p)
{
    if (prof->trainable_params <= 0) return PARAMETER_WORD_BYTES;
    double stored = prof->trainable_bytes / (double)prof->trainable_params;
    bool autocast = prof->precision == ADEPT_AMP_BF16 || prof->precision == ADEPT_AMP_FP16;
    return autocast ? fmin(stored, p->grad_bytes_lowp) : stored;
}

/* Written so that NAN fails. */
static bool is_valid(const adept_kernel *k)
{
    return (unsigned)k->unit < ADEPT_UNIT_COUNT && (unsigned)k->dtype < ADEPT_DTYPE_COUNT && k->flops >= 0.0 &&
           k->flops_alu >= 0.0 && k->bytes_read >= 0.0 && k->bytes_written >= 0.0 && k->launches >= 0.0;
}

static adept_status sum_kernels(adept_work *w, const adept_profile *prof, adept_error *err)
{
    for (size_t i = 0; i < prof->n_ops; i++) {
        const adept_profile_op *op = &prof->ops[i];
        double count = (double)op->count;
        for (size_t j = 0; j < op->n_kernels; j++) {
            const adept_kernel *k = &op->kernels[j];
            if (!is_valid(k))
                return adept_error_set(err, ADEPT_E_INVALID,
                                       "profile: ops[%zu].kernels[%zu] has a bad unit, type or count", i, j);
            w->flops[k->unit][k->dtype] += count * k->flops;
            w->flops[ADEPT_UNIT_ALU][k->dtype] += count * k->flops_alu;
            w->bytes_read += count * k->bytes_read;
            w->bytes_written += count * k->bytes_written;
            w->kernels += count * k->launches;
        }
    }
    return ADEPT_OK;
}

adept_status adept_work_sum(adept_work *out, const adept_profile *prof, const adept_model_parameters *p,
                            adept_error *err)
{
    adept_work w = {0};
    adept_status status = sum_kernels(&w, prof, err);
    if (status != ADEPT_OK) return status;
    double element_bytes = gradient_element_bytes(prof, p);
    if (prof->mode != ADEPT_MODE_INFER) w.gradient_bytes = element_bytes * (double)prof->trainable_params;
    if (prof->mode == ADEPT_MODE_TRAIN) {
        const char *name = prof->optimizer ? prof->optimizer : "none";
        const adept_optimizer *optimizer = adept_optimizer_by_name(name);
        if (!optimizer) return adept_error_set(err, ADEPT_E_INVALID, "profile: unknown optimizer \"%s\"", name);
        w.optimizer = adept_optimizer_step(optimizer, (double)prof->trainable_params, (double)prof->trainable_tensors,
                                           element_bytes);
    }
    *out = w;
    return ADEPT_OK;
}

/* Efficiency and time scale of the three units, eq 4.10 and the C of eq 4.9. */
typedef struct unit_model {
    double efficiency, c, c_16bit;
} unit_model;

static void unit_models(unit_model *units, const adept_profile *prof, const adept_model_parameters *p,
                        adept_saturation sat)
{
    adept_gemm_tiles tiles = adept_eq_gemm_tiles(&prof->features, prof->precision);
    units[ADEPT_UNIT_GEMM] = (unit_model){adept_eq_efficiency(p->beta_gemm, adept_eq_saturation_gemm(tiles, p, sat)),
                                          p->c_gemm, p->c_gemm_lowp};
    units[ADEPT_UNIT_CONV] =
        (unit_model){adept_eq_efficiency(p->beta_conv, adept_eq_saturation_conv(&prof->features, p, sat)), p->c_conv,
                     p->c_conv_lowp};
    /* The thesis gives other arithmetic no dimensions to saturate (resolution 24). */
    units[ADEPT_UNIT_ALU] = (unit_model){adept_eq_efficiency(p->beta_alu, 1.0), p->c_alu, p->c_alu_lowp};
}

adept_status adept_rates_get(adept_rates *out, const adept_work *work, const adept_profile *prof,
                             const adept_hwprofile *hw, const adept_model_parameters *p, adept_saturation sat,
                             adept_error *err)
{
    adept_rates r = {0};
    unit_model units[ADEPT_UNIT_COUNT];
    unit_models(units, prof, p, sat);
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++) {
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++) {
            if (work->flops[unit][dtype] == 0.0) continue;
            adept_status status = adept_peak_flops_per_s(&r.peak[unit][dtype], hw, prof->precision, (adept_unit)unit,
                                                         (adept_dtype)dtype, err);
            if (status != ADEPT_OK) return status;
            double c = units[unit].c * (is_16bit((adept_dtype)dtype) ? units[unit].c_16bit : 1.0);
            r.flop_s[unit][dtype] = adept_eq_operation_s(1.0, r.peak[unit][dtype], units[unit].efficiency, c);
        }
    }
    double l2_factor =
        adept_eq_l2_factor(p->k_wset * prof->features.working_set_bytes, hw->specs.l2_bytes, p->lambda_miss);
    r.byte_s = adept_eq_memory_s(1.0, hw->specs.mem_bytes_per_s, l2_factor, p->c_mem);
    *out = r;
    return ADEPT_OK;
}

double adept_rates_kernel_s(const adept_rates *rates, const adept_kernel *kernel)
{
    return kernel->flops * rates->flop_s[kernel->unit][kernel->dtype] +
           kernel->flops_alu * rates->flop_s[ADEPT_UNIT_ALU][kernel->dtype];
}
