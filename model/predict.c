/** @file predict.c  One step: times of the phases, their power, energy, memory (eq 4.7, 4.14, 4.15). */
#include "memory.h"
#include "peaks.h"
#include "step.h"
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

/* The three phases that draw more than idle power, on one GPU. */
typedef struct phases {
    adept_power_state pass, optimizer, comm;
    bool optimizer_computes; /* its arithmetic takes longer than its traffic */
} phases;

static adept_power_state run_phase(const adept_step *s, const adept_specs *specs, double compute_s, double memory_s,
                                   double utilisation)
{
    adept_power_demand d = {
        .compute_s = compute_s,
        .memory_s = memory_s,
        .static_w = s->p.p_static_w,
        .dynamic_w = adept_eq_dynamic_w(utilisation, s->p.p_static_w, specs->tdp_w, s->p.c_power),
        .mem_power_share = s->p.mem_power_share,
        .v_slope = s->p.v_slope,
    };
    adept_power_state state = adept_power_cap(&d, s->limit_w, s->min_clock_ratio);
    /* A phase that never runs throttles nothing. */
    if (state.time_s == 0.0) state.floored = false;
    return state;
}

static phases run_phases(const adept_step *s, const adept_profile *prof, const adept_specs *specs)
{
    double passes = (double)prof->grad_accum;
    double compute_s = s->gemm_s + s->conv_s + s->alu_s;
    const adept_optimizer_cost *optimizer = &s->work.optimizer;
    double opt_memory_s = adept_eq_optimizer_memory_s(optimizer->bytes_read + optimizer->bytes_written,
                                                      specs->mem_bytes_per_s, s->p.c_opt);
    double opt_compute_s =
        adept_eq_optimizer_compute_s(optimizer->flops, specs->vector_fp32_flops_per_s, s->p.beta_alu, s->p.c_alu);
    double comm_s = adept_eq_allreduce_s(s->work.gradient_bytes > 0.0 ? s->gpus : 1.0, s->work.gradient_bytes,
                                         s->p.l_hop_s, s->p.bw_eff_bytes_per_s);
    return (phases){
        .pass = run_phase(s, specs, compute_s * passes, s->memory_s * passes,
                          adept_eq_pass_utilisation(compute_s, s->memory_s)),
        .optimizer = run_phase(s, specs, opt_compute_s, opt_memory_s, s->p.u_mem),
        .comm = run_phase(s, specs, 0.0, comm_s * (1.0 - s->p.overlap), s->p.u_comm),
        .optimizer_computes = opt_compute_s > opt_memory_s,
    };
}

static void fill_time(adept_prediction *out, const adept_step *s, const adept_profile *prof, const phases *ph)
{
    double passes = (double)prof->grad_accum;
    double core_s = passes / ph->pass.clock_ratio; /* compute stretches with the clock, memory does not */
    out->gemm_s = s->gemm_s * core_s;
    out->conv_s = s->conv_s * core_s;
    out->alu_s = s->alu_s * core_s;
    out->memory_s = s->memory_s * passes;
    out->clock_ratio = ph->pass.clock_ratio;
    adept_phase_times t = {
        .pass_s = ph->pass.time_s,
        .optimizer_s = ph->optimizer.time_s,
        .comm_s = ph->comm.time_s,
        .launch_s = adept_eq_launch_s(passes, s->work.kernels, s->work.optimizer.kernels, s->p.t_kern_s),
        .fixed_s = s->p.t_fixed_s,
    };
    adept_phase_powers p = {
        .pass_w = s->gpus * ph->pass.power_w,
        .optimizer_w = s->gpus * ph->optimizer.power_w,
        .comm_w = s->gpus * ph->comm.power_w,
        .idle_w = s->gpus * s->p.p_static_w,
    };
    out->pass_s = t.pass_s;
    out->optimizer_s = t.optimizer_s;
    out->comm_s = t.comm_s;
    out->kernel_launch_s = t.launch_s;
    out->fixed_s = t.fixed_s;
    out->step_time_s = adept_eq_step_s(&t);
    out->pass_w = p.pass_w;
    out->optimizer_w = p.optimizer_w;
    out->comm_w = p.comm_w;
    out->idle_w = p.idle_w;
    out->power_avg_w = adept_eq_mean_power_w(&t, &p);
}

static void fill_energy(adept_prediction *out, const adept_step *s, const adept_profile *prof)
{
    double samples = (double)prof->batch_size * s->gpus * (double)prof->grad_accum;
    out->energy_step_j = out->power_avg_w * out->step_time_s;
    out->edp_js = out->energy_step_j * out->step_time_s;
    out->samples_per_s = samples / out->step_time_s;
    out->energy_per_sample_j = out->energy_step_j / samples;
}

/* MFU as the share of the step that the matrix work would take at its peaks: for one element type this is
 * FLOPs / (time * peak), and with several types it stays <= 1. */
