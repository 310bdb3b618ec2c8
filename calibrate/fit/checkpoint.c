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

static const adept_part *find_part(const adept_checkpoint *c, const char *key)
{
    for (size_t i = 0; i < c->n_parts; i++)
        if (strcmp(c->parts[i].key, key) == 0) return &c->parts[i];
    return NULL;
}

/* part->unit is in the checkpoint's arena already. */
static bool add_part(adept_checkpoint *c, const adept_part *part)
{
    adept_part *parts = reallocarray(c->parts, c->n_parts + 1, sizeof *parts);
    if (!parts) return false;
    c->parts = parts;
    c->parts[c->n_parts++] = *part;
    return true;
}

/* ---- the file's text ---- */

/* The digest stands first; it is of all that follows it. */
static const char head[] = "{\"sha256\":\"";
#define HEAD_BYTES (sizeof head - 1 + 64 + 2)

static void put_part(adept_json_writer *w, const adept_part *part)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "key", part->key);
    adept_json_put_string(w, "name", part->name);
    adept_json_put_bool(w, "converged", part->converged);
    adept_json_put_integer(w, "generations", part->generations);
    adept_json_put_number(w, "evaluations", part->evaluations);
    adept_json_put_number(w, "loss", part->loss);
    adept_json_begin_array(w, "unit");
    for (size_t i = 0; i < part->n; i++)
        adept_json_put_number(w, NULL, part->unit[i]);
    adept_json_end_array(w);
    adept_json_end_object(w);
}

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
    adept_json_put_integer(&w, "schema_version", SCHEMA_VERSION);
    adept_json_put_string(&w, "kind", KIND);
    adept_json_put_string(&w, "first", c->first);
    adept_json_begin_array(&w, "parts");
    for (size_t i = 0; i < c->n_parts; i++)
        put_part(&w, &c->parts[i]);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    char *body = adept_json_finish(&w);
    char *text = body ? with_digest(body) : NULL;
    free(body);
    return text;
}

static bool is_whole(const char *text, size_t size)
{
    char hex[ADEPT_SHA256_SIZE];
    return size > HEAD_BYTES && memcmp(text, head, sizeof head - 1) == 0 &&
           adept_bytes_sha256(hex, text + HEAD_BYTES, size - HEAD_BYTES, NULL) == ADEPT_OK &&
           memcmp(text + sizeof head - 1, hex, 64) == 0;
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
            adept_json_fail(r, "damaged: \"unit\" has what is no number from 0 to 1");
    }
    return unit;
}

static void read_part(adept_json_reader *r, adept_checkpoint *c, const cJSON *object)
{
    adept_part part = {.converged = adept_json_bool(r, object, "converged")};
    const cJSON *unit = adept_json_array(r, object, "unit");
    int64_t generations = adept_json_count(r, object, "generations");
    read_text(r, object, "key", part.key, sizeof part.key);
    read_text(r, object, "name", part.name, sizeof part.name);
    part.evaluations = adept_json_number(r, object, "evaluations");
    part.loss = adept_json_number(r, object, "loss");
    part.n = adept_json_size(unit);
    part.unit = read_unit(r, c->arena, unit, part.n);
    if (generations > INT_MAX) adept_json_fail(r, "damaged: \"generations\" is too large");
    part.generations = (int)generations;
    if (r->status == ADEPT_OK && !add_part(c, &part)) adept_json_no_memory(r);
}

adept_status adept_checkpoint_parse(adept_checkpoint *c, const char *name, const char *text, size_t size,
                                    adept_error *err)
{
    cJSON *root = NULL;
    if (!is_whole(text, size))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: damaged, or not a checkpoint of adept calibrate", name);
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err, .status = ADEPT_OK};
    const char *kind = adept_json_string(&r, root, "kind");
    if (r.status == ADEPT_OK && strcmp(kind, KIND) != 0) adept_json_fail(&r, "not a checkpoint of adept calibrate");
    if (adept_json_number(&r, root, "schema_version") != SCHEMA_VERSION)
        adept_json_fail(&r, "a checkpoint of another version of adept");
    read_text(&r, root, "first", c->first, sizeof c->first);
    const cJSON *parts = adept_json_array(&r, root, "parts"), *part;
    cJSON_ArrayForEach(part, parts) if (r.status == ADEPT_OK) read_part(&r, c, part);
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

adept_status adept_checkpoint_find(adept_checkpoint *c, adept_part *part, bool *found, adept_error *err)
{
    pthread_mutex_lock(&c->mutex);
    adept_status status = begin(c, part->key, err);
    const adept_part *record = status == ADEPT_OK ? find_part(c, part->key) : NULL;
    *found = record && record->n == part->n;
    if (*found) *part = *record;
    pthread_mutex_unlock(&c->mutex);
    return status;
}

adept_status adept_checkpoint_put(adept_checkpoint *c, const adept_part *part, adept_error *err)
{
    adept_part copy = *part;
    adept_status status = ADEPT_OK;
    pthread_mutex_lock(&c->mutex);
    if (!find_part(c, part->key)) {
        double *unit = adept_arena_array(c->arena, part->n + 1, sizeof *unit);
        if (unit) memcpy(unit, part->unit, part->n * sizeof *unit);
        copy.unit = unit;
        if (!unit || !add_part(c, &copy)) status = adept_no_memory(err, "the checkpoint");
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
    free(c->parts);
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
