/** @file report_fit.h  Errors of predictions and what a fit is worth, as text for people. Calls: calibrate. */
#ifndef ADEPT_REPORT_FIT_H
#define ADEPT_REPORT_FIT_H
#include "adept_fit_report.h"
#include "cli.h"
#include <stdio.h>

/** One line of a table of errors. */
typedef struct adept_error_line {
    const char *name, *what; /* "held out", "leave one model out" */
    const adept_metrics *metrics;
} adept_error_line;

adept_status adept_report_errors(adept_cli *cli, FILE *out, const adept_error_line *lines, size_t n);

/** Groups of an evaluation, one table per column. `heading` is printed before the first, with the column's name. */
adept_status adept_report_groups(adept_cli *cli, FILE *out, const char *heading, const adept_evaluation *e);

/** The rows predicted worst, worst first. */
adept_status adept_report_worst(adept_cli *cli, FILE *out, const char *heading, const adept_evaluation *e, size_t n);

/** @param output  the profile that was written */
adept_status adept_report_fit(adept_cli *cli, FILE *out, const adept_fit_report *r, const char *output,
                              const char *const *warnings, size_t n_warnings);
adept_status adept_report_evaluation(adept_cli *cli, FILE *out, const adept_evaluation *e, const adept_dataset *d,
                                     const adept_hwprofile *hw, const char *const *warnings, size_t n_warnings);

#endif
