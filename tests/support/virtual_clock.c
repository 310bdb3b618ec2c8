#include "virtual_clock.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* One thread that waits: for a time, or for its condition. */
typedef struct sleeper {
    struct sleeper *next;
    uint64_t until_ns;
    const pthread_cond_t *condition;
    bool is_called;
} sleeper;

typedef struct virtual_thread {
    struct virtual_thread *next;
    pthread_t id;
    void *(*run)(void *context);
    void *context;
    bool is_joined; /* somebody waits for its end */
} virtual_thread;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_virtual;
    uint64_t now_ns;
    int n_threads, n_waiting;
    sleeper *sleepers;
    virtual_thread *threads; /* that run */
    void (*tell)(double time_s);
} the_clock = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_nanosleep(const struct timespec *wait, struct timespec *left);
int __wrap_nanosleep(const struct timespec *wait, struct timespec *left);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __real_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
int __real_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __real_pause(void);
int __wrap_pause(void);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* The lock is held. */
static void set_time(uint64_t now_ns)
{
    the_clock.now_ns = now_ns;
    if (the_clock.tell) the_clock.tell(1e-9 * (double)now_ns);
}

/* The lock is held. When all threads wait, it is the time for which the first of them does. */
static void pass(void)
{
    uint64_t first_ns = UINT64_MAX;

    if (the_clock.n_waiting < the_clock.n_threads) return;
    for (const sleeper *s = the_clock.sleepers; s; s = s->next)
        if (s->is_called || s->until_ns < first_ns) first_ns = s->is_called ? the_clock.now_ns : s->until_ns;
    if (first_ns == UINT64_MAX) return;
    if (first_ns > the_clock.now_ns) set_time(first_ns);
    __real_pthread_cond_broadcast(&the_clock.changed);
}

/* The lock is held, and is not while it waits. @return 0, or ETIMEDOUT */
static int wait_for(uint64_t until_ns, const pthread_cond_t *condition)
{
    sleeper self = {.next = the_clock.sleepers, .until_ns = until_ns, .condition = condition};
    sleeper **link = &the_clock.sleepers;

    the_clock.sleepers = &self;
    the_clock.n_waiting++;
    pass();
    while (!self.is_called && the_clock.now_ns < until_ns)
        __real_pthread_cond_wait(&the_clock.changed, &the_clock.lock);
    the_clock.n_waiting--;
    while (*link != &self)
        link = &(*link)->next;
    *link = self.next;
    return self.is_called ? 0 : ETIMEDOUT;
}

static void sleep_until(uint64_t until_ns)
{
    pthread_mutex_lock(&the_clock.lock);
    wait_for(until_ns, NULL);
    pthread_mutex_unlock(&the_clock.lock);
}

void virtual_clock_begin(void (*tell)(double time_s))
{
    the_clock.n_threads = 1;
    the_clock.tell = tell;
    set_time(1000 * 1000000000ull);
    the_clock.is_virtual = true;
}

void virtual_clock_end(void)
{
    the_clock.is_virtual = false;
}

void virtual_clock_sleep(double time_s)
{
    sleep_until(the_clock.now_ns + (uint64_t)(1e9 * time_s));
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!the_clock.is_virtual || clock != CLOCK_MONOTONIC) return __real_clock_gettime(clock, time);
    pthread_mutex_lock(&the_clock.lock);
    *time = (struct timespec){(time_t)(the_clock.now_ns / 1000000000u), (long)(the_clock.now_ns % 1000000000u)};
    set_time(the_clock.now_ns + 1000);
    pthread_mutex_unlock(&the_clock.lock);
    return 0;
}

int __wrap_nanosleep(const struct timespec *wait, struct timespec *left)
{
    if (!the_clock.is_virtual) return __real_nanosleep(wait, left);
    sleep_until(the_clock.now_ns + ns_of(wait));
    return 0;
}

int __wrap_pause(void)
{
    if (!the_clock.is_virtual) return __real_pause();
    sleep_until(UINT64_MAX);
    return 0;
}

static int wait_on(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_ns)
{
    pthread_mutex_lock(&the_clock.lock);
    pthread_mutex_unlock(mutex);
    int result = wait_for(until_ns, condition);
    pthread_mutex_unlock(&the_clock.lock);
    pthread_mutex_lock(mutex);
    return result;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    return the_clock.is_virtual ? wait_on(condition, mutex, ns_of(until))
                                : __real_pthread_cond_timedwait(condition, mutex, until);
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return the_clock.is_virtual ? wait_on(condition, mutex, UINT64_MAX) : __real_pthread_cond_wait(condition, mutex);
}

/* Who waits may wake up without a reason, so all of them do. */
static void call(const pthread_cond_t *condition)
{
    pthread_mutex_lock(&the_clock.lock);
    for (sleeper *s = the_clock.sleepers; s; s = s->next)
        if (s->condition == condition) s->is_called = true;
    __real_pthread_cond_broadcast(&the_clock.changed);
    pthread_mutex_unlock(&the_clock.lock);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
    call(condition);
    return __real_pthread_cond_broadcast(condition);
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
    call(condition);
    return __real_pthread_cond_signal(condition);
}

static void *run_thread(void *context)
{
    virtual_thread *thread = context, **link = &the_clock.threads;

    void *result = thread->run(thread->context);
    pthread_mutex_lock(&the_clock.lock);
    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    the_clock.n_threads--;
    if (thread->is_joined) the_clock.n_waiting--; /* from now on whoever joins it runs, before any time passes */
    pass();
    pthread_mutex_unlock(&the_clock.lock);
    free(thread);
    return result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
    if (!the_clock.is_virtual) return __real_pthread_create(thread, attributes, run, context);
    virtual_thread *started = malloc(sizeof *started);
    if (!started) return EAGAIN;
    pthread_mutex_lock(&the_clock.lock);
    *started = (virtual_thread){.next = the_clock.threads, .run = run, .context = context};
    int failed = __real_pthread_create(&started->id, attributes, run_thread, started);
    if (failed == 0) {
        the_clock.threads = started;
        the_clock.n_threads++;
        *thread = started->id;
    }
    pthread_mutex_unlock(&the_clock.lock);
    if (failed) free(started);
    return failed;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    if (!the_clock.is_virtual) return __real_pthread_join(thread, result);
    pthread_mutex_lock(&the_clock.lock);
    for (virtual_thread *t = the_clock.threads; t; t = t->next)
        if (pthread_equal(t->id, thread)) { /* wait for it, for no time of one's own */
            t->is_joined = true;
            the_clock.n_waiting++;
            pass();
        }
    pthread_mutex_unlock(&the_clock.lock);
    return __real_pthread_join(thread, result);
}
