/** @file detect.c  Which reader a file belongs to, decided by its content. Calls: libzip, source. */
#include "archive.h"
#include "import_private.h"
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES ((size_t)256 << 10) /* of a JSON object, in which a key says what it is */

/* What the names in an archive tell. PyTorch puts everything under one root folder; the .pt2 of 2.1-2.7 has none. */
typedef struct contents {
    bool code, constants, pickle; /* ROOT/code/..., ROOT/constants.pkl, ROOT/data.pkl */
    bool program;                 /* an exported program in JSON */
    bool compiled;                /* ROOT/data/aotinductor/... */
} contents;

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

static adept_status detect_archive(adept_file_format *out, zip_t *zip, const char *path, adept_error *err)
{
    contents c = {0};
    zip_int64_t n = zip_get_num_entries(zip, 0);
    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (name) {
            if (strcmp(name, "serialized_exported_program.json") == 0) c.program = true;
            const char *slash = strchr(name, '/');
            if (!slash) continue;
            const char *rest = slash + 1;
            if (has_prefix(rest, "code/")) c.code = true;
            if (strcmp(rest, "constants.pkl") == 0) c.constants = true;
            if (strcmp(rest, "data.pkl") == 0) c.pickle = true;
            if (has_prefix(rest, "models/") && has_suffix(rest, ".json")) c.program = true;
            if (has_prefix(rest, "data/aotinductor/") || has_prefix(name, "data/aotinductor/")) c.compiled = true;
        }
    }
    if (c.program) {
        *out = ADEPT_FORMAT_EXPORT;
        return ADEPT_OK;
    }
    if (c.code || c.constants) {
        *out = ADEPT_FORMAT_TORCHSCRIPT;
        return ADEPT_OK;
    }
    const char *what = "a zip archive, but not one that torch.jit or torch.export wrote";
    if (c.pickle) {
        what = "holds weights only (torch.save), no program: export the model with torch.jit.trace(...).save or "
               "torch.export.save";
    } else if (c.compiled) {
        what = "a package compiled by AOTInductor, which holds no graph: export the model with torch.export.save";
    }
    return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", path, what);
}

/* Which of the keys of an object that begins there says what it is: those of a saved profile or of a config.json.
 * @return true: a configuration's. What follows behind n bytes is not looked at. */
static bool has_keys_of_config(const char *text, size_t n)
{
    static const char *const keys[] = {"\"kind\"", "\"schema_version\"", "\"model_type\"", "\"architectures\"",
                                       "\"transformers_version\""};
    int depth = 0;
    for (size_t i = 0, from; i < n; i++) {
        if (text[i] == '{' || text[i] == '[') depth++;
        if (text[i] == '}' || text[i] == ']') depth--;
        if (text[i] != '"') continue;
        for (from = i++; i < n && text[i] != '"'; i++)
            if (text[i] == '\\') i++;
        for (size_t k = 0; depth == 1 && i < n && k < sizeof keys / sizeof *keys; k++)
            if (strlen(keys[k]) == i + 1 - from && memcmp(keys[k], text + from, i + 1 - from) == 0 &&
                text[i + 1 + strspn(text + i + 1, " \t\r\n")] == ':')
                return k >= 2;
    }
    return false;
}

static bool is_config(const adept_source *source, adept_error *err, adept_status *status)
{
    const char *slash = strrchr(source->name, '/');
    size_t n = source->size < CONFIG_BYTES ? (size_t)source->size : CONFIG_BYTES;
    char *text = calloc(n + 1, 1);
    if (!text) *status = adept_no_memory(err, source->name);
    bool found = text && adept_source_read(source, 0, text, n) && has_keys_of_config(text, n);
    free(text);
    return found || strcmp(slash ? slash + 1 : source->name, "config.json") == 0;
}

/* A JSON object, after white space. Whether it is a profile is for the profile reader to say. */
static bool starts_json(const char *head, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strchr(" \t\r\n", head[i]) || head[i] == '\0') return head[i] == '{';
    }
    return false;
}

#define HEAD_BYTES 256

adept_status adept_source_format(adept_file_format *out, const adept_source *source, adept_error *err)
{
    zip_t *zip = NULL;
    char head[HEAD_BYTES];
    size_t n = source->size < HEAD_BYTES ? (size_t)source->size : HEAD_BYTES;
    if (adept_source_read(source, 0, head, n) && starts_json(head, n)) {
        adept_status read = ADEPT_OK;
        *out = is_config(source, err, &read) ? ADEPT_FORMAT_CONFIG : ADEPT_FORMAT_PROFILE;
        return read;
    }
    adept_status status = adept_archive_open(&zip, source, err);
    if (status != ADEPT_OK) return status;
    status = detect_archive(out, zip, source->name, err);
    zip_discard(zip);
    return status;
}

adept_status adept_file_detect(adept_file_format *out, const char *name, const void *data, size_t size,
                               adept_error *err)
{
    adept_source source;
    if (!data && adept_is_spec(name)) {
        *out = ADEPT_FORMAT_CONFIG;
        return ADEPT_OK;
    }
    adept_status status = adept_source_open(&source, name, data, size, err);
    if (status != ADEPT_OK) return status;
    status = adept_source_format(out, &source, err);
    adept_source_close(&source);
    return status;
}
