/** @file torchscript_sandbox.c  Resource limits and a seccomp filter for the loader's child. Calls: Linux. */
#include "torchscript_sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- limits ---- */

static bool limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit old;
    if (getrlimit((__rlimit_resource_t)resource, &old) != 0) return false;
    struct rlimit wanted = {soft, hard};
    if (wanted.rlim_max > old.rlim_max) wanted.rlim_max = old.rlim_max;
    if (wanted.rlim_cur > wanted.rlim_max) wanted.rlim_cur = wanted.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &wanted) == 0;
}

#ifndef ADEPT_SANITIZED
/* Address space that is mapped already: a large program must not use up the child's share. */
static uint64_t mapped_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%llu", &pages) != 1) pages = 0;
        fclose(file);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
#endif

bool adept_sandbox_limit(double cpu_s, uint64_t memory_bytes)
{
    rlim_t seconds = cpu_s < 1e6 ? (rlim_t)ceil(cpu_s) : 1000000;
    bool ok = limit(RLIMIT_CPU, seconds, seconds + 1); /* SIGXCPU, then SIGKILL */
    ok = limit(RLIMIT_FSIZE, 0, 0) && ok;
    ok = limit(RLIMIT_CORE, 0, 0) && ok;
    ok = limit(RLIMIT_NOFILE, 256, 256) && ok;
#ifdef ADEPT_SANITIZED
    (void)memory_bytes; /* the sanitizers' shadow takes terabytes of address space */
#else
    uint64_t bytes = mapped_bytes() + memory_bytes;
    ok = limit(RLIMIT_AS, bytes, bytes) && ok;
#endif
    return ok;
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef THIS_ARCH

/* Of a 64-bit argument, the half that holds flags (both processors are little-endian). */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define DENY(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NEVER(call, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), DENY(error)

/* Allowed if none of the bits is set in the argument. Leaves the filter. */
#define ONLY_WITHOUT(call, argument, bits)                                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4), LOAD(args[argument]),                                      \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1), DENY(EPERM), ALLOW
#define ONLY_WITH(call, argument, bits)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4), LOAD(args[argument]),                                      \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 1, 0), DENY(EPERM), ALLOW
#define WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)

/* X(call): what fails with EPERM. Files are not made, changed or removed, nothing is mounted, no socket, process or
 * program is started, no other process is touched. tgkill stays: abort() needs it. io_uring would do the same work
 * behind the filter's back. */
#define FORBIDDEN(X)                                                                                                   \
    OLD_CALLS(X) X(open_by_handle_at) X(unlinkat) X(mkdirat) X(mknodat) X(linkat) X(symlinkat) X(renameat2)            \
    X(truncate) X(ftruncate) X(fallocate) X(fchmod) X(fchmodat) X(fchown) X(fchownat) X(utimensat) X(setxattr)         \
    X(lsetxattr) X(fsetxattr) X(removexattr) X(lremovexattr) X(fremovexattr) X(mount) X(umount2) X(chroot)             \
    X(pivot_root) X(unshare) X(setns) X(socket) X(socketpair) X(connect) X(execve) X(execveat) X(kill) X(tkill)        \
    X(rt_sigqueueinfo) X(rt_tgsigqueueinfo) X(ptrace) X(process_vm_writev) X(pidfd_send_signal) X(pidfd_getfd)         \
    X(io_uring_setup) X(bpf) X(perf_event_open) X(add_key) X(keyctl) X(mq_open) X(shmget)
#ifdef __x86_64__
#define OLD_CALLS(X)                                                                                                   \
    X(creat) X(unlink) X(rmdir) X(mkdir) X(mknod) X(link) X(symlink) X(rename) X(chmod) X(chown) X(lchown) X(fork)     \
    X(vfork) X(utime) X(utimes) X(futimesat) X(renameat)
#else
#define OLD_CALLS(X) X(renameat)
#endif
#define FORBID(call) NEVER(call, EPERM),

static const struct sock_filter rules[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#ifdef __x86_64__
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the x32 numbers of the same calls */
    DENY(EPERM),
    ONLY_WITHOUT(open, 1, WRITING),
#endif
    ONLY_WITHOUT(openat, 2, WRITING),
    NEVER(openat2, ENOSYS), /* its flags lie in memory, out of the filter's sight; the C library falls back */
    NEVER(clone3, ENOSYS),  /* likewise; the C library then makes threads by clone */
    ONLY_WITH(clone, 0, CLONE_THREAD),      /* threads, not processes; the flags come first on both processors */
    ONLY_WITHOUT(prlimit64, 0, UINT32_MAX), /* of this process only */
    FORBIDDEN(FORBID)
    ALLOW,
};

bool adept_sandbox_confine(void)
{
    struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = (struct sock_filter *)rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

#else /* another processor */

bool adept_sandbox_confine(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return false;
}

#endif
