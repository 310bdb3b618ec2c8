/** @file file.c  Files as text: read whole, replaced whole. */
#include "adept_file.h"
#include "adept_grow.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static adept_status io_error(adept_error *err, adept_status status, const char *path, const char *what)
{
    if (errno == ENOMEM) return adept_no_memory(err, path);
    return adept_error_set(err, status, "%s: %s: %s", path, what, strerror(errno));
}

static adept_status read_all(int fd, char *text, size_t size, const char *path, adept_error *err)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = read(fd, text + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error(err, ADEPT_E_INVALID, path, "cannot read");
        if (n == 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: shrank while it was read", path);
        at += (size_t)n;
    }
    return ADEPT_OK;
}

int adept_file_descriptor(const char *path, int flags)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))) return fd;
    close(fd);
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return -1;
}

adept_status adept_file_open(int *fd, const char *path, int flags, adept_error *err)
{
    *fd = adept_file_descriptor(path, flags);
    if (*fd >= 0) return ADEPT_OK;
    if (errno == EISDIR) return adept_error_set(err, ADEPT_E_INVALID, "%s: is a directory", path);
    if (errno == EINVAL) return adept_error_set(err, ADEPT_E_INVALID, "%s: not a regular file", path);
    return io_error(err, ADEPT_E_INVALID, path, "cannot open");
}

adept_status adept_file_stream(FILE **file, const char *path, adept_error *err)
{
    int fd;
    adept_status status = adept_file_open(&fd, path, 0, err);
    if (status != ADEPT_OK) return status;
    *file = fdopen(fd, "r");
    if (*file) return ADEPT_OK;
    close(fd);
    return adept_no_memory(err, path);
}

ssize_t adept_file_line(char **line, size_t *capacity, FILE *file)
{
    const size_t most_bytes = (size_t)16 << 20;
    size_t n = 0;
    for (int c = 0; c != '\n'; (*line)[n++] = (char)c) {
        char *grown = adept_grow(*line, capacity, n + 2, 1);
        if (grown) *line = grown;
        errno = grown ? EFBIG : ENOMEM;
        if (!grown || n == most_bytes) return -1;
        c = getc_unlocked(file);
        if (c == EOF) break;
    }
    (*line)[n] = '\0';
    return n > 0 ? (ssize_t)n : -1;
}

adept_status adept_file_read_open(char **text, size_t *size, int fd, const char *path, size_t max_bytes,
                                  adept_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return io_error(err, ADEPT_E_INVALID, path, "cannot read");
    if ((uintmax_t)st.st_size > max_bytes || (uintmax_t)st.st_size >= SIZE_MAX) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %jd bytes, more than the %zu that are read", path,
                               (intmax_t)st.st_size, max_bytes);
    }
    size_t length = (size_t)st.st_size;
    char *buffer = malloc(length + 1);
    if (!buffer) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", path);
    adept_status status = read_all(fd, buffer, length, path, err);
    if (status != ADEPT_OK) {
        free(buffer);
        return status;
    }
    buffer[length] = '\0';
    *text = buffer;
    *size = length;
    return ADEPT_OK;
}

bool adept_file_read_rest(adept_buffer *out, int fd, size_t max_bytes)
{
    const size_t piece = 65536;
    ssize_t n = -1;
    for (char *room; (room = adept_buffer_room(out, piece)) && (n = read(fd, room, piece)) != 0;) {
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) out->size += (size_t)n;
        if (out->size > max_bytes) return false;
    }
    return n == 0;
}

adept_status adept_file_read(char **text, size_t *size, const char *path, size_t max_bytes, adept_error *err)
{
    int fd;
    adept_status status = adept_file_open(&fd, path, 0, err);
    if (status != ADEPT_OK) return status;
    status = adept_file_read_open(text, size, fd, path, max_bytes, err);
    close(fd);
    return status;
}

/* ---- a new file, which has no name until it is whole, where the file system can ---- */

#define MOST_NAMES 100
#define NAME_ROOM 64 /* for ".PID-N.tmp" */

/* "/folder/" of "/folder/name", "./" of "name", malloc'ed. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

/* "name.PID-N.tmp" */
static bool is_temporary(const char *entry, const char *name)
{
    const char digits[] = "0123456789";
    size_t n = strlen(name);
    if (strncmp(entry, name, n) != 0 || entry[n] != '.') return false;
    const char *dash = entry + n + 1 + strspn(entry + n + 1, digits);
    return *dash == '-' && strcmp(dash + 1 + strspn(dash + 1, digits), ".tmp") == 0;
}

/* Does nobody write it? Who does has a lock; one that was renamed meanwhile has another name. */
static bool is_left(int dir, const char *name, int fd)
{
    struct stat here, there;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &here) == 0 &&
           fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && here.st_ino == there.st_ino;
}

/* Remove what killed programs have left of this target. */
static void remove_left(const char *folder, const char *target)
{
    const char *slash = strrchr(target, '/');
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!is_temporary(entry->d_name, slash ? slash + 1 : target)) continue;
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && is_left(dirfd(dir), entry->d_name, fd)) unlinkat(dirfd(dir), entry->d_name, 0);
        if (fd >= 0) close(fd);
    }
    if (dir) closedir(dir);
}

static void next_name(adept_file_out *file, int attempt)
{
    snprintf(file->temporary, strlen(file->target) + NAME_ROOM, "%s.%ld-%d.tmp", file->target, (long)getpid(), attempt);
}

