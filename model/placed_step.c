/** @file placed_step.c  One step of one GPU under any power limit; see placed_step.h. */
#include "placed_step.h"
#include <math.h>
#include <string.h>

/* ---- granularity "model" ---- */

static adept_status check_fit(const adept_hwprofile *hw, adept_error *err)
{
    if (hw->n_scalars > ADEPT_MAX_SCALARS)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.scalars has more than %d entries", hw->name,
                               ADEPT_MAX_SCALARS);
    for (size_t i = 0; i < hw->n_scalars; i++) {
        adept_error detail = {0};
        if (adept_scalar_check(&hw->scalars[i], &detail) != ADEPT_OK)
            return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.scalars: %s", hw->name, detail.message);
    }
    return ADEPT_OK;
}

static adept_status set_theta(adept_theta *out, const adept_hwprofile *hw, const adept_run *run, const double *theta,
                              adept_error *err)
{
    const char *name = run->saturation ? run->saturation : hw->saturation ? hw->saturation : "sigmoid";
    out->saturation = adept_saturation_kind_of(name);
    if (out->saturation == ADEPT_SATURATIONS && run->saturation)
        return adept_error_set(err, ADEPT_E_USAGE, "unknown saturation function \"%s\"", name);
    if (out->saturation == ADEPT_SATURATIONS)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.saturation \"%s\" is unknown", hw->name, name);
    adept_hwprofile of_granularity = *hw;
    if (hw->granularity != ADEPT_GRANULARITY_MODEL) of_granularity.n_parameters = 0;
    adept_status status = adept_model_parameters_get(&out->p, &of_granularity, err);
    if (status == ADEPT_OK && theta) memcpy(&out->p, theta, sizeof out->p);
    return status == ADEPT_OK ? adept_step_check_static_w(out->p.p_static_w, hw, err) : status;
}

/* The fit's targeted scalars are constants here: they are multiplied into the work. */
static adept_status place_row(adept_placed_step *s, const adept_placement *at, const double *theta, adept_error *err)
{
    const adept_hwprofile *hw = at->hw;
    adept_status status = check_fit(hw, err);
    if (status == ADEPT_OK) status = adept_step_compile(&s->step, NULL, at, hw->scalars, hw->n_scalars, err);
    if (status == ADEPT_OK) status = set_theta(&s->theta, hw, &at->run, theta, err);
    if (status != ADEPT_OK) return status;
    adept_rows_init(&s->block);
    status = adept_rows_add(&s->block, &s->step.numbers, NULL, err);
    if (status != ADEPT_OK) return status;
    adept_rows_forward(&s->scratch, &s->block, &s->theta);
    s->full = adept_row_full_clock(&s->scratch, &s->block, 0);
    return ADEPT_OK;
}

/* A row has one law of the all-reduce, a run the fastest of several. */
double adept_phases_run(adept_phases *out, const adept_full_clock *known, const adept_model_parameters *p,
                        double gradient_bytes, const double *row, const adept_network *net)
{
    adept_full_clock full = *known;
    double all_comm_s = adept_network_allreduce_s(net, gradient_bytes, p->l_hop_s, p->bw_eff_bytes_per_s);
    full.comm_s = all_comm_s * (1.0 - p->overlap);
    full.limit_w = row[ADEPT_ROW_LIMIT_W];
    full.max_clock = row[ADEPT_ROW_MAX_CLOCK];
    adept_phases_of(out, &full, p);
    return all_comm_s - full.comm_s;
}

/* ---- granularity "operator" ---- */

