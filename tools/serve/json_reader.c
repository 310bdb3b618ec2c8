/** @file json_reader.c  Strict JSON: one pass that checks, and steps over what it has accepted. */
#include "json_reader.h"
#include "text.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct scanner {
    const char *text, *at, *end;
    int depth;
    adept_error *err;
} scanner;

/* ---- the check ---- */

static bool fail(const scanner *s, const char *what)
{
    int line = 1;
    size_t column = 1;
    for (const char *c = s->text; c < s->at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    adept_error_set(s->err, ADEPT_E_INVALID, "not JSON: %s in line %d, column %zu", what, line, column);
    return false;
}

static void skip_blanks(scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool scan_digits(scanner *s)
{
    const char *begin = s->at;
    while (s->at < s->end && is_digit(*s->at))
        s->at++;
    return s->at > begin || fail(s, "a digit is missing");
}

static bool take(scanner *s, char c)
{
    if (s->at >= s->end || *s->at != c) return false;
    s->at++;
    return true;
}

static bool scan_number(scanner *s)
{
    take(s, '-');
    if (s->at < s->end && *s->at == '0') {
        s->at++;
        if (s->at < s->end && is_digit(*s->at)) return fail(s, "a number with a leading zero");
    } else if (!scan_digits(s)) {
        return false;
    }
    if (take(s, '.') && !scan_digits(s)) return false;
    if (s->at >= s->end || (*s->at != 'e' && *s->at != 'E')) return true;
    s->at++;
    if (!take(s, '+')) take(s, '-');
    return scan_digits(s);
}

/* Four hexadecimal digits, -1 if there are none. */
static int32_t hex4(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = is_digit(c)            ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = 16 * value + digit;
    }
    return value;
}

static bool is_high(int32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(int32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* Behind the backslash. */
static bool scan_escape(scanner *s)
{
    if (s->at < s->end && *s->at != '\0' && strchr("\"\\/bfnrt", *s->at)) {
        s->at++;
        return true;
    }
    if (!take(s, 'u')) return fail(s, "an unknown escape");
    int32_t unit = hex4(s->at, s->end);
    if (unit < 0) return fail(s, "\\u without four hexadecimal digits");
    if (is_low(unit)) return fail(s, "half a surrogate pair");
    s->at += 4;
    if (!is_high(unit)) return true;
    if (!take(s, '\\') || !take(s, 'u') || !is_low(hex4(s->at, s->end))) return fail(s, "half a surrogate pair");
    s->at += 4;
    return true;
}

static bool scan_string(scanner *s)
{
    if (!take(s, '"')) return fail(s, "a string is missing");
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < 0x20) return fail(s, "a control character in a string");
        if (take(s, '\\')) {
            if (!scan_escape(s)) return false;
            continue;
        }
        size_t length = adept_serve_utf8_length(s->at, s->end);
        if (length == 0) return fail(s, "a byte that is no UTF-8");
        s->at += length;
    }
    return take(s, '"') || fail(s, "a string without end");
}

static bool scan_word(scanner *s, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0) return fail(s, "an unknown word");
    s->at += length;
    return true;
}

static bool scan_value(scanner *s);

static bool scan_member(scanner *s)
{
    skip_blanks(s);
    if (!scan_string(s)) return false;
    skip_blanks(s);
    return take(s, ':') ? scan_value(s) : fail(s, "':' is missing");
}

/* Recursion is as deep as ADEPT_SERVE_MAX_DEPTH. */
static bool scan_container(scanner *s, char close, bool (*scan_item)(scanner *))
{
    if (++s->depth > ADEPT_SERVE_MAX_DEPTH) return fail(s, "nesting too deep");
    s->at++;
    skip_blanks(s);
    if (!take(s, close)) {
        do {
            if (!scan_item(s)) return false;
            skip_blanks(s);
        } while (take(s, ','));
        if (!take(s, close)) return fail(s, close == '}' ? "',' or '}' is missing" : "',' or ']' is missing");
    }
    s->depth--;
    return true;
}

