/** @file csv_append.c  Rows at the end of a CSV file that other processes may write to as well. */
#include "adept_csv_writer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static adept_status failed(adept_error *err, const char *path, const char *what, int why)
{
    return adept_error_set(err, ADEPT_E_IO, "%s: %s: %s", path, what, strerror(why));
}

/* What stands in front of the rows: the title of a new file; the end of a line that somebody left open. */
static adept_status begin(adept_buffer *out, int file, off_t size, const char *title, const char *path,
                          adept_error *err)
{
    size_t length = strlen(title);
    char *old = size > 0 ? malloc(length) : NULL;
    char last = '\n';

    if (size == 0) {
        adept_buffer_text(out, title);
        return ADEPT_OK;
    }
    if (!old) return adept_no_memory(err, path);
    bool same = pread(file, old, length, 0) == (ssize_t)length && memcmp(old, title, length) == 0;
    free(old);
    if (!same)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: has other columns than this run; give another file", path);
    if (pread(file, &last, 1, size - 1) == 1 && last != '\n') adept_buffer_text(out, "\n");
    return ADEPT_OK;
}

/* One write; of one that was cut short nothing stays. */
static adept_status write_whole(int file, const adept_buffer *out, const struct stat *before, const char *path,
                                adept_error *err)
{
    ssize_t n = write(file, out->data, out->size);
    int why = n < 0 ? errno : ENOSPC;

    if (n == (ssize_t)out->size && (!S_ISREG(before->st_mode) || fsync(file) == 0)) return ADEPT_OK;
    if (n == (ssize_t)out->size) why = errno;
    if (S_ISREG(before->st_mode) && ftruncate(file, before->st_size) != 0) why = errno;
    return failed(err, path, "cannot write", why);
}

static adept_status append_open(int file, const char *title, const adept_buffer *rows, const char *path,
                                adept_error *err)
{
    struct stat before;
    adept_buffer out = {0};

    /* Network file systems may have no locks: a single write at the end keeps rows whole there too. */
    while (flock(file, LOCK_EX) != 0 && errno == EINTR)
        ;
    if (fstat(file, &before) != 0) return failed(err, path, "cannot write", errno);
    adept_status status = begin(&out, file, S_ISREG(before.st_mode) ? before.st_size : 0, title, path, err);
    adept_buffer_add(&out, rows->data, rows->size);
    if (status == ADEPT_OK && out.failed) status = adept_no_memory(err, path);
    if (status == ADEPT_OK) status = write_whole(file, &out, &before, path, err);
    adept_buffer_free(&out);
    return status;
}

adept_status adept_csv_append(const char *path, adept_buffer *title, adept_buffer *rows, adept_error *err)
{
    char *first = adept_buffer_take(title);
    adept_status status = first && !rows->failed ? ADEPT_OK : adept_no_memory(err, path);
    int file = status == ADEPT_OK ? open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666) : -1;

    if (status == ADEPT_OK && file < 0) status = failed(err, path, "cannot write", errno);
    if (status == ADEPT_OK) status = append_open(file, first, rows, path, err);
    if (file >= 0 && close(file) != 0 && status == ADEPT_OK) status = failed(err, path, "cannot write", errno);
    adept_buffer_free(rows);
    free(first);
    return status;
}
