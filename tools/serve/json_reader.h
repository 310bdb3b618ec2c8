/** @file json_reader.h  Strict JSON of strangers, read where it lies: RFC 8259 to the letter, valid UTF-8, bounded
 * nesting. Nothing is allocated and nothing is shared between threads (cJSON keeps a static). Calls: adept_error. */
#ifndef ADEPT_SERVE_JSON_READER_H
#define ADEPT_SERVE_JSON_READER_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>

#define ADEPT_SERVE_MAX_DEPTH 64

/** One value: its bytes in a text that adept_serve_json_check() has accepted. */
typedef struct adept_serve_span {
    const char *at; /* NULL: none */
    size_t size;
} adept_serve_span;

/**
 * Check the whole text, once; everything below works on what this has accepted.
 * @return ADEPT_E_INVALID with line and column
 */
adept_status adept_serve_json_check(adept_serve_span *out, const char *text, size_t size, adept_error *err);

/** '{', '[', '"', '0' (a number), 't', 'f', 'n' */
char adept_serve_json_kind(adept_serve_span value);

/** Steps through an array or an object. */
typedef struct adept_serve_cursor {
    const char *at, *end;
} adept_serve_cursor;
adept_serve_cursor adept_serve_json_inside(adept_serve_span container);
bool adept_serve_json_next(adept_serve_cursor *c, adept_serve_span *value);
bool adept_serve_json_next_member(adept_serve_cursor *c, adept_serve_span *key, adept_serve_span *value);

/** The characters of a string, zero-terminated. @return false if they do not fit or one of them is NUL */
bool adept_serve_json_text(char *out, size_t size, adept_serve_span string);
/** @return false if it is too large for a double */
bool adept_serve_json_number(double *out, adept_serve_span number);

#endif
