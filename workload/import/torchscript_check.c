/** @file torchscript_check.c  What must be true of an archive before libtorch, which trusts its input, may see it.
 *  libtorch runs __setstate__ while loading, recurses as deep as the code and the pickles nest, and looks names up
 *  without regard to case. Calls: archive, pickle. */
#include "archive.h"
#include "pickle.h"
#include "adept_import.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENTRIES 200000
#define MAX_CODE_BYTES ((size_t)64 << 20)   /* one file of code */
#define MAX_PICKLE_BYTES ((size_t)16 << 20) /* the parsed form takes up to 30 times as much */
#define MAX_CODE_DEPTH 1000                 /* libtorch's parser runs out of stack at about 10,000 */
#define MAX_INDENT 2000                     /* columns; every nested block takes two */
#define MAX_RATIO 100                       /* unpacked bytes per byte of the file */
#define RATIO_FREE_BYTES ((uint64_t)64 << 20)
#define END_BYTES 22 /* fixed part of the end record, APPNOTE 4.3.16 */
#define END_SEARCH_BYTES (END_BYTES + 65535)

typedef struct check {
    zip_t *zip;
    const char *path;
    bool trust;
    adept_error *err;
    uint64_t file_bytes;
    const char *root; /* name of the first entry; its folder is root_bytes long, with the slash */
    size_t root_bytes;
    bool constants, data, version, legacy;
} check;

static adept_status invalid(const check *c, const char *entry, const char *fault)
{
    return adept_error_set(c->err, ADEPT_E_INVALID, "%s: %s: %s", c->path, entry, fault);
}

/* ---- the container ---- */

/* Readers disagree about which of several end records counts: accept files with one only, at the very end. */
static const char *end_fault(const unsigned char *tail, size_t n)
{
    static const unsigned char magic[4] = {'P', 'K', 5, 6};
    if (n < END_BYTES || memcmp(tail + n - END_BYTES, magic, sizeof magic) != 0) {
        return "data after the end of the zip archive";
    }
    if (memmem(tail, n - END_BYTES, magic, sizeof magic)) return "more than one zip directory";
    return NULL;
}

static adept_status check_end(check *c)
{
    struct stat st;
    unsigned char *tail = malloc(END_SEARCH_BYTES);
    int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *fault = NULL;
    if (!tail || fd < 0 || fstat(fd, &st) != 0) {
        fault = strerror(tail ? errno : ENOMEM);
    } else {
        c->file_bytes = (uint64_t)st.st_size;
        size_t n = st.st_size < END_SEARCH_BYTES ? (size_t)st.st_size : END_SEARCH_BYTES;
        ssize_t got = pread(fd, tail, n, st.st_size - (off_t)n);
        fault = got == (ssize_t)n ? end_fault(tail, n) : "cannot be read";
    }
    free(tail);
    if (fd >= 0) close(fd);
    return fault ? adept_error_set(c->err, ADEPT_E_INVALID, "%s: %s", c->path, fault) : ADEPT_OK;
}

static const char *name_fault(const check *c, const char *name)
{
    for (const char *p = name; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '\\') return "is not a plain name";
        bool component = p == name || p[-1] == '/';
        if (component && p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0')) return "leaves the archive";
    }
    if (strncmp(name, c->root, c->root_bytes) != 0) return "lies outside the archive's folder";
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

/* Which entry a name means must not depend on who looks it up. */
static adept_status check_duplicates(const check *c, const char **names, size_t n)
{
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n; i++) {
        if (strcasecmp(names[i - 1], names[i]) == 0) return invalid(c, names[i], "is in the archive twice");
    }
    return ADEPT_OK;
}

static adept_status check_names(check *c, size_t n)
{
    const char **names = calloc(n, sizeof *names);
    if (!names) return adept_error_set(c->err, ADEPT_E_NOMEM, "%s: out of memory", c->path);
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < n && status == ADEPT_OK; i++) {
        names[i] = zip_get_name(c->zip, i, ZIP_FL_ENC_RAW);
        if (!names[i]) {
            status = adept_error_set(c->err, ADEPT_E_INVALID, "%s: entry %zu has no name", c->path, i);
            break;
        }
        if (i == 0) { /* libtorch takes the folder of the first entry for the archive's */
            const char *slash = strchr(names[0], '/');
            c->root = names[0];
            c->root_bytes = slash ? (size_t)(slash - names[0]) + 1 : 0;
        }
        const char *fault = c->root_bytes < 2 ? "is not in a folder" : name_fault(c, names[i]);
        if (fault) status = invalid(c, names[i], fault);
    }
    if (status == ADEPT_OK) status = check_duplicates(c, names, n);
    free(names);
    return status;
}

static adept_status check_sizes(check *c, size_t n)
{
    uint64_t packed = 0, unpacked = 0;
    for (size_t i = 0; i < n; i++) {
        zip_stat_t st;
        const char *name = zip_get_name(c->zip, i, ZIP_FL_ENC_RAW);
        bool known = zip_stat_index(c->zip, i, 0, &st) == 0;
        const char *fault = known ? adept_archive_fault(&st, SIZE_MAX) : "its size is not recorded";
        if (fault) return invalid(c, name, fault);
        if (st.comp_size > c->file_bytes - packed) return invalid(c, name, "is larger than the file");
        packed += st.comp_size;
        if (st.size > UINT64_MAX - unpacked) return invalid(c, name, "has an impossible size");
        unpacked += st.size;
    }
    uint64_t limit = RATIO_FREE_BYTES;
    if (c->file_bytes > (UINT64_MAX - limit) / MAX_RATIO) return ADEPT_OK;
    limit += c->file_bytes * MAX_RATIO;
    if (unpacked <= limit) return ADEPT_OK;
    return adept_error_set(c->err, ADEPT_E_INVALID,
                           "%s: unpacks to %llu bytes, more than %d times its size: refused as a zip bomb", c->path,
                           (unsigned long long)unpacked, MAX_RATIO);
}

