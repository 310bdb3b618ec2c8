/** @file plan.c  Predictions of one workload on one GPU under many runs; see adept_plan.h. */
#include "plan.h"
#include "hosts.h"
#include "kernel_cache.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- both granularities ---- */

/* CUDA context, cuBLAS and cuDNN handles and their workspaces: a few hundred MiB on every current GPU, more with many
 * loaded kernels. A round allowance, not a measurement. */
#define CONTEXT_BYTES (600.0 * 1024 * 1024)
/* The caching allocator rounds and splits blocks. Likewise an allowance. */
#define FRAGMENTATION_SHARE 0.04

/* PyTorch 2 sets gradients to None before a step: they come while backward lets go of activations, in their place.
 * Those of several passes are summed, and stay. torchtune's README has a Llama-3.2-3B in bf16 (25.7 GB with all
 * gradients) at 26.7 GB with recomputed blocks, and at 24.8 where each gradient goes at once. */
double adept_reused_bytes(const adept_profile *prof, const adept_memory *m, double temporary_bytes)
{
    if (prof->grad_accum > 1 || prof->framework != ADEPT_TORCH2) return 0.0;
    return fmin(m->gradients_bytes, m->activations_bytes + temporary_bytes);
}

/* Device memory that one GPU needs: an estimate for PyTorch with DistributedDataParallel when gpus > 1; the allowances
 * are in docs/MODEL.md. */
static adept_memory memory_of(const adept_profile *prof, double optimizer_state_bytes, double capacity_bytes,
                              int gpus)
{
    bool trains = adept_mode_trains(prof->mode);
    adept_memory m = {
        .weights_bytes = prof->weights_bytes,
        .gradients_bytes = trains ? prof->trainable_bytes : 0.0,
        .optimizer_bytes = optimizer_state_bytes,
        .activations_bytes = prof->activations_bytes,
        .capacity_bytes = capacity_bytes,
        .kv_bytes = adept_kept_bytes(prof->kept, prof->n_kept, (double)prof->prompt + (double)prof->tokens),
    };
    m.reused_bytes = adept_reused_bytes(prof, &m, prof->temporary_bytes);
    double tensors = m.weights_bytes + m.gradients_bytes + m.optimizer_bytes + m.activations_bytes +
                     prof->autocast_copy_bytes + prof->temporary_bytes + m.kv_bytes - m.reused_bytes;
    /* DistributedDataParallel keeps its buckets beside the gradients unless gradient_as_bucket_view is set. */
    double buckets = gpus > 1 ? m.gradients_bytes : 0.0;
    m.other_bytes = prof->autocast_copy_bytes + prof->temporary_bytes + buckets + CONTEXT_BYTES +
                    FRAGMENTATION_SHARE * (tensors + buckets);
    m.peak_bytes = m.weights_bytes + m.gradients_bytes + m.optimizer_bytes + m.activations_bytes + m.kv_bytes +
                   m.other_bytes - m.reused_bytes;
    m.fits = m.peak_bytes <= capacity_bytes;
    return m;
}

/* @param gradient_bytes  of one element, as the granularity counts it */
static void describe(adept_plan *plan, const adept_profile *prof, double gradient_bytes)
{
    double passes = (double)prof->grad_accum, flops = 0.0;
    const adept_work *work = &plan->placed.work;
    const adept_optimizer_cost *optimizer = &work->optimizer;
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++)
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++)
            flops += work->flops[unit][dtype];
    plan->flops = flops * passes + optimizer->flops + optimizer->product_flops;
    plan->bytes_read =
        work->bytes_read * passes + optimizer->bytes_read + work->optimizer_gradients * gradient_bytes;
    plan->bytes_written = work->bytes_written * passes + optimizer->bytes_written;
    plan->launches = (work->kernels[ADEPT_FORWARD] + work->kernels[ADEPT_BACKWARD]) * passes + optimizer->kernels;
    plan->samples = (double)prof->batch_size * passes;
    plan->sends = adept_work_sends(work);
    plan->described = (adept_profile){.mode = prof->mode,
                                      .precision = prof->precision,
                                      .execution = prof->execution,
                                      .batch_size = prof->batch_size};
    for (int i = 0; i < 2; i++)
        plan->memory[i] = memory_of(prof, optimizer->state_bytes, plan->hw->specs.mem_bytes, i + 1);
}

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
    adept_status status = adept_saturation_of(&out->saturation, run->saturation, hw, err);
    if (status == ADEPT_OK) status = adept_model_parameters_get(&out->p, hw, err);
    if (status == ADEPT_OK && theta) memcpy(&out->p, theta, sizeof out->p);
    return status == ADEPT_OK ? adept_check_static_w(out->p.p_static_w, hw, err) : status;
}

/* The profile if its optimizer is the fused one. */
static adept_profile fused_profile(const adept_profile *prof)
{
    adept_profile fused = *prof;
    fused.optimizer_impl = ADEPT_IMPL_FUSED;
    return fused;
}

