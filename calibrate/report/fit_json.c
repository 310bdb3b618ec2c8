/** @file fit_json.c  A fit as the `fit` object of a hardware profile. Calls: model, cJSON. */
#include "adept_kernels.h"
#include "adept_operator_model.h"
#include "fit_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROFILE_BYTES ((size_t)64 << 20)

static void put_values(json_writer *w, cJSON *fit_object, const adept_fit *fit, bool shared)
{
    cJSON *parameters = adept_put_object(w, fit_object, "parameters");
    for (size_t i = 0; i < fit->n_parameters - fit->n_scalars; i++)
        if (!shared || !adept_operator_is_own(i))
            adept_put_number(w, parameters, fit->parameters[i].info.name, fit->parameters[i].value);
    cJSON *scalars = adept_put_array(w, fit_object, "scalars");
    for (size_t i = 0; i < fit->n_scalars; i++) {
        const adept_scalar *s = &fit->scalars[i];
        cJSON *o = adept_push_object(w, scalars);
        adept_put_string(w, o, "name", s->name);
        cJSON *target = adept_put_object(w, o, "target");
        adept_put_string(w, target, adept_scalar_target_name(s->target), s->pattern);
        adept_put_string(w, o, "term", adept_term_name(s->term));
        adept_put_number(w, o, "value", s->value);
    }
}

static void put_range(json_writer *w, cJSON *intervals, const adept_intervals *v)
{
    cJSON *range = adept_put_object(w, intervals, "range");
#define X(name, text) adept_put_range(w, range, #name, v->low.name, v->high.name);
    ADEPT_RANGE_LIST(X)
#undef X
    cJSON *precisions = adept_put_array(w, range, "precisions"), *modes = adept_put_array(w, range, "modes");
    for (int p = ADEPT_FP32; p < ADEPT_PRECISION_COUNT; p++)
        if (v->precisions >> p & 1) adept_push_string(w, precisions, adept_precision_name((adept_precision)p));
    for (int m = ADEPT_MODE_TRAIN; m <= ADEPT_MODE_INFER; m++)
        if (v->modes >> m & 1) adept_push_string(w, modes, adept_mode_name((adept_mode)m));
}

static void put_intervals(json_writer *w, cJSON *fit_object, const adept_conformal *c)
{
    const adept_intervals *v = &c->intervals;
    if (isnan(v->time_log[0]) && isnan(v->power_log[0])) {
        adept_put_null(w, fit_object, "intervals");
        return;
    }
    cJSON *o = adept_put_object(w, fit_object, "intervals");
    adept_put_number(w, o, "level", v->level);
    adept_put_range(w, o, "time_log", v->time_log[0], v->time_log[1]);
    adept_put_range(w, o, "power_log", v->power_log[0], v->power_log[1]);
    adept_put_number(w, o, "widen", v->widen);
    put_range(w, o, v);
    adept_put_string(w, o, "residuals", c->residuals);
    adept_put_integer(w, o, "n_time", (int64_t)c->n_time);
    adept_put_integer(w, o, "n_power", (int64_t)c->n_power);
}

static void put_dataset(json_writer *w, cJSON *fit_object, const adept_dataset *d)
{
    cJSON *o = adept_put_object(w, fit_object, "dataset"), *files = adept_put_array(w, o, "files");
    for (size_t i = 0; i < d->n_files; i++) {
        cJSON *file = adept_push_object(w, files);
        adept_put_string(w, file, "name", d->files[i].name); /* not the path: folders are nobody's business */
        adept_put_string(w, file, "sha256", d->files[i].sha256);
        adept_put_integer(w, file, "rows", (int64_t)d->files[i].n_rows);
    }
    adept_put_integer(w, o, "rows", (int64_t)d->n);
    adept_put_integer(w, o, "excluded", (int64_t)d->n_excluded);
    adept_put_integer(w, o, "other_gpus", (int64_t)d->n_other_gpu);
}

/* Of each GPU left out, predicted from its sheet and the others. */
static void put_by_gpu(json_writer *w, cJSON *scheme, const adept_evaluation *e)
{
    cJSON *o = adept_put_object(w, scheme, "by_gpu");
    for (size_t i = 0; i < e->n_groups; i++) {
        const adept_group *g = &e->groups[i];
        if (g->n_columns != 1 || strcmp(g->columns[0], "gpu") != 0) continue;
        cJSON *gpu = adept_put_object(w, o, g->values[0]);
        adept_put_integer(w, gpu, "n", (int64_t)g->metrics.n);
        adept_put_number(w, gpu, "mape_time", g->metrics.time.mape);
        adept_put_number(w, gpu, "bias_time", g->metrics.time.bias);
        adept_put_number(w, gpu, "mape_power", g->metrics.power.mape);
    }
}

