/** @file report_layouts.h  What predictions of layouts are worth, as text for people. Calls: calibrate. */
#ifndef ADEPT_REPORT_LAYOUTS_H
#define ADEPT_REPORT_LAYOUTS_H
#include "adept_layouts.h"
#include "cli.h"
#include <stdio.h>

/** @param memory  errors of peak_memory_bytes */
adept_status adept_report_layouts(adept_cli *cli, FILE *out, const adept_layout_report *r,
                                  const adept_error_stats *memory);

/** What rows did not say, and rows that could not be used, each with its reason. */
void adept_report_unused(FILE *out, const adept_dataset *d);

#endif
