/** @file grow.c  Memory that grows. */
#include "adept_grow.h"
#include <stdint.h>
#include <stdlib.h>

#define FIRST_BYTES 512 /* of an array that was empty: small ones need not grow often */

void *adept_grow(void *array, size_t *capacity, size_t wanted, size_t element_bytes)
{
    if (wanted <= *capacity && array) return array;
    size_t first = FIRST_BYTES / element_bytes, doubled = *capacity <= SIZE_MAX / 2 ? 2 * *capacity : SIZE_MAX;
    if (doubled < first) doubled = first;
    if (doubled > wanted) wanted = doubled;
    if (wanted > SIZE_MAX / element_bytes) return NULL;
    void *grown = realloc(array, wanted * element_bytes);
    if (grown) *capacity = wanted;
    return grown;
}

char *adept_buffer_room(adept_buffer *b, size_t more)
{
    if (b->failed) return NULL;
    char *data = more <= SIZE_MAX - b->size ? adept_grow(b->data, &b->capacity, b->size + more, 1) : NULL;
    if (!data) {
        b->failed = true;
        b->capacity = b->size; /* nothing fits any more */
        return NULL;
    }
    b->data = data;
    return data + b->size;
}

char *adept_buffer_take(adept_buffer *b)
{
    adept_buffer_add(b, "", 1);
    char *text = b->failed ? NULL : b->data;
    if (!text) free(b->data);
    *b = (adept_buffer){.data = NULL};
    return text;
}

void adept_buffer_free(adept_buffer *b)
{
    free(b->data);
    *b = (adept_buffer){.data = NULL};
}

/* ---- a stream ---- */

static ssize_t add_to_buffer(void *buffer, const char *bytes, size_t size)
{
    adept_buffer *b = buffer;
    adept_buffer_add(b, bytes, size);
    return b->failed ? 0 : (ssize_t)size;
}

FILE *adept_buffer_stream(adept_buffer *b)
{
    FILE *stream = fopencookie(b, "w", (cookie_io_functions_t){.write = add_to_buffer});
    b->failed = b->failed || !stream;
    return stream;
}

char *adept_buffer_close(adept_buffer *b, FILE *stream)
{
    if (stream) fclose(stream); /* what it could not write is remembered */
    return adept_buffer_take(b);
}
