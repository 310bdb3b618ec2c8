/** @file policies.c  Finding a policy. */
#include "adept_policy.h"
#include <string.h>

const adept_policy *adept_policy_by_name(const char *name)
{
    for (const adept_policy *const *p = adept_policies(); *p; p++)
        if (strcmp((*p)->name, name) == 0 || ((*p)->alias && strcmp((*p)->alias, name) == 0)) return *p;
    return NULL;
}
