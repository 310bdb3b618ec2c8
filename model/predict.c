/** @file predict.c  One step: times of the phases, their power, energy, memory (eq 4.7, 4.14, 4.15). */
#include "evaluate.h"
#include "interval.h"
#include "memory.h"
#include "operator_step.h"
#include "peaks.h"
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

/* One step of one GPU: numbers, parameters, and what evaluating its single row left behind. */
typedef struct step_state {
    adept_step step;
    adept_theta theta;
    adept_rows block;
    adept_scratch scratch;
    adept_phases phases;
    /* granularity "operator" instead of the four above */
    bool by_operator;
    double operator_theta[ADEPT_OPERATOR_PARAMETERS];
    const adept_tile_menu *menus;
    adept_operator_numbers numbers;
    adept_operator_clock clock;
    adept_operator_total total;
    adept_operator_state state;
} step_state;

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

static void fill_time(adept_prediction *out, const step_state *s)
{
    const adept_phase_times *t = &s->phases.time;
    const adept_phase_powers *p = &s->phases.power;
    double passes = s->step.numbers.pass[ADEPT_PASS_PASSES], gpus = s->step.numbers.row[ADEPT_ROW_GPUS];
    out->clock_ratio = s->phases.state[ADEPT_PHASE_PASS].clock_ratio;
    double core_s = passes / out->clock_ratio; /* compute stretches with the clock, memory does not */
    out->gemm_s = s->scratch.gemm_s[0] * core_s;
    out->conv_s = s->scratch.conv_s[0] * core_s;
    out->alu_s = s->scratch.alu_s[0] * core_s;
    out->memory_s = s->scratch.memory_s[0] * passes;
    out->pass_s = t->pass_s;
    out->optimizer_s = t->optimizer_s;
    out->comm_s = t->comm_s;
    out->kernel_launch_s = t->launch_s;
    out->fixed_s = t->fixed_s;
    out->step_time_s = adept_eq_step_s(t);
    out->pass_w = gpus * p->pass_w;
    out->optimizer_w = gpus * p->optimizer_w;
    out->comm_w = gpus * p->comm_w;
    out->idle_w = gpus * p->idle_w;
    out->power_avg_w = gpus * adept_eq_mean_power_w(t, p);
}

/* The pass is the sum of its kernels' times: the parts that follow the core clock by unit, and the rest. */
static void fill_operator_time(adept_prediction *out, const step_state *s)
{
    const adept_operator_total *total = &s->total;
    const adept_operator_state *state = &s->state;
    double gpus = s->numbers.gpus;
    out->clock_ratio = s->clock.ratio;
    out->gemm_s = total->unit_core_s[ADEPT_UNIT_GEMM];
    out->conv_s = total->unit_core_s[ADEPT_UNIT_CONV];
    out->alu_s = total->unit_core_s[ADEPT_UNIT_ALU];
    out->memory_s = total->memory_s;
    out->pass_s = total->time_s - total->optimizer_s;
    out->optimizer_s = total->optimizer_s;
    out->comm_s = state->comm_s;
    out->kernel_launch_s = state->launch_s + fmax(0.0, state->host_s - state->device_s);
    out->fixed_s = s->operator_theta[ADEPT_OP_t_fixed_s];
    out->step_time_s = state->step_s;
    out->pass_w = out->optimizer_w = gpus * state->busy_power_w;
    out->comm_w = out->idle_w = gpus * s->operator_theta[ADEPT_OP_p_static_w];
    out->power_avg_w = gpus * state->power_w;
}

/* Without P_TDP not even idle power is known for sure. */
static void forget_power(adept_prediction *out)
{
    out->pass_w = out->optimizer_w = out->comm_w = out->idle_w = out->power_avg_w = NAN;
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
    out->kernels = s->work.kernels * (double)prof->grad_accum + optimizer->kernels;
    out->mfu = at_peak_s * (double)prof->grad_accum / out->step_time_s;
}

