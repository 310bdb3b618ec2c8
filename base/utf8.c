/** @file utf8.c  UTF-8, strictly. */
#include "adept_utf8.h"
#include <stdbool.h>

size_t adept_utf8_decode(uint32_t *out, const char *at, const char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)at;
    if (at >= end) return 0;
    size_t n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    if (n == 0 || n > (size_t)(end - at)) return 0;
    uint32_t c = n == 1 ? *p : *p & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    if (out) *out = c;
    return n;
}

size_t adept_utf8_encode(char out[4], uint32_t c)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(first[n] | c);
    return n;
}

size_t adept_utf8_shown(size_t *hidden, const char *at, const char *end)
{
    uint32_t c = 0;
    size_t n = adept_utf8_decode(&c, at, end);
    bool is_control = c < 0x20 || (c >= 0x7f && c <= 0x9f);
    bool turns =
        c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    *hidden = n > 0 ? n : 1;
    return is_control || turns ? 0 : n;
}
