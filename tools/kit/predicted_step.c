/** @file predicted_step.c  From the options of a step to its prediction. */
#include "predicted_step.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number, or "max", which commands of one step take: adept_step_find_batch(). */
static adept_status parse_batch(adept_cli *cli, const char *option, char *text, void *field)
{
    if (strcmp(text, "max") != 0) return adept_option_batch(cli, option, text, field);
    *(int64_t *)field = ADEPT_LARGEST_BATCH;
    return ADEPT_OK;
}

#define BATCH offsetof(adept_step_options, workload.config.batch_size)
static const adept_option_row rows[] = {
    {"batch", "N", 2, NULL, ADEPT_OPT_PARSED, .at = BATCH, .parse = parse_batch, .also = "batch_size"},
    {"micro-batch", "N", 2, NULL, ADEPT_OPT_PARSED, .at = BATCH, .parse = parse_batch},
    {0},
};

static adept_status check_step(adept_cli *cli, void *record)
{
    return adept_run_options_on_gpu(cli, &((adept_step_options *)record)->where);
}

const adept_options adept_step_options_of = {
    .rows = rows,
    .check = check_step,
    .parts = {{&adept_workload_options_of, offsetof(adept_step_options, workload)},
              {&adept_run_options_of, offsetof(adept_step_options, where)},
              {&adept_set_options_of, offsetof(adept_step_options, set)}},
};

/* Does the run say how the step is shared out? Where every GPU has the whole model, its GPUs and nodes say all of it.
 */
static adept_status take_layout(adept_cli *cli, adept_predicted_step *s)
{
    const adept_mesh_words words = adept_run_mesh(s->run);
    if (!adept_mesh_is_said(&words)) return ADEPT_OK;
    s->layout = malloc(sizeof *s->layout);
    if (!s->layout) return adept_cli_no_memory(cli);
    adept_status status = adept_predict_layout(s->layout, s->profile, s->hw, s->run, &cli->err);
    if (status == ADEPT_OK) status = adept_layout_find_slack(s->layout, s->profile, s->hw, s->run, &cli->err);
    if (status != ADEPT_OK) return status;
    s->shared_profile = *s->profile;
    s->shared_profile.grad_accum = s->layout->mesh.micro_batches;
    s->profile = &s->shared_profile;
    s->shared_run = s->layout->mesh.plain ? s->layout->run : *s->run;
    s->shared_run.gpus = s->layout->run.gpus;
    s->shared_run.nodes = s->layout->run.nodes;
    s->shared_run.internode_bytes_per_s = s->layout->run.internode_bytes_per_s;
    if (!s->layout->mesh.plain) s->shared_run.dp = s->layout->mesh.dp;
    s->run = &s->shared_run;
    return ADEPT_OK;
}

adept_status adept_predicted_step_of_profile(adept_cli *cli, adept_predicted_step *s, const adept_grouping *grouping)
{
    adept_status status = take_layout(cli, s);
    s->grouping = grouping;
    s->ops = calloc(s->profile->n_ops + 1, sizeof *s->ops);
    if (!s->ops) return adept_cli_no_memory(cli);
    if (status == ADEPT_OK && s->layout && !s->layout->mesh.plain) {
        s->prediction = s->layout->prediction;
        snprintf(s->limits.reason, sizeof s->limits.reason,
                 "stages of a layout have no one best limit; --power-limit is of all");
        if (!grouping->given) return ADEPT_OK;
        status = adept_predict_layout_ops(s->ops, s->source.base, s->hw, &s->shared_run, &cli->err);
        return status == ADEPT_OK ? adept_groups_make(cli, &s->groups, s->profile, s->ops, grouping) : status;
    }
    if (status == ADEPT_OK) status = adept_predict(&s->prediction, s->profile, s->hw, s->run, &cli->err);
    if (!s->prediction.memory.fits) /* what cannot start has no best limit */
        snprintf(s->limits.reason, sizeof s->limits.reason, "the step does not fit the memory of %.60s", s->hw->name);
    else if (status == ADEPT_OK)
        status = adept_predict_power_limits(&s->limits, s->profile, s->hw, s->run, &cli->err);
    if (status == ADEPT_OK) status = adept_predict_ops(s->ops, s->profile, s->hw, s->run, &cli->err);
    return status == ADEPT_OK ? adept_groups_make(cli, &s->groups, s->profile, s->ops, grouping) : status;
}

