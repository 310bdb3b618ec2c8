/** @file sha256.h  SHA-256 of bytes and of files. Calls: libcrypto. */
#ifndef ADEPT_SHA256_H
#define ADEPT_SHA256_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADEPT_SHA256_SIZE 65 /* 64 lower-case hex digits and a zero */

/* A digest of bytes that come one after another. A failure is kept until adept_sha256_hex(). */
typedef struct adept_sha256 {
    uint32_t context[28]; /* libcrypto's */
    bool ok;
} adept_sha256;

void adept_sha256_init(adept_sha256 *s);
void adept_sha256_update(adept_sha256 *s, const void *data, size_t size);
/** Ends the computation. @return ADEPT_E_INTERNAL; the text is then empty */
adept_status adept_sha256_hex(adept_sha256 *s, char hex[ADEPT_SHA256_SIZE], adept_error *err);

/** @return ADEPT_E_INTERNAL; the text is then empty */
adept_status adept_bytes_sha256(char hex[ADEPT_SHA256_SIZE], const void *data, size_t size, adept_error *err);
/** @return ADEPT_E_INVALID naming a file that cannot be read, ADEPT_E_INTERNAL; the text is then empty */
adept_status adept_file_sha256(char hex[ADEPT_SHA256_SIZE], const char *path, adept_error *err);

#endif
