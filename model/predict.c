/** @file predict.c  One step: times of the phases, their power, energy, memory (eq 4.7, 4.14, 4.15). */
#include "bound.h"
#include "interval.h"
#include "memory.h"
#include "peaks.h"
#include "placed_step.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* GPUs of one node joined by equal links: what the ring's single bandwidth can stand for. */
#define MAX_GPUS_PER_NODE 8
#define MAX_WARNINGS (sizeof((adept_prediction *)0)->warnings / sizeof((adept_prediction *)0)->warnings[0])

static void warn(adept_prediction *out, const char *format, ...) ADEPT_PRINTF(2, 3);

static void warn(adept_prediction *out, const char *format, ...)
{
    if (out->n_warnings >= MAX_WARNINGS) return;
    va_list args;
    va_start(args, format);
    vsnprintf(out->warnings[out->n_warnings++], sizeof out->warnings[0], format, args);
    va_end(args);
}

const char *adept_bound_name(adept_bound bound)
{
    static const char *const names[] = {"compute", "memory", "launch", "communication"};
    return (unsigned)bound < sizeof names / sizeof names[0] ? names[bound] : "unknown";
}

adept_granularity adept_granularity_of(const adept_hwprofile *hw, const adept_run *run)
{
    if (run->equations == ADEPT_EQUATIONS_MODEL) return ADEPT_GRANULARITY_MODEL;
    if (run->equations == ADEPT_EQUATIONS_OPERATOR || !hw->calibrated) return ADEPT_GRANULARITY_OPERATOR;
    return hw->granularity;
}

const char *adept_granularity_name(size_t granularity)
{
    static const char *const names[] = {[ADEPT_GRANULARITY_MODEL] = "model", [ADEPT_GRANULARITY_OPERATOR] = "operator"};
    return granularity < sizeof names / sizeof names[0] ? names[granularity] : NULL;
}

static void fill_phases(adept_prediction *out, const adept_placed_step *s)
{
    const adept_phase_times *t = &s->phases.time;
    const adept_phase_powers *p = &s->phases.power;
    double passes = s->step.numbers.pass[ADEPT_PASS_PASSES], gpus = s->step.numbers.row[ADEPT_ROW_GPUS];
    double core_s = passes / out->clock_ratio; /* compute stretches with the clock, memory does not */
    out->gemm_s = s->scratch.gemm_s[0] * core_s;
    out->conv_s = s->scratch.conv_s[0] * core_s;
    out->alu_s = s->scratch.alu_s[0] * core_s;
    out->memory_s = s->scratch.memory_s[0] * passes;
    out->pass_s = t->pass_s;
    out->optimizer_s = t->optimizer_s;
    out->comm_s = t->comm_s;
    out->comm_hidden_s = s->comm_hidden_s;
    out->kernel_launch_s = t->launch_s;
    out->fixed_s = t->fixed_s;
    out->pass_w = gpus * p->pass_w;
    out->optimizer_w = gpus * p->optimizer_w;
    out->comm_w = gpus * p->comm_w;
    out->idle_w = gpus * p->idle_w;
}

/* The pass is the sum of its kernels' times: the parts that follow the core clock by unit, and the rest. */
static void fill_kernels(adept_prediction *out, const adept_placed_step *s)
{
    const adept_plan_step *at = &s->at;
    const adept_operator_state *state = &at->state;
    double gpus = s->step.numbers.row[ADEPT_ROW_GPUS], core = 1.0 / at->clock.ratio;
    const double *unit_core_s = s->kernels.unit_core_s, *theta = s->kernels.theta;
    out->gemm_s = unit_core_s[ADEPT_UNIT_GEMM] * core;
    out->conv_s = unit_core_s[ADEPT_UNIT_CONV] * core;
    out->alu_s = unit_core_s[ADEPT_UNIT_ALU] * core;
    out->memory_s = at->memory_s;
    out->pass_s = at->part_s[ADEPT_PART_FORWARD] + at->part_s[ADEPT_PART_BACKWARD];
    out->optimizer_s = at->part_s[ADEPT_PART_OPTIMIZER];
    out->comm_s = state->comm_s;
    out->comm_hidden_s = state->comm_hidden_s;
    out->comm_buckets = at->buckets;
    out->kernel_launch_s = state->launch_s + state->wait_s;
    out->fixed_s = theta[ADEPT_OP_t_fixed_s];
    out->pass_w = out->optimizer_w = gpus * state->busy_power_w;
    out->comm_w = out->idle_w = gpus * theta[ADEPT_OP_p_static_w];
}

