/** @file fail_allocation.c  Preloaded into a program: makes one of its allocations fail. For check_faults.py.
 *
 *  ADEPT_FAIL_ALLOCATION=N          the Nth allocation returns NULL; 0: none
 *  ADEPT_FAIL_ALLOCATION_ON=1       and so do all that follow
 *  ADEPT_FAIL_ALLOCATION_REPORT=F   gets the stack of the failed allocation; if none is to fail, 8 bytes for each one: a
 *                                   hash of the innermost frames of its stack
 *  ADEPT_FAIL_ALLOCATION_FRAMES=K   so many; all where it is not set
 *
 *  Processes that the program forks are left alone. glibc only: __libc_malloc and its kin are glibc's own. */
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
static long fails_at;
static bool is_armed, goes_on;
static int sites = -1, frames = MOST_FRAMES;
static char report[4096];

static int open_report(void)
{
    return open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static void disarm(void)
{
    is_armed = false;
}

__attribute__((constructor)) static void arm(void)
{
    const char *at = getenv("ADEPT_FAIL_ALLOCATION"), *path = getenv("ADEPT_FAIL_ALLOCATION_REPORT");
    void *stack[4];

    if (!at || !path) return;
    snprintf(report, sizeof report, "%s", path);
    fails_at = atol(at);
    const char *depth = getenv("ADEPT_FAIL_ALLOCATION_FRAMES");
    if (depth && atoi(depth) > 0 && atoi(depth) < MOST_FRAMES - 2) frames = atoi(depth) + 2;
    goes_on = getenv("ADEPT_FAIL_ALLOCATION_ON") != NULL;
    (void)backtrace(stack, 4); /* loads libgcc, which allocates, the first time */
    if (fails_at == 0) sites = open_report();
    pthread_atfork(NULL, NULL, disarm);
    unsetenv("LD_PRELOAD"); /* what it executes is left alone as well */
    is_armed = true;
}

/* FNV-1a of the return addresses. */
static void note_site(void)
{
    void *stack[MOST_FRAMES];
    unsigned long long hash = 14695981039346656037ULL;

    int depth = backtrace(stack, frames);
    for (int i = 2; i < depth; i++) hash = (hash ^ (unsigned long long)stack[i]) * 1099511628211ULL;
    ssize_t written = write(sites, &hash, sizeof hash);
    (void)written;
}

static void tell_stack(void)
{
    void *stack[MOST_FRAMES];
    int fd = open_report();

    if (fd < 0) return;
    backtrace_symbols_fd(stack, backtrace(stack, MOST_FRAMES), fd);
    close(fd);
}

static bool fails(void)
{
    if (!is_armed) return false;
    if (sites >= 0) {
        note_site();
        return false;
    }
    long n = atomic_fetch_add(&count, 1) + 1;
    bool here = n == fails_at || (goes_on && fails_at > 0 && n > fails_at);
    if (n == fails_at) {
        is_armed = false; /* what tells of it may allocate */
        tell_stack();
        is_armed = true;
    }
    if (here) errno = ENOMEM;
    return here;
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
