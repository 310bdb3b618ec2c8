/** @file library.c  Version, and what all parts of the library share. Calls: nothing. */
#include "handles.h"
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t parsing = PTHREAD_MUTEX_INITIALIZER;

void adept_library_lock(void)
{
    pthread_mutex_lock(&parsing);
}

void adept_library_unlock(void)
{
    pthread_mutex_unlock(&parsing);
}

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
