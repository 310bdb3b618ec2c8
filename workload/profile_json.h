/** @file profile_json.h  Profiles as JSON. Private to workload/. Calls: adept_json, adept_json_writer. */
#ifndef ADEPT_PROFILE_JSON_H
#define ADEPT_PROFILE_JSON_H
#include "adept_json.h"
#include "adept_json_writer.h"
#include "adept_profile.h"

#define ADEPT_PROFILE_FILE_BYTES (512u << 20) /* larger files are refused */

void adept_profile_put_json(adept_json_writer *w, const char *key, const adept_profile *profile);
/** As adept_profile_from_json(). */
adept_status adept_profile_json_read(adept_profile **out, const char *name, const cJSON *root, adept_error *err);

#endif
