/** @file library.c  Version, and what all parts of the library share. Calls: workload. */
#include "handles.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

adept_status adept_library_missing(const char *function, const char *argument, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE, "%s: %s is NULL", function, argument);
}

adept_status adept_library_set_word(const adept_field **field, void *record, const adept_field *(*field_at)(size_t),
                                    const char *word, adept_error *err)
{
    const char *equals = strchr(word, '='), *near = NULL;
    size_t distance = SIZE_MAX;
    char key[40];
    if (!equals) return adept_error_set(err, ADEPT_E_USAGE, "'%.40s' is not KEY=VALUE", word);
    *field = adept_field_find(field_at, word, (size_t)(equals - word));
    if (*field) return adept_field_set(*field, record, equals + 1, err);
    snprintf(key, sizeof key, "%.*s", (int)(equals - word > 39 ? 39 : equals - word), word);
    for (size_t i = 0; field_at(i); i++)
        if (adept_is_nearer(&distance, key, field_at(i)->name)) near = field_at(i)->name;
    return adept_error_set(err, ADEPT_E_USAGE, "unknown word '%s'%s%s%s", key, near ? "; did you mean '" : "",
                           near ? near : "", near ? "'?" : "");
}

int adept_abi_version(void)
{
    return ADEPT_ABI_VERSION;
}

const char *adept_version_text(void)
{
    return ADEPT_VERSION;
}

void adept_text_free(char *text)
{
    free(text);
}