static bool scan_value(scanner *s)
{
    skip_blanks(s);
    switch (s->at < s->end ? *s->at : '\0') {
    case '{':
        return scan_container(s, '}', scan_member);
    case '[':
        return scan_container(s, ']', scan_value);
    case '"':
        return scan_string(s);
    case 't':
        return scan_word(s, "true");
    case 'f':
        return scan_word(s, "false");
    case 'n':
        return scan_word(s, "null");
    default:
        if (s->at < s->end && (*s->at == '-' || is_digit(*s->at))) return scan_number(s);
        return fail(s, "a value is missing");
    }
}

adept_status adept_serve_json_check(adept_serve_span *out, const char *text, size_t size, adept_error *err)
{
    scanner s = {.text = text, .at = text, .end = text + size, .err = err};
    skip_blanks(&s);
    const char *begin = s.at;
    if (!scan_value(&s)) return ADEPT_E_INVALID;
    *out = (adept_serve_span){begin, (size_t)(s.at - begin)};
    skip_blanks(&s);
    if (s.at < s.end) {
        fail(&s, "something behind the value");
        return ADEPT_E_INVALID;
    }
    return ADEPT_OK;
}

/* ---- what has been accepted ---- */

char adept_serve_json_kind(adept_serve_span value)
{
    return *value.at == '-' || is_digit(*value.at) ? '0' : *value.at;
}

static const char *behind_string(const char *at)
{
    for (at++; *at != '"'; at++)
        if (*at == '\\') at++;
    return at + 1;
}

static const char *behind_value(const char *at, const char *end)
{
    int depth = 0;
    if (*at != '{' && *at != '[' && *at != '"') {
        while (at < end && !strchr(",]} \t\r\n", *at))
            at++;
        return at;
    }
    do {
        if (*at == '"') {
            at = behind_string(at);
            continue;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
    } while (depth > 0);
    return at;
}

static void skip_to(adept_serve_cursor *c, const char *separators)
{
    while (c->at < c->end && *c->at != '\0' && strchr(separators, *c->at))
        c->at++;
}

adept_serve_cursor adept_serve_json_inside(adept_serve_span container)
{
    return (adept_serve_cursor){container.at + 1, container.at + container.size - 1};
}

bool adept_serve_json_next(adept_serve_cursor *c, adept_serve_span *value)
{
    skip_to(c, ", \t\r\n");
    if (c->at >= c->end) return false;
    const char *end = behind_value(c->at, c->end);
    *value = (adept_serve_span){c->at, (size_t)(end - c->at)};
    c->at = end;
    return true;
}

bool adept_serve_json_next_member(adept_serve_cursor *c, adept_serve_span *key, adept_serve_span *value)
{
    if (!adept_serve_json_next(c, key)) return false;
    skip_to(c, ": \t\r\n");
    return adept_serve_json_next(c, value);
}

/* ---- strings and numbers ---- */

static size_t encode(char out[4], int32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const int first[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(first[length] | c);
    return length;
}

/* One character, plain or escaped. @return how many bytes of UTF-8 it has */
static size_t decode(char out[4], const char **at, const char *end)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (**at != '\\') {
        out[0] = *(*at)++;
        return 1;
    }
    char name = (*at)[1];
    *at += 2;
    if (name != 'u') {
        out[0] = values[strchr(names, name) - names];
        return 1;
    }
    int32_t unit = hex4(*at, end);
    *at += 4;
    if (is_high(unit)) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (hex4(*at + 2, end) - 0xdc00);
        *at += 6;
    }
    return encode(out, unit);
}

bool adept_serve_json_text(char *out, size_t size, adept_serve_span string)
{
    size_t used = 0;
    char character[4];
    const char *end = string.at + string.size - 1;
    for (const char *at = string.at + 1; at < end;) {
        size_t length = decode(character, &at, end);
        if (character[0] == '\0' || length >= size - used) return false;
        memcpy(out + used, character, length);
        used += length;
    }
    out[used] = '\0';
    return true;
}

bool adept_serve_json_number(double *out, adept_serve_span number)
{
    char text[64];
    char *copy = text; /* strtod() reads until something that is no number, which may lie behind the text */
    if (number.size >= sizeof text && !(copy = malloc(number.size + 1))) return false;
    memcpy(copy, number.at, number.size);
    copy[number.size] = '\0';
    *out = strtod(copy, NULL);
    if (copy != text) free(copy);
    return isfinite(*out);
}
