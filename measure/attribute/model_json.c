/** @file model_json.c  A model as a file: {"schema_version": 1, "kind": "attribution_model", ...}. */
#include "adept_attribution.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include "nearest.h"
#include "rows.h"
#include <math.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)64 << 20)
#define MOST_TEXTS 1000
#define KIND "attribution_model"

/* ---------------------------------------------------------------- written ---------------------------------------- */

static void put_figures(adept_json_writer *w, const char *key, const adept_attribution_figures *f)
{
    if (!adept_json_begin_known(w, key, f->n > 0)) return;
    adept_json_put_members(w, "intervals %jd r2 %g mae_j %g mae_percent %g rmse_j %g spearman %g", (intmax_t)f->n,
                           f->r2, f->mae_j, 100 * f->mae_share, f->rmse_j, f->spearman);
    adept_json_end_object(w);
}

/* "J per byte" of what is named "block_read_bytes". */
static const char *unit_of(adept_activity_kind kind)
{
    const char *name = adept_activity_name(kind);
    size_t n = strlen(name);

    if (kind == ADEPT_ACTIVITY_CPU_TIME_S) return "J/s";
    return n > 6 && strcmp(name + n - 6, "_bytes") == 0 ? "J/B" : "J";
}

char *adept_attribution_model_text(const adept_attribution_model *m)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s host %s n_cpus %jd interval_s %g", (intmax_t)1, KIND,
                           m->host, (intmax_t)m->n_cpus, m->interval_s);
    adept_json_put_strings(&w, "sources", m->sources, m->n_sources);
    adept_json_put_strings(&w, "meters", m->meters, m->n_meters);
    adept_json_put_members(&w, "gpu_by_use %d meters_hold_gpu %d lag_s %g lag_r2 %g", m->gpu_by_use, m->meters_hold_gpu,
                           m->lag_s, m->lag_r2);
    adept_json_put_members(&w, "standardize %s sign %s shrinkage %s lambda1 %g lambda2 %g", m->centred ? "z" : "scale",
                           m->is_free ? "free" : "nonnegative", m->is_refitted ? "refit" : "keep", m->lambda1,
                           m->lambda2);
    adept_json_begin_array(&w, "features");
    for (size_t j = 0; j < m->n_features; j++) {
        const adept_attribution_feature *f = &m->features[j];
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(&w, "name %s unit %s weight_j %g", adept_activity_name(f->kind), unit_of(f->kind),
                               f->weight_j);
        adept_json_put_pair(&w, "interval", f->low_j, f->high_j);
        adept_json_put_members(&w, "mean %g scale %g spearman %g variance_inflation %g", f->mean, f->scale, f->spearman,
                               f->inflation);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_begin_array(&w, "correlations");
    for (size_t i = 0; i < m->n_correlations; i++)
        adept_json_put_object(&w, NULL, "name %s spearman %g intervals %jd", m->correlations[i].name,
                              m->correlations[i].spearman, (intmax_t)m->correlations[i].n);
    adept_json_end_array(&w);
    adept_json_put_number(&w, "static_w", m->static_w);
    adept_json_put_pair(&w, "static_interval", m->static_low_w, m->static_high_w);
    adept_json_begin_object(&w, "quality");
    put_figures(&w, "test", &m->test);
    put_figures(&w, "train", &m->train);
    adept_json_begin_object(&w, "baselines");
    put_figures(&w, "constant", &m->constant);
    put_figures(&w, "cpu_time", &m->cpu_only);
    adept_json_end_object(&w);
    adept_json_put_members(&w, "condition_number %g intervals %jd intervals_used %jd kkt_residual %g", m->condition,
                           (intmax_t)m->n_intervals, (intmax_t)m->n_used, m->kkt);
    adept_json_end_object(&w);
    size_t columns = m->n_features + 1;
    adept_json_begin_object(&w, "bootstrap");
    adept_json_put_members(&w, "level %g replicates %jd block_intervals %jd seed %jd", ADEPT_ATTRIBUTION_LEVEL,
                           (intmax_t)m->n_draws, (intmax_t)m->block, (intmax_t)m->seed);
    adept_json_begin_array(&w, "draws"); /* weights in the order of features, then the static watts */
    bool was_pretty = w.pretty;
    for (size_t b = 0; b < m->n_draws; b++) {
        adept_json_begin_array(&w, NULL);
        w.pretty = false;
        for (size_t j = 0; j < columns; j++)
            adept_json_put_number(&w, NULL, m->draws[b * columns + j]);
        adept_json_end_array(&w);
        w.pretty = was_pretty;
    }
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    adept_json_put_strings(&w, "notes", m->notes, m->n_notes);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

/* ---------------------------------------------------------------- read ------------------------------------------- */

static bool is_null(const cJSON *parent, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, key);

    return !item || cJSON_IsNull(item);
}

