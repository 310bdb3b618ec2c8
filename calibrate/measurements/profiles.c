/** @file profiles.c  Rows -> profiles: which configurations there are, which are kept from earlier runs, which to make.
 */
#include "adept_batches.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_json.h"
#include "cache.h"
#include "dataset_private.h"
#include "models.h"
#include "profile_worker.h"
#include "sha256.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A distinct configuration. */
typedef struct entry {
    adept_profile_job job;
    const char *config; /* as text: same path and text, same profile */
    adept_profile *profile;
    adept_file_format format;
} entry;

typedef struct plan {
    adept_dataset *d;
    const adept_dataset_options *options;
    adept_arena *arena; /* paths and specs, until the profiles are there */
    adept_cache cache;
    size_t n;
    entry *entries;
    size_t *of_row; /* entry of each row */
    bool cache_failed;
} plan;

/* ---------------------------------------------------------------- what there is to make -------------------------- */

static char *config_text(adept_arena *arena, const adept_workload_config *c)
{
    char text[512 + ADEPT_ROW_MAX_INPUTS * 256];
    size_t used = (size_t)snprintf(text, sizeof text, "%s %s %s %s %" PRId64 " %" PRId64, adept_mode_name(c->mode),
                                   adept_precision_name(c->precision), adept_attention_name(c->attention), c->optimizer,
                                   c->batch_size, c->grad_accum);

    for (size_t i = 0; i < c->n_inputs; i++) {
        char spec[256];
        adept_input_spec_print(&c->inputs[i], spec, sizeof spec);
        used += (size_t)snprintf(text + used, sizeof text - used, " %s", spec);
    }
    return adept_arena_strdup(arena, text);
}

static adept_status add_row(plan *p, size_t row, const char *path, adept_error *err)
{
    adept_input_spec specs[ADEPT_ROW_MAX_INPUTS];
    adept_workload_config config;
    adept_status status = adept_row_config(&config, specs, &p->d->rows[row], err);

    if (status != ADEPT_OK) return status;
    const char *text = config_text(p->arena, &config);
    adept_input_spec *inputs = adept_arena_array(p->arena, config.n_inputs + 1, sizeof *inputs);
    if (!text || !inputs) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    memcpy(inputs, specs, config.n_inputs * sizeof *inputs);
    config.inputs = inputs;
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->entries[i].job.path, path) != 0 || strcmp(p->entries[i].config, text) != 0) continue;
        p->of_row[row] = i;
        return ADEPT_OK;
    }
    p->entries[p->n] = (entry){.job = {.path = path, .config = config}, .config = text};
    p->of_row[row] = p->n++;
    return ADEPT_OK;
}

static adept_status add_rows(plan *p, adept_error *err)
{
    const char *folder, *path;
    adept_dataset *d = p->d;
    adept_status status = adept_models_folder(&folder, d->arena, p->options->models, err);

    for (size_t i = 0; i < d->n && status == ADEPT_OK; i++) {
        status = adept_models_find(&path, d->arena, &d->rows[i], folder, err);
        if (status != ADEPT_OK) return status;
        d->rows[i].model_path = path;
        status = add_row(p, i, path, err);
    }
    return status;
}

/* ---------------------------------------------------------------- what is there already -------------------------- */

/* Format and hash of the file, once per path. */
static void look_at(plan *p, size_t index)
{
    entry *e = &p->entries[index];
    adept_error err = {0};
    char hash[65];

    for (size_t i = 0; i < index; i++) {
        if (strcmp(p->entries[i].job.path, e->job.path) != 0) continue;
        e->format = p->entries[i].format;
        e->job.sha256 = p->entries[i].job.sha256;
        e->job.done = e->job.sha256 == NULL;
        e->job.status = e->job.done ? p->entries[i].job.status : ADEPT_OK;
        memcpy(e->job.message, p->entries[i].job.message, sizeof e->job.message);
        return;
    }
    adept_status status = adept_file_detect(&e->format, e->job.path, &err);
    if (status == ADEPT_OK) status = adept_file_sha256(hash, e->job.path, &err);
    if (status == ADEPT_OK && !(e->job.sha256 = adept_arena_strdup(p->arena, hash)))
        status = adept_error_set(&err, ADEPT_E_NOMEM, "out of memory");
    if (status == ADEPT_OK) return;
    e->job.done = true;
    e->job.status = status;
    memcpy(e->job.message, err.message, sizeof e->job.message);
}

