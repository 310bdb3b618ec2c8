/* A stand-in for the libtorch module that a stranger's file has taken over: it runs in the loader's process, behind its
 * sandbox, and does what ADEPT_TEST_DEED says. The deed "attack" tries what would reach beyond that process. What gets
 * through, or is refused by the kernel rather than by the filter, is named in the error message. */
#include "adept_torch.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char report[900];

static void note(const char *what)
{
    size_t n = strlen(report);
    snprintf(report + n, sizeof report - n, " %s", what);
}

/* ---- when the module is opened: what the process has by then ---- */

static pid_t parent;

__attribute__((constructor)) static void look(void)
{
    parent = getppid();
    if (getsid(0) != getpid()) note("session-of-the-parent");
    for (int fd = 0; fd < 256; fd++) {
        char path[64], is[256] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, is, sizeof is - 1) < 0 || strcmp(is, "/dev/null") == 0) continue;
        if (strncmp(is, "pipe:", 5) != 0 && !strstr(is, "hostile_torch")) note(is);
    }
}

/* ---- attacks ---- */

static void expect_refused(const char *what, long result)
{
    if (result == -1 && (errno == ENOSYS || errno == EPERM || errno == EACCES || errno == ENOTTY || errno == EAGAIN))
        return;
    note(what);
}

/* Every number but those that computing takes. */
static void try_all_numbers(void)
{
    static const int allowed[] = {
        SYS_read, SYS_write, SYS_writev, SYS_close, SYS_fstat, SYS_lseek, SYS_munmap, SYS_mremap, SYS_brk,
        SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_getrusage, SYS_rt_sigaction, SYS_rt_sigprocmask,
        SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_set_robust_list, SYS_rseq, SYS_sched_yield,
        SYS_sched_getaffinity, SYS_getcpu, SYS_getrandom, SYS_uname, SYS_sysinfo, SYS_getpid, SYS_gettid, SYS_getuid,
        SYS_geteuid, SYS_exit, SYS_exit_group,
        /* depending on their arguments */
        SYS_mmap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_tgkill, SYS_prlimit64, SYS_fcntl,
#ifdef __x86_64__
        SYS_time, SYS_getrlimit, 335, 336, /* uretprobe, uprobe: a signal unless the kernel's own code calls them */
#endif
    };
    for (int number = 0; number < 1024; number++) {
        char name[32];
        bool is_allowed = false;
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
            is_allowed = is_allowed || allowed[i] == number;
        snprintf(name, sizeof name, "number-%d", number);
        if (!is_allowed) expect_refused(name, syscall(number, -1L, -1L, -1L, -1L, -1L, -1L));
    }
}

#define TRY(call, ...) expect_refused(#call " " #__VA_ARGS__, syscall(SYS_##call, __VA_ARGS__))

