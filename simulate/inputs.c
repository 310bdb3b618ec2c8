/** @file inputs.c  What the readers of the simulator's inputs share: notes, JSON files whose every member is known. */
#include "inputs.h"
#include "adept_grow.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)16 << 20)

void adept_notes_add(adept_notes *notes, const char *format, ...)
{
    if (!notes) return;
    char text[256];
    va_list args;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0) text[0] = '\0';
    va_end(args);
    for (size_t i = 0; i < notes->n; i++)
        if (strcmp(notes->texts[i], text) == 0) return;
    void *grown = adept_grow(notes->texts, &notes->capacity, notes->n + 1, sizeof *notes->texts);
    if (!grown) {
        notes->failed = true;
        return;
    }
    notes->texts = grown;
    memcpy(notes->texts[notes->n++], text, sizeof text);
}

void adept_notes_free(adept_notes *notes)
{
    free(notes->texts);
    *notes = (adept_notes){0};
}

adept_status adept_input_open(adept_input_file *file, const char *path, adept_error *err)
{
    *file = (adept_input_file){.path = path, .reader = {.name = path, .err = err}};
    adept_json_reader *r = &file->reader;
    r->status = adept_json_parse_file(&file->root, path, MAX_FILE_BYTES, err);
    if (r->status != ADEPT_OK) return r->status;
    if (!cJSON_IsObject(file->root)) adept_json_fail(r, "not a JSON object");
    if (adept_json_number(r, file->root, "schema_version") != 1) adept_json_fail(r, "\"schema_version\" is not 1");
    return r->status;
}

void adept_input_close(adept_input_file *file)
{
    cJSON_Delete(file->root);
}

static bool is_word_of(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = words; n > 0 && (p = strstr(p, name)); p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return true;
    return false;
}

void adept_input_known(adept_json_reader *r, const cJSON *object, const char *words)
{
    /* A list's elements have no names; that it is none is said where its members are read. */
    for (const cJSON *item = cJSON_IsObject(object) ? object->child : NULL; item; item = item->next)
        if (strcmp(item->string, "note") != 0 && !is_word_of(words, item->string))
            adept_json_fail(r, "\"%.60s\" is not known%s%.60s%s; known are: %s, note", item->string,
                            object->string ? " in \"" : "", object->string ? object->string : "",
                            object->string ? "\"" : "", words);
}

static bool is_within(double value, double low, double high)
{
    return value >= low && value <= high;
}

double adept_input_number(adept_json_reader *r, const cJSON *parent, const char *key, double fallback, double low,
                          double high)
{
    if (!isnan(fallback) && !cJSON_GetObjectItemCaseSensitive(parent, key)) return fallback;
    double value = adept_json_number(r, parent, key);
    if (r->status == ADEPT_OK && !is_within(value, low, high))
        adept_json_fail(r, "\"%s\" is %g, not from %g to %g", key, value, low, high);
    return value;
}

int64_t adept_input_count(adept_json_reader *r, const cJSON *parent, const char *key, double fallback, double low,
                          double high)
{
    double value = adept_input_number(r, parent, key, fallback, low, high);
    if (r->status == ADEPT_OK && value != floor(value))
        adept_json_fail(r, "\"%s\" is %g, not a whole number", key, value);
    return r->status == ADEPT_OK ? (int64_t)value : 1;
}

void adept_input_name(adept_json_reader *r, char name[64], const cJSON *parent, const char *key)
{
    const char *text = adept_json_string(r, parent, key);
    if (r->status == ADEPT_OK && (!*text || strlen(text) > 63))
        adept_json_fail(r, "\"%s\" is \"%.80s\", not a name of 1 to 63 bytes", key, text);
    snprintf(name, 64, "%s", text);
}

double *adept_input_numbers(adept_json_reader *r, const cJSON *parent, const char *key, double low, double high,
                            bool whole, size_t *n)
{
    *n = 0;
    if (!cJSON_GetObjectItemCaseSensitive(parent, key)) return NULL;
    const cJSON *array = adept_json_array(r, parent, key);
    double *numbers = calloc(adept_json_size(array) + 1, sizeof *numbers);
    if (!numbers) adept_json_no_memory(r);
    for (const cJSON *item = array ? array->child : NULL; item && r->status == ADEPT_OK; item = item->next) {
        double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
        if (!is_within(value, low, high) || (whole && value != floor(value)))
            adept_json_fail(r, "an entry of \"%s\" is not a %snumber from %g to %g", key, whole ? "whole " : "", low,
                            high);
        else if (whole && *n > 0 && value <= numbers[*n - 1])
            adept_json_fail(r, "\"%s\" does not ascend at %g", key, value);
        else
            numbers[(*n)++] = value;
    }
    return numbers;
}

char *adept_input_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    int folder = *name == '/' || !slash ? 0 : (int)(slash + 1 - path);
    char *joined;
    return asprintf(&joined, "%.*s%s", folder, path, name) < 0 ? NULL : joined;
}
