/** @file prediction_json.c  Prediction -> JSON text; see adept_prediction_json.h. Calls: cJSON. */
#include "adept_prediction_json.h"
#include "adept_json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEMA_VERSION 1

/* The writer's state: memory running out anywhere is remembered and turns the whole text into NULL. */
typedef struct writer {
    bool failed;
    cJSON *warnings;
} writer;

static cJSON *keep(writer *w, cJSON *item)
{
    if (!item) w->failed = true;
    return item;
}

static cJSON *add_object(writer *w, cJSON *parent, const char *key)
{
    return keep(w, cJSON_AddObjectToObject(parent, key));
}

static void add_null(writer *w, cJSON *parent, const char *key)
{
    keep(w, cJSON_AddNullToObject(parent, key));
}

/* Not finite: unknown, hence null. The caller says why in a warning. */
static void add_number(writer *w, cJSON *parent, const char *key, double value)
{
    if (!adept_json_add_number(parent, key, value)) w->failed = true;
}

static void add_integer(writer *w, cJSON *parent, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    keep(w, cJSON_AddRawToObject(parent, key, text));
}

static void add_bool(writer *w, cJSON *parent, const char *key, bool value)
{
    keep(w, cJSON_AddBoolToObject(parent, key, value));
}

/* NULL or "": unknown, hence null. */
static void add_string(writer *w, cJSON *parent, const char *key, const char *value)
{
    if (value && *value)
        keep(w, cJSON_AddStringToObject(parent, key, value));
    else
        add_null(w, parent, key);
}

static void add_warning(writer *w, const char *text)
{
    cJSON *item = keep(w, cJSON_CreateString(text));
    if (item && !cJSON_AddItemToArray(w->warnings, item)) {
        cJSON_Delete(item);
        w->failed = true;
    }
}

static void add_model(writer *w, cJSON *root, const adept_profile *prof)
{
    cJSON *o = add_object(w, root, "model");
    add_string(w, o, "path", prof->model_path);
    add_string(w, o, "sha256", prof->model_sha256);
    add_integer(w, o, "params", prof->params);
    add_integer(w, o, "trainable_params", prof->trainable_params);
    if (!prof->model_sha256 || !*prof->model_sha256) add_warning(w, "model.sha256 is unknown: the profile has none");
}

static void add_gpu(writer *w, cJSON *root, const adept_hwprofile *hw, const adept_run *run)
{
    cJSON *o = add_object(w, root, "gpu");
    add_string(w, o, "name", hw->name);
    add_bool(w, o, "calibrated", adept_calibrated_for(hw, run));
    if (hw->fit_json && hw->transferred == adept_transferred_for(hw, run))
        keep(w, cJSON_AddRawToObject(o, "fit", hw->fit_json));
    else
        add_null(w, o, "fit");
    add_string(w, root, "granularity", adept_granularity_name(adept_granularity_of(hw, run)));
}

static void add_config(writer *w, cJSON *root, const adept_profile *prof, const adept_run *run)
{
    cJSON *o = add_object(w, root, "config");
    add_string(w, o, "mode", adept_mode_name(prof->mode));
    add_string(w, o, "precision", adept_precision_name(prof->precision));
    add_integer(w, o, "batch_size", prof->batch_size);
    if (prof->seq_length > 0) add_integer(w, o, "seq_length", prof->seq_length);
    add_integer(w, o, "gpus", run->gpus == 0 ? 1 : run->gpus);
    add_integer(w, o, "nodes", run->nodes == 0 ? 1 : run->nodes);
    add_string(w, o, "optimizer", prof->optimizer);
    add_integer(w, o, "grad_accum", prof->grad_accum);
    add_string(w, o, "attention", adept_attention_name(prof->attention));
    /* null: the board's default limit, as an empty cell in a measurement CSV */
    add_number(w, o, "power_limit_w", run->power_limit_w == 0.0 ? NAN : run->power_limit_w);
    add_number(w, o, "clock_hz", run->clock_hz == 0.0 ? NAN : run->clock_hz); /* null: not locked */
}

