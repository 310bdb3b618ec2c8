/** @file saved.h  What the JSON of a profile and saved profiles share. Private to workload/. Calls: adept_json_writer. */
#ifndef ADEPT_SAVED_PRIVATE_H
#define ADEPT_SAVED_PRIVATE_H
#include "adept_json_writer.h"
#include "adept_profile.h"

#define ADEPT_SAVED_KIND "adept-profile"
#define ADEPT_SAVED_VERSION 3 /* 1 and 2 held kernels and polynomials, and no graph */

/** What adept_profile_to_json() prints, into an object that is open. */
void adept_profile_put_members(adept_json_writer *w, const adept_profile *profile);

#endif
