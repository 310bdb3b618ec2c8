/** @file file.c  Files as text: read whole, replaced whole. */
#include "adept_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static adept_status io_error(adept_error *err, adept_status status, const char *path, const char *what)
{
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

static adept_status read_open(char **text, size_t *size, int fd, const char *path, size_t max_bytes, adept_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return io_error(err, ADEPT_E_INVALID, path, "cannot read");
    if (S_ISDIR(st.st_mode)) return adept_error_set(err, ADEPT_E_INVALID, "%s: is a directory", path);
    if (!S_ISREG(st.st_mode)) return adept_error_set(err, ADEPT_E_INVALID, "%s: not a regular file", path);
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

adept_status adept_file_read(char **text, size_t *size, const char *path, size_t max_bytes, adept_error *err)
{
    /* O_NONBLOCK: a named pipe must give a message, not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return io_error(err, ADEPT_E_INVALID, path, "cannot open");
    adept_status status = read_open(text, size, fd, path, max_bytes, err);
    close(fd);
    return status;
}

/* A new file beside the target: open() applies the umask, and a file that is replaced hands on its mode. */
static int create_beside(const char *target, char *temporary, size_t size)
{
    int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < 100; attempt++) {
        snprintf(temporary, size, "%s.%ld-%d.tmp", target, (long)getpid(), attempt);
        fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    struct stat st;
    if (fd >= 0 && stat(target, &st) == 0 && fchmod(fd, st.st_mode & 07777) != 0) {
        int saved = errno;
        close(fd);
        unlink(temporary);
        errno = saved;
        return -1;
    }
    return fd;
}

/* The rename itself must survive a power cut; a folder that cannot be synced (some network file systems) is no error.
 */
static void sync_folder(const char *path)
{
    char *folder = strdup(path);
    if (!folder) return;
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

bool adept_file_is_stream(const char *path)
{
    return strcmp(path, "-") == 0 || adept_file_is(path, S_IFCHR) || adept_file_is(path, S_IFIFO);
}

static int open_stream(const char *path)
{
    return strcmp(path, "-") == 0 ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

/* What was opened and named for it; its names, and the file where it is ours, go with a failure. */
static adept_status begin_at(adept_file_out *out, adept_file_out *file, int fd, const char *path, adept_error *err)
{
    adept_status status = fd < 0 ? io_error(err, ADEPT_E_IO, path, "cannot write") : ADEPT_OK;
    file->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (status == ADEPT_OK && !file->stream) {
        close(fd);
        if (file->temporary) unlink(file->temporary);
        status = adept_no_memory(err, path);
    }
    if (status == ADEPT_OK) {
        *out = *file;
    } else {
        free(file->temporary);
        free(file->target);
    }
    return status;
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
    size_t size = file.target ? strlen(file.target) + 64 : 0; /* ".PID-N.tmp" */
    file.temporary = file.target && !is_stream ? malloc(size) : NULL;
    if (!file.target || (!file.temporary && !is_stream)) {
        free(file.target);
        return adept_no_memory(err, path);
    }
    return begin_at(out, &file, is_stream ? open_stream(path) : create_beside(file.target, file.temporary, size), path, err);
}

static bool is_written(const adept_file_out *file, bool keep)
{
    if (fflush(file->stream) != 0 || ferror(file->stream)) return false;
    return !keep || !file->temporary || fsync(fileno(file->stream)) == 0;
}

adept_status adept_file_end(adept_file_out *file, bool keep, adept_error *err)
{
    if (!file->stream) return ADEPT_OK;
    bool ok = is_written(file, keep);
    int saved = errno;
    if (fclose(file->stream) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    if (file->temporary && ok && keep && rename(file->temporary, file->target) != 0) {
        ok = false;
        saved = errno;
    }
    if (file->temporary && (!ok || !keep)) unlink(file->temporary);
    adept_status status = ADEPT_OK;
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
    return adept_file_end(&file, true, err);
}
