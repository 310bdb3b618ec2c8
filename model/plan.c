/** @file plan.c  Predictions of one workload on one GPU under many runs; see adept_plan.h. */
#include "adept_plan.h"
#include "bound.h"
#include "interval.h"
#include "memory.h"
#include "placed_step.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Granularity "model": the phases at full clock. */
typedef struct plan_phases {
    adept_model_parameters p;
    adept_full_clock full;   /* of one GPU with nothing set */
    double core_s, memory_s; /* of all passes */
    double gradient_bytes;
} plan_phases;

struct adept_plan {
    const adept_hwprofile *hw;
    adept_equations equations;
    bool by_operator;
    bool sends; /* there are gradients to sum */
    bool places_known;
    double samples;         /* of one GPU and step */
    adept_memory memory[2]; /* of one GPU, alone and among several */
    /* what an interval depends on besides the run */
    adept_profile described; /* mode, precision and batch size only */
    double flops, bytes;     /* of one GPU */
    plan_phases phases;
    adept_plan_kernels kernels;
};

/* ---- making ---- */

static void describe(adept_plan *plan, const adept_step *step, double gradient_bytes, const adept_profile *prof)
{
    double passes = (double)prof->grad_accum, flops = 0.0;
    const adept_optimizer_cost *optimizer = &step->work.optimizer;
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++)
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++)
            flops += step->work.flops[unit][dtype];
    plan->flops = flops * passes + optimizer->flops;
    plan->bytes = (step->work.bytes_read + step->work.bytes_written) * passes + optimizer->bytes_read +
                  optimizer->bytes_written + step->work.optimizer_gradients * gradient_bytes;
    plan->samples = (double)prof->batch_size * passes;
    plan->sends = adept_work_sends(&step->work);
    plan->places_known = adept_backward_plan_known(prof);
    plan->described = (adept_profile){.mode = prof->mode, .precision = prof->precision, .batch_size = prof->batch_size};
    for (int i = 0; i < 2; i++)
        plan->memory[i] = adept_memory_estimate(prof, optimizer->state_bytes, plan->hw->specs.mem_bytes, i + 1);
}

