/* Archives: one entry changes by its kind, or goes, or takes another's name. */
#include "mutate.h"
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#define ENTRIES 64
#define ENTRY_MAX 16384

static struct {
    const char *name;
    uint8_t bytes[ENTRY_MAX];
    size_t size;
} entries[ENTRIES];
static size_t n_entries;

static void read_entries(zip_t *zip)
{
    for (zip_uint64_t i = 0; i < (zip_uint64_t)zip_get_num_entries(zip, 0) && n_entries < ENTRIES; i++) {
        zip_file_t *file = zip_fopen_index(zip, i, 0);
        zip_int64_t size = file ? zip_fread(file, entries[n_entries].bytes, ENTRY_MAX) : -1;
        entries[n_entries].name = zip_get_name(zip, i, ZIP_FL_ENC_RAW);
        entries[n_entries].size = size > 0 ? (size_t)size : 0;
        n_entries += size >= 0 && entries[n_entries].name;
        if (file) zip_fclose(file);
    }
}

static void change_bytes(uint8_t *bytes, size_t *size, const char *name, fuzz_random *r)
{
    size_t n = 0, length = strlen(name);
    if (*size > 0 && length > 4 && strcmp(name + length - 4, ".pkl") == 0)
        n = fuzz_mutate_pickle(bytes, *size, ENTRY_MAX, r);
    else if (*size > 0 && bytes[0] == '{')
        n = fuzz_mutate_json(bytes, *size, ENTRY_MAX, r);
    *size = n > 0 ? n : LLVMFuzzerMutate(bytes, *size, ENTRY_MAX);
}

/* Nearly everything that matters is a small part of an archive's bytes: such an entry is as likely as a large one. */
static void change(fuzz_random *r)
{
    size_t at = fuzz_pick(r, n_entries);
    switch (fuzz_pick(r, 16)) {
    case 0:
        entries[at].size = 0;
        break;
    case 1:
        entries[at] = entries[--n_entries];
        break;
    case 2:
        entries[at].name = entries[fuzz_pick(r, n_entries)].name;
        break;
    default:
        change_bytes(entries[at].bytes, &entries[at].size, entries[at].name, r);
    }
}

static size_t write_entries(uint8_t *data, size_t max_size, bool deflate)
{
    zip_source_t *out = zip_source_buffer_create(NULL, 0, 0, NULL);
    zip_t *zip = out ? zip_open_from_source(out, ZIP_TRUNCATE, NULL) : NULL;
    zip_stat_t st;
    size_t n = 0;
    if (!zip) {
        zip_source_free(out);
        return 0;
    }
    zip_source_keep(out);
    for (size_t i = 0; i < n_entries; i++) {
        zip_source_t *in = zip_source_buffer(zip, entries[i].bytes, entries[i].size, 0);
        zip_int64_t at = zip_file_add(zip, entries[i].name, in, ZIP_FL_ENC_GUESS);
        if (at < 0)
            zip_source_free(in); /* a name twice */
        else
            zip_set_file_compression(zip, (zip_uint64_t)at, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    }
    if (zip_close(zip) != 0) {
        zip_discard(zip);
    } else if (zip_source_stat(out, &st) == 0 && st.size <= max_size && zip_source_open(out) == 0) {
        if (zip_source_read(out, data, st.size) == (zip_int64_t)st.size) n = st.size;
        zip_source_close(out);
    }
    zip_source_free(out);
    return n;
}

size_t fuzz_mutate_zip(uint8_t *data, size_t size, size_t max_size, fuzz_random *r)
{
    zip_source_t *source = zip_source_buffer_create(data, size, 0, NULL);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY, NULL) : NULL;
    size_t n = 0;
    if (!zip) {
        zip_source_free(source);
        return 0;
    }
    n_entries = 0;
    read_entries(zip);
    for (size_t left = 1 + fuzz_pick(r, 3); left > 0 && n_entries > 0; left--)
        change(r);
    if (n_entries > 0) n = write_entries(data, max_size, fuzz_pick(r, 8) == 0);
    zip_discard(zip); /* names are its own */
    return n;
}
