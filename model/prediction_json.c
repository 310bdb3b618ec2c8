/** @file prediction_json.c  Prediction -> JSON text; see adept_prediction_json.h. Calls: adept_json_writer. */
#include "adept_prediction_json.h"
#include "hosts.h"
#include "node.h"
#include "adept_json_writer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEMA_VERSION 1

/* Words [from, to) of a table. What is not given is null where only the board, the host or the hardware profile knows
 * it, and the default where there is one. */
static void put_words(adept_json_writer *w, const adept_field *(*field_at)(size_t), size_t from, size_t to,
                      const void *words)
{
    char text[ADEPT_FIELD_TEXT_BYTES];
    for (size_t i = from; i < to; i++) {
        const adept_field *f = field_at(i);
        bool is_zero = adept_field_is_zero(f, words);
        if (f->kind == ADEPT_FIELD_COUNT && (!is_zero || *f->fallback == '1'))
            adept_json_put_integer(w, f->name, is_zero ? 1 : (int64_t)adept_field_number(f, words));
        else if (f->kind == ADEPT_FIELD_AMOUNT)
            adept_json_put_number(w, f->name, is_zero ? NAN : adept_field_number(f, words));
        else if (f->kind == ADEPT_FIELD_SWITCH)
            adept_json_put_bool(w, f->name, !is_zero);
        else if (is_zero && (f->names == adept_host_name || f->names == adept_node_name))
            adept_json_put_null(w, f->name);
        else if (f->kind != ADEPT_FIELD_COUNT)
            adept_json_put_known(w, f->name, adept_field_text(text, f, words));
    }
}

static void put_config(adept_json_writer *w, const adept_profile *prof, const adept_run *run)
{
    const size_t of_gpus = ADEPT_RUN_FIELD_nodes + 1, of_shapes = ADEPT_FIELD_seq_length + 1,
                 of_generation = ADEPT_FIELD_prompt;
    adept_run room, shown;
    adept_node_resolve(&run, &room, NULL);
    shown = *run;
    adept_host_times(&shown.host_launch_s, &shown.host_step_s, run, NULL);
    adept_json_begin_object(w, "config");
    put_words(w, adept_workload_field, 0, of_shapes, &prof->words);
    put_words(w, adept_run_field, 0, of_gpus, &shown);
    put_words(w, adept_workload_field, of_shapes, of_generation, &prof->words);
    if (prof->mode == ADEPT_MODE_GENERATE)
        put_words(w, adept_workload_field, of_generation, ADEPT_FIELD_denoise_steps, &prof->words);
    put_words(w, adept_workload_field, ADEPT_FIELD_denoise_steps, ADEPT_N_WORKLOAD_FIELDS, &prof->words);
    put_words(w, adept_run_field, of_gpus, ADEPT_N_RUN_FIELDS, &shown);
    adept_json_end_object(w);
}

void adept_interval_put_json(adept_json_writer *w, const adept_prediction *p)
{
    if (!adept_json_begin_known(w, "interval", !isnan(p->interval_level))) return;
    adept_json_put_number(w, "level", p->interval_level);
    adept_json_put_pair(w, "step_time_s", p->interval_time_s[0], p->interval_time_s[1]);
    adept_json_put_pair(w, "power_avg_w", p->interval_power_w[0], p->interval_power_w[1]);
    adept_json_end_object(w);
}

