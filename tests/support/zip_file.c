#include "zip_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

static void require(bool ok, const char *what, const char *path)
{
    if (ok) return;
    fprintf(stderr, "%s: %s\n", path, what);
    abort();
}

static zip_t *create(const char *path)
{
    unlink(path);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_EXCL, NULL);
    require(zip != NULL, "cannot create", path);
    return zip;
}

static void add(zip_t *zip, const char *path, const char *name, const void *data, size_t size, bool deflate)
{
    zip_source_t *source = zip_source_buffer(zip, data, size, 0);
    zip_int64_t index = source ? zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
    require(index >= 0, "cannot add", path);
    int method = deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    require(zip_set_file_compression(zip, (zip_uint64_t)index, method, 0) == 0, "cannot compress", path);
}

void test_zip_write(const char *path, const test_entry *entries, size_t n, bool deflate)
{
    zip_t *zip = create(path);
    for (size_t i = 0; i < n; i++)
        add(zip, path, entries[i].name, entries[i].data, entries[i].size, deflate);
    require(zip_close(zip) == 0, "cannot write", path);
}

static char *read_index(zip_t *zip, const char *path, zip_uint64_t index, size_t *size)
{
    zip_stat_t st;
    require(zip_stat_index(zip, index, 0, &st) == 0, "no such entry", path);
    char *data = calloc(1, st.size + 1);
    zip_file_t *file = zip_fopen_index(zip, index, 0);
    require(data && file && zip_fread(file, data, st.size) == (zip_int64_t)st.size, "cannot read", path);
    zip_fclose(file);
    *size = st.size;
    return data;
}

void test_zip_replace(const char *to, const char *from, const char *name, const void *data, size_t size)
{
    zip_t *source = zip_open(from, ZIP_RDONLY, NULL);
    require(source != NULL, "cannot open", from);
    size_t n = (size_t)zip_get_num_entries(source, 0);
    test_entry *entries = calloc(n + 1, sizeof *entries);
    require(entries != NULL, "out of memory", from);
    size_t kept = 0;
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        test_entry *e = &entries[kept];
        e->name = zip_get_name(source, i, ZIP_FL_ENC_RAW);
        bool match = strcmp(e->name, name) == 0;
        found = found || match;
        if (match && !data) continue;
        e->data = match ? memcpy(calloc(1, size + 1), data, size) : read_index(source, from, i, &e->size);
        if (match) e->size = size;
        kept++;
    }
    if (!found && data) entries[kept++] = (test_entry){name, memcpy(calloc(1, size + 1), data, size), size};
    test_zip_write(to, entries, kept, false);
    for (size_t i = 0; i < kept; i++)
        free((void *)entries[i].data);
    free(entries);
    zip_discard(source);
}

char *test_zip_read(const char *path, const char *name, size_t *size)
{
    zip_t *zip = zip_open(path, ZIP_RDONLY, NULL);
    require(zip != NULL, "cannot open", path);
    zip_int64_t index = zip_name_locate(zip, name, ZIP_FL_ENC_RAW);
    char *data = index < 0 ? NULL : read_index(zip, path, (zip_uint64_t)index, size);
    zip_discard(zip);
    return data;
}

char *test_file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    require(file && fseek(file, 0, SEEK_END) == 0, "cannot open", path);
    long n = ftell(file);
    rewind(file);
    char *data = calloc(1, (size_t)n + 1);
    require(data && fread(data, 1, (size_t)n, file) == (size_t)n, "cannot read", path);
    fclose(file);
    *size = (size_t)n;
    return data;
}

void test_file_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "cannot write", path);
}
