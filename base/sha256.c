/** @file sha256.c  Calls: libcrypto, by functions that OpenSSL 3 calls deprecated: the new ones take memory, and crash
 *  where there is none. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sha256.h"
#include "adept_file.h"
#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(SHA256_CTX) == sizeof ((adept_sha256 *)0)->context, "room for libcrypto's context");

static SHA256_CTX *context_of(adept_sha256 *s)
{
    return (void *)s->context;
}

void adept_sha256_init(adept_sha256 *s)
{
    s->ok = SHA256_Init(context_of(s));
}

void adept_sha256_update(adept_sha256 *s, const void *data, size_t size)
{
    s->ok = s->ok && SHA256_Update(context_of(s), data, size);
}

adept_status adept_sha256_hex(adept_sha256 *s, char hex[ADEPT_SHA256_SIZE], adept_error *err)
{
    unsigned char digest[32];
    hex[0] = '\0';
    if (!s->ok || !SHA256_Final(digest, context_of(s)))
        return adept_error_set(err, ADEPT_E_INTERNAL, "libcrypto makes no SHA-256");
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return ADEPT_OK;
}

adept_status adept_bytes_sha256(char hex[ADEPT_SHA256_SIZE], const void *data, size_t size, adept_error *err)
{
    adept_sha256 sha;
    adept_sha256_init(&sha);
    adept_sha256_update(&sha, data, size);
    return adept_sha256_hex(&sha, hex, err);
}

adept_status adept_file_sha256(char hex[ADEPT_SHA256_SIZE], const char *path, adept_error *err)
{
    hex[0] = '\0';
    int fd;
    adept_status status = adept_file_open(&fd, path, 0, err);
    if (status != ADEPT_OK) return status;
    adept_sha256 sha;
    adept_sha256_init(&sha);
    unsigned char buffer[65536];
    ssize_t n;
    do {
        n = read(fd, buffer, sizeof buffer);
        if (n > 0) adept_sha256_update(&sha, buffer, (size_t)n);
    } while (n > 0 || (n < 0 && errno == EINTR));
    int saved = errno;
    close(fd);
    status = adept_sha256_hex(&sha, hex, err);
    if (n == 0) return status;
    hex[0] = '\0';
    return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot read: %s", path, strerror(saved));
}
