/** @file fail_call.c  Preloaded into a program: makes its system calls fail, or do less than they were asked. For
 * check_faults.py.
 *
 *  ADEPT_FAIL_CALL=walk    at each call of `faults` the program forks (walk.h), once for each row that fits; the row's
 * number is the kind. ADEPT_FAIL_CALL_REPORT gets the records ADEPT_FAIL_CALL_EVERY=K only at every Kth call of the
 * frequent ones ADEPT_FAIL_CALL=N       the Nth of them gets the fault of row ADEPT_FAIL_CALL_KIND
 *  ADEPT_FAIL_CALL=short   every read and write moves half of what was asked for
 *
 *  ADEPT_FAIL_CALL=order   what the file ADEPT_FAIL_ORDER asks for (`struct order`), whose kind is a row: its Nth call
 *  ADEPT_FAIL_CALL_CHILD=1 only in processes that the program forks, which are left alone otherwise
 *
 *  clone, clone3 and vfork stand for fork(), pthread_create() and posix_spawnp(), which fail before they call the
 * system: what they start could not come back from a trap. clock_gettime() fails for clocks of processes, which the
 * vDSO asks for.
 *
 *  A seccomp filter traps the calls that libc's code makes, stdio's too; those of this file pass. What the program
 * executes has its libc elsewhere, and is left alone. x86-64 Linux only. */
#include "walk.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SHORT (-1)
#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct fault {
    int call, error;
    bool goes_on; /* with all calls of that kind that follow */
} fault;

/* check_faults.py reads them here. */
static const fault faults[] = {
    {SYS_read, SHORT, false},
    {SYS_read, SHORT, true},
    {SYS_read, EINTR, false},
    {SYS_read, EIO, true},
    {SYS_pread64, SHORT, false},
    {SYS_pread64, EIO, true},
    {SYS_write, SHORT, false},
    {SYS_write, SHORT, true},
    {SYS_write, EINTR, false},
    {SYS_write, ENOSPC, true},
    {SYS_write, EDQUOT, false},
    {SYS_openat, EMFILE, true},
    {SYS_openat, EACCES, false},
    {SYS_openat, EROFS, false},
    {SYS_openat, EINTR, false},
    {SYS_fsync, EIO, true},
    {SYS_rename, EACCES, true},
    {SYS_rename, EROFS, false},
    {SYS_linkat, EPERM, true},
    {SYS_newfstatat, EIO, false},
    {SYS_mmap, ENOMEM, true},
    {SYS_ftruncate, EFBIG, true},
    {SYS_getdents64, EIO, false},
    {SYS_lseek, ESPIPE, false},
    /* processes and threads */
    {SYS_clone, EAGAIN, true},
    {SYS_clone, ENOMEM, true},
    {SYS_clone3, EAGAIN, false},
    {SYS_clone3, EAGAIN, true},
    {SYS_vfork, EAGAIN, true},
    {SYS_vfork, ENOMEM, true},
    {SYS_pipe2, EMFILE, true},
    {SYS_memfd_create, ENOMEM, true},
    {SYS_memfd_create, EMFILE, true},
    {SYS_wait4, EINTR, false},
    /* servers */
    {SYS_socket, EMFILE, true},
    {SYS_socket, EACCES, false},
    {SYS_socket, ENOBUFS, false},
    {SYS_bind, EADDRINUSE, true},
    {SYS_bind, EACCES, false},
    {SYS_listen, EADDRINUSE, true},
    {SYS_setsockopt, ENOBUFS, false},
    {SYS_getsockname, ENOBUFS, false},
    {SYS_accept4, EMFILE, true},
    {SYS_accept4, ENFILE, false},
    {SYS_accept4, ENOMEM, true},
    {SYS_accept4, ECONNABORTED, false},
    {SYS_accept4, EINTR, false},
    {SYS_recvfrom, EINTR, false},
    {SYS_recvfrom, ECONNRESET, true},
    {SYS_recvfrom, ENOMEM, false},
    {SYS_sendto, SHORT, true},
    {SYS_sendto, EINTR, false},
    {SYS_sendto, EPIPE, true},
    {SYS_sendto, ENOBUFS, false},
    {SYS_sendmsg, EINTR, false},
    {SYS_sendmsg, EPIPE, true},
    {SYS_sendmsg, ENOBUFS, false},
    {SYS_epoll_create1, EMFILE, true},
    {SYS_epoll_ctl, ENOSPC, true},
    {SYS_epoll_ctl, ENOMEM, false},
    {SYS_epoll_wait, EINTR, false},
    {SYS_eventfd2, EMFILE, true},
    {SYS_poll, ENOMEM, false},
    /* sensors and sources */
    {SYS_perf_event_open, EACCES, true},
    {SYS_perf_event_open, EPERM, false},
    {SYS_perf_event_open, EMFILE, true},
    {SYS_perf_event_open, ENODEV, false},
    {SYS_perf_event_open, ENOMEM, false},
    {SYS_bpf, EPERM, true},
    {SYS_bpf, ENOMEM, false},
    {SYS_clock_gettime, EINVAL, true},
    {SYS_ioctl, EIO, false},
};

