/** @file framing.c  A machine that takes one byte after the other; bytes of bodies at once. */
#include "framing.h"
#include <string.h>
#include <strings.h>

enum {
    BETWEEN, /* requests; empty lines may stand there */
    METHOD,
    TARGET,
    VERSION,
    LF, /* of the end of a line, then after_lf */
    LINE_BEGIN,
    NAME,
    VALUE,
    BODY,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK,
    CHUNK_END
};

#define MOST_DIGITS 15 /* of a length, decimal or hexadecimal: no sum of two overflows */

static bool is_token(unsigned char c)
{
    return c > ' ' && c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", c);
}

static bool is_text(unsigned char c)
{
    return c == '\t' || (c >= ' ' && c != 0x7f);
}

static bool go(adept_serve_framing *f, int state)
{
    f->state = state;
    f->name_length = f->value_length = 0;
    return true;
}

static bool end_line(adept_serve_framing *f, int then)
{
    f->state = LF;
    f->after_lf = then;
    return true;
}

/* Kept as far as there is room. A longer text ends in a byte that none has, so that it is none of those looked for. */
static bool keep(char *text, size_t size, unsigned *length, unsigned char c)
{
    if (*length < size)
        text[(*length)++] = (char)c;
    else if (c != ' ' && c != '\t')
        text[size - 1] = 0x7f;
    return true;
}

static bool keep_value(adept_serve_framing *f, unsigned char c)
{
    return keep(f->value, sizeof f->value, &f->value_length, c);
}

static bool is(const char *kept, unsigned length, const char *text)
{
    return length == strlen(text) && strncasecmp(kept, text, length) == 0;
}

/* @return is the value a number? */
static bool read_length(adept_serve_framing *f, unsigned base)
{
    f->left_bytes = 0;
    for (unsigned i = 0; i < f->value_length; i++) {
        static const char digits[] = "0123456789abcdef";
        const char c = f->value[i], *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;
        if (!at || (unsigned)(at - digits) >= base) return false;
        f->left_bytes = f->left_bytes * base + (unsigned)(at - digits);
    }
    return f->value_length > 0 && f->value_length <= MOST_DIGITS;
}

/* Gateways read an underscore in a name as a hyphen. @return is this header's name meant? */
static bool names(const adept_serve_framing *f, const char *name, bool *is_clear)
{
    char plain[sizeof f->name];
    for (unsigned i = 0; i < f->name_length; i++)
        plain[i] = f->name[i] == '_' ? '-' : f->name[i];
    *is_clear = is(f->name, f->name_length, name);
    return !f->is_trailer && is(plain, f->name_length, name);
}

/* A header line that says where the body ends must say so clearly; which of them exclude each other, admit.c knows. */
static bool take_line(adept_serve_framing *f)
{
    bool is_clear;
    while (f->value_length > 0 && strchr(" \t", f->value[f->value_length - 1]))
        f->value_length--;
    if (names(f, "content-length", &is_clear)) {
        if (!is_clear || !read_length(f, 10)) return false;
        f->has_body = f->left_bytes > 0;
    }
    if (names(f, "transfer-encoding", &is_clear)) {
        if (!is_clear || f->is_old || !is(f->value, f->value_length, "chunked")) return false;
        f->is_chunked = true;
    }
    return end_line(f, LINE_BEGIN);
}

static bool end_chunk_size(adept_serve_framing *f)
{
    f->is_trailer = f->left_bytes == 0;
    return end_line(f, f->is_trailer ? LINE_BEGIN : CHUNK);
}

/* @return may it stand here? */
static bool take(adept_serve_framing *f, unsigned char c)
{
    switch (f->state) {
    case BETWEEN:
        if (c == '\r') return end_line(f, BETWEEN);
        *f = (adept_serve_framing){.heads = f->heads, .state = METHOD};
        return is_token(c);
    case METHOD:
        return c == ' ' ? go(f, TARGET) : is_token(c);
    case TARGET:
        if (c == ' ') return f->value_length > 0 && go(f, VERSION);
        return c > ' ' && c < 0x7f && keep_value(f, c);
    case VERSION: {
        if (c != '\r') return is_text(c) && keep_value(f, c);
        const bool is_known = f->value_length == 8 && memcmp(f->value, "HTTP/1.", 7) == 0;
        f->is_old = is_known && f->value[7] == '0';
        return (f->is_old || (is_known && f->value[7] == '1')) && end_line(f, LINE_BEGIN);
    }
    case LF:
        if (c == '\n') go(f, f->after_lf);
        return c == '\n';
    case LINE_BEGIN:
        if (c == '\r' && f->is_trailer) return end_line(f, BETWEEN);
        if (c == '\r') { /* the empty line behind the headers */
            f->heads++;
            return end_line(f, f->is_chunked ? CHUNK_SIZE : f->has_body ? BODY : BETWEEN);
        }
        go(f, NAME);
        return is_token(c) && keep(f->name, sizeof f->name, &f->name_length, c);
    case NAME:
        if (c == ':') f->state = VALUE;
        return c == ':' || (is_token(c) && keep(f->name, sizeof f->name, &f->name_length, c));
    case VALUE:
        if (c == '\r') return take_line(f);
        if (f->value_length == 0 && (c == ' ' || c == '\t')) return true;
        return is_text(c) && keep_value(f, c);
    case CHUNK_SIZE:
        if (c != '\r' && c != ';') return is_text(c) && keep_value(f, c);
        if (!read_length(f, 16)) return false;
        return c == ';' ? go(f, CHUNK_EXTENSION) : end_chunk_size(f);
    case CHUNK_EXTENSION:
        return c == '\r' ? end_chunk_size(f) : is_text(c);
    case CHUNK_END:
        return c == '\r' && end_line(f, CHUNK_SIZE);
    default:
        return false; /* bodies are taken at once */
    }
}

size_t adept_serve_framing_take(adept_serve_framing *f, size_t *whole, const char *data, size_t size)
{
    size_t i = 0;
    *whole = 0;
    while (i < size) {
        if (f->state == BODY || f->state == CHUNK) {
            size_t n = f->left_bytes < size - i ? (size_t)f->left_bytes : size - i;
            i += n;
            f->left_bytes -= n;
            if (f->left_bytes == 0) go(f, f->state == BODY ? BETWEEN : CHUNK_END);
        } else {
            if (!take(f, (unsigned char)data[i])) return i;
            i++;
        }
        if (f->state == BETWEEN) *whole = i;
    }
    return size;
}
