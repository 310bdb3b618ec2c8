/** @file name_map.h  Text -> number or pointer, by hashing. Calls: nothing. */
#ifndef ADEPT_NAME_MAP_H
#define ADEPT_NAME_MAP_H
#include "adept_slots.h"

typedef struct adept_name_entry {
    const char *name; /* borrowed */
    uintptr_t value;
} adept_name_entry;

/** Zero-initialised is empty. */
typedef struct adept_name_map {
    adept_slots slots;
    adept_name_entry *entries; /* in the order in which they came */
    size_t n, capacity;
} adept_name_map;

void adept_name_map_free(adept_name_map *map);
/** NULL if absent. Valid until the next put. */
uintptr_t *adept_name_map_get(const adept_name_map *map, const char *name);
/** Add or replace; `name` must outlive the map. False when memory is out. */
bool adept_name_map_put(adept_name_map *map, const char *name, uintptr_t value);

#endif
