/** @file progress.h  One line on a terminal that is rewritten as work goes on. Calls: nothing. */
#ifndef ADEPT_PROGRESS_H
#define ADEPT_PROGRESS_H
#include "adept_error.h"
#include <stdbool.h>

typedef struct adept_progress {
    bool shown; /* standard error is a terminal */
    bool dirty; /* there is a line to wipe */
    double last_s;
} adept_progress;

void adept_progress_init(adept_progress *p);
/** Replace the line; at most ten times a second. Nothing happens where standard error is no terminal. */
void adept_progress_say(adept_progress *p, const char *format, ...) ADEPT_PRINTF(2, 3);
/** Wipe the line, before anything else is printed. */
void adept_progress_end(adept_progress *p);

#endif
