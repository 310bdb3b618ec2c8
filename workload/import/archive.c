/** @file archive.c  Zip archives from strangers. Calls: libzip. */
#include "archive.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Deflate cannot expand more: 258 bytes from 2 bits (RFC 1951: one length and one distance code of one bit each). */
#define MAX_DEFLATE_RATIO 1032u

static adept_status no_zip(const char *path, const unsigned char *head, size_t n, adept_error *err)
{
    static const char pickle_magic[] = "\x80\x02\x8a\nl\xfc\x9c"; /* protocol 2, LONG1 0x1950a86a20f9469cfc6c */
    const char *what = "not a model file: neither a zip archive (.pt, .pt2) nor a profile in JSON";
    if (n >= 7 && memcmp(head, pickle_magic, 7) == 0) {
        what = "written by torch.save of PyTorch before 1.6: holds pickled objects, no program; export the model with "
               "torch.jit.trace(...).save or torch.export.save";
    } else if (n >= 2 && head[0] == 0x80 && head[1] <= 5) {
        what = "a bare Python pickle: holds no program; export the model with torch.jit.trace(...).save or "
               "torch.export.save";
    } else if (n >= 1 && head[0] == '{') {
        what = "JSON, where a model (.pt, .pt2) is expected";
    }
    return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", path, what);
}

static adept_status check_file(const char *path, adept_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot open: %s", path, strerror(errno));
    struct stat st;
    unsigned char head[8];
    const char *what = NULL;
    ssize_t n = -1;
    if (fstat(fd, &st) != 0)
        what = strerror(errno);
    else if (S_ISDIR(st.st_mode))
        what = "is a directory";
    else if (!S_ISREG(st.st_mode))
        what = "not a regular file";
    else if (st.st_size == 0)
        what = "the file is empty";
    else if ((n = read(fd, head, sizeof head)) < 0)
        what = strerror(errno);
    close(fd);
    if (what) return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", path, what);
    if (n < 2 || head[0] != 'P' || head[1] != 'K') return no_zip(path, head, (size_t)n, err);
    return ADEPT_OK;
}

static adept_status check_bytes(const char *name, const unsigned char *data, size_t size, adept_error *err)
{
    if (size == 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: empty", name);
    return size < 2 || memcmp(data, "PK", 2) != 0 ? no_zip(name, data, size, err) : ADEPT_OK;
}

adept_status adept_archive_open(zip_t **out, const char *name, const void *data, size_t size, adept_error *err)
{
    adept_status status = data ? check_bytes(name, data, size, err) : check_file(name, err);
    if (status != ADEPT_OK) return status;
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source =
        data ? zip_source_buffer_create(data, size, 0, &error) : zip_source_file_create(name, 0, -1, &error);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    if (zip) {
        *out = zip;
    } else {
        zip_source_free(source);
        status = adept_error_set(err, zip_error_code_zip(&error) == ZIP_ER_MEMORY ? ADEPT_E_NOMEM : ADEPT_E_INVALID,
                                 "%s: damaged or truncated zip archive: %s", name, zip_error_strerror(&error));
    }
    zip_error_fini(&error);
    return status;
}

const char *adept_archive_fault(const zip_stat_t *st, size_t max_bytes)
{
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((st->valid & needed) != needed) return "its size is not recorded";
    if ((st->valid & ZIP_STAT_ENCRYPTION_METHOD) && st->encryption_method != ZIP_EM_NONE) return "is encrypted";
    if (st->size > max_bytes) return "is too large";
    if (st->comp_method == ZIP_CM_STORE) return st->size == st->comp_size ? NULL : "has contradictory sizes";
    if (st->comp_method != ZIP_CM_DEFLATE) return "is compressed by a method that PyTorch never uses";
    return st->size / MAX_DEFLATE_RATIO <= st->comp_size ? NULL : "has contradictory sizes";
}

static bool read_entry(zip_file_t *file, char *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        zip_int64_t n = zip_fread(file, data + at, size - at);
        if (n <= 0) return false;
        at += (size_t)n;
    }
    char extra;
    return zip_fread(file, &extra, 1) == 0; /* at the end: libzip has compared the checksum */
}

adept_status adept_archive_read(char **data, size_t *size, zip_t *zip, const char *path, zip_uint64_t index,
                                size_t max_bytes, adept_error *err)
{
    zip_stat_t st;
    if (zip_stat_index(zip, index, 0, &st) != 0) {
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", path, zip_strerror(zip));
    }
    const char *name = st.valid & ZIP_STAT_NAME ? st.name : "?";
    const char *fault = adept_archive_fault(&st, max_bytes);
    if (fault) return adept_error_set(err, ADEPT_E_INVALID, "%s: %s: %s", path, name, fault);
    char *buffer = malloc((size_t)st.size + 1);
    if (!buffer) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", path);
    zip_file_t *file = zip_fopen_index(zip, index, 0);
    bool ok = file && read_entry(file, buffer, (size_t)st.size);
    if (file) zip_fclose(file);
    if (!ok) {
        free(buffer);
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %s: damaged or truncated", path, name);
    }
    buffer[st.size] = '\0';
    *data = buffer;
    *size = (size_t)st.size;
    return ADEPT_OK;
}

adept_status adept_archive_read_in_root(char **data, size_t *size, zip_t *zip, const char *path, const char *name,
                                        size_t max_bytes, adept_error *err)
{
    *data = NULL;
    zip_int64_t n = zip_get_num_entries(zip, 0);
    for (zip_int64_t i = 0; i < n; i++) {
        const char *entry = zip_get_name(zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        const char *slash = entry ? strchr(entry, '/') : NULL;
        if (slash && strcmp(slash + 1, name) == 0)
            return adept_archive_read(data, size, zip, path, (zip_uint64_t)i, max_bytes, err);
    }
    return ADEPT_OK;
}