/* The largest term. Pass and optimizer count for what they wait on; the constant time is the host's, like launches.
 * Where the GPU waits for the host (granularity "operator"), faster kernels would gain nothing: all that time is the
 * launches'. */
static adept_bound find_bound(const adept_prediction *out, bool optimizer_computes, bool waits_for_host)
{
    double terms_s[] = {0.0, 0.0, out->kernel_launch_s + out->fixed_s, out->comm_s};
    bool computes = out->gemm_s + out->conv_s + out->alu_s > out->memory_s;
    adept_bound pass = computes ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    adept_bound optimizer = optimizer_computes ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    terms_s[waits_for_host ? ADEPT_BOUND_LAUNCH : pass] += out->pass_s;
    terms_s[waits_for_host ? ADEPT_BOUND_LAUNCH : optimizer] += out->optimizer_s;
    int largest = ADEPT_BOUND_COMPUTE;
    for (int i = ADEPT_BOUND_MEMORY; i <= ADEPT_BOUND_COMMUNICATION; i++)
        if (terms_s[i] > terms_s[largest]) largest = i;
    return (adept_bound)largest;
}

/* A fit of one granularity says nothing of predictions by the other. */
bool adept_calibrated_for(const adept_hwprofile *hw, const adept_run *run)
{
    return hw->calibrated && hw->granularity == adept_granularity_of(hw, run);
}

