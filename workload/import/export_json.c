/** @file export_json.c  Access to the JSON of a .pt2, with messages. Calls: cJSON. */
#include "export_private.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void adept_export_fail(adept_export_reader *r, const char *format, ...)
{
    if (r->status != ADEPT_OK) return;
    char what[600];
    va_list args;
    va_start(args, format);
    if (vsnprintf(what, sizeof what, format, args) < 0) what[0] = '\0';
    va_end(args);
    if (r->target) {
        r->status = adept_error_set(r->err, ADEPT_E_INVALID, "%s: node %zu (%.100s): %s", r->name, r->node_index,
                                    r->target, what);
    } else {
        r->status = adept_error_set(r->err, ADEPT_E_INVALID, "%s: %s", r->name, what);
    }
}

void adept_export_nomem(adept_export_reader *r)
{
    if (r->status == ADEPT_OK) r->status = adept_error_set(r->err, ADEPT_E_NOMEM, "%s: out of memory", r->name);
}

void adept_export_check(adept_export_reader *r, adept_status status)
{
    if (status == ADEPT_OK || r->status != ADEPT_OK) return;
    if (status == ADEPT_E_NOMEM) {
        adept_export_nomem(r);
        return;
    }
    char what[sizeof r->err->message];
    memcpy(what, r->err->message, sizeof what);
    adept_export_fail(r, "%.500s", what);
}

static const cJSON *find(adept_export_reader *r, const cJSON *parent, const char *key)
{
    if (r->status != ADEPT_OK) return NULL;
    const cJSON *item = cJSON_IsObject(parent) ? cJSON_GetObjectItemCaseSensitive(parent, key) : NULL;
    if (!item) adept_export_fail(r, "\"%s\" is missing", key);
    return item;
}

const cJSON *adept_export_object(adept_export_reader *r, const cJSON *parent, const char *key)
{
    const cJSON *item = find(r, parent, key);
    if (!item || cJSON_IsObject(item)) return item;
    adept_export_fail(r, "\"%s\" is not an object", key);
    return NULL;
}

const cJSON *adept_export_array(adept_export_reader *r, const cJSON *parent, const char *key)
{
    const cJSON *item = find(r, parent, key);
    if (!item || cJSON_IsArray(item)) return item;
    adept_export_fail(r, "\"%s\" is not an array", key);
    return NULL;
}

const char *adept_export_string(adept_export_reader *r, const cJSON *parent, const char *key)
{
    const cJSON *item = find(r, parent, key);
    if (!item) return "";
    if (cJSON_IsString(item)) return item->valuestring;
    adept_export_fail(r, "\"%s\" is not a string", key);
    return "";
}

const cJSON *adept_export_union(adept_export_reader *r, const cJSON *value)
{
    if (r->status != ADEPT_OK) return NULL;
    for (const cJSON *what = cJSON_IsObject(value) ? value->child : NULL; what; what = what->next) {
        if (!cJSON_IsNull(what)) return what;
    }
    adept_export_fail(r, "an object with one key that says its kind is expected");
    return NULL;
}

bool adept_export_int(const cJSON *value, int64_t *out)
{
    if (!cJSON_IsNumber(value)) return false;
    double d = value->valuedouble;
    if (isnan(d) || d != trunc(d)) return false;
    /* 2^63 - 1 means "to the end" in slices; as a double it is 2^63 */
    if (d >= 9223372036854775808.0)
        *out = INT64_MAX;
    else if (d <= -9223372036854775808.0)
        *out = INT64_MIN;
    else
        *out = (int64_t)d;
    return true;
}

bool adept_export_float(const cJSON *value, double *out)
{
    if (cJSON_IsNumber(value)) {
        *out = value->valuedouble;
        return true;
    }
    if (!cJSON_IsString(value)) return false;
    /* Python's json writes these bare; later PyTorch as strings. "N" is what export_program.c makes of a bare NaN. */
    if (strcmp(value->valuestring, "Infinity") == 0)
        *out = INFINITY;
    else if (strcmp(value->valuestring, "-Infinity") == 0)
        *out = -INFINITY;
    else if (strcmp(value->valuestring, "NaN") == 0 || strcmp(value->valuestring, "N") == 0)
        *out = NAN;
    else
        return false;
    return true;
}

/* The hint of an expression: {"as_int": 4}, in early files a bare number. */
static bool read_hint(const cJSON *expression, int64_t *out)
{
    const cJSON *hint = cJSON_GetObjectItemCaseSensitive(expression, "hint");
    if (cJSON_IsObject(hint)) hint = cJSON_GetObjectItemCaseSensitive(hint, "as_int");
    return hint && adept_export_int(hint, out);
}

adept_export_size adept_export_read_size(adept_export_reader *r, const cJSON *value)
{
    adept_export_size size = {0};
    const cJSON *what = adept_export_union(r, value);
    if (!what) return size;
    if (strcmp(what->string, "as_int") == 0) {
        size.known = adept_export_int(what, &size.value);
        if (!size.known) adept_export_fail(r, "a size is not an integer");
    } else if (strcmp(what->string, "as_expr") == 0) {
        size.symbol = adept_export_string(r, what, "expr_str");
        size.known = read_hint(what, &size.value);
    } else {
        adept_export_fail(r, "size of unknown kind '%s'", what->string);
    }
    return size;
}
