/** @file adept_json.h  Reading JSON. Calls: adept_file, cJSON (its trees, not its parser).
 *  Everything here is thread-safe on different trees: nothing is shared. */
#ifndef ADEPT_JSON_H
#define ADEPT_JSON_H
#include "adept_arena.h"
#include "adept_error.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value takes 80 bytes of a tree, and up to 64 more for a name and a text. Within these limits text and tree of a
 * hostile file end below 1 GB. */
#define ADEPT_JSON_MAX_BYTES ((size_t)128 << 20)
#define ADEPT_JSON_MAX_VALUES 3000000
#define ADEPT_JSON_MAX_DEPTH 512
/* The same of a file whose reading, with what is made of it, may take so much memory altogether. */
#define ADEPT_JSON_BYTES_OF(memory_bytes) ((size_t)((memory_bytes) / 8))
#define ADEPT_JSON_VALUES_OF(memory_bytes) ((size_t)((memory_bytes) / 512))

/**
 * Strict JSON as RFC 8259 has it: valid UTF-8, no name twice in an object, no NUL in a string, nothing behind the
 * value. A number that is too large for a double is infinite.
 * @param out   the caller's, cJSON_Delete(); set only on ADEPT_OK
 * @param name  of the file, for the message, which also has line and column
 * @param text  need not end in zero
 * @return ADEPT_E_INVALID; ADEPT_E_NOMEM only when memory is out
 */
adept_status adept_json_parse(cJSON **out, const char *name, const char *text, size_t size, adept_error *err);
/** With another limit on values, and none on bytes. */
adept_status adept_json_parse_within(cJSON **out, const char *name, const char *text, size_t size, size_t max_values,
                                     adept_error *err);

/** Of a whole file. */
adept_status adept_json_parse_file(cJSON **out, const char *path, size_t max_bytes, adept_error *err);

/** Sticky-error reader: the first failure is kept in `err`, later calls return the fallback. */
typedef struct adept_json_reader {
    const char *name; /* file, for messages */
    adept_error *err;
    adept_status status;
    const char *where; /* part of the file, for messages; NULL: none */
} adept_json_reader;

void adept_json_fail(adept_json_reader *r, const char *format, ...) ADEPT_PRINTF(2, 3);
void adept_json_no_memory(adept_json_reader *r);
/** A copy in the arena; "" after a failure. */
const char *adept_json_keep(adept_json_reader *r, adept_arena *arena, const char *text);
const cJSON *adept_json_object(adept_json_reader *r, const cJSON *parent, const char *key); /* required */
const cJSON *adept_json_array(adept_json_reader *r, const cJSON *parent, const char *key);  /* required */
/** An object that may be missing or null: NULL then. @param called  what messages call it */
const cJSON *adept_json_object_or_null(adept_json_reader *r, const cJSON *parent, const char *key, const char *called);
/** Room in an arena for n elements; NULL after a failure. */
void *adept_json_room(adept_json_reader *r, adept_arena *arena, size_t n, size_t element_bytes);
/** Copies of the texts of an array of `least` to `most`; NULL after a failure. */
const char **adept_json_texts(adept_json_reader *r, adept_arena *arena, const cJSON *parent, const char *key,
                              size_t least, size_t most, size_t *n);
double adept_json_number(adept_json_reader *r, const cJSON *parent, const char *key);       /* required, finite */
double adept_json_number_or(adept_json_reader *r, const cJSON *parent, const char *key, double fallback);
int64_t adept_json_count(adept_json_reader *r, const cJSON *parent, const char *key); /* required, integer 0 .. 2^53 */
bool adept_json_bool(adept_json_reader *r, const cJSON *parent, const char *key);
const char *adept_json_string(adept_json_reader *r, const cJSON *parent, const char *key); /* required */
const char *adept_json_string_or(adept_json_reader *r, const cJSON *parent, const char *key, const char *fallback);
/** Refuse keys that are not among the n: a misspelt one would leave a default in place, and nobody would know.
 *  @param where  ends the message: " in specs.tdp_w" */
void adept_json_check_keys(adept_json_reader *r, const cJSON *object, const char *where, const char *const *known,
                           size_t n);
/** How many elements or members a container has; 0 for NULL. */
size_t adept_json_size(const cJSON *container);

#endif