/* The fit's targeted scalars are constants here: they are multiplied into the work. */
static adept_status find_phases(adept_plan_phases *out, adept_placed *placed, const adept_placement *at,
                                const double *theta, adept_error *err)
{
    const adept_hwprofile *hw = at->hw;
    const double passes = (double)at->profile->grad_accum;
    adept_row_block block;
    adept_block_steps steps;
    adept_status status = check_fit(hw, err);
    if (status == ADEPT_OK) status = adept_place(placed, NULL, at, hw->scalars, hw->n_scalars, err);
    if (status == ADEPT_OK) status = set_theta(&out->theta, hw, &at->run, theta, err);
    if (status != ADEPT_OK) return status;
    block.n = block.n_pieces = 0;
    adept_row_block_add(&block, &placed->numbers);
    adept_block_step(&steps, &block, &out->theta);
    adept_phases_of(&out->full, &steps, 0, &out->theta.p);
    out->gemm_s = steps.gemm_s[0] * passes;
    out->conv_s = steps.conv_s[0] * passes;
    out->alu_s = steps.alu_s[0] * passes;
    out->memory_s = steps.memory_s[0] * passes;
    out->slope_gemm = steps.slope_gemm[0];
    out->slope_conv = steps.slope_conv[0];
    out->slope_alu = steps.slope_alu[0];
    out->slope_mem = steps.slope_mem[0];
    out->gradient_bytes = steps.gradient_bytes[0];
    return ADEPT_OK;
}

static adept_status place_phases(adept_plan *plan, const adept_placement *at, const double *theta, adept_error *err)
{
    adept_placed placed;
    adept_status status = find_phases(&plan->phases, &plan->placed, at, theta, err);
    if (status != ADEPT_OK) return status;
    const adept_work *work = &plan->placed.work;
    double least_bytes = work->autocast ? plan->phases.theta.p.grad_bytes_lowp : work->gradient_bytes;
    describe(plan, at->profile, fmin(work->gradient_bytes, least_bytes));
    plan->has_fused = at->profile->could_be_fused;
    if (!plan->has_fused) return ADEPT_OK;
    const adept_profile fused = fused_profile(at->profile);
    const adept_placement if_fused = {&fused, at->hw, at->run};
    return find_phases(&plan->fused_phases, &placed, &if_fused, theta, err);
}

/* A row has one law of the all-reduce, a run the fastest of several. */
static void step_of_phases(adept_step *out, const adept_plan_phases *known, const adept_checked_run *run)
{
    const adept_model_parameters *p = &known->theta.p;
    const double *row = run->row;
    adept_phases at = known->full;
    adept_phase *pass = &at.phase[ADEPT_PHASE_PASS], *optimizer = &at.phase[ADEPT_PHASE_OPTIMIZER],
                *comm = &at.phase[ADEPT_PHASE_COMM];
    double all_comm_s =
        adept_network_allreduce_s(&run->network, known->gradient_bytes, p->l_hop_s, p->bw_eff_bytes_per_s);
    comm->memory_s = all_comm_s * (run->network.flat ? 1.0 : 1.0 - p->overlap);
    adept_phases_limit(&at, row[ADEPT_ROW_TDP_W], row[ADEPT_ROW_LIMIT_W], row[ADEPT_ROW_MIN_CLOCK],
                       row[ADEPT_ROW_MAX_CLOCK], p);
    double core = 1.0 / pass->clock_ratio;
    *out = (adept_step){
        .step_s = at.step_s,
        .pass_s = pass->time_s,
        .optimizer_s = optimizer->time_s,
        .comm_s = comm->time_s,
        .launch_s = at.launch_s,
        .fixed_s = p->t_fixed_s,
        .comm_hidden_s = all_comm_s - comm->memory_s,
        .gemm_s = known->gemm_s * core, /* compute stretches with the clock, memory does not */
        .conv_s = known->conv_s * core,
        .alu_s = known->alu_s * core,
        .memory_s = known->memory_s,
        .optimizer_computes = optimizer->compute_s > optimizer->memory_s,
        .power_w = at.power_w,
        .pass_w = pass->power_w,
        .optimizer_w = optimizer->power_w,
        .comm_w = comm->power_w,
        .idle_w = p->p_static_w,
        .clock_ratio = pass->clock_ratio,
    };
    for (int i = 0; i < ADEPT_PHASES; i++) {
        out->limited = out->limited || (at.phase[i].limited && at.phase[i].time_s > 0.0);
        out->floored = out->floored || at.phase[i].floored;
    }
}

/* ---- granularity "operator" ---- */

/* @param given  NULL: the GPU's */
static adept_status operator_theta(double *theta, const double *given, const adept_hwprofile *hw, adept_error *err)
{
    adept_status status = given ? ADEPT_OK : adept_operator_parameters_get(theta, hw, err);
    if (given) memcpy(theta, given, ADEPT_OPERATOR_PARAMETERS * sizeof *theta);
    return status == ADEPT_OK ? adept_check_static_w(theta[ADEPT_OP_p_static_w], hw, err) : status;
}

/* Times of all kernels at full clock but the optimizer's. @param cache  has `timed`, by GPUs before with these
 * parameters; NULL: none */
static adept_status time_kernels(adept_timed_kernel *timed, const adept_plan_kernels *k, const adept_kernel_set *set,
                                 adept_kernel_cache *cache, const adept_placement *at, adept_error *err)
{
    if (cache) adept_kernel_cache_at(cache, &at->hw->specs);
    for (size_t i = 0; i < set->n; i++) {
        adept_operator_kernel placed;
        const adept_kernel_case *c = &set->cases[i];
        const bool streams = c->unit == ADEPT_UNIT_ALU && c->family >= ADEPT_PRODUCT_FAMILIES;
        if (cache && (streams ? cache->same_streams : cache->same_products)) continue;
        adept_status status = adept_operator_place(&placed, c, at->profile->precision, at->hw, err);
        if (status != ADEPT_OK) return status;
        adept_operator_time_of(&timed[i], NULL, &placed, k->theta, k->menus, cache ? &cache->kernels[2 * i] : NULL);
    }
    if (cache) cache->is_timed = true;
    return ADEPT_OK;
}

