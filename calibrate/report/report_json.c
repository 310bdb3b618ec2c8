/** @file report_json.c  `evaluate --json` and `calibrate --json`. Calls: cJSON. */
#include "adept_kernels.h"
#include "fit_report.h"
#include <math.h>
#include <stdio.h>

#define SCHEMA_VERSION 1

/* ---- errors ---- */

static void put_stats(json_writer *w, cJSON *o, const char *quantity, const adept_error_stats *s)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"mape", s->mape}, {"median", s->median}, {"p90", s->p90},
                   {"max", s->max},   {"bias", s->bias},     {"coverage", s->coverage}};
    char key[64];
    snprintf(key, sizeof key, "n_%s", quantity);
    adept_put_integer(w, o, key, (int64_t)s->n);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(key, sizeof key, "%s_%s", numbers[i].name, quantity);
        adept_put_number(w, o, key, numbers[i].value);
    }
}

void adept_put_metrics(json_writer *w, cJSON *object, const adept_metrics *m)
{
    adept_put_integer(w, object, "n", (int64_t)m->n);
    adept_put_number(w, object, "mape_combined", m->mape_combined);
    put_stats(w, object, "time", &m->time);
    put_stats(w, object, "power", &m->power);
    put_stats(w, object, "energy", &m->energy);
    adept_put_number(w, object, "coverage", m->coverage);
}

static void put_groups(json_writer *w, cJSON *o, const adept_evaluation *e)
{
    cJSON *groups = adept_put_array(w, o, "groups");
    for (size_t i = 0; i < e->n_groups; i++) {
        const adept_group *g = &e->groups[i];
        cJSON *item = adept_push_object(w, groups), *by = adept_put_object(w, item, "by");
        for (size_t c = 0; c < g->n_columns; c++)
            adept_put_string(w, by, g->columns[c], g->values[c]);
        adept_put_metrics(w, item, &g->metrics);
    }
}

static double percent(double predicted, double measured)
{
    return 100.0 * (predicted - measured) / measured;
}

static void put_quantities(json_writer *w, cJSON *parent, const char *key, double time_s, double power_w)
{
    cJSON *o = adept_put_object(w, parent, key);
    adept_put_number(w, o, "step_time_s", time_s);
    adept_put_number(w, o, "power_avg_w", power_w);
    adept_put_number(w, o, "energy_step_j", time_s * power_w);
}

static void put_row(json_writer *w, cJSON *o, const adept_scored *s)
{
    const adept_measurement *m = s->measured;
    adept_put_string(w, o, "file", m->file);
    adept_put_integer(w, o, "line", m->line);
    adept_put_string(w, o, "model", adept_measurement_text(m, "model"));
    adept_put_integer(w, o, "batch_size", m->profile ? m->profile->batch_size : m->batch_size);
    adept_put_integer(w, o, "gpus", m->gpus);
    adept_put_string(w, o, "precision", adept_precision_name(m->precision));
    adept_put_string(w, o, "mode", adept_mode_name(m->mode));
    adept_put_number(w, o, "power_limit_w", m->power_limit_w > 0.0 ? m->power_limit_w : NAN);
    put_quantities(w, o, "measured", m->step_time_s, m->power_avg_w);
    put_quantities(w, o, "predicted", s->time_s, s->power_w);
    bool any = !isnan(s->time_low_s) || !isnan(s->power_low_w);
    cJSON *interval = any ? adept_put_object(w, o, "interval") : NULL;
    if (any) {
        adept_put_range(w, interval, "step_time_s", s->time_low_s, s->time_high_s);
        adept_put_range(w, interval, "power_avg_w", s->power_low_w, s->power_high_w);
    } else {
        adept_put_null(w, o, "interval");
    }
    double energy_j = m->step_time_s * m->power_avg_w;
    cJSON *error = adept_put_object(w, o, "error");
    adept_put_number(w, error, "time", percent(s->time_s, m->step_time_s));
    adept_put_number(w, error, "power", percent(s->power_w, m->power_avg_w));
    adept_put_number(w, error, "energy", percent(s->time_s * s->power_w, energy_j));
    adept_put_string(w, o, "suspect", m->suspect);
}

