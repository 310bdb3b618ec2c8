/** @file adept_hwprofile_json.h  A GPU as JSON: a row of `adept gpus --json`, and its hardware profile. Calls: model,
 *  adept_json_writer. */
#ifndef ADEPT_HWPROFILE_JSON_H
#define ADEPT_HWPROFILE_JSON_H
#include "adept_hwprofile.h"
#include "adept_json_writer.h"

/** Name, aliases and specification sheet, into an open array. */
void adept_gpu_put_summary(adept_json_writer *w, const adept_hwprofile *hw);
/** What a hardware profile has beside its "fit", into an open object. */
void adept_gpu_put_sheet(adept_json_writer *w, const cJSON *root);

/** The profile's text as it stands in its file: what `--gpu FILE` reads. malloc'ed. */
adept_status adept_gpu_text(char **text, size_t *size, const adept_hwprofile *hw, adept_error *err);

#endif