/* null: an end that is not known. */
static void add_pair(writer *w, cJSON *parent, const char *key, const double pair[2])
{
    if (!isfinite(pair[0]) || !isfinite(pair[1])) {
        add_null(w, parent, key);
        return;
    }
    cJSON *array = keep(w, cJSON_AddArrayToObject(parent, key));
    for (int i = 0; i < 2 && array; i++) {
        cJSON *item = keep(w, adept_json_new_number(pair[i]));
        if (!item || cJSON_AddItemToArray(array, item)) continue;
        cJSON_Delete(item);
        w->failed = true;
    }
}

static void add_interval(writer *w, cJSON *root, const adept_prediction *p)
{
    if (isnan(p->interval_level)) {
        add_null(w, root, "interval");
        return;
    }
    cJSON *o = add_object(w, root, "interval");
    add_number(w, o, "level", p->interval_level);
    add_pair(w, o, "step_time_s", p->interval_time_s);
    add_pair(w, o, "power_avg_w", p->interval_power_w);
    if (isnan(p->interval_time_s[0]))
        add_warning(w, "interval.step_time_s is unknown: the fit has no residuals of time");
    if (isnan(p->interval_power_w[0]))
        add_warning(w, "interval.power_avg_w is unknown: the fit has no residuals of power");
}

static void add_results(writer *w, cJSON *root, const adept_prediction *p)
{
    add_number(w, root, "step_time_s", p->step_time_s);
    add_number(w, root, "power_avg_w", p->power_avg_w);
    add_number(w, root, "energy_step_j", p->energy_step_j);
    add_number(w, root, "edp_js", p->edp_js);
    add_number(w, root, "samples_per_s", p->samples_per_s);
    add_number(w, root, "energy_per_sample_j", p->energy_per_sample_j);
    keep(w, cJSON_AddStringToObject(root, "power_scope", "gpu"));
    add_interval(w, root, p);
    cJSON *phases = add_object(w, root, "time");
    add_number(w, phases, "pass_s", p->pass_s);
    add_number(w, phases, "optimizer_s", p->optimizer_s);
    add_number(w, phases, "comm_s", p->comm_s);
    add_number(w, phases, "comm_hidden_s", p->comm_hidden_s); /* no part of the sum */
    add_number(w, phases, "kernel_launch_s", p->kernel_launch_s);
    add_number(w, phases, "fixed_s", p->fixed_s);
    cJSON *pass = add_object(w, root, "pass");
    add_number(w, pass, "gemm_s", p->gemm_s);
    add_number(w, pass, "conv_s", p->conv_s);
    add_number(w, pass, "alu_s", p->alu_s);
    add_number(w, pass, "memory_s", p->memory_s);
    add_number(w, pass, "clock_ratio", p->clock_ratio);
    add_number(w, pass, "clock_hz", p->clock_hz);
    cJSON *power = add_object(w, root, "power");
    add_number(w, power, "pass_w", p->pass_w);
    add_number(w, power, "optimizer_w", p->optimizer_w);
    add_number(w, power, "comm_w", p->comm_w);
    add_number(w, power, "idle_w", p->idle_w);
    keep(w, cJSON_AddStringToObject(root, "bound", adept_bound_name(p->bound)));
}

/* null: one GPU, or nothing to send. */
static void add_communication(writer *w, cJSON *root, const adept_prediction *p, const adept_run *run)
{
    if (!(p->comm_s + p->comm_hidden_s > 0.0)) {
        add_null(w, root, "communication");
        return;
    }
    cJSON *o = add_object(w, root, "communication");
    add_string(w, o, "allreduce", adept_allreduce_name(run->allreduce));
    add_string(w, o, "overlap",
               adept_overlap_name(p->comm_buckets > 0.0 ? ADEPT_OVERLAP_BUCKETED : ADEPT_OVERLAP_FIXED));
    add_number(w, o, "buckets", p->comm_buckets > 0.0 ? p->comm_buckets : NAN);
    add_number(w, o, "total_s", p->comm_s + p->comm_hidden_s);
    add_number(w, o, "exposed_s", p->comm_s);
    add_number(w, o, "hidden_s", p->comm_hidden_s);
}

