/** @file json_read.c  The sticky reader of a JSON tree. */
#include "adept_json.h"
#include "nearest.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_COUNT 9007199254740992.0 /* 2^53: beyond it doubles skip integers */

void adept_json_fail(adept_json_reader *r, const char *format, ...)
{
    if (r->status != ADEPT_OK) return;
    char what[768];
    va_list args;
    va_start(args, format);
    if (vsnprintf(what, sizeof what, format, args) < 0) what[0] = '\0';
    va_end(args);
    r->status = adept_error_set(r->err, ADEPT_E_INVALID, "%s: %s%s%s", r->name, r->where ? r->where : "",
                                r->where ? ": " : "", what);
}

void adept_json_no_memory(adept_json_reader *r)
{
    if (r->status == ADEPT_OK) r->status = adept_error_set(r->err, ADEPT_E_NOMEM, "%s: out of memory", r->name);
}

const char *adept_json_keep(adept_json_reader *r, adept_arena *arena, const char *text)
{
    const char *copy = r->status == ADEPT_OK ? adept_arena_strdup(arena, text) : NULL;
    if (!copy) adept_json_no_memory(r);
    return copy ? copy : "";
}

/* Messages name the object a key was looked for in, when it has a name itself. */
static const cJSON *find(adept_json_reader *r, const cJSON *parent, const char *key, bool required)
{
    if (r->status != ADEPT_OK) return NULL;
    const cJSON *item = cJSON_IsObject(parent) ? cJSON_GetObjectItemCaseSensitive(parent, key) : NULL;
    const char *where = parent && parent->string ? parent->string : NULL;
    if (!item && required)
        adept_json_fail(r, "\"%s\" is missing%s%s%s", key, where ? " in \"" : "", where ? where : "",
                        where ? "\"" : "");
    return item;
}

/* The same, of a kind that `is` tells; NULL after a failure. */
static const cJSON *find_kind(adept_json_reader *r, const cJSON *parent, const char *key, bool required,
                              cJSON_bool (*is)(const cJSON *), const char *kind)
{
    const cJSON *item = find(r, parent, key, required);
    if (!item || is(item)) return item;
    adept_json_fail(r, "\"%s\" is %s", key, kind);
    return NULL;
}

const cJSON *adept_json_object(adept_json_reader *r, const cJSON *parent, const char *key)
{
    return find_kind(r, parent, key, true, cJSON_IsObject, "not an object");
}

const cJSON *adept_json_array(adept_json_reader *r, const cJSON *parent, const char *key)
{
    return find_kind(r, parent, key, true, cJSON_IsArray, "not an array");
}

const cJSON *adept_json_object_or_null(adept_json_reader *r, const cJSON *parent, const char *key, const char *called)
{
    const cJSON *item = find(r, parent, key, false);
    if (!item || cJSON_IsNull(item)) return NULL;
    if (!cJSON_IsObject(item)) adept_json_fail(r, "%s is neither an object nor null", called);
    return r->status == ADEPT_OK ? item : NULL;
}

void *adept_json_room(adept_json_reader *r, adept_arena *arena, size_t n, size_t element_bytes)
{
    void *room = r->status == ADEPT_OK ? adept_arena_array(arena, n, element_bytes) : NULL;
    if (!room) adept_json_no_memory(r);
    return room;
}

const char **adept_json_texts(adept_json_reader *r, adept_arena *arena, const cJSON *parent, const char *key,
                              size_t least, size_t most, size_t *n)
{
    const cJSON *array = adept_json_array(r, parent, key);
    size_t size = adept_json_size(array);
    if (size < least || size > most) adept_json_fail(r, "\"%s\" is not a list of %zu to %zu texts", key, least, most);
    const char **texts = adept_json_room(r, arena, size, sizeof *texts);
    *n = 0;
    for (const cJSON *item = array ? array->child : NULL; item && r->status == ADEPT_OK; item = item->next) {
        if (!cJSON_IsString(item)) adept_json_fail(r, "an entry of \"%s\" is not a string", key);
        texts[(*n)++] = adept_json_keep(r, arena, cJSON_IsString(item) ? item->valuestring : "");
    }
    return r->status == ADEPT_OK ? texts : NULL;
}

static double number_of(adept_json_reader *r, const cJSON *item, const char *key, double fallback)
{
    if (!item) return fallback;
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) {
        adept_json_fail(r, "\"%s\" is not a finite number", key);
        return fallback;
    }
    return item->valuedouble;
}

double adept_json_number(adept_json_reader *r, const cJSON *parent, const char *key)
{
    return number_of(r, find(r, parent, key, true), key, 0);
}

double adept_json_number_or(adept_json_reader *r, const cJSON *parent, const char *key, double fallback)
{
    return number_of(r, find(r, parent, key, false), key, fallback);
}

int64_t adept_json_count(adept_json_reader *r, const cJSON *parent, const char *key)
{
    double v = adept_json_number(r, parent, key);
    if (r->status != ADEPT_OK) return 0;
    if (v < 0 || v > MAX_COUNT || v != floor(v)) {
        adept_json_fail(r, "\"%s\" is not a whole number from 0 to 2^53", key);
        return 0;
    }
    return (int64_t)v;
}

bool adept_json_bool(adept_json_reader *r, const cJSON *parent, const char *key)
{
    return cJSON_IsTrue(find_kind(r, parent, key, true, cJSON_IsBool, "neither true nor false"));
}

const char *adept_json_string(adept_json_reader *r, const cJSON *parent, const char *key)
{
    const cJSON *item = find_kind(r, parent, key, true, cJSON_IsString, "not a string");
    return item ? item->valuestring : "";
}

const char *adept_json_string_or(adept_json_reader *r, const cJSON *parent, const char *key, const char *fallback)
{
    const cJSON *item = find_kind(r, parent, key, false, cJSON_IsString, "not a string");
    return item ? item->valuestring : fallback;
}

void adept_json_check_keys(adept_json_reader *r, const cJSON *object, const char *where, const char *const *known,
                           size_t n)
{
    if (r->status != ADEPT_OK) return; /* `object` may not be one */
    for (const cJSON *item = object->child; item; item = item->next) {
        size_t i = 0, distance = SIZE_MAX;
        while (i < n && strcmp(known[i], item->string) != 0) i++;
        if (i < n) continue;
        const char *near = NULL;
        for (i = 0; i < n; i++)
            if (adept_is_nearer(&distance, item->string, known[i])) near = known[i];
        adept_json_fail(r, "unknown key \"%.80s\"%s%s%s%s", item->string, where, near ? "; did you mean \"" : "",
                        near ? near : "", near ? "\"?" : "");
    }
}

size_t adept_json_size(const cJSON *container)
{
    size_t n = 0;
    for (const cJSON *item = container ? container->child : NULL; item; item = item->next)
        n++;
    return n;
}
