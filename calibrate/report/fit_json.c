/** @file fit_json.c  A fit as the `fit` object of a hardware profile. Calls: model, adept_json, adept_json_writer. */
#include "adept_hwprofile_json.h"
#include "adept_json.h"
#include "adept_kernels.h"
#include "adept_operator_model.h"
#include "fit_report.h"
#include "nearest.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_in_fit_of(const adept_hwprofile *hw, const char *name)
{
    for (size_t i = 0; i < hw->n_parameters; i++)
        if (strcmp(hw->parameters[i].name, name) == 0) return true;
    return false;
}

static void put_values(adept_json_writer *w, const adept_fit *fit, const adept_hwprofile *base)
{
    adept_json_begin_object(w, "parameters");
    for (size_t i = 0; i < fit->n_parameters - fit->n_scalars; i++) {
        const adept_fit_parameter *p = &fit->parameters[i];
        /* Rows of one GPU say nothing of links: the sheet's numbers hold, and those of measured all-reduces. */
        bool of_link = strcmp(p->info.name, "l_hop_s") == 0 || strcmp(p->info.name, "bw_eff_bytes_per_s") == 0;
        if ((of_link && p->state == ADEPT_FIT_UNDETERMINED && !is_in_fit_of(base, p->info.name)) ||
            (base->transferred && adept_operator_is_own(i)))
            continue;
        adept_json_put_number(w, p->info.name, p->value);
    }
    adept_json_end_object(w);
    adept_json_begin_array(w, "scalars");
    for (size_t i = 0; i < fit->n_scalars; i++) {
        const adept_scalar *s = &fit->scalars[i];
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "name", s->name);
        adept_json_begin_object(w, "target");
        adept_json_put_string(w, adept_scalar_target_name(s->target), s->pattern);
        adept_json_end_object(w);
        adept_json_put_members(w, "term %s value %g", adept_term_name(s->term), s->value);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

/* Those whose bit is set. */
static void put_measured(adept_json_writer *w, const char *key, unsigned bits, adept_name_at names)
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; names(i); i++)
        if (bits >> i & 1) adept_json_put_string(w, NULL, names(i));
    adept_json_end_array(w);
}

static void put_stats(adept_json_writer *w, const char *quantity, const adept_error_stats *s)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"mape", s->mape}, {"median", s->median}, {"p90", s->p90},
                   {"max", s->max},   {"bias", s->bias},     {"coverage", s->coverage}};
    char key[64];
    snprintf(key, sizeof key, "n_%s", quantity);
    adept_json_put_integer(w, key, (int64_t)s->n);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(key, sizeof key, "%s_%s", numbers[i].name, quantity);
        adept_json_put_number(w, key, numbers[i].value);
    }
}

void adept_put_metrics(adept_json_writer *w, const adept_metrics *m)
{
    adept_json_put_integer(w, "n", (int64_t)m->n);
    adept_json_put_number(w, "mape_combined", m->mape_combined);
    put_stats(w, "time", &m->time);
    put_stats(w, "power", &m->power);
    put_stats(w, "energy", &m->energy);
    if (m->memory.n > 0) put_stats(w, "memory", &m->memory);
    if (m->clock.n > 0) put_stats(w, "clock", &m->clock);
    adept_json_put_number(w, "coverage", m->coverage);
}

