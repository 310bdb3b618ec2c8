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

static const struct sock_filter rules[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#ifdef __x86_64__
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the x32 numbers of the same calls */
    DENY(EPERM),
    ONLY_WITHOUT(open, 1, WRITING),
    NEVER(creat, EPERM),
    NEVER(unlink, EPERM),
    NEVER(rmdir, EPERM),
    NEVER(mkdir, EPERM),
    NEVER(mknod, EPERM),
    NEVER(link, EPERM),
    NEVER(symlink, EPERM),
    NEVER(rename, EPERM),
    NEVER(chmod, EPERM),
    NEVER(chown, EPERM),
    NEVER(lchown, EPERM),
    NEVER(fork, EPERM),
    NEVER(vfork, EPERM),
    NEVER(utime, EPERM),
    NEVER(utimes, EPERM),
    NEVER(futimesat, EPERM),
#endif
    ONLY_WITHOUT(openat, 2, WRITING),
    NEVER(open_by_handle_at, EPERM),
    NEVER(openat2, ENOSYS), /* its flags lie in memory, out of the filter's sight; the C library falls back */
    NEVER(unlinkat, EPERM),
    NEVER(mkdirat, EPERM),
    NEVER(mknodat, EPERM),
    NEVER(linkat, EPERM),
    NEVER(symlinkat, EPERM),
#ifdef __NR_renameat
    NEVER(renameat, EPERM),
#endif
    NEVER(renameat2, EPERM),
    NEVER(truncate, EPERM),
    NEVER(ftruncate, EPERM),
    NEVER(fallocate, EPERM),
    NEVER(fchmod, EPERM),
    NEVER(fchmodat, EPERM),
    NEVER(fchown, EPERM),
    NEVER(fchownat, EPERM),
    NEVER(utimensat, EPERM),
    NEVER(setxattr, EPERM),
    NEVER(lsetxattr, EPERM),
    NEVER(fsetxattr, EPERM),
    NEVER(removexattr, EPERM),
    NEVER(lremovexattr, EPERM),
    NEVER(fremovexattr, EPERM),
    NEVER(mount, EPERM),
    NEVER(umount2, EPERM),
    NEVER(chroot, EPERM),
    NEVER(pivot_root, EPERM),
    NEVER(unshare, EPERM),
    NEVER(setns, EPERM),
    NEVER(socket, EPERM),
    NEVER(socketpair, EPERM),
    NEVER(connect, EPERM),
    NEVER(execve, EPERM),
    NEVER(execveat, EPERM),
    NEVER(clone3, ENOSYS),             /* likewise; the C library then makes threads by clone */
    ONLY_WITH(clone, 0, CLONE_THREAD), /* threads, not processes; the flags come first on both processors */
    NEVER(kill, EPERM),                /* tgkill stays: abort() needs it */
    NEVER(tkill, EPERM),
    NEVER(rt_sigqueueinfo, EPERM),
    NEVER(rt_tgsigqueueinfo, EPERM),
    ONLY_WITHOUT(prlimit64, 0, UINT32_MAX), /* of this process only */
    NEVER(ptrace, EPERM),
    NEVER(process_vm_writev, EPERM),
    NEVER(pidfd_send_signal, EPERM),
    NEVER(pidfd_getfd, EPERM),
    NEVER(io_uring_setup, EPERM), /* would do the same work behind the filter's back */
    NEVER(bpf, EPERM),
    NEVER(perf_event_open, EPERM),
    NEVER(add_key, EPERM),
    NEVER(keyctl, EPERM),
    NEVER(mq_open, EPERM),
    NEVER(shmget, EPERM),
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
