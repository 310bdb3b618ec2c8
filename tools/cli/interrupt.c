/** @file interrupt.c  Ctrl-C as a request; see interrupt.h. */
#include "interrupt.h"

volatile sig_atomic_t adept_interrupt_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    adept_interrupt_requested = 1;
}

void adept_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
