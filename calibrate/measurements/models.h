/** @file models.h  Which file a row's `model` means. Private to measurements/. Calls: adept_measurements. */
#ifndef ADEPT_MODELS_H
#define ADEPT_MODELS_H
#include "adept_measurements.h"

/**
 * Where names are looked up: `wanted`, else data/models of the tree the program lies in or was built or installed from.
 * @param out  in the arena; NULL if there is no such folder
 * @return ADEPT_E_INVALID if `wanted` is no folder
 */
adept_status adept_models_folder(const char **out, adept_arena *arena, const char *wanted, adept_error *err);

/**
 * A path relative to the CSV, or NAME, NAME.pt, NAME.pt2, NAME.profile.json in the folder.
 * @param out  in the arena
 */
adept_status adept_models_find(const char **out, adept_arena *arena, const adept_measurement *m, const char *folder,
                               adept_error *err);

#endif
