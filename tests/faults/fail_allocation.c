/** @file fail_allocation.c  Preloaded into a program: makes its allocations fail. For check_faults.py.
 *
 *  ADEPT_FAIL_ALLOCATION=N          the Nth allocation returns NULL; 0: none
 *  ADEPT_FAIL_ALLOCATION_ON=1       and so do all that follow
 *  ADEPT_FAIL_ALLOCATION_CHILD=1    only those of processes that the program forks, which are left alone otherwise
 *  ADEPT_FAIL_ALLOCATION_REPORT=F   gets the stack of the failed allocation
 *
 *  ADEPT_FAIL_ALLOCATION=walk       every one of the process: at each it forks, and the children go on, with that one
 * alone failing and with all from there; `walk_case()` tells what became of them ADEPT_FAIL_ALLOCATION_EVERY=K    only
 * every Kth ADEPT_FAIL_ALLOCATION_REPORT=F   gets a record of each child (`struct record`), then out, err, and the
 * files it changed
 *
 *  ADEPT_FAIL_ALLOCATION=order      those that the file ADEPT_FAIL_ORDER asks for (`struct order`); kind 1: all that
 * follow too
 *
 *  glibc only: __libc_malloc and its kin are glibc's own. */
#include "walk.h"
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_FRAMES 48

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_long count;
static long fails_at, every = 1;
static bool is_armed, goes_on, walks, waits_for_child;
static char report[4096];
static struct order *order; /* NULL: none is given */

static void disarm(void)
{
    if (!walk_is_forking()) is_armed = waits_for_child;
}

__attribute__((constructor)) static void arm(void)
{
    const char *at = getenv("ADEPT_FAIL_ALLOCATION"), *path = getenv("ADEPT_FAIL_ALLOCATION_REPORT");
    const char *step = getenv("ADEPT_FAIL_ALLOCATION_EVERY");
    void *stack[4];

    if (!at || !path) return;
    snprintf(report, sizeof report, "%s", path);
    fails_at = atol(at);
    goes_on = getenv("ADEPT_FAIL_ALLOCATION_ON") != NULL;
    walks = strcmp(at, "walk") == 0;
    if (step && atol(step) > 0) every = atol(step);
    (void)backtrace(stack, 4); /* loads libgcc, which allocates, the first time */
    if (walks) walk_begin(path);
    order = walk_order(getenv("ADEPT_FAIL_ORDER"));
    pthread_atfork(NULL, NULL, disarm);
    unsetenv("LD_PRELOAD"); /* what it executes is left alone as well */
    waits_for_child = getenv("ADEPT_FAIL_ALLOCATION_CHILD") != NULL;
    is_armed = !waits_for_child;
}

static void tell_stack(void)
{
    void *stack[MOST_FRAMES];
    int fd = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0) return;
    backtrace_symbols_fd(stack, backtrace(stack, MOST_FRAMES), fd);
    close(fd);
}

/* Is this one of the children, which is to fail here? */
static bool walk_on(long n)
{
    if (n % every) return false;
    is_armed = false;
    if (!walk_is_due()) {
        is_armed = true;
        return false;
    }
    for (int all = 0; all < 2; all++)
        if (walk_case(n, all)) {
            walks = false;
            is_armed = true;
            fails_at = n;
            goes_on = all;
            return true;
        }
    is_armed = true;
    return false;
}

static bool is_next(bool *is_first)
{
    if (order) {
        bool here = walk_obey(order, order->kind == 1);
        *is_first = here && order->seen == order->at;
        return here;
    }
    long n = atomic_fetch_add(&count, 1) + 1;
    bool here = walks ? walk_on(n) : n == fails_at || (goes_on && fails_at > 0 && n > fails_at);
    *is_first = here && n == fails_at && !walk_is_child() && !waits_for_child;
    return here;
}

static bool fails(void)
{
    bool is_first;

    if (!is_armed || !is_next(&is_first)) return false;
    if (is_first) {
        is_armed = false; /* what tells of it may allocate */
        tell_stack();
        is_armed = true;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, bytes);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = memalign(alignment, size);

    if (!memory) return ENOMEM;
    *out = memory;
    return 0;
}
