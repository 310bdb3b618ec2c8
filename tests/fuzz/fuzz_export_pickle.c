/* The pickle in a flat .pt2's state dictionary. */
#include "export_private.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_export_places places = {.arena = adept_arena_new()};
    adept_error err = {0};
    if (!places.arena) return 0;
    adept_status status = adept_export_pickle(&places, "fuzz", data, size, &err);
    if (status != ADEPT_OK && (err.status != status || !err.message[0])) abort();
    size_t total = 0;
    size_t n = places.by_name.n;
    for (size_t i = 0; i < n; i++) {
        const adept_name_entry *entry = &places.by_name.entries[i];
        total += strlen(entry->name) + strlen(((const adept_export_place *)entry->value)->storage);
    }
    if (n > size || total > 2 * size * (n + 1)) abort();
    adept_name_map_free(&places.by_name);
    adept_arena_free(places.arena);
    return 0;
}
