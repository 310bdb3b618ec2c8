/* Linked into the programs of another processor that run under qemu-user: it has no seccomp, and takes ten times the
 * processor's time. Says that the filter of the loader's process was installed, and does not limit its time. For
 * check_aarch64.sh. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
    long (*next)(long, ...);
    long arguments[6];
    va_list list;
    if (number == SYS_seccomp) return 0;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
    int (*next)(__rlimit_resource_t, const struct rlimit *);
    *(void **)&next = dlsym(RTLD_NEXT, "setrlimit");
    return what == RLIMIT_CPU ? 0 : next(what, limit);
}
