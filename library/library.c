/** @file library.c  Version, and what all parts of the library share. Calls: nothing. */
#include "handles.h"
#include <stdlib.h>

adept_status adept_library_missing(const char *function, const char *argument, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE, "%s: %s is NULL", function, argument);
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
