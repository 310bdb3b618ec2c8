/** @file walk.c  Calls: the system, by functions that do not allocate. */
#include "walk.h"
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_FILES 32
#define MOST_BYTES (4 << 20) /* of a file */
#define MOST_FDS 64
#define OURS 200 /* descriptors from here on are this file's */
#define PATIENCE_S 600
#define MOST_STACKS (1 << 20)
#define NEAR_FRAMES                                                                                                    \
    10 /* that tell one place from another: the fault itself, what asked for it, and who could lose its word */

typedef struct file {
    char name[256];
    struct stat st;
    char *data;
    bool is_here, is_told;   /* while the folder is looked through; is a change of it in `changes`? */
    bool is_changed; /* by the program itself, since walk_begin() */
} file;

static file files[MOST_FILES];
static int n_files, records = -1, scratch[3]; /* stdout, stderr, stack */
static bool has_begun, is_forking, is_child, never_forks, by_stack;
static char *changes; /* MOST_BYTES * 2 */
static struct stack_count {
    uint64_t hash; /* 0: free */
    uint32_t times;
} *stacks;
static size_t n_changes;

static void die(const char *what)
{
    dprintf(2, "walk: %s: %s\n", what, strerror(errno));
    _exit(99);
}

static char *pages(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) die("mmap");
    return memory;
}

/* Out of the way of the program's numbers. */
static int away(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, OURS);
    if (fd < 0 || high < 0) die("descriptors");
    close(fd);
    return high;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static size_t read_file(char *data, size_t room, const char *name)
{
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, data, room);
    if (fd >= 0) close(fd);
    return n > 0 ? (size_t)n : 0;
}

static file *file_of(const char *name)
{
    for (int i = 0; i < n_files; i++)
        if (strcmp(files[i].name, name) == 0) return &files[i];
    return NULL;
}

/* ---- the folder ---- */

