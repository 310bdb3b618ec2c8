/** @file slots.c  Where the items of an array are, by hash. */
#include "adept_slots.h"
#include <stdlib.h>
#include <string.h>

uint64_t adept_hash_begin(void)
{
    static const char anchor; /* whose address the system draws */
    return 14695981039346656037u ^ ((uint64_t)(uintptr_t)&anchor >> 4) * 0x9e3779b97f4a7c15u;
}

uint64_t adept_hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (uint64_t word; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        hash ^= word;
        hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u; /* doubles differ in their upper bits, products in theirs */
        hash ^= hash >> 29;
    }
    for (; n > 0; p++, n--)
        hash = (hash ^ *p) * 1099511628211u;
    return hash;
}

static size_t first_of(const adept_slots *s, uint64_t hash)
{
    return (size_t)(hash >> 20) & (s->n_slots - 1);
}

size_t adept_slots_find(const adept_slots *s, uint64_t hash, bool (*same)(const void *context, size_t item),
                        const void *context)
{
    if (s->n == 0) return ADEPT_SLOTS_NONE;
    for (size_t i = first_of(s, hash); s->slots[i].item; i = (i + 1) & (s->n_slots - 1))
        if (s->slots[i].hash == hash && same(context, s->slots[i].item - 1)) return s->slots[i].item - 1;
    return ADEPT_SLOTS_NONE;
}

static void insert(adept_slots *s, adept_slot slot)
{
    size_t i = first_of(s, slot.hash);
    while (s->slots[i].item)
        i = (i + 1) & (s->n_slots - 1);
    s->slots[i] = slot;
}

bool adept_slots_add(adept_slots *s, uint64_t hash, size_t item)
{
    if (2 * (s->n + 1) > s->n_slots) {
        adept_slots larger = {.n_slots = s->n_slots ? 2 * s->n_slots : 64, .n = s->n};
        larger.slots = calloc(larger.n_slots, sizeof *larger.slots);
        if (!larger.slots) return false;
        for (size_t i = 0; i < s->n_slots; i++)
            if (s->slots[i].item) insert(&larger, s->slots[i]);
        free(s->slots);
        *s = larger;
    }
    insert(s, (adept_slot){hash, item + 1});
    s->n++;
    return true;
}

void adept_slots_free(adept_slots *s)
{
    free(s->slots);
    *s = (adept_slots){.n = 0};
}
