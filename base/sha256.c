/** @file sha256.c  Calls: libcrypto. */
#include "sha256.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void adept_sha256_init(adept_sha256 *s)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context && !EVP_DigestInit_ex(context, EVP_sha256(), NULL)) {
        EVP_MD_CTX_free(context);
        context = NULL;
    }
    s->context = context;
}

void adept_sha256_update(adept_sha256 *s, const void *data, size_t size)
{
    if (!s->context || EVP_DigestUpdate(s->context, data, size)) return;
    EVP_MD_CTX_free(s->context);
    s->context = NULL;
}

adept_status adept_sha256_hex(adept_sha256 *s, char hex[ADEPT_SHA256_SIZE], adept_error *err)
{
    unsigned char digest[32];
    bool ok = s->context && EVP_DigestFinal_ex(s->context, digest, NULL);
    EVP_MD_CTX_free(s->context);
    s->context = NULL;
    hex[0] = '\0';
    if (!ok) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a SHA-256");
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
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot open: %s", path, strerror(errno));
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
    adept_status status = adept_sha256_hex(&sha, hex, err);
    if (n == 0) return status;
    hex[0] = '\0';
    return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot read: %s", path, strerror(saved));
}
