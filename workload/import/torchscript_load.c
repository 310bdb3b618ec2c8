/** @file torchscript_load.c  libtorch in a child process: it may crash, hang or eat memory there, and stays out of this
 *  one, which would otherwise pay 160 MB and 0.4 s for it. Calls: torchscript_module, adept_graph, Linux. */
#include "adept_clock.h"
#include "adept_torch.h"
#include "adept_import.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT_S 120.0
#define LOADER_STACK_BYTES ((size_t)256 << 20)  /* virtual; libtorch recurses with the nesting of the program */
#define LOADER_MEMORY_BYTES ((uint64_t)4 << 30) /* address space beside the weights: libraries, stacks, the program */
#define MAX_STREAM_BYTES ((uint64_t)512 << 20)

/* First in the pipe, before the graph's bytes. Both ends are the same program. */
typedef struct reply {
    uint32_t magic;
    int32_t status;
    uint64_t graph_bytes;
    char message[sizeof((adept_error){0}.message)];
} reply;

#define REPLY_MAGIC 0x61647074u

/* ================================================================== the sandbox ================================ */

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

/* Limits of processor time and memory, no core dump, no file of any size. Irrevocable for this process.
 * memory_bytes: address space beyond what is mapped now. */
static bool limit_self(double cpu_s, uint64_t memory_bytes)
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
    OLD_CALLS(X)                                                                                                       \
    X(open_by_handle_at) X(unlinkat) X(mkdirat) X(mknodat) X(linkat) X(symlinkat) X(renameat2) X(truncate)             \
        X(ftruncate) X(fallocate) X(fchmod) X(fchmodat) X(fchown) X(fchownat) X(utimensat) X(setxattr) X(lsetxattr)    \
            X(fsetxattr) X(removexattr) X(lremovexattr) X(fremovexattr) X(mount) X(umount2) X(chroot) X(pivot_root)    \
                X(unshare) X(setns) X(socket) X(socketpair) X(connect) X(execve) X(execveat) X(kill) X(tkill)          \
                    X(rt_sigqueueinfo) X(rt_tgsigqueueinfo) X(ptrace) X(process_vm_writev) X(pidfd_send_signal)        \
                        X(pidfd_getfd) X(io_uring_setup) X(bpf) X(perf_event_open) X(add_key) X(keyctl) X(mq_open)     \
                            X(shmget)
#ifdef __x86_64__
#define OLD_CALLS(X)                                                                                                   \
    X(creat)                                                                                                           \
    X(unlink) X(rmdir) X(mkdir) X(mknod) X(link) X(symlink) X(rename) X(chmod) X(chown) X(lchown) X(fork) X(vfork)     \
        X(utime) X(utimes) X(futimesat) X(renameat)
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
    FORBIDDEN(FORBID) ALLOW,
};

/* From now on, opening for writing, creating, renaming or removing files, sockets, other processes and new programs
 * fail with EPERM, in all threads. @return false if this kernel or processor has no such filter */
static bool confine_self(void)
{
    struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = (struct sock_filter *)rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

#else /* another processor */

static bool confine_self(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return false;
}

#endif

/* ================================================================== the child ================================== */

typedef struct job {
    const char *path, *module;
    bool trust;
    double timeout_s;
    int pipe;
    adept_error err;
    adept_graph *graph;
} job;

static void write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1); /* the parent is gone or has had enough */
        at += n;
        size -= (size_t)n;
    }
}

/* Standard streams to /dev/null, everything else but the pipe closed: what the parent has open is not the child's. */
static bool detach(int keep)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0) return false;
    for (int fd = 0; fd <= 2; fd++) {
        if (fd != keep && dup2(null, fd) < 0) return false;
    }
    int first = keep > 2 ? keep : 2;
    if (keep > 3) close_range(3, (unsigned)keep - 1, 0);
    close_range((unsigned)first + 1, ~0u, 0);
    return true;
}

static uint64_t file_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

static adept_status restrict_self(job *j)
{
    /* libtorch allocates the weights even though the module never fills them. */
    uint64_t memory = LOADER_MEMORY_BYTES + 2 * file_bytes(j->path);
    if (!limit_self(j->timeout_s, memory)) {
        return adept_error_set(&j->err, ADEPT_E_INTERNAL, "%s: cannot limit the loader's resources", j->path);
    }
    /* Without --trust nothing of the file runs, and the filter is a second line only. */
    if (!confine_self() && j->trust) {
        return adept_error_set(&j->err, ADEPT_E_UNSUPPORTED,
                               "%s: --trust needs seccomp to confine the file's code, which this system lacks",
                               j->path);
    }
    return ADEPT_OK;
}

static adept_status import(job *j)
{
    adept_status status = restrict_self(j);
    if (status != ADEPT_OK) return status;
    void *module = dlopen(j->module, RTLD_NOW | RTLD_LOCAL);
    /* ISO C has no conversion from object to function pointers; POSIX guarantees this one. */
    adept_torch_import_fn call = NULL;
    if (module) *(void **)&call = dlsym(module, ADEPT_TORCH_SYMBOL);
    if (!call) {
        const char *why = dlerror();
        return adept_error_set(&j->err, ADEPT_E_UNSUPPORTED, "%s: the libtorch module does not load: %s", j->path,
                               why ? why : "no reason given");
    }
    return call(ADEPT_TORCH_ABI, &j->graph, j->path, &j->err);
}

