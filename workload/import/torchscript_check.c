/** @file torchscript_check.c  What must be true of an archive before libtorch, which trusts its input, may see it.
 *  libtorch runs __setstate__ while loading, recurses as deep as the code and the pickles nest, and looks names up
 *  without regard to case. Calls: archive, pickle, torchscript_pack. */
#include "archive.h"
#include "import_private.h"
#include "pickle.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CODE_SHARE                                                                                                     \
    256 /* one file of code may have that part of the memory: libtorch's tree of it takes 60 times as much */
#define PICKLE_SHARE 64
#define PACK_SHARE 8                /* all that libtorch reads, which are no weights */
#define MAX_NOTE_BYTES ((size_t)64) /* version, byteorder */
#define MAX_CODE_DEPTH 1000         /* libtorch's parser runs out of stack at about 10,000 */
#define MAX_INDENT 2000             /* columns; every nested block takes two */
#define MAX_RATIO 100               /* unpacked bytes per byte of the file */
#define RATIO_FREE_BYTES ((uint64_t)64 << 20)
#define END_BYTES 22 /* fixed part of the end record, APPNOTE 4.3.16 */
#define END_SEARCH_BYTES (END_BYTES + 65535)

typedef struct check {
    zip_t *zip;
    const adept_source *source;
    const char *path;       /* the source's name */
    adept_torch_pack *pack; /* NULL: none is wanted */
    bool trust;
    adept_error *err;
    const char *root; /* name of the first entry; its folder is root_bytes long, with the slash */
    size_t root_bytes;
    bool constants, data, version, legacy;
} check;

static adept_status invalid(const check *c, const char *entry, const char *fault)
{
    return adept_error_set(c->err, ADEPT_E_INVALID, "%s: %s: %s", c->path, entry, fault);
}

/* ---- the container ---- */