/* Of each GPU left out, predicted from its sheet and the others. */
static void put_by_gpu(adept_json_writer *w, const adept_evaluation *e)
{
    adept_json_begin_object(w, "by_gpu");
    for (size_t i = 0; i < e->n_groups; i++) {
        const adept_metrics_group *g = &e->groups[i];
        if (g->n_columns != 1 || strcmp(g->columns[0], "gpu") != 0) continue;
        unsigned precisions = 0, modes = 0;
        const char *architecture = NULL;
        for (size_t k = 0; k < e->n; k++) {
            const adept_dataset_row *row = e->rows[k].measured;
            if (strcmp(row->hw->name, g->values[0]) != 0) continue;
            precisions |= 1u << row->precision;
            modes |= 1u << row->mode;
            architecture = row->hw->architecture;
        }
        adept_json_begin_object(w, g->values[0]);
        adept_json_put_members(w, "n %jd mape_time %g bias_time %g mape_power %g architecture %s",
                               (intmax_t)g->metrics.n, g->metrics.time.mape, g->metrics.time.bias,
                               g->metrics.power.mape, architecture);
        put_measured(w, "precisions", precisions, adept_precision_name);
        put_measured(w, "modes", modes, adept_mode_name);
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
}

static void put_floor(adept_json_writer *w, const char *key, const adept_evaluation *e)
{
    if (e)
        adept_json_put_object(w, key, "mape_time %g mape_power %g mape_combined %g", e->overall.time.mape,
                              e->overall.power.mape, e->overall.mape_combined);
    else
        adept_json_put_null(w, key);
}

static void put_errors(adept_json_writer *w, const adept_fit_report *r)
{
    adept_json_begin_object(w, "errors");
    adept_json_put_string(w, "unit", "percent");
    adept_json_begin_object(w, "in_sample");
    adept_put_metrics(w, &r->in_sample->overall);
    adept_json_end_object(w);
    /* By scheme; a scheme that could not be done says why instead of numbers. */
    adept_json_begin_object(w, "held_out");
    for (size_t i = 0; i < r->n_held_out; i++) {
        const adept_held_out *h = &r->held_out[i];
        adept_json_begin_object(w, h->scheme);
        if (h->evaluation) {
            adept_json_put_members(w, "folds %jd folds_failed %jd", (intmax_t)h->n_folds, (intmax_t)h->n_failed);
            adept_put_metrics(w, &h->evaluation->overall);
            if (adept_held_out_is_grouped(h->scheme)) put_by_gpu(w, h->evaluation);
        } else {
            adept_json_put_string(w, "impossible", h->impossible);
        }
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
    const adept_floors *f = &r->floors;
    adept_json_begin_object(w, "floors");
    adept_json_put_members(w, "efficiency %g power_w_per_gpu %g power_per_tdp %g", f->values.efficiency, f->power_w,
                           f->values.tdp_share);
    put_floor(w, "in_sample", f->in_sample);
    adept_json_begin_object(w, "held_out");
    for (size_t i = 0; i < r->n_held_out; i++)
        put_floor(w, r->held_out[i].scheme, f->held_out[i].evaluation);
    adept_json_end_object(w);
    adept_json_begin_array(w, "by_utilisation"); /* power of a GPU over its limit */
    for (size_t form = 0; form < ADEPT_UTILISATIONS; form++) {
        if (!f->utilisation_in_sample[form]) continue;
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "model %s shape %s a %g b %g", adept_utilisation_words[form],
                               adept_utilisation_shapes[form], f->values.a[form], f->values.b[form]);
        put_floor(w, "in_sample", f->utilisation_in_sample[form]);
        adept_json_begin_object(w, "held_out");
        for (size_t i = 0; i < r->n_held_out; i++)
            put_floor(w, r->held_out[i].scheme, f->utilisation_held_out[form][i].evaluation);
        adept_json_end_object(w);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_end_object(w);
    adept_json_end_object(w);
}

/* What parameters are listed for. */
typedef enum finding { AT_BOUND, UNDETERMINED, KEPT } finding;

static void put_names(adept_json_writer *w, const char *key, const adept_identifiability *id, finding of)
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < id->n; i++) {
        const adept_parameter_report *p = &id->parameters[i];
        const bool holds[] = {
            [AT_BOUND] = p->at_low || p->at_high, [UNDETERMINED] = p->free && !p->determined, [KEPT] = !p->free};
        if (holds[of]) adept_json_put_string(w, NULL, p->name);
    }
    adept_json_end_array(w);
}

/* What kernels have told the base: this fit stands on it. */
static void put_kernels(adept_json_writer *w, const adept_hwprofile *base)
{
    cJSON *fit = NULL;
    if (base->tiles) adept_put_tiles(w, base->tiles);
    if (!base->fit_json || base->granularity != ADEPT_GRANULARITY_OPERATOR) return;
    if (adept_json_parse(&fit, base->name, base->fit_json, strlen(base->fit_json), NULL) != ADEPT_OK)
        w->out.failed = true; /* it is a text of ours: only memory can be out */
    const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(fit, "kernels");
    if (kernels) adept_json_put_tree(w, "kernels", kernels);
    cJSON_Delete(fit);
}

/* Has it rows, and are none of them fitted to? Its kernels may be, where it has no rows. */
static bool is_only_judged(const adept_dataset *d, const char *gpu)
{
    bool any = false;
    for (size_t i = 0; d && i < d->n; i++) {
        if (strcmp(d->rows[i].hw->name, gpu) != 0) continue;
        if (d->rows[i].weight > 0.0) return false;
        any = true;
    }
    return any;
}

