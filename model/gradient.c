/** @file gradient.c  Exact derivatives of one prediction, and predictions with other parameters; see adept_gradient.h.
 */
#include "gradient.h"
#include <math.h>

static const adept_run default_run = {0};

static void by_all_gpus(adept_slope *slopes, size_t n, double gpus, bool knows_power)
{
    for (size_t i = 0; i < n; i++)
        slopes[i].power_w = knows_power ? gpus * slopes[i].power_w : NAN;
}

static adept_status check_time(const adept_placed_step *s, adept_error *err)
{
    double time_s = adept_placed_step_time_s(s);
    if (time_s > 0.0 && isfinite(time_s)) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_INVALID,
                           "profile: its work takes %g s on %s: nothing to run, or a count out of range", time_s,
                           s->hw->name);
}

static adept_status find(adept_gradient *out, adept_placed_step *s, const adept_profile *prof,
                         const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    adept_status status = adept_placed_step_init(s, prof, hw, run, err);
    if (status == ADEPT_OK) status = check_time(s, err);
    if (status != ADEPT_OK) return status;
    bool knows_power = !isnan(hw->specs.tdp_w);
    *out = (adept_gradient){.granularity = s->by_operator ? ADEPT_GRANULARITY_OPERATOR : ADEPT_GRANULARITY_MODEL,
                            .time_s = adept_placed_step_time_s(s),
                            .power_w = adept_placed_step_power_w(s)};
    status = s->by_operator ? adept_gradient_operator(out, s, run, err) : adept_gradient_model(out, s, run, err);
    double gpus = s->by_operator ? s->step.numbers.row[ADEPT_ROW_GPUS] : 1.0; /* "model" counts them in */
    by_all_gpus(out->by_theta, out->n_parameters, gpus, knows_power);
    by_all_gpus(out->by_spec, ADEPT_SPECS, gpus, knows_power);
    by_all_gpus(out->by_run, ADEPT_RUN_NUMBERS, gpus, knows_power);
    return status;
}

adept_status adept_predict_gradient(adept_gradient *out, const adept_profile *prof, const adept_hwprofile *hw,
                                    const adept_run *run, adept_error *err)
{
    adept_placed_step s;
    adept_gradient g;
    adept_status status = find(&g, &s, prof, hw, run ? run : &default_run, err);
    if (status == ADEPT_OK) *out = g;
    adept_placed_step_free(&s);
    return status;
}

const adept_parameter_info *adept_granularity_parameter_info(adept_granularity granularity, size_t index)
{
    return granularity == ADEPT_GRANULARITY_OPERATOR ? adept_operator_parameter_info(index)
                                                     : adept_model_parameter_info(index);
}

adept_status adept_predict_with(double *time_s, double *power_w, const adept_profile *prof, const adept_hwprofile *hw,
                                const adept_run *run, const double *theta, adept_error *err)
{
    adept_placed_step s;
    adept_status status = adept_placed_step_init_at(&s, prof, hw, run ? run : &default_run, theta, err);
    if (status == ADEPT_OK) status = check_time(&s, err);
    if (status == ADEPT_OK) {
        *time_s = adept_placed_step_time_s(&s);
        *power_w = adept_placed_step_power_w(&s);
    }
    adept_placed_step_free(&s);
    return status;
}
