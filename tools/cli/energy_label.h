/** @file energy_label.h  What a job takes, as a label for a model card. Calls: model. */
#ifndef ADEPT_ENERGY_LABEL_H
#define ADEPT_ENERGY_LABEL_H
#include "adept_model.h"
#include "cli.h"

typedef enum adept_label_format { ADEPT_LABEL_NONE, ADEPT_LABEL_MARKDOWN, ADEPT_LABEL_JSON } adept_label_format;

typedef struct adept_label {
    const adept_profile *profile;
    const adept_hwprofile *hw;
    const adept_run *run;
    const adept_prediction *prediction;
    const adept_totals *totals;
} adept_label;

/** By the end of the file's name; ADEPT_LABEL_NONE if it is neither. */
adept_label_format adept_label_format_of(const char *path);

/** Write through a temporary file: a label that is there is whole. */
adept_status adept_label_write(adept_cli *cli, const char *path, const adept_label *label);

#endif
