/** @file predict.c  One step: times of the phases, their power, energy, memory (eq 4.7, 4.14, 4.15). */
#include "peaks.h"
#include "plan.h"
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

static void fill_step(adept_prediction *out, const adept_plan *plan, const adept_step *s, double gpus)
{
    out->comm_buckets = s->buckets;
    out->host_samples_s = s->samples_s;
    out->host_s = s->host_s;
    for (int part = 0; s->host_s > 0.0 && part < ADEPT_PARTS; part++)
        out->host_hidden_s += s->hidden_s[part];
    out->gemm_s = s->gemm_s;
    out->conv_s = s->conv_s;
    out->alu_s = s->alu_s;
    out->memory_s = s->memory_s;
    out->pass_w = gpus * s->pass_w;
    out->optimizer_w = gpus * s->optimizer_w;
    out->comm_w = gpus * s->comm_w;
    out->idle_w = gpus * s->idle_w;
    out->memory = plan->memory[gpus > 1.0];
}

/* MFU as the share of the step that the matrix work would take at its peaks: for one element type this is
 * FLOPs / (time * peak), and with several types it stays <= 1. */
static void fill_work(adept_prediction *out, const adept_plan *plan, double gpus, const adept_profile *prof)
{
    const adept_work *work = &plan->placed.work;
    double passes = (double)prof->grad_accum, per_step = gpus * passes, at_peak_s = 0.0;
    double flops[ADEPT_UNIT_COUNT] = {0};
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++) {
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++) {
            double f = work->flops[unit][dtype];
            flops[unit] += f;
            if (unit != ADEPT_UNIT_ALU && f > 0.0) at_peak_s += f / plan->placed.peaks.flops_per_s[unit][dtype];
        }
    }
    out->gemm_flops = flops[ADEPT_UNIT_GEMM] * per_step + work->optimizer.product_flops * gpus;
    out->conv_flops = flops[ADEPT_UNIT_CONV] * per_step;
    out->alu_flops = flops[ADEPT_UNIT_ALU] * per_step + work->optimizer.flops * gpus;
    out->total_flops = out->gemm_flops + out->conv_flops + out->alu_flops;
    out->macs_forward = prof->totals.macs_forward;
    out->bytes_read = plan->bytes_read;
    out->bytes_written = plan->bytes_written;
    out->kernels = plan->launches;
    out->mfu = at_peak_s * passes / out->step_time_s;
    out->mfu_executed = (at_peak_s * passes - plan->left_out_s) / out->step_time_s;
}

static void warn_uncalibrated(adept_prediction *out, const adept_hwprofile *hw, const adept_run *run,
                              adept_precision precision)
{
    char text[ADEPT_CALIBRATION_BYTES], names[128] = "";
    size_t used = 0;
    const bool is_sheet = !hw->calibrated && !adept_transferred_for(hw, run);
    for (size_t i = 0; i < hw->n_donors && used < sizeof names; i++) {
        int n = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", hw->donors[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    if (used >= sizeof names) snprintf(names, sizeof names, "%zu other GPUs", hw->n_donors);
    if (hw->among && adept_transferred_for(hw, run))
        warn(out, "%.40s is %s", hw->name, adept_calibration_text(text, hw, run, precision));
    else if (adept_transferred_for(hw, run))
        warn(out, "%.40s is not calibrated: parameters are transferred from %s%s", hw->name, names,
             hw->other_vendor ? ", all of other vendors: expect errors of tens of percent" : "");
    else if (adept_calibrated_for(hw, run))
        warn(out, "%s is calibrated, but not in %s: what nobody measured there is transferred, or of the sheet",
             hw->name, adept_precision_name(precision));
    else if (is_sheet)
        warn(out,
             "%s is not calibrated: parameters are defaults from the specification sheet, expect errors of tens "
             "of percent",
             hw->name);
    else
        warn(out,
             "%s is calibrated for granularity %s: here parameters are defaults from the specification sheet, expect "
             "errors of tens of percent",
             hw->name, adept_granularity_name(hw->granularity));
}

/* Of a step; less is not worth a word. */
#define LEAST_SAMPLES 1e-3

static bool multiplies_int8(const adept_work *work)
{
    double flops = 0;
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++)
        if (unit != ADEPT_UNIT_ALU) flops += work->flops[unit][ADEPT_I8] + work->flops[unit][ADEPT_U8];
    return flops > 0;
}

/* Words that act on the power of the node alone. */
static bool says_node(const adept_run *run)
{
    return run->node > 0 || run->node_gpus > 0 || run->host_idle_w > 0.0 || run->host_active_w > 0.0 ||
           run->fan_share > 0.0 || run->supply_efficiency > 0.0;
}

