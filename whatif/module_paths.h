/** @file module_paths.h  Paths with list indices: "layers.{0-21}.mlp". Private to whatif/. Calls: adept_arena. */
#ifndef ADEPT_MODULE_PATHS_H
#define ADEPT_MODULE_PATHS_H
#include "adept_arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADEPT_PATH_MARK '\001' /* stands for an index in a pattern; no path holds it */
#define ADEPT_PATH_INDICES 8   /* of one path; further ones are compared as text */

typedef struct adept_index_range {
    int32_t first, last;
} adept_index_range;

/** The indices found at one place of a path, ascending. */
typedef struct adept_index_list {
    size_t n_ranges;
    const adept_index_range *ranges;
    int64_t n;
} adept_index_list;

typedef struct adept_module_path {
    const char *pattern; /* interned */
    size_t n_lists;
    adept_index_list lists[ADEPT_PATH_INDICES];
    int64_t n; /* paths that it stands for, at most INT64_MAX */
} adept_module_path;

/** @param depth components to keep, 0: all. @return false when memory is out */
bool adept_module_path_parse(adept_arena *arena, adept_module_path *out, const char *text, int64_t depth);
/** Indices of its path number `at`, of n; the last list runs fastest. */
void adept_module_path_at(const adept_module_path *path, int64_t at, int32_t *indices);
/** Path of a pattern; lists of more than one index in braces. NULL lists: "*" at each. NULL when memory is out. */
const char *adept_module_path_print(adept_arena *arena, const char *pattern, const adept_index_list *lists);

#endif