/* A list of all kernels but the optimizer's. @param like  NULL, or: one of the same */
static adept_status begin_list(adept_plan_kernels *k, const adept_kernel_list *like, const adept_timed_kernel *timed,
                               const adept_kernel_set *set, adept_error *err)
{
    const adept_board board = adept_board_of(k->theta, k->numbers.tdp_w, k->numbers.min_clock, k->numbers.averages);
    const size_t columns_size = ADEPT_LIST_NUMBERS(set->n + 1) * sizeof(double);
    k->cells = malloc(sizeof(adept_clock_cells) + columns_size);
    if (!k->cells) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", set->n);
    double *columns = (double *)(void *)((char *)k->cells + sizeof(adept_clock_cells));
    adept_kernel_list_init(&k->list, &board, columns, set->n + 1, k->cells);
    for (size_t i = 0; i < set->n && !like; i++)
        adept_kernel_list_add(&k->list, &timed[i], &set->executions[i]);
    if (!like) return ADEPT_OK;
    k->list = *like;
    k->list.cells = k->cells;
    k->list.columns = memcpy(columns, like->columns, columns_size);
    return ADEPT_OK;
}

static void end_list(adept_plan_kernels *k)
{
    adept_timed_kernel optimizer;
    adept_operator_optimizer_time(&optimizer, NULL, &k->numbers, k->theta);
    adept_kernel_list_add(&k->list, &optimizer, &adept_optimizer_execution);
    adept_kernel_list_close(&k->list);
}

/* Of a plan whose work and parameters are known. */
static adept_status list_kernels(adept_plan *plan, const adept_placement *at, const adept_kernel_set *set,
                                 adept_kernel_cache *cache, adept_error *err)
{
    adept_plan_kernels *k = &plan->kernels;
    adept_timed_kernel *timed = cache ? cache->timed : malloc((set->n + 1) * sizeof *timed);
    plan->left_out_s = 0.0;
    k->menus = at->hw->tiles ? at->hw->tiles : adept_tile_menu_default;
    k->numbers = adept_operator_numbers_of(&plan->placed, at->hw);
    adept_status status = timed ? time_kernels(timed, k, set, cache, at, err)
                                : adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", set->n);
    if (status == ADEPT_OK && set->has_uses) status = adept_buckets_new(&k->buckets, at->profile, set, timed, err);
    if (status == ADEPT_OK && set->has_uses)
        status = adept_buckets_cut(&k->usual, &k->buckets, ADEPT_BUCKET_BYTES, err);
    if (status == ADEPT_OK) status = begin_list(k, NULL, timed, set, err);
    plan->has_fused = at->profile->could_be_fused;
    if (status == ADEPT_OK && plan->has_fused) {
        /* The same kernels but for the optimizer's. */
        adept_plan_kernels *other = &plan->fused_kernels;
        adept_placed placed = plan->placed;
        const adept_profile fused = fused_profile(at->profile);
        memcpy(other->theta, plan->kernels.theta, sizeof other->theta);
        other->menus = plan->kernels.menus;
        status = adept_work_sum_optimizer(&placed.work, &fused, err);
        other->numbers = adept_operator_numbers_of(&placed, at->hw);
        if (status == ADEPT_OK) status = begin_list(other, &plan->kernels.list, NULL, set, err);
        if (status == ADEPT_OK) end_list(other);
    }
    if (status == ADEPT_OK) {
        const size_t same = k->list.n;
        end_list(k);
        if (plan->has_fused) adept_kernel_list_join(&k->list, &plan->fused_kernels.list, same);
        for (size_t i = 0; i < set->n; i++) {
            const adept_kernel_case *c = &set->cases[i];
            double left_out = c->counted_matrix_flops / c->repeats * (1.0 - timed[i].executed);
            if (left_out != 0.0)
                plan->left_out_s += adept_executions_all(&set->executions[i]) * left_out /
                                    plan->placed.peaks.flops_per_s[c->unit][c->dtype];
        }
        describe(plan, at->profile, plan->placed.work.gradient_bytes);
    }
    if (!cache) free(timed);
    return status;
}

/* @param work, set  of the profile */
static adept_status place_kernels(adept_plan *plan, const adept_placement *at, const adept_work *work,
                                  const adept_kernel_set *set, adept_kernel_cache *cache, const double *theta,
                                  adept_error *err)
{
    plan->placed.work = *work;
    memcpy(plan->kernels.theta, theta, sizeof plan->kernels.theta);
    adept_operator_take_framework(plan->kernels.theta, at->profile->framework);
    plan->kernels.theta[ADEPT_OP_t_host_s] =
        adept_host_launch_s(theta[ADEPT_OP_t_host_s], at->hw, at->profile->framework);
    adept_status status = adept_operator_check_saturation(at->run.saturation, err);
    if (status == ADEPT_OK) status = adept_place_known(&plan->placed, at, err);
    return status == ADEPT_OK ? list_kernels(plan, at, set, cache, err) : status;
}

/* What does not depend on the GPU. @param several  will runs have several GPUs? */
static adept_status find_kernels(adept_work *work, adept_kernel_set *set, const adept_profile *prof, bool several,
                                 adept_error *err)
{
    adept_status status = adept_place_check_profile(work, prof, err);
    bool uses = several && status == ADEPT_OK && adept_gradients_known(prof) && adept_work_sends(work);
    return status == ADEPT_OK ? adept_kernel_set_new(set, prof, uses, err) : status;
}

static adept_status place_alone(adept_plan *plan, const adept_placement *at, bool several, const double *given,
                                adept_error *err)
{
    adept_work work;
    adept_kernel_set set = {0};
    double theta[ADEPT_OPERATOR_PARAMETERS];
    adept_status status = find_kernels(&work, &set, at->profile, several, err);
    if (status == ADEPT_OK) status = operator_theta(theta, given, at->hw, err);
    if (status == ADEPT_OK) status = place_kernels(plan, at, &work, &set, NULL, theta, err);
    adept_kernel_set_free(&set);
    return status;
}

