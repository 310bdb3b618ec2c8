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
    for (size_t i = 0; i < places.n; i++)
        total += strlen(places.items[i].name) + strlen(places.items[i].storage);
    if (places.n > size || total > 2 * size * (places.n + 1)) abort();
    adept_arena_free(places.arena);
    return 0;
}
