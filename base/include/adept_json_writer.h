/** @file adept_json_writer.h  Writing JSON, in order, without checking every call: memory that is out is remembered
 * until adept_json_finish(). Thread-safe on different writers. Calls: cJSON (its trees). */
#ifndef ADEPT_JSON_WRITER_H
#define ADEPT_JSON_WRITER_H
#include "adept_error.h"
#include "adept_grow.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/** Zero-initialised: compact, nothing written. */
typedef struct adept_json_writer {
    adept_buffer out;  /* a caller may write it away and empty it between values */
    bool pretty;       /* members on lines of their own, indented by tabs */
    bool is_filled;    /* the innermost container has a value already */
    unsigned depth;    /* of open containers */
    const char *blank; /* what stands in front of the next value, NULL: what the layout has */
} adept_json_writer;

/* `key` is NULL in an array, and for the value that is the document. */
void adept_json_begin_object(adept_json_writer *w, const char *key);
/** Begin an object, or put null where it is not known. @return known */
bool adept_json_begin_known(adept_json_writer *w, const char *key, bool known);
void adept_json_end_object(adept_json_writer *w);
void adept_json_begin_array(adept_json_writer *w, const char *key);
void adept_json_end_array(adept_json_writer *w);
/** With the fewest digits that read back as the same double; not finite: null. */
void adept_json_put_number(adept_json_writer *w, const char *key, double value);
void adept_json_put_integer(adept_json_writer *w, const char *key, int64_t value);
void adept_json_put_unsigned(adept_json_writer *w, const char *key, uint64_t value);
void adept_json_put_bool(adept_json_writer *w, const char *key, bool value);
/** NULL: null. Bytes that are no UTF-8 become U+FFFD, so that the result is always JSON. */
void adept_json_put_string(adept_json_writer *w, const char *key, const char *value);
/** "": null as well, for what is unknown then. */
void adept_json_put_known(adept_json_writer *w, const char *key, const char *value);
void adept_json_put_strings(adept_json_writer *w, const char *key, const char *const *values, size_t n);
void adept_json_put_null(adept_json_writer *w, const char *key);
/** [low, high]; null unless both are finite. */
void adept_json_put_pair(adept_json_writer *w, const char *key, double low, double high);
/** Text that is JSON already. */
void adept_json_put_text(adept_json_writer *w, const char *key, const char *json);
void adept_json_put_tree(adept_json_writer *w, const char *key, const cJSON *tree);

/** Several members. The format has words "KEY %CONVERSION": %g is a number, %s a text, %jd a whole number, %d true or
 *  false; each is written as by the functions above. */
void adept_json_put_members(adept_json_writer *w, const char *format, ...) ADEPT_PRINTF(2, 3);
/** An object of such members. */
void adept_json_put_object(adept_json_writer *w, const char *key, const char *format, ...) ADEPT_PRINTF(3, 4);

/** Go on at the end of the object that a pretty text is; the text is taken. NULL: memory was out. */
void adept_json_continue(adept_json_writer *w, char *object);
/** The text, malloc'ed and zero-terminated, and the writer as it began; NULL when memory was out anywhere. */
char *adept_json_finish(adept_json_writer *w);

#endif
