/** @file adept_grow.h  Memory that grows: arrays and texts. Thread-safe on different objects. Calls: nothing. */
#ifndef ADEPT_GROW_H
#define ADEPT_GROW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/**
 * Room for `wanted` elements in a malloc'ed array; what is new is not initialised.
 * @param array     NULL while *capacity is 0
 * @param capacity  in elements; at least doubles whenever it grows
 * @return the array, perhaps elsewhere; NULL when memory is out, and the old one stays as it is
 */
void *adept_grow(void *array, size_t *capacity, size_t wanted, size_t element_bytes);

/** A text that grows. Zero-initialised: empty. Once memory is out, everything that follows does nothing. */
typedef struct adept_buffer {
    char *data; /* malloc'ed, not zero-terminated */
    size_t size, capacity;
    bool failed; /* memory is out */
} adept_buffer;

/** `more` bytes behind the end, which b->size does not count yet. @return NULL when memory is out */
char *adept_buffer_room(adept_buffer *b, size_t more);

/* Inline: rows are many short texts. */
static inline void adept_buffer_add(adept_buffer *b, const void *bytes, size_t size)
{
    char *room = b->data && size <= b->capacity - b->size ? b->data + b->size : adept_buffer_room(b, size);
    if (!room) return;
    memcpy(room, bytes, size);
    b->size += size;
}

static inline void adept_buffer_text(adept_buffer *b, const char *text)
{
    adept_buffer_add(b, text, strlen(text));
}

/** The zero-terminated text, which the caller frees; the buffer is empty then. @return NULL when memory was out */
char *adept_buffer_take(adept_buffer *b);
void adept_buffer_free(adept_buffer *b);

/** A stream that prints to the end of the buffer, which must stay where it is. Unlike open_memstream() it forgets no
 *  failure: b->failed says it. @return NULL when memory is out, which b->failed says too */
FILE *adept_buffer_stream(adept_buffer *b);
/** Close that stream, NULL allowed. @return as adept_buffer_take() */
char *adept_buffer_close(adept_buffer *b, FILE *stream);

#endif