/* ---- the code ---- */

/* Skips a string or comment that starts at text[i]; returns the index of its last byte. */
static size_t skip_quoted(const char *text, size_t n, size_t i)
{
    char quote = text[i];
    if (quote == '#') {
        const char *end = memchr(text + i, '\n', n - i);
        return end ? (size_t)(end - text) - 1 : n - 1;
    }
    bool triple = n - i >= 3 && text[i + 1] == quote && text[i + 2] == quote;
    for (size_t j = i + (triple ? 3 : 1); j < n; j++) {
        if (text[j] == '\\')
            j++;
        else if (!triple && (text[j] == quote || text[j] == '\n'))
            return j;
        else if (triple && n - j >= 3 && text[j] == quote && text[j + 1] == quote && text[j + 2] == quote)
            return j + 2;
    }
    return n - 1;
}

static bool nests_too_deeply(const char *text, size_t n)
{
    size_t depth = 0, indent = 0;
    bool at_start = true;
    for (size_t i = 0; i < n; i++) {
        char ch = text[i];
        if (ch == '\n') {
            at_start = true;
            indent = 0;
            continue;
        }
        if (at_start && (ch == ' ' || ch == '\t')) {
            if (++indent > MAX_INDENT) return true;
            continue;
        }
        at_start = false;
        if (ch == '"' || ch == '\'' || ch == '#')
            i = skip_quoted(text, n, i);
        else if (ch == '(' || ch == '[' || ch == '{') {
            if (++depth > MAX_CODE_DEPTH) return true;
        } else if ((ch == ')' || ch == ']' || ch == '}') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static adept_status check_code(const check *c, const char *entry, const char *text, size_t n)
{
    static const char runs_at_load[] = "__setstate__";
    if (!c->trust && memmem(text, n, runs_at_load, sizeof runs_at_load - 1)) {
        return invalid(c, entry, "defines __setstate__, which runs while the file is loaded; --trust loads it anyway");
    }
    if (nests_too_deeply(text, n)) return invalid(c, entry, "code nested too deeply");
    return ADEPT_OK;
}

/* ---- the pickles ---- */

static adept_status check_pickle(const check *c, const char *entry, const char *data, size_t n)
{
    char name[512];
    snprintf(name, sizeof name, "%s: %s", c->path, entry);
    adept_arena *arena = adept_arena_new();
    if (!arena) return adept_error_set(c->err, ADEPT_E_NOMEM, "%s: out of memory", c->path);
    adept_pickle_value value;
    adept_status status = adept_pickle_parse(&value, arena, name, data, n, c->err);
    adept_arena_free(arena);
    return status;
}

/* ---- entry by entry ---- */

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcasecmp(text + n - m, suffix) == 0;
}

static void note_entry(check *c, const char *name)
{
    if (strcasecmp(name, "constants.pkl") == 0) c->constants = true;
    if (strcasecmp(name, "data.pkl") == 0) c->data = true;
    if (strcasecmp(name, "version") == 0 || strcasecmp(name, ".data/version") == 0) c->version = true;
    if (strcasecmp(name, "model.json") == 0) c->legacy = true;
}

static adept_status check_entry(check *c, size_t index)
{
    const char *entry = zip_get_name(c->zip, index, ZIP_FL_ENC_RAW);
    const char *name = entry + c->root_bytes;
    note_entry(c, name);
    bool code = strncasecmp(name, "code/", 5) == 0 && has_suffix(name, ".py");
    bool pickle = strcasecmp(name, "constants.pkl") == 0 || strcasecmp(name, "data.pkl") == 0;
    if (!code && !pickle) return ADEPT_OK;
    char *data = NULL;
    size_t size = 0;
    adept_status status =
        adept_archive_read(&data, &size, c->zip, c->path, index, code ? MAX_CODE_BYTES : MAX_PICKLE_BYTES, c->err);
    if (status != ADEPT_OK) return status;
    status = code ? check_code(c, entry, data, size) : check_pickle(c, entry, data, size);
    free(data);
    return status;
}

static adept_status check_presence(const check *c)
{
    const char *fault = NULL;
    if (c->legacy)
        fault = "TorchScript of PyTorch before 1.2: save it again with a newer version";
    else if (!c->constants && c->data)
        fault = "holds weights only (torch.save), no program: export the model with torch.jit.trace(...).save";
    else if (!c->constants || !c->data || !c->version)
        fault = "not a TorchScript archive: constants.pkl, data.pkl or version is missing";
    return fault ? adept_error_set(c->err, ADEPT_E_INVALID, "%s: %s", c->path, fault) : ADEPT_OK;
}

static adept_status check_archive(check *c)
{
    zip_int64_t n = zip_get_num_entries(c->zip, 0);
    if (n <= 0 || n > MAX_ENTRIES) {
        return adept_error_set(c->err, ADEPT_E_INVALID, "%s: zip archive with %lld entries", c->path, (long long)n);
    }
    adept_status status = check_end(c);
    if (status == ADEPT_OK) status = check_names(c, (size_t)n);
    if (status == ADEPT_OK) status = check_sizes(c, (size_t)n);
    for (size_t i = 0; i < (size_t)n && status == ADEPT_OK; i++)
        status = check_entry(c, i);
    if (status == ADEPT_OK) status = check_presence(c);
    return status;
}

adept_status adept_torchscript_check(const char *path, bool trust, adept_error *err)
{
    check c = {.path = path, .trust = trust, .err = err};
    adept_status status = adept_archive_open(&c.zip, path, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    status = check_archive(&c);
    zip_discard(c.zip);
    return status;
}
