/** @file activity.c */
#include "adept_activity.h"

const char *adept_activity_name(size_t kind)
{
    static const char *const names[] = {
#define X(name, word) word,
        ADEPT_ACTIVITY_LIST(X)
#undef X
    };
    return kind < ADEPT_ACTIVITIES ? names[kind] : NULL;
}