static void add_work(writer *w, cJSON *root, const adept_prediction *p)
{
    cJSON *flops = add_object(w, root, "flops");
    add_number(w, flops, "gemm", p->gemm_flops);
    add_number(w, flops, "conv", p->conv_flops);
    add_number(w, flops, "alu", p->alu_flops);
    add_number(w, flops, "total", p->total_flops);
    add_number(w, root, "macs_forward", p->macs_forward);
    cJSON *bytes = add_object(w, root, "bytes");
    add_number(w, bytes, "read", p->bytes_read);
    add_number(w, bytes, "written", p->bytes_written);
    add_number(w, root, "kernels", p->kernels);
    add_number(w, root, "mfu", p->mfu);
}

static void add_memory(writer *w, cJSON *root, const adept_memory *m)
{
    cJSON *o = add_object(w, root, "memory");
    add_number(w, o, "weights_bytes", m->weights_bytes);
    add_number(w, o, "gradients_bytes", m->gradients_bytes);
    add_number(w, o, "optimizer_bytes", m->optimizer_bytes);
    add_number(w, o, "activations_bytes", m->activations_bytes);
    add_number(w, o, "other_bytes", m->other_bytes);
    add_number(w, o, "peak_bytes", m->peak_bytes);
    add_number(w, o, "capacity_bytes", m->capacity_bytes);
    add_bool(w, o, "fits", m->fits);
}

static void add_totals_interval(writer *w, cJSON *parent, const adept_totals *t)
{
    if (!isfinite(t->interval_level) || !isfinite(t->interval_time_s[0])) {
        add_null(w, parent, "interval");
        return;
    }
    cJSON *o = add_object(w, parent, "interval");
    add_number(w, o, "level", t->interval_level);
    add_pair(w, o, "time_s", t->interval_time_s);
    add_pair(w, o, "energy_kwh", t->interval_energy_kwh);
    add_pair(w, o, "co2e_g", t->interval_co2e_g);
}

/* What the totals were multiplied by, and where that comes from. */
static void add_rates(writer *w, cJSON *parent, const adept_totals *t)
{
    add_number(w, parent, "carbon_g_per_kwh", t->carbon_g_per_kwh);
    add_number(w, parent, "price_per_kwh", t->price_per_kwh);
    add_number(w, parent, "gpu_hour_price", t->gpu_hour_price);
    add_number(w, parent, "pue", t->pue);
    add_number(w, parent, "host_power_w", t->host_power_w);
    cJSON *o = add_object(w, parent, "sources");
    add_string(w, o, "place", t->place);
    add_string(w, o, "carbon_intensity", t->carbon_source);
    add_number(w, o, "carbon_intensity_year", t->carbon_year > 0 ? t->carbon_year : NAN);
    add_string(w, o, "pue", t->pue_source);
}

static void add_totals(writer *w, cJSON *root, const adept_totals *t)
{
    if (!t) {
        add_null(w, root, "total");
        return;
    }
    cJSON *o = add_object(w, root, "total");
    add_number(w, o, "steps", t->steps);
    add_number(w, o, "time_s", t->time_s);
    add_number(w, o, "energy_kwh", t->energy_kwh);
    add_number(w, o, "co2e_g", t->co2e_g);
    add_number(w, o, "cost", t->cost);
    add_number(w, o, "samples", t->samples);
    add_number(w, o, "epochs", t->epochs);
    add_number(w, o, "hours", t->time_s / 3600.0);
    add_number(w, o, "gpu_hours", t->gpu_hours);
    add_number(w, o, "host_energy_kwh", t->host_energy_kwh);
    add_number(w, o, "site_energy_kwh", t->site_energy_kwh);
    add_totals_interval(w, o, t);
    add_rates(w, o, t);
    if (!isfinite(t->energy_kwh)) return; /* the prediction's own warning says why */
    if (!isfinite(t->co2e_g)) add_warning(w, "total.co2e_g is unknown: no carbon intensity given");
    if (!isfinite(t->cost)) add_warning(w, "total.cost is unknown: no electricity price given");
}

