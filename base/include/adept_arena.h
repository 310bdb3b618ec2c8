/** @file adept_arena.h  One allocator per graph or run: everything in it is freed together. Calls: adept_error. */
#ifndef ADEPT_ARENA_H
#define ADEPT_ARENA_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adept_arena adept_arena;

/**
 * @return NULL when memory is out. With the environment variable ADEPT_DEBUG_ARENA set, every object gets its
 * own malloc so that sanitizers and valgrind see its bounds.
 * Not thread-safe: one arena belongs to one thread at a time.
 */
adept_arena *adept_arena_new(void);
void adept_arena_free(adept_arena *arena);

/** Refuse what would take more than so many bytes altogether: for what a stranger's file makes of itself. */
void adept_arena_limit(adept_arena *arena, size_t bytes);
/** Was something refused for that? */
bool adept_arena_is_full(const adept_arena *arena);

/** Zeroed memory aligned for any type; NULL when memory is out. */
void *adept_arena_alloc(adept_arena *arena, size_t size_bytes);

/** Zeroed array; NULL when n * size overflows or memory is out. */
void *adept_arena_array(adept_arena *arena, size_t n, size_t size_bytes);

/** The same as adept_grow(), of the arena: what grew elsewhere stays in it. NULL when memory is out. */
void *adept_arena_grow(adept_arena *arena, void *array, size_t *capacity, size_t wanted, size_t element_bytes);

/** Whether memory was out for any of it, so far. */
bool adept_arena_failed(const adept_arena *arena);

/** Copy of n bytes of text with a terminating zero. */
char *adept_arena_strndup(adept_arena *arena, const char *text, size_t n);
char *adept_arena_strdup(adept_arena *arena, const char *text);
/** Text by printf's rules; "" when memory is out, which adept_arena_failed() tells. */
const char *adept_arena_printf(adept_arena *arena, const char *format, ...) ADEPT_PRINTF(2, 3);

/** Equal strings give the same pointer, so that names can be compared by ==. */
const char *adept_arena_intern(adept_arena *arena, const char *text);

#endif
