/** @file markup.c  Names of layers are whatever a model file says: here they become harmless. */
#include "markup.h"
#include "adept_utf8.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT 0xFFFDu
#define MAX_TEXT_CHARS 200

/* One character and its length in bytes; what is no character is one byte that becomes U+FFFD. */
static size_t decode(uint32_t *out, const char *at, const char *end)
{
    size_t n = adept_utf8_decode(out, at, end);
    if (n > 0) return n;
    *out = REPLACEMENT;
    return 1;
}

static bool is_harmless(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;                        /* control characters */
    if (c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E)) return false; /* line ends, direction */
    if (c >= 0x2060 && c <= 0x206F) return false;
    return c != 0xFEFF && (c & 0xFFFE) != 0xFFFE && !(c >= 0xFDD0 && c < 0xFDF0);
}

static void put_char(FILE *out, const char *p, size_t n, uint32_t c)
{
    if (!is_harmless(c) || c == REPLACEMENT)
        fputs("\xEF\xBF\xBD", out);
    else if (c == '&')
        fputs("&amp;", out);
    else if (c == '<')
        fputs("&lt;", out);
    else if (c == '>')
        fputs("&gt;", out);
    else if (c == '"')
        fputs("&quot;", out);
    else if (c == '\'')
        fputs("&#39;", out);
    else
        fwrite(p, 1, n, out);
}

void adept_markup_put(FILE *out, const char *text, size_t length, size_t max_chars)
{
    size_t end = strnlen(text, length), chars = 0;
    uint32_t c;

    for (size_t at = 0; at < end; chars++)
        at += decode(&c, text + at, text + end);
    bool cut = chars > max_chars;
    size_t left = cut && max_chars > 0 ? max_chars - 1 : max_chars;
    for (size_t at = 0; at < end && left > 0; left--) {
        size_t n = decode(&c, text + at, text + end);
        put_char(out, text + at, n, c);
        at += n;
    }
    if (cut && max_chars > 0) fputs("\xE2\x80\xA6", out);
}

void adept_markup_text(FILE *out, const char *text)
{
    adept_markup_put(out, text, strlen(text), MAX_TEXT_CHARS);
}
