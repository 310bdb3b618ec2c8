/** @file checkpoint.c  Finished and running sub-fits in one file; see checkpoint.h. */
#include "adept_clock.h"
#include "adept_grow.h"
#include "checkpoint.h"
#include "adept_file.h"
#include "adept_json.h"
#include "checkpoint_private.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE_BYTES ((size_t)1 << 28)
#define WRITE_INTERVAL_S 1.0

/* ---- records ---- */

void adept_part_clear(adept_part *part)
{
    free(part->points);
    free(part->losses);
    part->points = part->losses = NULL;
    part->n_population = part->n = 0;
}

static double *copy_of(const double *numbers, size_t n)
{
    double *copy = calloc(n > 0 ? n : 1, sizeof *copy);
    if (copy && n > 0) memcpy(copy, numbers, n * sizeof *copy);
    return copy;
}

static adept_status copy_part(adept_part *out, const adept_part *part, adept_error *err)
{
    *out = *part;
    out->points = copy_of(part->points, part->n * part->n_population);
    out->losses = copy_of(part->losses, part->n_population);
    if (out->points && out->losses) return ADEPT_OK;
    adept_part_clear(out);
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the checkpoint");
}

static adept_part *find_part(const adept_checkpoint *c, const char *key)
{
    for (size_t i = 0; i < c->n_parts; i++)
        if (strcmp(c->parts[i].key, key) == 0) return &c->parts[i];
    return NULL;
}

adept_status adept_checkpoint_add(adept_checkpoint *c, const adept_part *part, adept_error *err)
{
    adept_part copy;
    adept_status status = copy_part(&copy, part, err);
    if (status != ADEPT_OK) return status;
    adept_part *old = find_part(c, part->key);
    if (old) {
        adept_part_clear(old);
        *old = copy;
        return ADEPT_OK;
    }
    adept_part *parts = adept_grow(c->parts, &c->capacity, c->n_parts + 1, sizeof *parts);
    if (!parts) {
        adept_part_clear(&copy);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the checkpoint");
    }
    c->parts = parts;
    c->parts[c->n_parts++] = copy;
    return ADEPT_OK;
}

adept_status adept_checkpoint_find(adept_checkpoint *c, const char *key, adept_part *out, adept_error *err)
{
    *out = (adept_part){.n_population = 0};
    pthread_mutex_lock(&c->mutex);
    const adept_part *part = find_part(c, key);
    adept_status status = part ? copy_part(out, part, err) : ADEPT_OK;
    pthread_mutex_unlock(&c->mutex);
    return status;
}

/* ---- writing ---- */

static adept_status write_file(adept_checkpoint *c, adept_error *err)
{
    char *text = adept_checkpoint_print(c);
    if (!text) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the checkpoint");
    adept_status status = adept_file_write(c->path, text, strlen(text), err);
    free(text);
    c->written_s = adept_clock_s();
    return status;
}

adept_status adept_checkpoint_put(adept_checkpoint *c, const adept_part *part, bool now, adept_error *err)
{
    pthread_mutex_lock(&c->mutex);
    adept_status status = adept_checkpoint_add(c, part, err);
    if (status == ADEPT_OK && (now || adept_clock_s() - c->written_s > WRITE_INTERVAL_S)) status = write_file(c, err);
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

size_t adept_checkpoint_n_finished(const adept_checkpoint *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_parts; i++)
        n += c->parts[i].done;
    return n;
}

/* ---- opening ---- */

void adept_checkpoint_free(adept_checkpoint *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->n_parts; i++)
        adept_part_clear(&c->parts[i]);
    pthread_mutex_destroy(&c->mutex);
    cJSON_Delete(c->options);
    free(c->parts);
    free(c->path);
    free(c);
}

adept_checkpoint *adept_checkpoint_alloc(const char *path)
{
    adept_checkpoint *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_init(&c->mutex, NULL);
    c->path = strdup(path);
    c->options = cJSON_CreateObject();
    if (c->path && c->options) return c;
    adept_checkpoint_free(c);
    return NULL;
}

static adept_status read_file(adept_checkpoint *c, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (access(c->path, F_OK) != 0) return ADEPT_OK;
    adept_status status = adept_file_read(&text, &size, c->path, MAX_FILE_BYTES, err);
    if (status == ADEPT_OK) status = adept_checkpoint_parse(c, c->path, text, size, err);
    free(text);
    return status;
}

adept_status adept_checkpoint_open(adept_checkpoint **out, const char *path, bool resume, const adept_measurement *rows,
                                   size_t n, const adept_hwprofile *base, const adept_fit_options *options,
                                   adept_error *err)
{
    adept_fit_options defaults = adept_fit_options_default();
    adept_checkpoint *c = adept_checkpoint_alloc(path);
    if (!c) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the checkpoint");
    adept_status status = adept_checkpoint_identify(c, rows, n, base, options ? options : &defaults, err);
    if (status == ADEPT_OK && resume) status = read_file(c, err);
    if (status != ADEPT_OK) {
        adept_checkpoint_free(c);
        return status;
    }
    *out = c;
    return ADEPT_OK;
}