static void put_results(adept_json_writer *w, const adept_prediction *p, const adept_run *run,
                        int64_t tokens_per_sample)
{
    adept_json_put_members(w,
                           "step_time_s %g power_avg_w %g energy_step_j %g edp_js %g samples_per_s %g "
                           "energy_per_sample_j %g power_scope %s",
                           p->step_time_s, p->power_avg_w, p->energy_step_j, p->edp_js, p->samples_per_s,
                           p->energy_per_sample_j, adept_power_scope_name(run->power_scope));
    /* null: no host's watts are known. */
    if (adept_json_begin_known(w, "node", !isnan(p->node_power_w))) {
        adept_json_put_members(w, "boards_power_w %g power_avg_w %g energy_step_j %g", p->boards_power_w,
                               p->node_power_w, p->node_power_w * p->step_time_s);
        adept_json_end_object(w);
    }
    /* null: it is said which implementation of the optimizer runs (config has it in any case), or there is one alone.
     */
    if (adept_json_begin_known(w, "other_optimizer", !isnan(p->fused_step_time_s))) {
        adept_json_put_members(w, "optimizer_impl %s step_time_s %g power_avg_w %g",
                               adept_optimizer_impl_name(ADEPT_IMPL_FUSED), p->fused_step_time_s, p->fused_power_w);
        adept_json_end_object(w);
    }
    /* null: no input is a sequence of integers */
    adept_json_put_number(w, "tokens_per_s",
                          tokens_per_sample > 0 ? p->samples_per_s * (double)tokens_per_sample : NAN);
    adept_interval_put_json(w, p);
    /* what is hidden is no part of the sum, and waiting for samples is part of the launches */
    adept_json_put_object(
        w, "time",
        "pass_s %g optimizer_s %g comm_s %g comm_hidden_s %g kernel_launch_s %g host_samples_s %g fixed_s %g",
        p->pass_s, p->optimizer_s, p->comm_s, p->comm_hidden_s, p->kernel_launch_s, p->host_samples_s, p->fixed_s);
    adept_json_put_object(w, "pass", "gemm_s %g conv_s %g alu_s %g memory_s %g clock_ratio %g clock_hz %g", p->gemm_s,
                          p->conv_s, p->alu_s, p->memory_s, p->clock_ratio, p->clock_hz);
    adept_json_put_object(w, "power", "pass_w %g optimizer_w %g comm_w %g idle_w %g", p->pass_w, p->optimizer_w,
                          p->comm_w, p->idle_w);
    adept_json_put_string(w, "bound", adept_bound_name(p->bound));
}

void adept_generation_put_json(adept_json_writer *w, const adept_prediction *p, const adept_profile *prof)
{
    const adept_generation *g = &p->generation;
    if (!adept_json_begin_known(w, "generate", prof->mode == ADEPT_MODE_GENERATE)) return;
    adept_json_put_members(
        w,
        "prompt %jd tokens %jd ttft_s %g tpot_s %g tokens_per_s %g energy_per_token_j %g wh_per_query %g "
        "prompt_energy_j %g answer_energy_j %g",
        (intmax_t)prof->prompt, (intmax_t)prof->tokens, p->ttft_s, p->tpot_s, g->tokens_per_s, g->energy_per_token_j,
        g->wh_per_query, g->prompt_j, g->answer_j);
    adept_json_put_members(w,
                           "kv_bytes %g kv_bytes_per_token %g largest_batch %g longest_context %g host_waits_s %g "
                           "prompt_bound %s answer_bound %s",
                           g->kv_bytes, g->kv_bytes_per_token, g->largest_batch, g->longest_context, g->waits_s,
                           adept_bound_name(g->prompt_bound), adept_bound_name(g->answer_bound));
    adept_json_end_object(w);
}

static void put_totals(adept_json_writer *w, const adept_totals *t)
{
    if (!adept_json_begin_known(w, "total", t != NULL)) return;
    adept_json_put_members(w, "steps %g time_s %g energy_kwh %g co2e_g %g cost %g samples %g epochs %g hours %g",
                           t->steps, t->time_s, t->energy_kwh, t->co2e_g, t->cost, t->samples, t->epochs,
                           t->time_s / 3600.0);
    adept_json_put_members(w, "gpu_hours %g host_energy_kwh %g site_energy_kwh %g embodied_co2e_g %g", t->gpu_hours,
                           t->host_energy_kwh, t->site_energy_kwh, t->embodied_co2e_g);
    if (adept_json_begin_known(w, "interval", isfinite(t->interval_level) && isfinite(t->interval_time_s[0]))) {
        adept_json_put_number(w, "level", t->interval_level);
        adept_json_put_pair(w, "time_s", t->interval_time_s[0], t->interval_time_s[1]);
        adept_json_put_pair(w, "energy_kwh", t->interval_energy_kwh[0], t->interval_energy_kwh[1]);
        adept_json_put_pair(w, "co2e_g", t->interval_co2e_g[0], t->interval_co2e_g[1]);
        adept_json_end_object(w);
    }
    /* What the totals were multiplied by, and where that comes from. */
    adept_json_put_members(w, "carbon_g_per_kwh %g price_per_kwh %g gpu_hour_price %g pue %g host_power_w %g",
                           t->carbon_g_per_kwh, t->price_per_kwh, t->gpu_hour_price, t->pue, t->host_power_w);
    adept_json_begin_object(w, "sources");
    adept_json_put_known(w, "place", t->place);
    adept_json_put_known(w, "carbon_intensity", t->carbon_source);
    adept_json_put_number(w, "carbon_intensity_year", t->carbon_year > 0 ? t->carbon_year : NAN);
    adept_json_put_known(w, "price", t->price_source);
    adept_json_put_number(w, "price_year", t->price_year > 0 ? t->price_year : NAN);
    adept_json_put_known(w, "currency", t->currency);
    adept_json_put_known(w, "pue", t->pue_source);
    adept_json_end_object(w);
    adept_json_end_object(w);
}