/* Readers disagree about which of several end records counts: accept files with one only. */
static adept_status check_end(const check *c)
{
    static const unsigned char magic[4] = {'P', 'K', 5, 6};
    size_t n = c->source->size < END_SEARCH_BYTES ? (size_t)c->source->size : END_SEARCH_BYTES;
    unsigned char *tail = malloc(n);
    if (!tail) return adept_error_set(c->err, ADEPT_E_NOMEM, "%s: out of memory", c->path);
    const char *fault = NULL;
    if (!adept_source_read(c->source, c->source->size - n, tail, n))
        fault = "cannot be read";
    else if (memmem(tail, n - END_BYTES, magic, sizeof magic))
        fault = "more than one zip directory";
    free(tail);
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

static bool is_tensor(const char *name)
{
    return strncmp(name, "data/", 5) == 0 || strncmp(name, "constants/", 10) == 0;
}

static adept_status check_sizes(check *c, size_t n)
{
    uint64_t packed = 0, unpacked = 0, gap = 0;
    for (size_t i = 0; i < n; i++) {
        zip_stat_t st;
        const char *name = zip_get_name(c->zip, i, ZIP_FL_ENC_RAW);
        bool known = zip_stat_index(c->zip, i, 0, &st) == 0;
        const char *fault = known ? adept_archive_fault(&st, SIZE_MAX) : "its size is not recorded";
        if (fault) return invalid(c, name, fault);
        if (st.comp_size > c->source->size - packed) return invalid(c, name, "is larger than the file");
        packed += st.comp_size;
        if (st.size > UINT64_MAX - unpacked) return invalid(c, name, "has an impossible size");
        unpacked += st.size;
        if (is_tensor(name + c->root_bytes) && st.size > gap) gap = st.size;
    }
    if (c->pack) adept_torch_pack_begin(c->pack, gap);
    uint64_t limit = RATIO_FREE_BYTES;
    if (c->source->size > (UINT64_MAX - limit) / MAX_RATIO) return ADEPT_OK;
    limit += c->source->size * MAX_RATIO;
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

/* Read, checked, and put where libtorch reads it. */
static adept_status take_entry(const check *c, size_t index, size_t max_bytes,
                               adept_status (*look)(const check *c, const char *entry, const char *data, size_t n))
{
    const char *entry = zip_get_name(c->zip, index, ZIP_FL_ENC_RAW);
    char *data = NULL;
    size_t size = 0;
    adept_status status = adept_archive_read(&data, &size, c->zip, c->path, index, max_bytes, c->err);
    if (status != ADEPT_OK) return status;
    if (look) status = look(c, entry, data, size);
    if (status == ADEPT_OK && c->pack) adept_torch_pack_add(c->pack, entry, data, size);
    free(data);
    if (status == ADEPT_OK && c->pack && c->pack->bytes.size > c->source->memory_bytes / PACK_SHARE)
        return invalid(c, entry, "with what is before it, is too large");
    return status;
}

static adept_status take_tensor(const check *c, size_t index)
{
    zip_stat_t st;
    if (zip_stat_index(c->zip, index, 0, &st) != 0) return invalid(c, "?", zip_strerror(c->zip));
    if (st.size < ADEPT_TORCH_GAP_BYTES) return take_entry(c, index, ADEPT_TORCH_GAP_BYTES, NULL);
    if (c->pack) adept_torch_pack_add(c->pack, st.name, NULL, st.size);
    return ADEPT_OK;
}

static adept_status check_byte_order(const check *c, const char *entry, const char *data, size_t n)
{
    return n == 6 && memcmp(data, "little", 6) == 0 ? ADEPT_OK
                                                    : invalid(c, entry, "its numbers begin with the high byte");
}

/* What is none of these, libtorch does not see: it would not read it, or only to show it. */
static adept_status check_entry(check *c, size_t index)
{
    const char *name = zip_get_name(c->zip, index, ZIP_FL_ENC_RAW) + c->root_bytes;
    size_t memory = c->source->memory_bytes;
    if (strcasecmp(name, "constants.pkl") == 0) c->constants = true;
    if (strcasecmp(name, "data.pkl") == 0) c->data = true;
    if (strcasecmp(name, "version") == 0 || strcasecmp(name, ".data/version") == 0) c->version = true;
    if (strcasecmp(name, "model.json") == 0) c->legacy = true;
    if (strncasecmp(name, "code/", 5) == 0 && has_suffix(name, ".py"))
        return take_entry(c, index, memory / CODE_SHARE, check_code);
    if (strncmp(name, "code/", 5) == 0 && has_suffix(name, ".debug_pkl")) {
        /* Which line of the source made what, for messages: where it is not as PyTorch writes it, they go without. */
        adept_error why = {0};
        check quiet = *c;
        quiet.err = &why;
        adept_status status = take_entry(&quiet, index, c->source->memory_bytes / PICKLE_SHARE, check_pickle);
        return status == ADEPT_E_NOMEM ? adept_error_set(c->err, status, "%s", why.message) : ADEPT_OK;
    }
    if (strcasecmp(name, "constants.pkl") == 0 || strcasecmp(name, "data.pkl") == 0)
        return take_entry(c, index, memory / PICKLE_SHARE, check_pickle);
    if (strcasecmp(name, "version") == 0 || strcasecmp(name, ".data/version") == 0)
        return take_entry(c, index, MAX_NOTE_BYTES, NULL);
    if (strcasecmp(name, "byteorder") == 0) return take_entry(c, index, MAX_NOTE_BYTES, check_byte_order);
    return is_tensor(name) ? take_tensor(c, index) : ADEPT_OK;
}

static adept_status check_archive(check *c)
{
    zip_int64_t n = zip_get_num_entries(c->zip, 0);
    if (n <= 0) return adept_error_set(c->err, ADEPT_E_INVALID, "%s: zip archive without entries", c->path);
    adept_status status = check_end(c);
    if (status == ADEPT_OK) status = check_names(c, (size_t)n);
    if (status == ADEPT_OK) status = check_sizes(c, (size_t)n);
    for (size_t i = 0; i < (size_t)n && status == ADEPT_OK; i++)
        status = check_entry(c, i);
    if (status == ADEPT_OK) {
        const char *fault = NULL;
        if (c->legacy)
            fault = "TorchScript of PyTorch before 1.2: save it again with a newer version";
        else if (!c->constants && c->data)
            fault = "holds weights only (torch.save), no program: export the model with torch.jit.trace(...).save";
        else if (!c->constants || !c->data || !c->version)
            fault = "not a TorchScript archive: constants.pkl, data.pkl or version is missing";
        status = fault ? adept_error_set(c->err, ADEPT_E_INVALID, "%s: %s", c->path, fault) : ADEPT_OK;
    }
    return status;
}

adept_status adept_torchscript_check(adept_torch_pack *pack, const adept_source *source, bool trust, adept_error *err)
{
    check c = {.source = source, .path = source->name, .pack = pack, .trust = trust, .err = err};
    adept_status status = adept_archive_open(&c.zip, source, err);
    if (status != ADEPT_OK) return status;
    status = check_archive(&c);
    zip_discard(c.zip);
    if (status == ADEPT_OK && pack && !adept_torch_pack_end(pack, source->name))
        return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", source->name);
    return status;
}