/* overall, groups and rows; NULL: nothing could be evaluated. */
static void put_evaluation(json_writer *w, cJSON *o, const adept_evaluation *e, bool with_rows)
{
    if (!e) {
        adept_put_null(w, o, "overall");
        adept_put_array(w, o, "groups");
        if (with_rows) adept_put_array(w, o, "rows");
        return;
    }
    adept_put_metrics(w, adept_put_object(w, o, "overall"), &e->overall);
    put_groups(w, o, e);
    if (!with_rows) return;
    cJSON *rows = adept_put_array(w, o, "rows");
    for (size_t i = 0; i < e->n; i++)
        put_row(w, adept_push_object(w, rows), &e->rows[i]);
}

static void put_warnings(json_writer *w, cJSON *o, const char *const *warnings, size_t n)
{
    cJSON *array = adept_put_array(w, o, "warnings");
    for (size_t i = 0; i < n; i++)
        adept_push_string(w, array, warnings[i]);
}

/* ---- evaluate ---- */

static void put_gpu(json_writer *w, cJSON *root, const adept_hwprofile *hw)
{
    cJSON *gpu = adept_put_object(w, root, "gpu");
    adept_put_string(w, gpu, "name", hw->name);
    adept_put_bool(w, gpu, "calibrated", hw->calibrated);
    if (!hw->fit_json)
        adept_put_null(w, gpu, "fit");
    else if (!cJSON_AddRawToObject(gpu, "fit", hw->fit_json))
        w->failed = true;
}

char *adept_evaluation_to_json(const adept_evaluation *e, const adept_hwprofile *hw, const char *const *warnings,
                               size_t n_warnings)
{
    json_writer w = {0};
    cJSON *root = cJSON_CreateObject();
    adept_put_integer(&w, root, "schema_version", SCHEMA_VERSION);
    put_gpu(&w, root, hw);
    put_evaluation(&w, root, e, true);
    put_warnings(&w, root, warnings, n_warnings);
    return adept_json_finish(&w, root, false);
}

/* ---- calibrate ---- */

static void put_held_out(json_writer *w, cJSON *o, const adept_held_out *h, bool with_rows)
{
    adept_put_string(w, o, "scheme", h->scheme);
    adept_put_string(w, o, "impossible", h->impossible);
    cJSON *folds = adept_put_array(w, o, "folds");
    for (size_t i = 0; i < h->n_folds && !h->impossible; i++) {
        cJSON *fold = adept_push_object(w, folds);
        adept_put_string(w, fold, "label", h->folds[i].label);
        adept_put_integer(w, fold, "n_fitted", (int64_t)h->folds[i].n_train);
        adept_put_integer(w, fold, "n_held_out", (int64_t)h->folds[i].n_test);
        adept_put_string(w, fold, "failed", h->folds[i].failed);
    }
    put_evaluation(w, o, h->evaluation, with_rows);
}

/* `held_out` is the first scheme that could be done, row by row; `held_out_schemes` has all of them. */
static void put_all_held_out(json_writer *w, cJSON *root, const adept_fit_report *r)
{
    size_t first = 0;
    while (first < r->n_held_out && r->held_out[first].impossible)
        first++;
    if (first == r->n_held_out) first = 0;
    if (r->n_held_out > 0)
        put_held_out(w, adept_put_object(w, root, "held_out"), &r->held_out[first], true);
    else
        adept_put_null(w, root, "held_out");
    cJSON *schemes = adept_put_array(w, root, "held_out_schemes");
    for (size_t i = 0; i < r->n_held_out; i++)
        put_held_out(w, adept_push_object(w, schemes), &r->held_out[i], false);
}

static void put_parameters(json_writer *w, cJSON *root, const adept_identifiability *id)
{
    cJSON *array = adept_put_array(w, root, "parameters");
    for (size_t i = 0; i < id->n; i++) {
        const adept_parameter_report *p = &id->parameters[i];
        cJSON *o = adept_push_object(w, array);
        adept_put_string(w, o, "name", p->name);
        adept_put_number(w, o, "value", p->value);
        adept_put_range(w, o, "bounds", p->low, p->high);
        adept_put_string(w, o, "scale", p->log_scale ? "log" : "linear");
        adept_put_bool(w, o, "free", p->free);
        adept_put_string(w, o, "kept", p->kept);
        adept_put_number(w, o, "std_error", p->std_error);
        adept_put_range(w, o, "refits", p->refit_low, p->refit_high);
        adept_put_string(w, o, "at_bound", p->at_low ? "low" : p->at_high ? "high" : NULL);
        adept_put_bool(w, o, "determined", p->determined);
        adept_put_string(w, o, "why_not", p->why_not);
    }
}

