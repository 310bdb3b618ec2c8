/** @file report_json.c  `evaluate --json` and `calibrate --json`. Calls: adept_json_writer. */
#include "adept_kernels.h"
#include "adept_layouts.h"
#include "fit_report.h"
#include <math.h>
#include <stdio.h>

#define SCHEMA_VERSION 1

/* ---- errors ---- */

static double percent(double predicted, double measured)
{
    return 100.0 * (predicted - measured) / measured;
}

static void put_quantities(adept_json_writer *w, const char *key, double time_s, double power_w)
{
    adept_json_put_object(w, key, "step_time_s %g power_avg_w %g energy_step_j %g", time_s, power_w, time_s * power_w);
}

/* Of a row, or one that is suggested. */
static void put_configuration(adept_json_writer *w, const adept_dataset_row *m, int64_t batch_size, int64_t gpus,
                              adept_precision precision, double power_limit_w)
{
    adept_json_put_members(w, "model %s batch_size %jd gpus %jd precision %s mode %s power_limit_w %g",
                           adept_dataset_row_text(m, "model"), (intmax_t)batch_size, (intmax_t)gpus,
                           adept_precision_name(precision), adept_mode_name(m->mode),
                           power_limit_w > 0.0 ? power_limit_w : NAN);
}

static void put_row(adept_json_writer *w, const adept_scored *s)
{
    const adept_dataset_row *m = s->measured;
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "file %s line %jd", m->file, (intmax_t)m->line);
    put_configuration(w, m, m->profile ? m->profile->batch_size : m->batch_size, m->run.gpus, m->precision,
                      m->run.power_limit_w);
    put_quantities(w, "measured", m->step_time_s, m->power_avg_w);
    put_quantities(w, "predicted", s->time_s, s->power_w);
    if (adept_json_begin_known(w, "interval", !isnan(s->time_low_s) || !isnan(s->power_low_w))) {
        adept_json_put_pair(w, "step_time_s", s->time_low_s, s->time_high_s);
        adept_json_put_pair(w, "power_avg_w", s->power_low_w, s->power_high_w);
        adept_json_end_object(w);
    }
    adept_json_put_object(w, "error", "time %g power %g energy %g", percent(s->time_s, m->step_time_s),
                          percent(s->power_w, m->power_avg_w),
                          percent(s->time_s * s->power_w, m->step_time_s * m->power_avg_w));
    adept_json_put_string(w, "suspect", m->suspect);
    if (m->clock_avg_hz > 0)
        adept_json_put_object(w, "clock", "measured_hz %g predicted_hz %g error %g", m->clock_avg_hz, s->clock_hz,
                              percent(s->clock_hz, m->clock_avg_hz));
    if (m->peak_memory_bytes > 0 || m->status == ADEPT_ROW_OOM)
        adept_json_put_object(
            w, "memory", "measured_bytes %g predicted_bytes %g error %g capacity_bytes %g status %s fits %d",
            m->peak_memory_bytes, s->memory_bytes, percent(s->memory_bytes, m->peak_memory_bytes), s->capacity_bytes,
            m->status == ADEPT_ROW_OOM ? "oom" : "ok", s->fullest_bytes <= s->capacity_bytes);
    adept_json_end_object(w);
}

