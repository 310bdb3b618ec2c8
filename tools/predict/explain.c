/** @file explain.c  The facts of an explanation, among them what someone could change about a run, each as a prediction
 *  of its own; see explain.h. */
#include "explain.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- levers ---- */

static const struct {
    adept_lever_kind kind;
    const char *key, *name;
} levers[] = {
    {ADEPT_LEVER_DESIGN, "peaks", "peak FLOP/s"},
    {ADEPT_LEVER_SPEC, "mem_bytes_per_s", "memory bandwidth"},
    {ADEPT_LEVER_SPEC, "l2_bytes", "L2 cache"},
    {ADEPT_LEVER_DESIGN, "sms", "SMs like these"},
    {ADEPT_LEVER_PARAMETER, "bw_eff_bytes_per_s", "bandwidth between GPUs"},
    {ADEPT_LEVER_RUN, "internode_bytes_per_s", "bandwidth between nodes"},
    {ADEPT_LEVER_RUN, "power_limit_w", "power limit"},
};

const char *adept_explain_lever_name(const adept_elasticity *row)
{
    for (size_t i = 0; i < sizeof levers / sizeof *levers; i++)
        if (levers[i].kind == row->kind && strcmp(levers[i].key, row->key) == 0) return levers[i].name;
    return NULL;
}

double adept_explain_gpu_s(const adept_explanation *x)
{
    return x->step->prediction.step_time_s * (x->n_parts > 0 ? (double)x->step->layout->n_stages : 1.0);
}

double adept_explain_saving(const adept_elasticity *row)
{
    return row->more.time < 0.0 ? -row->more.time : 0.0; /* NAN: no */
}

size_t adept_explain_levers(const adept_elasticity *rows[], size_t most, const adept_elasticities *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        const adept_elasticity *row = &e->rows[i];
        double saving = adept_explain_saving(row);
        if (!adept_explain_lever_name(row) || !(saving > 0.0)) continue;
        size_t at = n;
        while (at > 0 && saving > adept_explain_saving(rows[at - 1]))
            at--;
        if (at == most) continue;
        if (n < most) n++;
        memmove(&rows[at + 1], &rows[at], (n - at - 1) * sizeof *rows);
        rows[at] = row;
    }
    return n;
}

/* ---- changes ---- */

typedef struct changer {
    adept_cli *cli;
    adept_explanation *x;
} changer;

static adept_explain_change *begin(changer *c, const char *key, adept_explain_scale scale, const char *what, ...)
    ADEPT_PRINTF(4, 5);
static adept_explain_change *begin(changer *c, const char *key, adept_explain_scale scale, const char *what, ...)
{
    adept_explain_change *change = &c->x->changes[c->x->n_changes++];
    va_list args;
    *change = (adept_explain_change){.key = key, .scale = scale};
    va_start(args, what);
    vsnprintf(change->what, sizeof change->what, what, args);
    va_end(args);
    return change;
}

/* What the model or the GPU cannot do is a fact; memory that is out is not. */
static adept_status end(changer *c, adept_explain_change *change, adept_status status, const adept_error *err)
{
    if (status == ADEPT_E_NOMEM || status == ADEPT_E_INTERNAL) {
        c->cli->err = *err;
        return status;
    }
    change->possible = status == ADEPT_OK;
    if (!change->possible) snprintf(change->reason, sizeof change->reason, "%.120s", err->message);
    return ADEPT_OK;
}

static adept_status with_run(changer *c, adept_explain_change *change, const adept_run *run)
{
    adept_error err = {0};
    return end(c, change, adept_predict(&change->p, c->x->step->profile, c->x->step->hw, run, &err), &err);
}

static adept_status with_workload(changer *c, adept_explain_change *change, const adept_workload_config *w)
{
    const adept_profile *profile;
    adept_error err = {0};
    adept_status status = adept_sweep_source_profile(&profile, w, &c->x->step->source, &err);
    if (status == ADEPT_OK) status = adept_predict(&change->p, profile, c->x->step->hw, c->x->step->run, &err);
    return end(c, change, status, &err);
}

/* ---- the workload ---- */

