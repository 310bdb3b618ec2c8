/** @file torchscript_load.c  libtorch in a child process: it may crash, hang or eat memory there, and stays out of this
 *  one, which would otherwise pay 160 MB and 0.4 s for it. Calls: sandbox, torchscript_module, adept_graph, Linux. */
#include "adept_clock.h"
#include "import_private.h"
#include "sandbox.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef ADEPT_SANITIZED
#define DEFAULT_CPU_S 60.0
#else
#define DEFAULT_CPU_S                                                                                                  \
    10.0 /* for each ADEPT_MEMORY_BYTES; what PyTorch writes takes 1 s, on a slow or a busy machine 4 */
#endif
#ifndef ADEPT_DEFAULT_TIMEOUT_S /* check_aarch64.sh gives more to a processor that is emulated */
#define ADEPT_DEFAULT_TIMEOUT_S 60.0
#endif
#define LOADER_STACK_BYTES ((size_t)128 << 20) /* virtual; libtorch recurses with the nesting of the program */
#define HEAP_BYTES (64 << 20)                  /* of libtorch, with a Llama of 22 layers */
#define LARGE_PAGE ((uintptr_t)2 << 20)
#define MOST_IN_HEAP (32 << 20)                /* glibc's largest */
#define MOST_MAPPINGS 65536                    /* glibc's own */
#define STREAM_SHARE 16                        /* of the memory, for the graph's bytes */

/* First in the pipe, before the graph's bytes. Both ends are the same program. */
typedef struct reply {
    uint32_t magic;
    int32_t status;
    uint64_t graph_bytes;
    char message[sizeof((adept_error){0}.message)];
} reply;

#define REPLY_MAGIC 0x61647074u

typedef struct job {
    const char *path, *module; /* files: of the model, for messages, and of the libtorch module */
    const adept_torch_pack *pack;
    adept_torch_import_fn call;
    bool trust;
    double cpu_s, timeout_s;
    uint64_t memory_bytes;
    int pipe;
    adept_error err;
    adept_graph *graph;
} job;

/* ================================================================== the child ================================== */

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

/* Before Linux 5.9 one by one. */
static bool close_between(unsigned first, unsigned last)
{
    struct rlimit files;
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return true;
    if (errno != ENOSYS || getrlimit(RLIMIT_NOFILE, &files) != 0) return false;
    for (unsigned fd = first; fd <= last && fd < files.rlim_cur; fd++)
        close((int)fd);
    return true;
}

/* Standard streams to /dev/null, everything else but the pipe closed: what the parent has open is not the child's. */
static bool detach(int keep)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0) return false;
    for (int fd = 0; fd <= 2; fd++) {
        if (fd != keep && dup2(null, fd) < 0) return false;
    }
    return close_between(3, keep > 3 ? (unsigned)keep - 1 : 2) &&
           close_between((unsigned)(keep > 2 ? keep : 2) + 1, ~0u);
}

static void answer(job *j, adept_status status, const adept_buffer *bytes)
{
    reply head = {.magic = REPLY_MAGIC, .status = (int32_t)status, .graph_bytes = status == ADEPT_OK ? bytes->size : 0};
    memcpy(head.message, j->err.message, sizeof head.message);
    head.message[sizeof head.message - 1] = '\0';
    write_all(j->pipe, &head, sizeof head);
    if (status == ADEPT_OK) write_all(j->pipe, bytes->data, bytes->size);
    _exit(0); /* no destructors: libtorch's take time, and whatever they find is the kernel's to free */
}

static adept_status open_module(job *j)
{
    errno = 0;
    void *module = dlopen(j->module, RTLD_NOW | RTLD_LOCAL);
    bool no_memory = !module && errno == ENOMEM; /* dlerror() says that a file cannot be read */
    /* ISO C has no conversion from object to function pointers; POSIX guarantees this one. */
    adept_torch_prepare_fn prepare = NULL;
    if (module) *(void **)&prepare = dlsym(module, ADEPT_TORCH_PREPARE_SYMBOL);
    if (prepare) *(void **)&j->call = dlsym(module, ADEPT_TORCH_SYMBOL);
    if (j->call) {
        prepare();
        return ADEPT_OK;
    }
    const char *why = dlerror();
    if (no_memory) return adept_no_memory(&j->err, "libtorch");
    return adept_error_set(&j->err, ADEPT_E_UNSUPPORTED, "%s: the libtorch module does not load: %s", j->path,
                           why ? why : "no reason given");
}

