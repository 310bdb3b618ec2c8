/** @file report_fit.h  Errors of predictions and what a fit is worth, as text for people. Calls: calibrate. */
#ifndef ADEPT_REPORT_FIT_H
#define ADEPT_REPORT_FIT_H
#include "adept_fit_report.h"
#include "adept_layouts.h"
#include "cli.h"
#include "units.h"
#include <stdio.h>

/** @param output  the hardware profile that was written */
adept_status adept_report_fit(adept_cli *cli, FILE *out, const adept_fit_report *r, const char *output,
                              const char *const *warnings, size_t n_warnings);
/** @param hw  NULL: several
 *  @param layouts  NULL: no file is of layouts */
adept_status adept_report_evaluation(adept_cli *cli, FILE *out, const adept_evaluation *e, const adept_dataset *d,
                                     const adept_hwprofile *hw, const adept_layout_report *layouts,
                                     const char *const *warnings, size_t n_warnings);

/** The first of the ways in which rows were held out that could be; NULL: none. */
const adept_held_out *adept_report_first_held_out(const adept_fit_report *r);

/** 12.34 -> "12.3", 1.234 -> "1.23"; NAN -> "": a table leaves out a column for which nobody has numbers. */
adept_text adept_percent_cell(double value);
/** The same with its sign. */
adept_text adept_signed_cell(double value);

/** What predictions of layouts are worth. @param memory  errors of peak_memory_bytes */
adept_status adept_report_layouts(adept_cli *cli, FILE *out, const adept_layout_report *r,
                                  const adept_error_stats *memory);
/** What rows did not say, and rows that could not be used, each with its reason. */
void adept_report_unused(FILE *out, const adept_dataset *d);

#endif