static void fill_warnings(adept_prediction *out, const adept_plan *plan, const adept_step *step,
                          const adept_checked_run *checked, const adept_profile *prof, const adept_run *run)
{
    const adept_hwprofile *hw = plan->hw;
    double gpus = checked->row[ADEPT_ROW_GPUS];
    if (hw->taken && !hw->by_alias) warn(out, "%s", hw->taken);
    if (!adept_calibrated_in(hw, run, prof->precision)) warn_uncalibrated(out, hw, run, prof->precision);
    if (isnan(hw->specs.tdp_w)) warn(out, "power and energy are unknown: %s has no tdp_w", hw->name);
    if (adept_peak_tf32_ignored(hw, prof->precision))
        warn(out, "%s has no TF32 units: tf32 has no effect there and runs as fp32", hw->name);
    if (gpus == 1.0 && (run->allreduce > 0 || run->bucket_bytes > 0.0 || run->overlap > 0 || run->link > 0))
        warn(out, "allreduce, bucket_bytes, overlap and link have no effect: one GPU sends nothing");
    const char *instead = adept_peak_instead_of_int8(&hw->specs);
    if (instead && multiplies_int8(&plan->placed.work))
        warn(out, "8-bit integers are multiplied at the %s peak of %s: its sheet has no tensor_int8_flops_per_s",
             instead, hw->name);
    double limit_w = checked->row[ADEPT_ROW_LIMIT_W];
    if (step->floored)
        warn(out, "%s cannot keep within %g W: at its lowest clock it still draws more", hw->name, limit_w);
    else if (run->clock_hz != 0.0 && step->limited)
        warn(out, "the power limit of %g W leaves a lower clock than the %.0f MHz asked for: %.0f MHz", limit_w,
             run->clock_hz * 1e-6, out->clock_hz * 1e-6);
    if (!out->memory.fits)
        warn(out, "needs about %.3g GiB of device memory, %s has %.3g GiB", out->memory.peak_bytes / 1073741824.0,
             hw->name, out->memory.capacity_bytes / 1073741824.0);
    if (prof->mode == ADEPT_MODE_GENERATE)
        warn(out, "no measured generation is at hand: the error of time and energy as a whole is not known, kernels "
                  "are predicted "
                  "within theirs");
    if (prof->mode == ADEPT_MODE_GENERATE && out->generation.answer_bound == ADEPT_BOUND_LAUNCH &&
        prof->execution != ADEPT_GRAPHS)
        warn(out,
             "a token waits for the host %.0f %% of its time, as in PyTorch without CUDA graphs: servers of "
             "language "
             "models replay graphs (execution graphs)",
             100.0 * out->generation.waits_s / out->tpot_s);
    const char *missing = says_node(run) ? adept_node_missing(&checked->node, &checked->watts) : NULL;
    if (missing)
        warn(out, "the power of the node is unknown: %s is not known, with %g of its %g GPUs in use", missing,
             checked->node.used, checked->node.gpus);
    if (gpus > MAX_GPUS_PER_NODE && run->nodes < 2)
        warn(out, "%.0f GPUs are taken as one node with links alike: say how many nodes they are, and what joins these",
             gpus);
    if (adept_bridge_too_short(run) && plan->sends)
        warn(out, "a bridge joins two boards: of %.0f GPUs some send over the slower link", gpus);
    if (step->samples_s > LEAST_SAMPLES * step->step_s && run->host_sample_s == 0.0)
        warn(out,
             "the host takes %.3g s of the step to load samples, as the program did that was measured (t_sample_s): "
             "say what yours takes (host_sample_s)",
             step->samples_s);
    if (out->mfu > 1.0 && plan->left_out_s > 0.0)
        warn(out, "an MFU above 1: Winograd's algorithm multiplies less than is counted, at %.0f %% of the peak of %s",
             100.0 * out->mfu_executed, hw->name);
    else if (out->mfu > 1.0)
        warn(out, "the fitted parameters give more FLOP/s than the peak of %s", hw->name);
}

adept_status adept_prediction_fill(adept_prediction *out, const adept_plan *plan, const adept_step *step,
                                   const adept_checked_run *checked, const adept_profile *prof, const adept_run *run,
                                   adept_error *err)
{
    adept_prediction p = {0};
    adept_status status = adept_plan_report(&p.estimate, plan, step, checked, err);
    if (status != ADEPT_OK) return status;
    fill_step(&p, plan, step, checked->row[ADEPT_ROW_GPUS]);
    fill_work(&p, plan, checked->row[ADEPT_ROW_GPUS], prof);
    p.fused_step_time_s = p.fused_power_w = NAN;
    adept_plan_generation(&p.generation, plan, step, checked, &p.estimate);
    fill_warnings(&p, plan, step, checked, prof, run);
    *out = p;
    return ADEPT_OK;
}

