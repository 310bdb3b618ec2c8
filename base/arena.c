/** @file arena.c  Chunked allocator with interned strings. Calls: adept_error.
 *  In the debug mode (environment ADEPT_DEBUG_ARENA) every object is its own chunk, so that an overrun of one object
 *  is an overrun of one malloc, which sanitizers and valgrind report. */
#include "adept_arena.h"
#include "name_map.h"
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHUNK_BYTES ((size_t)4096)
#define LAST_CHUNK_BYTES ((size_t)1 << 16)
#define ALIGNMENT alignof(max_align_t)

typedef struct chunk {
    struct chunk *next;
    size_t size, used; /* of data */
    alignas(max_align_t) unsigned char data[];
} chunk;

struct adept_arena {
    chunk *chunks; /* the first one is being filled */
    size_t next_chunk_bytes;
    size_t used_bytes, limit_bytes;
    adept_name_map interned; /* each text -> itself */
    bool debug, failed, full;
};

adept_arena *adept_arena_new(void)
{
    adept_arena *arena = calloc(1, sizeof *arena);
    if (!arena) return NULL;
    arena->next_chunk_bytes = FIRST_CHUNK_BYTES;
    arena->limit_bytes = SIZE_MAX;
    arena->debug = getenv("ADEPT_DEBUG_ARENA") != NULL;
    return arena;
}

void adept_arena_free(adept_arena *arena)
{
    if (!arena) return;
    for (chunk *c = arena->chunks; c;) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
    adept_name_map_free(&arena->interned);
    free(arena);
}

void adept_arena_limit(adept_arena *arena, size_t bytes)
{
    arena->limit_bytes = bytes;
}

bool adept_arena_is_full(const adept_arena *arena)
{
    return arena->full;
}

/* calloc: the memory handed out must be zero, and fresh pages from the system already are. */
static chunk *chunk_new(size_t size)
{
    if (size > SIZE_MAX - sizeof(chunk)) return NULL;
    chunk *c = calloc(1, sizeof *c + size);
    if (c) c->size = size;
    return c;
}

/* An object too large for a common chunk gets its own, put behind the one being filled so that its rest is not lost. */
static void *alloc_alone(adept_arena *arena, size_t size)
{
    chunk *c = chunk_new(size);
    if (!c) return NULL;
    c->used = size;
    if (arena->chunks) {
        c->next = arena->chunks->next;
        arena->chunks->next = c;
    } else {
        arena->chunks = c;
    }
    arena->used_bytes += size;
    return c->data;
}

static void *take(adept_arena *arena, size_t size_bytes)
{
    if (size_bytes == 0) size_bytes = 1;
    if (arena->used_bytes > arena->limit_bytes || size_bytes > arena->limit_bytes - arena->used_bytes) {
        arena->full = true;
        return NULL;
    }
    if (arena->debug) return alloc_alone(arena, size_bytes);
    if (size_bytes > SIZE_MAX - ALIGNMENT) return NULL;
    size_t size = (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    chunk *c = arena->chunks;
    if (!c || size > c->size - c->used) {
        if (size > arena->next_chunk_bytes / 4) return alloc_alone(arena, size);
        c = chunk_new(arena->next_chunk_bytes);
        if (!c) return NULL;
        c->next = arena->chunks;
        arena->chunks = c;
        if (arena->next_chunk_bytes < LAST_CHUNK_BYTES) arena->next_chunk_bytes *= 2;
    }
    void *p = c->data + c->used;
    c->used += size;
    arena->used_bytes += size;
    return p;
}

void *adept_arena_alloc(adept_arena *arena, size_t size_bytes)
{
    void *object = take(arena, size_bytes);
    if (!object) arena->failed = true;
    return object;
}

void *adept_arena_array(adept_arena *arena, size_t n, size_t size_bytes)
{
    if (size_bytes != 0 && n > SIZE_MAX / size_bytes) return adept_arena_alloc(arena, SIZE_MAX);
    return adept_arena_alloc(arena, n * size_bytes);
}

void *adept_arena_grow(adept_arena *arena, void *array, size_t *capacity, size_t wanted, size_t element_bytes)
{
    if (wanted <= *capacity) return array;
    size_t before = *capacity, room = 2 * before > wanted ? 2 * before : wanted < 4 ? 4 : wanted;
    void *grown = adept_arena_array(arena, room, element_bytes);
    if (!grown) return NULL;
    if (before) memcpy(grown, array, before * element_bytes);
    *capacity = room;
    return grown;
}

bool adept_arena_failed(const adept_arena *arena)
{
    return arena->failed;
}

char *adept_arena_strndup(adept_arena *arena, const char *text, size_t n)
{
    if (n == SIZE_MAX) return NULL;
    char *copy = adept_arena_alloc(arena, n + 1);
    if (copy && n) memcpy(copy, text, n);
    return copy;
}

char *adept_arena_strdup(adept_arena *arena, const char *text)
{
    return adept_arena_strndup(arena, text, strlen(text));
}

const char *adept_arena_printf(adept_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = adept_arena_alloc(arena, length < 0 ? SIZE_MAX : (size_t)length + 1);
    if (!text) return "";
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

const char *adept_arena_intern(adept_arena *arena, const char *text)
{
    const uintptr_t *found = adept_name_map_get(&arena->interned, text);
    if (found) return (const char *)*found;
    const char *copy = adept_arena_strdup(arena, text);
    if (copy && adept_name_map_put(&arena->interned, copy, (uintptr_t)copy)) return copy;
    arena->failed = true;
    return NULL;
}
