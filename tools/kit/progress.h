/** @file progress.h  What runs long: a line on a terminal that is rewritten as work goes on, and Ctrl-C as a
 *  request that it ends at the next whole piece of work. Calls: nothing. */
#ifndef ADEPT_PROGRESS_H
#define ADEPT_PROGRESS_H
#include "adept_error.h"
#include <signal.h>
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

/** The signal that asked for the end, SIGINT or SIGTERM, after adept_interrupt_catch(); a run that it cut short exits
 * with 128 + its number, as if it had killed the program. */
extern volatile sig_atomic_t adept_interrupt_requested;

/** The first signal is a request; the second ends the program. One that was ignored stays so, in commands that are run
 * too. */
void adept_interrupt_catch(void);

#endif