static void fill_time(adept_prediction *out, const adept_placed_step *s)
{
    out->clock_ratio = adept_placed_step_clock(s);
    out->clock_hz = out->clock_ratio * s->hw->specs.clock_boost_hz;
    if (s->by_operator)
        fill_kernels(out, s);
    else
        fill_phases(out, s);
    out->step_time_s = adept_placed_step_time_s(s);
    out->power_avg_w = adept_placed_step_power_w(s);
    if (isnan(out->power_avg_w)) out->pass_w = out->optimizer_w = out->comm_w = out->idle_w = NAN;
}

static void fill_energy(adept_prediction *out, double gpus, const adept_profile *prof)
{
    double samples = (double)prof->batch_size * gpus * (double)prof->grad_accum;
    out->energy_step_j = out->power_avg_w * out->step_time_s;
    out->edp_js = out->energy_step_j * out->step_time_s;
    out->samples_per_s = samples / out->step_time_s;
    out->energy_per_sample_j = out->energy_step_j / samples;
}

/* MFU as the share of the step that the matrix work would take at its peaks: for one element type this is
 * FLOPs / (time * peak), and with several types it stays <= 1. */
static void fill_work(adept_prediction *out, const adept_step *s, double gradient_bytes, const adept_profile *prof)
{
    double gpus = s->numbers.row[ADEPT_ROW_GPUS];
    double per_step = gpus * (double)prof->grad_accum, at_peak_s = 0.0;
    double flops[ADEPT_UNIT_COUNT] = {0};
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++) {
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++) {
            double f = s->work.flops[unit][dtype];
            flops[unit] += f;
            if (unit != ADEPT_UNIT_ALU && f > 0.0) at_peak_s += f / s->peaks.flops_per_s[unit][dtype];
        }
    }
    const adept_optimizer_cost *optimizer = &s->work.optimizer;
    out->gemm_flops = flops[ADEPT_UNIT_GEMM] * per_step;
    out->conv_flops = flops[ADEPT_UNIT_CONV] * per_step;
    out->alu_flops = flops[ADEPT_UNIT_ALU] * per_step + optimizer->flops * gpus;
    out->total_flops = out->gemm_flops + out->conv_flops + out->alu_flops;
    out->macs_forward = prof->totals.macs_forward;
    out->bytes_read = s->work.bytes_read * (double)prof->grad_accum + optimizer->bytes_read +
                      s->work.optimizer_gradients * gradient_bytes;
    out->bytes_written = s->work.bytes_written * (double)prof->grad_accum + optimizer->bytes_written;
    out->kernels = (s->work.kernels[ADEPT_FORWARD] + s->work.kernels[ADEPT_BACKWARD]) * (double)prof->grad_accum +
                   optimizer->kernels;
    out->mfu = at_peak_s * (double)prof->grad_accum / out->step_time_s;
}

static adept_bound find_bound(const adept_prediction *out, bool optimizer_computes, double hidden_pass_s,
                              double hidden_optimizer_s)
{
    const adept_bound_terms terms = {
        .core_s = out->gemm_s + out->conv_s + out->alu_s,
        .memory_s = out->memory_s,
        .pass_s = out->pass_s,
        .optimizer_s = out->optimizer_s,
        .launch_s = out->kernel_launch_s + out->fixed_s,
        .comm_s = out->comm_s,
        .hidden_pass_s = hidden_pass_s,
        .hidden_optimizer_s = hidden_optimizer_s,
        .optimizer_computes = optimizer_computes,
    };
    return adept_bound_of(&terms);
}

/* A fit of one granularity says nothing of predictions by the other. */
bool adept_calibrated_for(const adept_hwprofile *hw, const adept_run *run)
{
    return hw->calibrated && hw->granularity == adept_granularity_of(hw, run);
}

bool adept_transferred_for(const adept_hwprofile *hw, const adept_run *run)
{
    return hw->transferred && adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR;
}

static void warn_transferred(adept_prediction *out, const adept_hwprofile *hw)
{
    char names[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < hw->n_donors && used < sizeof names; i++) {
        int n = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", hw->donors[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    warn(out, "%.40s is not calibrated: parameters are transferred from %s%s%s", hw->name, names,
         used >= sizeof names ? " ..." : "",
         hw->other_vendor ? ", all of other vendors: expect errors of tens of percent" : "");
}

static void warn_uncalibrated(adept_prediction *out, const adept_hwprofile *hw, const adept_run *run)
{
    if (adept_transferred_for(hw, run))
        warn_transferred(out, hw);
    else if (hw->calibrated)
        warn(out,
             "%s is calibrated for granularity %s: here parameters are defaults from the specification sheet, expect "
             "errors of tens of percent",
             hw->name, adept_granularity_name(hw->granularity));
    else
        warn(out,
             "%s is not calibrated: parameters are defaults from the specification sheet, expect errors of tens "
             "of percent",
             hw->name);
}

