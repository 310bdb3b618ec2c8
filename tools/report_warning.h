/** @file report_warning.h  The last part of every report. Calls: nothing. */
#ifndef ADEPT_REPORT_WARNING_H
#define ADEPT_REPORT_WARNING_H
#include <stdbool.h>
#include <stdio.h>

/** "Warnings" before the first, then one line each; nothing if there is none. */
void adept_report_warning(FILE *out, bool *headed, const char *text);

#endif
