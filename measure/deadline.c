/** @file deadline.c  A call in a thread that is left alone when it does not return. What the two share is freed by who
 * comes last. */
#include "deadline.h"
#include "adept_clock.h"
#include "adept_sensor.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool missed;

void adept_deadline_miss(void)
{
    atomic_store(&missed, true);
}

bool adept_sensors_are_stuck(void)
{
    return atomic_load(&missed);
}

int adept_deadline_thread(pthread_t *thread, void *(*run)(void *data), void *data)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, NULL, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

adept_status adept_deadline_error(int failed, const char *of, adept_error *err)
{
    if (failed == ENOMEM) return adept_no_memory(err, of);
    return adept_error_set(err, ADEPT_E_INTERNAL, "cannot start a thread for %s: %s", of, strerror(failed));
}

bool adept_deadline_lock(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_condattr_t monotonic;

    if (pthread_condattr_init(&monotonic)) return false;
    bool made =
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 && pthread_cond_init(changed, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    if (made && pthread_mutex_init(lock, NULL)) {
        pthread_cond_destroy(changed);
        made = false;
    }
    return made;
}

struct timespec adept_deadline_at(double time_s)
{
    return (struct timespec){.tv_sec = (time_t)time_s, .tv_nsec = (long)(1e9 * (time_s - floor(time_s)))};
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

    if (!a || !adept_deadline_lock(&a->lock, &a->returned)) {
        free(a);
        return NULL;
    }
    a->call = call;
    a->data = data;
    return a;
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
    pthread_t thread;

    if (!a) return ENOMEM;
    int failed = adept_deadline_thread(&thread, run, a);
    if (failed) {
        free_attempt(a);
        return failed;
    }
    pthread_mutex_lock(&a->lock);
    while (!a->has_returned && failed == 0) {
        double now_s = adept_clock_s();
        const struct timespec until = adept_deadline_at(is_stopped ? fmin(end_s, now_s + look_s) : end_s);
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