static void try_files(const char *victim)
{
    TRY(openat, AT_FDCWD, victim, O_RDONLY);
    TRY(openat, AT_FDCWD, victim, O_WRONLY | O_TRUNC);
    TRY(openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
    TRY(unlinkat, AT_FDCWD, victim, 0);
    TRY(fchmodat, AT_FDCWD, victim, 0777);
    TRY(truncate, victim, 0L);
    TRY(execve, "/bin/true", NULL, NULL);
    expect_refused("fchmodat2", syscall(452, AT_FDCWD, victim, 0777, 0));
    expect_refused("setxattrat", syscall(463, AT_FDCWD, victim, 0, "user.a", NULL, 0L));
    expect_refused("open_tree", syscall(428, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
    expect_refused("fsopen", syscall(430, "tmpfs", 0));
    TRY(mount, "none", "/mnt", "tmpfs", 0L, NULL);
    TRY(memfd_create, "code", 0);
    TRY(init_module, "", 0L, "");
    TRY(finit_module, 1, "", 0);
}

static void try_others(void)
{
    union {
        char bytes[64];
        long number;
    } own = {{0}};
    struct rlimit more = {1000, 1000};
    TRY(ioctl, 0, TIOCSTI, "x");
    TRY(ioctl, 0, TIOCSCTTY, 1);
    TRY(fcntl, 1, F_SETOWN, (long)parent);
    TRY(fcntl, 1, 10 /* F_SETSIG */, (long)SIGKILL);
    TRY(fcntl, 1, F_SETFL, O_ASYNC);
    TRY(fcntl, 1, F_DUPFD, 0);
    TRY(tgkill, (long)parent, (long)parent, 0);
    TRY(tgkill, (long)parent, (long)parent, SIGABRT);
    TRY(tgkill, (long)getpid(), syscall(SYS_gettid), SIGKILL);
    TRY(kill, (long)parent, 0);
    TRY(kill, -1L, 0);
    TRY(tkill, (long)parent, 0);
    TRY(ptrace, 16L /* PTRACE_ATTACH */, (long)parent, 0L, 0L);
    TRY(process_vm_writev, (long)parent, &own, 1L, &own, 1L, 0L);
    TRY(prlimit64, (long)parent, (long)RLIMIT_CPU, NULL, &own);
    TRY(prlimit64, 0L, (long)RLIMIT_NOFILE, &more, NULL);
    TRY(prctl, PR_SET_PDEATHSIG, 0L);
    TRY(socket, AF_INET, SOCK_STREAM, 0);
    TRY(socketpair, AF_UNIX, SOCK_STREAM, 0, &own);
    TRY(io_uring_setup, 1, &own);
    TRY(bpf, 0, &own, 64L);
    TRY(keyctl, 0L, -3L, 1L);
    TRY(userfaultfd, 1L);
    TRY(perf_event_open, &own, 0, -1, -1, 0L);
    TRY(timer_create, 0, NULL, &own);
    TRY(unshare, 0x10000000 /* CLONE_NEWUSER */);
    TRY(clone3, &own, 64L);
    TRY(pidfd_open, (long)parent, 0);
}

static void try_memory(void)
{
    long page = sysconf(_SC_PAGESIZE);
    void *own = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED) note("no-memory");
    TRY(mmap, NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    TRY(mmap, NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0L);
    TRY(mprotect, own, page, PROT_READ | PROT_EXEC);
    TRY(madvise, own, page, 100L /* MADV_HWPOISON */);
    TRY(futex, own, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
}

static void try_processes(void)
{
    long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) syscall(SYS_exit_group, 0);
    expect_refused("clone", child);
#ifdef __x86_64__
    TRY(open, "/etc/passwd", O_RDONLY);
    expect_refused("fork", syscall(SYS_fork));
#endif
}

/* ---- deeds ---- */

static void touch(size_t bytes)
{
    char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return;
    for (size_t i = 0; i < bytes; i += 4096)
        all[i] = 1;
}

static volatile int *nowhere;

static void act(const char *deed, const adept_torch_file *file)
{
    if (strcmp(deed, "attack") == 0) {
        try_files(file->name);
        try_others();
        try_memory();
        try_processes();
        try_all_numbers();
    } else if (strcmp(deed, "crash") == 0) {
        *nowhere = 1;
    } else if (strcmp(deed, "abort") == 0) {
        abort();
    } else if (strcmp(deed, "touch") == 0) {
        for (;;)
            touch((size_t)file->gap_bytes);
    } else if (strcmp(deed, "spin") == 0) {
        for (;;)
            getpid();
#ifdef __x86_64__
    } else if (strcmp(deed, "x32") == 0) {
        syscall(0x40000000L + SYS_getpid);
    } else if (strcmp(deed, "i386") == 0) {
        long result;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
#endif
    }
}

__attribute__((visibility("default"))) void adept_torch_prepare(void)
{
}

__attribute__((visibility("default"))) adept_status adept_torch_import(int abi, adept_graph **out,
                                                                       const adept_torch_file *file, adept_error *err)
{
    const char *deed = getenv("ADEPT_TEST_DEED");
    (void)out;
    if (abi == ADEPT_TORCH_ABI) act(deed ? deed : "attack", file);
    err->status = ADEPT_E_INVALID;
    snprintf(err->message, sizeof err->message, "%s:%s", report[0] ? "got through" : "nothing got through", report);
    return ADEPT_E_INVALID;
}