struct entry { /* of getdents64() */
    uint64_t ino;
    int64_t off;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* Calls `each` for the files of the folder. */
static void list(void (*each)(const char *name, const struct stat *st))
{
    static char buffer[16384] __attribute__((aligned(8)));
    int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;
    while ((n = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(buffer + at);
            struct stat st;
            at += e->size;
            if (fstatat(dir, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) each(e->name, &st);
        }
    close(dir);
}

static void remember(const char *name, const struct stat *st)
{
    file *f = file_of(name);
    if (!f) {
        if (n_files == MOST_FILES) die("too many files");
        f = &files[n_files++];
        snprintf(f->name, sizeof f->name, "%s", name);
        f->data = pages(MOST_BYTES);
    } else if (is_same(&f->st, st)) {
        f->is_here = true;
        return;
    }
    f->st = *st;
    f->is_here = true;
    f->is_changed = has_begun;
    read_file(f->data, MOST_BYTES, name);
}

static void snapshot(void)
{
    for (int i = 0; i < n_files; i++)
        files[i].is_here = false;
    list(remember);
    for (int i = 0; i < n_files; i++) /* the program removed it */
        if (!files[i].is_here) {
            munmap(files[i].data, MOST_BYTES);
            files[i--] = files[--n_files];
        }
}

static void note_change(const char *name, int64_t size)
{
    size_t n = strlen(name) + 1;
    if (n_changes + n + sizeof size + (size > 0 ? (size_t)size : 0) > 2 * MOST_BYTES) die("too much was written");
    memcpy(changes + n_changes, name, n);
    memcpy(changes + n_changes + n, &size, sizeof size);
    n_changes += n + sizeof size;
    if (size > 0) n_changes += read_file(changes + n_changes, (size_t)size, name);
}

static void compare(const char *name, const struct stat *st)
{
    file *f = file_of(name);
    if (f && is_same(&f->st, st)) {
        f->is_here = true;
        if (f->is_changed) note_change(name, st->st_size);
        return;
    }
    note_change(name, st->st_size);
    if (f) f->is_told = true;
    unlink(name);
}

static void put_back(file *f)
{
    int fd = open(f->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, f->data, (size_t)f->st.st_size) != f->st.st_size ||
        fchmod(fd, f->st.st_mode & 07777) != 0 || fstat(fd, &f->st) != 0)
        die(f->name);
    close(fd);
}

/* What the child changed goes into `changes`, and is as before. */
static void undo(void)
{
    n_changes = 0;
    for (int i = 0; i < n_files; i++)
        files[i].is_here = files[i].is_told = false;
    list(compare);
    for (int i = 0; i < n_files; i++)
        if (!files[i].is_here) {
            if (!files[i].is_told) note_change(files[i].name, -1);
            put_back(&files[i]);
        }
}

/* ---- what is open ---- */

static bool can_fork(void)
{
    struct stat st;
    siginfo_t info;
    if (never_forks) return false;
    if (stat("/proc/self/task", &st) != 0 || st.st_nlink != 3) return false;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD) return false;
    for (int fd = 3; fd < MOST_FDS; fd++) {
        if (fstat(fd, &st) != 0) continue;
        bool is_written = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
        if (S_ISDIR(st.st_mode) ? is_written : !S_ISREG(st.st_mode) || (is_written && st.st_nlink > 0)) return false;
    }
    return true;
}

static int copy_of(int fd, int to, const struct stat *st)
{
    off_t at = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    while (at < st->st_size && sendfile(to, from, &at, (size_t)(st->st_size - at)) > 0)
        ;
    close(from);
    return to;
}

/* The child's positions, and what it writes, are its own. */
static void own_files(void)
{
    for (int fd = 3; fd < MOST_FDS; fd++) {
        struct stat st;
        char path[64];
        if (fstat(fd, &st) != 0) continue;
        int flags = fcntl(fd, F_GETFL), mine;
        if ((flags & O_ACCMODE) == O_RDONLY) {
            snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            mine = open(path, flags & (O_ACCMODE | O_NONBLOCK | O_DIRECTORY));
        } else {
            mine = copy_of(fd, open(".", O_TMPFILE | O_RDWR, st.st_mode & 07777), &st);
            if (mine >= 0) fchmod(mine, st.st_mode & 07777);
        }
        if (mine < 0) die("a file of its own");
        lseek(mine, lseek(fd, 0, SEEK_CUR), SEEK_SET);
        dup3(mine, fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0);
        close(mine);
    }
    dup2(scratch[0], 1);
    dup2(scratch[1], 2);
}

/* What was printed until here. */
static void fill_scratch(void)
{
    for (int i = 0; i < 2; i++) {
        struct stat st;
        if (fstat(i + 1, &st) != 0 || ftruncate(scratch[i], 0) != 0) die("output");
        lseek(scratch[i], 0, SEEK_SET);
        copy_of(i + 1, scratch[i], &st);
    }
}

/* ---- all ---- */

static void put(const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t n = write(records, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) die("records");
        at += n;
        size -= (size_t)n;
    }
}

static void put_scratch(int fd, size_t size)
{
    static char buffer[65536];
    for (size_t at = 0; at < size;) {
        ssize_t n = pread(fd, buffer, sizeof buffer, (off_t)at);
        if (n <= 0) die("output");
        put(buffer, (size_t)n);
        at += (size_t)n;
    }
}

static void tell(int64_t number, int kind, int status)
{
    struct record r = {.number = number, .kind = kind, .status = status};
    if (status != -1) {
        struct stat out, err, stack;
        if (fstat(scratch[0], &out) != 0 || fstat(scratch[1], &err) != 0 || fstat(scratch[2], &stack) != 0)
            die("output");
        undo();
        r.size_stack = (uint32_t)stack.st_size;
        r.size_out = (uint32_t)out.st_size;
        r.size_err = (uint32_t)err.st_size;
        r.size_files = (uint32_t)n_changes;
    }
    put(&r, sizeof r);
    if (status == -1) return;
    put_scratch(scratch[0], r.size_out);
    put_scratch(scratch[1], r.size_err);
    put(changes, n_changes);
    put_scratch(scratch[2], r.size_stack);
}

