/** @file measurement_options.h  What `calibrate` and `evaluate` share: measurement files, GPU, models. Calls:
 * calibrate. */
#ifndef ADEPT_MEASUREMENT_OPTIONS_H
#define ADEPT_MEASUREMENT_OPTIONS_H
#include "adept_measurements.h"
#include "adept_shared.h"
#include "cli.h"
#include "progress.h"

#define ADEPT_MAX_WORDS 64

/** Words of an option that may be repeated and takes several, separated by commas. */
typedef struct adept_words {
    size_t n;
    const char *words[ADEPT_MAX_WORDS]; /* malloc'ed */
} adept_words;

error_t adept_words_add(const struct argp_state *state, const char *option, const char *text, adept_words *words);
void adept_words_free(adept_words *words);

typedef struct adept_measurement_options {
    size_t n_files;
    const char *files[ADEPT_MAX_WORDS];
    const char *gpu;
    const char *models;
    const char *plot; /* NULL: none */
    adept_words by;   /* empty: the command's default */
    bool no_cache, exclude_suspect, trust, json;
} adept_measurement_options;

/** A child for a command's argp; its input is an adept_measurement_options, zero-initialised. */
extern const struct argp adept_measurement_argp;

/** What the parser cannot know before the end: files and GPU are given. */
error_t adept_measurement_options_check(const struct argp_state *state, const adept_measurement_options *o,
                                        const char *command);
void adept_measurement_options_free(adept_measurement_options *o);

/** Can a result be written there, in the place of what is there? Asked before work that would be lost. */
adept_status adept_measurement_output_check(adept_cli *cli, const char *path, const adept_measurement_options *o);

/**
 * Open the GPU, read the files, join them with profiles, look for suspect rows.
 * @param hw, d  set on ADEPT_OK; caller frees, the dataset first
 */
adept_status adept_load_measurements(adept_cli *cli, adept_dataset **d, adept_hwprofile **hw,
                                     const adept_measurement_options *o, adept_progress *progress);
/** The same with the GPU of each row; `s` is the caller's and must outlive the dataset. */
adept_status adept_load_measurements_of_gpus(adept_cli *cli, adept_dataset **d, adept_shared *s,
                                             const adept_measurement_options *o, adept_progress *progress);

/** One line for each suspect row, kept or left out. In the dataset's arena; NULL when memory is out. */
const char *const *adept_measurement_suspects(adept_dataset *d, size_t *n);
/** Warnings of the dataset, then those lines. Likewise. */
const char *const *adept_measurement_warnings(adept_dataset *d, size_t *n);

#endif