/* ---- runs ---- */

static adept_status check_run(adept_checked_run *out, const adept_plan *plan, const adept_run *run, adept_error *err)
{
    adept_status status = adept_place_run(out->row, &out->network, plan->hw, run, plan->sends, err);
    if (status == ADEPT_OK)
        status = adept_buckets_bytes(&out->bucket_bytes, plan->places_known, plan->hw, run, &out->network, err);
    out->plain = false;
    if (status != ADEPT_OK) return status;
    /* Whose power is asked for must be known. */
    const double *theta = plan->kernels.theta;
    const adept_model_parameters *p = &plan->phases.theta.p;
    out->of_node = run->power_scope == ADEPT_SCOPE_NODE;
    out->watts = plan->by_operator ? (adept_node_watts){theta[ADEPT_OP_p_static_w], theta[ADEPT_OP_p_host_idle_w],
                                                        theta[ADEPT_OP_p_host_active_w]}
                                   : (adept_node_watts){p->p_static_w, p->p_host_idle_w, p->p_host_active_w};
    status = adept_node_law_of(&out->node, run, err);
    const char *missing = status == ADEPT_OK ? adept_node_missing(&out->node, &out->watts) : NULL;
    if (!missing || !out->of_node) return status;
    return adept_error_set(
        err, ADEPT_E_USAGE,
        "power_scope node: %s is not known, with %g of a node's %g GPUs in use: say it, or a node or host that does, "
        "or fit measurements of nodes",
        missing, out->node.used, out->node.gpus);
}

/* Most runs say little: what is checked of them is checked once. What one GPU may, several may. */
static void find_plain(adept_plan *plan, bool several)
{
    const adept_run one = {.gpus = 1, .granularity = plan->granularity},
                    two = {.gpus = 2, .granularity = plan->granularity};
    plan->alone.plain = check_run(&plan->alone, plan, &one, NULL) == ADEPT_OK;
    plan->knows_several = several && check_run(&plan->several, plan, &two, NULL) == ADEPT_OK;
}

static const adept_run no_run = {0};

/* Does a run say more than GPUs, limit and clock? By its members: what stands between them is nobody's. */
static bool says_more(const adept_run *run)
{
#define SAID(name, ...) +(memcmp(&run->name, &no_run.name, sizeof run->name) != 0)
    return 0 ADEPT_RUN_FIELDS(SAID) !=
           (run->gpus != 0) + (run->nodes != 0) + (run->power_limit_w != 0) + (run->clock_hz != 0);
}

adept_status adept_plan_check_run(adept_checked_run *out, const adept_plan *plan, const adept_run *asked,
                                  adept_error *err)
{
    const adept_run *run = asked ? asked : &no_run;
    const bool known = run->gpus > 1 ? plan->knows_several : plan->alone.plain;
    if (!known || run->gpus < 0 || run->nodes < 0 || run->nodes > 1 || says_more(run)) {
        adept_run own = *run;
        own.granularity = plan->granularity;
        return check_run(out, plan, &own, err);
    }
    memcpy(out, run->gpus > 1 ? &plan->several : &plan->alone, offsetof(adept_checked_run, network.laws));
    adept_status status = adept_place_limits(out->row, plan->hw, run, err);
    if (status != ADEPT_OK || run->gpus <= 1) return status;
    out->node.used = out->node.gpus = (double)run->gpus;
    return adept_place_network(out->row, &out->network, plan->hw, run, plan->sends, err);
}


/* ---- plans ---- */

static adept_placement placement_of(const adept_profile *prof, const adept_hwprofile *hw, const adept_run *how)
{
    return (adept_placement){prof,
                             hw,
                             {.granularity = how ? how->granularity : ADEPT_GRANULARITY_OF_FIT,
                              .saturation = how ? how->saturation : NULL}};
}

/* What holds of all runs. */
static uint32_t notes_of(const adept_hwprofile *hw, const adept_run *run, adept_precision precision)
{
    uint32_t notes = isnan(hw->specs.tdp_w) ? ADEPT_NOTE_NO_POWER : 0u;
    if (adept_calibrated_in(hw, run, precision)) return notes;
    return notes | (adept_transferred_for(hw, run) ? ADEPT_NOTE_TRANSFERRED : ADEPT_NOTE_UNCALIBRATED);
}

static void begin_plan(adept_plan *plan, const adept_placement *at)
{
    memset(plan, 0, sizeof *plan); /* in place: a sweep over GPUs makes one for each point */
    plan->hw = at->hw;
    plan->notes = notes_of(at->hw, &at->run, at->profile->precision);
    plan->granularity = at->run.granularity;
    plan->by_operator = adept_granularity_of(at->hw, &at->run) == ADEPT_GRANULARITY_OPERATOR;
    plan->places_known = adept_gradients_known(at->profile);
}

/* @param theta  NULL: the GPU's */
static adept_status add_legs(adept_plan *plan, const adept_profile *prof, const adept_hwprofile *hw,
                             const adept_run *how, bool several, const double *theta, adept_error *err)
{
    adept_status status = ADEPT_OK;
    plan->tokens = prof->mode == ADEPT_MODE_GENERATE ? (double)prof->tokens : 0.0;
    plan->n_kept = prof->n_kept;
    memcpy(plan->kept, prof->kept, sizeof plan->kept);
    plan->positions = (double)prof->prompt + plan->tokens + prof->positions_left;
    plan->passing_bytes = prof->activations_bytes + prof->temporary_bytes;
    plan->queries = plan->samples;
    plan->lost_share = FRAGMENTATION_SHARE;
    if (prof->n_legs == 0) return ADEPT_OK;
    plan->legs = calloc(prof->n_legs, sizeof *plan->legs);
    if (!plan->legs) return adept_no_memory(err, "a plan");
    for (; plan->n_legs < prof->n_legs && status == ADEPT_OK; plan->n_legs++) {
        const adept_profile_leg *of = &prof->legs[plan->n_legs];
        adept_plan_leg *leg = &plan->legs[plan->n_legs];
        leg->times = (double)of->times;
        leg->reads = of->reads;
        status = adept_plan_init(&leg->plan, of->profile, hw, how, several, theta, err);
    }
    return status;
}

