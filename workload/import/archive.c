/** @file archive.c  Zip archives from strangers. Calls: libzip. */
#include "archive.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Deflate cannot expand more: 258 bytes from 2 bits (RFC 1951: one length and one distance code of one bit each). */
#define MAX_DEFLATE_RATIO 1032u

static bool begins(const unsigned char *head, size_t n, const char *text)
{
    return strlen(text) <= n && strncasecmp((const char *)head, text, strlen(text)) == 0;
}

/* ---- the end of an archive: PKWARE's APPNOTE 6.3, 4.3.14 to 4.3.16 ---- */

#define END_BYTES 22
#define TAIL_BYTES (56 + 20 + END_BYTES) /* the end of an archive with numbers of 64 bits, as PyTorch writes it */
#define MAX_ENTRIES 200000
#define MAX_DIRECTORY_BYTES ((uint64_t)32 << 20) /* libzip keeps all of it, and 200 bytes more of an entry */

static uint64_t number(const unsigned char *at, int n_bytes)
{
    uint64_t v = 0;
    for (int i = n_bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

/* What the end says that libzip would do without asking. @param tail  the last n bytes of `size` */
static const char *end_fault(const unsigned char *tail, size_t n, uint64_t size, uint64_t *n_entries)
{
    const unsigned char *end = tail + n - END_BYTES, *locator = end - 20, *end64 = locator - 56;
    if (n < END_BYTES || memcmp(end, "PK\5\6", 4) != 0) return "data after the end of the zip archive";
    uint64_t n_bytes = number(end + 12, 4);
    *n_entries = number(end + 10, 2);
    if (n == TAIL_BYTES && memcmp(locator, "PK\6\7", 4) == 0) {
        if (number(locator + 8, 8) != size - TAIL_BYTES || memcmp(end64, "PK\6\6", 4) != 0)
            return "its directory is not where it should be";
        *n_entries = number(end64 + 32, 8);
        n_bytes = number(end64 + 40, 8);
    }
    return *n_entries > MAX_ENTRIES || n_bytes > MAX_DIRECTORY_BYTES ? "more entries than any model has" : NULL;
}

static const char *check_end(zip_source_t *source, uint64_t *n_entries)
{
    unsigned char tail[TAIL_BYTES];
    const char *fault = "cannot be read";
    if (zip_source_open(source) != 0) return fault;
    zip_int64_t size = zip_source_seek(source, 0, SEEK_END) == 0 ? zip_source_tell(source) : -1;
    zip_int64_t n = size < TAIL_BYTES ? size : TAIL_BYTES;
    if (n >= 0 && zip_source_seek(source, -n, SEEK_END) == 0 && zip_source_read(source, tail, (zip_uint64_t)n) == n)
        fault = end_fault(tail, (size_t)n, (uint64_t)size, n_entries);
    zip_source_close(source);
    return fault;
}

/* ---- opening ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Which of two entries a name means differs between readers of zip. */
static adept_status check_names(zip_t *zip, const char *name, size_t n, adept_error *err)
{
    const char **names = calloc(n + 1, sizeof *names), *twice = NULL;
    if (!names) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < n; i++) {
        names[i] = zip_get_name(zip, i, ZIP_FL_ENC_RAW);
        if (!names[i]) names[i] = "";
    }
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n && !twice; i++)
        if (strcmp(names[i - 1], names[i]) == 0) twice = names[i];
    free(names);
    return twice ? adept_error_set(err, ADEPT_E_INVALID, "%s: %s: is in the archive twice", name, twice) : ADEPT_OK;
}

/* The source is the archive's, or freed. */
static adept_status open_archive(zip_t **out, zip_source_t *source, const char *name, adept_error *err)
{
    zip_error_t error;
    zip_error_init(&error);
    uint64_t n = 0;
    const char *fault = check_end(source, &n);
    zip_t *zip = fault ? NULL : zip_open_from_source(source, ZIP_RDONLY, &error);
    if (!zip) zip_source_free(source);
    if (zip && (uint64_t)zip_get_num_entries(zip, 0) != n) fault = "more than one zip directory";
    adept_status status = ADEPT_OK;
    if (fault || !zip)
        status = adept_error_set(err, zip_error_code_zip(&error) == ZIP_ER_MEMORY ? ADEPT_E_NOMEM : ADEPT_E_INVALID,
                                 "%s: damaged or truncated zip archive: %s", name,
                                 fault ? fault : zip_error_strerror(&error));
    zip_error_fini(&error);
    if (status == ADEPT_OK) status = check_names(zip, name, (size_t)n, err);
    if (status == ADEPT_OK)
        *out = zip;
    else
        zip_discard(zip);
    return status;
}

static zip_source_t *source_of(const adept_source *s)
{
    if (s->data) return zip_source_buffer_create(s->data, s->size, 0, NULL);
    int fd = dup(s->fd);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (!file && fd >= 0) close(fd);
    zip_source_t *source = file ? zip_source_filep_create(file, 0, -1, NULL) : NULL; /* closes it */
    if (file && !source) fclose(file);
    return source;
}

adept_status adept_archive_open(zip_t **out, const adept_source *s, adept_error *err)
{
    unsigned char head[32] = {0};
    size_t n = s->size < sizeof head ? (size_t)s->size : sizeof head;
    if (!adept_source_read(s, 0, head, n))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot be read", s->name);
    if (n < 2 || head[0] != 'P' || head[1] != 'K') {
        static const char pickle_magic[] = "\x80\x02\x8a\nl\xfc\x9c"; /* protocol 2, LONG1 0x1950a86a20f9469cfc6c */
        const char *what = "not a model file: neither a zip archive (.pt, .pt2) nor a profile in JSON";
        if (n >= 7 && memcmp(head, pickle_magic, 7) == 0) {
            what =
                "written by torch.save of PyTorch before 1.6: holds pickled objects, no program; export the model with "
                "torch.jit.trace(...).save or torch.export.save";
        } else if (n >= 2 && head[0] == 0x80 && head[1] <= 5) {
            what = "a bare Python pickle: holds no program; export the model with torch.jit.trace(...).save or "
                   "torch.export.save";
        } else if (n >= 1 && head[0] == '{') {
            what = "JSON, where a model (.pt, .pt2) is expected";
        } else if (begins(head, n, "version https://git-lfs")) {
            what = "a pointer of Git LFS, not the file itself: git lfs pull fetches it";
        } else if (begins(head, n, "<!doctype html") || begins(head, n, "<html")) {
            what = "a web page, not the file itself: the download was refused or led elsewhere";
        }
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", s->name, what);
    }
    zip_source_t *source = source_of(s);
    if (!source) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", s->name);
    return open_archive(out, source, s->name, err);
}

/* The bytes of an entry as they lie in the archive; libzip 1.10 has another name for it. */
static zip_source_t *entry_bytes(zip_t *zip, zip_uint64_t index)
{
#if LIBZIP_VERSION_MAJOR > 1 || LIBZIP_VERSION_MINOR >= 10
    return zip_source_zip_file(zip, zip, index, ZIP_FL_COMPRESSED, 0, -1, NULL);
#else
    return zip_source_zip(zip, zip, index, ZIP_FL_COMPRESSED, 0, -1);
#endif
}

adept_status adept_archive_open_entry(zip_t **out, zip_t *zip, const char *name, zip_uint64_t index, adept_error *err)
{
    zip_source_t *source = entry_bytes(zip, index);
    if (!source) return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", name, zip_strerror(zip));
    return open_archive(out, source, name, err);
}

/* ---- entries ---- */

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
