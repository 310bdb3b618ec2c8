/** @file export_json.c  What the JSON of a .pt2 is made of: unions, numbers, sizes. Calls: adept_json. */
#include "export_private.h"
#include <math.h>
#include <string.h>

void adept_export_check(adept_export_reader *r, adept_status status)
{
    if (status == ADEPT_OK || r->json.status != ADEPT_OK) return;
    if (status == ADEPT_E_NOMEM) {
        adept_json_no_memory(&r->json);
        return;
    }
    char what[sizeof r->json.err->message];
    memcpy(what, r->json.err->message, sizeof what);
    adept_json_fail(&r->json, "%.500s", what);
}

const cJSON *adept_export_union(adept_export_reader *r, const cJSON *value)
{
    if (r->json.status != ADEPT_OK) return NULL;
    for (const cJSON *what = cJSON_IsObject(value) ? value->child : NULL; what; what = what->next) {
        if (!cJSON_IsNull(what)) return what;
    }
    adept_json_fail(&r->json, "an object with one key that says its kind is expected");
    return NULL;
}

/* A later PyTorch has types that this one cannot know: the file is sound. */
adept_dtype adept_export_dtype(adept_export_reader *r, const cJSON *value, const char *whose)
{
    int64_t number = 0;
    bool has_number = adept_export_int(value, &number) && number > 0;
    adept_dtype dtype = has_number ? adept_dtype_from_export(number) : ADEPT_DTYPE_NONE;
    if (dtype != ADEPT_DTYPE_NONE || r->json.status != ADEPT_OK) return dtype;
    adept_json_fail(&r->json, "'%s' has an element type that is not known, number %lld of torch.export", whose,
                    (long long)number);
    if (has_number) r->json.status = r->json.err->status = ADEPT_E_UNSUPPORTED;
    return dtype;
}

bool adept_export_int(const cJSON *value, int64_t *out)
{
    if (!cJSON_IsNumber(value)) return false;
    double d = value->valuedouble;
    if (isnan(d) || d != trunc(d)) return false;
    if (fabs(d) > 9223372036854775808.0) return false;
    /* 2^63 - 1 means "to the end" in slices; as a double it is 2^63 */
    *out = d == 9223372036854775808.0 ? INT64_MAX : (int64_t)d;
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

adept_export_size adept_export_read_size(adept_export_reader *r, const cJSON *value)
{
    adept_export_size size = {0};
    const cJSON *what = adept_export_union(r, value);
    if (!what) return size;
    if (strcmp(what->string, "as_int") == 0) {
        size.known = adept_export_int(what, &size.value);
        if (!size.known) adept_json_fail(&r->json, "a size is not an integer");
    } else if (strcmp(what->string, "as_expr") == 0) {
        size.symbol = adept_json_string(&r->json, what, "expr_str");
        /* The hint of an expression: {"as_int": 4}, in early files a bare number. */
        const cJSON *hint = cJSON_GetObjectItemCaseSensitive(what, "hint");
        if (cJSON_IsObject(hint)) hint = cJSON_GetObjectItemCaseSensitive(hint, "as_int");
        size.known = hint && adept_export_int(hint, &size.value);
    } else {
        adept_json_fail(&r->json, "size of unknown kind '%s'", what->string);
    }
    return size;
}
