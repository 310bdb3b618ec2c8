/** @file step.c  Checks of profile, GPU and run, and the pass at full clock; see step.h. */
#include "step.h"
#include "peaks.h"
#include <math.h>

/* The lowest clock of data-center boards is 0.09 (V100) to 0.15 (A100) of the highest; used if the sheet has none. */
#define MIN_CLOCK_RATIO 0.15

static adept_status check_spec(const adept_hwprofile *hw, const char *name, double value, adept_error *err)
{
    if (isfinite(value) && value > 0.0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_INVALID, "%s: specs.%s must be a positive number", hw->name, name);
}

static adept_status check_specs(const adept_hwprofile *hw, adept_error *err)
{
    if (hw->granularity != ADEPT_GRANULARITY_MODEL)
        return adept_error_set(err, ADEPT_E_INVALID,
                               "%s: fit.granularity \"operator\" is not supported by this version", hw->name);
    adept_status status = ADEPT_OK;
#define X(field, required, text)                                                                                       \
    if (required && status == ADEPT_OK) status = check_spec(hw, #field, hw->specs.field, err);
    ADEPT_SPEC_LIST(X)
#undef X
    return status;
}

static adept_status check_profile(const adept_profile *prof, adept_error *err)
{
    if (prof->batch_size < 1) return adept_error_set(err, ADEPT_E_INVALID, "profile: config.batch_size must be >= 1");
    if (prof->grad_accum < 1) return adept_error_set(err, ADEPT_E_INVALID, "profile: config.grad_accum must be >= 1");
    if (prof->params < 0 || prof->trainable_params < 0 || prof->trainable_params > prof->params)
        return adept_error_set(err, ADEPT_E_INVALID, "profile: trainable_params must lie between 0 and params");
    return ADEPT_OK;
}

static adept_status choose_saturation(adept_saturation *out, const adept_hwprofile *hw, const adept_run *run,
                                      adept_error *err)
{
    const char *name = run->saturation ? run->saturation : hw->saturation ? hw->saturation : "sigmoid";
    *out = adept_saturation_by_name(name);
    if (*out) return ADEPT_OK;
    if (run->saturation) return adept_error_set(err, ADEPT_E_USAGE, "unknown saturation function \"%s\"", name);
    return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.saturation \"%s\" is unknown", hw->name, name);
}

/* Without a range in the sheet, any limit up to the board's own is accepted; if the board could not follow it, the
 * floor clock says so. */
static adept_status choose_limit(adept_step *s, const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    const adept_specs *specs = &hw->specs;
    double low_w = isnan(specs->power_limit_min_w) ? 0.0 : specs->power_limit_min_w;
    double high_w = isnan(specs->power_limit_max_w) ? specs->tdp_w : specs->power_limit_max_w;
    s->limit_given = run->power_limit_w != 0.0;
    s->limit_w = s->limit_given ? run->power_limit_w : specs->tdp_w;
    s->min_clock_ratio =
        isnan(specs->clock_min_hz) ? MIN_CLOCK_RATIO : fmin(1.0, specs->clock_min_hz / specs->clock_boost_hz);
    if (!s->limit_given || (s->limit_w > 0.0 && s->limit_w >= low_w && s->limit_w <= high_w)) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "power limit %g W is outside the range of %s, %g to %g W", s->limit_w,
                           hw->name, low_w, high_w);
}

static adept_status check_run(adept_step *s, const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    if (run->gpus < 0) return adept_error_set(err, ADEPT_E_USAGE, "the number of GPUs must be at least 1");
    s->gpus = run->gpus == 0 ? 1.0 : (double)run->gpus;
    adept_status status = choose_limit(s, hw, run, err);
    if (status != ADEPT_OK) return status;
    if (s->p.p_static_w >= hw->specs.tdp_w)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: p_static_w = %g is not below tdp_w = %g", hw->name,
                               s->p.p_static_w, hw->specs.tdp_w);
    return ADEPT_OK;
}

static double unit_s(const adept_step *s, adept_unit unit)
{
    double sum_s = 0.0;
    for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++)
        sum_s += s->work.flops[unit][dtype] * s->rates.flop_s[unit][dtype];
    return sum_s;
}

adept_status adept_step_prepare(adept_step *out, const adept_profile *prof, const adept_hwprofile *hw,
                                const adept_run *run, adept_error *err)
{
    static const adept_run default_run = {0};
    if (!run) run = &default_run;
    adept_step s = {0};
    adept_saturation sat = NULL;
    adept_status status = check_specs(hw, err);
    if (status == ADEPT_OK) status = check_profile(prof, err);
    if (status == ADEPT_OK) status = choose_saturation(&sat, hw, run, err);
    if (status == ADEPT_OK) status = adept_peak_check_precision(hw, prof->precision, err);
    if (status == ADEPT_OK) status = adept_model_parameters_get(&s.p, hw, err);
    if (status == ADEPT_OK) status = check_run(&s, hw, run, err);
    if (status == ADEPT_OK) status = adept_work_sum(&s.work, prof, &s.p, err);
    if (status == ADEPT_OK) status = adept_rates_get(&s.rates, &s.work, prof, hw, &s.p, sat, err);
    if (status != ADEPT_OK) return status;
    s.gemm_s = unit_s(&s, ADEPT_UNIT_GEMM);
    s.conv_s = unit_s(&s, ADEPT_UNIT_CONV);
    s.alu_s = unit_s(&s, ADEPT_UNIT_ALU);
    s.memory_s = (s.work.bytes_read + s.work.bytes_written) * s.rates.byte_s;
    *out = s;
    return ADEPT_OK;
}