static void warn_uncalibrated(adept_prediction *out, const adept_hwprofile *hw)
{
    if (hw->calibrated)
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

static void fill_warnings(adept_prediction *out, const step_state *s, const adept_profile *prof,
                          const adept_hwprofile *hw, const adept_run *run)
{
    double gpus = s->step.numbers.row[ADEPT_ROW_GPUS];
    bool floored = s->by_operator && s->clock.floored;
    for (int i = 0; i < ADEPT_PHASES && !s->by_operator; i++)
        floored = floored || s->phases.state[i].floored;
    if (!adept_calibrated_for(hw, run)) warn_uncalibrated(out, hw);
    if (isnan(hw->specs.tdp_w)) warn(out, "power and energy are unknown: %s has no tdp_w", hw->name);
    if (adept_peak_tf32_ignored(hw, prof->precision))
        warn(out, "%s has no TF32 units: tf32 has no effect there and runs as fp32", hw->name);
    if (floored)
        warn(out, "%s cannot keep within %g W: at its lowest clock it still draws more", hw->name,
             s->step.numbers.row[ADEPT_ROW_LIMIT_W]);
    if (!out->memory.fits)
        warn(out, "needs about %.3g GiB of device memory, %s has %.3g GiB", out->memory.peak_bytes / 1073741824.0,
             hw->name, out->memory.capacity_bytes / 1073741824.0);
    if (gpus > MAX_GPUS_PER_NODE)
        warn(out, "%.0f GPUs are taken as one node with links alike; slower links between nodes are not modelled",
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
    const adept_intervals *intervals = adept_calibrated_for(hw, run) ? hw->intervals : NULL;
    if (!(adept_intervals_fill(out, intervals, &point, prof) > 0.0)) return;
    char what[128];
    adept_intervals_describe(what, sizeof what, intervals, &point, prof->mode, prof->precision);
    warn(out, "outside what %.40s was calibrated with (%s): %serrors may be larger", hw->name, what,
         isnan(out->interval_level) ? "" : "the interval is widened, ");
}

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

static adept_status check_static_w(double p_static_w, const adept_hwprofile *hw, adept_error *err)
{
    if (!(p_static_w >= hw->specs.tdp_w)) return ADEPT_OK; /* also without tdp_w */
    return adept_error_set(err, ADEPT_E_INVALID, "%s: p_static_w = %g is not below tdp_w = %g", hw->name, p_static_w,
                           hw->specs.tdp_w);
}

static adept_status set_theta(adept_theta *out, const adept_hwprofile *hw, const adept_run *run, adept_error *err)
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
    return status == ADEPT_OK ? check_static_w(out->p.p_static_w, hw, err) : status;
}

/* The fit's targeted scalars are constants here: they are multiplied into the work. */
static adept_status evaluate(step_state *s, const adept_profile *prof, const adept_hwprofile *hw, const adept_run *run,
                             adept_error *err)
{
    const adept_placement at = {prof, hw, *run};
    adept_status status = check_fit(hw, err);
    if (status == ADEPT_OK) status = adept_step_compile(&s->step, NULL, &at, hw->scalars, hw->n_scalars, err);
    if (status == ADEPT_OK) status = set_theta(&s->theta, hw, run, err);
    if (status != ADEPT_OK) return status;
    adept_rows_init(&s->block);
    status = adept_rows_add(&s->block, &s->step.numbers, NULL, err);
    if (status != ADEPT_OK) return status;
    adept_rows_forward(&s->scratch, &s->block, &s->theta);
    adept_row_phases(&s->phases, &s->scratch, &s->block, 0, &s->theta);
    return ADEPT_OK;
}

/* One operator's kernels: into the list that the clock is solved from, or at the clock found into the total. */
static adept_status add_operator(adept_operator_list *list, adept_operator_total *total, const step_state *s,
                                 const adept_profile_op *op, const adept_profile *prof, const adept_hwprofile *hw,
                                 adept_error *err)
{
    adept_operator_time t;
    for (size_t i = 0; i < op->n_kernels; i++) {
        adept_operator_kernel k;
        adept_status status = adept_operator_kernel_of(&k, op, &op->kernels[i], prof, hw, err);
        if (status != ADEPT_OK) return status;
        adept_operator_time_of(&t, &k, s->operator_theta, s->menus, false);
        double executions = s->numbers.passes * k.count;
        if (list) adept_operator_list_add(list, &t, executions);
        if (total) adept_operator_add(total, NULL, &t, executions, s->clock, &s->numbers, s->operator_theta);
    }
    return ADEPT_OK;
}

static adept_status evaluate_operator(step_state *s, const adept_profile *prof, const adept_hwprofile *hw,
                                      const adept_run *run, adept_error *err)
{
    const adept_placement at = {prof, hw, *run};
    adept_operator_list list;
    adept_operator_time t;
    adept_status status = adept_operator_check_saturation(run->saturation, err);
    if (status == ADEPT_OK) status = adept_step_compile(&s->step, NULL, &at, NULL, 0, err);
    if (status == ADEPT_OK) status = adept_operator_parameters_get(s->operator_theta, hw, err);
    if (status == ADEPT_OK) status = check_static_w(s->operator_theta[ADEPT_OP_p_static_w], hw, err);
    if (status != ADEPT_OK) return status;
    s->menus = hw->tiles ? hw->tiles : adept_tile_menu_default;
    s->numbers = adept_operator_numbers_of(&s->step, &hw->specs);
    s->total = (adept_operator_total){0};
    list.n = 0;
    for (size_t i = 0; i < prof->n_ops && status == ADEPT_OK; i++)
        status = add_operator(&list, NULL, s, &prof->ops[i], prof, hw, err);
    size_t n_kernels = list.n;
    adept_operator_optimizer_time(&t, &s->numbers, s->operator_theta, false);
    adept_operator_list_add(&list, &t, 1.0);
    s->clock = adept_operator_solve(&list, &s->numbers, s->operator_theta);
    if (list.n < ADEPT_OPERATOR_MAX_ENTRIES) /* the list has all of it: no need to work the kernels out again */
        adept_operator_add_list(&s->total, &list, n_kernels, s->clock, &s->numbers, s->operator_theta);
    else
        for (size_t i = 0; i < prof->n_ops && status == ADEPT_OK; i++)
            status = add_operator(NULL, &s->total, s, &prof->ops[i], prof, hw, err);
    if (status != ADEPT_OK) return status;
    adept_operator_add_optimizer(&s->total, NULL, &t, s->clock, &s->numbers, s->operator_theta);
    s->state = adept_operator_finish(&s->total, &s->numbers, s->operator_theta);
    return ADEPT_OK;
}

static adept_status predict(adept_prediction *out, step_state *s, const adept_profile *prof, const adept_hwprofile *hw,
                            const adept_run *run, adept_error *err)
{
    static const adept_run default_run = {0};
    adept_prediction p = {0};
    if (!run) run = &default_run;
    s->by_operator = adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR;
    adept_status status = s->by_operator ? evaluate_operator(s, prof, hw, run, err) : evaluate(s, prof, hw, run, err);
    if (status != ADEPT_OK) return status;
    if (s->by_operator)
        fill_operator_time(&p, s);
    else
        fill_time(&p, s);
    bool knows_power = !isnan(hw->specs.tdp_w);
    if (!(p.step_time_s > 0.0) || !isfinite(p.step_time_s * p.step_time_s * (knows_power ? p.power_avg_w : 1.0)))
        return adept_error_set(err, ADEPT_E_INVALID,
                               "profile: its work takes %g s on %s: nothing to run, or a count "
                               "out of range",
                               p.step_time_s, hw->name);
    if (!knows_power) forget_power(&p);
    double gpus = s->step.numbers.row[ADEPT_ROW_GPUS];
    fill_energy(&p, gpus, prof);
    const adept_work *work = &s->step.work;
    double gradient_bytes =
        s->by_operator ? work->gradient_bytes
                       : adept_eq_gradient_bytes(work->gradient_bytes, work->autocast, s->theta.p.grad_bytes_lowp);
    fill_work(&p, &s->step, gradient_bytes, prof);
    p.bound = find_bound(&p, !s->by_operator && s->scratch.opt_compute_s[0] > s->scratch.opt_memory_s[0],
                         s->by_operator && s->state.host_s > s->state.device_s);
    p.memory = adept_memory_estimate(prof, s->step.work.optimizer.state_bytes, hw->specs.mem_bytes, (int64_t)gpus);
    fill_warnings(&p, s, prof, hw, run);
    fill_interval(&p, prof, hw, run);
    *out = p;
    return ADEPT_OK;
}

adept_status adept_predict(adept_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                           const adept_run *run, adept_error *err)
{
    step_state state;
    return predict(out, &state, prof, hw, run, err);
}

static double kernel_compute_s(const step_state *s, const adept_hwprofile *hw, adept_unit unit, adept_dtype dtype,
                               double flops, const adept_cover *cover)
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
static double op_alone_s(const adept_profile_op *op, const adept_profile *prof, const step_state *s,
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
static adept_status predict_operators(adept_op_prediction *out, const step_state *s, const adept_profile *prof,
                                      const adept_hwprofile *hw, adept_error *err)
{
    for (size_t i = 0; i < prof->n_ops; i++) {
        adept_operator_total total = {0};
        adept_status status = add_operator(NULL, &total, s, &prof->ops[i], prof, hw, err);
        if (status != ADEPT_OK) return status;
        double idle_w = s->operator_theta[ADEPT_OP_p_static_w];
        out[i].time_s = total.time_s;
        out[i].bound = total.memory_s < 0.5 * total.time_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
        out[i].energy_j = isnan(hw->specs.tdp_w) ? NAN : s->numbers.gpus * (total.energy_j + idle_w * total.time_s);
    }
    return ADEPT_OK;
}

adept_status adept_predict_ops(adept_op_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                               const adept_run *run, adept_error *err)
{
    step_state state;
    adept_prediction whole;
    adept_status status = predict(&whole, &state, prof, hw, run, err);
    if (status != ADEPT_OK) return status;
    if (state.by_operator) return predict_operators(out, &state, prof, hw, err);
    double sum_s = 0.0;
    for (size_t i = 0; i < prof->n_ops; i++) {
        out[i].time_s = op_alone_s(&prof->ops[i], prof, &state, hw, &out[i].bound);
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