static adept_status contradiction(const entry *e, const char *what, const char *recorded, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_INVALID, "%s: the profile was recorded with %s %s; profile the model again",
                           e->job.path, what, recorded);
}

/* A saved profile is of one configuration, but for batch sizes; what the row says must be that one. */
static adept_status check_saved(const entry *e, const adept_profile *p, adept_error *err)
{
    const adept_workload_config *c = &e->job.config;
    char number[32];

    if (c->mode != p->mode) return contradiction(e, "mode", adept_mode_name(p->mode), err);
    if (c->precision != p->precision) return contradiction(e, "precision", adept_precision_name(p->precision), err);
    if (c->attention != p->attention) return contradiction(e, "attention", adept_attention_name(p->attention), err);
    if (strcmp(c->optimizer, p->optimizer) != 0) return contradiction(e, "optimizer", p->optimizer, err);
    if (c->batch_size > 0 && c->batch_size != p->batch_size) {
        snprintf(number, sizeof number, "%" PRId64, p->batch_size);
        return contradiction(e, "batch_size", number, err);
    }
    if (c->grad_accum != p->grad_accum) {
        snprintf(number, sizeof number, "%" PRId64, p->grad_accum);
        return contradiction(e, "grad_accum", number, err);
    }
    for (size_t i = 0; i < c->n_inputs; i++) {
        char shape[256];
        adept_input_spec spec = c->inputs[i];
        if (i >= p->n_inputs) return contradiction(e, "input", "fewer inputs", err);
        adept_input_spec_settle(&spec, p->batch_size, c->batch_size > 0, p->seq_length);
        adept_input_spec_print(&spec, shape, sizeof shape);
        if (strcmp(shape, p->inputs[i].shape) != 0) return contradiction(e, "input", p->inputs[i].shape, err);
    }
    return ADEPT_OK;
}

static void read_saved(entry *e)
{
    adept_error err = {0};
    adept_status status = adept_profile_read_at(&e->profile, e->job.path, e->job.config.batch_size, &err);

    if (status == ADEPT_OK) status = check_saved(e, e->profile, &err);
    e->job.done = true;
    e->job.status = status;
    memcpy(e->job.message, err.message, sizeof e->job.message);
    if (status == ADEPT_OK) return;
    adept_profile_free(e->profile);
    e->profile = NULL;
}

/* Text of a profile -> the entry's profile. @return false if it is not of this file */
static bool take_text(entry *e, const char *text, size_t size, adept_error *err)
{
    adept_profile *profile = NULL;

    if (adept_profile_from_json(&profile, e->job.path, text, size, err) != ADEPT_OK) return false;
    if (strcmp(profile->model_sha256, e->job.sha256) != 0) {
        adept_error_set(err, ADEPT_E_INVALID, "%s: the file changed while it was read", e->job.path);
        adept_profile_free(profile);
        return false;
    }
    /* The text may have been made from a copy of the file at another place. */
    const char *path = adept_arena_strdup(profile->arena, e->job.path);
    if (path) profile->model_path = path;
    e->profile = profile;
    return true;
}

static void recall(plan *p, entry *e)
{
    size_t size;

    adept_cache_key(e->job.key, &p->cache, e->job.sha256, e->config);
    char *text = p->options->no_cache ? NULL : adept_cache_get(&p->cache, e->job.key, &size);
    if (text) e->job.done = take_text(e, text, size, NULL);
    free(text);
}

/* ---------------------------------------------------------------- making the rest -------------------------------- */