/* Whose numbers these are that others get. */
static void put_donors(adept_json_writer *w, const adept_hwprofile *base, const adept_dataset *d)
{
    if (!base->transferred) return;
    adept_json_put_bool(w, "transferred", true);
    adept_json_begin_array(w, "gpus");
    for (size_t i = 0; i < base->n_donors; i++)
        if (!is_only_judged(d, base->donors[i])) adept_json_put_string(w, NULL, base->donors[i]);
    adept_json_end_array(w);
    adept_json_put_strings(w, "vendors", base->donor_vendors, base->n_donor_vendors);
}

void adept_put_fit(adept_json_writer *w, const adept_fit_report *r, const char *date)
{
    const adept_fit *fit = r->fit;
    adept_json_begin_object(w, "fit");
    put_donors(w, r->base, r->dataset);
    adept_json_put_members(w, "granularity %s saturation %s", adept_granularity_name(fit->granularity),
                           fit->saturation);
    put_values(w, fit, r->base);
    const adept_intervals *v = &r->conformal.intervals;
    if (adept_json_begin_known(w, "intervals", !isnan(v->time_log[0]) || !isnan(v->power_log[0]))) {
        adept_json_put_number(w, "level", v->level);
        adept_json_put_pair(w, "time_log", v->time_log[0], v->time_log[1]);
        adept_json_put_pair(w, "power_log", v->power_log[0], v->power_log[1]);
        adept_json_put_number(w, "widen", v->widen);
        adept_json_begin_object(w, "range");
#define X(name, text) adept_json_put_pair(w, #name, v->low.name, v->high.name);
        ADEPT_RANGE_LIST(X)
#undef X
        put_measured(w, "precisions", v->precisions, adept_precision_name);
        put_measured(w, "modes", v->modes, adept_mode_name);
        put_measured(w, "executions", v->executions, adept_execution_name);
        adept_json_end_object(w);
        adept_json_put_members(w, "residuals %s n_time %jd n_power %jd", r->conformal.residuals,
                               (intmax_t)r->conformal.n_time, (intmax_t)r->conformal.n_power);
        adept_json_end_object(w);
    }
    if (fit->granularity == ADEPT_GRANULARITY_OPERATOR) put_kernels(w, r->base);
    const adept_dataset *d = r->dataset;
    adept_json_begin_object(w, "dataset");
    adept_json_begin_array(w, "files");
    for (size_t i = 0; i < d->n_files; i++) /* not the path: folders are nobody's business */
        adept_json_put_object(w, NULL, "name %s sha256 %s rows %jd", d->files[i].name, d->files[i].sha256,
                              (intmax_t)d->files[i].n_rows);
    adept_json_end_array(w);
    adept_json_put_members(w, "rows %jd excluded %jd other_gpus %jd", (intmax_t)d->n, (intmax_t)d->n_excluded,
                           (intmax_t)d->n_other_gpu);
    adept_json_end_object(w);
    put_errors(w, r);
    const adept_identifiability *id = &r->identifiability;
    adept_json_begin_object(w, "identifiability");
    adept_json_put_members(w, "free %jd determined %jd", (intmax_t)id->n_free, (intmax_t)id->n_determined);
    put_names(w, "at_bound", id, AT_BOUND);
    put_names(w, "undetermined", id, UNDETERMINED);
    put_names(w, "kept", id, KEPT);
    adept_json_begin_array(w, "groups");
    for (size_t i = 0; i < id->n_groups; i++)
        adept_json_put_object(w, NULL, "text %s std_error %g", id->groups[i].text, id->groups[i].std_error);
    adept_json_end_array(w);
    adept_json_put_members(w, "noise_time_log %g noise_power_log %g", id->noise_time, id->noise_power);
    adept_json_end_object(w);
    adept_json_put_unsigned(w, "seed", fit->seed);
    adept_json_put_members(w, "generations %jd converged %d", (intmax_t)fit->generations, fit->converged);
    if (date) adept_json_put_string(w, "date", date);
    adept_json_put_string(w, "version", ADEPT_VERSION);
    adept_json_end_object(w);
}

/* ---- the whole file ---- */

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

