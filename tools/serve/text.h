/** @file text.h  A text that grows, with what JSON needs. Calls: adept_json. */
#ifndef ADEPT_SERVE_TEXT_H
#define ADEPT_SERVE_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialised: empty. Once memory is out, everything that follows does nothing. */
typedef struct adept_serve_text {
    char *data; /* malloc'ed, not zero-terminated */
    size_t size, capacity;
    bool failed; /* memory is out */
} adept_serve_text;

void adept_serve_text_free(adept_serve_text *t);
void adept_serve_text_add(adept_serve_text *t, const char *text);
void adept_serve_text_bytes(adept_serve_text *t, const char *bytes, size_t size);
/** In quotes and escaped; NULL: null. Bytes that are no UTF-8 become U+FFFD, so that the result is always JSON. */
void adept_serve_text_quote(adept_serve_text *t, const char *text);
/** Reads back as the same double; not finite: null. */
void adept_serve_text_number(adept_serve_text *t, double value);
void adept_serve_text_integer(adept_serve_text *t, int64_t value);
void adept_serve_text_bool(adept_serve_text *t, bool value);

/** Length of the UTF-8 character that starts here, 0 if none does (overlong forms and surrogates are none). */
size_t adept_serve_utf8_length(const char *at, const char *end);

#endif
