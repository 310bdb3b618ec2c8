/** @file json_writer.c  Building JSON without checking every call. Calls: cJSON. */
#include "json_writer.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cJSON *keep(json_writer *w, cJSON *item)
{
    if (!item) w->failed = true;
    return item;
}

static void push(json_writer *w, cJSON *array, cJSON *item)
{
    if (keep(w, item) && cJSON_AddItemToArray(array, item)) return;
    cJSON_Delete(item);
    w->failed = true;
}

cJSON *adept_put_object(json_writer *w, cJSON *parent, const char *key)
{
    return keep(w, cJSON_AddObjectToObject(parent, key));
}

cJSON *adept_put_array(json_writer *w, cJSON *parent, const char *key)
{
    return keep(w, cJSON_AddArrayToObject(parent, key));
}

cJSON *adept_push_object(json_writer *w, cJSON *array)
{
    cJSON *item = keep(w, cJSON_CreateObject());
    if (item && !cJSON_AddItemToArray(array, item)) {
        cJSON_Delete(item);
        w->failed = true;
        return NULL;
    }
    return item;
}

void adept_put_number(json_writer *w, cJSON *parent, const char *key, double value)
{
    if (!adept_json_add_number(parent, key, value)) w->failed = true;
}

void adept_put_integer(json_writer *w, cJSON *parent, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    keep(w, cJSON_AddRawToObject(parent, key, text));
}

void adept_put_unsigned(json_writer *w, cJSON *parent, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    keep(w, cJSON_AddRawToObject(parent, key, text));
}

void adept_put_bool(json_writer *w, cJSON *parent, const char *key, bool value)
{
    keep(w, cJSON_AddBoolToObject(parent, key, value));
}

void adept_put_string(json_writer *w, cJSON *parent, const char *key, const char *value)
{
    keep(w, value ? cJSON_AddStringToObject(parent, key, value) : cJSON_AddNullToObject(parent, key));
}

void adept_put_null(json_writer *w, cJSON *parent, const char *key)
{
    keep(w, cJSON_AddNullToObject(parent, key));
}

void adept_put_range(json_writer *w, cJSON *parent, const char *key, double low, double high)
{
    if (isnan(low) || isnan(high)) {
        adept_put_null(w, parent, key);
        return;
    }
    cJSON *array = adept_put_array(w, parent, key);
    push(w, array, adept_json_new_number(low));
    push(w, array, adept_json_new_number(high));
}

void adept_push_string(json_writer *w, cJSON *array, const char *value)
{
    push(w, array, cJSON_CreateString(value));
}

char *adept_json_finish(json_writer *w, cJSON *root, bool pretty)
{
    char *text = NULL, *copy = NULL;
    if (root && !w->failed) text = pretty ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
    if (text) copy = strdup(text); /* the caller frees with free(), whatever cJSON's allocator is */
    cJSON_free(text);
    cJSON_Delete(root);
    return copy;
}