static void add_choice(writer *w, cJSON *parent, const char *key, const adept_limit_estimate *c)
{
    cJSON *o = add_object(w, parent, key);
    add_number(w, o, "limit_w", c->limit_w);
    add_number(w, o, "clock_hz", c->clock_hz);
    add_number(w, o, "step_time_s", c->step_time_s);
    add_number(w, o, "power_avg_w", c->power_avg_w);
    add_number(w, o, "energy_step_j", c->energy_step_j);
    add_number(w, o, "edp_js", c->edp_js);
    add_number(w, o, "slowdown", c->slowdown);
    add_number(w, o, "energy_saving", c->energy_saving);
    add_number(w, o, "edp_saving", c->edp_saving);
}

static void add_limits(writer *w, cJSON *root, const adept_power_limits *l)
{
    char text[160];
    if (!l->known) {
        add_null(w, root, "power_limits");
        snprintf(text, sizeof text, "power_limits are unknown: %s", l->reason);
        add_warning(w, text);
        return;
    }
    cJSON *o = add_object(w, root, "power_limits");
    const double range_w[2] = {l->low_w, l->high_w};
    add_pair(w, o, "range_w", range_w);
    add_choice(w, o, "default", &l->unset);
    add_choice(w, o, "energy_optimal", &l->energy_optimal);
    add_choice(w, o, "edp_optimal", &l->edp_optimal);
}

static void add_layers(writer *w, cJSON *root, const adept_layer_prediction *layers, size_t n)
{
    if (!layers) return;
    cJSON *array = keep(w, cJSON_AddArrayToObject(root, "layers"));
    for (size_t i = 0; i < n && !w->failed; i++) {
        const adept_layer_prediction *l = &layers[i];
        cJSON *o = keep(w, cJSON_CreateObject());
        if (!o) return;
        if (!cJSON_AddItemToArray(array, o)) {
            cJSON_Delete(o);
            w->failed = true;
            return;
        }
        /* The root module's path is the empty text, not unknown. */
        keep(w, cJSON_AddStringToObject(o, "path", l->path));
        keep(w, cJSON_AddStringToObject(o, "module_class", l->module_class));
        add_integer(w, o, "count", l->count);
        add_number(w, o, "time_s", l->time_s);
        add_number(w, o, "energy_j", l->energy_j);
        add_number(w, o, "flops", l->flops);
        add_number(w, o, "bytes_read", l->bytes_read);
        add_number(w, o, "bytes_written", l->bytes_written);
        keep(w, cJSON_AddStringToObject(o, "bound", adept_bound_name(l->bound)));
    }
}

char *adept_prediction_to_json(const adept_prediction *p, const adept_profile *prof, const adept_hwprofile *hw,
                               const adept_run *run, const adept_totals *totals, const adept_power_limits *limits,
                               const adept_layer_prediction *layers, size_t n_layers)
{
    static const adept_run default_run = {0};
    if (!run) run = &default_run;
    writer w = {0};
    cJSON *root = keep(&w, cJSON_CreateObject());
    w.warnings = keep(&w, cJSON_CreateArray());
    for (size_t i = 0; i < prof->n_warnings; i++)
        add_warning(&w, prof->warnings[i]);
    for (size_t i = 0; i < p->n_warnings; i++)
        add_warning(&w, p->warnings[i]);
    add_integer(&w, root, "schema_version", SCHEMA_VERSION);
    add_model(&w, root, prof);
    add_gpu(&w, root, hw, run);
    add_config(&w, root, prof, run);
    add_results(&w, root, p);
    add_communication(&w, root, p, run);
    add_work(&w, root, p);
    add_memory(&w, root, &p->memory);
    add_totals(&w, root, totals);
    if (limits) add_limits(&w, root, limits);
    add_layers(&w, root, layers, n_layers);
    /* Last, because the parts above add to it; it belongs to root only once that has worked. */
    if (!w.failed && !cJSON_AddItemToObject(root, "warnings", w.warnings)) w.failed = true;
    if (w.failed) cJSON_Delete(w.warnings);
    char *text = w.failed ? NULL : cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}