/* libtorch first, which is no stranger's: it opens hundreds of files. */
static adept_status prepare(job *j)
{
    bool limited = adept_sandbox_begin(j->cpu_s);
    adept_status status = open_module(j);
    if (status != ADEPT_OK) return status;
    /* libtorch allocates the weights, perhaps twice, even though nobody ever fills them. */
    uint64_t memory = j->memory_bytes / 4 * 3 + 2 * j->pack->weight_bytes;
    if (limited && adept_sandbox_confine(memory)) return ADEPT_OK;
    return adept_error_set(&j->err, ADEPT_E_INTERNAL, "%s: cannot limit the loader's resources", j->path);
}

static adept_status load(job *j)
{
    if (!adept_sandbox_filter() && !j->trust) {
        return adept_error_set(
            &j->err, ADEPT_E_UNSUPPORTED,
            "%s: libtorch reads it only where seccomp confines what it does, which this system lacks; "
            "--trust reads it without, for files that you know",
            j->path);
    }
    return j->call(ADEPT_TORCH_ABI, &j->graph, &j->pack->file, &j->err);
}

static void *run_job(void *argument)
{
    job *j = argument;
    adept_buffer bytes = {0};
    adept_status status = load(j);
    if (status == ADEPT_OK) status = adept_graph_write(&bytes, j->graph, &j->err);
    answer(j, status, &bytes);
    return NULL;
}

/* What libtorch takes while it starts, in large pages where the system has them: else its page faults are a third of
 * all the time. What is not touched is no memory. */
static void make_heap(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1); /* another thread's would be grown by a system call for each few pages */
    mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BYTES);
    mallopt(M_MMAP_MAX, 0);
    char *room = malloc(HEAP_BYTES);
    mallopt(M_MMAP_MAX, MOST_MAPPINGS);
    mallopt(M_MMAP_THRESHOLD, MOST_IN_HEAP); /* setting the others ends glibc's own growing of it */
    if (!room) return;
    char *begin = room + (LARGE_PAGE - (uintptr_t)room % LARGE_PAGE);
    madvise(begin, HEAP_BYTES - (size_t)(begin - room), MADV_HUGEPAGE);
    free(room); /* to the heap, which keeps it */
#endif
}

static void run_child(job *j, pid_t parent)
{
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || !detach(j->pipe)) _exit(1);
    make_heap();
    adept_status status = prepare(j);
    if (status != ADEPT_OK) answer(j, status, NULL);
    pthread_attr_t attributes;
    pthread_t thread = 0;
    int failed = pthread_attr_init(&attributes);
    if (!failed) failed = pthread_attr_setstacksize(&attributes, LOADER_STACK_BYTES);
    if (!failed) failed = pthread_create(&thread, &attributes, run_job, j);
    if (failed) {
        status = adept_error_set(&j->err, ADEPT_E_INTERNAL, "%s: cannot start a thread for libtorch: %s", j->path,
                                 strerror(failed));
        answer(j, status, NULL);
    }
    pthread_join(thread, NULL);
    _exit(1);
}

/* ================================================================== the parent ================================= */

typedef enum outcome { ENDED, TIMED_OUT, TOO_LARGE, TOO_MUCH_MEMORY, NO_MEMORY, BROKEN } outcome;

#define READ_BYTES 65536
#define LOOK_MS 10 /* between two looks at the child's memory, of which it gets a few MB in a millisecond */

/* Address space does not tell: weights take much of it, and none of the memory unless somebody writes to them. */
static uint64_t resident_bytes(pid_t child)
{
#ifdef ADEPT_SANITIZED
    (void)child; /* most of it is the sanitizers' */
    return 0;
#else
    char path[64], text[128] = "";
    unsigned long long all, resident = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)child);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    if (read(fd, text, sizeof text - 1) <= 0 || sscanf(text, "%llu %llu", &all, &resident) != 2) resident = 0;
    close(fd);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
#endif
}

static outcome collect(adept_buffer *b, const job *j, pid_t child, int fd)
{
    double deadline_s = adept_clock_s() + j->timeout_s;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (adept_clock_s() >= deadline_s) return TIMED_OUT;
        /* Resident in the child; what else libtorch maps, it never touches: the weights. */
        if (resident_bytes(child) > j->memory_bytes / 8 * 7) return TOO_MUCH_MEMORY;
        int ready = poll(&p, 1, LOOK_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        if (ready < 0) return BROKEN;
        char *room = adept_buffer_room(b, READ_BYTES);
        if (!room) return NO_MEMORY;
        ssize_t n = read(fd, room, b->capacity - b->size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return BROKEN;
        if (n == 0) return ENDED;
        b->size += (size_t)n;
        if (b->size > j->memory_bytes / STREAM_SHARE) return TOO_LARGE;
    }
}

static adept_status too_much_memory(const job *j, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_INVALID,
                           "%s: takes more than %llu MiB of memory to load; --memory-limit allows more", j->path,
                           (unsigned long long)(j->memory_bytes >> 20));
}