/* A plan of one run, worked out, and what it says. @param plan  adept_plan_clear() it whatever the result */
static adept_status predict(adept_prediction *out, adept_plan *plan, adept_step *step, const adept_profile *prof,
                            const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    static const adept_run default_run = {0};
    adept_prediction p = {0};
    adept_checked_run checked;
    if (!run) run = &default_run;
    adept_status status = adept_plan_init(plan, prof, hw, run, run->gpus > 1, NULL, err);
    if (status == ADEPT_OK) status = adept_plan_check_run(&checked, plan, run, err);
    if (status != ADEPT_OK) return status;
    adept_plan_step(step, plan, &checked);
    status = adept_prediction_fill(&p, plan, step, &checked, prof, run, err);
    if (status != ADEPT_OK) return status;
    adept_step fused;
    if (adept_plan_fused_step(&fused, plan, &checked)) {
        p.fused_step_time_s = fused.step_s;
        p.fused_power_w = adept_plan_power_w(&checked, checked.row[ADEPT_ROW_GPUS] * fused.power_w);
    }
    p.range = adept_plan_range_point(plan, run);
    adept_plan_interval(&p.estimate, plan, run);
    const adept_intervals *in = plan->hw->intervals;
    if (in && in->beyond > 0.0 && !isnan(p.interval_level))
        warn(&p,
             "the shared set hardly knows the generation %.40s: the interval has the %.0f %% that it was off a board "
             "when it knew none of its generation",
             plan->hw->architecture, 100.0 * -expm1(-in->beyond));
    if (p.notes & ADEPT_NOTE_OUTSIDE) {
        char what[256];
        adept_intervals_describe(what, sizeof what, plan->hw->intervals, &p.range, &plan->described);
        warn(&p, "outside what %.40s was calibrated with (%s): %serrors may be larger", plan->hw->name, what,
             isnan(p.interval_level) ? "" : "the interval is widened, ");
    }
    *out = p;
    return ADEPT_OK;
}

adept_status adept_predict(adept_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                           const adept_run *run, adept_error *err)
{
    adept_plan plan;
    adept_step step;
    const adept_mesh_words words = run ? adept_run_mesh(run) : (adept_mesh_words){0};
    if (adept_mesh_is_said(&words)) return adept_predict_of_layout(out, prof, hw, run, err);
    adept_status status = predict(out, &plan, &step, prof, hw, run, err);
    adept_plan_clear(&plan);
    return status;
}

adept_status adept_predict_with(double *time_s, double *power_w, const adept_profile *prof, const adept_hwprofile *hw,
                                const adept_run *run, const double *theta, adept_error *err)
{
    adept_plan plan;
    adept_estimate result;
    adept_status status = adept_plan_init(&plan, prof, hw, run, run && run->gpus > 1, theta, err);
    if (status == ADEPT_OK) status = adept_plan_predict(&result, &plan, run, err);
    adept_plan_clear(&plan);
    if (status != ADEPT_OK) return status;
    *time_s = result.step_time_s;
    *power_w = result.power_avg_w;
    return ADEPT_OK;
}

/* ---- operators ---- */

static double kernel_compute_s(const adept_plan *plan, adept_unit unit, adept_dtype dtype, double flops,
                               const adept_cover *cover)
{
    const adept_plan_phases *known = &plan->phases;
    const adept_model_parameters *p = &known->theta.p;
    const double slopes[] = {known->slope_gemm, known->slope_conv, known->slope_alu};
    const double lowp[] = {p->c_gemm_lowp, p->c_conv_lowp, p->c_alu_lowp};
    static const adept_term terms[] = {ADEPT_TERM_GEMM, ADEPT_TERM_CONV, ADEPT_TERM_ALU};
    if (!(flops > 0.0)) return 0.0;
    bool is_lowp = adept_work_column_of(unit, dtype) != adept_work_column_of(unit, ADEPT_F32);
    return flops / plan->placed.peaks.flops_per_s[unit][dtype] * slopes[unit] * (is_lowp ? lowp[unit] : 1.0) *
           adept_scalar_product(plan->hw->scalars, cover->term[terms[unit]]);
}