static void fill_warnings(adept_prediction *out, const adept_placed_step *s, const adept_profile *prof,
                          const adept_hwprofile *hw, const adept_run *run)
{
    double gpus = s->step.numbers.row[ADEPT_ROW_GPUS];
    if (!adept_calibrated_for(hw, run)) warn_uncalibrated(out, hw, run);
    if (isnan(hw->specs.tdp_w)) warn(out, "power and energy are unknown: %s has no tdp_w", hw->name);
    if (adept_peak_tf32_ignored(hw, prof->precision))
        warn(out, "%s has no TF32 units: tf32 has no effect there and runs as fp32", hw->name);
    double limit_w = s->step.numbers.row[ADEPT_ROW_LIMIT_W];
    if (adept_placed_step_floored(s))
        warn(out, "%s cannot keep within %g W: at its lowest clock it still draws more", hw->name, limit_w);
    else if (run->clock_hz != 0.0 && adept_placed_step_limited(s))
        warn(out, "the power limit of %g W leaves a lower clock than the %.0f MHz asked for: %.0f MHz", limit_w,
             run->clock_hz * 1e-6, out->clock_hz * 1e-6);
    if (!out->memory.fits)
        warn(out, "needs about %.3g GiB of device memory, %s has %.3g GiB", out->memory.peak_bytes / 1073741824.0,
             hw->name, out->memory.capacity_bytes / 1073741824.0);
    if (gpus > MAX_GPUS_PER_NODE && run->nodes < 2)
        warn(out, "%.0f GPUs are taken as one node with links alike: say how many nodes they are, and what joins these",
             gpus);
    if (out->mfu > 1.0 && s->by_operator)
        warn(out, "more FLOP/s than the peak of %s: Winograd's algorithm multiplies less than is counted", hw->name);
    else if (out->mfu > 1.0)
        warn(out, "the fitted parameters give more FLOP/s than the peak of %s", hw->name);
}

static void fill_interval(adept_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                          const adept_run *run)
{
    adept_range_point point = adept_prediction_range_point(out, prof, hw, run);
    bool known = adept_calibrated_for(hw, run) || adept_transferred_for(hw, run);
    const adept_intervals *intervals = known ? hw->intervals : NULL;
    if (!(adept_intervals_fill(out, intervals, &point, prof) > 0.0)) return;
    char what[128];
    adept_intervals_describe(what, sizeof what, intervals, &point, prof->mode, prof->precision);
    warn(out, "outside what %.40s was calibrated with (%s): %serrors may be larger", hw->name, what,
         isnan(out->interval_level) ? "" : "the interval is widened, ");
}

static adept_status predict(adept_prediction *out, adept_placed_step *s, const adept_profile *prof,
                            const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    static const adept_run default_run = {0};
    adept_prediction p = {0};
    if (!run) run = &default_run;
    adept_status status = adept_placed_step_init(s, prof, hw, run, err);
    if (status != ADEPT_OK) return status;
    fill_time(&p, s);
    bool knows_power = !isnan(hw->specs.tdp_w);
    if (!(p.step_time_s > 0.0) || !isfinite(p.step_time_s * p.step_time_s * (knows_power ? p.power_avg_w : 1.0)))
        return adept_error_set(err, ADEPT_E_INVALID,
                               "profile: its work takes %g s on %s: nothing to run, or a count "
                               "out of range",
                               p.step_time_s, hw->name);
    double gpus = s->step.numbers.row[ADEPT_ROW_GPUS];
    fill_energy(&p, gpus, prof);
    const adept_work *work = &s->step.work;
    double gradient_bytes =
        s->by_operator ? work->gradient_bytes
                       : adept_eq_gradient_bytes(work->gradient_bytes, work->autocast, s->theta.p.grad_bytes_lowp);
    fill_work(&p, &s->step, gradient_bytes, prof);
    if (s->by_operator)
        p.bound = find_bound(&p, false, s->at.state.hidden_s[ADEPT_PART_FORWARD] + s->at.state.hidden_s[ADEPT_PART_BACKWARD],
                             s->at.state.hidden_s[ADEPT_PART_OPTIMIZER]);
    else
        p.bound = find_bound(&p, s->scratch.opt_compute_s[0] > s->scratch.opt_memory_s[0], 0.0, 0.0);
    p.memory = adept_memory_estimate(prof, s->step.work.optimizer.state_bytes, hw->specs.mem_bytes, (int64_t)gpus);
    fill_warnings(&p, s, prof, hw, run);
    fill_interval(&p, prof, hw, run);
    *out = p;
    return ADEPT_OK;
}

