/** @file sandbox.c  Limits, privileges and system calls of the loader's process. */
#include "sandbox.h"
#include "adept_import.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- limits ---- */

static bool limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit old;
    if (getrlimit(resource, &old) != 0) return false;
    struct rlimit wanted = {soft, hard};
    if (wanted.rlim_max > old.rlim_max) wanted.rlim_max = old.rlim_max;
    if (wanted.rlim_cur > wanted.rlim_max) wanted.rlim_cur = wanted.rlim_max;
    return setrlimit(resource, &wanted) == 0;
}

bool adept_sandbox_begin(double cpu_s)
{
    rlim_t seconds = cpu_s < 1e6 ? (rlim_t)ceil(cpu_s) : 1000000;
    bool ok = setsid() >= 0;                               /* no terminal to type into */
    ok = limit(RLIMIT_CPU, seconds, seconds + 1) && ok; /* SIGXCPU, then SIGKILL */
    ok = limit(RLIMIT_FSIZE, 0, 0) && ok;
    ok = limit(RLIMIT_CORE, 0, 0) && ok;
    return limit(RLIMIT_NOFILE, 256, 256) && ok;
}

#ifdef ADEPT_SANITIZED
static bool limit_memory(uint64_t bytes)
{
    (void)bytes; /* the sanitizers' shadow takes terabytes of address space */
    return true;
}
#else
/* Beside what is mapped already: libraries, and what the program had before it forked. */
static bool limit_memory(uint64_t bytes)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%llu", &pages) != 1) pages = 0;
        fclose(file);
    }
    bytes += pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit(RLIMIT_AS, bytes, bytes);
}
#endif

/* ---- privileges ---- */

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) == 0;
}

/* What each version of Landlock can forbid (linux/landlock.h, which may be older than the kernel). A ruleset without a
 * rule forbids all of it. */
static void forbid_paths(void)
{
#ifdef SYS_landlock_create_ruleset
    static const uint64_t files[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
    struct {
        uint64_t files, network, scopes;
    } all = {0};
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
    if (version < 1) return;
    all.files = files[version < 5 ? version : 5];
    all.network = version < 4 ? 0 : 3;
    all.scopes = version < 6 ? 0 : 3;
    size_t size = version < 4 ? 8 : version < 6 ? 16 : 24;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, size, 0);
    if (rules < 0) return;
    syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
#endif
}

bool adept_sandbox_confine(uint64_t memory_bytes)
{
    bool ok = limit_memory(memory_bytes);
    ok = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ok;
    forbid_paths(); /* a second line: the filter refuses every call that takes a path */
    return drop_capabilities() && ok;
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef THIS_ARCH

/* Of a 64-bit argument, the half that the kernel looks at in flags and small numbers (both processors are
 * little-endian), and the other one. */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
/* The n statements behind it are for that call, and leave the filter. */
#define OF(call, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, n)
#define ALLOWED(call) OF(call, 1), ALLOW,
#define REFUSED(call, error) OF(call, 1), FAIL(error)
/* Two statements each: the argument just loaded must, or must not, be so. */
#define REQUIRE_EQUAL(value, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0), FAIL(error)
#define REQUIRE_WITHOUT(bits, error) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1), FAIL(error)
#define REQUIRE_BELOW(value, error) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), 0, 1), FAIL(error)
#define ALLOW_EQUAL(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1), ALLOW

/* X(call): memory of its own, files that are open (a pipe to the parent and /dev/null), the clock, signals of its own,
 * locks, random numbers, what the processor is, the end. New threads are none of it: their numbers of today and of
 * tomorrow (rseq, set_robust_list) are only for those that run already. */
#define HARMLESS(X)                                                                                                    \
    X(read)                                                                                                            \
    X(write) X(writev) X(close) X(fstat) X(lseek) X(munmap) X(mremap) X(brk) X(clock_gettime) X(clock_getres)          \
        X(gettimeofday) X(getrusage) X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(sigaltstack)                  \
            X(restart_syscall) X(set_robust_list) X(rseq) X(sched_yield) X(sched_getaffinity) X(getcpu) X(getrandom)   \
                X(uname) X(sysinfo) X(getpid) X(gettid) X(getuid) X(geteuid) X(exit) X(exit_group) OLD_CALLS(X)
#ifdef __x86_64__
#define OLD_CALLS(X) X(time) X(getrlimit)
#else
#define OLD_CALLS(X)
#endif

bool adept_sandbox_filter(void)
{
    const struct sock_filter rules[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),
        KILL,
        LOAD(nr),
#ifdef __x86_64__
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the x32 numbers of the same calls */
        KILL,
#endif
        HARMLESS(ALLOWED)
        /* no code, and nothing that another process sees */
        OF(mmap, 7), LOAD(args[2]), REQUIRE_WITHOUT(PROT_EXEC, EPERM), LOAD(args[3]),
        REQUIRE_WITHOUT(MAP_SHARED, EPERM), ALLOW,
        OF(mprotect, 4), LOAD(args[2]), REQUIRE_WITHOUT(PROT_EXEC, EPERM), ALLOW,
        OF(madvise, 4), LOAD(args[2]), REQUIRE_BELOW(MADV_HWPOISON, EPERM), ALLOW,
        /* waiting and waking, without priorities */
        OF(futex, 11), LOAD(args[1]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FUTEX_CMD_MASK), ALLOW_EQUAL(FUTEX_WAIT),
        ALLOW_EQUAL(FUTEX_WAKE), ALLOW_EQUAL(FUTEX_WAIT_BITSET), ALLOW_EQUAL(FUTEX_WAKE_BITSET), FAIL(ENOSYS),
        /* abort() */
        OF(tgkill, 7), LOAD(args[0]), REQUIRE_EQUAL((uint32_t)getpid(), EPERM), LOAD(args[2]),
        REQUIRE_EQUAL(SIGABRT, EPERM), ALLOW,
        /* its own limits are read only */
        OF(prlimit64, 10), LOAD(args[0]), REQUIRE_EQUAL(0, EPERM), LOAD(args[2]), REQUIRE_EQUAL(0, EPERM),
        LOAD_HIGH(args[2]), REQUIRE_EQUAL(0, EPERM), ALLOW,
        OF(fcntl, 6), LOAD(args[1]), ALLOW_EQUAL(F_GETFD), ALLOW_EQUAL(F_GETFL), FAIL(EPERM),
        /* what libraries ask in passing, with the answer that they understand */
        REFUSED(openat, EACCES), REFUSED(ioctl, ENOTTY), REFUSED(clone, EAGAIN),
#ifdef __x86_64__
        REFUSED(open, EACCES),
#endif
        FAIL(ENOSYS),
    };
    struct sock_fprog program = {.len = (unsigned short)(sizeof rules / sizeof *rules),
                                 .filter = (struct sock_filter *)rules};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

#else /* another processor */

bool adept_sandbox_filter(void)
{
    return false;
}

#endif

bool adept_import_confine(double cpu_s, uint64_t memory_bytes)
{
    return adept_sandbox_begin(cpu_s) && adept_sandbox_confine(memory_bytes) && adept_sandbox_filter();
}
