/** @file base64.c  Calls: nothing. */
#include "base64.h"
#include <stdint.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t adept_base64_length(size_t n)
{
    return (n + 2) / 3 * 4;
}

void adept_base64_encode(char *text, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16;
        if (i + 1 < n) three |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < n) three |= bytes[i + 2];
        *text++ = letters[three >> 18];
        *text++ = letters[three >> 12 & 63];
        *text++ = i + 1 < n ? letters[three >> 6 & 63] : '=';
        *text++ = i + 2 < n ? letters[three & 63] : '=';
    }
    *text = '\0';
}

#define NONE 64

/* Numbers of the letters. */
static void fill_numbers(unsigned char numbers[256])
{
    memset(numbers, NONE, 256);
    for (unsigned i = 0; i < 64; i++)
        numbers[(unsigned char)letters[i]] = (unsigned char)i;
}

/* The last four characters, of which `n` stand for bytes and one more is a letter. */
static bool decode_end(unsigned char *bytes, size_t n, const unsigned char numbers[256], const unsigned char *text)
{
    uint32_t three = 0;
    for (size_t k = 0; k < 4; k++) {
        uint32_t number = k <= n ? numbers[text[k]] : 0;
        if (number == NONE) return false;
        three = three << 6 | number;
    }
    for (size_t k = 0; k < n; k++)
        bytes[k] = (unsigned char)(three >> (16 - 8 * k));
    return (three & ((1u << (24 - 8 * n)) - 1)) == 0; /* bits of no byte */
}

bool adept_base64_decode(unsigned char *bytes, size_t *n, const char *text, size_t length)
{
    unsigned char numbers[256];
    const unsigned char *at = (const unsigned char *)text;
    uint32_t wrong = 0;
    size_t padding = 0;
    *n = 0;
    if (length % 4 != 0) return false;
    if (length == 0) return true;
    while (padding < 2 && at[length - 1 - padding] == '=')
        padding++;
    fill_numbers(numbers);
    for (const unsigned char *end = at + length - 4; at < end; at += 4) {
        uint32_t a = numbers[at[0]], b = numbers[at[1]], c = numbers[at[2]], d = numbers[at[3]];
        wrong |= a | b | c | d;
        bytes[(*n)++] = (unsigned char)(a << 2 | b >> 4);
        bytes[(*n)++] = (unsigned char)(b << 4 | c >> 2);
        bytes[(*n)++] = (unsigned char)(c << 6 | d);
    }
    if ((wrong & NONE) || !decode_end(bytes + *n, 3 - padding, numbers, at)) return false;
    *n += 3 - padding;
    return true;
}
