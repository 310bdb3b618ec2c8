/** @file prediction_json.c  Prediction -> JSON text; see adept_prediction_json.h. Calls: adept_json_writer. */
#include "adept_prediction_json.h"
#include "adept_json_writer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEMA_VERSION 1

/* Numbers that stand under the names of their fields, or under others. */
#define FIELD(type, field)                                                                                             \
    {                                                                                                                  \
#field, offsetof(type, field)                                                                                  \
    }
#define PUT(w, key, structure, members)                                                                                \
    adept_json_put_doubles(w, key, structure, members, sizeof members / sizeof *members)

static void put_model(adept_json_writer *w, const adept_profile *prof)
{
    adept_json_begin_object(w, "model");
    adept_json_put_known(w, "path", prof->model_path);
    adept_json_put_known(w, "sha256", prof->model_sha256);
    adept_json_put_integer(w, "params", prof->params);
    adept_json_put_integer(w, "trainable_params", prof->trainable_params);
    adept_json_end_object(w);
}

static void put_gpu(adept_json_writer *w, const adept_hwprofile *hw, const adept_run *run)
{
    adept_json_begin_object(w, "gpu");
    adept_json_put_known(w, "name", hw->name);
    adept_json_put_bool(w, "calibrated", adept_calibrated_for(hw, run));
    if (hw->fit_json && hw->transferred == adept_transferred_for(hw, run))
        adept_json_put_text(w, "fit", hw->fit_json);
    else
        adept_json_put_null(w, "fit");
    adept_json_end_object(w);
    adept_json_put_known(w, "granularity", adept_granularity_name(adept_granularity_of(hw, run)));
}

static void put_config(adept_json_writer *w, const adept_profile *prof, const adept_run *run)
{
    adept_json_begin_object(w, "config");
    adept_json_put_known(w, "mode", adept_mode_name(prof->mode));
    adept_json_put_known(w, "precision", adept_precision_name(prof->precision));
    adept_json_put_integer(w, "batch_size", prof->batch_size);
    if (prof->seq_length > 0) adept_json_put_integer(w, "seq_length", prof->seq_length);
    adept_json_put_integer(w, "gpus", run->gpus == 0 ? 1 : run->gpus);
    adept_json_put_integer(w, "nodes", run->nodes == 0 ? 1 : run->nodes);
    adept_json_put_known(w, "optimizer", prof->optimizer);
    adept_json_put_integer(w, "grad_accum", prof->grad_accum);
    char extras[64];
    adept_json_put_known(w, "attention", adept_attention_name(prof->attention));
    adept_json_put_known(w, "memory_format", adept_memory_format_name(prof->memory_format));
    adept_json_put_known(w, "optimizer_impl", adept_optimizer_impl_name(prof->optimizer_impl));
    adept_json_put_known(w, "optimizer_extras",
                         adept_optimizer_extras_print(extras, sizeof extras, prof->optimizer_extras));
    /* null: the board's default limit, as an empty cell in a measurement CSV */
    adept_json_put_number(w, "power_limit_w", run->power_limit_w == 0.0 ? NAN : run->power_limit_w);
    adept_json_put_number(w, "clock_hz", run->clock_hz == 0.0 ? NAN : run->clock_hz); /* null: not locked */
    adept_json_end_object(w);
}

static void put_interval(adept_json_writer *w, const adept_prediction *p)
{
    if (!adept_json_begin_known(w, "interval", !isnan(p->interval_level))) return;
    adept_json_put_number(w, "level", p->interval_level);
    adept_json_put_pair(w, "step_time_s", p->interval_time_s[0], p->interval_time_s[1]);
    adept_json_put_pair(w, "power_avg_w", p->interval_power_w[0], p->interval_power_w[1]);
    adept_json_end_object(w);
}

#define P(field) FIELD(adept_prediction, field)
static const adept_json_member results[] = {P(step_time_s), P(power_avg_w),   P(energy_step_j),
                                            P(edp_js),      P(samples_per_s), P(energy_per_sample_j)};
/* What is hidden is no part of the sum. */
static const adept_json_member times[] = {P(pass_s),        P(optimizer_s),     P(comm_s),
                                          P(comm_hidden_s), P(kernel_launch_s), P(fixed_s)};
static const adept_json_member pass[] = {P(gemm_s), P(conv_s), P(alu_s), P(memory_s), P(clock_ratio), P(clock_hz)};
static const adept_json_member powers[] = {P(pass_w), P(optimizer_w), P(comm_w), P(idle_w)};
static const adept_json_member flops[] = {{"gemm", offsetof(adept_prediction, gemm_flops)},
                                          {"conv", offsetof(adept_prediction, conv_flops)},
                                          {"alu", offsetof(adept_prediction, alu_flops)},
                                          {"total", offsetof(adept_prediction, total_flops)}};
static const adept_json_member traffic[] = {{"read", offsetof(adept_prediction, bytes_read)},
                                            {"written", offsetof(adept_prediction, bytes_written)}};

static void put_results(adept_json_writer *w, const adept_prediction *p)
{
    PUT(w, NULL, p, results);
    adept_json_put_string(w, "power_scope", "gpu");
    put_interval(w, p);
    PUT(w, "time", p, times);
    PUT(w, "pass", p, pass);
    PUT(w, "power", p, powers);
    adept_json_put_string(w, "bound", adept_bound_name(p->bound));
}