static adept_status explain_death(const job *j, int how, adept_error *err)
{
    if (WIFSIGNALED(how) && (WTERMSIG(how) == SIGXCPU || WTERMSIG(how) == SIGKILL)) {
        return adept_error_set(err, ADEPT_E_INVALID,
                               "%s: libtorch needed more than %g s of processor time to load it; --memory-limit allows "
                               "more of it in proportion",
                               j->path, j->cpu_s);
    }
    if (WIFSIGNALED(how)) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch crashed while loading it (signal %d, %s)", j->path,
                               WTERMSIG(how), strsignal(WTERMSIG(how)));
    }
    return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch ended while loading it (exit status %d)", j->path,
                           WIFEXITED(how) ? WEXITSTATUS(how) : -1);
}

static adept_status explain_outcome(const job *j, outcome o, adept_error *err)
{
    switch (o) {
    case TIMED_OUT:
        return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch did not finish loading it within %g s", j->path,
                               j->timeout_s);
    case TOO_LARGE:
        return adept_error_set(err, ADEPT_E_INVALID, "%s: the program unfolds into more than %llu bytes", j->path,
                               (unsigned long long)(j->memory_bytes / STREAM_SHARE));
    case TOO_MUCH_MEMORY:
        return too_much_memory(j, err);
    case NO_MEMORY:
        return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", j->path);
    default:
        return adept_error_set(err, ADEPT_E_INTERNAL, "%s: lost the loader's process: %s", j->path, strerror(errno));
    }
}

/* The child ran a stranger's file: nothing it says is taken for granted. */
static adept_status take_reply(adept_graph **out, const job *j, const adept_buffer *b, adept_error *err)
{
    reply head;
    memcpy(&head, b->data, sizeof head);
    if (head.magic != REPLY_MAGIC || head.graph_bytes != b->size - sizeof head) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: libtorch's process answered nonsense", j->path);
    }
    head.message[sizeof head.message - 1] = '\0';
    head.message[strcspn(head.message, "\r\n")] = '\0';
    if (head.status == ADEPT_OK)
        return adept_graph_read_within(out, b->data + sizeof head, b->size - sizeof head, j->memory_bytes, err);
    if (head.status == ADEPT_E_NOMEM) return too_much_memory(j, err); /* of what it was given */
    bool known = head.status == ADEPT_E_INTERNAL || head.status == ADEPT_E_UNSUPPORTED;
    return adept_error_set(err, known ? (adept_status)head.status : ADEPT_E_INVALID, "%s", head.message);
}

static adept_status supervise(adept_graph **out, const job *j, pid_t child, int fd, adept_error *err)
{
    adept_buffer bytes = {0};
    outcome o = collect(&bytes, j, child, fd);
    /* The child dies here in any case; what it died of by itself is in the result, unless nobody can know: the caller's
     * process ignores SIGCHLD, or waits for all children. A reply that is whole counts then as well. */
    bool kill_it = o != ENDED;
    int how = 0;
    if (kill_it) kill(child, SIGKILL);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    adept_status status;
    if (o != ENDED)
        status = explain_outcome(j, o, err);
    else if (!WIFEXITED(how) || WEXITSTATUS(how) != 0 || bytes.size < sizeof(reply))
        status = explain_death(j, how, err);
    else
        status = take_reply(out, j, &bytes, err);
    adept_buffer_free(&bytes);
    return status;
}

adept_status adept_torchscript_load(adept_graph **out, const adept_source *source, const adept_torch_pack *pack,
                                    const adept_import_options *options, adept_error *err)
{
    char module[ADEPT_MODULE_PATH_BYTES];
    const char *path = source->name;
    adept_status status = adept_torch_module_find(module, options->torch_module, path, err);
    if (status != ADEPT_OK) return status;
    job j = {
        .path = path, .module = module, .pack = pack, .trust = options->trust, .memory_bytes = source->memory_bytes};
    double share = (double)j.memory_bytes / (double)ADEPT_MEMORY_BYTES;
    if (share < 1) share = 1;
    j.cpu_s = options->timeout_s > 0 ? options->timeout_s : share * DEFAULT_CPU_S;
    j.timeout_s = options->timeout_s > 0 ? options->timeout_s : share * ADEPT_DEFAULT_TIMEOUT_S;
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