adept_status adept_plan_init(adept_plan *plan, const adept_profile *prof, const adept_hwprofile *hw,
                             const adept_run *how, bool several, const double *theta, adept_error *err)
{
    const adept_placement at = placement_of(prof, hw, how);
    begin_plan(plan, &at);
    adept_status status =
        plan->by_operator ? place_alone(plan, &at, several, theta, err) : place_phases(plan, &at, theta, err);
    if (status == ADEPT_OK) find_plain(plan, several);
    return status == ADEPT_OK ? add_legs(plan, prof, hw, how, several, theta, err) : status;
}

void adept_plan_clear(adept_plan *plan)
{
    for (size_t i = 0; i < plan->n_legs; i++)
        adept_plan_clear(&plan->legs[i].plan);
    free(plan->legs);
    plan->legs = NULL;
    plan->n_legs = 0;
    adept_buckets_free(&plan->kernels.buckets);
    adept_buckets_free(&plan->kernels.usual);
    free(plan->kernels.cells);
    free(plan->fused_kernels.cells);
    plan->kernels.cells = plan->fused_kernels.cells = NULL;
}

adept_status adept_plan_new(adept_plan **out, const adept_profile *prof, const adept_hwprofile *hw,
                            const adept_run *how, adept_error *err)
{
    adept_estimate at_default;
    adept_plan *plan = malloc(sizeof *plan);
    if (!plan) return adept_no_memory(err, "a plan");
    adept_status status = adept_plan_init(plan, prof, hw, how, true, NULL, err);
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
    adept_plan_clear(plan);
    free(plan);
}

/* ---- families ---- */

struct adept_plan_family {
    const adept_profile *profile;
    bool several; /* will runs have several GPUs? */
    adept_work work;
    adept_kernel_set set;
    adept_kernel_cache cache;
    const adept_tile_menu *menus; /* that the cache is of */
    adept_plan plan;              /* the last one */
    /* parameters are looked up again where something changed that they depend on */
    bool has_theta;
    adept_hwprofile of;
    char vendor[16]; /* its own, for that of `of` may be gone; laws know shorter ones only */
    adept_parameter parameters[ADEPT_OPERATOR_PARAMETERS];
    double theta[ADEPT_OPERATOR_PARAMETERS];
};

adept_status adept_plan_family_new(adept_plan_family **out, const adept_profile *prof, bool several, adept_error *err)
{
    adept_plan_family *f = calloc(1, sizeof *f);
    if (!f) return adept_no_memory(err, "plans");
    f->profile = prof;
    f->several = several;
    adept_status status = find_kernels(&f->work, &f->set, prof, several, err);
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
    adept_plan_clear(&f->plan);
    free(f);
}

/* What parameters of granularity "operator" do not depend on: bandwidth, caches, matrix units but for the peak that
 * says how they accumulate. */
static adept_specs without_kernels(const adept_specs *specs)
{
    adept_specs out = *specs;
    out.mem_bytes_per_s = out.mem_bytes = out.l2_bytes = 0.0;
    out.tensor_fp32_flops_per_s = out.tensor_tf32_flops_per_s = out.tensor_bf16_flops_per_s = 0.0;
    out.tensor_fp8_flops_per_s = out.tensor_int8_flops_per_s = out.tensor_fp64_flops_per_s = 0.0;
    return out;
}

static bool same_parameters(const adept_plan_family *f, const adept_hwprofile *hw)
{
    const adept_specs specs = without_kernels(&hw->specs);
    return f->has_theta && f->of.calibrated == hw->calibrated && f->of.transferred == hw->transferred &&
           f->of.granularity == hw->granularity && f->of.other_vendor == hw->other_vendor &&
           strncmp(f->vendor, hw->vendor, sizeof f->vendor - 1) == 0 && f->of.n_parameters == hw->n_parameters &&
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
    adept_status status = operator_theta(f->theta, NULL, hw, err);
    if (status != ADEPT_OK || hw->n_parameters > ADEPT_OPERATOR_PARAMETERS) return status;
    f->of = *hw;
    snprintf(f->vendor, sizeof f->vendor, "%s", hw->vendor);
    f->of.specs = without_kernels(&hw->specs);
    if (hw->n_parameters > 0) memcpy(f->parameters, hw->parameters, hw->n_parameters * sizeof *hw->parameters);
    f->has_theta = true;
    return ADEPT_OK;
}

adept_status adept_plan_family_at(const adept_plan **out, adept_plan_family *f, const adept_hwprofile *hw,
                                  const adept_run *how, adept_error *err)
{
    const adept_placement at = placement_of(f->profile, hw, how);
    adept_plan_clear(&f->plan);
    begin_plan(&f->plan, &at);
    adept_status status = f->plan.by_operator ? find_theta(f, hw, err) : place_phases(&f->plan, &at, NULL, err);
    if (status == ADEPT_OK && f->plan.by_operator)
        status = place_kernels(&f->plan, &at, &f->work, &f->set, &f->cache, f->theta, err);
    if (status == ADEPT_OK) find_plain(&f->plan, f->several);
    if (status == ADEPT_OK) status = add_legs(&f->plan, f->profile, hw, how, false, NULL, err);
    *out = &f->plan;
    return status;
}