static void note_stack(void)
{
    void *stack[24];
    if (ftruncate(scratch[2], 0) != 0) die("stack");
    lseek(scratch[2], 0, SEEK_SET);
    backtrace_symbols_fd(stack, backtrace(stack, 24), scratch[2]);
}

/* What the program and libc do at the end is done. What its libraries tear down behind it, page by page, is left to the
 * system: a third of what a child costs. */
static void end_child(int status, void *unused)
{
    (void)unused;
    if (!is_child) return;
    fflush(NULL);
    _exit(status);
}

typedef int main_function(int, char **, char **);
static main_function *main_itself;

/* Behind the loader, which asks for the libraries' ends, and before what the program asks for. */
static int main_with_end(int n, char **words, char **environment)
{
    if (on_exit(end_child, NULL) != 0) die("on_exit");
    return main_itself(n, words, environment);
}

int __libc_start_main(main_function *begin, int n, char **words, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack)
{
    __typeof__(__libc_start_main) *next;
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    main_itself = begin;
    return next(main_with_end, n, words, init, fini, loader_fini, stack);
}

void walk_begin(const char *path)
{
    int given;
    records = away(open(path, O_WRONLY | O_CLOEXEC));
    if (sscanf(path, "/proc/self/fd/%d", &given) == 1) close(given);
    for (int i = 0; i < 3; i++)
        scratch[i] = away(memfd_create("out", MFD_CLOEXEC));
    never_forks = getenv("ADEPT_WALK_ALONE") != NULL;
    by_stack = getenv("ADEPT_WALK_STACKS") != NULL;
    if (by_stack) stacks = (struct stack_count *)pages(MOST_STACKS * sizeof *stacks);
    changes = pages(2 * MOST_BYTES);
    snapshot();
    has_begun = true;
}

/* A signal that waits is no child's: those that are blocked are sent again. */
static void raise_again(const sigset_t *pending)
{
    for (int number = 1; number < NSIG; number++)
        if (sigismember(pending, number) == 1) kill(getpid(), number);
}

bool walk_is_due(void)
{
    void *stack[NEAR_FRAMES];
    uint64_t hash = 0xcbf29ce484222325u;
    if (!by_stack) return true;
    for (int i = 0, n = backtrace(stack, NEAR_FRAMES); i < n; i++)
        hash = (hash ^ (uintptr_t)stack[i]) * 0x100000001b3u;
    size_t at = (hash ^ hash >> 32) % MOST_STACKS, looked = 0;
    while (stacks[at].hash != 0 && stacks[at].hash != hash && looked++ < MOST_STACKS)
        at = (at + 1) % MOST_STACKS;
    stacks[at].hash = hash;
    const uint32_t times = ++stacks[at].times;
    return (times & (times - 1)) == 0 && (times & 0x55555555u) != 0;
}

bool walk_case(int64_t number, int kind)
{
    int saved = errno, status = -1;
    sigset_t pending;
    if (!can_fork()) {
        tell(number, kind, -1);
        errno = saved;
        return false;
    }
    snapshot();
    fill_scratch();
    note_stack();
    sigpending(&pending);
    is_forking = true;
    /* fork() waits for malloc(), in which mmap() is called */
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    is_forking = false;
    if (pid < 0) die("fork");
    if (pid == 0) {
        own_files();
        is_child = true;
        raise_again(&pending);
        alarm(PATIENCE_S);
        errno = saved;
        return true;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) die("waitpid");
    tell(number, kind, status);
    errno = saved;
    return false;
}

struct order *walk_order(const char *path)
{
    if (!path) return NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct order), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) die(path);
    close(fd);
    return memory;
}

bool walk_obey(struct order *order, bool goes_on)
{
    int64_t at = __atomic_load_n(&order->at, __ATOMIC_ACQUIRE);
    if (at == 0) return false;
    int64_t n = __atomic_add_fetch(&order->seen, 1, __ATOMIC_RELAXED);
    return n == at || (goes_on && n > at);
}

bool walk_is_forking(void)
{
    return is_forking;
}

bool walk_is_child(void)
{
    return is_child;
}
