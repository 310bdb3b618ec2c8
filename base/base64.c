/** @file base64.c  Calls: libcrypto, which takes more than is written here. */
#include "base64.h"
#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

size_t adept_base64_length(size_t n)
{
    return (n + 2) / 3 * 4;
}

void adept_base64_encode(char *text, const unsigned char *bytes, size_t n)
{
    EVP_EncodeBlock((unsigned char *)text, bytes, (int)n);
}

bool adept_base64_decode(unsigned char *bytes, size_t *n, const char *text, size_t length)
{
    unsigned char end[5];
    size_t padding = 0;
    *n = 0;
    if (length % 4 != 0 || length > INT_MAX) return false;
    if (length == 0) return true;
    while (padding < 2 && text[length - 1 - padding] == '=')
        padding++;
    if (memchr(text, '=', length - padding)) return false; /* to libcrypto it is an A */
    int written = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)length);
    /* blanks at the ends were skipped, or there is no such letter */
    if (written != (int)(length / 4 * 3)) return false;
    *n = (size_t)written - padding;
    EVP_EncodeBlock(end, bytes + written - 3, (int)(3 - padding));
    return memcmp(end, text + length - 4, 4) == 0; /* bits of no byte are 0 */
}
