/** @file sweep_options.h  The options of `adept sweep`. Calls: whatif. */
#ifndef ADEPT_SWEEP_OPTIONS_H
#define ADEPT_SWEEP_OPTIONS_H
#include "adept_sweep_answers.h"
#include "run_options.h"
#include "workload_options.h"

typedef struct adept_sweep_options {
    const char *model;
    const char *output; /* NULL: standard output */
    adept_sweep_axis axes[ADEPT_SWEEP_MAX_AXES];
    size_t n_axes;
    adept_sweep_axis fixed[ADEPT_SWEEP_MAX_AXES];
    size_t n_fixed;
    bool one_at_a_time, ignore_memory, csv, json;
    adept_sweep_objective objective;
    adept_run_options where;
    adept_workload_options workload;
} adept_sweep_options;

extern const struct argp adept_sweep_argp;

void adept_sweep_options_free(adept_sweep_options *o); /* not the record itself */

/** For --set and --vary: add what KEY=VALUES says to a list. @return 0, or EINVAL with the message set */
error_t adept_sweep_options_add(const struct argp_state *state, const char *option, const char *text,
                                adept_sweep_axis *list, size_t *n);
/** For --set KEY=VALUE: a hardware number with one value. */
error_t adept_sweep_options_set(const struct argp_state *state, const char *text, adept_sweep_axis *list, size_t *n);

#define ADEPT_SET_HELP                                                                                                 \
    "Predict a hypothetical GPU: change a number of its hardware profile, as in --set specs.mem_bytes_per_s=2e12, or " \
    "relative, =x1.2; the calibrated fit stays. Repeatable"

#endif