static double number_or(adept_json_reader *r, const cJSON *parent, const char *key, double unknown)
{
    return is_null(parent, key) ? unknown : adept_json_number(r, parent, key);
}

static void read_pair(adept_json_reader *r, const cJSON *parent, const char *key, double *low, double *high)
{
    *low = *high = NAN;
    if (is_null(parent, key)) return;
    const cJSON *pair = adept_json_array(r, parent, key), *first = cJSON_GetArrayItem(pair, 0),
                *last = cJSON_GetArrayItem(pair, 1);
    if (adept_json_size(pair) != 2 || !cJSON_IsNumber(first) || !cJSON_IsNumber(last) ||
        !(first->valuedouble <= last->valuedouble) || !isfinite(last->valuedouble) || !isfinite(first->valuedouble))
        adept_json_fail(r, "\"%s\" is not [low, high]", key);
    else
        *low = first->valuedouble, *high = last->valuedouble;
}

static void read_figures(adept_json_reader *r, const cJSON *parent, const char *key, adept_attribution_figures *f)
{
    const cJSON *from = adept_json_object_or_null(r, parent, key, key);

    *f = (adept_attribution_figures){0, NAN, NAN, NAN, NAN, NAN};
    if (!from) return;
    f->n = (size_t)adept_json_count(r, from, "intervals");
    f->r2 = number_or(r, from, "r2", NAN);
    f->mae_j = number_or(r, from, "mae_j", NAN);
    f->mae_share = number_or(r, from, "mae_percent", NAN) / 100;
    f->rmse_j = number_or(r, from, "rmse_j", NAN);
    f->spearman = number_or(r, from, "spearman", NAN);
}

static void read_feature(adept_json_reader *r, const cJSON *from, adept_attribution_model *m)
{
    const char *name = adept_json_string(r, from, "name");
    adept_attribution_feature *f = &m->features[m->n_features];
    size_t kind = adept_name_index(name, adept_activity_name);

    if (r->status != ADEPT_OK) return;
    if (kind == SIZE_MAX) {
        adept_json_fail(r, "feature '%s' is not known", name);
        return;
    }
    for (size_t j = 0; j < m->n_features; j++)
        if (m->features[j].kind == kind) adept_json_fail(r, "feature '%s' comes twice", name);
    f->kind = (adept_activity_kind)kind;
    f->weight_j = adept_json_number(r, from, "weight_j");
    f->mean = adept_json_number(r, from, "mean");
    f->scale = adept_json_number(r, from, "scale");
    f->spearman = number_or(r, from, "spearman", NAN);
    f->inflation = number_or(r, from, "variance_inflation", INFINITY);
    read_pair(r, from, "interval", &f->low_j, &f->high_j);
    if (r->status == ADEPT_OK && f->weight_j < 0 && !m->is_free)
        adept_json_fail(r, "the weight of '%s' is below 0", name);
    m->n_features++;
}

static void read_features(adept_json_reader *r, const cJSON *root, adept_attribution_model *m)
{
    const cJSON *list = adept_json_array(r, root, "features"), *item;

    if (adept_json_size(list) > ADEPT_ACTIVITIES) adept_json_fail(r, "\"features\" has more than %d", ADEPT_ACTIVITIES);
    if (r->status != ADEPT_OK) return;
    cJSON_ArrayForEach(item, list)
    {
        read_feature(r, item, m);
        if (r->status != ADEPT_OK) return;
    }
}

static void read_draws(adept_json_reader *r, const cJSON *root, adept_attribution_model *m)
{
    const cJSON *from = adept_json_object(r, root, "bootstrap"), *list = adept_json_array(r, from, "draws"), *draw,
                *number;
    size_t columns = m->n_features + 1, n = adept_json_size(list), at = 0;

    m->block = (size_t)adept_json_count(r, from, "block_intervals");
    m->seed = (uint64_t)adept_json_count(r, from, "seed");
    if (n > ADEPT_MOST_REPLICATES) adept_json_fail(r, "\"draws\" has more than %d", ADEPT_MOST_REPLICATES);
    if (r->status == ADEPT_OK && adept_json_number(r, from, "level") != ADEPT_ATTRIBUTION_LEVEL)
        adept_json_fail(r, "\"level\" is not %g", ADEPT_ATTRIBUTION_LEVEL);
    double *draws = adept_json_room(r, m->arena, n * columns + 1, sizeof *draws);
    if (!draws) return;
    cJSON_ArrayForEach(draw, list)
    {
        if (!cJSON_IsArray(draw) || adept_json_size(draw) != columns) {
            adept_json_fail(r, "a row of \"draws\" is not %zu numbers", columns);
            return;
        }
        cJSON_ArrayForEach(number, draw)
        {
            if (!cJSON_IsNumber(number) || !isfinite(number->valuedouble))
                adept_json_fail(r, "\"draws\" holds a value that is not a number");
            draws[at++] = number->valuedouble;
        }
    }
    m->draws = draws;
    m->n_draws = n;
}

