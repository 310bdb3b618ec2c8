/** @file text.c  A text that grows. */
#include "text.h"
#include "adept_number.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adept_serve_text_free(adept_serve_text *t)
{
    free(t->data);
    *t = (adept_serve_text){0};
}

static bool reserve(adept_serve_text *t, size_t more)
{
    if (t->failed) return false;
    if (more <= t->capacity - t->size) return true;
    size_t wanted = t->capacity ? t->capacity : 512;
    while (wanted - t->size < more) {
        if (wanted > SIZE_MAX / 2) {
            t->failed = true;
            return false;
        }
        wanted *= 2;
    }
    char *data = realloc(t->data, wanted);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = wanted;
    return true;
}

void adept_serve_text_bytes(adept_serve_text *t, const char *bytes, size_t size)
{
    if (size == 0 || !reserve(t, size)) return;
    memcpy(t->data + t->size, bytes, size);
    t->size += size;
}

void adept_serve_text_add(adept_serve_text *t, const char *text)
{
    adept_serve_text_bytes(t, text, strlen(text));
}

/* ---- strings ---- */

static bool is_tail(const char *at, const char *end)
{
    return at < end && ((unsigned char)*at & 0xc0) == 0x80;
}

size_t adept_serve_utf8_length(const char *at, const char *end)
{
    unsigned char first = at < end ? (unsigned char)at[0] : 0xff;
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4 || !is_tail(at + 1, end)) return 0;
    unsigned char second = (unsigned char)at[1];
    if (first < 0xe0) return 2;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0)) return 0;
    if (!is_tail(at + 2, end)) return 0;
    if (first < 0xf0) return 3;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) return 0;
    return is_tail(at + 3, end) ? 4 : 0;
}

static size_t add_character(adept_serve_text *t, const char *at, const char *end)
{
    char escape[8];
    if (*at == '"' || *at == '\\') {
        adept_serve_text_bytes(t, *at == '"' ? "\\\"" : "\\\\", 2);
        return 1;
    }
    if ((unsigned char)*at < 0x20 || *at == 0x7f) {
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*at);
        adept_serve_text_add(t, escape);
        return 1;
    }
    size_t length = adept_serve_utf8_length(at, end);
    if (length == 0) {
        adept_serve_text_add(t, "\\ufffd");
        return 1;
    }
    adept_serve_text_bytes(t, at, length);
    return length;
}

void adept_serve_text_quote(adept_serve_text *t, const char *text)
{
    if (!text) {
        adept_serve_text_add(t, "null");
        return;
    }
    const char *end = text + strlen(text);
    adept_serve_text_add(t, "\"");
    while (text < end)
        text += add_character(t, text, end);
    adept_serve_text_add(t, "\"");
}

/* ---- numbers ---- */

void adept_serve_text_number(adept_serve_text *t, double value)
{
    char number[ADEPT_NUMBER_SIZE];
    size_t length = adept_number_print(number, value);
    adept_serve_text_bytes(t, length ? number : "null", length ? length : 4);
}

void adept_serve_text_integer(adept_serve_text *t, int64_t value)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, value);
    adept_serve_text_add(t, number);
}

void adept_serve_text_bool(adept_serve_text *t, bool value)
{
    adept_serve_text_add(t, value ? "true" : "false");
}
