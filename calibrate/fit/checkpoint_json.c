/** @file checkpoint_json.c  A checkpoint as text. Numbers of a population are the hexadecimal digits of their bits:
 * exact, and a quarter of the size of decimal ones. Every record carries its own digest. */
#include "adept_json.h"
#include "adept_json_writer.h"
#include "checkpoint_private.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND "adept checkpoint"
#define SCHEMA_VERSION 1
#define DIGITS 16 /* of one number */
#define MAX_GENERATIONS 2147483647.0

/* ---- numbers as digits ---- */

static char *print_numbers(const double *numbers, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    if (n > (SIZE_MAX - 1) / DIGITS) return NULL;
    char *text = malloc(n * DIGITS + 1);
    if (!text) return NULL;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        for (size_t d = 0; d < DIGITS; d++)
            text[i * DIGITS + d] = hex[bits >> (60 - 4 * d) & 15];
    }
    text[n * DIGITS] = '\0';
    return text;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* malloc'ed; NULL unless the text is exactly n numbers */
static double *parse_numbers(const char *text, size_t n)
{
    if (n > SIZE_MAX / DIGITS || strlen(text) != n * DIGITS) return NULL;
    double *numbers = calloc(n > 0 ? n : 1, sizeof *numbers);
    for (size_t i = 0; numbers && i < n; i++) {
        uint64_t bits = 0;
        for (size_t d = 0; d < DIGITS; d++) {
            int digit = digit_of(text[i * DIGITS + d]);
            if (digit < 0) {
                free(numbers);
                return NULL;
            }
            bits = bits << 4 | (uint64_t)digit;
        }
        memcpy(&numbers[i], &bits, sizeof bits);
    }
    return numbers;
}

/* ---- digests ---- */

void adept_digest_text(adept_sha256 *sha, const char *text)
{
    adept_sha256_update(sha, text, strlen(text) + 1);
}

void adept_digest_numbers(adept_sha256 *sha, const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        double number = isnan(numbers[i]) ? NAN : numbers[i]; /* one NAN of many */
        unsigned char bytes[8];
        memcpy(&bits, &number, sizeof bits);
        for (int b = 0; b < 8; b++)
            bytes[b] = (unsigned char)(bits >> (8 * b));
        adept_sha256_update(sha, bytes, sizeof bytes);
    }
}

static adept_status digest_part(char hex[ADEPT_SHA256_SIZE], const adept_part *part)
{
    adept_sha256 sha;
    double header[] = {part->done,        part->converged, part->generation,
                       part->evaluations, (double)part->n, (double)part->n_population};
    adept_sha256_init(&sha);
    adept_digest_text(&sha, part->key);
    adept_digest_text(&sha, part->name);
    adept_digest_numbers(&sha, header, sizeof header / sizeof header[0]);
    adept_digest_numbers(&sha, part->points, part->n * part->n_population);
    adept_digest_numbers(&sha, part->losses, part->n_population);
    return adept_sha256_hex(&sha, hex, NULL);
}

/* ---- printing ---- */

static void put_numbers(adept_json_writer *w, const char *key, const double *numbers, size_t n)
{
    char *text = print_numbers(numbers, n);
    if (!text) w->out.failed = true;
    adept_json_put_string(w, key, text);
    free(text);
}

static void put_part(adept_json_writer *w, const adept_part *part)
{
    char digest[65] = "";
    if (digest_part(digest, part) != ADEPT_OK) w->out.failed = true;
    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "key", part->key);
    adept_json_put_string(w, "name", part->name);
    adept_json_put_bool(w, "done", part->done);
    adept_json_put_bool(w, "converged", part->converged);
    adept_json_put_number(w, "generation", part->generation);
    adept_json_put_number(w, "evaluations", part->evaluations);
    adept_json_put_number(w, "n", (double)part->n);
    adept_json_put_number(w, "n_population", (double)part->n_population);
    put_numbers(w, "points", part->points, part->n * part->n_population);
    put_numbers(w, "losses", part->losses, part->n_population);
    adept_json_put_string(w, "sha256", digest);
    adept_json_end_object(w);
}

