/** @file export_schema.c  Which arguments a call of PyTorch's operators may have, and which it must. Calls: adept_json.
 *  PyTorch refuses a file without an argument that has no default, and leaves out one whose name it does not know. Here
 *  the latter is refused as well, unless it is None or False: what a later PyTorch means by it is not known. */
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

/* NULL for what is none of aten's, or not among those of the release that the table was written with. */
static const schema *find_schema(const char *target)
{
    static const char prefix[] = "torch.ops.aten.";
    if (strncmp(target, prefix, sizeof prefix - 1) != 0) return NULL;
    return bsearch(target + sizeof prefix - 1, schemas, sizeof schemas / sizeof *schemas, sizeof *schemas,
                   compare_target);
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

static void check_known(adept_export_reader *r, const char *arguments, const cJSON *input)
{
    const char *at = arguments;
    while (*at && !is_named(input, at))
        at = next_name(at);
    const char *name = adept_json_string(&r->json, input, "name");
    if (*at || is_off(input) || r->json.status != ADEPT_OK) return;
    adept_json_fail(&r->json, "argument '%.64s' is not known, of a later PyTorch or misspelt; known are: %s", name,
                    arguments);
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
    const schema *row = find_schema(r->target);
    const cJSON *input;
    if (!row) return;
    cJSON_ArrayForEach(input, inputs)
    {
        if (r->json.status == ADEPT_OK) check_known(r, row->arguments, input);
    }
    for (const char *at = row->arguments; *at && r->json.status == ADEPT_OK; at = next_name(at)) {
        bool needed = at[name_length(at)] != '=';
        if (needed && !is_given(inputs, at)) adept_json_fail(&r->json, "argument '%.*s' is missing", (int)name_length(at), at);
    }
}