static bool give_name(adept_file_out *file, int fd)
{
    char path[64];
    bool done = false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    errno = EEXIST;
    for (int attempt = 0; !done && errno == EEXIST && attempt < MOST_NAMES; attempt++) {
        next_name(file, attempt);
        done = linkat(AT_FDCWD, path, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0;
    }
    file->is_unnamed = !done;
    return done;
}

static void remove_temporary(const adept_file_out *file)
{
    if (file->temporary && !file->is_unnamed) unlink(file->temporary);
}

/* open() applies the umask, and a file that is replaced hands on its mode. */
static int open_new(adept_file_out *file)
{
    char *folder = folder_of(file->target);
    if (!folder) return -1;
    remove_left(folder, file->target);
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0 && (access("/proc/self/fd", X_OK) != 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)) {
        close(fd); /* without /proc it would never get a name */
        fd = -1;
    }
    file->is_unnamed = fd >= 0;
    if (fd < 0) {
        errno = EEXIST;
        for (int attempt = 0; fd < 0 && errno == EEXIST && attempt < MOST_NAMES; attempt++) {
            next_name(file, attempt);
            fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (fd < 0) continue;
            /* Where one who cleans up was faster it is gone, or about to go. Who cannot lock cannot clean up either. */
            struct stat st;
            bool gone =
                flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno == EWOULDBLOCK : fstat(fd, &st) != 0 || st.st_nlink == 0;
            if (gone) {
                close(fd);
                fd = -1;
                errno = EEXIST;
            }
        }
    }
    free(folder);
    struct stat st;
    if (fd >= 0 && stat(file->target, &st) == 0 && fchmod(fd, st.st_mode & 07777) != 0) {
        int saved = errno;
        close(fd);
        remove_temporary(file);
        errno = saved;
        return -1;
    }
    return fd;
}

/* The rename must survive a power cut; a folder that cannot be synced (some network file systems) is no error. */
static void sync_folder(const char *path)
{
    char *folder = folder_of(path);
    if (!folder) return;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(folder);
}

bool adept_file_is(const char *path, mode_t type)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

uint64_t adept_file_state(uint64_t sum, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) memset(&st, 0, sizeof st);
    const uint64_t facts[] = {(uint64_t)st.st_ino, (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
                              (uint64_t)st.st_mtim.tv_nsec};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        sum = (sum ^ facts[i]) * UINT64_C(1099511628211); /* FNV-1a, by words */
    return sum;
}

bool adept_file_is_same(const char *a, const char *b)
{
    struct stat x, y;

    if (!a || !b || adept_file_is_stream(a) || adept_file_is_stream(b)) return false;
    if (stat(a, &x) != 0 || stat(b, &y) != 0) return strcmp(a, b) == 0;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool adept_file_is_stream(const char *path)
{
    return strcmp(path, "-") == 0 || adept_file_is(path, S_IFCHR) || adept_file_is(path, S_IFIFO);
}

adept_status adept_file_begin(adept_file_out *out, const char *path, adept_error *err)
{
    struct stat st;
    bool is_stream = adept_file_is_stream(path);
    if (!is_stream && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return adept_error_set(err, ADEPT_E_IO, "%s: cannot write: not a regular file", path);
    /* Through a symbolic link the file behind it is replaced, not the link. */
    adept_file_out file = {.target = is_stream ? NULL : realpath(path, NULL)};
    if (!file.target) file.target = strdup(path);
    file.temporary = file.target && !is_stream ? malloc(strlen(file.target) + NAME_ROOM) : NULL;
    if (!file.target || (!file.temporary && !is_stream)) {
        free(file.target);
        return adept_no_memory(err, path);
    }
    /* What was opened and named for it; its names, and the file where it is ours, go with a failure. */
    int fd = !is_stream               ? open_new(&file)
             : strcmp(path, "-") == 0 ? dup(STDOUT_FILENO)
                                      : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    adept_status status = fd < 0 ? io_error(err, ADEPT_E_IO, path, "cannot write") : ADEPT_OK;
    file.stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (status == ADEPT_OK && !file.stream) {
        close(fd);
        remove_temporary(&file);
        status = adept_no_memory(err, path);
    }
    if (status == ADEPT_OK) {
        *out = file;
    } else {
        free(file.temporary);
        free(file.target);
    }
    return status;
}

adept_status adept_file_end(adept_file_out *file, adept_status status, adept_error *err)
{
    const bool keep = status == ADEPT_OK;
    if (!file->stream) return status;
    bool ok = fflush(file->stream) == 0 && !ferror(file->stream);
    if (ok && keep && file->temporary) ok = fsync(fileno(file->stream)) == 0;
    int saved = errno, fd = ok && keep && file->temporary ? dup(fileno(file->stream)) : -1; /* keeps its lock */
    if (fclose(file->stream) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    if (ok && keep && file->temporary) {
        ok = fd >= 0 && (!file->is_unnamed || give_name(file, fd)) && rename(file->temporary, file->target) == 0;
        saved = errno;
    }
    if (!ok || !keep) remove_temporary(file);
    if (fd >= 0) close(fd);
    errno = saved;
    if (keep && !ok) status = io_error(err, ADEPT_E_IO, file->target, "cannot write");
    if (file->temporary && keep && ok) sync_folder(file->target);
    free(file->temporary);
    free(file->target);
    *file = (adept_file_out){.stream = NULL};
    return status;
}

adept_status adept_file_write(const char *path, const char *text, size_t size, adept_error *err)
{
    adept_file_out file = {.stream = NULL};
    adept_status status = adept_file_begin(&file, path, err);
    if (status != ADEPT_OK) return status;
    fwrite(text, 1, size, file.stream); /* adept_file_end() sees whether it failed */
    return adept_file_end(&file, status, err);
}