adept_status adept_step_gpu(adept_cli *cli, adept_hwprofile **hw, const char *gpu, const adept_vary_options *o)
{
    adept_status status = adept_hwprofile_open(hw, gpu, &cli->err);
    for (size_t i = 0; i < o->n && status == ADEPT_OK; i++) {
        status = adept_vary_check(cli, *hw, &o->axes[i]);
        if (status == ADEPT_OK) status = adept_sweep_set_number(*hw, &o->axes[i], 0, &cli->err);
    }
    if (status == ADEPT_OK && o->n > 0 && adept_hwprofile_check(*hw, &cli->err) != ADEPT_OK) {
        const adept_error found = cli->err;
        status = adept_error_set(&cli->err, ADEPT_E_USAGE, "--set: %s", found.message);
    }
    return status;
}

static adept_status predict_life(adept_cli *cli, adept_predicted_step *s, const adept_step_options *o,
                                 const adept_job_spec *job)
{
    const adept_workload_config *words = &o->workload.config;
    const bool generates = words->prompt > 0 || words->tokens > 0;
    adept_workload_config c = s->source.config;
    adept_prediction p;

    if (!adept_mode_trains(s->profile->mode))
        return adept_cli_usage(cli, "--inferences stands beside a training: of mode %s itself --samples says how many",
                               adept_mode_name(s->profile->mode));
    adept_workload_config_over(&c, &(adept_workload_config){.mode = generates ? ADEPT_MODE_GENERATE : ADEPT_MODE_INFER,
                                                            .given = {[ADEPT_FIELD_mode] = true},
                                                            .batch_size = job->inference_batch,
                                                            .prompt = words->prompt,
                                                            .tokens = words->tokens,
                                                            .denoise_steps = words->denoise_steps,
                                                            .weights = words->weights,
                                                            .kv_cache = words->kv_cache});
    c.weights = words->weights, c.kv_cache = words->kv_cache;
    c.grad_accum = 0;
    c.optimizer = NULL;
    c.optimizer_impl = ADEPT_IMPL_AUTO;
    c.optimizer_extras = 0;
    if (generates) c.seq_length = 0, c.n_inputs = 0;
    adept_status status = adept_load_walk(cli, &s->inference, s->source.graph, &c);
    if (status == ADEPT_OK) status = adept_predict(&p, s->inference, s->hw, s->run, &cli->err);
    if (status == ADEPT_OK) s->life = adept_lifetime_of(job, &s->totals, &p, s->inference, s->run);
    return status;
}

adept_status adept_predicted_step_make(adept_cli *cli, adept_predicted_step *s, const adept_step_options *o,
                                       const adept_job_spec *job, const adept_grouping *grouping)
{
    adept_status status = adept_step_gpu(cli, &s->hw, o->where.gpu, &o->set);

    const bool has_life = job && job->inferences > 0;
    adept_workload_options training = o->workload;
    if (has_life) { /* words of a generation are those of the inferences */
        adept_workload_config *c = &training.config;
        c->prompt = c->tokens = c->denoise_steps = 0;
        c->weights = c->kv_cache = ADEPT_STORED_AUTO;
    }
    if (status == ADEPT_OK) status = adept_sweep_source_open(cli, &s->source, o->model, &training);
    s->profile = s->source.base;
    s->run = &o->where.run;
    if (status == ADEPT_OK && job && !isnan(job->host_power_w) && s->run->power_scope == ADEPT_SCOPE_NODE)
        status = adept_cli_usage(cli, "--host-power and --power-scope node both say what hosts draw");
    if (status == ADEPT_OK) status = adept_predicted_step_of_profile(cli, s, grouping);
    if (status != ADEPT_OK) return status;
    adept_prediction *p = &s->prediction;
    for (size_t i = 0; i < o->set.n && p->n_warnings < sizeof p->warnings / sizeof p->warnings[0]; i++) {
        const adept_sweep_axis *axis = &o->set.axes[i];
        snprintf(p->warnings[p->n_warnings++], sizeof p->warnings[0],
                 "a hypothetical GPU: %s set to %s%.6g; parameters that were fitted to the real GPU are kept",
                 axis->key, axis->relative ? "x" : "", axis->numbers[0]);
    }
    if (job && adept_job_spec_given(job)) s->totals = adept_totals_of(job, &s->prediction, s->profile, s->run);
    return has_life ? predict_life(cli, s, o, job) : ADEPT_OK;
}

