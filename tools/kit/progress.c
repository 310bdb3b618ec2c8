/** @file progress.c  Progress goes to a terminal only: a log file is not the place for it. Ctrl-C is a request. */
#include "progress.h"
#include "adept_clock.h"
#include "table.h"
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEAST_INTERVAL_S 0.1

void adept_progress_init(adept_progress *p)
{
    *p = (adept_progress){.shown = isatty(STDERR_FILENO) == 1};
}

void adept_progress_say(adept_progress *p, const char *format, ...)
{
    char text[256];
    va_list args;

    if (!p->shown) return;
    const double now_s = adept_clock_s();
    if (p->dirty && now_s - p->last_s < LEAST_INTERVAL_S) return;
    p->last_s = now_s;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct winsize size; /* a line that wraps could not be wiped */
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10;
    const size_t width = known ? size.ws_col - 1u : 79;
    if (width < sizeof text) text[width] = '\0';
    fputs("\r", stderr);
    adept_print_clean(stderr, text);
    fputs("\033[K", stderr); /* erase to the end of the line */
    fflush(stderr);
    p->dirty = true;
}

void adept_progress_end(adept_progress *p)
{
    if (!p->dirty) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    p->dirty = false;
}

volatile sig_atomic_t adept_interrupt_requested;

static void request_stop(int signal_number)
{
    adept_interrupt_requested = signal_number;
}

void adept_interrupt_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct sigaction given, action = {.sa_handler = request_stop, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &given) == 0 && given.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}
