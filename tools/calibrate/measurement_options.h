/** @file measurement_options.h  What `calibrate` and `evaluate` share: measurement files, GPU, models. Calls:
 * calibrate. */
#ifndef ADEPT_MEASUREMENT_OPTIONS_H
#define ADEPT_MEASUREMENT_OPTIONS_H
#include "adept_measurements.h"
#include "adept_shared.h"
#include "cli.h"
#include "progress.h"

typedef struct adept_measurement_options {
    adept_words files;
    const char *gpu;
    const char *models;
    const char *plot; /* NULL: none */
    adept_words by;   /* empty: the command's default */
    bool no_cache, exclude_suspect, trust, json;
    bool listing; /* rows of layouts that cannot be used are listed, and are no error */
    uint64_t memory_bytes; /* 0: as much as there is by default */
} adept_measurement_options;

/** Groups 1 and 6 of a command's help. */
extern const adept_options adept_measurement_options_of;

/** Can a result be written there, in the place of what is there? Asked before work that would be lost. */
adept_status adept_measurement_output_check(adept_cli *cli, const char *path);

/**
 * Open the GPU, read the files, join them with profiles, look for suspect rows.
 * @param hw, d   the caller frees them, the dataset first, also after an error. Without --gpu hw stays NULL: every row
 * has the GPU that it names
 * @param shared  NULL; or what gets the GPU of each row, in place of `hw`, and outlives the dataset
 */
adept_status adept_load_measurements(adept_cli *cli, adept_dataset **d, adept_hwprofile **hw, adept_shared *shared,
                                     const adept_measurement_options *o, adept_progress *progress);

/** One line for each suspect row, kept or left out; before them, if `all`, the warnings of the dataset. In its arena;
 *  NULL when memory is out. */
const char *const *adept_measurement_warnings(adept_dataset *d, bool all, size_t *n);

#endif