static void accept(plan *p, entry *e)
{
    adept_error err = {0};

    if (e->profile || e->job.status != ADEPT_OK || !e->job.json) return;
    if (!take_text(e, e->job.json, e->job.json_bytes, &err)) {
        e->job.status = err.status;
        memcpy(e->job.message, err.message, sizeof e->job.message);
        return;
    }
    if (p->options->no_cache || p->cache_failed) return;
    if (adept_cache_put(&p->cache, e->job.key, e->job.json, e->job.json_bytes, &err) == ADEPT_OK) return;
    p->cache_failed = true; /* nothing is lost but time */
    adept_dataset_warn(p->d, "profiles cannot be kept for the next run: %s", err.message);
}

static int by_path(const void *a, const void *b)
{
    const adept_profile_job *x = *(adept_profile_job *const *)a, *y = *(adept_profile_job *const *)b;
    int order = strcmp(x->path, y->path);
    return order != 0 ? order : (x > y) - (x < y);
}

static adept_status make_missing(plan *p, adept_error *err)
{
    const adept_worker_options options = {
        .processes = p->options->processes,
        .trust = p->options->trust,
        .progress = p->options->progress,
        .context = p->options->context,
    };
    size_t n = 0;
    adept_profile_job **jobs = calloc(p->n + 1, sizeof *jobs);
    adept_status status = ADEPT_OK;

    if (!jobs) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    for (size_t i = 0; i < p->n; i++)
        if (!p->entries[i].job.done) jobs[n++] = &p->entries[i].job;
    qsort(jobs, n, sizeof *jobs, by_path);
    if (n > 0) status = adept_profile_jobs_run(jobs, n, &options, err);
    free(jobs);
    for (size_t i = 0; i < p->n; i++)
        accept(p, &p->entries[i]);
    return status;
}

/* ---------------------------------------------------------------- into the rows ---------------------------------- */

static void keep_unsupported(adept_dataset *d, const char *json, size_t size)
{
    cJSON *list = NULL;
    const cJSON *item;

    if (!json || adept_json_parse(&list, "", json, size, NULL) != ADEPT_OK) return;
    size_t n = (size_t)cJSON_GetArraySize(list);
    adept_unsupported *ops = adept_arena_array(d->arena, n + 1, sizeof *ops);
    d->private_->unsupported = ops;
    cJSON_ArrayForEach(item, list)
    {
        adept_json_reader r = {.name = "", .err = NULL};
        const char *reason = adept_json_string(&r, item, "reason");
        if (!ops || r.status != ADEPT_OK) break;
        adept_unsupported *o = &ops[d->private_->n_unsupported];
        *o = (adept_unsupported){
            .op = adept_arena_strdup(d->arena, adept_json_string(&r, item, "op")),
            .reason = *reason ? adept_arena_strdup(d->arena, reason) : NULL,
            .path = adept_arena_strdup(d->arena, adept_json_string(&r, item, "path")),
            .count = adept_json_count(&r, item, "count"),
        };
        if (!o->op || !o->path) break;
        d->private_->n_unsupported++;
    }
    cJSON_Delete(list);
}

/* A shape that is missing or does not fit is wrong usage of `adept profile`, but here the file says what runs. */
static adept_status report(plan *p, const adept_measurement *m, const entry *e, adept_error *err)
{
    adept_status status = e->job.status == ADEPT_E_USAGE ? ADEPT_E_INVALID : e->job.status;

    if (status == ADEPT_E_UNSUPPORTED) keep_unsupported(p->d, e->job.json, e->job.json_bytes);
    adept_error_set(err, status, "%s:%ld: %s", m->file, m->line, e->job.message);
    if (err) err->line = (int)m->line;
    return status;
}

static adept_status hand_over(plan *p, adept_error *err)
{
    char text[32];

    for (size_t i = 0; i < p->d->n; i++) {
        const entry *e = &p->entries[p->of_row[i]];
        if (!e->profile) return report(p, &p->d->rows[i], e, err);
    }
    for (size_t i = 0; i < p->n; i++) {
        adept_profile *profile = p->entries[i].profile;
        p->entries[i].profile = NULL;
        if (!adept_dataset_own_profile(p->d, profile)) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
        for (size_t r = 0; r < p->d->n; r++) {
            adept_measurement *m = &p->d->rows[r];
            if (p->of_row[r] != i) continue;
            m->profile = profile;
            m->batch_size = profile->batch_size;
            snprintf(text, sizeof text, "%" PRId64, m->batch_size);
            const char *copy = adept_arena_strdup(p->d->arena, text);
            if (!copy) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
            adept_row_set_text(m, "batch_size", copy);
        }
    }
    return ADEPT_OK;
}