/* ---- predicting ---- */

double adept_plan_power_w(const adept_checked_run *run, double boards_w)
{
    return run->of_node ? adept_node_w(&run->node, boards_w, &run->watts) : boards_w;
}

static void step_of(adept_step *out, const adept_plan *plan, const adept_plan_kernels *k,
                    const adept_plan_phases *phases, const adept_checked_run *run)
{
    if (plan->by_operator) {
        const adept_plan_kernels *known = &plan->kernels;
        const adept_buckets *all = run->bucket_bytes == ADEPT_BUCKET_BYTES ? &known->usual : &known->buckets;
        const adept_buckets *buckets = run->bucket_bytes > 0.0 ? all : NULL;
        adept_operator_numbers numbers;
        memcpy(&numbers, &k->numbers, offsetof(adept_operator_numbers, network)); /* which is the run's */
        adept_operator_set_run(&numbers, run->row, &run->network);
        numbers.plain = run->plain;
        adept_operator_step(out, &k->list, &numbers, buckets, run->bucket_bytes, k->theta);
    } else {
        step_of_phases(out, phases, run);
    }
    if (isnan(run->row[ADEPT_ROW_TDP_W])) /* without P_TDP not even idle power is known for sure */
        out->power_w = out->pass_w = out->optimizer_w = out->comm_w = out->idle_w = NAN;
}

/* What of a step counts on, and what stands for all of it: means over time, and what any leg meets. */
static void add_step(adept_step *sum, const adept_step *s, double times)
{
    const double all_s = sum->step_s + times * s->step_s, before = all_s > 0.0 ? sum->step_s / all_s : 0.0,
                 now = 1.0 - before;
    const double pass_s = sum->pass_s + times * s->pass_s, of_pass = pass_s > 0.0 ? times * s->pass_s / pass_s : 0.0;
    sum->power_w = before * sum->power_w + now * s->power_w;
    sum->clock_ratio = (1.0 - of_pass) * sum->clock_ratio + of_pass * s->clock_ratio;
    sum->pass_w = (1.0 - of_pass) * sum->pass_w + of_pass * s->pass_w;
    sum->idle_w = s->idle_w;
    sum->step_s = all_s;
    sum->pass_s = pass_s;
    sum->launch_s += times * s->launch_s;
    sum->fixed_s += times * s->fixed_s;
    sum->gemm_s += times * s->gemm_s;
    sum->conv_s += times * s->conv_s;
    sum->alu_s += times * s->alu_s;
    sum->memory_s += times * s->memory_s;
    sum->samples_s += times * s->samples_s;
    sum->host_s += times * s->host_s;
    sum->comm_s += times * s->comm_s;
    sum->energy_j += times * s->energy_j;
    for (int i = 0; i < ADEPT_PARTS; i++)
        sum->hidden_s[i] += times * s->hidden_s[i];
    sum->limited = sum->limited || s->limited;
    sum->floored = sum->floored || s->floored;
}

void adept_plan_step(adept_step *out, const adept_plan *plan, const adept_checked_run *run)
{
    if (plan->n_legs == 0) {
        step_of(out, plan, &plan->kernels, &plan->phases, run);
        return;
    }
    adept_legs_sum sum = {.has_first = false};
    adept_step one;
    for (size_t i = 0; i < plan->n_legs; i++) {
        adept_plan_step(&one, &plan->legs[i].plan, run);
        adept_legs_add(&sum, &one, plan->legs[i].times, plan->legs[i].reads);
    }
    adept_legs_end(out, &sum);
}

bool adept_plan_fused_step(adept_step *out, const adept_plan *plan, const adept_checked_run *run)
{
    if (plan->has_fused) step_of(out, plan, &plan->fused_kernels, &plan->fused_phases, run);
    return plan->has_fused;
}

/* The largest term. The constant time is the host's, like launches. Where the GPU waits for the host (granularity
 * "operator"), faster kernels would gain nothing: their time is the launches'. What else the pass takes is divided into
 * computing and waiting for memory where these add up; by "model" they overlap, and the longer one has it all. */
adept_bound adept_step_bound(const adept_step *s)
{
    double hidden_pass_s = s->hidden_s[ADEPT_PART_FORWARD] + s->hidden_s[ADEPT_PART_BACKWARD];
    double hidden_optimizer_s = s->hidden_s[ADEPT_PART_OPTIMIZER], compute_s = s->gemm_s + s->conv_s + s->alu_s;
    double terms_s[] = {0.0, 0.0, s->launch_s + s->fixed_s, s->comm_s};
    double share = compute_s + s->memory_s <= s->pass_s * (1.0 + 1e-6) ? compute_s / (compute_s + s->memory_s)
                   : compute_s > s->memory_s                           ? 1.0
                                                                       : 0.0;
    adept_bound optimizer = s->optimizer_computes ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    terms_s[ADEPT_BOUND_LAUNCH] += hidden_pass_s + hidden_optimizer_s;
    if (!(share >= 0.0)) share = 0.0; /* a pass of nothing */
    terms_s[ADEPT_BOUND_COMPUTE] = share * (s->pass_s - hidden_pass_s);
    terms_s[ADEPT_BOUND_MEMORY] = (1.0 - share) * (s->pass_s - hidden_pass_s);
    terms_s[optimizer] += s->optimizer_s - hidden_optimizer_s;
    int largest = ADEPT_BOUND_COMPUTE;
    for (int i = ADEPT_BOUND_MEMORY; i <= ADEPT_BOUND_COMMUNICATION; i++)
        if (terms_s[i] > terms_s[largest]) largest = i;
    return (adept_bound)largest;
}

