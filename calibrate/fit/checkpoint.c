/** @file checkpoint.c  Finished sub-fits in one file: a digest, then JSON; see checkpoint.h. */
#include "checkpoint.h"
#include "adept_clock.h"
#include "adept_file.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)1 << 28)
#define WRITE_INTERVAL_S 1.0
#define KIND "adept checkpoint"
#define SCHEMA_VERSION 2

/* ---- records ---- */

static const adept_sub_fit *find_sub_fit(const adept_checkpoint *c, const char *key)
{
    for (size_t i = 0; i < c->n_sub_fits; i++)
        if (strcmp(c->sub_fits[i].key, key) == 0) return &c->sub_fits[i];
    return NULL;
}

/* sub_fit->unit is in the checkpoint's arena already. */
static bool add_sub_fit(adept_checkpoint *c, const adept_sub_fit *sub_fit)
{
    adept_sub_fit *sub_fits = reallocarray(c->sub_fits, c->n_sub_fits + 1, sizeof *sub_fits);
    if (!sub_fits) return false;
    c->sub_fits = sub_fits;
    c->sub_fits[c->n_sub_fits++] = *sub_fit;
    return true;
}

/* ---- the file's text ---- */

/* The digest stands first; it is of all that follows it. */
static const char head[] = "{\"sha256\":\"";
#define HEAD_BYTES (sizeof head - 1 + 64 + 2)

/* "{...}" with a digest before the first key. */
static char *with_digest(const char *body)
{
    char hex[ADEPT_SHA256_SIZE], *text = NULL;
    if (adept_bytes_sha256(hex, body + 1, strlen(body + 1), NULL) != ADEPT_OK) return NULL;
    return asprintf(&text, "%s%s\",%s", head, hex, body + 1) < 0 ? NULL : text;
}

char *adept_checkpoint_print(const adept_checkpoint *c)
{
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s first %s", (intmax_t)SCHEMA_VERSION, KIND, c->first);
    adept_json_begin_array(&w, "parts");
    for (size_t i = 0; i < c->n_sub_fits; i++) {
        const adept_sub_fit *f = &c->sub_fits[i];
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(&w, "key %s name %s converged %d generations %jd evaluations %g loss %g", f->key,
                               f->name, f->converged, (intmax_t)f->generations, f->evaluations, f->loss);
        adept_json_begin_array(&w, "unit");
        for (size_t k = 0; k < f->n; k++)
            adept_json_put_number(&w, NULL, f->unit[k]);
        adept_json_end_array(&w);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    char *body = adept_json_finish(&w);
    char *text = body ? with_digest(body) : NULL;
    free(body);
    return text;
}

static void read_text(adept_json_reader *r, const cJSON *object, const char *key, char *out, size_t size)
{
    const char *text = adept_json_string(r, object, key);
    if (r->status == ADEPT_OK && (size_t)snprintf(out, size, "%s", text) >= size)
        adept_json_fail(r, "\"%s\" is too long", key);
}

/* Points of the unit cube. */
static const double *read_unit(adept_json_reader *r, adept_arena *arena, const cJSON *array, size_t n)
{
    double *unit = adept_arena_array(arena, n + 1, sizeof *unit);
    const cJSON *item;
    size_t i = 0;
    if (!unit && r->status == ADEPT_OK) adept_json_no_memory(r);
    if (r->status != ADEPT_OK) return NULL;
    cJSON_ArrayForEach(item, array)
    {
        unit[i++] = item->valuedouble;
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.0 && item->valuedouble <= 1.0))
            adept_json_fail(r, "damaged: \"unit\" has a value that is not a number from 0 to 1");
    }
    return unit;
}

static void read_sub_fit(adept_json_reader *r, adept_checkpoint *c, const cJSON *object)
{
    adept_sub_fit sub_fit = {.converged = adept_json_bool(r, object, "converged")};
    const cJSON *unit = adept_json_array(r, object, "unit");
    int64_t generations = adept_json_count(r, object, "generations");
    read_text(r, object, "key", sub_fit.key, sizeof sub_fit.key);
    read_text(r, object, "name", sub_fit.name, sizeof sub_fit.name);
    sub_fit.evaluations = adept_json_number(r, object, "evaluations");
    sub_fit.loss = adept_json_number(r, object, "loss");
    sub_fit.n = adept_json_size(unit);
    sub_fit.unit = read_unit(r, c->arena, unit, sub_fit.n);
    if (generations > INT_MAX) adept_json_fail(r, "damaged: \"generations\" is too large");
    sub_fit.generations = (int)generations;
    if (r->status == ADEPT_OK && !add_sub_fit(c, &sub_fit)) adept_json_no_memory(r);
}

