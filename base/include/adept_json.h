/** @file adept_json.h  cJSON with checks: every getter names the file and the key it failed on. Calls: cJSON.
 *  cJSON keeps its last error in a static that adept never reads; parsing is otherwise free of shared state. */
#ifndef ADEPT_JSON_H
#define ADEPT_JSON_H
#include "adept_error.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Read a whole file, at most max_bytes; malloc'ed, zero-terminated. @return ADEPT_E_INVALID naming the file. */
adept_status adept_file_read(char **text, size_t *size, const char *path, size_t max_bytes, adept_error *err);
/** Write through a temporary file in the same folder, fsync and rename: the old content survives any failure. */
adept_status adept_file_write(const char *path, const char *text, size_t size, adept_error *err);

/** The same for what is written bit by bit: `stream` is the temporary file. */
typedef struct adept_file_out {
    FILE *stream; /* NULL: none is open */
    char *target, *temporary;
} adept_file_out;
/** @return ADEPT_E_IO; after ADEPT_OK call adept_file_end() */
adept_status adept_file_begin(adept_file_out *out, const char *path, adept_error *err);
/** Put the file in place, or, unless `keep`, leave nothing of it. Nothing happens where none is open. */
adept_status adept_file_end(adept_file_out *file, bool keep, adept_error *err);

/** Parse; on failure the message has name, line and column. */
adept_status adept_json_parse(cJSON **out, const char *name, const char *text, size_t size, adept_error *err);

/** A number that reads back as the same double: cJSON's own printing may lose the last bit. A number that is not finite
 *  becomes null. NULL when memory is out. */
cJSON *adept_json_new_number(double value);
/** Add one to an object. @return false when memory is out */
bool adept_json_add_number(cJSON *object, const char *key, double value);

/** Sticky-error reader: the first failure is kept in `err`, later calls return the fallback. */
typedef struct adept_json_reader {
    const char *name; /* file, for messages */
    adept_error *err;
    adept_status status;
} adept_json_reader;

void adept_json_fail(adept_json_reader *r, const char *format, ...) ADEPT_PRINTF(2, 3);
const cJSON *adept_json_object(adept_json_reader *r, const cJSON *parent, const char *key); /* required */
const cJSON *adept_json_array(adept_json_reader *r, const cJSON *parent, const char *key);  /* required */
double adept_json_number(adept_json_reader *r, const cJSON *parent, const char *key);       /* required, finite */
double adept_json_number_or(adept_json_reader *r, const cJSON *parent, const char *key, double fallback);
int64_t adept_json_count(adept_json_reader *r, const cJSON *parent, const char *key); /* required, integer 0 .. 2^53 */
bool adept_json_bool(adept_json_reader *r, const cJSON *parent, const char *key);
const char *adept_json_string(adept_json_reader *r, const cJSON *parent, const char *key); /* required */
const char *adept_json_string_or(adept_json_reader *r, const cJSON *parent, const char *key, const char *fallback);

#endif