void adept_legs_add(adept_legs_sum *sum, const adept_step *leg, double times, bool reads)
{
    const adept_step constant = {
        .step_s = leg->fixed_s, .fixed_s = leg->fixed_s, .host_s = fmin(leg->host_s, leg->fixed_s),
        .power_w = leg->idle_w, .idle_w = leg->idle_w};
    adept_step one = *leg;
    one.power_w = (one.power_w * one.step_s - one.idle_w * one.fixed_s) / (one.step_s - one.fixed_s);
    one.step_s -= one.fixed_s;
    one.host_s -= constant.host_s;
    one.fixed_s = 0.0;
    add_step(&sum->all, &one, times);
    if (!sum->has_first) {
        add_step(&sum->all, &constant, 1.0);
        one.step_s += constant.step_s;
        one.fixed_s = leg->fixed_s;
        one.power_w = leg->power_w;
    }
    sum->has_first = true;
    add_step(reads ? &sum->prompt : &sum->rest, &one, times);
}

void adept_legs_end(adept_step *out, const adept_legs_sum *sum)
{
    *out = sum->all;
    out->first_s = sum->prompt.step_s;
    out->first_w = sum->prompt.power_w;
    out->first_bound = adept_step_bound(&sum->prompt);
    out->rest_waits_s = sum->rest.launch_s + sum->rest.hidden_s[ADEPT_PART_FORWARD];
    out->rest_bound = adept_step_bound(&sum->rest);
}

adept_status adept_plan_report(adept_estimate *out, const adept_plan *plan, const adept_step *step,
                               const adept_checked_run *run, adept_error *err)
{
    const double gpus = run->row[ADEPT_ROW_GPUS], samples = plan->samples * gpus, boards_w = gpus * step->power_w;
    const double power_w = adept_plan_power_w(run, boards_w);
    const adept_memory *memory = &plan->memory[gpus > 1.0];
    if (!(step->step_s > 0.0) || !isfinite(step->step_s * step->step_s * (isnan(power_w) ? 1.0 : power_w)))
        return adept_error_set(err, ADEPT_E_INVALID,
                               "profile: its work takes %g s on %s: nothing to run, or a count out of range",
                               step->step_s, plan->hw->name);
    *out = (adept_estimate){
        .status = ADEPT_OK,
        .notes = plan->notes | (memory->fits ? 0u : ADEPT_NOTE_NO_ROOM) | (step->limited ? ADEPT_NOTE_LIMITED : 0u) |
                 (step->floored ? ADEPT_NOTE_ABOVE_LIMIT : 0u),
        .bound = adept_step_bound(step),
        .step_time_s = step->step_s,
        .power_avg_w = power_w,
        .energy_step_j = power_w * step->step_s,
        .edp_js = power_w * step->step_s * step->step_s,
        .samples = samples,
        .samples_per_s = samples / step->step_s,
        .energy_per_sample_j = power_w * step->step_s / samples,
        .pass_s = step->pass_s,
        .optimizer_s = step->optimizer_s,
        .comm_s = step->comm_s,
        .kernel_launch_s = step->launch_s,
        .fixed_s = step->fixed_s,
        .comm_hidden_s = step->comm_hidden_s,
        .clock_ratio = step->clock_ratio,
        .clock_hz = step->clock_ratio * plan->hw->specs.clock_boost_hz,
        .peak_bytes = memory->peak_bytes,
        .capacity_bytes = memory->capacity_bytes,
        .interval_level = NAN,
        .interval_time_s = {NAN, NAN},
        .interval_power_w = {NAN, NAN},
        .ttft_s = plan->tokens > 0.0 ? step->first_s : NAN,
        .tpot_s = plan->tokens > 0.0 ? (step->step_s - step->first_s) / plan->tokens : NAN,
        .boards_power_w = boards_w,
        .node_power_w =
            adept_node_missing(&run->node, &run->watts) ? NAN : adept_node_w(&run->node, boards_w, &run->watts),
    };
    return ADEPT_OK;
}

/* ---- generations ---- */

/* Prompt and answer of each query that fit beside what does not depend on their length. */
static double longest_context(const adept_plan *plan, double room_bytes)
{
    double low = 0.0, high = 0x1p53;
    for (int i = 0; i < 60 && high - low > 1.0; i++) { /* windows make it bend */
        const double middle = floor(0.5 * (low + high));
        if (adept_kept_bytes(plan->kept, plan->n_kept, middle) <= room_bytes)
            low = middle;
        else
            high = middle;
    }
    return high >= 0x1p53 ? INFINITY : low;
}

void adept_plan_generation(adept_generation *out, const adept_plan *plan, const adept_step *step,
                           const adept_checked_run *run, const adept_estimate *e)
{
    const double gpus = run->row[ADEPT_ROW_GPUS];
    const adept_memory *memory = &plan->memory[gpus > 1.0];
    *out = (adept_generation){
        NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, ADEPT_BOUND_COMPUTE, ADEPT_BOUND_COMPUTE};
    if (!(plan->tokens > 0.0)) return;
    out->prompt_bound = step->first_bound;
    out->answer_bound = step->rest_bound;
    out->tokens_per_s = e->samples * plan->tokens / e->step_time_s;
    out->energy_per_token_j = e->energy_step_j / (e->samples * plan->tokens);
    out->wh_per_query = e->energy_step_j / e->samples / 3600.0;
    out->prompt_j = adept_plan_power_w(run, gpus * step->first_w) * e->ttft_s;
    out->answer_j = e->energy_step_j - out->prompt_j;
    out->waits_s = step->rest_waits_s / plan->tokens;
    out->kv_bytes = memory->kv_bytes;
    out->kv_bytes_per_token = 0.0;
    for (size_t i = 0; i < plan->n_kept; i++)
        out->kv_bytes_per_token += plan->kept[i].bytes_per_token / plan->queries;
    /* What is left, and what there is already of what grows with the batch: activations in proportion. */
    const double left = (memory->capacity_bytes - memory->peak_bytes) / (1.0 + plan->lost_share);
    const double grows = plan->passing_bytes + memory->kv_bytes;
    out->largest_batch = fmax(0.0, floor((left + grows) / grows * plan->queries));
    out->cache_tokens = longest_context(plan, left + memory->kv_bytes);
    out->longest_context = fmin(plan->positions, out->cache_tokens);
}

