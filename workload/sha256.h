/** @file sha256.h  SHA-256 of bytes in memory. Calls: nothing. */
#ifndef ADEPT_SHA256_H
#define ADEPT_SHA256_H
#include <stddef.h>
#include <stdint.h>

typedef struct adept_sha256 {
    uint32_t state[8];
    uint64_t total_bytes;
    size_t pending; /* bytes waiting in block */
    unsigned char block[64];
} adept_sha256;

void adept_sha256_init(adept_sha256 *s);
void adept_sha256_update(adept_sha256 *s, const void *data, size_t size);
/** Ends the computation: 64 lower-case hex digits and a zero. */
void adept_sha256_hex(adept_sha256 *s, char hex[65]);

#endif