static void *run_job(void *argument)
{
    job *j = argument;
    adept_buffer bytes = {0};
    adept_status status = import(j);
    if (status == ADEPT_OK) status = adept_graph_write(&bytes, j->graph, &j->err);
    reply head = {.magic = REPLY_MAGIC, .status = (int32_t)status, .graph_bytes = status == ADEPT_OK ? bytes.size : 0};
    memcpy(head.message, j->err.message, sizeof head.message);
    head.message[sizeof head.message - 1] = '\0';
    write_all(j->pipe, &head, sizeof head);
    write_all(j->pipe, bytes.data, head.graph_bytes);
    _exit(0); /* no destructors: libtorch's take time, and whatever they find is the kernel's to free */
}

static void reset_signals(void)
{
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_child(job *j, pid_t parent)
{
    reset_signals();
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || !detach(j->pipe)) _exit(1);
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, LOADER_STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, run_job, j) != 0) {
        _exit(1);
    }
    pthread_join(thread, NULL);
    _exit(1);
}

/* ================================================================== the parent ================================= */

typedef enum outcome { ENDED, TIMED_OUT, TOO_LARGE, NO_MEMORY, BROKEN } outcome;

#define READ_BYTES ((size_t)1 << 16) /* at least */

/* Everything the child writes, until it closes the pipe. */
static outcome collect(adept_buffer *b, int fd, double deadline_s)
{
    for (;;) {
        double left_s = deadline_s - adept_clock_s();
        if (left_s <= 0) return TIMED_OUT;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, left_s < 1000 ? (int)(left_s * 1000) + 1 : 1000000);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        if (ready < 0) return BROKEN;
        char *room = adept_buffer_room(b, READ_BYTES);
        if (!room) return NO_MEMORY;
        ssize_t n = read(fd, room, b->capacity - b->size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return BROKEN;
        if (n == 0) return ENDED;
        b->size += (size_t)n;
        if (b->size > MAX_STREAM_BYTES) return TOO_LARGE;
    }
}

/* The child dies here in any case; what it died of by itself is in the result. */
static int reap(pid_t child, bool kill_it)
{
    int how = 0;
    if (kill_it) kill(child, SIGKILL);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    return how;
}

static adept_status explain_death(const char *path, int how, double timeout_s, adept_error *err)
{
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch needed more than %g s of processor time to load it",
                               path, timeout_s);
    }
    if (WIFSIGNALED(how)) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch crashed while loading it (signal %d, %s)", path,
                               WTERMSIG(how), strsignal(WTERMSIG(how)));
    }
    return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch ended while loading it (exit status %d)", path,
                           WIFEXITED(how) ? WEXITSTATUS(how) : -1);
}

static adept_status explain_outcome(const char *path, outcome o, double timeout_s, adept_error *err)
{
    switch (o) {
    case TIMED_OUT:
        return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch did not finish loading it within %g s", path,
                               timeout_s);
    case TOO_LARGE:
        return adept_error_set(err, ADEPT_E_INVALID, "%s: the program unfolds into more than %llu bytes", path,
                               (unsigned long long)MAX_STREAM_BYTES);
    case NO_MEMORY:
        return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", path);
    default:
        return adept_error_set(err, ADEPT_E_INTERNAL, "%s: lost the loader's process: %s", path, strerror(errno));
    }
}

/* The child ran a stranger's file: nothing it says is taken for granted. */
static adept_status take_reply(adept_graph **out, const adept_buffer *b, const char *path, adept_error *err)
{
    reply head;
    memcpy(&head, b->data, sizeof head);
    if (head.magic != REPLY_MAGIC || head.graph_bytes != b->size - sizeof head) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch's process answered nonsense", path);
    }
    head.message[sizeof head.message - 1] = '\0';
    head.message[strcspn(head.message, "\r\n")] = '\0';
    if (head.status == ADEPT_OK) return adept_graph_read(out, b->data + sizeof head, b->size - sizeof head, err);
    bool known = head.status == ADEPT_E_NOMEM || head.status == ADEPT_E_INTERNAL || head.status == ADEPT_E_UNSUPPORTED;
    return adept_error_set(err, known ? (adept_status)head.status : ADEPT_E_INVALID, "%s", head.message);
}

static adept_status supervise(adept_graph **out, const job *j, pid_t child, int fd, adept_error *err)
{
    adept_buffer bytes = {0};
    outcome o = collect(&bytes, fd, adept_clock_s() + j->timeout_s);
    int how = reap(child, o != ENDED);
    adept_status status;
    if (o != ENDED)
        status = explain_outcome(j->path, o, j->timeout_s, err);
    else if (!WIFEXITED(how) || WEXITSTATUS(how) != 0 || bytes.size < sizeof(reply))
        status = explain_death(j->path, how, j->timeout_s, err);
    else
        status = take_reply(out, &bytes, j->path, err);
    adept_buffer_free(&bytes);
    return status;
}

adept_status adept_torchscript_load(adept_graph **out, const char *path, const adept_import_options *options,
                                    adept_error *err)
{
    char module[ADEPT_MODULE_PATH_BYTES];
    adept_status status = adept_torch_module_find(module, options ? options->torch_module : NULL, path, err);
    if (status != ADEPT_OK) return status;
    job j = {.path = path, .module = module, .trust = options && options->trust, .timeout_s = DEFAULT_TIMEOUT_S};
    if (options && options->timeout_s > 0) j.timeout_s = options->timeout_s;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return adept_error_set(err, ADEPT_E_INTERNAL, "%s: no pipe to the loader: %s", path, strerror(errno));
    }
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        j.pipe = ends[1];
        run_child(&j, parent);
        _exit(1);
    }
    close(ends[1]);
    if (child < 0) {
        status =
            adept_error_set(err, ADEPT_E_INTERNAL, "%s: cannot start the loader's process: %s", path, strerror(errno));
    } else {
        status = supervise(out, &j, child, ends[0], err);
    }
    close(ends[0]);
    return status;
}