static unsigned long libc_begin, libc_end;
static long number, fails_at, kind, every = 1;
static bool walks, all_short, is_armed, waits_for_child;
static struct order *order; /* NULL: none is given */
static const fault *now; /* in a child: what goes on */
static __thread bool inside;

static long call(long nr, const greg_t *r)
{
    register long r10 __asm__("r10") = r[REG_R10];
    register long r8 __asm__("r8") = r[REG_R8];
    register long r9 __asm__("r9") = r[REG_R9];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(r[REG_RDI]), "S"(r[REG_RSI]), "d"(r[REG_RDX]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Events of software are those of check_faults.py, in place of RAPL's, and not every user may count them: this file
 * does. */
static long open_counter(void)
{
    inside = true;
    int file = open("counters/count", O_RDONLY | O_CLOEXEC);
    inside = false;
    return file < 0 ? -errno : file;
}

static long pass(long nr, const greg_t *r)
{
    const struct perf_event_attr *event = (const void *)r[REG_RDI];
    return nr == SYS_perf_event_open && event->type == PERF_TYPE_SOFTWARE ? open_counter() : call(nr, r);
}

static long with_fault(long nr, greg_t *r, int error)
{
    if (error != SHORT) return -error;
    if (r[REG_RDX] > 1) r[REG_RDX] /= 2;
    return call(nr, r);
}

/* Of others there are few: each is tried, whatever `every` says. */
static bool is_frequent(long call)
{
    static const int calls[] = {SYS_read, SYS_pread64, SYS_write, SYS_openat, SYS_newfstatat, SYS_mmap, SYS_getdents64,
                                SYS_lseek, SYS_clock_gettime, SYS_poll};
    for (size_t i = 0; i < COUNT(calls); i++)
        if (calls[i] == call) return true;
    return false;
}

/* It fails in a function of this file, not in a trap. */
static bool is_function(long call)
{
    return call == SYS_clone || call == SYS_clone3 || call == SYS_vfork || call == SYS_clock_gettime;
}

/* The fault that this call has; NULL: none. */
static const fault *fault_here(long nr)
{
    if (order) {
        const fault *f = &faults[order->kind];
        return f->call == nr && walk_obey(order, f->goes_on) ? f : NULL;
    }
    if (now && now->call == nr) return now;
    if (!walks && !fails_at) return NULL;
    long n = __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);
    if (walks && is_frequent(nr)) {
        if (n % every) return NULL;
        inside = true;
        const bool is_due = walk_is_due();
        inside = false;
        if (!is_due) return NULL;
    }
    for (size_t i = 0; i < COUNT(faults); i++) {
        if (faults[i].call != nr) continue;
        inside = true;
        bool here = walks ? walk_case(n, (int)i) : n == fails_at && (long)i == kind;
        inside = false;
        if (!here) continue;
        walks = false;
        fails_at = 0;
        if (faults[i].goes_on) now = &faults[i];
        return &faults[i];
    }
    return NULL;
}

static bool is_of_no_file(long fd)
{
    struct stat st;
    inside = true;
    bool is = fstat((int)fd, &st) == 0 && (st.st_mode & S_IFMT) == 0;
    inside = false;
    return is;
}

/* What is taken out of an epoll, and what goes through an eventfd, arrives; who does not wait is not interrupted. */
static bool can_fail(long nr, const greg_t *r)
{
    if (nr == SYS_epoll_ctl) return r[REG_RSI] == EPOLL_CTL_ADD;
    if (nr == SYS_wait4) return !(r[REG_RDX] & WNOHANG);
    return (nr != SYS_read && nr != SYS_write) || !is_of_no_file(r[REG_RDI]);
}

static long answer(long nr, greg_t *r)
{
    bool is_message = nr == SYS_write && r[REG_RDI] == STDERR_FILENO;
    if (inside || !is_armed || is_message || !can_fail(nr, r)) return pass(nr, r);
    if (all_short && (nr == SYS_read || nr == SYS_write || nr == SYS_pread64)) return with_fault(nr, r, SHORT);
    const fault *f = fault_here(nr);
    return f ? with_fault(nr, r, f->error) : pass(nr, r);
}

static void trapped(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    int saved = errno;
    (void)signal;
    r[REG_RAX] = answer(info->si_syscall, r);
    errno = saved;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (!strstr(info->dlpi_name, "libc.so")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        libc_begin = info->dlpi_addr + p->p_vaddr;
        libc_end = libc_begin + p->p_memsz;
    }
    return 1;
}

/* Trap where the upper halves of libc's addresses are equal, as they nearly always are, and the lower half lies
 * between. */
static void trap(void)
{
    struct sock_filter code[COUNT(faults) + 10];
    size_t n = 0, n_calls = COUNT(faults);
    _Static_assert(COUNT(faults) < 250, "a jump's length is a byte");
    const unsigned ip = offsetof(struct seccomp_data, instruction_pointer);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(libc_begin >> 32), 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip);
    code[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)libc_begin, 0, (unsigned char)(n_calls + 2));
    code[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)libc_end, (unsigned char)(n_calls + 1), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < n_calls; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 is_function(faults[i].call) ? ~0u : (unsigned)faults[i].call,
                                                 (unsigned char)(n_calls - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);
    if (libc_begin >> 32 != libc_end >> 32 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
        perror("fail_call");
        _exit(99);
    }
}

