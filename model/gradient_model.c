/** @file gradient_model.c  Exact derivatives of one prediction by granularity "model": by parameters, sheet and run;
 * see adept_gradient.h. */
#include "gradient.h"
#include "operator_own.h"
#include "peaks.h"
#include <math.h>
#include <string.h>

#define N_PARAMETERS (sizeof(adept_model_parameters) / sizeof(double))

static void add(adept_slope *sum, double amount, adept_slope_pair by)
{
    if (amount == 0.0) return; /* whatever it would act on */
    sum->time_s += amount * by.time;
    sum->power_w += amount * by.power;
}

/* Seconds of one pass's arithmetic on peaks that are this number of the sheet: without all others there is no more. */
static adept_status peak_compute_s(double *out, const adept_placed_step *s, adept_spec spec, adept_error *err)
{
    const adept_model_parameters *p = &s->theta.p;
    adept_peaks peaks = s->step.peaks;
    double c[ADEPT_WORK_COLUMNS];
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++)
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++)
            if (adept_peak_spec(&s->hw->specs, s->profile->precision, (adept_unit)unit, (adept_dtype)dtype) != spec)
                peaks.flops_per_s[unit][dtype] = INFINITY;
    adept_status status = adept_work_columns(c, NULL, s->profile, &peaks, s->hw->specs.mem_bytes_per_s, s->hw->scalars,
                                             s->hw->n_scalars, err);
    const adept_scratch *x = &s->scratch;
    *out = (c[ADEPT_WORK_GEMM] + c[ADEPT_WORK_GEMM_LOWP] * p->c_gemm_lowp) * x->slope_gemm[s->block.pass_gemm[0]] +
           (c[ADEPT_WORK_CONV] + c[ADEPT_WORK_CONV_LOWP] * p->c_conv_lowp) * x->slope_conv[s->block.pass_conv[0]] +
           (c[ADEPT_WORK_ALU] + c[ADEPT_WORK_ALU_LOWP] * p->c_alu_lowp) * x->slope_alu;
    return status;
}

static adept_status add_work(adept_gradient *out, const adept_placed_step *s, const adept_row_slopes *by,
                             adept_error *err)
{
    const adept_model_parameters *p = &s->theta.p;
    double working_set = p->k_wset * s->step.numbers.pass[ADEPT_PASS_WSET];
    for (int spec = ADEPT_SPEC_vector_fp32_flops_per_s; spec <= ADEPT_SPEC_tensor_fp64_flops_per_s; spec++) {
        double compute_s;
        adept_status status = peak_compute_s(&compute_s, s, (adept_spec)spec, err);
        if (status != ADEPT_OK) return status;
        add(&out->by_spec[spec], -compute_s, by->compute);
    }
    add(&out->by_spec[ADEPT_SPEC_vector_fp32_flops_per_s], -s->scratch.opt_compute_s[0], by->opt_compute);
    add(&out->by_spec[ADEPT_SPEC_mem_bytes_per_s], -s->scratch.memory_s[0], by->memory);
    add(&out->by_spec[ADEPT_SPEC_mem_bytes_per_s], -s->scratch.opt_memory_s[0], by->opt_memory);
    if (working_set >= p->lambda_miss && working_set < 1.0)
        add(&out->by_spec[ADEPT_SPEC_l2_bytes], -s->scratch.memory_s[0], by->memory);
    return ADEPT_OK;
}

static void add_clock(adept_gradient *out, const adept_placed_step *s, const adept_run *run)
{
    const adept_specs *specs = &s->hw->specs;
    double gpus = s->block.row[ADEPT_ROW_GPUS][0], low = s->block.row[ADEPT_ROW_MIN_CLOCK][0],
           high = s->block.row[ADEPT_ROW_MAX_CLOCK][0];
    if (specs->clock_min_hz < specs->clock_boost_hz) {
        adept_slope_pair by = adept_row_clock_slope(&s->phases, true, gpus);
        add(&out->by_spec[ADEPT_SPEC_clock_min_hz], low, by);
        add(&out->by_spec[ADEPT_SPEC_clock_boost_hz], -low, by);
    }
    if (run->clock_hz != 0.0) {
        adept_slope_pair by = adept_row_clock_slope(&s->phases, false, gpus);
        add(&out->by_run[ADEPT_RUN_clock_hz], high, by);
        add(&out->by_spec[ADEPT_SPEC_clock_boost_hz], -high, by);
    }
}

/* Dynamic power goes with P_TDP - P_static; with all powers scaled alike a step takes as long, and draws more by that
 * scale: the limit has what static power and P_TDP leave. */
