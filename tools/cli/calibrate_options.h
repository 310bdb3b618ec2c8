/** @file calibrate_options.h  The options of `adept calibrate`. Calls: calibrate. */
#ifndef ADEPT_CALIBRATE_OPTIONS_H
#define ADEPT_CALIBRATE_OPTIONS_H
#include "adept_fit_report.h"
#include "measurement_options.h"

typedef struct adept_calibrate_options {
    adept_measurement_options measurements;
    const char *output;
    const char *resume;    /* NULL: start anew */
    adept_words leave_out; /* empty: the default; "none" alone: nothing */
    adept_words fixed, freed, without, scalar_texts;
    adept_fit_options fit; /* its lists point into what follows: do not copy the struct */
    adept_parameter fixed_values[ADEPT_MAX_WORDS];
    adept_scalar scalars[ADEPT_MAX_SCALARS];
    int64_t n_suggestions;
    const char *granularity; /* NULL: not given: that of the GPU's fit, else operator */
    size_t n_kernels;
    const char *kernels[ADEPT_MAX_WORDS];
    adept_words tile_texts;
    adept_tile_menu tiles[ADEPT_TILED_FAMILIES]; /* n 0: not given */
    double prior_rows;                           /* below 0: not given, as the next two */
    int generations, restarts;
    bool from_sheet; /* forget the fit that the GPU already has */
    bool shared;     /* --gpu auto: one fit for the GPUs that the rows name */
} adept_calibrate_options;

extern const struct argp adept_calibrate_argp;

void adept_calibrate_options_init(adept_calibrate_options *o);
void adept_calibrate_options_free(adept_calibrate_options *o);

#endif
