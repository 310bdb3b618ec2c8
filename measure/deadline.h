/** @file deadline.h  Calls that may never return: a driver's. Private to measure/. Thread-safe. Calls: adept_error,
 * clock. */
#ifndef ADEPT_DEADLINE_H
#define ADEPT_DEADLINE_H
#include "adept_error.h"
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/** How long a driver may take to find its devices, and to read one. What takes longer does not answer. */
#define ADEPT_FIND_S 4.0
#define ADEPT_ANSWER_S 3.0

/**
 * Make a call in a thread of its own, and wait for it.
 * @param data  the call's own: after ETIMEDOUT it must stay what it is, for ever
 * @return 0: it returned; ETIMEDOUT: not within that time; else no thread can be started
 */
int adept_deadline_call(void (*call)(void *data), void *data, double limit_s);
/** The same until a signal came. @param is_stopped  true: it did; NULL: none ends it. @return ECANCELED: it came, and
 * all is as after ETIMEDOUT */
int adept_deadline_until(void (*call)(void *data), void *data, double limit_s, bool (*is_stopped)(void));
/** A thread was left alone with what it does. */
void adept_deadline_miss(void);

/** No thread could be started. @param failed  what a call says beside 0, ETIMEDOUT and ECANCELED
 *  @param of  what it is needed for: "sensors"
 *  @return ADEPT_E_NOMEM, ADEPT_E_INTERNAL */
adept_status adept_deadline_error(int failed, const char *of, adept_error *err);

/** As pthread_create(); signals are for the other threads of the program. */
int adept_deadline_thread(pthread_t *thread, void *(*run)(void *data), void *data);
/** A lock, and a condition that is waited for until adept_deadline_at(). @return false: there is neither */
bool adept_deadline_lock(pthread_mutex_t *lock, pthread_cond_t *changed);
/** A time of adept_clock_s(). */
struct timespec adept_deadline_at(double time_s);

#endif