adept_status adept_checkpoint_parse(adept_checkpoint *c, const char *name, const char *text, size_t size,
                                    adept_error *err)
{
    cJSON *root = NULL;
    char hex[ADEPT_SHA256_SIZE];
    if (!(size > HEAD_BYTES && memcmp(text, head, sizeof head - 1) == 0 &&
          adept_bytes_sha256(hex, text + HEAD_BYTES, size - HEAD_BYTES, NULL) == ADEPT_OK &&
          memcmp(text + sizeof head - 1, hex, 64) == 0))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: damaged, or not a checkpoint of adept calibrate", name);
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err, .status = ADEPT_OK};
    const char *kind = adept_json_string(&r, root, "kind");
    if (r.status == ADEPT_OK && strcmp(kind, KIND) != 0) adept_json_fail(&r, "not a checkpoint of adept calibrate");
    if (adept_json_number(&r, root, "schema_version") != SCHEMA_VERSION)
        adept_json_fail(&r, "a checkpoint of another version of adept");
    read_text(&r, root, "first", c->first, sizeof c->first);
    const cJSON *sub_fits = adept_json_array(&r, root, "parts"), *sub_fit;
    cJSON_ArrayForEach(sub_fit, sub_fits) if (r.status == ADEPT_OK) read_sub_fit(&r, c, sub_fit);
    cJSON_Delete(root);
    return r.status;
}

/* ---- the file ---- */

static adept_status write_file(adept_checkpoint *c, adept_error *err)
{
    char *text = adept_checkpoint_print(c);
    if (!text) return adept_no_memory(err, "the checkpoint");
    adept_status status = adept_file_write(c->path, text, strlen(text), err);
    free(text);
    c->written_s = adept_clock_s();
    return status;
}

/* The first sub-fit of a command is that of the file, or the file becomes its own. */
static adept_status begin(adept_checkpoint *c, const char *key, adept_error *err)
{
    if (c->begun) return ADEPT_OK;
    if (c->first[0] != '\0' && strcmp(c->first, key) != 0)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%s: is of another fit: other measurements, another GPU, other options, or by another "
                               "version of adept",
                               c->path);
    memcpy(c->first, key, sizeof c->first);
    c->begun = true;
    return write_file(c, err);
}

adept_status adept_checkpoint_find(adept_checkpoint *c, adept_sub_fit *sub_fit, bool *found, adept_error *err)
{
    pthread_mutex_lock(&c->mutex);
    adept_status status = begin(c, sub_fit->key, err);
    const adept_sub_fit *record = status == ADEPT_OK ? find_sub_fit(c, sub_fit->key) : NULL;
    *found = record && record->n == sub_fit->n;
    if (*found) *sub_fit = *record;
    pthread_mutex_unlock(&c->mutex);
    return status;
}

adept_status adept_checkpoint_put(adept_checkpoint *c, const adept_sub_fit *sub_fit, adept_error *err)
{
    adept_sub_fit copy = *sub_fit;
    adept_status status = ADEPT_OK;
    pthread_mutex_lock(&c->mutex);
    if (!find_sub_fit(c, sub_fit->key)) {
        double *unit = adept_arena_array(c->arena, sub_fit->n + 1, sizeof *unit);
        if (unit) memcpy(unit, sub_fit->unit, sub_fit->n * sizeof *unit);
        copy.unit = unit;
        if (!unit || !add_sub_fit(c, &copy)) status = adept_no_memory(err, "the checkpoint");
    }
    if (status == ADEPT_OK && adept_clock_s() - c->written_s > WRITE_INTERVAL_S) status = write_file(c, err);
    pthread_mutex_unlock(&c->mutex);
    return status;
}

adept_status adept_checkpoint_save(adept_checkpoint *c, adept_error *err)
{
    pthread_mutex_lock(&c->mutex);
    adept_status status = write_file(c, err);
    pthread_mutex_unlock(&c->mutex);
    return status;
}

void adept_checkpoint_free(adept_checkpoint *c)
{
    if (!c) return;
    pthread_mutex_destroy(&c->mutex);
    adept_arena_free(c->arena);
    free(c->sub_fits);
    free(c->path);
    free(c);
}

adept_checkpoint *adept_checkpoint_alloc(const char *path)
{
    adept_checkpoint *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_init(&c->mutex, NULL);
    c->arena = adept_arena_new();
    c->path = strdup(path);
    if (c->arena && c->path) return c;
    adept_checkpoint_free(c);
    return NULL;
}

static adept_status read_file(adept_checkpoint *c, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, c->path, MAX_FILE_BYTES, err);
    if (status == ADEPT_OK) status = adept_checkpoint_parse(c, c->path, text, size, err);
    free(text);
    return status;
}

adept_status adept_checkpoint_open(adept_checkpoint **out, const char *path, bool resume, adept_error *err)
{
    adept_checkpoint *c = adept_checkpoint_alloc(path);
    if (!c) return adept_no_memory(err, "the checkpoint");
    adept_status status = resume ? read_file(c, err) : adept_checkpoint_save(c, err);
    if (status == ADEPT_OK)
        *out = c;
    else
        adept_checkpoint_free(c);
    return status;
}
