/** @file adept_hwprofile_json.h  A GPU as JSON: a row of `adept gpus --json`, and its hardware profile. Calls: model, adept_json.
 */
#ifndef ADEPT_HWPROFILE_JSON_H
#define ADEPT_HWPROFILE_JSON_H
#include "adept_hwprofile.h"
#include "adept_json.h"

/** Append name, aliases and specification sheet to an array. @return false when memory is out */
bool adept_gpu_add_summary(cJSON *list, const adept_hwprofile *hw);

/** The profile's text as it stands in its file: what `--gpu FILE` reads. malloc'ed. */
adept_status adept_gpu_text(char **text, size_t *size, const adept_hwprofile *hw, adept_error *err);

#endif