/* null: one GPU, or nothing to send. */
static void put_communication(adept_json_writer *w, const adept_prediction *p, const adept_run *run)
{
    if (!adept_json_begin_known(w, "communication", p->comm_s + p->comm_hidden_s > 0.0)) return;
    adept_json_put_known(w, "allreduce", adept_allreduce_name(run->allreduce));
    adept_json_put_known(w, "overlap",
                         adept_overlap_name(p->comm_buckets > 0.0               ? ADEPT_OVERLAP_BUCKETED
                                            : run->overlap == ADEPT_OVERLAP_NONE ? ADEPT_OVERLAP_NONE
                                                                                 : ADEPT_OVERLAP_FIXED));
    adept_json_put_number(w, "buckets", p->comm_buckets > 0.0 ? p->comm_buckets : NAN);
    adept_json_put_number(w, "total_s", p->comm_s + p->comm_hidden_s);
    adept_json_put_number(w, "exposed_s", p->comm_s);
    adept_json_put_number(w, "hidden_s", p->comm_hidden_s);
    adept_json_end_object(w);
}

static void put_work(adept_json_writer *w, const adept_prediction *p)
{
    PUT(w, "flops", p, flops);
    adept_json_put_number(w, "macs_forward", p->macs_forward);
    PUT(w, "bytes", p, traffic);
    adept_json_put_number(w, "kernels", p->kernels);
    adept_json_put_number(w, "mfu", p->mfu);
}

static void put_memory(adept_json_writer *w, const adept_memory *m)
{
#define M(field) FIELD(adept_memory, field)
    static const adept_json_member bytes[] = {M(weights_bytes),     M(gradients_bytes), M(optimizer_bytes),
                                              M(activations_bytes), M(other_bytes),     M(peak_bytes),
                                              M(capacity_bytes)};
    adept_json_begin_object(w, "memory");
    PUT(w, NULL, m, bytes);
    adept_json_put_bool(w, "fits", m->fits);
    adept_json_end_object(w);
}

static void put_totals_interval(adept_json_writer *w, const adept_totals *t)
{
    if (!adept_json_begin_known(w, "interval", isfinite(t->interval_level) && isfinite(t->interval_time_s[0]))) return;
    adept_json_put_number(w, "level", t->interval_level);
    adept_json_put_pair(w, "time_s", t->interval_time_s[0], t->interval_time_s[1]);
    adept_json_put_pair(w, "energy_kwh", t->interval_energy_kwh[0], t->interval_energy_kwh[1]);
    adept_json_put_pair(w, "co2e_g", t->interval_co2e_g[0], t->interval_co2e_g[1]);
    adept_json_end_object(w);
}

#define T(field) FIELD(adept_totals, field)
/* What the totals were multiplied by, and where that comes from. */
static void put_rates(adept_json_writer *w, const adept_totals *t)
{
    static const adept_json_member rates[] = {T(carbon_g_per_kwh), T(price_per_kwh), T(gpu_hour_price), T(pue),
                                              T(host_power_w)};
    PUT(w, NULL, t, rates);
    adept_json_begin_object(w, "sources");
    adept_json_put_known(w, "place", t->place);
    adept_json_put_known(w, "carbon_intensity", t->carbon_source);
    adept_json_put_number(w, "carbon_intensity_year", t->carbon_year > 0 ? t->carbon_year : NAN);
    adept_json_put_known(w, "pue", t->pue_source);
    adept_json_end_object(w);
}

static void put_totals(adept_json_writer *w, const adept_totals *t)
{
    static const adept_json_member first[] = {T(steps), T(time_s),  T(energy_kwh), T(co2e_g),
                                              T(cost),  T(samples), T(epochs)};
    static const adept_json_member last[] = {T(gpu_hours), T(host_energy_kwh), T(site_energy_kwh)};
    if (!adept_json_begin_known(w, "total", t != NULL)) return;
    PUT(w, NULL, t, first);
    adept_json_put_number(w, "hours", t->time_s / 3600.0);
    PUT(w, NULL, t, last);
    put_totals_interval(w, t);
    put_rates(w, t);
    adept_json_end_object(w);
}

static void put_limits(adept_json_writer *w, const adept_power_limits *l)
{
#define L(field) FIELD(adept_limit_estimate, field)
    static const adept_json_member choice[] = {L(limit_w),     L(clock_hz),      L(step_time_s),
                                               L(power_avg_w), L(energy_step_j), L(edp_js),
                                               L(slowdown),    L(energy_saving), L(edp_saving)};
    if (!adept_json_begin_known(w, "power_limits", l->known)) return;
    adept_json_put_pair(w, "range_w", l->low_w, l->high_w);
    PUT(w, "default", &l->unset, choice);
    PUT(w, "energy_optimal", &l->energy_optimal, choice);
    PUT(w, "edp_optimal", &l->edp_optimal, choice);
    adept_json_end_object(w);
}

static void put_layers(adept_json_writer *w, const adept_layer_prediction *layers, size_t n)
{
#define R(field) FIELD(adept_layer_prediction, field)
    static const adept_json_member numbers[] = {R(time_s), R(energy_j), R(flops), R(bytes_read), R(bytes_written)};
    adept_json_begin_array(w, "layers");
    for (size_t i = 0; i < n; i++) {
        const adept_layer_prediction *l = &layers[i];
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "path", l->path); /* the root module's is the empty text, not unknown */
        adept_json_put_string(w, "module_class", l->module_class);
        adept_json_put_integer(w, "count", l->count);
        PUT(w, NULL, l, numbers);
        adept_json_put_string(w, "bound", adept_bound_name(l->bound));
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
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
    put_model(&w, prof);
    put_gpu(&w, hw, run);
    put_config(&w, prof, run);
    put_results(&w, p);
    put_communication(&w, p, run);
    put_work(&w, p);
    put_memory(&w, &p->memory);
    put_totals(&w, totals);
    if (limits) put_limits(&w, limits);
    if (layers) put_layers(&w, layers, n_layers);
    put_warnings(&w, p, prof, totals, limits);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}
