/** @file interrupt.h  Ctrl-C as a request: what runs long ends at the next whole piece of work. Calls: nothing. */
#ifndef ADEPT_INTERRUPT_H
#define ADEPT_INTERRUPT_H
#include <signal.h>

/** Set by the first SIGINT or SIGTERM after adept_interrupt_catch(). */
extern volatile sig_atomic_t adept_interrupt_requested;

/** The first signal is a request; the second ends the program. */
void adept_interrupt_catch(void);

#endif
