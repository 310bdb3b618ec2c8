/** @file adept_slots.h  Where the items of an array are, by hash: open addressing. Calls: nothing. */
#ifndef ADEPT_SLOTS_H
#define ADEPT_SLOTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adept_slot {
    uint64_t hash;
    size_t item; /* + 1; 0: free */
} adept_slot;

/** Zero-initialised is empty. */
typedef struct adept_slots {
    adept_slot *slots; /* n_slots is 0 or a power of two */
    size_t n_slots, n;
} adept_slots;

#define ADEPT_SLOTS_NONE SIZE_MAX
/** By words of 8 bytes, and FNV-1a of the rest; to be continued with more bytes. Begin with adept_hash_begin(), which
 * differs between runs, so that a file cannot choose what all collides. */
uint64_t adept_hash_begin(void);
uint64_t adept_hash_bytes(uint64_t hash, const void *bytes, size_t n);

/** The item of that hash of which `same` is true, ADEPT_SLOTS_NONE if there is none. */
size_t adept_slots_find(const adept_slots *s, uint64_t hash, bool (*same)(const void *context, size_t item),
                        const void *context);
/** An item that is not there yet. @return false when memory is out */
bool adept_slots_add(adept_slots *s, uint64_t hash, size_t item);
void adept_slots_free(adept_slots *s);

#endif