static void put_limit(adept_json_writer *w, const char *key, const adept_limit_estimate *l)
{
    adept_json_put_object(w, key,
                          "limit_w %g clock_hz %g step_time_s %g power_avg_w %g energy_step_j %g edp_js %g slowdown %g "
                          "energy_saving %g edp_saving %g",
                          l->limit_w, l->clock_hz, l->step_time_s, l->power_avg_w, l->energy_step_j, l->edp_js,
                          l->slowdown, l->energy_saving, l->edp_saving);
}

/* Every null above has its reason. */
static void put_warnings(adept_json_writer *w, const adept_prediction *p, const adept_profile *prof,
                         const adept_totals *totals, const adept_power_limits *limits)
{
    char text[160];
    adept_json_begin_array(w, "warnings");
    for (size_t i = 0; i < prof->n_warnings; i++)
        adept_json_put_string(w, NULL, prof->warnings[i]);
    for (size_t i = 0; i < p->n_warnings; i++)
        adept_json_put_string(w, NULL, p->warnings[i]);
    if (!prof->model_sha256 || !*prof->model_sha256)
        adept_json_put_string(w, NULL, "model.sha256 is unknown: the profile has none");
    if (!isnan(p->interval_level) && isnan(p->interval_time_s[0]))
        adept_json_put_string(w, NULL, "interval.step_time_s is unknown: the fit has no residuals of time");
    if (!isnan(p->interval_level) && isnan(p->interval_power_w[0]))
        adept_json_put_string(w, NULL, "interval.power_avg_w is unknown: the fit has no residuals of power");
    if (totals && isfinite(totals->energy_kwh)) { /* else the prediction's own warning says why */
        if (!isfinite(totals->co2e_g))
            adept_json_put_string(w, NULL, "total.co2e_g is unknown: no carbon intensity given");
        if (!isfinite(totals->cost))
            adept_json_put_string(w, NULL, "total.cost is unknown: no electricity price given");
    }
    if (limits && !limits->known) {
        snprintf(text, sizeof text, "power_limits are unknown: %s", limits->reason);
        adept_json_put_string(w, NULL, text);
    }
    adept_json_end_array(w);
}

