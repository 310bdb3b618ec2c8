/** @file name_map.c  Text -> number or pointer. Calls: nothing. */
#include "name_map.h"
#include <stdlib.h>
#include <string.h>

/* FNV-1a, 64 bits. It starts from the address of a static, which differs between runs, so that a file cannot choose
 * names that all collide. */
static uint64_t hash_name(const char *name)
{
    static const char anchor;
    uint64_t hash = 14695981039346656037u ^ ((uint64_t)(uintptr_t)&anchor >> 4) * 0x9e3779b97f4a7c15u;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        hash = (hash ^ *p) * 1099511628211u;
    return hash;
}

void adept_name_map_free(adept_name_map *map)
{
    free(map->slots);
    *map = (adept_name_map){0};
}

static adept_name_entry *slot_of(const adept_name_map *map, const char *name, uint64_t hash)
{
    size_t mask = map->n_slots - 1;
    size_t i = (size_t)(hash >> 20) & mask;
    while (map->slots[i].name && (map->slots[i].hash != hash || strcmp(map->slots[i].name, name) != 0)) {
        i = (i + 1) & mask;
    }
    return &map->slots[i];
}

uintptr_t *adept_name_map_get(const adept_name_map *map, const char *name)
{
    if (map->n == 0) return NULL;
    adept_name_entry *entry = slot_of(map, name, hash_name(name));
    return entry->name ? &entry->value : NULL;
}

static bool grow(adept_name_map *map)
{
    adept_name_map larger = {.n_slots = map->n_slots ? map->n_slots * 2 : 64, .n = map->n};
    larger.slots = calloc(larger.n_slots, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < map->n_slots; i++) {
        const adept_name_entry *entry = &map->slots[i];
        if (entry->name) *slot_of(&larger, entry->name, entry->hash) = *entry;
    }
    free(map->slots);
    *map = larger;
    return true;
}

bool adept_name_map_put(adept_name_map *map, const char *name, uintptr_t value)
{
    if (2 * (map->n + 1) > map->n_slots && !grow(map)) return false;
    uint64_t hash = hash_name(name);
    adept_name_entry *entry = slot_of(map, name, hash);
    if (!entry->name) map->n++;
    *entry = (adept_name_entry){.name = name, .hash = hash, .value = value};
    return true;
}
