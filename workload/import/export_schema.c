/** @file export_schema.c  Which arguments a call of PyTorch's operators may have, and which it must. Calls: adept_json.
 *  PyTorch refuses a file without an argument that has no default, and leaves out one whose name it does not know. Here
 *  the latter is refused as well, unless it is None or False: what a later PyTorch means by it is not known. */
#include "export_schema.h"
#include "export_private.h"
#include <stdlib.h>
#include <string.h>

typedef struct schema {
    const char *target;    /* "add.Tensor" */
    const char *arguments; /* "self other alpha=": those behind which = stands have a default */
} schema;

static const schema schemas[] = {
#include "operator_argument_rows.h"
};

static int compare_target(const void *target, const void *row)
{
    return strcmp(target, ((const schema *)row)->target);
}

const char *adept_operator_arguments(const char *operator)
{
    const schema *row = bsearch(operator, schemas, sizeof schemas / sizeof *schemas, sizeof *schemas, compare_target);
    return row ? row->arguments : NULL;
}

/* Names of a row, one by one: how long the one at `at` is, and where the next one stands. */
static size_t name_length(const char *at)
{
    return strcspn(at, "= ");
}

static const char *next_name(const char *at)
{
    at += name_length(at);
    return at + strspn(at, "= ");
}

static bool is_named(const cJSON *input, const char *at)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(input, "name"));
    return name && strlen(name) == name_length(at) && strncmp(name, at, name_length(at)) == 0;
}

static bool is_off(const cJSON *input)
{
    const cJSON *argument = cJSON_GetObjectItemCaseSensitive(input, "arg");
    return cJSON_GetObjectItemCaseSensitive(argument, "as_none") ||
           cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(argument, "as_bool"));
}

static bool is_given(const cJSON *inputs, const char *at)
{
    const cJSON *input;
    cJSON_ArrayForEach(input, inputs)
    {
        if (is_named(input, at)) return true;
    }
    return false;
}

void adept_export_check_arguments(adept_export_reader *r, const cJSON *inputs)
{
    static const char prefix[] = "torch.ops.aten.";
    const bool own = strncmp(r->target, prefix, sizeof prefix - 1) == 0;
    const char *arguments = own ? adept_operator_arguments(r->target + sizeof prefix - 1) : NULL;
    const cJSON *input;
    if (!arguments) return;
    cJSON_ArrayForEach(input, inputs)
    {
        if (r->json.status == ADEPT_OK) {
            const char *at = arguments;
            while (*at && !is_named(input, at))
                at = next_name(at);
            const char *name = adept_json_string(&r->json, input, "name");
            if (!(*at || is_off(input) || r->json.status != ADEPT_OK)) {
                adept_json_fail(&r->json,
                                "argument '%.64s' is not known, of a later PyTorch or misspelt; known are: %s", name,
                                arguments);
            }
        }
    }
    for (const char *at = arguments; *at && r->json.status == ADEPT_OK; at = next_name(at)) {
        bool needed = at[name_length(at)] != '=';
        if (needed && !is_given(inputs, at))
            adept_json_fail(&r->json, "argument '%.*s' is missing", (int)name_length(at), at);
    }
}