void adept_estimate_none(adept_estimate *out, adept_status status)
{
    *out = (adept_estimate){.status = status};
    for (double *number = &out->step_time_s; number < (double *)(out + 1); number++)
        *number = NAN;
}

adept_status adept_plan_predict(adept_estimate *out, const adept_plan *plan, const adept_run *asked,
                                adept_error *err)
{
    adept_checked_run run;
    adept_step step;
    adept_status status = adept_plan_check_run(&run, plan, asked, err);
    if (status != ADEPT_OK) return status;
    adept_plan_step(&step, plan, &run);
    return adept_plan_report(out, plan, &step, &run, err);
}

adept_range_point adept_plan_range_point(const adept_plan *plan, const adept_run *run)
{
    return (adept_range_point){
        .batch_size = (double)plan->described.batch_size,
        .flops = plan->flops,
        .bytes = plan->bytes_read + plan->bytes_written,
        .gpus = run && run->gpus > 0 ? (double)run->gpus : 1.0,
        .power_limit_w = run && run->power_limit_w > 0.0 ? run->power_limit_w : plan->hw->specs.tdp_w,
    };
}

/* The least that a launch in PyTorch's eager mode takes of any host. */
#define LEAST_LAUNCH_S 5e-6

/* Errors of the model and of the host are independent: their logarithms add as squares. */
static void widen(double interval[2], double value, double other)
{
    int end = other > value;
    double width = fabs(log(interval[end] / value));
    if (!(other > 0.0) || other == value || isnan(width)) return;
    interval[end] = value * exp((end ? 1.0 : -1.0) * hypot(width, log(other / value)));
}

/* A step whose launches are so small a part of it on any host waits for none: the two predictions more would be in
 * vain. */
#define WAITS_FOR_NO_HOST 0.5

/* The ends of intervals move to where they are if the host is at the ends of its range. Power is the boards'. */
static void widen_by_host(adept_estimate *e, const adept_plan *plan, const adept_run *run,
                          const adept_checked_run *checked)
{
    adept_run room;
    if (adept_node_resolve(&run, &room, NULL) != ADEPT_OK) return; /* nor was the step predicted */
    const adept_host *host = plan->by_operator ? adept_host_of(run, plan->kernels.theta[ADEPT_OP_t_host_s]) : NULL;
    if (!host || plan->launches * host->high_s < WAITS_FOR_NO_HOST * e->step_time_s) return;
    adept_checked_run at = *checked;
    at.plain = false;
    for (int end = 0; end < 2; end++) {
        adept_step other;
        at.row[ADEPT_ROW_HOST_S] = end ? host->high_s : host->low_s;
        adept_plan_step(&other, plan, &at);
        widen(e->interval_time_s, e->step_time_s, other.step_s);
        widen(e->interval_power_w, e->boards_power_w, at.row[ADEPT_ROW_GPUS] * other.power_w);
    }
}

void adept_plan_interval(adept_estimate *e, const adept_plan *plan, const adept_run *run)
{
    const adept_range_point point = adept_plan_range_point(plan, run);
    const adept_run how = {.granularity = plan->granularity};
    bool fitted = adept_calibrated_for(plan->hw, &how) || adept_transferred_for(plan->hw, &how);
    const adept_intervals *intervals = fitted ? plan->hw->intervals : NULL;
    adept_checked_run checked;
    if (adept_intervals_fill(e, intervals, &point, &plan->described) > 0.0) e->notes |= ADEPT_NOTE_OUTSIDE;
    const bool known = adept_plan_check_run(&checked, plan, run, NULL) == ADEPT_OK; /* as when it was predicted */
    if (known && run) widen_by_host(e, plan, run, &checked);
    if (known) {
        /* And to where they are with the fused optimizer, where nobody says which runs. */
        adept_step fused;
        if (adept_plan_fused_step(&fused, plan, &checked)) {
            widen(e->interval_time_s, e->step_time_s, fused.step_s);
            widen(e->interval_power_w, e->boards_power_w, checked.row[ADEPT_ROW_GPUS] * fused.power_w);
        }
    }
    /* No host launches faster than that, and no board draws more than its limit or, at its lowest clock, what is
     * predicted. */
    const bool launches = plan->described.execution != ADEPT_GRAPHS; /* which the host replays */
    double least_s = launches ? fmin(e->step_time_s, plan->launches * LEAST_LAUNCH_S) : 0.0;
    double most_w = fmax(e->boards_power_w, point.gpus * point.power_limit_w);
    if (e->interval_time_s[0] < least_s) e->interval_time_s[0] = least_s;
    if (e->interval_power_w[1] > most_w) e->interval_power_w[1] = most_w;
    for (int end = 0; known && end < 2; end++) /* what a node draws beside its boards is taken as known */
        e->interval_power_w[end] = adept_plan_power_w(&checked, e->interval_power_w[end]);
}