static void plan_free(plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        adept_profile_free(p->entries[i].profile);
        free(p->entries[i].job.json);
    }
    free(p->entries);
    free(p->of_row);
    adept_cache_close(&p->cache);
    adept_arena_free(p->arena);
}

adept_status adept_dataset_profiles(adept_dataset *d, const adept_dataset_options *options, adept_error *err)
{
    static const adept_dataset_options defaults = {0};
    plan p = {.d = d, .options = options ? options : &defaults, .arena = adept_arena_new()};
    adept_status status = ADEPT_OK;

    d->private_->trust = p.options->trust;
    p.entries = calloc(d->n + 1, sizeof *p.entries);
    p.of_row = calloc(d->n + 1, sizeof *p.of_row);
    if (!p.arena || !p.entries || !p.of_row || !adept_cache_open(&p.cache, p.options->cache))
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    if (status == ADEPT_OK) status = add_rows(&p, err);
    for (size_t i = 0; i < p.n && status == ADEPT_OK; i++) {
        entry *e = &p.entries[i];
        look_at(&p, i);
        if (e->job.done) continue;
        if (e->format == ADEPT_FORMAT_PROFILE)
            read_saved(e);
        else
            recall(&p, e);
    }
    if (status == ADEPT_OK) status = make_missing(&p, err);
    if (status == ADEPT_OK) status = hand_over(&p, err);
    plan_free(&p);
    return status;
}

/* ---------------------------------------------------------------- other configurations --------------------------- */

static adept_status graph_of(adept_dataset *d, const char *path, const adept_graph **out, adept_error *err)
{
    struct adept_dataset_private *p = d->private_;
    const adept_import_options import = {.trust = p->trust};
    adept_graph *graph = NULL;

    for (size_t i = 0; i < p->n_graphs; i++) {
        if (strcmp(p->graphs[i].path, path) != 0) continue;
        *out = p->graphs[i].graph;
        return ADEPT_OK;
    }
    kept_graph *grown = reallocarray(p->graphs, p->n_graphs + 1, sizeof *grown);
    if (!grown) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    p->graphs = grown;
    adept_status status = adept_import_model(&graph, path, &import, err);
    if (status != ADEPT_OK) return status;
    p->graphs[p->n_graphs++] = (kept_graph){.path = path, .graph = graph};
    *out = graph;
    return ADEPT_OK;
}

adept_status adept_dataset_profile_like(adept_dataset *d, const adept_measurement *like,
                                        const adept_measurement_change *change, const adept_profile **out,
                                        adept_error *err)
{
    adept_input_spec specs[ADEPT_ROW_MAX_INPUTS];
    adept_workload_config config;
    adept_file_format format;
    const adept_graph *graph = NULL;
    adept_profile *profile = NULL;
    const char *path = like->model_path;

    if (!path) return adept_error_set(err, ADEPT_E_USAGE, "the row has no profile yet");
    adept_status status = adept_row_config(&config, specs, like, err);
    if (status == ADEPT_OK) status = adept_file_detect(&format, path, err);
    if (status != ADEPT_OK) return status;
    if (format == ADEPT_FORMAT_PROFILE)
        return adept_error_set(err, ADEPT_E_UNSUPPORTED, "%s: a saved profile is of one configuration only", path);
    if (change->batch_size > 0) config.batch_size = change->batch_size;
    if (change->precision && !adept_precision_from_name(&config.precision, change->precision))
        return adept_error_set(err, ADEPT_E_USAGE, "'%s' is no precision", change->precision);
    status = graph_of(d, path, &graph, err);
    if (status == ADEPT_OK) status = adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, err);
    if (status != ADEPT_OK) return status;
    if (!adept_dataset_own_profile(d, profile)) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    *out = profile;
    return ADEPT_OK;
}