static adept_status try_precision(changer *c, adept_precision precision)
{
    adept_workload_config w = {.batch_size = 0}; /* else as it is */
    adept_explain_change *change = begin(c, "precision", ADEPT_EXPLAIN_STEP, "%s%s", adept_precision_name(precision),
                                         adept_precision_is_autocast(precision) ? " autocast" : " matrix units");
    const adept_intervals *known = c->x->step->hw->intervals;
    w.precision = precision;
    w.given[ADEPT_FIELD_precision] = true;
    change->unmeasured = known && known->precisions != 0 && !(known->precisions >> precision & 1u);
    return with_workload(c, change, &w);
}

/* The next step down, as far as this GPU has units for it. */
static adept_status try_precisions(changer *c)
{
    const adept_specs *s = &c->x->step->hw->specs;
    adept_precision now = c->x->step->profile->precision;
    adept_status status = ADEPT_OK;
    if (now != ADEPT_FP32 && now != ADEPT_TF32) return ADEPT_OK;
    if (now == ADEPT_FP32 && s->tensor_tf32_flops_per_s > 0.0) status = try_precision(c, ADEPT_TF32);
    if (status != ADEPT_OK) return status;
    if (s->tensor_bf16_flops_per_s > 0.0) return try_precision(c, ADEPT_AMP_BF16);
    return s->tensor_fp16_flops_per_s > 0.0 ? try_precision(c, ADEPT_AMP_FP16) : ADEPT_OK;
}

/* How the same steps could run: compiled, with another layout of images, with the optimizer in fewer kernels. */
static adept_status try_ways(changer *c)
{
    const adept_profile *now = c->x->step->profile;
    adept_workload_config w = {.batch_size = 0}; /* else as it is */
    adept_status status = ADEPT_OK;
    if (now->execution == ADEPT_EAGER) {
        w.execution = ADEPT_COMPILE;
        w.given[ADEPT_FIELD_execution] = true;
        status = with_workload(c, begin(c, "execution", ADEPT_EXPLAIN_STEP, "torch.compile (--execution compile)"), &w);
    }
    bool convolves = false;
    for (size_t i = 0; i < now->n_ops && !convolves; i++)
        for (size_t k = 0; k < now->ops[i].n_kernels && !convolves; k++)
            convolves = now->ops[i].kernels[k].unit == ADEPT_UNIT_CONV && now->ops[i].kernels[k].flops > 0;
    if (status == ADEPT_OK && convolves && now->memory_format != ADEPT_CHANNELS_LAST) {
        w = (adept_workload_config){.memory_format = ADEPT_CHANNELS_LAST};
        status = with_workload(c, begin(c, "memory_format", ADEPT_EXPLAIN_STEP, "images in channels_last"), &w);
    }
    if (status == ADEPT_OK && !isnan(c->x->step->prediction.fused_step_time_s)) {
        w = (adept_workload_config){.optimizer_impl = ADEPT_IMPL_FUSED};
        status = with_workload(c, begin(c, "optimizer_impl", ADEPT_EXPLAIN_STEP, "the fused optimizer"), &w);
    }
    return status;
}

/* The largest half, quarter, ... of a batch that does not fit that does. */
static adept_status try_smaller_batches(changer *c)
{
    const adept_profile *now = c->x->step->profile;
    adept_workload_config w = {.batch_size = 0}; /* else as it is */
    adept_status status = ADEPT_OK;
    if (now->batch_size < 2) return status;
    adept_explain_change *change = begin(c, "smaller_batch", ADEPT_EXPLAIN_SAMPLE, "a smaller batch");
    for (w.batch_size = now->batch_size / 2; w.batch_size > 0 && status == ADEPT_OK; w.batch_size /= 2) {
        snprintf(change->what, sizeof change->what, "a batch of %" PRId64, w.batch_size);
        status = with_workload(c, change, &w);
        if (!change->possible || change->p.memory.fits) break;
    }
    return status;
}