/* By scheme; a scheme that could not be done says why instead of numbers. */
static void put_held_out(json_writer *w, cJSON *errors, const adept_fit_report *r)
{
    cJSON *o = adept_put_object(w, errors, "held_out");
    for (size_t i = 0; i < r->n_held_out; i++) {
        const adept_held_out *h = &r->held_out[i];
        cJSON *scheme = adept_put_object(w, o, h->scheme);
        if (!h->evaluation) {
            adept_put_string(w, scheme, "impossible", h->impossible);
            continue;
        }
        adept_put_integer(w, scheme, "folds", (int64_t)h->n_folds);
        adept_put_integer(w, scheme, "folds_failed", (int64_t)h->n_failed);
        adept_put_metrics(w, scheme, &h->evaluation->overall);
        if (adept_held_out_is_grouped(h->scheme)) put_by_gpu(w, scheme, h->evaluation);
    }
}

static void put_floor(json_writer *w, cJSON *parent, const char *key, const adept_evaluation *e)
{
    if (!e) {
        adept_put_null(w, parent, key);
        return;
    }
    cJSON *o = adept_put_object(w, parent, key);
    adept_put_number(w, o, "mape_time", e->overall.time.mape);
    adept_put_number(w, o, "mape_power", e->overall.power.mape);
    adept_put_number(w, o, "mape_combined", e->overall.mape_combined);
}

static void put_floors(json_writer *w, cJSON *errors, const adept_fit_report *r)
{
    const adept_floors *f = &r->floors;
    cJSON *o = adept_put_object(w, errors, "floors");
    adept_put_number(w, o, "efficiency", f->values.efficiency);
    adept_put_number(w, o, "power_w_per_gpu", f->power_w);
    adept_put_number(w, o, "power_per_tdp", f->values.tdp_share);
    put_floor(w, o, "in_sample", f->in_sample);
    cJSON *held_out = adept_put_object(w, o, "held_out");
    for (size_t i = 0; i < r->n_held_out; i++)
        put_floor(w, held_out, r->held_out[i].scheme, f->held_out[i].evaluation);
}

static void put_errors(json_writer *w, cJSON *fit_object, const adept_fit_report *r)
{
    cJSON *errors = adept_put_object(w, fit_object, "errors");
    adept_put_string(w, errors, "unit", "percent");
    adept_put_metrics(w, adept_put_object(w, errors, "in_sample"), &r->in_sample->overall);
    put_held_out(w, errors, r);
    put_floors(w, errors, r);
}

static void put_identifiability(json_writer *w, cJSON *fit_object, const adept_identifiability *id)
{
    cJSON *o = adept_put_object(w, fit_object, "identifiability");
    adept_put_integer(w, o, "free", (int64_t)id->n_free);
    adept_put_integer(w, o, "determined", (int64_t)id->n_determined);
    cJSON *bound = adept_put_array(w, o, "at_bound"), *unknown = adept_put_array(w, o, "undetermined");
    cJSON *kept = adept_put_array(w, o, "kept");
    for (size_t i = 0; i < id->n; i++) {
        const adept_parameter_report *p = &id->parameters[i];
        if (p->at_low || p->at_high) adept_push_string(w, bound, p->name);
        if (p->free && !p->determined) adept_push_string(w, unknown, p->name);
        if (!p->free) adept_push_string(w, kept, p->name);
    }
    cJSON *groups = adept_put_array(w, o, "groups");
    for (size_t i = 0; i < id->n_groups; i++) {
        cJSON *group = adept_push_object(w, groups);
        adept_put_string(w, group, "text", id->groups[i].text);
        adept_put_number(w, group, "std_error", id->groups[i].std_error);
    }
    adept_put_number(w, o, "noise_time_log", id->noise_time);
    adept_put_number(w, o, "noise_power_log", id->noise_power);
}

/* What kernels have told the base: this fit stands on it. */
static void put_kernels(json_writer *w, cJSON *fit_object, const adept_hwprofile *base)
{
    cJSON *kernels = adept_kernel_part(base, "kernels");
    if (base->tiles) adept_put_tiles(w, fit_object, base->tiles);
    if (!kernels || (fit_object && cJSON_AddItemToObject(fit_object, "kernels", kernels))) return;
    cJSON_Delete(kernels);
    w->failed = true;
}

static void put_texts(json_writer *w, cJSON *o, const char *key, const char *const *texts, size_t n)
{
    cJSON *array = adept_put_array(w, o, key);
    for (size_t i = 0; i < n; i++)
        adept_push_string(w, array, texts[i]);
}

/* Whose numbers these are that others get. */
static void put_donors(json_writer *w, cJSON *fit_object, const adept_hwprofile *base)
{
    if (!base->transferred) return;
    adept_put_bool(w, fit_object, "transferred", true);
    put_texts(w, fit_object, "gpus", base->donors, base->n_donors);
    put_texts(w, fit_object, "vendors", base->donor_vendors, base->n_donor_vendors);
}