/* overall, groups and rows; NULL: nothing could be evaluated. */
static void put_evaluation(adept_json_writer *w, const adept_evaluation *e, bool with_rows)
{
    static const adept_evaluation none = {.n = 0};
    if (adept_json_begin_known(w, "overall", e != NULL)) {
        adept_put_metrics(w, &e->overall);
        adept_json_end_object(w);
    }
    if (!e) e = &none;
    adept_json_begin_array(w, "groups");
    for (size_t i = 0; i < e->n_groups; i++) {
        const adept_metrics_group *g = &e->groups[i];
        adept_json_begin_object(w, NULL);
        adept_json_begin_object(w, "by");
        for (size_t c = 0; c < g->n_columns; c++)
            adept_json_put_string(w, g->columns[c], g->values[c]);
        adept_json_end_object(w);
        adept_put_metrics(w, &g->metrics);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    if (!with_rows) return;
    adept_json_begin_array(w, "rows");
    for (size_t i = 0; i < e->n; i++)
        put_row(w, &e->rows[i]);
    adept_json_end_array(w);
}

/* ---- evaluate ---- */

void adept_repeats_put(adept_json_writer *w, const adept_repeats *r)
{
    if (!adept_json_begin_known(w, "repeats", r->n_configurations > 0)) return;
    adept_json_put_members(w, "configurations %jd rows %jd time_sd_percent %g power_sd_percent %g",
                           (intmax_t)r->n_configurations, (intmax_t)r->n_rows, 100 * r->time_sd, 100 * r->power_sd);
    adept_json_end_object(w);
}

char *adept_evaluation_to_json(const adept_evaluation *e, const adept_hwprofile *hw, const adept_dataset *d,
                               const adept_layout_report *layouts, const char *const *warnings, size_t n_warnings)
{
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", SCHEMA_VERSION);
    if (adept_json_begin_known(&w, "gpu", hw != NULL)) {
        adept_json_put_members(&w, "name %s calibrated %d", hw->name, adept_calibrated_for(hw, NULL));
        adept_json_put_text(&w, "fit", hw->fit_json ? hw->fit_json : "null");
        adept_json_end_object(&w);
    }
    adept_json_begin_array(&w, "files");
    for (size_t i = 0; i < d->n_files; i++)
        adept_json_put_object(&w, NULL, "name %s sha256 %s rows %jd in_sample %d", d->files[i].name, d->files[i].sha256,
                              (intmax_t)d->files[i].n_rows, d->files[i].in_sample);
    adept_json_end_array(&w);
    adept_repeats_put(&w, &d->repeats);
    put_evaluation(&w, e, true);
    if (layouts) {
        adept_layout_report_put(&w, layouts);
        /* What rows of layouts did not say, and rows that could not be used. */
        adept_json_begin_array(&w, "unsaid");
        for (size_t bit = 0; adept_unsaid_text(bit); bit++) {
            size_t n = 0;
            for (size_t k = 0; k < d->n; k++)
                n += d->rows[k].unsaid >> bit & 1;
            if (n > 0) adept_json_put_object(&w, NULL, "taken %s rows %jd", adept_unsaid_text(bit), (intmax_t)n);
        }
        adept_json_end_array(&w);
        adept_json_begin_array(&w, "unused");
        for (size_t i = 0; i < d->n_unused; i++)
            adept_json_put_object(&w, NULL, "file %s line %jd reason %s", d->unused[i].file,
                                  (intmax_t)d->unused[i].line, d->unused[i].why);
        adept_json_end_array(&w);
    }
    adept_json_put_strings(&w, "warnings", warnings, n_warnings);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

/* ---- calibrate ---- */

static void put_held_out(adept_json_writer *w, const char *key, const adept_held_out *h, bool with_rows)
{
    adept_json_begin_object(w, key);
    adept_json_put_members(w, "scheme %s impossible %s", h->scheme, h->impossible);
    adept_json_begin_array(w, "folds");
    for (size_t i = 0; i < h->n_folds && !h->impossible; i++)
        adept_json_put_object(w, NULL, "label %s n_fitted %jd n_held_out %jd failed %s", h->folds[i].label,
                              (intmax_t)h->folds[i].n_train, (intmax_t)h->folds[i].n_test, h->folds[i].failed);
    adept_json_end_array(w);
    put_evaluation(w, h->evaluation, with_rows);
    adept_json_end_object(w);
}

static void put_parameters(adept_json_writer *w, const adept_identifiability *id)
{
    adept_json_begin_array(w, "parameters");
    for (size_t i = 0; i < id->n; i++) {
        const adept_parameter_report *p = &id->parameters[i];
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "name %s value %g", p->name, p->value);
        adept_json_put_pair(w, "bounds", p->low, p->high);
        adept_json_put_members(w, "scale %s free %d kept %s std_error %g", p->log_scale ? "log" : "linear", p->free,
                               p->kept, p->std_error);
        adept_json_put_pair(w, "refits", p->refit_low, p->refit_high);
        adept_json_put_members(w, "at_bound %s determined %d why_not %s",
                               p->at_low    ? "low"
                               : p->at_high ? "high"
                                            : NULL,
                               p->determined, p->why_not);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

static void put_runs(adept_json_writer *w, const char *key, const adept_fit_run *runs, size_t n)
{
    adept_json_begin_array(w, key);
    for (const adept_fit_run *r = runs; r < runs + n; r++)
        adept_json_put_object(w, NULL,
                              "name %s adds %s skipped %d free_parameters %jd loss %g mape_time %g mape_power %g "
                              "generations %jd converged %d",
                              r->name, r->adds, r->skipped, (intmax_t)r->n_free, r->loss.total, r->loss.time,
                              r->loss.power, (intmax_t)r->generations, r->converged);
    adept_json_end_array(w);
}

static void begin_fit(adept_json_writer *w, const adept_hwprofile *hw)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_integer(w, "schema_version", SCHEMA_VERSION);
    adept_json_put_object(w, "gpu", "name %s", hw->name);
}

char *adept_kernel_fit_to_json(const adept_hwprofile *hw)
{
    adept_json_writer w = {0};
    begin_fit(&w, hw);
    adept_json_put_null(&w, "held_out");
    adept_json_put_null(&w, "in_sample");
    adept_json_put_text(&w, "fit", hw->fit_json);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

char *adept_fit_report_to_json(const adept_fit_report *r)
{
    adept_json_writer w = {0};
    begin_fit(&w, r->base);
    adept_repeats_put(&w, &r->dataset->repeats);
    /* `held_out` is the first scheme that could be done, row by row; `held_out_schemes` has all of them. */
    size_t first = 0;
    while (first < r->n_held_out && r->held_out[first].impossible)
        first++;
    if (first == r->n_held_out) first = 0;
    if (r->n_held_out > 0)
        put_held_out(&w, "held_out", &r->held_out[first], true);
    else
        adept_json_put_null(&w, "held_out");
    adept_json_begin_array(&w, "held_out_schemes");
    for (size_t i = 0; i < r->n_held_out; i++)
        put_held_out(&w, NULL, &r->held_out[i], false);
    adept_json_end_array(&w);
    adept_json_begin_object(&w, "in_sample");
    put_evaluation(&w, r->in_sample, true);
    adept_json_end_object(&w);
    put_parameters(&w, &r->identifiability);
    adept_json_begin_array(&w, "correlations");
    const adept_identifiability *known = &r->identifiability;
    for (size_t i = 0; i < known->n_correlations; i++) {
        const char *const pair[] = {known->parameters[known->correlations[i].a].name,
                                    known->parameters[known->correlations[i].b].name};
        adept_json_begin_object(&w, NULL);
        adept_json_put_strings(&w, "parameters", pair, 2);
        adept_json_put_number(&w, "value", known->correlations[i].value);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_begin_array(&w, "suggestions");
    for (size_t i = 0; i < r->n_suggestions; i++) {
        const adept_suggestion *s = &r->suggestions[i];
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(&w, "text %s reason %s gain_nats %g", s->text, s->reason, s->gain);
        put_configuration(&w, s->like, s->batch_size, s->gpus, s->precision, s->power_limit_w);
        adept_json_put_bool(&w, "power_only", s->power_only);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_put_object(&w, "search", "loss_percent %g prior_percent %g evaluations %g generations %jd converged %d",
                          r->fit->loss.total, r->fit->loss.prior, r->fit->evaluations, (intmax_t)r->fit->generations,
                          r->fit->converged);
    put_runs(&w, "stages", r->fit->stages, r->fit->n_stages);
    put_runs(&w, "saturations", r->fit->saturations, r->fit->n_saturations);
    adept_put_fit(&w, r, NULL);
    adept_json_put_strings(&w, "warnings", r->warnings, r->n_warnings);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}