static adept_status compile_kernels(adept_plan *plan, const adept_placement *at, adept_error *err)
{
    adept_step step;
    adept_status status = adept_operator_check_saturation(at->run.saturation, err);
    if (status == ADEPT_OK) status = adept_step_compile(&step, NULL, at, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    describe(plan, &step, step.work.gradient_bytes, at->profile);
    status = adept_plan_kernels_new(&plan->kernels, &step, at, plan->places_known && plan->sends, NULL, err);
    if (status == ADEPT_OK) adept_clock_table_fill(&plan->kernels.clock);
    return status;
}

static void take_phases(adept_plan *plan, const adept_placed_step *s, const adept_profile *prof)
{
    plan_phases *out = &plan->phases;
    double passes = (double)prof->grad_accum;
    const adept_work *work = &s->step.work;
    out->p = s->theta.p;
    out->full = s->full;
    out->core_s = (s->scratch.gemm_s[0] + s->scratch.conv_s[0] + s->scratch.alu_s[0]) * passes;
    out->memory_s = s->scratch.memory_s[0] * passes;
    out->gradient_bytes = s->scratch.gradient_bytes[0];
    describe(plan, &s->step, adept_eq_gradient_bytes(work->gradient_bytes, work->autocast, out->p.grad_bytes_lowp),
             prof);
}

static adept_status compile_phases(adept_plan *plan, const adept_placement *at, adept_error *err)
{
    adept_placed_step *s = aligned_alloc(_Alignof(adept_placed_step), sizeof *s);
    if (!s) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a plan");
    adept_status status = adept_placed_step_init(s, at->profile, at->hw, &at->run, err);
    if (status == ADEPT_OK) take_phases(plan, s, at->profile);
    adept_placed_step_free(s);
    free(s);
    return status;
}

adept_status adept_plan_new(adept_plan **out, const adept_profile *prof, const adept_hwprofile *hw,
                            const adept_run *how, adept_error *err)
{
    adept_plan_result at_default;
    const adept_placement at = {
        prof,
        hw,
        {.equations = how ? how->equations : ADEPT_EQUATIONS_OF_FIT, .saturation = how ? how->saturation : NULL}};
    adept_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a plan");
    plan->hw = hw;
    plan->equations = at.run.equations;
    plan->by_operator = adept_granularity_of(hw, &at.run) == ADEPT_GRANULARITY_OPERATOR;
    adept_status status = plan->by_operator ? compile_kernels(plan, &at, err) : compile_phases(plan, &at, err);
    if (status == ADEPT_OK) status = adept_plan_predict(&at_default, plan, NULL, err);
    if (status == ADEPT_OK)
        *out = plan;
    else
        adept_plan_free(plan);
    return status;
}

void adept_plan_free(adept_plan *plan)
{
    if (!plan) return;
    adept_plan_kernels_free(&plan->kernels);
    free(plan);
}

/* ---- families ---- */

struct adept_plan_family {
    const adept_profile *profile;
    adept_work work;
    adept_kernel_set set;
    adept_kernel_cache cache;
    const adept_tile_menu *menus; /* that the cache is of */
    adept_plan plan; /* the last one, by granularity "operator" */
    adept_plan *other; /* or by granularity "model"; owned */
    /* parameters are looked up again where something changed that they depend on */
    bool has_theta;
    adept_hwprofile of;
    adept_parameter parameters[ADEPT_OPERATOR_PARAMETERS];
    double theta[ADEPT_OPERATOR_PARAMETERS];
};

adept_status adept_plan_family_new(adept_plan_family **out, const adept_profile *prof, bool several, adept_error *err)
{
    adept_plan_family *f = calloc(1, sizeof *f);
    if (!f) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for plans");
    f->profile = prof;
    adept_status status = adept_step_check_profile(&f->work, prof, err);
    bool ordered = several && status == ADEPT_OK && adept_backward_plan_known(prof) && adept_work_sends(&f->work);
    if (status == ADEPT_OK) status = adept_kernel_set_new(&f->set, prof, ordered, err);
    if (status == ADEPT_OK) status = adept_kernel_cache_new(&f->cache, &f->set, err);
    if (status == ADEPT_OK)
        *out = f;
    else
        adept_plan_family_free(f);
    return status;
}

void adept_plan_family_free(adept_plan_family *f)
{
    if (!f) return;
    adept_kernel_cache_free(&f->cache);
    adept_kernel_set_free(&f->set);
    adept_plan_kernels_free(&f->plan.kernels);
    adept_plan_free(f->other);
    free(f);
}

/* What parameters of granularity "operator" do not depend on: bandwidth, caches, SMs, matrix units. */
static adept_specs without_kernels(const adept_specs *specs)
{
    adept_specs out = *specs;
    out.mem_bytes_per_s = out.mem_bytes = out.l2_bytes = out.sm_count = 0.0;
    out.tensor_fp32_flops_per_s = out.tensor_tf32_flops_per_s = out.tensor_bf16_flops_per_s = 0.0;
    out.tensor_fp16_flops_per_s = out.tensor_fp8_flops_per_s = out.tensor_fp64_flops_per_s = 0.0;
    return out;
}

static bool same_parameters(const adept_plan_family *f, const adept_hwprofile *hw)
{
    const adept_specs specs = without_kernels(&hw->specs);
    return f->has_theta && f->of.calibrated == hw->calibrated && f->of.transferred == hw->transferred &&
           f->of.granularity == hw->granularity && f->of.n_parameters == hw->n_parameters &&
           memcmp(&f->of.specs, &specs, sizeof specs) == 0 &&
           (hw->n_parameters == 0 ||
            memcmp(f->parameters, hw->parameters, hw->n_parameters * sizeof *hw->parameters) == 0);
}

static adept_status find_theta(adept_plan_family *f, const adept_hwprofile *hw, adept_error *err)
{
    if (same_parameters(f, hw) && f->menus == hw->tiles) return ADEPT_OK;
    f->has_theta = false;
    f->menus = hw->tiles;
    adept_kernel_cache_forget(&f->cache);
    adept_status status = adept_plan_kernels_theta(f->theta, hw, err);
    if (status != ADEPT_OK || hw->n_parameters > ADEPT_OPERATOR_PARAMETERS) return status;
    f->of = *hw;
    f->of.specs = without_kernels(&hw->specs);
    if (hw->n_parameters > 0) memcpy(f->parameters, hw->parameters, hw->n_parameters * sizeof *hw->parameters);
    f->has_theta = true;
    return ADEPT_OK;
}

static adept_status place_family(adept_plan_family *f, const adept_placement *at, bool many, adept_error *err)
{
    adept_step step = {.work = f->work};
    adept_plan *plan = &f->plan;
    adept_plan_kernels_free(&plan->kernels);
    *plan = (adept_plan){.hw = at->hw, .equations = at->run.equations, .by_operator = true};
    adept_status status = adept_operator_check_saturation(at->run.saturation, err);
    if (status == ADEPT_OK) status = adept_step_compile_known(&step, at, err);
    if (status == ADEPT_OK) status = find_theta(f, at->hw, err);
    if (status != ADEPT_OK) return status;
    describe(plan, &step, step.work.gradient_bytes, at->profile);
    status = adept_plan_kernels_place(&plan->kernels, &f->set, &f->cache, &step, at, f->theta, err);
    if (status == ADEPT_OK && many) adept_clock_table_fill(&plan->kernels.clock);
    return status;
}

adept_status adept_plan_family_at(const adept_plan **out, adept_plan_family *f, const adept_hwprofile *hw,
                                  const adept_run *how, bool many, adept_error *err)
{
    const adept_placement at = {
        f->profile,
        hw,
        {.equations = how ? how->equations : ADEPT_EQUATIONS_OF_FIT, .saturation = how ? how->saturation : NULL}};
    adept_status status;
    adept_plan_free(f->other);
    f->other = NULL;
    if (adept_granularity_of(hw, &at.run) == ADEPT_GRANULARITY_OPERATOR) {
        status = place_family(f, &at, many, err);
        *out = &f->plan;
    } else {
        status = adept_plan_new(&f->other, f->profile, hw, &at.run, err);
        *out = f->other;
    }
    return status;
}

/* ---- predicting ---- */

static void predict_kernels(adept_plan_result *out, const adept_plan *plan, const double *row, const adept_network *net,
                            double bucket_bytes)
{
    adept_plan_step s;
    adept_plan_kernels_run(&s, &plan->kernels, row, net, bucket_bytes);
    const adept_operator_state *state = &s.state;
    out->step_time_s = state->step_s;
    out->power_avg_w = isnan(row[ADEPT_ROW_TDP_W]) ? NAN : row[ADEPT_ROW_GPUS] * state->power_w;
    out->pass_s = s.part_s[ADEPT_PART_FORWARD] + s.part_s[ADEPT_PART_BACKWARD];
    out->optimizer_s = s.part_s[ADEPT_PART_OPTIMIZER];
    out->comm_s = state->comm_s;
    out->comm_hidden_s = state->comm_hidden_s;
    out->kernel_launch_s = state->launch_s + state->wait_s;
    out->fixed_s = plan->kernels.theta[ADEPT_OP_t_fixed_s];
    out->clock_ratio = s.clock.ratio;
    out->limited = s.clock.limited || s.clock.floored;
    out->floored = s.clock.floored;
    const adept_bound_terms terms = {
        .core_s = s.core_s,
        .memory_s = s.memory_s,
        .pass_s = out->pass_s,
        .optimizer_s = out->optimizer_s,
        .launch_s = out->kernel_launch_s + out->fixed_s,
        .comm_s = out->comm_s,
        .hidden_pass_s = state->hidden_s[ADEPT_PART_FORWARD] + state->hidden_s[ADEPT_PART_BACKWARD],
        .hidden_optimizer_s = state->hidden_s[ADEPT_PART_OPTIMIZER],
    };
    out->bound = adept_bound_of(&terms);
}

static void predict_phases(adept_plan_result *out, const adept_plan *plan, const double *row, const adept_network *net)
{
    const plan_phases *known = &plan->phases;
    adept_phases phases;
    out->comm_hidden_s = adept_phases_run(&phases, &known->full, &known->p, known->gradient_bytes, row, net);
    out->step_time_s = adept_eq_step_s(&phases.time);
    out->power_avg_w =
        isnan(row[ADEPT_ROW_TDP_W]) ? NAN : row[ADEPT_ROW_GPUS] * adept_eq_mean_power_w(&phases.time, &phases.power);
    out->pass_s = phases.time.pass_s;
    out->optimizer_s = phases.time.optimizer_s;
    out->comm_s = phases.time.comm_s;
    out->kernel_launch_s = phases.time.launch_s;
    out->fixed_s = phases.time.fixed_s;
    out->clock_ratio = phases.state[ADEPT_PHASE_PASS].clock_ratio;
    out->limited = out->floored = false;
    for (int i = 0; i < ADEPT_PHASES; i++) {
        out->limited = out->limited || (phases.state[i].limited && phases.state[i].time_s > 0.0);
        out->floored = out->floored || phases.state[i].floored;
    }
    const adept_bound_terms terms = {
        .core_s = known->core_s / out->clock_ratio,
        .memory_s = known->memory_s,
        .pass_s = out->pass_s,
        .optimizer_s = out->optimizer_s,
        .launch_s = out->kernel_launch_s + out->fixed_s,
        .comm_s = out->comm_s,
        .optimizer_computes = known->full.opt_compute_s > known->full.opt_memory_s,
    };
    out->bound = adept_bound_of(&terms);
}

adept_status adept_plan_predict(adept_plan_result *result, const adept_plan *plan, const adept_run *asked,
                                adept_error *err)
{
    adept_plan_result out;
    adept_network net;
    adept_run run = asked ? *asked : (adept_run){0};
    double row[ADEPT_ROW_COLUMNS];
    bool in_buckets;
    run.equations = plan->equations;
    adept_status status = adept_step_compile_run(row, &net, plan->hw, &run, plan->sends, err);
    if (status == ADEPT_OK) status = adept_backward_wanted(&in_buckets, plan->places_known, plan->hw, &run, &net, err);
    if (status != ADEPT_OK) return status;
    double bucket_bytes = run.bucket_bytes > 0.0 ? run.bucket_bytes : ADEPT_BUCKET_BYTES, gpus = row[ADEPT_ROW_GPUS];
    if (plan->by_operator)
        predict_kernels(&out, plan, row, &net, in_buckets ? bucket_bytes : 0.0);
    else
        predict_phases(&out, plan, row, &net);
    out.energy_step_j = out.power_avg_w * out.step_time_s;
    out.edp_js = out.energy_step_j * out.step_time_s;
    bool knows_power = !isnan(plan->hw->specs.tdp_w);
    if (!(out.step_time_s > 0.0) ||
        !isfinite(out.step_time_s * out.step_time_s * (knows_power ? out.power_avg_w : 1.0)))
        return adept_error_set(err, ADEPT_E_INVALID,
                               "profile: its work takes %g s on %s: nothing to run, or a count out of range",
                               out.step_time_s, plan->hw->name);
    out.samples_per_s = plan->samples * gpus / out.step_time_s;
    out.energy_per_sample_j = out.energy_step_j / (plan->samples * gpus);
    out.clock_hz = out.clock_ratio * plan->hw->specs.clock_boost_hz;
    const adept_memory *memory = &plan->memory[gpus > 1.0];
    out.peak_bytes = memory->peak_bytes;
    out.capacity_bytes = memory->capacity_bytes;
    out.fits = memory->fits;
    *result = out;
    return ADEPT_OK;
}

void adept_plan_interval_of(adept_plan_interval *out, const adept_plan *plan, const adept_run *asked,
                            const adept_plan_result *result)
{
    adept_run run = asked ? *asked : (adept_run){0};
    adept_prediction p;
    run.equations = plan->equations;
    p.step_time_s = result->step_time_s;
    p.power_avg_w = result->power_avg_w;
    p.total_flops = plan->flops * (run.gpus > 0 ? (double)run.gpus : 1.0);
    p.bytes_read = plan->bytes;
    p.bytes_written = 0.0;
    adept_range_point point = adept_prediction_range_point(&p, &plan->described, plan->hw, &run);
    bool known = adept_calibrated_for(plan->hw, &run) || adept_transferred_for(plan->hw, &run);
    const adept_intervals *intervals = known ? plan->hw->intervals : NULL;
    out->outside = adept_intervals_fill(&p, intervals, &point, &plan->described) > 0.0;
    out->level = p.interval_level;
    for (int i = 0; i < 2; i++) {
        out->time_s[i] = p.interval_time_s[i];
        out->power_w[i] = p.interval_power_w[i];
    }
}