adept_status adept_predict(adept_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                           const adept_run *run, adept_error *err)
{
    adept_placed_step state;
    adept_status status = predict(out, &state, prof, hw, run, err);
    adept_placed_step_free(&state);
    return status;
}

static double kernel_compute_s(const adept_placed_step *s, const adept_hwprofile *hw, adept_unit unit,
                               adept_dtype dtype, double flops, const adept_cover *cover)
{
    const adept_model_parameters *p = &s->theta.p;
    const double slopes[] = {s->scratch.slope_gemm[0], s->scratch.slope_conv[0], s->scratch.slope_alu};
    const double lowp[] = {p->c_gemm_lowp, p->c_conv_lowp, p->c_alu_lowp};
    static const adept_term terms[] = {ADEPT_TERM_GEMM, ADEPT_TERM_CONV, ADEPT_TERM_ALU};
    if (!(flops > 0.0)) return 0.0;
    bool is_lowp = adept_work_column_of(unit, dtype) != adept_work_column_of(unit, ADEPT_F32);
    return flops / s->step.peaks.flops_per_s[unit][dtype] * slopes[unit] * (is_lowp ? lowp[unit] : 1.0) *
           adept_scalar_product(hw->scalars, cover->term[terms[unit]]);
}

/* Time of one operator if its compute and its traffic overlapped only with each other, per pass. */
static double op_alone_s(const adept_profile_op *op, const adept_profile *prof, const adept_placed_step *s,
                         const adept_hwprofile *hw, adept_bound *bound)
{
    adept_cover cover = adept_scalar_cover(hw->scalars, hw->n_scalars, prof, op);
    double compute_s = 0.0, bytes = 0.0;
    for (size_t i = 0; i < op->n_kernels; i++) {
        const adept_kernel *k = &op->kernels[i];
        compute_s += kernel_compute_s(s, hw, k->unit, k->dtype, k->flops, &cover) +
                     kernel_compute_s(s, hw, ADEPT_UNIT_ALU, k->dtype, k->flops_alu, &cover);
        bytes += k->bytes_read + k->bytes_written;
    }
    compute_s /= s->phases.state[ADEPT_PHASE_PASS].clock_ratio;
    double memory_s = bytes / hw->specs.mem_bytes_per_s * s->scratch.slope_mem[0] *
                      adept_scalar_product(hw->scalars, cover.term[ADEPT_TERM_MEM]);
    *bound = compute_s > memory_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    return adept_larger(compute_s, memory_s) * (double)op->count;
}

/* Each operator's own kernels, each at its clock; idle power by time. */
static adept_status predict_operators(adept_op_prediction *out, const adept_placed_step *s, const adept_profile *prof,
                                      const adept_hwprofile *hw, adept_error *err)
{
    for (size_t i = 0; i < prof->n_ops; i++) {
        adept_operator_total total = {0};
        adept_status status = adept_placed_step_operator(&total, s, &prof->ops[i], err);
        if (status != ADEPT_OK) return status;
        double idle_w = s->kernels.theta[ADEPT_OP_p_static_w];
        out[i].time_s = total.time_s[ADEPT_PART_FORWARD] + total.time_s[ADEPT_PART_BACKWARD];
        out[i].bound = total.memory_s < 0.5 * out[i].time_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
        out[i].energy_j = isnan(hw->specs.tdp_w) ? NAN : s->step.numbers.row[ADEPT_ROW_GPUS] * (total.energy_j + idle_w * out[i].time_s);
    }
    return ADEPT_OK;
}

static adept_status predict_ops(adept_op_prediction *out, adept_placed_step *state, const adept_profile *prof,
                                const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    adept_prediction whole;
    adept_status status = predict(&whole, state, prof, hw, run, err);
    if (status != ADEPT_OK) return status;
    if (state->by_operator) return predict_operators(out, state, prof, hw, err);
    double sum_s = 0.0;
    for (size_t i = 0; i < prof->n_ops; i++) {
        out[i].time_s = op_alone_s(&prof->ops[i], prof, state, hw, &out[i].bound);
        sum_s += out[i].time_s;
    }
    /* Eq 4.7 takes one maximum over the whole pass, so the operators' own maxima sum to more: scale them down. */
    double scale = sum_s > 0.0 ? whole.pass_s / sum_s : 0.0;
    for (size_t i = 0; i < prof->n_ops; i++) {
        out[i].time_s *= scale;
        out[i].energy_j = out[i].time_s * whole.pass_w;
    }
    return ADEPT_OK;
}

adept_status adept_predict_ops(adept_op_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                               const adept_run *run, adept_error *err)
{
    adept_placed_step state;
    adept_status status = predict_ops(out, &state, prof, hw, run, err);
    adept_placed_step_free(&state);
    return status;
}