static void add_power(adept_gradient *out, const adept_placed_step *s, const adept_run *run, const adept_row_slopes *by)
{
    const adept_model_parameters *p = &s->theta.p;
    double tdp_w = s->hw->specs.tdp_w;
    bool limited = false;
    adept_slope tdp = {0}, limit = {0.0, out->power_w};
    add(&tdp, tdp_w / (tdp_w - p->p_static_w) * p->c_power, by->c_power);
    adept_slope_add(&limit, -1.0, &tdp);
    add(&limit, -p->p_static_w, by->static_w);
    adept_slope_add(&out->by_spec[ADEPT_SPEC_tdp_w], 1.0, &tdp);
    for (int i = 0; i < ADEPT_PHASES; i++)
        limited = limited || (s->phases.state[i].limited && !s->phases.state[i].floored);
    if (!limited) return; /* the difference is rounding then */
    adept_slope_add(run->power_limit_w != 0.0 ? &out->by_run[ADEPT_RUN_power_limit_w] : &out->by_spec[ADEPT_SPEC_tdp_w],
                    1.0, &limit);
}

static void add_network(adept_gradient *out, const adept_placed_step *s, const adept_row_slopes *by)
{
    double exposed = 1.0 - s->theta.p.overlap, bytes = s->scratch.gradient_bytes[0];
    add(&out->by_run[ADEPT_RUN_internode_latency_s], exposed * s->block.row[ADEPT_ROW_BETWEEN_S][0], by->comm);
    add(&out->by_run[ADEPT_RUN_internode_bytes_per_s], -exposed * bytes * s->block.row[ADEPT_ROW_BETWEEN_S_PER_BYTE][0],
        by->comm);
}

static bool is_fitted(const adept_hwprofile *hw, const char *name)
{
    if (hw->granularity != ADEPT_GRANULARITY_MODEL) return false;
    for (size_t i = 0; i < hw->n_parameters; i++)
        if (strcmp(hw->parameters[i].name, name) == 0) return true;
    return false;
}

static void add_sheet(adept_gradient *out, const adept_placed_step *s)
{
    for (size_t j = 0; j < ADEPT_SPECS; j++) {
        union {
            adept_model_parameters p;
            double v[N_PARAMETERS];
        } by;
        adept_model_sheet_by_spec(&by.p, &s->hw->specs, (adept_spec)j);
        for (size_t i = 0; i < N_PARAMETERS; i++)
            if (by.v[i] != 0.0 && !is_fitted(s->hw, adept_model_parameter_info(i)->name))
                adept_slope_add(&out->by_spec[j], by.v[i] / out->theta[i], &out->by_theta[i]);
    }
}

/* A row has one law of the all-reduce: that which was the fastest. */
static void take_fastest_law(adept_placed_step *s)
{
    const adept_network *net = &s->step.network;
    const adept_allreduce_law *law =
        adept_network_law(net, s->scratch.gradient_bytes[0], s->theta.p.l_hop_s, s->theta.p.bw_eff_bytes_per_s);
    if (!law || law == &net->laws[0]) return;
    double row[ADEPT_ROW_COLUMNS];
    adept_step_set_law(row, net, (size_t)(law - net->laws));
    for (int i = ADEPT_ROW_HOPS; i <= ADEPT_ROW_BETWEEN_S_PER_BYTE; i++)
        s->block.row[i][0] = row[i];
    adept_rows_forward(&s->scratch, &s->block, &s->theta);
}

adept_status adept_gradient_model(adept_gradient *out, adept_placed_step *s, const adept_run *run, adept_error *err)
{
    double dtime_s[N_PARAMETERS], dpower_w[N_PARAMETERS];
    take_fastest_law(s);
    adept_rows_gradient(dtime_s, dpower_w, N_PARAMETERS, &s->scratch, &s->block, &s->theta);
    out->n_parameters = N_PARAMETERS;
    memcpy(out->theta, &s->theta.p, sizeof s->theta.p);
    for (size_t i = 0; i < N_PARAMETERS; i++)
        out->by_theta[i] = (adept_slope){out->theta[i] * dtime_s[i], out->theta[i] * dpower_w[i]};
    const adept_row_slopes by = adept_row_slopes_of(&s->scratch, &s->block, 0, &s->theta);
    adept_status status = add_work(out, s, &by, err);
    if (status != ADEPT_OK) return status;
    add_clock(out, s, run);
    add_network(out, s, &by);
    add_power(out, s, run, &by);
    add_sheet(out, s);
    return ADEPT_OK;
}
