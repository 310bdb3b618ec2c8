/** @file saved.h  What the JSON of a profile and saved profiles share. Private to workload/. Calls: cJSON. */
#ifndef ADEPT_SAVED_PRIVATE_H
#define ADEPT_SAVED_PRIVATE_H
#include "adept_profile.h"
#include <cjson/cJSON.h>

#define ADEPT_SAVED_KIND "adept-profile"
#define ADEPT_SAVED_VERSION 3 /* 1 and 2 held kernels and polynomials, and no graph */

/** adept_profile_to_json() as a tree; NULL when memory is out; free with cJSON_Delete(). */
cJSON *adept_profile_json_new(const adept_profile *profile);

#endif
