/** @file deadline.c  A call in a thread that is left alone when it does not return. What the two share is freed by who comes
 * last. */
#include "deadline.h"
#include "adept_clock.h"
#include "adept_sensor.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_bool missed;

void adept_deadline_miss(void)
{
    atomic_store(&missed, true);
}

bool adept_sensors_are_stuck(void)
{
    return atomic_load(&missed);
}

typedef struct attempt {
    void (*call)(void *data);
    void *data;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t returned;
    bool has_returned, is_alone;
} attempt;

static void free_attempt(attempt *a)
{
    pthread_cond_destroy(&a->returned);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static void *run(void *data)
{
    attempt *a = data;

    a->call(a->data);
    pthread_mutex_lock(&a->lock);
    a->has_returned = true;
    bool is_alone = a->is_alone;
    pthread_cond_signal(&a->returned);
    pthread_mutex_unlock(&a->lock);
    if (is_alone) free_attempt(a);
    return NULL;
}

static attempt *new_attempt(void (*call)(void *data), void *data)
{
    attempt *a = calloc(1, sizeof *a);
    pthread_condattr_t monotonic;

    if (!a || pthread_condattr_init(&monotonic)) {
        free(a);
        return NULL;
    }
    a->call = call;
    a->data = data;
    bool made = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&a->returned, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    if (made && pthread_mutex_init(&a->lock, NULL) == 0) return a;
    if (made) pthread_cond_destroy(&a->returned);
    free(a);
    return NULL;
}

int adept_deadline_call(void (*call)(void *data), void *data, double limit_s)
{
    return adept_deadline_until(call, data, limit_s, NULL);
}

/* A signal wakes up nobody who waits for a condition: from time to time he looks. */
int adept_deadline_until(void (*call)(void *data), void *data, double limit_s, bool (*is_stopped)(void))
{
    const double look_s = 0.05;
    attempt *a = new_attempt(call, data);
    double end_s = adept_clock_s() + limit_s;
    sigset_t all, before;
    pthread_t thread;

    if (!a) return ENOMEM;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads of the program */
    int failed = pthread_create(&thread, NULL, run, a);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free_attempt(a);
        return failed;
    }
    pthread_mutex_lock(&a->lock);
    while (!a->has_returned && failed == 0) {
        double now_s = adept_clock_s(), look_at_s = is_stopped ? fmin(end_s, now_s + look_s) : end_s;
        const struct timespec until = {.tv_sec = (time_t)look_at_s, .tv_nsec = (long)(1e9 * (look_at_s - floor(look_at_s)))};
        if (now_s >= end_s)
            failed = ETIMEDOUT;
        else if (is_stopped && is_stopped())
            failed = ECANCELED;
        else
            pthread_cond_timedwait(&a->returned, &a->lock, &until);
    }
    bool has_returned = a->has_returned;
    a->is_alone = !has_returned;
    pthread_mutex_unlock(&a->lock);
    if (has_returned) {
        pthread_join(thread, NULL);
        free_attempt(a);
        return 0;
    }
    pthread_detach(thread);
    adept_deadline_miss();
    return failed;
}