char *adept_checkpoint_print(const adept_checkpoint *c)
{
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_tree(&w, "options", c->options);
    adept_json_put_integer(&w, "schema_version", SCHEMA_VERSION);
    adept_json_put_string(&w, "kind", KIND);
    adept_json_put_string(&w, "rows", c->rows);
    adept_json_begin_array(&w, "parts");
    for (size_t i = 0; i < c->n_parts; i++)
        put_part(&w, &c->parts[i]);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

/* ---- reading ---- */

static void copy_text(adept_json_reader *r, const cJSON *object, const char *key, char *out, size_t size)
{
    const char *text = adept_json_string(r, object, key);
    if (r->status != ADEPT_OK) return;
    if (strlen(text) >= size)
        adept_json_fail(r, "\"%s\" is too long", key);
    else
        memcpy(out, text, strlen(text) + 1);
}

static bool sizes_match(const adept_part *part, const char *points, const char *losses)
{
    size_t n_losses = strlen(losses) / DIGITS, n_points = strlen(points) / DIGITS;
    return part->n > 0 && part->n_population > 0 && part->n_population == n_losses && n_points / part->n == n_losses &&
           n_points % part->n == 0;
}

static void read_part(adept_json_reader *r, const cJSON *object, adept_part *part)
{
    char written[65] = "", computed[65];
    copy_text(r, object, "key", part->key, sizeof part->key);
    copy_text(r, object, "name", part->name, sizeof part->name);
    copy_text(r, object, "sha256", written, sizeof written);
    part->done = adept_json_bool(r, object, "done");
    part->converged = adept_json_bool(r, object, "converged");
    int64_t generation = adept_json_count(r, object, "generation");
    part->evaluations = adept_json_number(r, object, "evaluations");
    part->n = (size_t)adept_json_count(r, object, "n");
    part->n_population = (size_t)adept_json_count(r, object, "n_population");
    const char *points = adept_json_string(r, object, "points"), *losses = adept_json_string(r, object, "losses");
    if (r->status != ADEPT_OK) return;
    if ((double)generation > MAX_GENERATIONS || !sizes_match(part, points, losses)) {
        adept_json_fail(r, "damaged: sizes of part \"%s\" disagree", part->name);
        return;
    }
    part->generation = (int)generation;
    part->points = parse_numbers(points, part->n * part->n_population);
    part->losses = parse_numbers(losses, part->n_population);
    if (!part->points || !part->losses) {
        adept_json_fail(r, "damaged: part \"%s\" has bad numbers", part->name);
        return;
    }
    if (digest_part(computed, part) != ADEPT_OK)
        r->status = adept_error_set(r->err, ADEPT_E_NOMEM, "out of memory for the checkpoint");
    else if (strcmp(written, computed) != 0)
        adept_json_fail(r, "damaged: part \"%s\"", part->name);
}

static adept_status read_parts(adept_json_reader *r, adept_checkpoint *c, const cJSON *parts, adept_error *err)
{
    const cJSON *object;
    cJSON_ArrayForEach(object, parts)
    {
        adept_part part = {.n_population = 0};
        read_part(r, object, &part);
        if (r->status == ADEPT_OK) r->status = adept_checkpoint_add(c, &part, err);
        adept_part_clear(&part);
        if (r->status != ADEPT_OK) break;
    }
    return r->status;
}

adept_status adept_checkpoint_parse(adept_checkpoint *c, const char *name, const char *text, size_t size,
                                    adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err, .status = ADEPT_OK};
    const char *kind = adept_json_string(&r, root, "kind");
    if (r.status == ADEPT_OK && strcmp(kind, KIND) != 0) adept_json_fail(&r, "not a checkpoint of adept calibrate");
    if (adept_json_number(&r, root, "schema_version") != SCHEMA_VERSION)
        adept_json_fail(&r, "a checkpoint of another version of adept");
    const char *rows = adept_json_string(&r, root, "rows");
    const cJSON *options = adept_json_object(&r, root, "options"), *parts = adept_json_array(&r, root, "parts");
    status = r.status;
    if (status == ADEPT_OK) status = adept_checkpoint_compare(c, name, rows, options, err);
    if (status == ADEPT_OK) status = read_parts(&r, c, parts, err);
    cJSON_Delete(root);
    return status;
}