char *adept_prediction_to_json(const adept_prediction *p, const adept_profile *prof, const adept_hwprofile *hw,
                               const adept_run *run, const adept_totals *totals, const adept_power_limits *limits,
                               const adept_layer_prediction *layers, size_t n_layers)
{
    static const adept_run default_run = {0};
    adept_json_writer w = {.pretty = true};
    if (!run) run = &default_run;
    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", SCHEMA_VERSION);
    adept_json_begin_object(&w, "model");
    adept_json_put_known(&w, "path", prof->model_path);
    adept_json_put_known(&w, "sha256", prof->model_sha256);
    adept_json_put_members(&w, "params %jd trainable_params %jd", (intmax_t)prof->params,
                           (intmax_t)prof->trainable_params);
    adept_json_end_object(&w);
    adept_json_begin_object(&w, "gpu");
    adept_json_put_known(&w, "name", hw->name);
    adept_json_put_bool(&w, "calibrated", adept_calibrated_in(hw, run, prof->precision));
    if (hw->fit_json && hw->transferred == adept_transferred_for(hw, run))
        adept_json_put_text(&w, "fit", hw->fit_json);
    else
        adept_json_put_null(&w, "fit");
    adept_json_end_object(&w);
    adept_json_put_known(&w, "granularity", adept_granularity_name(adept_granularity_of(hw, run)));
    put_config(&w, prof, run);
    put_results(&w, p, run, prof->tokens_per_sample);
    adept_generation_put_json(&w, p, prof);
    /* null: one GPU, or nothing to send. */
    if (adept_json_begin_known(&w, "communication", p->comm_s + p->comm_hidden_s > 0.0)) {
        adept_json_put_members(&w, "allreduce %s link %s overlap %s buckets %g total_s %g exposed_s %g hidden_s %g",
                               adept_allreduce_name(run->allreduce), adept_link_name(run->link),
                               adept_overlap_name(p->comm_buckets > 0.0                ? ADEPT_OVERLAP_BUCKETED
                                                  : run->overlap == ADEPT_OVERLAP_NONE ? ADEPT_OVERLAP_NONE
                                                                                       : ADEPT_OVERLAP_FIXED),
                               p->comm_buckets > 0.0 ? p->comm_buckets : NAN, p->comm_s + p->comm_hidden_s, p->comm_s,
                               p->comm_hidden_s);
        adept_json_end_object(&w);
    }
    adept_json_put_object(&w, "flops", "gemm %g conv %g alu %g total %g", p->gemm_flops, p->conv_flops, p->alu_flops,
                          p->total_flops);
    adept_json_put_number(&w, "macs_forward", p->macs_forward);
    adept_json_put_object(&w, "bytes", "read %g written %g", p->bytes_read, p->bytes_written);
    adept_json_put_members(&w, "kernels %g mfu %g mfu_executed %g flops_per_j %g", p->kernels, p->mfu, p->mfu_executed,
                           p->total_flops / p->energy_step_j);
    adept_json_begin_object(&w, "memory");
    adept_json_put_members(&w, "weights_bytes %g gradients_bytes %g optimizer_bytes %g activations_bytes %g",
                           p->memory.weights_bytes, p->memory.gradients_bytes, p->memory.optimizer_bytes,
                           p->memory.activations_bytes);
    if (p->memory.kv_bytes > 0.0) adept_json_put_number(&w, "kv_bytes", p->memory.kv_bytes);
    if (p->memory.reused_bytes > 0.0) adept_json_put_number(&w, "reused_bytes", p->memory.reused_bytes);
    adept_json_put_members(&w, "other_bytes %g peak_bytes %g capacity_bytes %g fits %d", p->memory.other_bytes,
                           p->memory.peak_bytes, p->memory.capacity_bytes, p->memory.fits);
    adept_json_end_object(&w);
    put_totals(&w, totals);
    if (limits && adept_json_begin_known(&w, "power_limits", limits->known)) {
        adept_json_put_pair(&w, "range_w", limits->low_w, limits->high_w);
        put_limit(&w, "default", &limits->unset);
        put_limit(&w, "energy_optimal", &limits->energy_optimal);
        put_limit(&w, "edp_optimal", &limits->edp_optimal);
        adept_json_end_object(&w);
    }
    if (layers) {
        adept_json_begin_array(&w, "layers");
        for (size_t i = 0; i < n_layers; i++) {
            const adept_layer_prediction *l = &layers[i];
            /* the root module's path is the empty text, not unknown */
            adept_json_put_object(&w, NULL,
                                  "path %s module_class %s calls %jd parameters %jd count %jd time_s %g energy_j %g "
                                  "flops %g bytes_read %g bytes_written %g bound %s",
                                  l->path, l->module_class, (intmax_t)l->calls, (intmax_t)l->params, (intmax_t)l->count,
                                  l->time_s, l->energy_j, l->flops, l->bytes_read, l->bytes_written,
                                  adept_bound_name(l->bound));
        }
        adept_json_end_array(&w);
    }
    put_warnings(&w, p, prof, totals, limits);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}
