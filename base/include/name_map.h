/** @file name_map.h  Text -> number or pointer, by hashing. Calls: nothing. */
#ifndef ADEPT_NAME_MAP_H
#define ADEPT_NAME_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adept_name_entry {
    const char *name; /* borrowed; NULL: free slot */
    uint64_t hash;
    uintptr_t value;
} adept_name_entry;

/** Zero-initialised is empty. */
typedef struct adept_name_map {
    adept_name_entry *slots; /* open addressing, n_slots is 0 or a power of two */
    size_t n_slots, n;
} adept_name_map;

void adept_name_map_free(adept_name_map *map);
/** NULL if absent. Valid until the next put. */
uintptr_t *adept_name_map_get(const adept_name_map *map, const char *name);
/** Add or replace; `name` must outlive the map. False when memory is out. */
bool adept_name_map_put(adept_name_map *map, const char *name, uintptr_t value);

#endif