void adept_put_fit(json_writer *w, cJSON *root, const adept_fit_report *r, const char *date)
{
    const adept_fit *fit = r->fit;
    cJSON *o = adept_put_object(w, root, "fit");
    put_donors(w, o, r->base);
    adept_put_string(w, o, "granularity", fit->granularity == ADEPT_GRANULARITY_MODEL ? "model" : "operator");
    adept_put_string(w, o, "saturation", fit->saturation);
    put_values(w, o, fit, r->base->transferred);
    put_intervals(w, o, &r->conformal);
    if (fit->granularity == ADEPT_GRANULARITY_OPERATOR) put_kernels(w, o, r->base);
    put_dataset(w, o, r->dataset);
    put_errors(w, o, r);
    put_identifiability(w, o, &r->identifiability);
    adept_put_unsigned(w, o, "seed", fit->seed);
    adept_put_integer(w, o, "generations", fit->generations);
    adept_put_bool(w, o, "converged", fit->converged);
    if (date) adept_put_string(w, o, "date", date);
    adept_put_string(w, o, "version", ADEPT_VERSION);
}

/* ---- the whole file ---- */

/* The sheet as it stands: embedded, or the file it was read from. What several GPUs share has none. */
static adept_status parse_base(cJSON **out, const adept_hwprofile *base, adept_error *err)
{
    static const char no_sheet[] = "{\"schema_version\": 1}";
    if (base->transferred) return adept_json_parse(out, base->name, no_sheet, sizeof no_sheet - 1, err);
    const char *name = NULL, *text;
    size_t size;
    for (size_t i = 0; strcmp(base->path, "built in") == 0 && (name = adept_hwprofile_builtin_name(i)); i++)
        if (strcmp(name, base->name) == 0 && (text = adept_hwprofile_builtin_json(i, &size)))
            return adept_json_parse(out, base->name, text, size, err);
    char *file = NULL;
    adept_status status = adept_file_read(&file, &size, base->path, MAX_PROFILE_BYTES, err);
    if (status == ADEPT_OK) status = adept_json_parse(out, base->path, file, size, err);
    free(file);
    return status;
}

/* What is written must be read again. */
static adept_status check_readable(const char *text, const adept_hwprofile *base, adept_error *err)
{
    adept_hwprofile *hw = NULL, *any = NULL;
    adept_error cause = {0};
    adept_status status;
    if (base->transferred) {
        size_t size;
        const char *json = adept_hwprofile_builtin_json(0, &size);
        status = adept_hwprofile_from_json(&any, adept_hwprofile_builtin_name(0), json, size, &cause);
        if (status == ADEPT_OK) status = adept_hwprofile_transfer(any, base->name, text, strlen(text), &cause);
    } else {
        status = adept_hwprofile_from_json(&hw, base->name, text, strlen(text), &cause);
    }
    adept_hwprofile_free(hw);
    adept_hwprofile_free(any);
    if (status == ADEPT_OK) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_INTERNAL, "the fitted profile is not readable: %s", cause.message);
}

/* `root`, which is freed, as the text of a file. */
static adept_status finish_profile(char **text, json_writer *w, cJSON *root, const adept_hwprofile *base,
                                   adept_error *err)
{
    char *body = adept_json_finish(w, root, true);
    size_t length = body ? strlen(body) : 0;
    char *whole = body ? realloc(body, length + 2) : NULL;
    if (!whole) {
        free(body);
        return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", base->name);
    }
    whole[length] = '\n';
    whole[length + 1] = '\0';
    adept_status status = check_readable(whole, base, err);
    if (status == ADEPT_OK)
        *text = whole;
    else
        free(whole);
    return status;
}

adept_status adept_fit_report_to_hwprofile(char **text, const adept_fit_report *r, const char *date, adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = parse_base(&root, r->base, err);
    if (status != ADEPT_OK) return status;
    json_writer w = {0};
    cJSON_DeleteItemFromObjectCaseSensitive(root, "fit");
    adept_put_fit(&w, root, r, date);
    return finish_profile(text, &w, root, r->base, err);
}

adept_status adept_kernel_fit_to_hwprofile(char **text, const adept_hwprofile *hw, const char *date, adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = parse_base(&root, hw, err);
    if (status != ADEPT_OK) return status;
    json_writer w = {0};
    cJSON_DeleteItemFromObjectCaseSensitive(root, "fit");
    cJSON *fit = hw->fit_json ? cJSON_Parse(hw->fit_json) : NULL;
    if (!fit || !cJSON_AddItemToObject(root, "fit", fit)) {
        cJSON_Delete(fit);
        cJSON_Delete(root);
        return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", hw->name);
    }
    /* cJSON prints a number that it has read with the last bit lost; these are what steps fitted later start from. */
    cJSON_DeleteItemFromObjectCaseSensitive(fit, "parameters");
    cJSON *parameters = adept_put_object(&w, fit, "parameters");
    for (size_t i = 0; i < hw->n_parameters; i++)
        adept_put_number(&w, parameters, hw->parameters[i].name, hw->parameters[i].value);
    put_donors(&w, fit, hw);
    adept_put_string(&w, fit, "date", date);
    adept_put_string(&w, fit, "version", ADEPT_VERSION);
    return finish_profile(text, &w, root, hw, err);
}
