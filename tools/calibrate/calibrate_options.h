/** @file calibrate_options.h  The options of `adept calibrate`. Calls: calibrate. */
#ifndef ADEPT_CALIBRATE_OPTIONS_H
#define ADEPT_CALIBRATE_OPTIONS_H
#include "adept_fit_report.h"
#include "measurement_options.h"

#define ADEPT_MAX_FIXED 64

typedef struct adept_calibrate_options {
    adept_measurement_options measurements;
    char gpu_of_rows[128]; /* where no --gpu is given: what measurements.gpu points to */
    const char *output;
    const char *resume;    /* NULL: start anew */
    adept_words leave_out; /* empty: the default; "none" alone: nothing */
    adept_words freed, without;
    adept_fit_options fit; /* its lists point into what follows: do not copy the struct */
    adept_parameter fixed_values[ADEPT_MAX_FIXED];
    adept_scalar scalars[ADEPT_MAX_SCALARS];
    int64_t n_suggestions;
    const char *granularity; /* NULL: not given: that of the GPU's fit, else operator */
    adept_words kernels, collectives;
    adept_tile_menu tiles[ADEPT_TILED_FAMILIES]; /* n 0: not given */
    double prior_models, prior_rows;             /* below 0: not given, as the next two */
    int generations, restarts;
    bool no_polish;
    bool from_sheet; /* forget the fit that the GPU already has */
    const char *watch; /* a folder of rows; NULL: none */
    const char *fleet; /* a file of several profiles; NULL: none */
    double every_s;
    bool once;
    bool shared;     /* --gpu auto: one fit for the GPUs that the rows name */
} adept_calibrate_options;

extern const adept_options adept_calibrate_options_of;

/** What `adept calibrate` stands for where --layouts is given: a factor for each software stack. */
extern const adept_command adept_calibrate_layouts;

/** Rows that no fit of a watched folder sees: they judge it. A fifth, chosen by what they hold. Their weight becomes 0.
 */
void adept_watch_leave_out(adept_dataset *d);
/** --watch: look at DIR until a signal, or once. @param fit  fits o->measurements.files and writes o->output */
adept_status adept_calibrate_watch(adept_cli *cli, adept_calibrate_options *o,
                                   adept_status (*fit)(adept_cli *cli, adept_calibrate_options *o));

#endif
