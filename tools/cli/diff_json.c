/** @file diff_json.c  `diff --json`: everything, the modules that stayed the same too. */
#include "diff_report.h"
#include "json_out.h"
#include <math.h>

static const char *const amount_keys[] = {
#define X(field, name, meaning) #field,
    ADEPT_DIFF_AMOUNT_LIST(X)
#undef X
};
static const char *const quantity_keys[ADEPT_DIFF_QUANTITIES] = {"step_time_s", "energy_step_j", "peak_bytes", "flops"};

static void put_amounts(adept_json_writer *w, const char *key, const adept_diff_amounts *a)
{
    adept_json_begin_object(w, key);
    for (int i = 0; i < ADEPT_DIFF_AMOUNTS; i++)
        adept_json_put_number(w, amount_keys[i], a->v[i]);
    adept_json_end_object(w);
}

static void put_three(adept_json_writer *w, const adept_diff_amounts *old, const adept_diff_amounts *now)
{
    adept_diff_amounts delta;

    for (int i = 0; i < ADEPT_DIFF_AMOUNTS; i++)
        delta.v[i] = now->v[i] - old->v[i];
    put_amounts(w, "old", old);
    put_amounts(w, "new", now);
    put_amounts(w, "delta", &delta);
}

static void put_side(adept_json_writer *w, const char *key, const adept_diff_side *side, const adept_prediction *p)
{
    const adept_profile *prof = side->profile;

    adept_json_begin_object(w, key);
    adept_json_put_string(w, "path", prof->model_path);
    adept_json_put_known(w, "sha256", prof->model_sha256);
    adept_json_put_number(w, "params", (double)prof->params);
    adept_json_put_string(w, "gpu", side->hw->name);
    adept_json_put_bool(w, "calibrated", adept_calibrated_for(side->hw, side->run));
    adept_json_put_string(w, "mode", adept_mode_name(prof->mode));
    adept_json_put_string(w, "precision", adept_precision_name(prof->precision));
    adept_json_put_number(w, "batch_size", (double)prof->batch_size);
    adept_json_put_number(w, "gpus", side->run->gpus > 0 ? (double)side->run->gpus : 1);
    adept_json_put_string(w, "optimizer", prof->optimizer);
    adept_json_put_number(w, "grad_accum", (double)prof->grad_accum);
    adept_json_put_number(w, "power_avg_w", p->power_avg_w);
    adept_json_put_number(w, "energy_per_sample_j", p->energy_per_sample_j);
    adept_json_put_number(w, "kernels", p->kernels);
    adept_json_end_object(w);
}

/* "change": what a check may look at. */
static void put_change(adept_json_writer *w, const adept_diff *d)
{
    adept_json_begin_object(w, "change");
    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++) {
        adept_diff_quantity quantity = (adept_diff_quantity)i;
        double old = adept_diff_value(&d->old, quantity), now = adept_diff_value(&d->now, quantity);
        adept_json_begin_object(w, quantity_keys[i]);
        adept_json_put_number(w, "old", old);
        adept_json_put_number(w, "new", now);
        adept_json_put_number(w, "delta", now - old);
        adept_json_put_number(w, "percent", 100 * adept_diff_growth(d, quantity));
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
}

static void put_quantities(adept_json_writer *w, const char *key, const bool is_one[ADEPT_DIFF_QUANTITIES])
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++)
        if (is_one[i]) adept_json_put_string(w, NULL, adept_diff_quantity_name(i));
    adept_json_end_array(w);
}

static void put_check(adept_json_writer *w, const adept_diff_check *check)
{
    bool failed = false;

    if (isnan(check->limit)) {
        adept_json_put_null(w, "check");
        return;
    }
    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++)
        failed = failed || check->exceeded[i];
    adept_json_begin_object(w, "check");
    adept_json_put_number(w, "fail_above_percent", 100 * check->limit);
    put_quantities(w, "fail_on", check->on);
    put_quantities(w, "exceeded", check->exceeded);
    adept_json_put_bool(w, "failed", failed);
    adept_json_end_object(w);
}

static void put_row(adept_json_writer *w, const adept_diff_row *row)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "status", adept_diff_status_name(row->status));
    adept_json_put_string(w, "path", row->path);
    adept_json_put_string(w, "old_path", row->old_path);
    adept_json_put_string(w, "module_class", row->module_class);
    adept_json_put_string(w, "old_class", row->old_class);
    adept_json_put_number(w, "modules", row->modules > 0 ? (double)row->modules : NAN);
    adept_json_put_number(w, "count", (double)row->count);
    adept_json_put_number(w, "old_count", (double)row->old_count);
    put_three(w, &row->old, &row->now);
    adept_json_end_object(w);
}

static void put_rows(adept_json_writer *w, const adept_diff *d)
{
    adept_json_begin_array(w, "layers");
    for (size_t i = 0; i < d->n_rows; i++)
        put_row(w, &d->rows[i]);
    adept_json_end_array(w);
    adept_json_begin_array(w, "parts");
    for (int i = 0; i < ADEPT_DIFF_PARTS; i++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "name", d->parts[i].name);
        put_three(w, &d->parts[i].old, &d->parts[i].now);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

static void put_warning(void *context, const char *text)
{
    adept_json_put_string(context, NULL, text);
}

adept_status adept_diff_print_json(adept_cli *cli, const adept_diff_report *r)
{
    const adept_diff *d = r->diff;
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    put_side(&w, "old", r->old, &d->old);
    put_side(&w, "new", r->now, &d->now);
    put_change(&w, d);
    put_check(&w, r->check);
    adept_json_begin_object(&w, "totals");
    put_three(&w, &d->old_total, &d->now_total);
    adept_json_end_object(&w);
    put_rows(&w, d);
    adept_json_begin_array(&w, "warnings");
    adept_diff_each_warning(r, put_warning, &w);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}