static adept_status try_batches(changer *c)
{
    const adept_profile *now = c->x->step->profile;
    adept_workload_config w = {.batch_size = 0}; /* else as it is */
    adept_status status;
    if (!c->x->step->prediction.memory.fits) return try_smaller_batches(c);
    if (now->batch_size > INT64_MAX / 2) return ADEPT_OK;
    w.batch_size = 2 * now->batch_size;
    const bool all = c->x->largest_batch > now->batch_size && c->x->largest_batch < w.batch_size;
    if (all) w.batch_size = c->x->largest_batch;
    status = with_workload(c,
                           begin(c, "batch", ADEPT_EXPLAIN_SAMPLE, "%s (%" PRId64 ")",
                                 all ? "the largest batch that fits" : "twice the batch", w.batch_size),
                           &w);
    if (all) return status;
    if (now->grad_accum % 2 != 0 || status != ADEPT_OK) return status;
    w.grad_accum = now->grad_accum / 2;
    return with_workload(c,
                         begin(c, "grad_accum", ADEPT_EXPLAIN_STEP,
                               "a batch of %" PRId64 " and half the accumulation passes", w.batch_size),
                         &w);
}

/* ---- the run ---- */

static adept_status try_limit(changer *c, const char *key, const char *of, const adept_limit_estimate *choice,
                              double now_w)
{
    adept_run run = *c->x->step->run;
    if (fabs(choice->limit_w - now_w) < 0.005 * now_w) return ADEPT_OK;
    run.power_limit_w = choice->limit_w;
    return with_run(c, begin(c, key, ADEPT_EXPLAIN_STEP, "the power limit of %s (%.4g W)", of, run.power_limit_w),
                    &run);
}

static adept_status try_limits(changer *c)
{
    const adept_power_limits *l = &c->x->step->limits;
    adept_run run = *c->x->step->run;
    double now_w = run.power_limit_w > 0.0 ? run.power_limit_w : c->x->step->hw->specs.tdp_w;
    adept_status status = ADEPT_OK;
    if (!l->known) return ADEPT_OK;
    if (0.9 * now_w >= l->low_w) {
        run.power_limit_w = 0.9 * now_w;
        status = with_run(
            c, begin(c, "power_limit", ADEPT_EXPLAIN_STEP, "the power limit 10 %% lower (%.4g W)", run.power_limit_w),
            &run);
    }
    const bool both = fabs(l->energy_optimal.limit_w / l->edp_optimal.limit_w - 1) < 0.005;
    if (status == ADEPT_OK)
        status = try_limit(c, "edp_limit", both ? "least energy, alone and times time" : "least energy times time",
                           &l->edp_optimal, now_w);
    if (status != ADEPT_OK || both) return status;
    return try_limit(c, "energy_limit", "least energy", &l->energy_optimal, now_w);
}

/* The launches of a captured graph cost the host next to nothing. */
static adept_status try_no_launches(changer *c)
{
    double theta[ADEPT_MOST_PARAMETERS];
    size_t n = 0;
    adept_error err = {0};
    adept_explain_change *change =
        begin(c, "host", ADEPT_EXPLAIN_STEP, "launches that cost the host nothing (as CUDA graphs nearly do)");
    adept_granularity granularity = adept_granularity_of(c->x->step->hw, c->x->step->run);
    adept_status status = adept_parameters_of(theta, &n, c->x->step->hw, c->x->step->run, &err);
    for (size_t i = 0; i < n && status == ADEPT_OK; i++) {
        const char *name = adept_granularity_parameter_info(granularity, i)->name;
        if (strcmp(name, "t_host_s") == 0 || strcmp(name, "t_kern_s") == 0) theta[i] = 0.0;
    }
    double time_s = NAN, power_w = NAN;
    if (status == ADEPT_OK)
        status =
            adept_predict_with(&time_s, &power_w, c->x->step->profile, c->x->step->hw, c->x->step->run, theta, &err);
    if (status == ADEPT_OK) {
        adept_prediction *p = &change->p;
        double samples = c->x->step->prediction.samples_per_s * c->x->step->prediction.step_time_s;
        *p = (adept_prediction){.step_time_s = time_s, .power_avg_w = power_w, .memory = c->x->step->prediction.memory};
        p->energy_step_j = power_w * time_s;
        p->edp_js = p->energy_step_j * time_s;
        p->samples_per_s = samples / time_s;
        p->energy_per_sample_j = p->energy_step_j / samples;
    }
    return end(c, change, status, &err);
}