/* Memory of a step at a batch. */
static adept_status memory_at(adept_memory *out, adept_predicted_step *s, int64_t batch, adept_error *err)
{
    const adept_profile *profile;
    const adept_workload_config w = {.batch_size = batch};
    adept_prediction p;
    adept_status status = adept_sweep_source_profile(&profile, &w, &s->source, err);
    if (status == ADEPT_OK) status = adept_predict(&p, profile, s->hw, s->run, err);
    if (status == ADEPT_OK) *out = p.memory;
    return status;
}

/* Memory grows with the batch nearly along a line: the next guess lies on the line through the nearest that fits and
 * the nearest that does not. */
adept_status adept_largest_batch(int64_t *batch, adept_predicted_step *s, adept_error *err)
{
    const int64_t most = 1 << 20;
    int64_t low = 0, high = 0, next = s->profile->batch_size > 0 ? s->profile->batch_size : 1;
    double low_bytes = 0, high_bytes = 0;

    if (s->layout)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "the largest batch is of GPUs that have the whole model, not of a layout");
    for (int i = 0; i < 64 && (high == 0 || high - low > 1); i++) {
        adept_memory m;
        adept_status status = memory_at(&m, s, next, err);
        if (status != ADEPT_OK) return status;
        if (m.fits)
            low = next, low_bytes = m.peak_bytes;
        else
            high = next, high_bytes = m.peak_bytes;
        if (low >= most) break;
        const double share = high > 0 && low > 0 ? (m.capacity_bytes - low_bytes) / (high_bytes - low_bytes) : 0.5;
        next = high == 0
                   ? 2 * low
                   : low + (int64_t)(share * (double)(high - low)) + (i % 4 == 3); /* from both sides, by and by */
        next = next <= low ? low + 1 : high > 0 && next >= high ? high - 1 : next;
    }
    *batch = low;
    return ADEPT_OK;
}

adept_status adept_step_find_batch(adept_cli *cli, adept_step_options *o, const adept_job_spec *job)
{
    static const adept_grouping none = {.given = false};
    adept_predicted_step step = {0};
    int64_t *batch = &o->workload.config.batch_size;
    if (*batch != ADEPT_LARGEST_BATCH) return ADEPT_OK;
    *batch = 0;
    adept_status status = adept_predicted_step_make(cli, &step, o, job, &none);
    if (status == ADEPT_OK) status = adept_largest_batch(batch, &step, &cli->err);
    if (status == ADEPT_OK && *batch == 0)
        status = adept_error_set(&cli->err, ADEPT_E_CHECK, "--batch max: not even a batch of 1 fits the memory of %s",
                                 step.hw->name);
    adept_predicted_step_free(&step);
    return status;
}

void adept_predicted_step_free(adept_predicted_step *s)
{
    adept_groups_free(&s->groups);
    adept_profile_free(s->inference);
    free(s->ops);
    free(s->layout);
    adept_hwprofile_free(s->hw);
    adept_sweep_source_close(&s->source);
}