/* What all-reduces told stands in the sheet, and it says from where. */
static adept_status set_measured(cJSON *root, const adept_hwprofile *hw, adept_error *err)
{
    static const struct {
        const char *name;
        adept_spec spec;
    } measured[] = {{"allreduce_link_share", ADEPT_SPEC_allreduce_link_share},
                    {"allreduce_hop_s", ADEPT_SPEC_allreduce_hop_s}};
    cJSON *specs = cJSON_GetObjectItemCaseSensitive(root, "specs");
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double value = ((const double *)&hw->specs)[measured[i].spec];
        if (isnan(value)) continue;
        cJSON_DeleteItemFromObjectCaseSensitive(specs, measured[i].name);
        cJSON *item = cJSON_AddObjectToObject(specs, measured[i].name);
        if (!cJSON_AddNumberToObject(item, "value", value) ||
            !cJSON_AddStringToObject(item, "source", hw->sources ? hw->sources[measured[i].spec] : ""))
            return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", hw->name);
    }
    return ADEPT_OK;
}

/* The sheet as it stands, embedded or in the file it was read from. What several GPUs share has none. */
static adept_status put_sheet(adept_json_writer *w, const adept_hwprofile *base, bool fit, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    cJSON *root = NULL;
    if (base->transferred && !fit) {
        adept_json_put_integer(w, "schema_version", 1);
        return ADEPT_OK;
    }
    adept_status status = adept_gpu_text(&text, &size, base, err);
    if (status == ADEPT_OK) status = adept_json_parse(&root, base->path, text, size, err);
    if (status == ADEPT_OK) status = set_measured(root, base, err);
    if (status == ADEPT_OK) adept_gpu_put_sheet(w, root);
    if (status == ADEPT_OK && fit) adept_json_put_tree(w, "fit", cJSON_GetObjectItemCaseSensitive(root, "fit"));
    cJSON_Delete(root);
    free(text);
    return status;
}

/* The text of a file, or nothing where putting it together has failed. */
static adept_status end_file(char **text, adept_json_writer *w, adept_status status, const adept_hwprofile *base,
                             adept_error *err)
{
    adept_json_end_object(w);
    adept_buffer_text(&w->out, "\n");
    char *whole = adept_json_finish(w);
    if (!whole && status == ADEPT_OK) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", base->name);
    if (status == ADEPT_OK) status = check_readable(whole, base, err);
    if (status == ADEPT_OK)
        *text = whole;
    else
        free(whole);
    return status;
}

adept_status adept_fit_report_to_hwprofile(char **text, const adept_fit_report *r, const char *date, adept_error *err)
{
    adept_json_writer w = {.pretty = true};
    adept_json_begin_object(&w, NULL);
    adept_status status = put_sheet(&w, r->base, false, err);
    if (status == ADEPT_OK) adept_put_fit(&w, r, date);
    return end_file(text, &w, status, r->base, err);
}

adept_status adept_collective_fit_to_hwprofile(char **text, const adept_hwprofile *hw, adept_error *err)
{
    adept_json_writer w = {.pretty = true};
    adept_json_begin_object(&w, NULL);
    adept_status status = put_sheet(&w, hw, true, err);
    adept_hwprofile sheet = *hw;
    sheet.transferred = false; /* what is written is this GPU's */
    return end_file(text, &w, status, &sheet, err);
}

adept_status adept_kernel_fit_to_hwprofile(char **text, const adept_hwprofile *hw, const char *date, adept_error *err)
{
    adept_json_writer w = {.pretty = true};
    cJSON *fit = NULL;
    adept_json_begin_object(&w, NULL);
    adept_status status = put_sheet(&w, hw, false, err);
    if (status == ADEPT_OK) status = adept_json_parse(&fit, hw->name, hw->fit_json, strlen(hw->fit_json), err);
    if (status == ADEPT_OK) {
        const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(fit, "parameters");
        adept_json_begin_object(&w, "fit");
        for (const cJSON *item = fit->child; item; item = item->next)
            if (item != parameters) adept_json_put_tree(&w, item->string, item);
        adept_json_put_tree(&w, "parameters", parameters);
        put_donors(&w, hw, NULL);
        adept_json_put_members(&w, "date %s version %s", date, ADEPT_VERSION);
        adept_json_end_object(&w);
    }
    cJSON_Delete(fit);
    return end_file(text, &w, status, hw, err);
}