static adept_status find_changes(adept_cli *cli, adept_explanation *x)
{
    changer c = {cli, x};
    adept_status status = try_precisions(&c);
    if (status == ADEPT_OK && x->step->profile->attention != ADEPT_ATTENTION_FUSED)
        status = with_workload(&c, begin(&c, "attention", ADEPT_EXPLAIN_STEP, "fused attention"),
                               &(adept_workload_config){.attention = ADEPT_ATTENTION_FUSED});
    if (status == ADEPT_OK) status = try_ways(&c);
    if (status == ADEPT_OK) status = try_batches(&c);
    if (status == ADEPT_OK) status = try_no_launches(&c);
    if (status == ADEPT_OK) status = try_limits(&c);
    adept_run alone = *x->step->run;
    if (status != ADEPT_OK || alone.gpus < 2) return status;
    alone.gpus = alone.nodes = 1;
    alone.internode_bytes_per_s = alone.internode_latency_s = 0.0;
    return with_run(&c, begin(&c, "one_gpu", ADEPT_EXPLAIN_SAMPLE, "one GPU"), &alone);
}

/* ---- layouts ---- */

/* The same work, with some words of the layout changed. */
static adept_status with_words(changer *c, const char *key, const char *what, const adept_run *run)
{
    adept_explain_change *change = begin(c, key, ADEPT_EXPLAIN_STEP, "%s", what);
    adept_error err = {0};
    return end(c, change, adept_predict(&change->p, c->x->step->source.base, c->x->step->hw, run, &err), &err);
}

static adept_status try_micro_batches(changer *c)
{
    const int64_t now = c->x->step->layout->mesh.micro_batch;
    adept_status status = ADEPT_OK;
    for (int more = 0; more < 2 && status == ADEPT_OK; more++) {
        const adept_workload_config w = {.batch_size = more ? 2 * now : now / 2};
        if (w.batch_size > 0)
            status =
                with_workload(c, begin(c, "batch", ADEPT_EXPLAIN_STEP, "micro-batches of %" PRId64, w.batch_size), &w);
    }
    return status;
}

static adept_status try_words(changer *c)
{
    const adept_mesh *m = &c->x->step->layout->mesh;
    const adept_run now = *c->x->step->run;
    const bool pipeline = m->pp > 1, plain = m->sharding == ADEPT_SHARDED_NOTHING && m->dp * m->cp > 1;
    const bool again = m->recompute != ADEPT_RECOMPUTE_NONE;
    const struct {
        bool is_open;
        const char *key, *what;
        adept_run run;
    } all[] = {{again, "activation_checkpoint", "nothing computed again", now},
               {m->recompute != ADEPT_RECOMPUTE_SELECTIVE, "activation_checkpoint", "selective recomputation", now},
               {m->recompute != ADEPT_RECOMPUTE_FULL, "activation_checkpoint", "full recomputation", now},
               {pipeline && m->virtual_stages == 1, "virtual_stages", "two virtual stages on each GPU", now},
               {pipeline && m->schedule != ADEPT_PIPELINE_ZB1P, "schedule", "schedule zb1p", now},
               {pipeline && m->schedule != ADEPT_PIPELINE_ZBV, "schedule", "schedule zbv", now},
               {m->tp > 1 && !m->sp, "sp", "sequence parallel between products (--sp)", now},
               {plain, "zero", "shards of the optimizer's state (--zero 1)", now},
               {plain, "fsdp", "all states in shards (--fsdp full)", now},
               {m->sharding == ADEPT_SHARDED_PARAMETERS, "fsdp", "weights kept after forward (--fsdp grad)", now}};
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == ADEPT_OK; i++) {
        adept_run run = now;
        if (!all[i].is_open) continue;
        if (i < 3) run.activation_checkpoint = i == 0 ? 0 : i == 1 ? ADEPT_RECOMPUTE_SELECTIVE : ADEPT_RECOMPUTE_FULL;
        if (i >= 3 && i < 6) run.virtual_stages = i == 3 ? 2 : 0;
        if (i >= 3 && i < 6) run.schedule = i == 3 ? 0 : i == 4 ? ADEPT_PIPELINE_ZB1P : ADEPT_PIPELINE_ZBV;
        if (i == 6) run.sp = true;
        if (i == 7) run.zero = 1 + ADEPT_SHARDED_OPTIMIZER;
        if (i >= 8) run.zero = 0, run.fsdp = i == 8 ? ADEPT_FSDP_FULL : ADEPT_FSDP_GRAD;
        status = with_words(c, all[i].key, all[i].what, &run);
    }
    return status;
}