/* Which of two words a member is. */
static bool is_second(adept_json_reader *r, const cJSON *root, const char *key, const char *first, const char *second)
{
    const char *word = adept_json_string(r, root, key);

    if (r->status == ADEPT_OK && strcmp(word, first) != 0 && strcmp(word, second) != 0)
        adept_json_fail(r, "\"%s\" is neither %s nor %s", key, first, second);
    return strcmp(word, second) == 0;
}

static void read_model(adept_json_reader *r, const cJSON *root, adept_attribution_model *m)
{
    if (r->status == ADEPT_OK && (adept_json_number_or(r, root, "schema_version", 0) != 1 ||
                                  strcmp(adept_json_string_or(r, root, "kind", ""), KIND) != 0))
        adept_json_fail(r, "is no model of energy: 'adept attribute fit -o' writes them");
    m->path = adept_json_keep(r, m->arena, r->name);
    m->host = adept_json_keep(r, m->arena, adept_json_string(r, root, "host"));
    m->n_cpus = (int)fmin((double)adept_json_count(r, root, "n_cpus"), 1e9);
    m->interval_s = adept_json_number(r, root, "interval_s");
    m->sources = adept_json_texts(r, m->arena, root, "sources", 1, MOST_TEXTS, &m->n_sources);
    m->meters = adept_json_texts(r, m->arena, root, "meters", 1, ADEPT_MOST_SERIES, &m->n_meters);
    m->gpu_by_use = adept_json_bool(r, root, "gpu_by_use");
    m->meters_hold_gpu = adept_json_bool(r, root, "meters_hold_gpu");
    m->lag_s = adept_json_number(r, root, "lag_s");
    m->lag_r2 = number_or(r, root, "lag_r2", NAN);
    m->centred = is_second(r, root, "standardize", "scale", "z");
    m->is_free = is_second(r, root, "sign", "nonnegative", "free");
    m->is_refitted = is_second(r, root, "shrinkage", "keep", "refit");
    m->lambda1 = adept_json_number(r, root, "lambda1");
    m->lambda2 = adept_json_number(r, root, "lambda2");
    read_features(r, root, m);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "correlations")
                            ? adept_json_array(r, root, "correlations")
                            : NULL, /* older models have none */
        *item;
    if (adept_json_size(list) > ADEPT_ACTIVITIES + ADEPT_MONITORED)
        adept_json_fail(r, "\"correlations\" has more than %d", ADEPT_ACTIVITIES + ADEPT_MONITORED);
    if (r->status == ADEPT_OK) {
        cJSON_ArrayForEach(item, list)
        {
            adept_attribution_correlation *c = &m->correlations[m->n_correlations++];
            c->name = adept_json_keep(r, m->arena, adept_json_string(r, item, "name"));
            c->spearman = number_or(r, item, "spearman", NAN);
            c->n = (size_t)adept_json_count(r, item, "intervals");
        }
    }
    m->static_w = adept_json_number(r, root, "static_w");
    if (r->status == ADEPT_OK && m->static_w < 0) adept_json_fail(r, "\"static_w\" is below 0");
    read_pair(r, root, "static_interval", &m->static_low_w, &m->static_high_w);
    const cJSON *quality = adept_json_object(r, root, "quality"),
                *baselines = adept_json_object(r, quality, "baselines");
    read_figures(r, quality, "test", &m->test);
    read_figures(r, quality, "train", &m->train);
    read_figures(r, baselines, "constant", &m->constant);
    read_figures(r, baselines, "cpu_time", &m->cpu_only);
    m->condition = number_or(r, quality, "condition_number", INFINITY);
    m->n_intervals = (size_t)adept_json_count(r, quality, "intervals");
    m->n_used = (size_t)adept_json_count(r, quality, "intervals_used");
    m->kkt = adept_json_number(r, quality, "kkt_residual");
    read_draws(r, root, m);
    m->notes = adept_json_texts(r, m->arena, root, "notes", 0, MOST_TEXTS, &m->n_notes);
}

adept_status adept_attribution_model_read(adept_attribution_model **out, const char *path, adept_error *err)
{
    cJSON *root = NULL;
    adept_arena *arena = adept_arena_new();
    adept_attribution_model *m = arena ? adept_arena_alloc(arena, sizeof *m) : NULL;
    adept_json_reader r = {.name = path, .err = err, .status = m ? ADEPT_OK : adept_no_memory(err, path)};

    if (r.status == ADEPT_OK) r.status = adept_json_parse_file(&root, path, MAX_FILE_BYTES, err);
    if (r.status == ADEPT_OK) {
        m->arena = arena;
        read_model(&r, root, m);
    }
    cJSON_Delete(root);
    if (r.status == ADEPT_OK)
        *out = m;
    else
        adept_arena_free(arena);
    return r.status;
}