static void put_correlations(json_writer *w, cJSON *root, const adept_identifiability *id)
{
    cJSON *array = adept_put_array(w, root, "correlations");
    for (size_t i = 0; i < id->n_correlations; i++) {
        cJSON *o = adept_push_object(w, array), *pair = adept_put_array(w, o, "parameters");
        adept_push_string(w, pair, id->parameters[id->correlations[i].a].name);
        adept_push_string(w, pair, id->parameters[id->correlations[i].b].name);
        adept_put_number(w, o, "value", id->correlations[i].value);
    }
}

static void put_suggestions(json_writer *w, cJSON *root, const adept_fit_report *r)
{
    cJSON *array = adept_put_array(w, root, "suggestions");
    for (size_t i = 0; i < r->n_suggestions; i++) {
        const adept_suggestion *s = &r->suggestions[i];
        cJSON *o = adept_push_object(w, array);
        adept_put_string(w, o, "text", s->text);
        adept_put_string(w, o, "reason", s->reason);
        adept_put_number(w, o, "gain_nats", s->gain);
        adept_put_string(w, o, "model", adept_measurement_text(s->like, "model"));
        adept_put_integer(w, o, "batch_size", s->batch_size);
        adept_put_integer(w, o, "gpus", s->gpus);
        adept_put_string(w, o, "precision", adept_precision_name(s->precision));
        adept_put_string(w, o, "mode", adept_mode_name(s->like->mode));
        adept_put_number(w, o, "power_limit_w", s->power_limit_w > 0.0 ? s->power_limit_w : NAN);
        adept_put_bool(w, o, "power_only", s->power_only);
    }
}

static void put_runs(json_writer *w, cJSON *root, const char *key, const adept_fit_run *runs, size_t n)
{
    cJSON *array = adept_put_array(w, root, key);
    for (size_t i = 0; i < n; i++) {
        cJSON *o = adept_push_object(w, array);
        adept_put_string(w, o, "name", runs[i].name);
        adept_put_string(w, o, "adds", runs[i].adds);
        adept_put_bool(w, o, "skipped", runs[i].skipped);
        adept_put_integer(w, o, "free_parameters", (int64_t)runs[i].n_free);
        adept_put_number(w, o, "loss", runs[i].loss.total);
        adept_put_number(w, o, "mape_time", runs[i].loss.time);
        adept_put_number(w, o, "mape_power", runs[i].loss.power);
        adept_put_integer(w, o, "generations", runs[i].generations);
        adept_put_bool(w, o, "converged", runs[i].converged);
    }
}

char *adept_kernel_fit_to_json(const adept_hwprofile *hw)
{
    json_writer w = {0};
    cJSON *root = cJSON_CreateObject();
    adept_put_integer(&w, root, "schema_version", SCHEMA_VERSION);
    adept_put_string(&w, adept_put_object(&w, root, "gpu"), "name", hw->name);
    adept_put_null(&w, root, "held_out");
    adept_put_null(&w, root, "in_sample");
    if (!cJSON_AddRawToObject(root, "fit", hw->fit_json)) w.failed = true;
    return adept_json_finish(&w, root, false);
}

char *adept_fit_report_to_json(const adept_fit_report *r)
{
    json_writer w = {0};
    cJSON *root = cJSON_CreateObject();
    adept_put_integer(&w, root, "schema_version", SCHEMA_VERSION);
    adept_put_string(&w, adept_put_object(&w, root, "gpu"), "name", r->base->name);
    put_all_held_out(&w, root, r);
    put_evaluation(&w, adept_put_object(&w, root, "in_sample"), r->in_sample, true);
    put_parameters(&w, root, &r->identifiability);
    put_correlations(&w, root, &r->identifiability);
    put_suggestions(&w, root, r);
    put_runs(&w, root, "stages", r->fit->stages, r->fit->n_stages);
    put_runs(&w, root, "saturations", r->fit->saturations, r->fit->n_saturations);
    adept_put_fit(&w, root, r, NULL);
    put_warnings(&w, root, r->warnings, r->n_warnings);
    return adept_json_finish(&w, root, false);
}