#define LIMITS 25

/* One limit for all: that of least energy. Clocks by stage: those at which stages that wait still keep up with the
 * slowest one, so that the pipeline's slack becomes joules (Perseus). */
static adept_status try_layout_limits(changer *c)
{
    const adept_specs *specs = &c->x->step->hw->specs;
    const adept_layout_prediction *now = c->x->step->layout;
    const double high_w = now->run.power_limit_w > 0.0 ? now->run.power_limit_w : specs->tdp_w;
    adept_run run = *c->x->step->run;
    adept_prediction p, least = now->prediction;
    double least_w = high_w;
    adept_error err = {0};
    adept_status status = ADEPT_OK;
    for (int i = 0; i < LIMITS && specs->power_limit_min_w < high_w && run.stage_limits_w.n == 0; i++) {
        run.power_limit_w = high_w - i * (high_w - specs->power_limit_min_w) / (LIMITS - 1);
        status = adept_predict(&p, c->x->step->source.base, c->x->step->hw, &run, &err);
        if (status != ADEPT_OK) break;
        if (p.energy_step_j < least.energy_step_j) least = p, least_w = run.power_limit_w;
    }
    if (status == ADEPT_E_NOMEM) return c->cli->err = err, status;
    if (status == ADEPT_OK && least_w < high_w) {
        adept_explain_change *change = begin(c, "energy_limit", ADEPT_EXPLAIN_STEP,
                                             "the power limit of least energy on all GPUs (%.4g W)", least_w);
        change->possible = true;
        change->p = least;
    }
    if (now->slack.clocks_mhz.n == 0) return ADEPT_OK;
    const adept_field list = {.kind = ADEPT_FIELD_STAGES};
    char clocks[ADEPT_FIELD_TEXT_BYTES], what[2 * ADEPT_FIELD_TEXT_BYTES];
    run = *c->x->step->run;
    run.stage_clocks_mhz = now->slack.clocks_mhz;
    snprintf(what, sizeof what, "lower clocks of the stages that wait (--stage-clocks %s)",
             adept_field_text(clocks, &list, &run.stage_clocks_mhz));
    return with_words(c, "stage_clocks", what, &run);
}

