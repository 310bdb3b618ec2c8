/** @file report_fit.h  Errors of predictions and what a fit is worth, as text for people. Calls: calibrate. */
#ifndef ADEPT_REPORT_FIT_H
#define ADEPT_REPORT_FIT_H
#include "adept_fit_report.h"
#include "adept_layouts.h"
#include "cli.h"
#include <stdio.h>

/** @param output  the hardware profile that was written */
adept_status adept_report_fit(adept_cli *cli, FILE *out, const adept_fit_report *r, const char *output,
                              const char *const *warnings, size_t n_warnings);
/** @param hw  NULL: several
 *  @param layouts  NULL: no file is of layouts */
adept_status adept_report_evaluation(adept_cli *cli, FILE *out, const adept_evaluation *e, const adept_dataset *d,
                                     const adept_hwprofile *hw, const adept_layout_report *layouts,
                                     const char *const *warnings, size_t n_warnings);

#endif