static adept_status place_kernels(adept_placed_step *s, const adept_placement *at, const double *theta,
                                  adept_error *err)
{
    adept_status status = adept_operator_check_saturation(at->run.saturation, err);
    if (status == ADEPT_OK) status = adept_step_compile(&s->step, NULL, at, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    bool in_order = adept_backward_plan_known(at->profile) && s->step.network.n > 0;
    return adept_plan_kernels_new(&s->kernels, &s->step, at, in_order, theta, err);
}

adept_status adept_placed_step_operator(adept_operator_total *total, const adept_placed_step *s,
                                        const adept_profile_op *op, adept_error *err)
{
    adept_operator_time t;
    for (size_t i = 0; i < op->n_kernels; i++) {
        adept_operator_kernel k;
        adept_status status = adept_operator_kernel_of(&k, op, &op->kernels[i], s->profile, s->hw, err);
        if (status != ADEPT_OK) return status;
        adept_operator_time_of(&t, &k, s->kernels.theta, s->kernels.menus, false);
        const adept_executions executions = adept_operator_executions(&k, &s->kernels.numbers);
        adept_operator_add(total, NULL, &t, &executions, s->at.clock, &s->kernels.numbers, s->kernels.theta);
    }
    return ADEPT_OK;
}

/* ---- both ---- */

void adept_placed_step_limit(adept_placed_step *s, double limit_w)
{
    double *row = s->step.numbers.row;
    row[ADEPT_ROW_LIMIT_W] = limit_w;
    if (s->by_operator)
        adept_plan_kernels_run(&s->at, &s->kernels, row, &s->step.network, s->bucket_bytes);
    else
        s->comm_hidden_s = adept_phases_run(&s->phases, &s->full, &s->theta.p, s->scratch.gradient_bytes[0], row,
                                            &s->step.network);
}

void adept_placed_step_tabulate(adept_placed_step *s)
{
    if (s->by_operator) adept_clock_table_fill(&s->kernels.clock);
}

adept_status adept_placed_step_init(adept_placed_step *s, const adept_profile *prof, const adept_hwprofile *hw,
                                    const adept_run *run, adept_error *err)
{
    return adept_placed_step_init_at(s, prof, hw, run, NULL, err);
}

adept_status adept_placed_step_init_at(adept_placed_step *s, const adept_profile *prof, const adept_hwprofile *hw,
                                       const adept_run *run, const double *theta, adept_error *err)
{
    const adept_placement at = {prof, hw, *run};
    bool in_buckets = false;
    s->profile = prof;
    s->hw = hw;
    s->kernels = (adept_plan_kernels){0};
    s->by_operator = adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR;
    adept_status status = s->by_operator ? place_kernels(s, &at, theta, err) : place_row(s, &at, theta, err);
    if (status == ADEPT_OK)
        status = adept_backward_wanted(&in_buckets, adept_backward_plan_known(prof), hw, run, &s->step.network, err);
    if (status != ADEPT_OK) return status;
    s->bucket_bytes = !in_buckets ? 0.0 : run->bucket_bytes > 0.0 ? run->bucket_bytes : ADEPT_BUCKET_BYTES;
    adept_placed_step_limit(s, s->step.numbers.row[ADEPT_ROW_LIMIT_W]);
    return ADEPT_OK;
}

void adept_placed_step_free(adept_placed_step *s)
{
    adept_plan_kernels_free(&s->kernels);
}

double adept_placed_step_time_s(const adept_placed_step *s)
{
    return s->by_operator ? s->at.state.step_s : adept_eq_step_s(&s->phases.time);
}

double adept_placed_step_power_w(const adept_placed_step *s)
{
    double gpus = s->step.numbers.row[ADEPT_ROW_GPUS];
    if (isnan(s->hw->specs.tdp_w)) return NAN; /* without P_TDP not even idle power is known for sure */
    return gpus * (s->by_operator ? s->at.state.power_w : adept_eq_mean_power_w(&s->phases.time, &s->phases.power));
}

double adept_placed_step_clock(const adept_placed_step *s)
{
    return s->by_operator ? s->at.clock.ratio : s->phases.state[ADEPT_PHASE_PASS].clock_ratio;
}

bool adept_placed_step_limited(const adept_placed_step *s)
{
    bool limited = false;
    if (s->by_operator) return s->at.clock.limited || s->at.clock.floored;
    for (int i = 0; i < ADEPT_PHASES; i++)
        limited = limited || (s->phases.state[i].limited && s->phases.state[i].time_s > 0.0);
    return limited;
}

bool adept_placed_step_floored(const adept_placed_step *s)
{
    bool floored = false;
    if (s->by_operator) return s->at.clock.floored;
    for (int i = 0; i < ADEPT_PHASES; i++)
        floored = floored || s->phases.state[i].floored;
    return floored;
}