/* Of a generation: more queries at a time, GPUs shared out otherwise, batches in turns, graphs. */
static adept_status try_generation(changer *c)
{
    const adept_mesh *m = &c->x->step->layout->mesh;
    const adept_workload_config same = {.batch_size = 0}, twice = {.batch_size = 2 * m->micro_batch};
    adept_workload_config graphs = {.execution = ADEPT_GRAPHS};
    adept_run now = *c->x->step->run;
    const int64_t turns = m->pp > 1 ? m->global_batch : 0;
    graphs.given[ADEPT_FIELD_execution] = true;
    now.dp = 0; /* follows from the others */
    const struct {
        bool is_open;
        const char *key, *what;
        int64_t number, tp, global_batch;
        const adept_workload_config *workload;
    } all[] = {{true, "batch", "a batch of", 2 * m->micro_batch, m->tp, 2 * turns, &twice},
               {m->pp > 1 && m->micro_batches < m->pp, "global_batch",
                "a batch for each stage in turns, --global-batch", m->micro_batch * m->pp * m->dp, m->tp,
                m->micro_batch * m->pp * m->dp, &same},
               {m->dp % 2 == 0, "tp", "half as many replicas, --tp", 2 * m->tp, 2 * m->tp, turns / 2, &same},
               {m->tp % 2 == 0, "tp", "twice as many replicas, --tp", m->tp / 2, m->tp / 2, 2 * turns, &same},
               {c->x->step->profile->execution == ADEPT_EAGER, "execution", "CUDA graphs (--execution graphs), batch",
                m->micro_batch, m->tp, turns, &graphs}};
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == ADEPT_OK; i++) {
        const adept_profile *profile;
        adept_error err = {0};
        adept_run run = now;
        if (!all[i].is_open) continue;
        adept_explain_change *change =
            begin(c, all[i].key, ADEPT_EXPLAIN_SAMPLE, "%s %" PRId64, all[i].what, all[i].number);
        run.tp = all[i].tp, run.global_batch = all[i].global_batch;
        status = adept_sweep_source_profile(&profile, all[i].workload, &c->x->step->source, &err);
        if (status == ADEPT_OK) status = adept_predict(&change->p, profile, c->x->step->hw, &run, &err);
        status = end(c, change, status, &err);
    }
    return status;
}

static adept_status explain_layout(adept_cli *cli, adept_explanation *x)
{
    const adept_layout_prediction *l = x->step->layout;
    const struct {
        const char *name;
        double time_s;
    } parts[] = {
#define X(member, label, sentence, ...) {sentence, l->member},
        ADEPT_LAYOUT_PARTS(X)
#undef X
    };
    changer c = {cli, x};
    for (size_t i = 0, at; i < sizeof parts / sizeof *parts; i++) {
        for (at = x->n_parts++; at > 0 && parts[i].time_s > x->parts[at - 1].time_s; at--)
            x->parts[at] = x->parts[at - 1];
        x->parts[at].name = parts[i].name, x->parts[at].time_s = parts[i].time_s;
    }
    x->largest_batch = -1;
    x->step->shared_run.global_batch = l->mesh.global_batch; /* changes do the same work */
    const bool generates = x->step->profile->mode == ADEPT_MODE_GENERATE;
    adept_status status = try_ways(&c);
    if (status == ADEPT_OK) status = generates ? try_generation(&c) : try_micro_batches(&c);
    if (status == ADEPT_OK && !generates) status = try_words(&c);
    return status == ADEPT_OK ? try_layout_limits(&c) : status;
}

/* ---- facts ---- */

adept_status adept_explain(adept_cli *cli, adept_explanation *x, adept_predicted_step *step)
{
    static const adept_grouping by_kind = {.by = ADEPT_BY_KIND};
    *x = (adept_explanation){.step = step};
    const bool shared = step->layout && !step->layout->mesh.plain;
    adept_status status =
        shared ? ADEPT_OK : adept_elasticities_of(&x->elasticities, step->profile, step->hw, step->run, &cli->err);
    if (status == ADEPT_OK) status = adept_groups_make(cli, &x->kinds, step->profile, step->ops, &by_kind);
    adept_groups_sort(&step->groups);
    adept_groups_sort(&x->kinds);
    for (int i = 0; i < ADEPT_WAITS && status == ADEPT_OK; i++)
        if (x->elasticities.wait[i] > x->elasticities.wait[x->waits_for]) x->waits_for = (adept_wait)i;
    if (status == ADEPT_OK && !shared) {
        adept_error err = {0};
        status = adept_largest_batch(&x->largest_batch, step, &err);
        if (status == ADEPT_E_NOMEM) return adept_cli_no_memory(cli);
        if (status != ADEPT_OK) x->largest_batch = -1;
        status = ADEPT_OK;
    }
    if (status == ADEPT_OK) status = shared ? explain_layout(cli, x) : find_changes(cli, x);
    return status == ADEPT_OK ? adept_explain_sentences(cli, x) : status;
}

void adept_explanation_free(adept_explanation *x)
{
    adept_groups_free(&x->kinds);
    for (size_t i = 0; i < x->n_sentences; i++)
        free(x->sentences[i].text);
    *x = (adept_explanation){0};
}
