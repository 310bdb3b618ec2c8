/** @file name_map.c  Text -> number or pointer. */
#include "name_map.h"
#include "adept_grow.h"
#include <stdlib.h>
#include <string.h>

typedef struct wanted {
    const adept_name_entry *entries;
    const char *name;
} wanted;

static bool same_name(const void *context, size_t item)
{
    const wanted *w = context;
    return strcmp(w->entries[item].name, w->name) == 0;
}

static uint64_t hash_name(const char *name)
{
    return adept_hash_bytes(adept_hash_begin(), name, strlen(name));
}

uintptr_t *adept_name_map_get(const adept_name_map *map, const char *name)
{
    size_t i = adept_slots_find(&map->slots, hash_name(name), same_name, &(wanted){map->entries, name});
    return i == ADEPT_SLOTS_NONE ? NULL : &map->entries[i].value;
}

bool adept_name_map_put(adept_name_map *map, const char *name, uintptr_t value)
{
    uintptr_t *old = adept_name_map_get(map, name);
    if (old) {
        *old = value;
        return true;
    }
    adept_name_entry *entries = adept_grow(map->entries, &map->capacity, map->n + 1, sizeof *entries);
    if (entries) map->entries = entries;
    if (!entries || !adept_slots_add(&map->slots, hash_name(name), map->n)) return false;
    entries[map->n++] = (adept_name_entry){.name = name, .value = value};
    return true;
}

void adept_name_map_free(adept_name_map *map)
{
    adept_slots_free(&map->slots);
    free(map->entries);
    *map = (adept_name_map){.n = 0};
}
