/** @file result.c  Reading JSON of measurements. */
#include "adept_result.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

adept_status adept_result_read(cJSON **out, const char *path, adept_error *err)
{
    cJSON *tree = NULL;
    adept_status status = adept_json_parse_file(&tree, path, ADEPT_JSON_MAX_BYTES, err);

    if (status == ADEPT_OK && adept_result_number(tree, "schema_version") != 1)
        status = adept_error_set(err, ADEPT_E_INVALID,
                                 "%s: neither a result nor a goal of this adept: its schema_version is not 1", path);
    if (status == ADEPT_OK)
        *out = tree;
    else
        cJSON_Delete(tree);
    return status;
}

bool adept_result_is_measured(const cJSON *result)
{
    return strcmp(adept_result_text(result, "kind"), "measured") == 0;
}

double adept_result_number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : NAN;
}

const char *adept_result_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return text ? text : "";
}

double adept_result_time_s(const char *text)
{
    struct tm parts = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    double fraction = 0;

    if (!rest) return NAN;
    if (*rest == '.')
        for (double digit = 0.1; isdigit((unsigned char)*++rest); digit /= 10)
            fraction += digit * (*rest - '0');
    return strcmp(rest, "Z") == 0 ? (double)timegm(&parts) + fraction : NAN;
}
