/** @file report_warning.h  The last part of every report. Calls: nothing. */
#ifndef ADEPT_REPORT_WARNING_H
#define ADEPT_REPORT_WARNING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** "Warnings" before the first, then one line each; nothing if there is none. */
void adept_report_warning(FILE *out, bool *headed, const char *text);

/** The same for many: the first ones, then how many more there are. */
void adept_report_warnings(FILE *out, bool *headed, const char *const *texts, size_t n);

#endif