static void disarm(void)
{
    if (!walk_is_forking()) is_armed = waits_for_child;
}

__attribute__((constructor)) static void arm(void)
{
    const char *how = getenv("ADEPT_FAIL_CALL"), *path = getenv("ADEPT_FAIL_CALL_REPORT");
    if (!how) return;
    walks = path && strcmp(how, "walk") == 0;
    all_short = strcmp(how, "short") == 0;
    fails_at = atol(how);
    if (getenv("ADEPT_FAIL_CALL_EVERY")) every = atol(getenv("ADEPT_FAIL_CALL_EVERY"));
    kind = getenv("ADEPT_FAIL_CALL_KIND") ? atol(getenv("ADEPT_FAIL_CALL_KIND")) : -1;
    if (walks) walk_begin(path);
    order = walk_order(getenv("ADEPT_FAIL_ORDER"));
    dl_iterate_phdr(find_libc, NULL);
    pthread_atfork(NULL, NULL, disarm);
    unsetenv("LD_PRELOAD");
    waits_for_child = getenv("ADEPT_FAIL_CALL_CHILD") != NULL;
    is_armed = !waits_for_child;
    trap();
}

/* ---- what starts something, and what would get in the way of the trap ---- */

static int error_of(long nr)
{
    const fault *f = inside || !is_armed ? NULL : fault_here(nr);
    return f ? f->error : 0;
}

#define NEXT(name) (*(__typeof__(name) **)next_of(#name))

static void **next_of(const char *name)
{
    static __thread void *next;
    next = dlsym(RTLD_NEXT, name);
    return &next;
}

pid_t fork(void)
{
    int error = error_of(SYS_clone);
    if (error == 0) return NEXT(fork)();
    errno = error;
    return -1;
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*run)(void *),
                   void *restrict data)
{
    int error = error_of(SYS_clone3);
    return error ? error : NEXT(pthread_create)(thread, attributes, run, data);
}

int posix_spawnp(pid_t *restrict pid, const char *restrict file, const posix_spawn_file_actions_t *restrict actions,
                 const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                 char *const environment[restrict])
{
    int error = error_of(SYS_vfork);
    return error ? error : NEXT(posix_spawnp)(pid, file, actions, attributes, arguments, environment);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int error = clock < 0 ? error_of(SYS_clock_gettime) : 0;
    if (error == 0) return NEXT(clock_gettime)(clock, time);
    errno = error;
    return -1;
}

/* A child that posix_spawn() makes opens files with all signals blocked: the trap would kill it. It gets on without. */
int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *restrict actions, int fd, const char *restrict path,
                                     int flags, mode_t mode)
{
    (void)actions, (void)fd, (void)path, (void)flags, (void)mode;
    return 0;
}

/* Nor may threads block the trap, */
int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t most;
    if (!set || how == SIG_UNBLOCK) return NEXT(pthread_sigmask)(how, set, old);
    most = *set;
    sigdelset(&most, SIGSYS);
    return NEXT(pthread_sigmask)(how, &most, old);
}

/* nor a process that begins anew take it away. */
sighandler_t signal(int number, sighandler_t handler)
{
    return number == SIGSYS ? SIG_DFL : NEXT(signal)(number, handler);
}
