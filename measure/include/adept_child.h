/** @file adept_child.h  Running a command until it and all that it started have ended, with signals passed on. For
 * programs: it changes the signal mask and adopts orphans. Not thread-safe. Calls: adept_error, clock. */
#ifndef ADEPT_CHILD_H
#define ADEPT_CHILD_H
#include "adept_error.h"
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct adept_child {
    pid_t pid;
    double begin_s, end_s; /* by adept_clock_s(): started, and the last process ended */
    int exit_status;       /* as a shell has it: 128 + the signal that ended it; 127 not found, 126 cannot be run */
    bool has_ended;        /* the command itself; what it started may still run */
    bool was_left;         /* a signal ended the waiting for what it had started */
    int signal;            /* the last that came to end the program: INT, TERM, HUP or QUIT; 0: none */
    sigset_t mask;         /* before */
} adept_child;

/**
 * Start a command found by PATH. Its signals, mask and files are the caller's.
 * @param argv  ends with NULL
 * @return ADEPT_E_USAGE with exit_status 126 or 127: it cannot be run; ADEPT_E_INTERNAL
 */
adept_status adept_child_start(adept_child *child, const char *const *argv, adept_error *err);
/**
 * Wait until the command and all that it started have ended. INT, TERM, HUP, QUIT, USR1 and USR2 go to the command;
 * what the terminal sends has reached it already. Once the command has ended, INT or TERM ends the waiting.
 * @param tick  called every so often, and when a signal came to end the program; NULL: never
 */
void adept_child_wait(adept_child *child, double tick_s, void (*tick)(void *data), void *data);
/** A process that somebody else started: itself, not who has its number later. Zero: none. */
typedef struct adept_attached {
    pid_t pid;
    int fd;                   /* of pidfd_open(); -1: before Linux 5.3, or of a thread */
    unsigned long long start; /* then: when it started, as /proc has it */
} adept_attached;

/** @return false: none of that number runs; one that has ended and was not waited for yet does not. Else
 * adept_attached_close() it */
bool adept_attached_open(adept_attached *process, pid_t pid);
void adept_attached_close(adept_attached *process);

/** Wait until some process ends, a time has passed, or INT, TERM or HUP comes.
 *  @param process     NULL: none
 *  @param duration_s  INFINITY: for ever */
void adept_child_watch(adept_child *child, const adept_attached *process, double duration_s, double tick_s,
                       void (*tick)(void *data), void *data);

#endif
