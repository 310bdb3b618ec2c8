/** @file sha256.h  SHA-256 of bytes in memory. Calls: nothing. */
#ifndef ADEPT_SHA256_H
#define ADEPT_SHA256_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Digest whole blocks of 64 bytes into the state. */
typedef void adept_sha256_blocks_fn(uint32_t state[8], const unsigned char *data, size_t n_blocks);

adept_sha256_blocks_fn adept_sha256_blocks_portable;
/** NULL where the processor lacks the instructions. */
adept_sha256_blocks_fn *adept_sha256_blocks_x86(void);
extern const uint32_t adept_sha256_constants[64];

typedef struct adept_sha256 {
    uint32_t state[8];
    uint64_t total_bytes;
    size_t pending; /* bytes waiting in block */
    adept_sha256_blocks_fn *blocks;
    unsigned char block[64];
} adept_sha256;

void adept_sha256_init(adept_sha256 *s);
void adept_sha256_update(adept_sha256 *s, const void *data, size_t size);
/** Ends the computation: 64 lower-case hex digits and a zero. */
void adept_sha256_hex(adept_sha256 *s, char hex[65]);

#endif
