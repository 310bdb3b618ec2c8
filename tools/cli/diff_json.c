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

static bool add_amounts(cJSON *parent, const char *key, const adept_diff_amounts *a)
{
    cJSON *o = cJSON_AddObjectToObject(parent, key);
    bool ok = o != NULL;

    for (int i = 0; ok && i < ADEPT_DIFF_AMOUNTS; i++)
        ok = adept_json_add_number(o, amount_keys[i], a->v[i]);
    return ok;
}

static bool add_three(cJSON *parent, const adept_diff_amounts *old, const adept_diff_amounts *now)
{
    adept_diff_amounts delta;

    for (int i = 0; i < ADEPT_DIFF_AMOUNTS; i++)
        delta.v[i] = now->v[i] - old->v[i];
    return add_amounts(parent, "old", old) && add_amounts(parent, "new", now) && add_amounts(parent, "delta", &delta);
}

/* Half-built objects go with the document: every item is added before it is filled. */
static cJSON *append_object(cJSON *array)
{
    cJSON *o = cJSON_CreateObject();

    if (o && cJSON_AddItemToArray(array, o)) return o;
    cJSON_Delete(o);
    return NULL;
}

static bool add_side(cJSON *root, const char *key, const adept_diff_side *side, const adept_prediction *p)
{
    const adept_profile *prof = side->profile;
    cJSON *o = cJSON_AddObjectToObject(root, key);

    if (!o) return false;
    bool ok = cJSON_AddStringToObject(o, "path", prof->model_path) &&
              (prof->model_sha256 && *prof->model_sha256 ? cJSON_AddStringToObject(o, "sha256", prof->model_sha256)
                                                         : cJSON_AddNullToObject(o, "sha256")) &&
              adept_json_add_number(o, "params", (double)prof->params) &&
              cJSON_AddStringToObject(o, "gpu", side->hw->name) &&
              cJSON_AddBoolToObject(o, "calibrated", adept_calibrated_for(side->hw, side->run)) &&
              cJSON_AddStringToObject(o, "mode", adept_mode_name(prof->mode)) &&
              cJSON_AddStringToObject(o, "precision", adept_precision_name(prof->precision)) &&
              adept_json_add_number(o, "batch_size", (double)prof->batch_size) &&
              adept_json_add_number(o, "gpus", side->run->gpus > 0 ? (double)side->run->gpus : 1) &&
              cJSON_AddStringToObject(o, "optimizer", prof->optimizer) &&
              adept_json_add_number(o, "grad_accum", (double)prof->grad_accum);
    return ok && adept_json_add_number(o, "power_avg_w", p->power_avg_w) &&
           adept_json_add_number(o, "energy_per_sample_j", p->energy_per_sample_j) &&
           adept_json_add_number(o, "kernels", p->kernels);
}

/* "change": what a check may look at. */
static bool add_change(cJSON *root, const adept_diff *d)
{
    cJSON *o = cJSON_AddObjectToObject(root, "change");
    bool ok = o != NULL;

    for (size_t i = 0; ok && i < ADEPT_DIFF_QUANTITIES; i++) {
        adept_diff_quantity quantity = (adept_diff_quantity)i;
        double old = adept_diff_value(&d->old, quantity), now = adept_diff_value(&d->now, quantity);
        cJSON *c = cJSON_AddObjectToObject(o, quantity_keys[i]);
        ok = c && adept_json_add_number(c, "old", old) && adept_json_add_number(c, "new", now) &&
             adept_json_add_number(c, "delta", now - old) &&
             adept_json_add_number(c, "percent", 100 * adept_diff_growth(d, quantity));
    }
    return ok;
}

static bool add_check(cJSON *root, const adept_diff_check *check)
{
    bool failed = false;

    if (isnan(check->limit)) return cJSON_AddNullToObject(root, "check");
    cJSON *o = cJSON_AddObjectToObject(root, "check");
    bool ok = o && adept_json_add_number(o, "fail_above_percent", 100 * check->limit);
    cJSON *on = ok ? cJSON_AddArrayToObject(o, "fail_on") : NULL,
          *exceeded = on ? cJSON_AddArrayToObject(o, "exceeded") : NULL;
    ok = exceeded != NULL;
    for (size_t i = 0; ok && i < ADEPT_DIFF_QUANTITIES; i++) {
        const char *name = adept_diff_quantity_name(i);
        if (check->on[i]) ok = cJSON_AddItemToArray(on, cJSON_CreateString(name));
        if (ok && check->exceeded[i]) ok = cJSON_AddItemToArray(exceeded, cJSON_CreateString(name));
        failed = failed || check->exceeded[i];
    }
    return ok && cJSON_AddBoolToObject(o, "failed", failed);
}

static bool add_row(cJSON *layers, const adept_diff_row *row)
{
    cJSON *o = append_object(layers);

    return o && cJSON_AddStringToObject(o, "status", adept_diff_status_name(row->status)) &&
           cJSON_AddStringToObject(o, "path", row->path) && cJSON_AddStringToObject(o, "old_path", row->old_path) &&
           cJSON_AddStringToObject(o, "module_class", row->module_class) &&
           cJSON_AddStringToObject(o, "old_class", row->old_class) &&
           adept_json_add_number(o, "modules", row->modules > 0 ? (double)row->modules : NAN) &&
           adept_json_add_number(o, "count", (double)row->count) &&
           adept_json_add_number(o, "old_count", (double)row->old_count) && add_three(o, &row->old, &row->now);
}

static bool add_rows(cJSON *root, const adept_diff *d)
{
    cJSON *layers = cJSON_AddArrayToObject(root, "layers"), *parts;
    bool ok = layers != NULL;

    for (size_t i = 0; ok && i < d->n_rows; i++)
        ok = add_row(layers, &d->rows[i]);
    parts = ok ? cJSON_AddArrayToObject(root, "parts") : NULL;
    ok = parts != NULL;
    for (int i = 0; ok && i < ADEPT_DIFF_PARTS; i++) {
        cJSON *o = append_object(parts);
        ok = o && cJSON_AddStringToObject(o, "name", d->parts[i].name) &&
             add_three(o, &d->parts[i].old, &d->parts[i].now);
    }
    return ok;
}

static bool add_warning(void *context, const char *text)
{
    return cJSON_AddItemToArray(context, cJSON_CreateString(text));
}

adept_status adept_diff_print_json(adept_cli *cli, const adept_diff_report *r)
{
    const adept_diff *d = r->diff;
    cJSON *root = cJSON_CreateObject(), *totals, *warnings;
    bool ok = root && adept_json_add_number(root, "schema_version", 1) && add_side(root, "old", r->old, &d->old) &&
              add_side(root, "new", r->now, &d->now) && add_change(root, d) && add_check(root, r->check);

    totals = ok ? cJSON_AddObjectToObject(root, "totals") : NULL;
    ok = totals && add_three(totals, &d->old_total, &d->now_total) && add_rows(root, d);
    warnings = ok ? cJSON_AddArrayToObject(root, "warnings") : NULL;
    ok = warnings && adept_diff_each_warning(r, add_warning, warnings);
    if (!ok) {
        cJSON_Delete(root);
        root = NULL;
    }
    return adept_json_emit(cli, root);
}
