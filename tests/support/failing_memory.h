/** @file failing_memory.h  Memory that is counted, or ends where a test says. For one file of a program that is linked
 * with
 *  --wrap=malloc,--wrap=calloc,--wrap=realloc (tests/CMakeLists.txt): what that program's own objects ask for, and
 * cJSON. */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
static size_t allocations_left; /* until one fails; 0: none does */
static bool has_failed;

static bool fails(void)
{
    if (allocations_left == 0 || --allocations_left > 0) return false;
    return has_failed = true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

/** Let the n-th allocation from here fail, and only that one. */
static inline void memory_fails_at(size_t n)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = __wrap_malloc, .free_fn = free});
    allocations_left = n;
    has_failed = false;
}

/** @return allocations since memory_fails_at(SIZE_MAX) */
static inline size_t memory_counted(void)
{
    return SIZE_MAX - allocations_left;
}

/** @return has an allocation failed since? Now none does, and none is counted. */
static inline bool memory_has_failed(void)
{
    allocations_left = 0;
    return has_failed;
}

#endif