static void fill_work(adept_prediction *out, const adept_step *s, const adept_profile *prof)
{
    double per_step = s->gpus * (double)prof->grad_accum, at_peak_s = 0.0;
    double flops[ADEPT_UNIT_COUNT] = {0};
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++) {
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++) {
            double f = s->work.flops[unit][dtype];
            flops[unit] += f;
            if (unit != ADEPT_UNIT_ALU && f > 0.0) at_peak_s += f / s->rates.peak[unit][dtype];
        }
    }
    const adept_optimizer_cost *optimizer = &s->work.optimizer;
    out->gemm_flops = flops[ADEPT_UNIT_GEMM] * per_step;
    out->conv_flops = flops[ADEPT_UNIT_CONV] * per_step;
    out->alu_flops = flops[ADEPT_UNIT_ALU] * per_step + optimizer->flops * s->gpus;
    out->total_flops = out->gemm_flops + out->conv_flops + out->alu_flops;
    out->macs_forward = prof->totals.macs_forward;
    out->bytes_read = s->work.bytes_read * (double)prof->grad_accum + optimizer->bytes_read;
    out->bytes_written = s->work.bytes_written * (double)prof->grad_accum + optimizer->bytes_written;
    out->kernels = s->work.kernels * (double)prof->grad_accum + optimizer->kernels;
    out->mfu = at_peak_s * (double)prof->grad_accum / out->step_time_s;
}

/* The largest term. Pass and optimizer count for what they wait on; the constant time is the host's, like launches. */
static adept_bound find_bound(const adept_prediction *out, bool optimizer_computes)
{
    double terms_s[] = {0.0, 0.0, out->kernel_launch_s + out->fixed_s, out->comm_s};
    bool computes = out->gemm_s + out->conv_s + out->alu_s > out->memory_s;
    terms_s[computes ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY] += out->pass_s;
    terms_s[optimizer_computes ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY] += out->optimizer_s;
    int largest = ADEPT_BOUND_COMPUTE;
    for (int i = ADEPT_BOUND_MEMORY; i <= ADEPT_BOUND_COMMUNICATION; i++)
        if (terms_s[i] > terms_s[largest]) largest = i;
    return (adept_bound)largest;
}

static void fill_warnings(adept_prediction *out, const adept_step *s, const adept_profile *prof,
                          const adept_hwprofile *hw, const phases *ph)
{
    if (!hw->calibrated)
        warn(out,
             "%s is not calibrated: parameters are defaults from the specification sheet, expect errors of tens "
             "of percent",
             hw->name);
    if (adept_peak_tf32_ignored(hw, prof->precision))
        warn(out, "%s has no TF32 units: tf32 has no effect there and runs as fp32", hw->name);
    if (ph->pass.floored || ph->optimizer.floored || ph->comm.floored)
        warn(out, "%s cannot keep within %g W: at its lowest clock it still draws more", hw->name, s->limit_w);
    if (!out->memory.fits)
        warn(out, "needs about %.3g GiB of device memory, %s has %.3g GiB", out->memory.peak_bytes / 1073741824.0,
             hw->name, out->memory.capacity_bytes / 1073741824.0);
    if (s->gpus > MAX_GPUS_PER_NODE)
        warn(out, "%.0f GPUs are taken as one node with links alike; slower links between nodes are not modelled",
             s->gpus);
    if (out->mfu > 1.0) warn(out, "the fitted parameters give more FLOP/s than the peak of %s", hw->name);
}

static adept_status predict(adept_prediction *out, adept_step *s, const adept_profile *prof, const adept_hwprofile *hw,
                            const adept_run *run, adept_error *err)
{
    adept_prediction p = {0};
    adept_status status = adept_step_prepare(s, prof, hw, run, err);
    if (status != ADEPT_OK) return status;
    phases ph = run_phases(s, prof, &hw->specs);
    fill_time(&p, s, prof, &ph);
    if (!(p.step_time_s > 0.0) || !isfinite(p.step_time_s * p.step_time_s * p.power_avg_w))
        return adept_error_set(err, ADEPT_E_INVALID,
                               "profile: its work takes %g s on %s: nothing to run, or a count "
                               "out of range",
                               p.step_time_s, hw->name);
    fill_energy(&p, s, prof);
    fill_work(&p, s, prof);
    p.bound = find_bound(&p, ph.optimizer_computes);
    p.memory = adept_memory_estimate(prof, s->work.optimizer.state_bytes, hw->specs.mem_bytes, (int64_t)s->gpus);
    fill_warnings(&p, s, prof, hw, &ph);
    *out = p;
    return ADEPT_OK;
}

adept_status adept_predict(adept_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                           const adept_run *run, adept_error *err)
{
    adept_step step;
    return predict(out, &step, prof, hw, run, err);
}

/* Time of one operator if its compute and its traffic overlapped only with each other, per pass. */
static double op_alone_s(const adept_profile_op *op, const adept_rates *rates, double clock_ratio, adept_bound *bound)
{
    double compute_s = 0.0, bytes = 0.0;
    for (size_t i = 0; i < op->n_kernels; i++) {
        compute_s += adept_rates_kernel_s(rates, &op->kernels[i]) / clock_ratio;
        bytes += op->kernels[i].bytes_read + op->kernels[i].bytes_written;
    }
    double memory_s = bytes * rates->byte_s;
    *bound = compute_s > memory_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    return fmax(compute_s, memory_s) * (double)op->count;
}

adept_status adept_predict_ops(adept_op_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                               const adept_run *run, adept_error *err)
{
    adept_step step;
    adept_prediction whole;
    adept_status status = predict(&whole, &step, prof, hw, run, err);
    if (status != ADEPT_OK) return status;
    double sum_s = 0.0;
    for (size_t i = 0; i < prof->n_ops; i++) {
        out[i].time_s = op_alone_s(&prof->ops[i], &step.rates, whole.clock_ratio, &out[i].bound);
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