/* Time of one operator if its compute and its traffic overlapped only with each other, per pass. */
static double op_alone_s(const adept_profile_op *op, const adept_profile *prof, const adept_plan *plan,
                         double clock_ratio, adept_bound *bound)
{
    const adept_hwprofile *hw = plan->hw;
    adept_cover cover = adept_scalar_cover(hw->scalars, hw->n_scalars, prof, op);
    double compute_s = 0.0, bytes = 0.0;
    for (size_t i = 0; i < op->n_kernels; i++) {
        const adept_kernel *k = &op->kernels[i];
        compute_s += kernel_compute_s(plan, k->unit, k->dtype, k->flops, &cover) +
                     kernel_compute_s(plan, ADEPT_UNIT_ALU, k->dtype, k->flops_alu, &cover);
        bytes += k->bytes_read + k->bytes_written;
    }
    compute_s /= clock_ratio;
    double memory_s = bytes / hw->specs.mem_bytes_per_s * plan->phases.slope_mem *
                      adept_scalar_product(hw->scalars, cover.term[ADEPT_TERM_MEM]);
    *bound = compute_s > memory_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    return fmax(compute_s, memory_s) * (double)op->count;
}

/* One operator's own kernels, forward and backward, of all accumulation passes, at the step's clock; idle power by
 * time. */
adept_status adept_plan_op(adept_op_prediction *out, const adept_plan *plan, const adept_step *step,
                           const adept_profile *prof, const adept_profile_op *op, double gpus, adept_error *err)
{
    const adept_plan_kernels *known = &plan->kernels;
    const adept_board *board = &known->list.board;
    double time_s = 0.0, memory_s = 0.0, energy_j = 0.0;
    for (size_t i = 0; i < op->n_kernels; i++) {
        adept_timed_kernel t;
        adept_status status = adept_operator_kernel_time(&t, op, &op->kernels[i], prof->precision, plan->hw,
                                                         known->theta, known->menus, err);
        if (status != ADEPT_OK) return status;
        if (!(t.time_s > 0.0)) continue;
        const adept_clocked_kernel x = adept_timed_kernel_at(&t, board, step->clock_ratio);
        double executions = (double)prof->grad_accum * (double)op->count * t.repeats;
        time_s += executions * x.time_s;
        memory_s += executions * x.memory_s;
        energy_j += executions * x.energy_j;
    }
    out->time_s = time_s;
    out->bound = memory_s < 0.5 * time_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    out->energy_j = isnan(plan->hw->specs.tdp_w) ? NAN : gpus * (energy_j + board->static_w * time_s);
    return ADEPT_OK;
}

/* Each at its own clock, as often as it runs. */
static adept_status predict_legs(adept_op_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                                 const adept_run *run, adept_error *err)
{
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < prof->n_legs && status == ADEPT_OK; i++) {
        const adept_profile_leg *leg = &prof->legs[i];
        adept_op_prediction *ops = out + leg->first_op;
        status = adept_predict_ops(ops, leg->profile, hw, run, err);
        for (size_t k = 0; k < leg->profile->n_ops && status == ADEPT_OK; k++) {
            ops[k].time_s *= (double)leg->times;
            ops[k].energy_j *= (double)leg->times;
        }
    }
    return status;
}

adept_status adept_predict_ops(adept_op_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                               const adept_run *run, adept_error *err)
{
    adept_plan plan;
    adept_step step;
    adept_prediction whole;
    adept_status status = predict(&whole, &plan, &step, prof, hw, run, err);
    double gpus = run && run->gpus > 0 ? (double)run->gpus : 1.0;
    if (status == ADEPT_OK && prof->n_legs > 0)
        status = predict_legs(out, prof, hw, run, err);
    else if (status == ADEPT_OK && !plan.by_operator) {
        /* Eq 4.7 takes one maximum over the whole pass, so the operators' own maxima sum to more: they are scaled down.
         */
        double sum_s = 0.0;
        for (size_t i = 0; i < prof->n_ops; i++) {
            out[i].time_s = op_alone_s(&prof->ops[i], prof, &plan, step.clock_ratio, &out[i].bound);
            sum_s += out[i].time_s;
        }
        double scale = sum_s > 0.0 ? whole.pass_s / sum_s : 0.0;
        for (size_t i = 0; i < prof->n_ops; i++) {
            out[i].time_s *= scale;
            out[i].energy_j = out[i].time_s * whole.pass_w;
        }
    }
    for (size_t i = 0; i < prof->n_ops && status == ADEPT_OK && plan.by_operator && prof->n_legs == 0; i++)
        status = adept_plan_op(&out[i], &plan, &step, prof, &prof->ops[i], gpus, err);
    adept_plan_clear(&plan);
    return status;
}
